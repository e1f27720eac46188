"""The interval of a population's share: a binomial count, seen through noise.

With x of n rows in a population of which the share is p, D = (noisy x) - p (noisy n) is x - p n and noise of known
law. The interval is every p for which D is in the middle of its law, half of the failure on each side: Clopper and
Pearson's, with the noise in the place of their caution. Rare shares have the sum over all x, others the Edgeworth
series (Hall 1992).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, ndtr, ndtri

from dalenius.tables.laws import Noisy
from dalenius.tables.roots import crossing

Reals = npt.NDArray[Any]

RARE = 12.0
"""Below so many rows the count is summed over."""

MOST = 60
"""Rows summed over."""


def share(top: Noisy, bottom: Noisy, failure: float) -> tuple[Reals, Reals]:
    """The ends, from noisy sums of 1 (in) and -1 (out), and noisy counts, of every group; in terms of 2 p - 1."""
    n = np.maximum(np.rint(bottom.values), 1.0)
    s = np.clip(top.values, -np.maximum(bottom.values, 0.0), np.maximum(bottom.values, 0.0))
    # The rarer of in and out is counted.
    side = np.where(s > 0, -1.0, 1.0)
    seen = _Seen(s * side, bottom.values, n, top, bottom)
    low, high = seen.crossing(1 - failure / 2, -1), seen.crossing(failure / 2, 1)
    low, high = 2 * low - 1, 2 * high - 1
    return np.where(side > 0, low, -high), np.where(side > 0, high, -low)


def share_variance(top: Noisy, bottom: Noisy, failure: float) -> tuple[Reals, Reals]:
    """The ends for the variance of such a population, 1 - (2 p - 1)^2."""
    low, high = share(top, bottom, failure)
    first, second = 1 - low**2, 1 - high**2
    return np.minimum(first, second), np.where((low <= 0) & (high >= 0), 1.0, np.maximum(first, second))


def at_ends(top: Noisy, bottom: Noisy, square: Noisy | None) -> Reals:
    """Whether all rows may be at either bound (1 or -1), as if in or out: certain without a sum of squares.

    The squares then add up to n. That is believed where the noise lets other populations be told from it, and where
    but a few rows are away from one bound: that no rows were drawn from the other end does not say there are none.
    """
    n = np.maximum(bottom.values, 0.0)
    if square is None:
        return np.full(len(n), True)
    mean = np.clip(top.values / np.maximum(n, 1.0), -1.0, 1.0)
    most = n * (1 - mean**2)
    noise = np.sqrt(square.variance + 4 * mean**2 * top.variance + mean**4 * bottom.variance)
    few = (n - np.abs(top.values)) / 2 < RARE
    return np.asarray((n - square.values <= 2 * noise) & (few | (noise < 0.15 * most)))


@dataclass(frozen=True, eq=False)
class _Seen:
    """s = 2 x - n and noise; n and noise; n rounded."""

    s: Reals
    noisy: Reals
    n: Reals
    top: Noisy
    bottom: Noisy

    def crossing(self, wanted: float, side: int) -> Reals:
        """The p for which the released is at this quantile of its law; it falls with p."""
        # Noise on whole numbers has no values between: what is as far as the released counts as within.
        edge = side * self.top.edge / 2
        found = np.full(len(self.s), float(side > 0))
        seen = (self.s + self.n) / 2
        noise = (self.top.variance + self.bottom.variance) / 4
        rare = (seen < RARE) & (noise < RARE) & (self.noisy > 0)
        if rare.any():
            some = self._of(rare)
            logs = some._log_choices
            found[rare] = some._found(lambda p: some._summed(p, logs, edge), wanted)
        many = ~rare & (self.noisy > 0)
        if many.any():
            some = self._of(many)
            found[many] = some._found(lambda p: some._smooth(p, edge), wanted)
        return found

    def _found(self, f: Callable[[Reals], Reals], wanted: float) -> Reals:
        """The p with f(p) = wanted: in terms of arcsin(sqrt(p)), in which the normal quantile of f is near to a
        straight line; among those that are not beyond all doubt."""

        def line(angle: Reals) -> Reals:
            return np.asarray(ndtri(np.clip(f(np.sin(angle) ** 2), 1e-300, 1 - 1e-16)))

        seen = np.clip((self.s + self.n) / 2, 0.0, self.n)
        noise = (self.top.variance + self.bottom.variance) / 4
        doubt = (3 - float(ndtri(min(wanted, 1 - wanted)))) * (np.sqrt(seen + 4 + noise) + 3)
        low, high = (
            np.arcsin(np.sqrt(np.clip((seen + side * doubt) / self.n, 0.0, 1.0))) for side in (-1, 1)
        )
        return np.asarray(np.sin(crossing(line, low, high, float(ndtri(wanted)))) ** 2)

    def _of(self, some: Reals) -> _Seen:
        return _Seen(self.s[some], self.noisy[some], self.n[some], self.top, self.bottom)

    @property
    def _log_choices(self) -> Reals:
        x = np.arange(MOST + 1.0)
        left = self.n[:, None] - x
        found = gammaln(self.n[:, None] + 1) - gammaln(x + 1) - gammaln(np.maximum(left, 0) + 1)
        return np.where(left < 0, -np.inf, found)

    def _gap(self, p: Reals) -> tuple[Reals, Reals]:
        """D, and the square of 2 p - 1."""
        m = 2 * p - 1
        return (self.s - m * self.noisy) / 2, m**2

    def _summed(self, p: Reals, logs: Reals, edge: float) -> Reals:
        gap, square = self._gap(p)
        p, n, x = np.clip(p, 1e-15, 1 - 1e-15)[:, None], self.n[:, None], np.arange(MOST + 1.0)
        with np.errstate(invalid="ignore"):
            chance = np.exp(logs + x * np.log(p) + (n - x) * np.log1p(-p))
        away = gap[:, None] + edge - (x - p * n)
        below = self._noise_below(away, np.sqrt(square)[:, None])
        return np.asarray((chance * below).sum(axis=1))

    def _noise_below(self, t: Reals, m: Reals) -> Reals:
        """The chance that (noise of s - m noise of n) / 2 is at most t."""
        if self.top.gaussian:
            return np.asarray(ndtr(2 * t / np.sqrt(self.top.variance + m**2 * self.bottom.variance)))
        a = self.top.variance**0.5 / 8**0.5
        b = np.maximum(m * self.bottom.variance**0.5 / 8**0.5, 1e-6 * a)
        b = np.where(np.abs(b - a) < 1e-3 * a, a * (1 - 1e-3), b)
        size = np.abs(t)
        tail = (a * a * np.exp(-size / a) - b * b * np.exp(-size / b)) / (2 * (a * a - b * b))
        return np.asarray(np.where(t < 0, tail, 1 - tail))

    def _smooth(self, p: Reals, edge: float) -> Reals:
        gap, square = self._gap(p)
        draws = self.n * p * (1 - p)
        noise = (self.top.variance + square * self.bottom.variance) / 4
        fourth = (self.top.fourth + square**2 * self.bottom.fourth) / 16
        variance = np.maximum(draws + noise, 1e-300)
        z = (gap + edge) / np.sqrt(variance)
        skew = draws * (1 - 2 * p) / variance**1.5
        peak = (draws * (1 - 6 * p * (1 - p)) + fourth) / variance**2
        bend = skew / 6 * (z**2 - 1) + peak / 24 * (z**3 - 3 * z) + skew**2 / 72 * (z**5 - 10 * z**3 + 15 * z)
        bend = np.where(np.abs(z) < 6, bend, 0.0)
        found = ndtr(z) - np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) * bend
        return np.asarray(np.clip(found, 0.0, 1.0))
