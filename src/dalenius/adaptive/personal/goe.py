"""How large the eigenvalues of a Gaussian symmetric matrix get.

Z is symmetric, N(0, 1) off the diagonal and N(0, 2) on it: (W + W^T)/sqrt(2) for W with independent standard normal
entries, the noise of `mechanisms.AnalyzeGauss` for sigma = 1. Its eigenvalues are sqrt(2) times those of the ensemble
with density prod |x_i - x_j| exp(-sum x_i^2 / 2), whose expected number beyond t is known in closed form (Mehta,
Random Matrices, 2004, section 7.2). The largest eigenvalue is beyond t only if some eigenvalue is, so that number
bounds the probability. It counts a second eigenvalue beyond t as well, which is far rarer than the first: the
quantile is exact for d = 1, and less than 1 % too large elsewhere for probabilities up to 0.2.

Chiani (2014), Theorem 2, has the exact distribution, for variance 1/2 off the diagonal: his quantiles must be
multiplied by sqrt(2) here. Without it (tau = 12 for d = 50) the "bound" is exceeded nearly always.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.polynomial.legendre import leggauss
from scipy.special import erfc

from dalenius.calculus.pairs.pair import Reals
from dalenius.core import checks
from dalenius.core.bisection import last_true
from dalenius.errors import InvalidParameter

LARGEST = 400
"""Up to here the Hermite functions are doubles where they are needed."""
SPAN = 12.0
NODES, WEIGHTS = leggauss(200)


def goe_quantile(size: int, failure: float) -> float:
    """A number that the largest eigenvalue of a Gaussian symmetric matrix exceeds with probability `failure` at most.

    The matrix has N(0, 1) off the diagonal and N(0, 2) on it. The least eigenvalue is as rarely below minus that
    number.

    Parameters
    ----------
    size
        The number of rows.
    failure
        The probability, strictly between 0 and 1.

    Returns
    -------
    float
        The quantile, or a little more.

    Raises
    ------
    InvalidParameter
        If a parameter is out of range.

    Examples
    --------
    >>> from dalenius.adaptive import goe_quantile
    >>> round(goe_quantile(50, 8.465e-6 / 2), 2)
    16.97
    """
    size = checks.count("size", size, least=1)
    failure = checks.number("failure", failure)
    if not 0 < failure < 1:
        raise InvalidParameter.of(
            "failure", f"failure is {failure}; it must be a number strictly between 0 and 1."
        )
    return _quantile(size, failure)


@lru_cache(maxsize=1024)
def _quantile(size: int, failure: float) -> float:
    # E[largest] <= 2 sqrt(d) (Slepian's inequality), and it is sqrt(2)-Lipschitz in independent normal numbers.
    concentrated = 2 * math.sqrt(size) + 2 * math.sqrt(-math.log(failure))
    if size > LARGEST or expected_beyond(size, concentrated) > failure:
        return concentrated
    _, high = last_true(lambda t: expected_beyond(size, t) > failure, 0.0, concentrated, relative=1e-12)
    return high * (1 + 1e-9)


def expected_beyond(size: int, t: float) -> float:
    """The expected number of eigenvalues above t."""
    start = t / math.sqrt(2)
    # Beyond the edge sqrt(2 d) the density falls faster than exp(-x^2/2) from wherever it is: 12 more is for ever.
    end = max(start, math.sqrt(2 * size)) + SPAN
    x = start + (end - start) * (NODES + 1) / 2
    return float(_density(size, x) @ WEIGHTS * (end - start) / 2)


def _density(size: int, x: Reals) -> Reals:
    """The expected number of eigenvalues at x, for variance 1/2 off the diagonal; x ascends far beyond the edge."""
    phi = _hermite(size, x)
    at = np.square(phi[:size]).sum(axis=0)
    beyond = _beyond(size, x)
    half = _whole(size) / 2 - beyond  # the integral of sgn(x - t) phi_size(t) / 2
    found = at + math.sqrt(size / 2) * phi[size - 1] * half
    if size % 2:
        found = found + phi[size - 1] / _whole(size - 1)
    return np.asarray(found)


def _hermite(most: int, x: Reals) -> Reals:
    """The orthonormal Hermite functions 0 ... most."""
    phi = np.empty((most + 1, *x.shape))
    phi[0] = math.pi**-0.25 * np.exp(-(x**2) / 2)
    if most:
        phi[1] = math.sqrt(2) * x * phi[0]
    for k in range(1, most):
        phi[k + 1] = math.sqrt(2 / (k + 1)) * x * phi[k] - math.sqrt(k / (k + 1)) * phi[k - 1]
    return phi


@lru_cache(maxsize=1024)
def _whole(k: int) -> float:
    """The integral of phi_k over the line: 0 for odd k; from k to k + 2 it grows by sqrt((k + 1)/(k + 2))."""
    if k % 2:
        return 0.0
    total = float(math.sqrt(2) * math.pi**0.25)
    for j in range(0, k, 2):
        total *= math.sqrt((j + 1) / (j + 2))
    return total


def _beyond(k: int, x: Reals) -> Reals:
    """The integral of phi_k from x on, by sqrt((j+1)/2) phi_(j+1) = sqrt(j/2) phi_(j-1) - phi_j'.

    Integrated from x on: I_(j+1) sqrt((j+1)/2) = I_(j-1) sqrt(j/2) + phi_j(x).
    """
    phi = _hermite(k, x)
    if k % 2:
        found, first = math.sqrt(2) * phi[0], 1
    else:
        found, first = math.sqrt(2) * math.pi**0.25 / 2 * erfc(x / math.sqrt(2)), 0
    for j in range(first + 1, k, 2):
        found = (found * math.sqrt(j / 2) + phi[j]) / math.sqrt((j + 1) / 2)
    return np.asarray(found)
