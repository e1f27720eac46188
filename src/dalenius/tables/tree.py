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


def rank_error(depth: int, sigma: float) -> float:
    """A bound on the standard deviation of any prefix of `consistent`: at most FAN/2 blocks of a level are
    needed.

    A prefix is a sum of blocks from the left or the total of the block above less blocks from the right;
    least squares is no worse than the better of the two, and the top level adds up to FAN blocks.
    """
    return sigma * math.sqrt((depth - 1) * (FAN // 2 + 1) + FAN)


def quantile_bins(counts: Reals, ranks: Reals) -> npt.NDArray[np.int64]:
    """For each group (row of counts) the bin in which each rank falls; ranks are groups x levels."""
    climbing = np.maximum.accumulate(np.cumsum(counts, axis=1), axis=1)
    found = [np.searchsorted(row, wanted, side="left") for row, wanted in zip(climbing, ranks, strict=True)]
    bins = np.array(found, dtype=np.int64).reshape(ranks.shape)
    return np.asarray(np.minimum(bins, counts.shape[1] - 1))
