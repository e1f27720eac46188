"""Staircase noise."""

from __future__ import annotations

import math

import numpy as np

from dalenius.calculus.loss import Loss, call
from dalenius.calculus.pairs.atoms import lattice_atoms
from dalenius.calculus.pairs.pair import UNIT
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency


def staircase(epsilon: float, gamma: float, adjacency: Adjacency = ADD_REMOVE) -> Loss:
    """Loss of f(X) + staircase noise, whose density falls by exp(-epsilon) once in every sensitivity.

    In units of the sensitivity the density at x is proportional to exp(-epsilon k), k = floor(|x| + 1 - gamma):
    level up to gamma, and then steps of width 1 (Geng and Viswanath 2016). A shift by at most 1 changes k by at
    most 1, so the privacy loss is -epsilon, 0 or epsilon, and as the noise is symmetric and unimodal the shift by
    1 dominates the others. With b = exp(-epsilon) and m the smaller of gamma and 1 - gamma,

        P(loss = epsilon) = 1/2 + (1 - b) m / (2 (gamma + b (1 - gamma))),

    P(loss = -epsilon) is b times that, and the rest is 0: less than `pure(epsilon)`, which has no such rest, and
    equal to it for gamma = 1/2.

    Parameters
    ----------
    epsilon
        How far one step falls, in logarithms; the release is epsilon-DP.
    gamma
        Where the first step falls, in sensitivities; strictly between 0 and 1.
    adjacency
        The neighbouring relation that the sensitivity is stated for.

    Returns
    -------
    Loss
        The exact law of the privacy loss.

    Raises
    ------
    InvalidParameter
        If epsilon is negative or not finite, or gamma is not between 0 and 1.

    Examples
    --------
    >>> import dalenius as dp
    >>> step = dp.losses.staircase(epsilon=1.0, gamma=0.4)
    >>> step.epsilon(delta=0.0)
    1.0
    >>> (step * 100).epsilon(1e-6) < (dp.losses.pure(1.0) * 100).epsilon(1e-6)
    True
    """
    epsilon = checks.moderate("epsilon", checks.nonnegative("epsilon", epsilon))
    gamma = checks.open_probability("gamma", gamma)
    if epsilon == 0:
        return Loss.zero(adjacency)
    # Every term is positive, so that a few roundings are all the error there is.
    fall, rest = math.exp(-epsilon), -math.expm1(-epsilon)
    twice = 2 * (gamma + fall * (1 - gamma))
    up = 0.5 + rest * min(gamma, 1 - gamma) / twice
    level = rest * (fall * (1 - 2 * gamma) if gamma <= 0.5 else 2 * gamma - 1) / twice
    pair = lattice_atoms(epsilon, 0.0, np.array([fall * up, level, up]), start=-1, slack=24 * UNIT)
    return Loss.symmetric(
        pair, adjacency, call("staircase", epsilon=epsilon, gamma=gamma, adjacency=adjacency)
    )
