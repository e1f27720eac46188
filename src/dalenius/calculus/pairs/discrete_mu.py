"""The mu of Gaussian differential privacy of whole numbers with discrete Gaussian noise."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri_exp

SUMMED = 100.0
"""Up to this sigma the law is summed."""


def discrete_gaussian_mu(sigma: float, steps: int) -> float:
    """A mu for which noise P(k) proportional to exp(-k^2/(2 sigma^2)) makes a move by `steps` mu-GDP.

    The likelihood ratio grows with k, so the trade-off curve has its kinks at the tests k >= j. A convex curve
    lies below the chords of points above it: only the kinks count. With T(j) = P(k >= j) = 1 - Phi(x_j) they
    are above the curve of N(mu, 1) exactly if x_(j+steps) - x_j <= mu for all whole j; x_(1-j) = -x_j. The
    largest difference is looked for among j < J, and `_falls_off` shows that none beyond is larger.

    For large sigma: Lemma 3 of docs/mechanisms-on-a-grid.md with t = 3/2.
    """
    if sigma > SUMMED:
        return (steps / math.sqrt(sigma**2 - 2.25) + 1e-18) * (1 + 1e-12)
    last = math.ceil(20 * sigma**2) + 20
    k = np.arange(last + steps + 3.0)
    log_weight = -0.5 * (k / sigma) ** 2
    log_above = np.logaddexp.accumulate(log_weight[:0:-1])[::-1]  # of 1.., 2.., ...: half of all but k = 0
    log_total = math.log1p(2 * math.exp(log_above[0]))
    x = -ndtri_exp(log_above[: last + steps] - log_total)
    x = np.concatenate((-x[::-1], x))
    # The factor makes the two bounds meet at SUMMED, so that more noise never looks worse.
    mu = float((x[steps:] - x[:-steps]).max()) * (1 + 1e-9 + 1.2e-8 * sigma**2)
    mu = max(mu, steps / sigma * (1 + 1e-9))
    while not _falls_off(mu, sigma, steps, last, log_total):
        mu *= 1 + 1e-6
    return mu


def _falls_off(mu: float, sigma: float, steps: int, start: int, log_total: float) -> bool:
    """Whether x_(j+steps) - x_j <= mu is certain for all j >= start, given mu >= steps/sigma.

    T(j) is at least its first term w_j and at most w_j e^g, g = -ln(1 - exp(-start/sigma^2)); and
    1 - Phi(x+mu) <= (1 - Phi(x)) exp(-mu x - mu^2/2). So x_j >= y = (j steps/sigma^2 + g)/mu suffices, that is
    T(j) <= 1 - Phi(y); and this is at least y/(1+y^2) times the density at y. In logarithms, with u = j/sigma,
    (u^2 - y^2)/2 must exceed ln((1+y^2)/y) and constants: at the start, and rise faster from there on. The
    slopes are u - y r, r = steps/(sigma mu) <= 1, and at most 1/u.
    """
    u, g = start / sigma, -math.log1p(-math.exp(-start / sigma**2))
    r = steps / (sigma * mu)
    y = u * r + g / mu
    fixed = 0.5 * math.log(2 * math.pi) - log_total + g
    return (u - y) * (u + y) / 2 >= math.log((1 + y * y) / y) + fixed + 1e-6 and u - y * r > 1 / u


def lattice_mu(sigma: float, squared: int, coordinates: int) -> float:
    """A mu for which whole numbers with discrete Gaussian noise of parameter sigma are mu-GDP, rounded up.

    Neighbours differ by a whole-numbered vector of squared length at most `squared`, in at most `coordinates` places.
    Lemma 3 of docs/mechanisms-on-a-grid.md with the best t: sqrt(squared/(sigma^2 - t^2)) plus twice the mu of a pure
    loss of coordinates * c(t). inf where sigma is too small for any t.
    """
    best = math.inf
    for t in np.linspace(0.3, 2.5, 221).tolist():
        wave = _wave(t)
        if t < 0.98 * sigma and wave < 0.5:
            c = coordinates * (-math.log1p(-wave) + _wave(sigma))
            best = min(best, math.sqrt(squared / (sigma**2 - t**2)) + 2 * 1.25332 * c)
    return best * (1 + 1e-12)


def _wave(t: float) -> float:
    """sup |theta_t(x) / (t sqrt(2 pi)) - 1| = 2 sum over m >= 1 of exp(-2 pi^2 m^2 t^2), rounded up."""
    first = math.exp(-2 * math.pi**2 * t * t)
    return 2 * first / (1 - first) * (1 + 1e-12)
