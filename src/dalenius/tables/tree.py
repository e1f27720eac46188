"""Ranks from noisy counts at several resolutions: how quantiles are read from bins.

Noise on fine bins adds up over a sum of many. So the bins are also counted in blocks of 16, of 256, ...; any
prefix is then a sum of a few blocks, and a least-squares step (Hay, Rastogi, Miklau and Suciu 2010) makes the
levels agree and the errors smaller. Everything after the noise is post-processing.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

FAN = 16

Reals = npt.NDArray[Any]
Bins = npt.NDArray[np.int64]


def levels(bins: int) -> int:
    """How many resolutions there are for so many bins."""
    return max(1, math.ceil(math.log(bins, FAN) - 1e-9))


def coarser(counts: Reals) -> list[Reals]:
    """Counts (groups x bins) at every resolution, the finest first, padded with empty bins."""
    depth = levels(counts.shape[1])
    padded = np.zeros((len(counts), FAN**depth), dtype=counts.dtype)
    padded[:, : counts.shape[1]] = counts
    found = [padded]
    for _ in range(depth - 1):
        found.append(found[-1].reshape(len(counts), -1, FAN).sum(axis=2))
    return found


def consistent(noisy: list[Reals]) -> Reals:
    """The least-squares counts of the finest bins, from equally noisy counts at every resolution."""
    best = [noisy[0].astype(float)]
    for height, level in enumerate(noisy[1:], start=2):
        below = best[-1].reshape(len(level), -1, FAN).sum(axis=2)
        weight = (FAN**height - FAN ** (height - 1)) / (FAN**height - 1)
        best.append(weight * level + (1 - weight) * below)
    found = best[-1]
    for level in reversed(best[:-1]):
        blocks = level.reshape(len(level), -1, FAN)
        blocks = blocks + ((found - blocks.sum(axis=2)) / FAN)[:, :, None]
        found = blocks.reshape(len(level), -1)
    return found


def totals(counts: Reals, bins: int) -> Reals:
    """All rows, from `consistent`: whole blocks of the top level, which add no error of finer ones."""
    block = counts.shape[1] // FAN
    return np.asarray(counts[:, : top(bins) * block].sum(axis=1))


def top(bins: int) -> int:
    """How many blocks of the top level hold so many bins."""
    return math.ceil(bins / int(FAN ** (levels(bins) - 1)))


def rank_error(depth: int, blocks: int, sigma: float) -> float:
    """A bound on the standard deviation of prefix - level * total of `consistent`, for any prefix and level.

    Least squares leaves blocks of a level that are independent, with variance sigma^2 at most, given that they
    add up to the block above. A prefix is u of FAN of them and a part of the next, u + v with 0 <= v < 1: given
    the sum it has a variance of at most u + v^2 - (u + v)^2 / FAN <= FAN / 4, and the next level adds its own.
    The blocks of the top level count with 1 - level, -level, or between.
    """
    return sigma * math.sqrt((depth - 1) * FAN / 4 + blocks)


def best(prefixes: Reals, ranks: Reals) -> Bins:
    """The bins in which ranks (groups x levels) fall: where the isotonic regression of the noisy prefixes
    (groups x bins) reaches them.

    Noise moves that to either side alike; the first prefix that reaches the rank is an early one. The
    regression is below the rank exactly as long as the sum of (prefix - rank) falls to its least value.
    """
    found = np.empty(ranks.shape, dtype=np.int64)
    for k, rank in enumerate(ranks.T):
        falls = np.cumsum(prefixes - rank[:, None], axis=1)
        found[:, k] = np.where(falls.min(axis=1) < 0, falls.argmin(axis=1) + 1, 0)
    return np.asarray(np.minimum(found, prefixes.shape[1] - 1))


def first(prefixes: Reals, ranks: Reals) -> Bins:
    """The first bins whose prefixes reach the ranks (spreads x groups x levels).

    Never after a bin whose own prefix reaches the rank.
    """
    return _reached(np.maximum.accumulate(prefixes, axis=1), ranks)


def last(prefixes: Reals, ranks: Reals) -> Bins:
    """The first bins from which on every prefix reaches the ranks (spreads x groups x levels).

    Never before a bin up to which the prefix is below the rank.
    """
    return _reached(np.minimum.accumulate(prefixes[:, ::-1], axis=1)[:, ::-1], ranks)


def _reached(climbing: Reals, ranks: Reals) -> Bins:
    found = np.empty(ranks.shape, dtype=np.int64)
    for group, row in enumerate(climbing):
        found[:, group] = np.searchsorted(row, ranks[:, group])
    return np.asarray(np.minimum(found, climbing.shape[1] - 1))
