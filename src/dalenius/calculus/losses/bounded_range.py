"""Bounded range: the exponential mechanism."""

from __future__ import annotations

from dalenius.calculus.loss import Loss, call
from dalenius.calculus.pairs.bounded_range import BoundedRangePair
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency


def bounded_range(eta: float, adjacency: Adjacency = ADD_REMOVE) -> Loss:
    """Loss of any mechanism whose privacy loss varies by at most `eta` over its outputs.

    The exponential mechanism with weights exp(epsilon u / (2 Delta)) has eta = epsilon (Durfee and
    Rogers 2019; Dong, Durfee and Rogers 2020): half the total variation of `pure(eta)`, and eta^2/8-zCDP
    (Cesar and Rogers 2021). Composition takes the better of its dominating pair and its Renyi bound.

    Parameters
    ----------
    eta
        The range of the privacy loss, 0 or more.
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
    >>> dp.losses.bounded_range(1.0).zcdp() <= 0.1250001
    True
    """
    eta = checks.moderate("eta", checks.nonnegative("eta", eta))
    if eta == 0:
        return Loss.zero(adjacency)
    return Loss.symmetric(
        BoundedRangePair(eta), adjacency, call("bounded_range", eta=eta, adjacency=adjacency)
    )
