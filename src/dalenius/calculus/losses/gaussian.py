"""Gaussian noise, and anything as private as it: mu-GDP."""

from __future__ import annotations

from dalenius.calculus.loss import Loss, call
from dalenius.calculus.pairs.gaussian import GaussianPair
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency


def gaussian(sigma: float, sensitivity: float = 1.0, adjacency: Adjacency = ADD_REMOVE) -> Loss:
    """Loss of f(X) + N(0, sigma^2 I) where neighbours move f by at most `sensitivity` in l2 norm.

    Its worst pair is N(mu, 1) against N(0, 1), mu = sensitivity / sigma: exactly mu-GDP
    (Dong, Roth and Su 2022, section 2.3). The number of dimensions does not matter.

    Parameters
    ----------
    sigma
        The standard deviation of the noise, above 0.
    sensitivity
        How far neighbours can move f(X), in l2 norm, above 0.
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
    >>> round(dp.losses.gaussian(sigma=1.0).epsilon(delta=1e-5), 6)
    4.377178
    """
    sigma = checks.positive("sigma", sigma, "Noise of scale 0 hides nothing.")
    sensitivity = checks.positive("sensitivity", sensitivity)
    name = call("gaussian", sigma=sigma, sensitivity=(sensitivity, 1.0), adjacency=adjacency)
    mu = checks.moderate("sensitivity / sigma", checks.ratio_up(sensitivity, sigma))
    return Loss.symmetric(GaussianPair(mu), adjacency, name)


def gdp(mu: float, adjacency: Adjacency = ADD_REMOVE) -> Loss:
    """Loss of anything mu-GDP: no test between neighbours beats the best one for N(0,1) and N(mu,1).

    Parameters
    ----------
    mu
        The parameter of Gaussian differential privacy, 0 or more.
    adjacency
        The neighbouring relation that the loss is stated for: `dp.ADD_REMOVE` or `dp.REPLACE_ONE`.

    Returns
    -------
    Loss
        The worst loss that is mu-GDP; nothing at all for mu = 0.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.
    TooLittleNoise
        If the loss would be so large that it promises nothing.

    Examples
    --------
    >>> import dalenius as dp
    >>> round(dp.losses.gdp(0.5).delta(epsilon=1.0), 8)
    0.00682959
    """
    mu = checks.moderate("mu", checks.nonnegative("mu", mu))
    if mu == 0:
        return Loss.zero(adjacency)
    return Loss.symmetric(GaussianPair(mu), adjacency, call("gdp", mu=mu, adjacency=adjacency))
