"""Random bits and exact samplers; the only room that touches randomness."""

from __future__ import annotations

from dalenius.noise.argmax import noisy_argmax
from dalenius.noise.bernoulli import bernoulli, bernoulli_exp
from dalenius.noise.categorical import categorical
from dalenius.noise.continuous import gamma, gaussian, goe, sphere
from dalenius.noise.discrete_gaussian import discrete_gaussian
from dalenius.noise.discrete_laplace import discrete_laplace
from dalenius.noise.geometric import geometric
from dalenius.noise.grid import Grid
from dalenius.noise.norm_noise import norm_noise
from dalenius.noise.subsample import fixed_subsample, permutation, poisson_subsample
from dalenius.noise.uniform import uniform_integers

__all__ = [
    "Grid",
    "bernoulli",
    "bernoulli_exp",
    "categorical",
    "discrete_gaussian",
    "discrete_laplace",
    "fixed_subsample",
    "gamma",
    "gaussian",
    "geometric",
    "goe",
    "noisy_argmax",
    "norm_noise",
    "permutation",
    "poisson_subsample",
    "sphere",
    "uniform_integers",
]
