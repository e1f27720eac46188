"""Laplace noise."""

from __future__ import annotations

from dalenius.calculus.loss import Loss, call
from dalenius.calculus.pairs.laplace import LaplacePair
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency


def laplace(scale: float, sensitivity: float = 1.0, adjacency: Adjacency = ADD_REMOVE) -> Loss:
    """Loss of f(X) + Laplace noise of this scale in every coordinate (Dwork, McSherry, Nissim and Smith 2006).

    It is the exact law, tighter under composition than `pure(sensitivity/scale)`. In several dimensions the worst case
    puts the whole change in one coordinate: moving coordinate by coordinate, group privacy (Dong, Roth and Su 2022,
    Theorem 2.14) bounds the trade-off curve of the product from below by the hat-composition of the parts, which for
    Laplace shifts is the curve of their sum.

    Parameters
    ----------
    scale
        The scale of the noise, above 0.
    sensitivity
        How far neighbours can move f(X), in l1 norm, above 0.
    adjacency
        The neighbouring relation that the loss is stated for: `dp.ADD_REMOVE` or `dp.REPLACE_ONE`.

    Returns
    -------
    Loss
        The loss of one release.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.
    TooLittleNoise
        If the loss would be so large that it promises nothing.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.losses.laplace(scale=2.0).epsilon(delta=0.0)
    0.5
    """
    scale = checks.positive("scale", scale, "Noise of scale 0 hides nothing.")
    sensitivity = checks.positive("sensitivity", sensitivity)
    name = call("laplace", scale=scale, sensitivity=(sensitivity, 1.0), adjacency=adjacency)
    shift = checks.moderate("sensitivity / scale", checks.ratio_up(sensitivity, scale))
    return Loss.symmetric(LaplacePair(shift), adjacency, name)
