"""k of t steps, chosen at random, from below: what one number tells, the sum of a score of every step.

The score is that of a record which takes part by a coin, log(1 - g + g W) with g = k/t, W = exp(mu x - mu^2/2), rounded
to a lattice: nearly all that the releases tell, when k is known. It is a function of them, so the pair of its two laws
is dominated by theirs, however it is rounded; around the end of a period it may wrap, too. Both laws are powers of two
transforms, p^t and p'^k p^(t-k), p the law of a score under N(0, 1) and p' that under N(mu, 1).

Errors. The places where the rounded score changes are multiples of 2^-44, and so is mu, rounded down: differences are
exact. The masses of a score are good to a relative OF_SCORE, and those of the sum to t times that. Every output of an
FFT is a sum whose terms pass through log2(N) levels, so it is off by no more than 8 log2(N) roundings of the sum of
the sizes of its input; with eta for that, a power of it is off by at most
(|p| + eta)^t times expm1 of t (eta/|p| and 32 roundings), or twice it; the inverse transform passes on the mean of
these, and adds its own. All is done in extended precision where there is some. What is left is taken from the
masses of one law and added to those of the other.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy import fft

from dalenius.calculus.pairs.atoms import Atoms
from dalenius.calculus.pairs.gaussian import normal_cells
from dalenius.calculus.pairs.pair import UNIT, Reals

Long = np.longdouble
ROUND = float(np.finfo(Long).eps)

MOST_POINTS = 2**18
"""Of the lattice."""
FINE = 40.0
"""Points of it, to a standard deviation of one score."""
SPAN = 24.0
"""Standard deviations of the sum in a period, beside its shift and two scores as large as they get."""
FAR = 9.0
"""Standard deviations of a step, beyond which its score grows no more."""
UNITS = 2.0**44
WIDEST, STEEPEST = 0.25, 2.5
"""A cell that is wider, or across which the exponent moves by more, is a difference of two distribution functions,
which SciPy knows to 1e-12; others are summed by Gauss's rule of eight points, which misses 1e-16 of them."""
OF_SCORE = 4e-12
PER_SPREAD = 64.0
"""Losses kept, to a standard deviation of the loss."""
NODE, WEIGHT = np.polynomial.legendre.leggauss(8)


@lru_cache(maxsize=32)
def told_by_sum(mu: float, steps: int, chosen: int) -> tuple[Atoms, Atoms]:
    """The pair of the sum of scores, in the remove direction and in the add direction; masses are lower bounds."""
    mu, rate = math.floor(mu * UNITS) / UNITS, chosen / steps
    x = np.linspace(-FAR, FAR + mu, 4001)
    scores = _score(x, mu, rate)
    mean, spread = _moments(scores, x)
    mean_with, spread_with = _moments(scores, x - mu)
    away = math.sqrt((steps - chosen) * spread**2 + chosen * spread_with**2)
    period = SPAN * away + chosen * (mean_with - mean) + 2 * float(scores[-1] - mean)
    gap = max(spread / FINE, period / MOST_POINTS)
    size = 2 ** math.ceil(math.log2(max(period / gap, 64.0)))
    # Where the rounded score changes: at g W = exp((j - 1/2) gap) - 1 + g.
    first, last = (round(float(scores[k]) / gap) for k in (0, -1))
    edges = (np.arange(first, last) + 0.5) * gap
    inner = np.expm1(edges) + rate
    edges = (np.log(np.maximum(inner, 1e-300) / rate) + mu * mu / 2) / mu
    edges = np.maximum.accumulate(np.clip(edges, -40.0, FAR + mu + 1.0))
    edges = np.round(edges * UNITS) / UNITS
    place = np.arange(first, last + 1) % size
    without, both = _transforms(edges, mu, place, size)
    laws, off = [], []
    for powers in (((without, steps),), ((both, chosen), (without, steps - chosen))):
        mass, error = _law(powers, size)
        laws.append(mass)
        off.append(error)
    q, p = laws
    relative = math.expm1(steps * (OF_SCORE + 4 * UNIT * (FAR + mu + 1.0) ** 2))
    return _atoms(p, q, off[1], off[0], relative), _atoms(q, p, off[0], off[1], relative)


def _score(x: Reals, mu: float, rate: float) -> Reals:
    return np.asarray(
        np.logaddexp(math.log1p(-rate) if rate < 1 else -np.inf, math.log(rate) + mu * x - mu * mu / 2)
    )


def _moments(scores: Reals, x: Reals) -> tuple[float, float]:
    """Mean and standard deviation, roughly: nothing rests on them but how fine the lattice is."""
    weight = np.exp(-0.5 * x**2)
    weight /= weight.sum()
    mean = float(weight @ scores)
    return mean, math.sqrt(max(float(weight @ (scores - mean) ** 2), 1e-300))


def _transforms(edges: Reals, mu: float, place: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The transforms of the laws of one score, without the record and with it."""
    results = []
    for shift in (0.0, mu):
        cells = _cells(edges, shift)
        mass = np.zeros(size, dtype=Long)
        np.add.at(mass, place, cells.astype(Long))
        results.append(fft.rfft(mass))
    return results[0], results[1]


def _cells(edges: Reals, shift: float) -> Reals:
    """Masses of N(shift, 1) between the edges, and beyond the outer ones."""
    at = edges - shift
    mass, width = normal_cells(at), np.diff(at)
    far = 1.0 + np.maximum(np.abs(at[1:]), np.abs(at[:-1]))
    narrow = np.flatnonzero((width < WIDEST) & (width * far < STEEPEST))
    left, half = at[narrow], width[narrow] / 2
    nodes = left[:, None] + half[:, None] * (NODE + 1)
    mass[narrow + 1] = (np.exp(-0.5 * nodes**2) @ WEIGHT) * half / math.sqrt(2 * math.pi)
    return mass


def _law(powers: tuple[tuple[np.ndarray, int], ...], size: int) -> tuple[Reals, float]:
    """Masses of a sum whose transform is this product of powers, and how far any of them may be off."""
    eta = 8 * math.log2(size) * ROUND * (1 + 1e-6)
    log_value = np.zeros(size // 2 + 1, dtype=np.clongdouble)
    log_most, apart = np.zeros(size // 2 + 1), np.zeros(size // 2 + 1)
    for transform, times in powers:
        if times == 0:
            continue
        modulus = np.maximum(np.abs(transform).astype(float), 1e-300)
        log_value += times * np.log(np.where(transform == 0, Long(1e-300), transform))
        log_most += times * np.log(modulus + eta)
        apart += times * (eta / modulus + 32 * ROUND * (1.0 + np.abs(np.log(modulus))))
    error = np.exp(np.minimum(log_most, 0.0)) * np.minimum(2.0, np.expm1(np.minimum(apart, 1.0)))
    value = np.exp(log_value)
    mass = fft.irfft(value, size)
    # All but the first and last of these stand for two.
    mean = 2 * (float(error.sum()) + eta * float(np.abs(value).sum())) / size * (1 + 1e-6)
    return np.maximum(mass.astype(float), 0.0), mean + 1e-300


def _atoms(p: Reals, q: Reals, off_p: float, off_q: float, relative: float) -> Atoms:
    """Those of p against q: outcomes of about the same loss are told as one, lower bounds of p over upper ones of q."""
    known = p > 16 * off_p
    loss = np.log(p[known]) - np.log(np.maximum(q[known], 4 * off_q))
    weight = p[known]
    mean = float(weight @ loss)
    spread = math.sqrt(max(float(weight @ (loss - mean) ** 2), 1e-30))
    cell = np.floor(loss / (spread / PER_SPREAD)).astype(np.int64)
    cell = np.clip(cell, -10_000, 10_000)
    cell -= cell.min()
    count = np.bincount(cell)
    some = count > 0
    few, many = relative + UNIT * len(p), count[some]
    low = np.bincount(cell, weight)[some] * (1 - few) - many * off_p
    high = np.bincount(cell, q[known])[some] * (1 + few) + many * off_q
    low, high = low[low > 0.0], high[low > 0.0]
    loss = np.log(low) - np.log(high)
    return Atoms(loss, low, blur=8 * UNIT * (1.0 + float(np.abs(loss).max(initial=0.0)) + 40.0))
