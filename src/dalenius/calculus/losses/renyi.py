"""Losses known only through their Renyi divergences: zCDP and RDP."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import SupportsFloat

from dalenius.calculus.loss import Loss, call
from dalenius.calculus.pairs.gaussian import GaussianPair
from dalenius.calculus.pairs.known import RenyiPair
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.errors import InvalidParameter


def zcdp(rho: float, adjacency: Adjacency = ADD_REMOVE) -> Loss:
    """Loss of anything rho-zCDP: Renyi divergence at most rho * order at every order above 1.

    (Bun and Steinke 2016.) Gaussian noise with mu^2/2 = rho attains it and gives the lower bounds.

    Parameters
    ----------
    rho
        The parameter of zero-concentrated differential privacy, 0 or more.
    adjacency
        The neighbouring relation that the loss is stated for: `dp.ADD_REMOVE` or `dp.REPLACE_ONE`.

    Returns
    -------
    Loss
        The worst loss that is rho-zCDP; nothing at all for rho = 0.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.
    TooLittleNoise
        If the loss would be so large that it promises nothing.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.losses.zcdp(0.5).epsilon(1e-5) < 0.5 + 2 * (0.5 * 11.513) ** 0.5
    True
    """
    rho = checks.moderate("rho", checks.nonnegative("rho", rho), 1e8)
    if rho == 0:
        return Loss.zero(adjacency)
    pair = RenyiPair(rho, floor=GaussianPair(math.sqrt(2 * rho)))
    return Loss.symmetric(pair, adjacency, call("zcdp", rho=rho, adjacency=adjacency))


def rdp(curve: Callable[[float], float], adjacency: Adjacency = ADD_REMOVE) -> Loss:
    """Loss of anything with Renyi divergence at most curve(order) for every order above 1.

    `curve` may return inf for orders where nothing is known. Mironov 2017.

    Parameters
    ----------
    curve
        From an order above 1 to a bound on the Renyi divergence of that order; inf where nothing is known.
    adjacency
        The neighbouring relation that the loss is stated for: `dp.ADD_REMOVE` or `dp.REPLACE_ONE`.

    Returns
    -------
    Loss
        The worst loss with these Renyi divergences.

    Raises
    ------
    InvalidParameter
        If `curve` is not a function, or does not return divergences.

    Examples
    --------
    >>> import dalenius as dp
    >>> loss = dp.losses.rdp(lambda order: 0.5 * order)
    >>> abs(loss.epsilon(1e-5) - dp.losses.zcdp(0.5).epsilon(1e-5)) < 1e-9
    True
    """
    if not callable(curve):
        raise InvalidParameter(
            f"curve is {curve!r}; it must be a function from an order above 1 to a divergence."
        )
    for order in (1.5, 2.0, 8.0, 64.0):
        value: object = curve(order)
        if not isinstance(value, SupportsFloat) or isinstance(value, str) or not float(value) >= 0:
            raise InvalidParameter(
                f"curve({order}) is {value!r}; a Renyi divergence is a number, 0 or more (or inf)."
            )
    return Loss.symmetric(RenyiPair(curve=curve), adjacency, call("rdp", curve="...", adjacency=adjacency))
