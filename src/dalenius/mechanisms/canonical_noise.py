"""Canonical noise for any symmetric trade-off curve: f-DP with nothing left unused."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from dalenius.calculus.guarantees import GDP, ApproxDP, Guarantee, PureDP, TradeOff
from dalenius.calculus.loss import Loss
from dalenius.calculus.pairs.tabulate import lower_hull
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.arrays import Array, Ints, Reals
from dalenius.core.bisection import last_true
from dalenius.errors import InvalidParameter
from dalenius.mechanisms._support.grid_noise import coordinate_failure
from dalenius.mechanisms._support.rounded_noise import RoundedNoise, either_side
from dalenius.noise import Grid, uniform_integers

GRID_BITS = 24
"""The sensitivity is 2^24 to 2^25 grid steps."""
WORD = 62
"""Digits of a uniform number drawn at a time."""
VERTICES = 600
SMALLEST, LARGEST = 1e-3, 8.0
"""Of the mu that an accuracy may ask for."""


@dataclass(frozen=True, kw_only=True)
class CanonicalNoise(RoundedNoise):
    """Releases f(X) + sensitivity * N, N the canonical noise of a promise: that is kept, and no more.

    `guarantee` is TradeOff(f) with f = f^-1, GDP(mu), PureDP or ApproxDP. N has the distribution function F
    of Awan and Vadhan (2023): linear from c to 1 - c on [-1/2, 1/2], where f(c) = c; further left
    F(x) = f(1 - F(x+1)), further right F(x) = 1 - f(F(x-1)). Then T(N, N + 1) = f and T(N, N + m) >= f for
    smaller shifts. For PureDP and ApproxDP it is the Tulap law, for which `Tulap` is faster.

    A record changes at most `coordinates` entries of f(X), each by at most `sensitivity`; every entry has
    independent noise, and the loss is that of `coordinates` releases.

    Exact for a curve just above f. f is replaced by chords between points on or above it (about 600 of
    them, exact as binary fractions), a curve g >= f, so that what is g-DP is f-DP. N for g is drawn by
    inverting F at a uniform number of as many digits as it takes: in doubles with a proven error band, and
    in whole-number intervals where those cannot tell which grid step it falls into.

    Parameters
    ----------
    sensitivity
        The most that one record changes an entry of f(X).
    guarantee
        What one entry promises: TradeOff, GDP, PureDP or ApproxDP.
    coordinates
        The most entries that one record changes.
    adjacency
        The neighbouring relation that the sensitivity is stated for.

    Examples
    --------
    >>> import dalenius as dp
    >>> from dalenius.mechanisms import CanonicalNoise
    >>> m = CanonicalNoise(sensitivity=1, guarantee=dp.GDP(1.0))
    >>> type(m.release(41)).__name__, round(m.loss.delta(1.0), 7)
    ('float', 0.1269367)
    """

    sensitivity: float
    guarantee: Guarantee
    coordinates: int = 1
    adjacency: Adjacency = ADD_REMOVE

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self._law, self.loss

    @cached_property
    def loss(self) -> Loss:
        return self.guarantee.loss(self.adjacency) * self.coordinates

    def accuracy(self, confidence: float = 0.95, size: int = 1) -> float:
        """The error that, with probability `confidence`, every one of `size` coordinates stays within.

        The quantile of |N| times the sensitivity, plus one grid step.

        Parameters
        ----------
        confidence
            The probability, strictly between 0 and 1.
        size
            The number of coordinates.

        Returns
        -------
        float
            The error, in the units of the value.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        """
        t = coordinate_failure(confidence, size)
        return self._far(self._law.beyond(t / 2) * (1 + 1e-9))

    def cdf(self, x: Any) -> Any:
        """The chance that the noise, sensitivity * N, is at most x: what exact tests and intervals are built on.

        Parameters
        ----------
        x
            A number or an array, in the units of the value.

        Returns
        -------
        float or ndarray
            Probabilities, to 1e-12 beyond one grid step.
        """
        t = np.asarray(x, dtype=np.float64) / self.sensitivity
        lower = self._law.below(np.ravel(np.abs(t))).reshape(t.shape)
        return np.where(t > 0, 1 - lower, lower)[()]

    @classmethod
    def for_accuracy(
        cls,
        within: float,
        confidence: float = 0.95,
        *,
        sensitivity: float,
        size: int = 1,
        adjacency: Adjacency = ADD_REMOVE,
    ) -> CanonicalNoise:
        """The smallest mu whose noise, that of GDP(mu), lets all coordinates stay within an error.

        Parameters
        ----------
        within
            The error that no coordinate may exceed.
        confidence
            The probability with which that must hold.
        sensitivity
            As for the mechanism.
        size
            The number of coordinates.
        adjacency
            The neighbouring relation that the sensitivity is stated for.

        Returns
        -------
        CanonicalNoise
            The mechanism, with a guarantee of GDP.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range, or the mu would not be between 0.001 and 8.
        """
        within = checks.positive("within", within)

        def build(noise: float) -> CanonicalNoise:
            return cls(sensitivity=sensitivity, guarantee=GDP(1 / noise), adjacency=adjacency)

        def near(noise: float) -> bool:
            return build(noise).accuracy(confidence, size) <= within

        low, high = 1 / LARGEST, 1 / SMALLEST
        if not near(low) or near(high):
            raise InvalidParameter(
                f"within is {within}; no canonical noise from GDP({SMALLEST:g}) to GDP({LARGEST:g}) is just so wide. "
                "Use Gaussian.for_accuracy."
            )
        return build(last_true(near, low, high, relative=1e-12)[0])

    @classmethod
    def calibrated(
        cls, guarantee: Guarantee, *, sensitivity: float, adjacency: Adjacency = ADD_REMOVE
    ) -> CanonicalNoise:
        """The noise made for a guarantee, if one coordinate changes.

        Parameters
        ----------
        guarantee
            What one release must satisfy.
        sensitivity
            As for the mechanism.
        adjacency
            The neighbouring relation that the sensitivity is stated for.

        Returns
        -------
        CanonicalNoise
            The mechanism.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        """
        return cls(sensitivity=sensitivity, guarantee=guarantee, adjacency=adjacency)

    @cached_property
    def _grid(self) -> Grid:
        return Grid(Fraction(2) ** (math.frexp(self.sensitivity)[1] - 1 - GRID_BITS))

    @cached_property
    def _law(self) -> _Law:
        return _Law(*_chords(_curve(self.guarantee)))

    def _cells(self, count: int) -> Array:
        return self._law.draw(self._wide, count)


def _curve(guarantee: object) -> Callable[[float], float]:
    """The trade-off curve of a promise."""
    if isinstance(guarantee, TradeOff):
        return guarantee.f
    if isinstance(guarantee, GDP) and guarantee.mu > 0:
        mu = guarantee.mu
        return lambda a: float(ndtr(-ndtri(a) - mu)) if 0 < a < 1 else 1.0 - a
    if isinstance(guarantee, PureDP | ApproxDP) and guarantee.epsilon > 0:
        epsilon = guarantee.epsilon
        delta = guarantee.delta if isinstance(guarantee, ApproxDP) else 0.0
        return lambda a: max(0.0, 1 - delta - math.exp(epsilon) * a, math.exp(-epsilon) * (1 - delta - a))
    raise InvalidParameter(
        f"guarantee is {guarantee!r}; it must be TradeOff, GDP, PureDP or ApproxDP, and promise less "
        "than perfect privacy. Renyi promises have no trade-off curve of their own."
    )


def _chords(f: Callable[[float], float]) -> tuple[Reals, Reals]:
    """Vertices (a, 1 - g(a)) for 0 <= a <= c of a symmetric piecewise linear g >= f with g(c) = c.

    Every vertex lies on or above f, so its mirror image lies on or above f^-1 = f, and so do chords.
    """
    _, c = last_true(lambda a: f(a) > a, 0.0, 0.5, steps=49)
    if c < 1e-6 or c > 0.5 - 1e-9:
        raise InvalidParameter(
            f"the curve meets the diagonal at {c:g}; it must do so between 1e-6 (nothing is protected) and "
            "1/2 (nothing is told)."
        )
    levels = np.unique(
        np.concatenate(
            ([0.0], np.geomspace(1e-13, c, VERTICES // 2)[:-1], np.linspace(0, c, VERTICES // 2)[1:-1], [c])
        )
    )
    values = np.array([f(float(a)) for a in levels])
    back = np.array([f(float(y)) for y in values])
    if (np.abs(back - levels) > 1e-9 + 1e-6 * levels).any() or not np.isfinite(values).all():
        raise InvalidParameter(
            "the curve is not its own inverse; use the larger of f and its inverse, which promises the same."
        )
    # 1 - f rounded down: the point is raised by more than f can be off, but never above 1 - a; and below the
    # line of slope 1 through (c, 1 - c), without which the mirrored curve would not be convex there.
    gain = np.minimum(np.maximum(1.0 - values - 1e-15, levels), (1.0 - 2.0 * c + levels) * (1 - 1e-15))
    gain[-1] = 1.0 - c
    x, y = lower_hull(levels, -gain)
    return x, -y


class _Law:
    """The canonical noise of the curve g through given vertices: gain(u) = 1 - g(u) on [0, c], concave."""

    def __init__(self, levels: Reals, gain: Reals) -> None:
        self.levels, self.gain = levels, gain
        self.c = float(levels[-1])
        self.exact = [(Fraction(float(a)), Fraction(float(y))) for a, y in zip(levels, gain, strict=True)]
        # g(c) = c makes both halves of the curve meet; c is a double and 1 - c is one, too.
        self.exact[-1] = (Fraction(self.c), 1 - Fraction(self.c))

    def raised(self, u: Reals) -> Reals:
        """gain(u) in doubles, off by a relative 2^-50 at most beyond what u is off by.

        An increasing concave function with gain(0) >= 0 has u gain'(u) <= gain(u): a relative error of u is
        not made larger. Slopes and the interpolation y + (u - a) slope, all terms of one sign, add 6
        roundings.
        """
        at = np.clip(np.searchsorted(self.levels, u, side="right") - 1, 0, len(self.levels) - 2)
        slope = np.diff(self.gain) / np.diff(self.levels)
        return np.asarray(self.gain[at] + (u - self.levels[at]) * slope[at])

    def beyond(self, p: float) -> float:
        """The x with P(N > x) = p, for 0 < p < 1/2."""
        u, steps = p, 0
        while u < self.c:
            u, steps = float(self.raised(np.array([u]))[0]), steps + 1
        return max(0.0, steps + (0.5 - u) / (1 - 2 * self.c))

    def below(self, t: Reals) -> Reals:
        """P(N <= -t) for t >= 0: gain takes P(N <= x) to P(N <= x + 1) for x <= -1/2, so its inverse goes back."""
        steps = np.maximum(np.ceil(t - 0.5), 0.0)
        p = self.c + (0.5 - (t - steps)) * (1 - 2 * self.c)
        for step in range(int(min(steps.max(initial=0.0), 1e6))):
            going = (steps > step) & (p > 1e-30)
            if not going.any():
                break
            # Beyond the smallest gain, which a bounded noise has, there is nothing.
            p[going] = np.where(p[going] < self.gain[0], 0.0, np.interp(p[going], self.gain, self.levels))
        return np.where(p > 1e-30, p, 0.0)

    def draw(self, wide: int, count: int) -> Array:
        """floor(wide N): |N| from a uniform number below 1/2, then a sign."""
        size = np.empty(count, dtype=np.int64)
        for start in range(0, count, 1 << 16):
            stop = min(count, start + (1 << 16))
            size[start:stop] = self._sizes(wide, stop - start)
        return either_side(size)

    def _sizes(self, wide: int, count: int) -> Ints:
        """floor(wide |N|): u, uniform below 1/2, is raised to gain(u) until it is c or more."""
        digits = np.asarray(uniform_integers(0, 1 << WORD, count))
        u = np.ldexp(digits + 0.5, -WORD - 1)
        # Relative error: half a digit of u, then a few roundings a step.
        error = np.ldexp(1.0, -WORD - 2) / u + 2.0**-52
        steps = np.zeros(count)
        doubtful = np.zeros(count, dtype=bool)
        going = np.flatnonzero(u < self.c)
        doubtful |= np.abs(u - self.c) <= 2 * error * self.c
        while len(going):
            u[going] = self.raised(u[going])
            error[going] += 2.0**-49
            steps[going] += 1
            doubtful[going] |= np.abs(u[going] - self.c) <= 2 * error[going] * self.c
            going = going[u[going] < self.c]
        place = wide * (steps + (0.5 - u) / (1 - 2 * self.c))
        slack = wide * (2 * error / (1 - 2 * self.c) + (steps + 1) * 2.0**-49)
        whole = np.floor(place)
        doubtful |= (place - whole <= slack) | (whole + 1 - place <= slack) | (slack > 0.25) | (place < slack)
        result = whole.astype(np.int64)
        for i in np.flatnonzero(doubtful):
            result[i] = self._exactly(wide, int(digits[i]))
        return result

    def _exactly(self, wide: int, digits: int) -> int:
        """The same in intervals of whole numbers, with more digits until the answer is certain."""
        known = WORD
        while True:
            ends = [self._followed(digits + i, known, bool(i)) for i in (0, 1)]
            if ends[0][1] == ends[1][1]:
                half = Fraction(1, 2)
                # The lower end of u is the upper end of |N|.
                high, low = (wide * (steps + (half - u) / (1 - 2 * Fraction(self.c))) for u, steps in ends)
                if math.floor(low) == math.floor(high) and low >= 0:
                    return math.floor(low)
            digits = (digits << WORD) | int(uniform_integers(0, 1 << WORD))
            known += WORD

    def _followed(self, digits: int, known: int, upper: bool) -> tuple[Fraction, int]:
        """The number digits 2^-known / 2 taken to [c, 1 - c], rounded outward, and the steps it took."""
        precision = known + 64
        u, steps = Fraction(digits, 1 << (known + 1)), 0
        while u < self.c:
            i = min(bisect_right(self.levels, float(u)), len(self.exact) - 1)
            while i > 1 and self.exact[i - 1][0] > u:  # where the double rounded across a vertex
                i -= 1
            while i < len(self.exact) - 1 and self.exact[i][0] <= u:
                i += 1
            (a, y), (b, z) = self.exact[i - 1], self.exact[i]
            value = (y + (u - a) * (z - y) / (b - a)) * (1 << precision)
            u = Fraction(math.ceil(value) if upper else math.floor(value), 1 << precision)
            steps += 1
        return u, steps
