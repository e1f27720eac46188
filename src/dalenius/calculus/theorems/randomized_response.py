"""Composed randomized response: the loss that dominates every composition of (epsilon, delta)-DP steps.

Internal to the composition theorems. A release that is epsilon-DP is a post-processing of randomized
response with the same epsilon (Kairouz, Oh and Viswanath 2015, Thm 2.1), so k of them, adaptively
chosen, are dominated by the sum of k independent losses that are +epsilon_i with probability
p_i = e^epsilon_i/(1+e^epsilon_i) and -epsilon_i otherwise.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dalenius.calculus.theorems.numerics import TINY, ULP, exp_up, up

Floats = npt.NDArray[np.float64]

MAX_ATOMS = 2_000_000
LATTICE_POINTS = 1 << 20
LATTICE_WORK = 400_000_000

# Atoms of probability below e^-800 are forgotten: two million of them weigh less than e^-785, which is
# below the least positive float that every result is rounded up by.
_NEGLIGIBLE = -800.0


@dataclass(frozen=True)
class ComposedLoss:
    """Atoms of a discrete loss: values `high + low` (double-double), log masses, and their errors."""

    high: Floats
    low: Floats
    log_mass: Floats
    log_error: Floats
    lost: float = 0.0

    def delta(self, epsilon: float) -> float:
        """E[(1 - e^(epsilon - L))_+], rounded up."""
        # high - epsilon is exact where the two are close (Sterbenz), so the gap keeps its relative
        # accuracy even for an atom sitting one rounding above epsilon.
        gap = (self.high - epsilon) + self.low
        above = gap > 0
        if not above.any():
            return up(self.lost) if self.lost else 0.0
        terms = self.log_mass[above] + self.log_error[above] + np.log(-np.expm1(-gap[above]))
        top = float(terms.max())
        if top == -math.inf:
            return up(self.lost + TINY)
        total = top + math.log(float(np.exp(terms - top).sum()))
        # numpy sums pairwise: 64 ulps cover two million terms together with exp, log and expm1; the
        # exponent itself is rounded to ulp(|total|).
        return min(1.0, up(exp_up(total, ULP * (64 + 2 * abs(total))) + self.lost, 2))


def homogeneous(epsilon: float, count: int) -> ComposedLoss:
    """The sum of `count` equal losses: epsilon (2J - count), J ~ Bin(count, e^eps/(1+e^eps))."""
    heads, log_mass, log_error = _binomial(epsilon, count)
    high, low = _times(epsilon, 2.0 * heads - count)
    return ComposedLoss(high, low, log_mass, log_error)


def heterogeneous(epsilons: Sequence[float]) -> ComposedLoss | None:
    """The exact sum of unequal losses, or None when it has more than MAX_ATOMS distinct values."""
    groups = sorted(Counter(value for value in epsilons if value > 0).items(), key=lambda group: group[1])
    zero = np.zeros(1)
    total = ComposedLoss(zero, zero, zero, zero)
    for epsilon, count in groups:
        step = homogeneous(epsilon, count)
        if total.high.size * step.high.size > MAX_ATOMS:
            return None
        total = _sum(total, step)
    return total


def lattice(epsilons: Sequence[float]) -> tuple[ComposedLoss, float]:
    """A loss on the multiples of some h = 2^-m that dominates the sum, and the bound k h on its excess.

    A loss e between lattice neighbours a = nh and b = a + h is split into a and b so that the likelihood
    ratio keeps its mean under Q: a mean preserving spread of the ratio, hence a pair of which randomized
    response at e is a post-processing (the "connect the dots" of Doroshenko et al. 2022). Under P the upper
    neighbour gets the share (1 - e^(a-e))/(1 - e^(-h)). No loss grows by more than h, so with k steps
    delta(t) <= delta_lattice(t) <= delta(t - k h); as the spreads are centred the usual excess is that of
    a variance larger by at most k h^2/4.
    """
    values = sorted(value for value in epsilons if value > 0)
    points = max(64, min(LATTICE_POINTS, LATTICE_WORK // (4 * max(1, len(values)))))
    # A power of two makes every e/h, and every lattice value, exact.
    step = 2.0 ** math.ceil(math.log2(max(sum(values) / points, 2.0**-900)))
    cells = [math.floor(value / step) for value in values]
    total = sum(cells) + len(cells)
    # T counts the steps below the top value, so L = h (total - T), and only T < total is ever needed.
    mass = np.zeros(total)
    mass[0] = 1.0
    reach = 1
    for value, cell in zip(values, cells, strict=True):
        heads = 1 / (1 + math.exp(-value))
        tails = math.exp(-value) * heads
        upper = math.expm1(cell * step - value) / math.expm1(-step)
        lower = math.expm1(value - (cell + 1) * step) / math.expm1(-step)
        weights = (
            (0, heads * upper),
            (1, heads * (1 - upper)),
            (2 * cell + 1, tails * lower),
            (2 * cell + 2, tails * (1 - lower)),
        )
        source = mass[:reach].copy()
        reach = min(total, reach + 2 * cell + 2)
        mass[:reach] = 0.0
        for shift, weight in weights:
            moved = source[: max(0, reach - shift)]
            mass[shift : shift + moved.size] += moved * up(weight, 16)
    # A pass multiplies once and adds up to four times, with weights already rounded up: 4 ulps a pass.
    # Underflow loses at most four subnormals per entry and pass.
    high = step * (total - np.arange(total, dtype=np.float64))
    with np.errstate(divide="ignore"):
        log_mass = np.log(mass)
    log_error = ULP * (4.0 * len(values) + 16 + np.abs(np.maximum(log_mass, -800.0)))
    lost = 4 * len(values) * total * TINY
    return ComposedLoss(high, np.zeros(total), log_mass, log_error, lost), up(len(values) * step)


def _sum(left: ComposedLoss, right: ComposedLoss) -> ComposedLoss:
    log_mass = np.add.outer(left.log_mass, right.log_mass).ravel()
    kept = log_mass > _NEGLIGIBLE
    log_mass = log_mass[kept]
    log_error = np.add.outer(left.log_error, right.log_error).ravel()[kept] + ULP * np.abs(log_mass)
    rows, columns = np.divmod(np.flatnonzero(kept), right.high.size)
    a, b = left.high[rows], right.high[columns]
    high = a + b
    part = high - a
    low = ((a - (high - part)) + (b - part)) + (left.low[rows] + right.low[columns])
    order = np.lexsort((low, high))
    high, low, log_mass, log_error = high[order], low[order], log_mass[order], log_error[order]
    starts = np.flatnonzero(np.concatenate(([True], (np.diff(high) != 0) | (np.diff(low) != 0))))
    if starts.size < high.size:
        log_error = np.maximum.reduceat(log_error, starts) + 8 * ULP
        log_mass = np.logaddexp.reduceat(log_mass, starts)
        log_error = log_error + ULP * np.abs(log_mass)
        high, low = high[starts], low[starts]
    return ComposedLoss(high, low, log_mass, log_error)


def _times(factor: float, whole: Floats) -> tuple[Floats, Floats]:
    # Veltkamp's split and Dekker's product: exact for whole numbers below 2^26.
    product = factor * whole
    mantissa, exponent = math.frexp(factor)
    coarse = mantissa * 134217729.0
    big = math.ldexp(coarse - (coarse - mantissa), exponent)
    return product, (big * whole - product) + (factor - big) * whole


def _binomial(epsilon: float, count: int) -> tuple[Floats, Floats, Floats]:
    """Outcomes j of Bin(count, p) that are not negligible, log probabilities, errors of those logs.

    Loader's saddle point form (2000): log b(j) = s(n) - s(j) - s(n-j) - D(j, np) - D(n-j, nq)
    + log(n/(2 pi j (n-j)))/2 with Stirling errors s and deviances D(x, m) = x log(x/m) + m - x. Unlike a
    difference of log-gammas (lost digits ~ n log n) its rounding error is a few ulps of the deviances
    plus the effect of rounding the means, |j - np| ulps.
    """
    n = float(count)
    log_p = -math.log1p(math.exp(-epsilon))
    log_q = log_p - epsilon
    j = np.arange(count + 1, dtype=np.float64)
    inner = j[1:-1]
    rest = n - inner
    mean_p, mean_q = n * math.exp(log_p), n * math.exp(log_q)
    deviance_p, error_p = _deviance(inner, mean_p, math.log(n) + log_p)
    deviance_q, error_q = _deviance(rest, mean_q, math.log(n) + log_q)
    log_mass = np.empty(count + 1)
    log_error = np.empty(count + 1)
    log_mass[0], log_mass[-1] = n * log_q, n * log_p
    log_error[0], log_error[-1] = 4 * ULP * n * abs(log_q), 4 * ULP * n * abs(log_p)
    log_mass[1:-1] = (
        _stirling(np.array([n]))[0] - _stirling(inner) - _stirling(rest) - deviance_p - deviance_q
    ) + 0.5 * np.log(n / (2 * math.pi * inner * rest))
    # A relative error r of the mean m moves D(x, m) by |x - m| r; r is an ulp of log m's exponent and two.
    moved = np.abs(inner - mean_p) * (8 + 2 * (abs(log_p) + abs(log_q)))
    log_error[1:-1] = error_p + error_q + ULP * (32 + moved)
    kept = log_mass > _NEGLIGIBLE
    return j[kept], log_mass[kept], log_error[kept]


def _deviance(x: Floats, mean: float, log_mean: float) -> tuple[Floats, Floats]:
    ratio = (x - mean) / (x + mean)
    square = ratio * ratio
    series = (x - mean) * ratio
    term = 2 * x * ratio
    # |ratio| < 0.1 makes the thirteenth term smaller than the first by 1e-24.
    for odd in range(3, 27, 2):
        term = term * square
        series = series + term / odd
    close = np.abs(ratio) < 0.1
    logarithms = np.abs(np.log(x)) + abs(log_mean)
    direct = x * (np.log(x) - log_mean) + (mean - x)
    error = np.where(close, 16 * np.abs(series), 2 * x * (logarithms + 2) + 2 * mean)
    return np.where(close, series, direct), ULP * error


def _stirling(n: Floats) -> Floats:
    small = np.array([0.0] + [_small_stirling(value) for value in range(1, 16)])
    safe = np.maximum(n, 16.0)
    inverse = 1 / (safe * safe)
    tail = 1 / 360 - inverse * (1 / 1260 - inverse * (1 / 1680 - inverse / 1188))
    series = (1 / 12 - inverse * tail) / safe
    return np.where(n < 16, small[np.minimum(n, 15.0).astype(np.int64)], series)


def _small_stirling(n: int) -> float:
    parts = [math.log(math.factorial(n)), -n * math.log(n), float(n), -0.5 * math.log(2 * math.pi * n)]
    return math.fsum(parts)
