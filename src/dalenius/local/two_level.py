"""The loss of randomizers whose chances, report by report, are one of two numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dalenius.calculus.loss import Loss
from dalenius.calculus.pairs.atoms import lattice_atoms
from dalenius.core import checks
from dalenius.core.adjacency import REPLACE_ONE
from dalenius.errors import InvalidParameter
from dalenius.mechanisms._support.exact_coin import exp_minus

LEAST, MOST = 1e-9, 100.0
"""Below, reports say nothing that floats could estimate from; above, they say everything."""


def report_epsilon(value: object) -> float:
    """The epsilon of a report."""
    epsilon = checks.positive("epsilon", value)
    if epsilon < LEAST:
        raise InvalidParameter.of(
            "epsilon", f"epsilon is {epsilon:g}; it must be at least {LEAST:g}: less says nothing."
        )
    return checks.moderate("epsilon", epsilon, MOST)


def two_level_loss(epsilon: float, telling: Fraction, expression: str) -> Loss:
    """The loss is epsilon with probability `telling`, -epsilon with e^-epsilon times that, else nothing.

    Every randomizer of this room weighs each report 1 or e^-epsilon: 1 if the report fits the answer. So two
    answers differ in reports that fit one of them only. The hockey-stick divergence is telling (1 - e^(x - epsilon))
    at any x below epsilon, which grows with `telling`: the pair of answers with the most of it is the worst one.
    Inputs that are first rounded at random are mixtures of such pairs, and divergences are jointly convex.
    """
    back = telling * exp_minus(Fraction(epsilon))
    mass = np.array([float(back), float(1 - telling - back), float(telling)])
    return Loss.symmetric(lattice_atoms(epsilon, 0.0, mass, start=-1), REPLACE_ONE, expression)
