"""How often a noisy maximum misses the best candidate by more than a given gap.

Candidate i has score u_i and wins if u_i + r_i is largest, the r_i independent with one common law. The
chance that the winner is worse than the best by more than g is largest when all the other k - 1 candidates
are worse by just over g: raising a candidate that is that bad makes it win more often, and making a better
one that bad takes a good winner away. So the worst case is exactly

    P(max(r_2, ..., r_k) - r_1 > g),

which `miss` gives with g in units of the noise's scale.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from typing import Literal

import numpy as np
from scipy.special import lambertw

from dalenius.core.arrays import Reals
from dalenius.core.bisection import change_point

Noise = Literal["laplace", "exponential", "gumbel"]

NODES, WEIGHTS = (np.asarray(x, dtype=np.float64) for x in np.polynomial.legendre.leggauss(24))
TAIL_SCALES = 50.0
"""Noise beyond this many scales is left out of integrals: less than 2e-22 of it."""
QUADRATURE_ALLOWANCE = 1e-9
"""Relative allowance for quadrature and rounding in a gap that is promised."""


def miss(noise: Noise, gap: float, size: int) -> float:
    """P(max of size - 1 noises - one noise > gap): the largest chance to miss the best by more than gap."""
    if size == 1:
        return 0.0
    return _LAWS[noise](gap, size)


@lru_cache(maxsize=256)
def sure_gap(noise: Noise, confidence: float, size: int) -> float:
    """The least gap, in scales and rounded up, that is exceeded with probability at most 1 - confidence."""
    if size == 1:
        return 0.0
    if noise == "gumbel":
        exact = math.log(size - 1) + math.log(confidence) - math.log1p(-confidence)
        return max(0.0, exact + 1e-14 * (1 + abs(exact)))

    def fails(gap: float) -> bool:
        return miss(noise, gap, size) > 1.0 - confidence

    high = change_point(fails, 1.0, relative=QUADRATURE_ALLOWANCE / 4)[1] if fails(0.0) else 0.0
    return high * (1 + QUADRATURE_ALLOWANCE)


def expected_gap(noise: Noise, size: int) -> float:
    """A bound on the expected gap, in scales, for any scores.

    Gumbel: the largest expected gap is W((k - 1)/e), W the Lambert function, and it is attained. With weights
    w_i = exp(-g_i) the expected gap is E = sum g_i w_i / (1 + sum w_i); dE/dg_i = 0 says g_i = 1 + E for
    every i, so all g_i are one t with t = 1 + (k - 1) exp(-t). This is below log k (Awan 2025, exercise 7.3).
    Exponential: the largest of t P(miss by t), attained by equal gaps (McKenna and Sheldon 2020). Laplace:
    the winner's gap is at most (max r_j - r_1)_+ (Awan 2025, proof of Lemma 2), whose mean is the
    mean of the largest of k noises, H_k - sum_{j<=k} 2^-j/j - 2^-k/k.
    """
    if size == 1:
        return 0.0
    if noise == "gumbel":
        return float(lambertw((size - 1) / math.e).real) * (1 + 1e-14)
    if noise == "exponential":
        return _largest_product(size) * (1 + QUADRATURE_ALLOWANCE)
    harmonic = float((1.0 / np.arange(size, 0, -1)).sum())
    j = np.arange(1, min(size, 1100) + 1)
    return (harmonic - float((0.5**j / j).sum()) - 0.5 ** min(size, 1100) / size) * (1 + 1e-13)


def _largest_product(size: int) -> float:
    """The largest t miss(t), which rises and then falls: golden section between 0 and far out."""
    low, high, share = 0.0, 3.0 + math.log(size), (math.sqrt(5) - 1) / 2
    for _ in range(80):
        a, b = high - share * (high - low), low + share * (high - low)
        if a * _exponential(a, size) < b * _exponential(b, size):
            low = a
        else:
            high = b
    return high * _exponential(low, size)


def _gumbel(gap: float, size: int) -> float:
    odds = (size - 1) * math.exp(-gap)
    return odds / (1 + odds)


def _exponential(gap: float, size: int) -> float:
    """1 - (1 - (1-p)^k) / (k p), p = exp(-gap): permute and flip accepts each of the others with chance p."""
    p = math.exp(-gap)
    if p * size > 0.1:
        return 1.0 - 1.0 / size if p == 1.0 else 1.0 + math.expm1(size * math.log1p(-p)) / (size * p)
    total, term = 0.0, 1.0  # sum over i >= 1 of (-1)^(i+1) C(k, i+1) p^i / k, falling fast
    for i in range(1, 40):
        term *= (size - i) / (i + 1) * p
        total += term if i % 2 else -term
        if term < 1e-18 * total:
            break
    return total


def _laplace(gap: float, size: int) -> float:
    def integrand(x: Reals) -> Reals:
        return 0.5 * np.exp(-np.abs(x)) * -np.expm1((size - 1) * log_below(x + gap))

    return integral(integrand, [-gap - TAIL_SCALES, -gap, 0.0, TAIL_SCALES + math.log(size)])


def log_below(x: Reals) -> Reals:
    """log P(L <= x) for standard Laplace noise."""
    return np.where(x < 0, x - math.log(2.0), np.log1p(-0.5 * np.exp(-np.abs(x))))


def integral(f: Callable[[Reals], Reals], corners: list[float], longest: float = 1.0) -> float:
    """The integral of a function smooth between corners: 24 points on each of pieces not too long."""
    total = 0.0
    for start, stop in pairwise(corners):
        pieces = max(1, math.ceil((stop - start) / longest))
        edges = np.linspace(start, stop, pieces + 1)
        half = np.diff(edges) / 2
        points = edges[:-1, None] + half[:, None] * (1 + NODES)
        total += float((f(points) * (half[:, None] * WEIGHTS)).sum())
    return total


_LAWS: dict[Noise, Callable[[float, int], float]] = {
    "gumbel": _gumbel,
    "exponential": _exponential,
    "laplace": _laplace,
}
