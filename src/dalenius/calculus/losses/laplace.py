"""Laplace noise."""

from __future__ import annotations

from dalenius.calculus.loss import Loss, call
from dalenius.calculus.pairs.laplace import LaplacePair
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency


def laplace(scale: float, sensitivity: float = 1.0, adjacency: Adjacency = ADD_REMOVE) -> Loss:
    """Loss of f(X) + Laplace noise of this scale in every coordinate, `sensitivity` in l1 norm.

    Its exact law, tighter under composition than `pure(sensitivity/scale)` (seed 000 Theorem 3.2,
    seed 001 Theorem 2.5). In several dimensions the worst case puts the whole change in one coordinate:
    moving coordinate by coordinate, Lemma 11 of seed 000 bounds the trade-off curve of the product from
    below by the hat-composition of the parts, which for Laplace shifts is the curve of their sum.

    >>> import dalenius as dp
    >>> dp.losses.laplace(scale=2.0).epsilon(delta=0.0)
    0.5
    """
    scale = checks.positive("scale", scale, "Noise of scale 0 hides nothing.")
    sensitivity = checks.positive("sensitivity", sensitivity)
    name = call("laplace", scale=scale, sensitivity=(sensitivity, 1.0))
    shift = checks.moderate("sensitivity / scale", checks.ratio_up(sensitivity, scale))
    return Loss.symmetric(LaplacePair(shift), adjacency, name)
