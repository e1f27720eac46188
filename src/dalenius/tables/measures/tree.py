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
from scipy.optimize import isotonic_regression

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
    resolutions = [padded]
    for _ in range(depth - 1):
        resolutions.append(resolutions[-1].reshape(len(counts), -1, FAN).sum(axis=2))
    return resolutions


def consistent(noisy: list[Reals]) -> Reals:
    """The least-squares counts of the finest bins, from equally noisy counts at every resolution."""
    best = [noisy[0].astype(float)]
    for height, level in enumerate(noisy[1:], start=2):
        below = best[-1].reshape(len(level), -1, FAN).sum(axis=2)
        weight = (FAN**height - FAN ** (height - 1)) / (FAN**height - 1)
        best.append(weight * level + (1 - weight) * below)
    finest = best[-1]
    for level in reversed(best[:-1]):
        blocks = level.reshape(len(level), -1, FAN)
        blocks = blocks + ((finest - blocks.sum(axis=2)) / FAN)[:, :, None]
        finest = blocks.reshape(len(level), -1)
    return finest


def totals(counts: Reals, bins: int) -> Reals:
    """All rows, from `consistent`: whole blocks of the top level, which add no error of finer ones."""
    block = counts.shape[1] // FAN
    return np.asarray(counts[:, : top(bins) * block].sum(axis=1))


def top(bins: int) -> int:
    """How many blocks of the top level hold so many bins."""
    return math.ceil(bins / int(FAN ** (levels(bins) - 1)))


def variances(bins: int, level: float, ends: Bins) -> list[tuple[Reals, Reals]]:
    """What each resolution adds to the variance of prefix - level * total, the finest first, in units of sigma^2;
    and to its fourth cumulant, in units of that of one noise.

    ends: how many bins the prefixes have. Least squares leaves blocks whose deviations from the mean of their
    siblings are independent of all else, with the variance 1/a = 1 + 1/(FAN b) of a block whose parts have
    variance b. In a prefix, u siblings count in full and one with the fraction v that is evenly within it, so that
    they add a (u + v^2 - (u + v)^2 / FAN). The blocks of the top count with 1 - level, v - level or -level.
    """
    parts = []
    inside = np.zeros(ends.shape)
    own, block = 1.0, 1
    depth = levels(bins)
    for height in range(depth):
        full = ends // block % FAN if height < depth - 1 else ends // block
        if height < depth - 1:
            share = (full + inside) / FAN
            part = full + inside**2 - FAN * share**2
            fourth = full * (1 - share) ** 4 + (inside - share) ** 4 + (FAN - 1 - full) * share**4
        else:
            rest = np.maximum(top(bins) - full - 1, 0)
            some = np.where(full < top(bins), (inside - level) ** 2, 0.0)
            part = full * (1 - level) ** 2 + some + rest * level**2
            fourth = full * (1 - level) ** 4 + some**2 + rest * level**4
            share = inside
        parts.append((own * part, own**2 * fourth))
        inside = share
        own = 1 / (1 + 1 / (FAN * own))
        block *= FAN
    return parts


def climbing(prefixes: Reals) -> Reals:
    """The isotonic regression of noisy prefixes (groups x bins): what quantiles are read from.

    Noise moves where it reaches a rank to either side alike; the first prefix that reaches it is an early one.
    """
    return np.array([isotonic_regression(row).x for row in prefixes]).reshape(prefixes.shape)


def reached(climbed: Reals, ranks: Reals) -> Bins:
    """The first bins in which the climbing counts (groups x bins) reach ranks (groups x anything)."""
    bins = np.empty(ranks.shape, dtype=np.int64)
    for group, row in enumerate(climbed):
        bins[group] = np.searchsorted(row, ranks[group])
    return np.asarray(np.minimum(bins, climbed.shape[1] - 1))
