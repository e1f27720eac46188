"""How far Gaussian vectors reach, with the stated probability; each number rounded up."""

from __future__ import annotations

import math
from functools import lru_cache

from scipy.special import gammainccinv, ndtri

UP = 1 + 1e-12
"""SciPy's quantiles are good to far fewer units in the last place than this leaves."""


@lru_cache(maxsize=4096)
def along(failure: float) -> float:
    """z with P(|N(0, 1)| > z) <= failure: one direction, fixed beforehand."""
    return -float(ndtri(failure / 2)) * UP


@lru_cache(maxsize=4096)
def length(size: int, failure: float) -> float:
    """P(|N(0, I)| > it) <= failure in so many dimensions: every direction at once."""
    return math.sqrt(2 * float(gammainccinv(size / 2, failure))) * UP


@lru_cache(maxsize=4096)
def largest(size: int, failure: float) -> float:
    """No entry of N(0, I) is larger in magnitude, but with probability `failure`; exact, as they are independent."""
    return along(-math.expm1(math.log1p(-failure) / size))


@lru_cache(maxsize=4096)
def norm_noise_length(size: int, failure: float) -> float:
    """The same as `length`, for noise of density exp(-|b|): its length is Gamma(size)."""
    return float(gammainccinv(size, failure)) * UP
