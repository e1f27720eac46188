"""Quantiles from noisy ranks: what is kept of a release, and the intervals made of it.

The isotonic regression of the noisy prefixes is a distribution function; a quantile is where it reaches the rank
level * total, and the interval is where it reaches that rank less, and plus, what the noise does to it. The variance
of a noisy prefix is known exactly (`tree.variances`). The regression averages the noise of blocks that hold too few
rows to be told apart, so that each resolution counts with the share u / (u + BLUR) of its variance, where u is the
number of rows in a block over sigma, told from the interval itself. What it averages of the finest noise it also takes
from the step of a single row, where that can be seen: the quantile of a table, which is at a step, is then that much
further away in rank. BLUR and BLURRED were chosen by simulation.

A prefix that ends with a block of a high resolution has less noise than its neighbours, and as ranks climb, what is
ruled out there is ruled out beyond: intervals end at such a block where that makes them shorter. The values that remain
are then those before the end of the block, without it, as the prefix counts none of them: an interval ends with the
float before. (It begins with the end of a block, which a quantile may be where many rows are at it. A continuous
population whose quantile is the end of a large block, the middle of the bounds say, is so held more often than others.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from dalenius.intervals.laws import Law, multiple
from dalenius.tables.measures import tree
from dalenius.tables.measures.bins import Bins
from dalenius.tables.measures.tree import Reals

BLUR = 0.1
BLURRED = 0.3
"""Of the step of a row, where rows are far apart and noise is small."""

SIDE = 48
"""So many ranks are kept on each side of a quantile, further and further away."""


@dataclass(frozen=True, eq=False)
class Ranks:
    """Quantiles of one set of bins.

    total: rows of each group, noisy. law: of the noise of one count. best: groups x levels, the bins of the estimates.
    offsets: groups x many, ranks from level * total. reached: groups x levels x many, the bins in which those are.
    """

    total: Reals
    law: Law
    best: Reals
    offsets: Reals
    reached: Reals


def read(counts: Reals, size: int, levels: tuple[float, ...], law: Law) -> Ranks:
    """What is kept of noisy counts that agree (`tree.consistent`)."""
    total = tree.totals(counts, size)
    climbed = tree.climbing(np.cumsum(counts[:, :size], axis=1))
    middle = total[:, None] * np.array(levels)
    offsets = _offsets(total, size, law.sigma)
    best = middle
    if law.sigma * tree.top(size) ** 0.5 < 0.25:  # the total is known: half a row before that of the quantile
        best = np.ceil(np.maximum(np.rint(total), 1)[:, None] * np.array(levels) - 1e-9) - 0.5
    wanted = middle[:, :, None] + offsets[:, None, :]
    reached = tree.reached(climbed, wanted.reshape(len(total), -1)).reshape(wanted.shape)
    # No rows at all, or all of them, are reached at the ends: noise has no say there.
    down = offsets[:, None, :] <= 0
    reached = np.where(down & (wanted <= 0), 0, reached)
    reached = np.where(~down & (wanted >= total[:, None, None]), size - 1, reached)
    return Ranks(total, law, tree.reached(climbed, best), offsets, reached)


def _offsets(total: Reals, size: int, sigma: float) -> Reals:
    """From a fifth of the noise of one count to beyond what noise and sampling do at any confidence of use."""
    widest = sigma * (4 * (tree.levels(size) - 1) + tree.top(size)) ** 0.5
    most = 12 * widest + 4 * np.sqrt(np.maximum(total, 1.0))
    least = max(sigma / 5, 1e-9)
    steps = np.linspace(0.0, 1.0, SIDE)
    side = least * np.maximum(most / least, 1.0)[:, None] ** steps
    return np.concatenate((-side[:, ::-1], np.zeros((len(total), 1)), side), axis=1)


def quantile(
    ranks: Ranks, bins: Bins, k: int, level: float, failure: float, sampling: bool
) -> tuple[Reals, Reals, Reals, Reals]:
    """Estimate, standard error and ends of the interval of the k-th level.

    From the estimate outwards, up to the first rank whose distance its own noise does not explain.
    """
    edges, middles = np.array(bins.edges), np.array(bins.middles)
    kept = _Kept(ranks.offsets, ranks.reached[:, k], bins.size)
    best = ranks.best[:, k]
    drawn = np.maximum(ranks.total, 0.0) * level * (1 - level) if sampling else np.zeros(len(best))
    shares, spread = _shares(ranks, kept, bins.size, best, level, drawn)
    blurred = 0.0 if sampling else (1 - shares[0])[:, None] * BLURRED / (1 + ranks.law.variance)

    def explained(ends: Reals, side: int, failure: float) -> Reals:
        """How far from its rank a prefix of so many bins may be."""
        variance, fourth = _variance(ranks, bins.size, level, ends, shares)
        variance = np.maximum(variance + drawn[:, None], 1e-300)
        # Cornish and Fisher: a binomial count leans to one side.
        lean = drawn[:, None] * (1 - 2 * level) / variance * (ndtri(failure / 2) ** 2 - 1) / 6
        return np.asarray(np.sqrt(variance) * multiple(fourth / variance**2, failure) + blurred + side * lean)

    def end(side: int, failure: float) -> tuple[Reals, Reals]:
        """Where the interval ends on one side, in bins, and whether noise has no say there."""
        offsets, reached = kept.side(side)
        passed = _passed(offsets, reached, explained(reached + (side < 0), side, failure))
        # Where a block ends the noise is least, and a quantile is on the near side of what is ruled out there.
        blocks, ranked = _block_ends(offsets, reached, side, bins.size)
        beyond = (blocks >= 0) & (ranked > explained(np.maximum(blocks, 0), side, failure))
        at = blocks[np.arange(len(blocks)), beyond.argmax(axis=1)]
        nearer = np.minimum(passed, at - 1) if side > 0 else np.maximum(passed, at)
        passed = np.where(beyond.any(axis=1), nearer, passed)
        return passed, passed == (0 if side < 0 else bins.size - 1)

    (low, lowest), (high, highest) = end(-1, failure), end(1, failure)
    if sampling:
        # On a side where an interval ends with the range it cannot miss: the other may do so as often as both. (Those
        # of tables would then miss too often on both, where most rows are near one end.)
        low = np.where(highest & ~lowest, end(-1, 2 * failure)[0], low)
        high = np.where(lowest & ~highest, end(1, 2 * failure)[0], high)
    low, high = np.minimum(low, best), np.maximum(high, best)
    if bins.whole:  # whole bins, and the last whole number in the upper one
        low, high = np.floor(low), np.ceil(high)
    places = np.arange(len(edges))
    first, last = np.interp(low, places, edges), np.interp(high + 1, places, edges) - float(bins.whole)
    if not bins.whole:  # a bin is without its upper end, but for the last one
        last = np.where(high < bins.size - 1, np.nextafter(last, -np.inf), last)
    error = (edges[kept.above(spread) + 1] - edges[kept.below(-spread)]) / 2
    return middles[best], error, first, last


def _passed(offsets: Reals, reached: Reals, away: Reals) -> Reals:
    """Where offsets (groups x many, growing) first exceed what explains them, in bins; between two that were kept."""
    over = offsets - away
    first = np.where((over > 0).any(axis=1), (over > 0).argmax(axis=1), over.shape[1] - 1)
    rows, last = np.arange(len(over)), np.maximum(first - 1, 0)
    a, b = over[rows, last], over[rows, first]
    share = np.clip(np.where(b > a, -a / np.where(b > a, b - a, 1.0), 1.0), 0.0, 1.0)
    return np.asarray(reached[rows, last] + share * (reached[rows, first] - reached[rows, last]))


def _block_ends(offsets: Reals, reached: Reals, side: int, size: int) -> tuple[Reals, Reals]:
    """From each bin reached to the next, outwards: the end of the largest block between them, as a number of bins (-1
    where none ends), and how far in rank from the quantile that is."""
    near, far = (reached[:, :-1], reached[:, 1:]) if side > 0 else (reached[:, 1:], reached[:, :-1])
    ends = np.full(near.shape, -1)
    for step in (tree.FAN**height for height in range(1, tree.levels(size))):
        end = -(-(near + 1) // step) * step if side > 0 else far // step * step
        ends = np.where((near < end) & (end <= far), end, ends)
    share = np.abs(ends - reached[:, :-1] - (side < 0)) / np.maximum(far - near, 1)
    step_of_rank = np.where(np.isinf(offsets[:, 1:]), 0.0, offsets[:, 1:] - offsets[:, :-1])
    return ends, offsets[:, :-1] + np.minimum(share, 1.0) * step_of_rank


def _variance(ranks: Ranks, size: int, level: float, ends: Reals, shares: list[Reals]) -> tuple[Reals, Reals]:
    """Of noisy prefixes of so many bins (groups x many): the variance and the fourth cumulant."""
    variance, fourth = np.zeros(ends.shape), np.zeros(ends.shape)
    for share, (part, peak) in zip(shares, tree.variances(size, level, ends), strict=True):
        factor = share.reshape(-1, *(1,) * (ends.ndim - 1))
        variance, fourth = variance + factor * part, fourth + factor**2 * peak
    return variance * ranks.law.variance, fourth * ranks.law.fourth


def _shares(
    ranks: Ranks, kept: _Kept, size: int, best: Reals, level: float, drawn: Reals
) -> tuple[list[Reals], Reals]:
    """How much of each resolution's noise the regression leaves, from how dense the rows are around the quantile;
    and the standard deviation of its rank."""
    shares = [np.ones(len(best))] * tree.levels(size)
    spread = np.sqrt(_variance(ranks, size, level, best + 1, shares)[0] + drawn)
    for _ in range(6):
        low, high = kept.below(-2 * spread), kept.above(2 * spread)
        density = 4 * spread / np.maximum(high - low, 1) / max(ranks.law.sigma, 1e-300)
        shares = [rows / (rows + BLUR) for rows in (density * float(tree.FAN**h) for h in range(len(shares)))]
        around = np.stack((low, best, high), axis=1) + 1
        variance = _variance(ranks, size, level, around, shares)[0].mean(axis=1)
        spread = (spread + np.sqrt(variance + drawn)) / 2
    return shares, spread


@dataclass(frozen=True, eq=False)
class _Kept:
    """Bins by rank, between the ranks that were kept; all of them beyond."""

    offsets: Reals
    reached: Reals
    size: int

    def below(self, offset: Reals) -> Reals:
        return np.where(offset < self.offsets[:, 0], 0, np.floor(self._at(offset))).astype(np.int64)

    def above(self, offset: Reals) -> Reals:
        beyond = offset > self.offsets[:, -1]
        return np.where(beyond, self.size - 1, np.ceil(self._at(offset))).astype(np.int64)

    def side(self, side: int) -> tuple[Reals, Reals]:
        """Distances in rank on one side, growing, and the bins there; at the end the last bin there is."""
        middle = self.offsets.shape[1] // 2
        at = np.arange(middle, self.offsets.shape[1]) if side > 0 else np.arange(middle, -1, -1)
        last = np.full((len(self.reached), 1), self.size - 1 if side > 0 else 0)
        reached = np.concatenate((self.reached[:, at], last), axis=1)
        return np.concatenate((np.abs(self.offsets[:, at]), np.inf + 0.0 * last), axis=1), reached

    def _at(self, offset: Reals) -> Reals:
        rows = np.arange(len(offset))
        right = np.clip((self.offsets < offset[:, None]).sum(axis=1), 1, self.offsets.shape[1] - 1)
        a, b = self.offsets[rows, right - 1], self.offsets[rows, right]
        share = np.clip((offset - a) / np.maximum(b - a, 1e-300), 0.0, 1.0)
        low, high = self.reached[rows, right - 1], self.reached[rows, right]
        return np.asarray(low + share * (high - low))
