"""The Skellam pair: whole numbers with the difference of two Poisson numbers of equal mean as noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dalenius.calculus.pairs.atoms import Atoms
from dalenius.calculus.pairs.known import _Known
from dalenius.calculus.pairs.pair import UNIT, Pair, Reals

FAR = -720.0
"""The logarithm of the weight at which the law is cut, relative to its middle."""


class SkellamAtoms(Atoms):
    """k with P(k) = e^-v I_|k|(v), v the variance, against the same moved by `steps`; cut far out.

    The law of a sum of Poisson numbers and negative ones is log-concave; so a larger shift is easier to tell, and the
    loss grows with the outcome. Its Renyi divergences are bounded without the cut (`skellam_divergence`).
    """

    tail_only = True

    def __init__(self, variance: float, steps: int) -> None:
        logs, errors, beyond = log_weights(variance, steps)
        last = len(logs) - 1 - steps
        k = np.arange(-last - steps, last + 1)  # P is centred at 0, Q at -steps; both are in the table
        at, moved = np.abs(k), np.abs(k + steps)
        weight = np.exp(logs)
        total = 2.0 * math.fsum(weight[1:]) + 1.0
        loss = np.maximum.accumulate(logs[at] - logs[moved])  # it grows; roundings are part of the blur
        # Errors of logarithms add up along the way from one place to the other.
        blur = float(np.abs(errors[at] - errors[moved]).max()) + 8 * UNIT * float(np.abs(loss).max() + 1.0)
        super().__init__(
            loss,
            weight[at] / total,
            2.0 * beyond,  # on either side, relative to the middle: more than relative to all
            slack=2.0 * float(errors[-1]) + 16 * UNIT,
            blur=blur,
        )
        self.variance, self.sensitivity = variance, steps

    @property
    def asymptote(self) -> tuple[float, float]:
        return 0.5 * self.sensitivity**2 / self.variance * (1 + 4 * UNIT), self._flat * (1 + 4 * UNIT)

    @property
    def _flat(self) -> float:
        return 1.5 * self.sensitivity / self.variance

    def renyi_log_mgf(self, s: Reals) -> Reals:
        """The moments of the table and what the cut may add to them, or the theorem, whichever is less.

        By Hoelder's inequality with a whole S >= 2s the tail, of mass T under P, adds at most T^(1 - s/S) M(S)^(s/S)
        to the moment M(s), and the theorem bounds M(S); the first power is at least a half.
        """
        known = self._by_theorem(s)
        order = 2.0 * np.ceil(s)
        rest = s * self._divergence(1.0 + order) + 0.5 * math.log(self.infinite)
        table = np.full(len(s), math.inf)
        near = (rest < -100.0) & (s < 1e4)
        table[near] = self._log_mgf_up(s[near]) + np.exp(rest[near])
        return np.asarray(np.minimum(known, table * (1 + 4 * UNIT)))

    def _by_theorem(self, s: Reals) -> Reals:
        return between_orders(s, self.variance, float(self.sensitivity), float(self.sensitivity))

    def _divergence(self, order: Reals) -> Reals:
        return skellam_divergence(order, self.variance, float(self.sensitivity), float(self.sensitivity))

    def chained(self, size: int) -> Pair | None:
        """The same noise, moved `size` times as far, as for the discrete Gaussian."""
        return (
            None if self.sensitivity * size > 10**4 else SkellamAtoms(self.variance, self.sensitivity * size)
        )

    def dominates(self, other: Pair) -> bool:
        same = isinstance(other, SkellamAtoms) and self.variance == other.variance
        return same and self.sensitivity >= other.sensitivity  # type: ignore[attr-defined]


@dataclass(frozen=True)
class SkellamVectorPair(_Known):
    """A vector with Skellam noise in every coordinate, moved by so much in l2 and in l1 norm: its divergences alone."""

    variance: float
    l2: float
    l1: float

    renyi_is_tighter = True

    @property
    def asymptote(self) -> tuple[float, float]:
        """Whole orders have a order + b, b = 3 l1/(2 v); the chord of s (a (1 + s) + b) is a/4 above it at most."""
        a = 0.5 * self.l2**2 / self.variance
        return a * (1 + 8 * UNIT), (1.5 * self.l1 / self.variance + 0.25 * a) * (1 + 8 * UNIT)

    @property
    def zcdp(self) -> float:
        return math.inf  # the views look for the steepest line

    def renyi_log_mgf(self, s: Reals) -> Reals:
        return between_orders(s, self.variance, self.l2, self.l1)

    def dominates(self, other: Pair) -> bool:
        return (
            isinstance(other, SkellamVectorPair)
            and self.variance <= other.variance
            and self.l2 >= other.l2
            and self.l1 >= other.l1
        )


def between_orders(s: Reals, variance: float, l2: float, l1: float) -> Reals:
    """s times a bound on the divergence of order 1 + s: convex in s and 0 at 0, so at most the chord of whole s."""
    below = np.floor(s)
    part = s - below
    low, high = (m * skellam_divergence(1.0 + m, variance, l2, l1) for m in (below, below + 1.0))
    return np.asarray(((1.0 - part) * low + part * high) * (1 + 16 * UNIT))


def skellam_divergence(order: Reals | float, variance: float, l2: float, l1: float) -> Reals:
    """A bound on the Renyi divergence of a whole order above 1 between a Skellam vector and the same moved.

    Agarwal, Kairouz and Liu 2021, "The Skellam Mechanism for Differentially Private Federated Learning", Theorem 3.5:
    order l2^2/(2 v) + min(((2 order - 1) l2^2 + 6 l1)/(4 v^2), 3 l1/(2 v)), v being the variance of each coordinate.
    """
    near = ((2.0 * order - 1.0) * l2**2 + 6.0 * l1) / (4.0 * variance**2)
    return np.asarray(order * l2**2 / (2.0 * variance) + np.minimum(near, 1.5 * l1 / variance))


@lru_cache(maxsize=64)
def log_weights(variance: float, steps: int) -> tuple[Reals, Reals, float]:
    """log(I_k(v)/I_0(v)) for k = 0, 1, ... until it is beyond notice and `steps` more; bounds on its errors; the rest.

    By the ratios r_k = I_k/I_(k-1) = 1/(2k/v + r_(k+1)), from far out inwards, which subtracts nothing. They are in
    (0, 1) and fall with k. From further out than is used the interval (0, 1) is carried inwards and shrinks; then one
    number: with a = 2k/v an error of r_(k+1) is passed on divided by (a + r)(a + r'), r' the true one, which is at
    least r less its error, and each step adds four roundings.
    """
    last = _cut(variance)
    count = last + steps
    low, high = 0.0, 1.0
    for k in range(count + 60 + int(4 * math.sqrt(variance)), count + 1, -1):
        a = 2.0 * k / variance
        low, high = (1 - 4 * UNIT) / (a + high), min((1 + 4 * UNIT) / (a + low), 1.0)
    r, off = 0.5 * (low + high), 0.5 * (high - low) + 4 * UNIT
    ratios, errors = np.empty(count + 2), np.empty(count + 2)
    for k in range(count + 1, 0, -1):
        a = 2.0 * k / variance
        off = min(off / ((a + r) * (a + max(r - off, 0.0))), 1.0) + 4 * UNIT
        r = min(1.0 / (a + r), 1.0)
        ratios[k], errors[k] = r, off / max(r - off, 0.5 * r) if off < 0.5 * r else math.inf
    steps_down = np.log(ratios[1 : count + 1])
    # |log r - log r'| <= off / min(r, r'); a rounding of each logarithm; what the sums round away is kept by two-sums.
    each = errors[1 : count + 1] * (1 + 1e-6) + 2 * UNIT * (1.0 + np.abs(steps_down))
    logs = np.concatenate(([0.0], _sums(steps_down)))
    bound = np.concatenate(([0.0], np.cumsum(each))) * (1 + 1e-9) + 4 * UNIT * np.abs(logs)
    # What is beyond `last` is at most a geometric series.
    ratio = float(ratios[last + 1] * (1.0 + errors[last + 1])) * (1 + 1e-6)
    rest = math.exp(float(logs[last] + bound[last])) * 1.01 / (1.0 - ratio) if ratio < 1.0 else math.inf
    return logs, bound, rest


def _sums(values: Reals) -> Reals:
    """Running sums, each as if computed in twice the precision."""
    sums = np.empty(len(values))
    high = low = 0.0
    for i, value in enumerate(values.tolist()):
        total = high + value
        back = total - high
        low += (high - (total - back)) + (value - back)
        high = total
        sums[i] = high + low
    return sums


def _cut(variance: float) -> int:
    """About the k with I_k(v)/I_0(v) = e^FAR, by r_k <= v/(k - 1/2 + sqrt(v^2 + (k - 1/2)^2)) (Amos 1974).

    Nothing rests on it: what is beyond is bounded with the weights themselves.
    """
    k = 64
    while True:
        j = np.arange(1, k + 1) - 0.5
        total = np.cumsum(np.log(variance) - np.log(j + np.hypot(j, variance)))
        if total[-1] < FAR:
            return int(np.searchsorted(-total, -FAR)) + 1
        k *= 2
