"""Quantiles from noisy ranks: what is kept of a release, and the intervals made of it.

The isotonic regression of the noisy prefixes is a distribution function; a quantile is where it reaches the rank
level * total, and the interval is where it reaches that rank less, and plus, what the noise does to it. The variance
of a noisy prefix is known exactly (`tree.variances`). The regression averages the noise of blocks that hold too few
rows to be told apart, so that each resolution counts with the share u / (u + BLUR) of its variance, where u is the
number of rows in a block over sigma, told from the interval itself. BLUR was chosen by simulation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from dalenius.tables import tree
from dalenius.tables.bins import Bins
from dalenius.tables.laws import multiple

Reals = npt.NDArray[Any]

BLUR = 0.05

SIDE = 48
"""So many ranks are kept on each side of a quantile, further and further away."""


@dataclass(frozen=True, eq=False)
class Ranks:
    """Quantiles of one set of bins.

    total: rows of each group, noisy. sigma, gaussian: of the noise of one count. best: groups x levels, the bins of the
    estimates. offsets: groups x many, ranks from level * total. reached: groups x levels x many, the bins in which
    those are.
    """

    total: Reals
    sigma: float
    gaussian: bool
    best: Reals
    offsets: Reals
    reached: Reals


def read(counts: Reals, size: int, levels: tuple[float, ...], sigma: float, gaussian: bool) -> Ranks:
    """What is kept of noisy counts that agree (`tree.consistent`)."""
    total = tree.totals(counts, size)
    climbed = tree.climbing(np.cumsum(counts[:, :size], axis=1))
    middle = total[:, None] * np.array(levels)
    offsets = _offsets(total, size, sigma)
    best = middle
    if sigma * tree.top(size) ** 0.5 < 0.25:  # the total is known: half a row before the one that is the quantile
        best = np.ceil(np.maximum(np.rint(total), 1)[:, None] * np.array(levels) - 1e-9) - 0.5
    reached = tree.reached(climbed, (middle[:, :, None] + offsets[:, None, :]).reshape(len(total), -1))
    return Ranks(
        total,
        sigma,
        gaussian,
        tree.reached(climbed, best),
        offsets,
        reached.reshape(*middle.shape, offsets.shape[1]),
    )


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
    """Estimate, standard error and ends of the interval of the k-th level."""
    edges, middles = np.array(bins.edges), np.array(bins.middles)
    kept = _Kept(ranks.offsets, ranks.reached[:, k], bins.size)
    best = ranks.best[:, k]
    drawn = np.maximum(ranks.total, 0.0) * level * (1 - level) if sampling else np.zeros(len(best))
    skew = drawn * (1 - 2 * level)
    spread, fourth = _spread(ranks, kept, bins.size, best, level, drawn)
    variance = np.maximum(spread**2, 1e-300)
    away = spread * multiple(fourth / variance**2, failure)
    # Cornish and Fisher: a binomial count leans to one side.
    lean = skew / variance * (ndtri(failure / 2) ** 2 - 1) / 6
    low, high = kept.below(lean - away), kept.above(lean + away)
    low, high = np.minimum(low, best), np.maximum(high, best)
    error = (edges[kept.above(spread) + 1] - edges[kept.below(-spread)]) / 2
    return middles[best], error, edges[low], edges[high + 1]


def _spread(
    ranks: Ranks, kept: _Kept, size: int, best: Reals, level: float, drawn: Reals
) -> tuple[Reals, Reals]:
    """The standard deviation of the rank, and its fourth cumulant; found together with how dense the rows are."""
    square = ranks.sigma**2
    middle = tree.variances(size, level, best + 1)
    spread = np.sqrt(square * sum(part for part, _ in middle) + drawn)
    fourth = np.zeros(len(best))
    for _ in range(6):
        low, high = kept.below(-2 * spread), kept.above(2 * spread)
        density = 4 * spread / np.maximum(high - low, 1) / max(ranks.sigma, 1e-300)
        at = [middle, *(tree.variances(size, level, end + 1) for end in (low, high))]
        variance, fourth = drawn.copy(), np.zeros(len(best))
        for height in range(len(middle)):
            rows = density * float(tree.FAN**height)
            share = rows / (rows + BLUR)
            variance = variance + square * share * sum(found[height][0] for found in at) / 3
            fourth = fourth + (square * share) ** 2 * sum(found[height][1] for found in at) / 3
        spread = (spread + np.sqrt(variance)) / 2
    return spread, np.zeros(len(best)) if ranks.gaussian else fourth


@dataclass(frozen=True, eq=False)
class _Kept:
    """Bins by rank, between the ranks that were kept; all of them beyond."""

    offsets: Reals
    reached: Reals
    size: int

    def below(self, offset: Reals) -> Reals:
        return np.where(offset < self.offsets[:, 0], 0, np.floor(self._at(offset))).astype(np.int64)

    def above(self, offset: Reals) -> Reals:
        return np.where(offset > self.offsets[:, -1], self.size - 1, np.ceil(self._at(offset))).astype(np.int64)

    def _at(self, offset: Reals) -> Reals:
        rows = np.arange(len(offset))
        right = np.clip((self.offsets < offset[:, None]).sum(axis=1), 1, self.offsets.shape[1] - 1)
        a, b = self.offsets[rows, right - 1], self.offsets[rows, right]
        share = np.clip((offset - a) / np.maximum(b - a, 1e-300), 0.0, 1.0)
        low, high = self.reached[rows, right - 1], self.reached[rows, right]
        return np.asarray(low + share * (high - low))
