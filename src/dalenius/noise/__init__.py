"""Random bits and exact samplers; the only room that touches randomness."""

from dalenius.core.exports import exported
from dalenius.noise.argmax import noisy_argmax as noisy_argmax
from dalenius.noise.bernoulli import bernoulli as bernoulli
from dalenius.noise.bernoulli import bernoulli_exp as bernoulli_exp
from dalenius.noise.categorical import categorical as categorical
from dalenius.noise.continuous import gamma as gamma
from dalenius.noise.continuous import gaussian as gaussian
from dalenius.noise.continuous import goe as goe
from dalenius.noise.continuous import sphere as sphere
from dalenius.noise.discrete_gaussian import discrete_gaussian as discrete_gaussian
from dalenius.noise.discrete_laplace import discrete_laplace as discrete_laplace
from dalenius.noise.geometric import geometric as geometric
from dalenius.noise.grid import Grid as Grid
from dalenius.noise.norm_noise import norm_noise as norm_noise
from dalenius.noise.packed import packed_bernoulli as packed_bernoulli
from dalenius.noise.poisson import poisson as poisson
from dalenius.noise.poisson import skellam as skellam
from dalenius.noise.subsample import fixed_subsample as fixed_subsample
from dalenius.noise.subsample import permutation as permutation
from dalenius.noise.subsample import poisson_subsample as poisson_subsample
from dalenius.noise.uniform import uniform_integers as uniform_integers

__all__ = exported(globals())
