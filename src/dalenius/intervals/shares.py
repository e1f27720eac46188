"""A population's share: a binomial count, seen through noise.

With x of n rows in a population of which the share is p, D = (noisy x) - p (noisy n) is x - p n and noise of known
law: how probable it is that as much, or as little, is released, is known for every p. (Clopper and Pearson's test, with
the noise in the place of their caution.) Rare shares have the sum over all x, others the Edgeworth series (Hall 1992).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit, gammaln, ndtr

from dalenius.core.arrays import Bools, Reals
from dalenius.intervals.laws import Noisy

RARE = 12.0
"""Below so many rows the count is summed over."""

MOST = 60
"""Rows summed over."""


def at_ends(top: Noisy, bottom: Noisy, square: Noisy | None) -> Reals:
    """How far it is believed that all rows are at either bound (1 or -1), as if in or out: 1 without a sum of squares.

    The squares then add up to n; otherwise to something between n mean^2 and n. This is the probability of the first,
    if the two were as likely before, and all sums of the second.
    """
    n = np.maximum(bottom.values, 0.0)
    if square is None:
        return np.ones(len(n))
    mean = np.clip(top.values / np.maximum(n, 1.0), -1.0, 1.0)
    noise = np.sqrt(square.variance + bottom.variance)
    most = np.maximum(n * (1 - mean**2) / noise, 1e-6)
    gap = np.clip((n - square.values) / noise, -30.0, 30.0 + most)
    ends = -(gap**2) / 2 - np.log(2 * np.pi) / 2
    between = np.log(np.maximum(ndtr(gap) - ndtr(gap - most), 1e-300) / most)
    return np.asarray(expit(ends - between))


@dataclass(frozen=True, eq=False)
class Share:
    """Noisy sums of 1 (in) and -1 (out), and noisy counts, of every group."""

    top: Noisy
    bottom: Noisy

    def more(self, p: Reals) -> Reals:
        """The chance of as large a sum, if the share is p."""
        # Noise on whole numbers has no values between: what is as far as the released counts as within.
        return np.asarray(1 - self._at_most(p, -self.top.edge / 2))

    def less(self, p: Reals) -> Reals:
        """The chance of as small a sum."""
        return self._at_most(p, self.top.edge / 2)

    def more_even(self, p: Reals) -> Reals:
        """The chance of a sum as near to 0 (which says less of whether in or out is the rarer), if one of them is p."""
        edge = np.full(len(p), -self.top.edge / 2)
        return np.asarray(1 - self._counted(p, edge) - self._counted(1 - p, edge))

    def less_even(self, p: Reals) -> Reals:
        """The chance of a sum as far from 0."""
        edge = np.full(len(p), self.top.edge / 2)
        return np.asarray(self._counted(p, edge) + self._counted(1 - p, edge))

    def _at_most(self, p: Reals, edge: float) -> Reals:
        chance = self._counted(np.where(self._turned, 1 - p, p), np.where(self._turned, -edge, edge))
        return np.where(self._turned, 1 - chance, chance)

    @cached_property
    def _turned(self) -> Reals:
        """Whether out is counted: the rarer of in and out."""
        return np.asarray(self.top.values > 0)

    @cached_property
    def _n(self) -> Reals:
        return np.maximum(np.rint(self.bottom.values), 1.0)

    @cached_property
    def _rare(self) -> Bools:
        noise = (self.top.variance + self.bottom.variance) / 4
        return np.asarray(((self._n - np.abs(self.top.values)) / 2 < RARE) & (noise < RARE))

    @cached_property
    def _log_choices(self) -> Reals:
        x, n = np.arange(MOST + 1.0), self._n[self._rare][:, None]
        choices = gammaln(n + 1) - gammaln(x + 1) - gammaln(np.maximum(n - x, 0) + 1)
        return np.where(n < x, -np.inf, choices)

    def _counted(self, p: Reals, edge: Reals) -> Reals:
        m = 2 * p - 1
        gap = (-np.abs(self.top.values) - m * self.bottom.values) / 2 + edge
        chances = np.empty(len(p))
        for some, chance in ((self._rare, self._summed), (~self._rare, self._smooth)):
            if some.any():
                chances[some] = chance(p[some], self._n[some], gap[some], np.abs(m[some]))
        return chances

    def _summed(self, p: Reals, n: Reals, gap: Reals, m: Reals) -> Reals:
        p, n, x = np.clip(p, 1e-15, 1 - 1e-15)[:, None], n[:, None], np.arange(MOST + 1.0)
        chance = np.exp(self._log_choices + x * np.log(p) + np.maximum(n - x, 0.0) * np.log1p(-p))
        below = self._noise_below(gap[:, None] - (x - p * n), m[:, None])
        return np.asarray((chance * below).sum(axis=1))

    def _noise_below(self, t: Reals, m: Reals) -> Reals:
        """The chance that (noise of s - m noise of n) / 2 is at most t."""
        return self.top.law.sum_below(2 * t, np.asarray(self.top.variance), m**2 * self.bottom.variance)

    def _smooth(self, p: Reals, n: Reals, gap: Reals, m: Reals) -> Reals:
        draws = n * p * (1 - p)
        noise = (self.top.variance + m**2 * self.bottom.variance) / 4
        fourth = (self.top.fourth + m**4 * self.bottom.fourth) / 16
        variance = np.maximum(draws + noise, 1e-300)
        z = gap / np.sqrt(variance)
        skew = draws * (1 - 2 * p) / variance**1.5
        peak = (draws * (1 - 6 * p * (1 - p)) + fourth) / variance**2
        bend = skew / 6 * (z**2 - 1) + peak / 24 * (z**3 - 3 * z) + skew**2 / 72 * (z**5 - 10 * z**3 + 15 * z)
        bend = np.where(np.abs(z) < 6, bend, 0.0)
        below = ndtr(z) - np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) * bend
        return np.asarray(np.clip(below, 0.0, 1.0))
