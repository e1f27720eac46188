"""Centres and scales of columns from noisy counts: rough ones, for rows of a common size."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.arrays import Reals
from dalenius.infer.scores.source import Source
from dalenius.infer.scores.templates import Templates, student
from dalenius.mechanisms import Gaussian

SIDE: Reals = np.exp2(np.arange(-10.0, 31.0))
"""Without bounds, the first look is by factors of 2, from 2^-10 to 2^30 on either side of zero."""
BINS = 24
"""With bounds, or in the second look: equal bins between the limits, and two for what lies beyond."""

SEEN, SEEN_FAR = 4.0, 6.0
"""Bins with more than so many standard deviations of noise in them stand out, within limits and on the ladder."""

Bounds = tuple[float, float]


def standardise(
    source: Source,
    columns: Sequence[int],
    bounds: Sequence[Bounds | None],
    mu: float,
    adjacency: Adjacency,
) -> list[tuple[float, float]]:
    """(centre, scale) of some columns (the last one is the response), about the mean and the standard deviation.

    Looks of equal price at all of them, each closer than the last: the first within public bounds, or by powers of two
    where there are none, and then one or two more (`looks`), each up to 16 times as close. A row is in one bin of each
    column, so that the counts of c columns are sqrt(c) apart, or sqrt(2 c) when one row replaces another.

    Parameters
    ----------
    source
        The table.
    columns
        Which columns.
    bounds
        For each of them public limits, or None.
    mu
        What is spent on all of this.
    adjacency
        The neighbouring relation.

    Returns
    -------
    list
        Centre and scale of each column.
    """
    times = looks(bounds)
    each = mu / math.sqrt(times)
    counted = _look(source, columns, [LADDER if b is None else _even(*b) for b in bounds], each, adjacency)
    found = [
        _on_ladder(*look) if limits is None else _within(*look, *limits)
        for look, limits in zip(counted, bounds, strict=True)
    ]
    for _ in range(times - 1):
        near = [(center - 3 * scale, center + 3 * scale) for center, scale in found]
        counted = _look(source, columns, [_even(*limits) for limits in near], each, adjacency)
        found = [_within(*look, *limits) for look, limits in zip(counted, near, strict=True)]
    return found


def looks(bounds: Sequence[Bounds | None]) -> int:
    """How many looks are taken: two within bounds, three where some column has none."""
    return 3 if any(limits is None for limits in bounds) else 2


def _even(low: float, high: float) -> Reals:
    return np.linspace(low, high, BINS + 1)


LADDER: Reals = np.concatenate([-SIDE[::-1], SIDE])


def _tried(centers: Reals, scales: Reals, edges: Reals, reluctance: Reals) -> tuple[Reals, Templates]:
    """(centre, scale) of the laws tried, and what they look like."""
    return np.column_stack([centers, scales]), Templates.of(
        student((edges[None, :] - centers[:, None]) / scales[:, None]), reluctance
    )


def _ladder() -> tuple[Reals, Templates]:
    """Around 0, or around a power of two with a scale of an eighth of it or more."""
    some = [(0.0, 2.0**k) for k in range(-8, 29)]
    some += [
        (sign * 1.5 * 2.0**k, 1.5 * 2.0**k * part)
        for k in range(-8, 28)
        for part in (0.125, 0.25, 0.5)
        for sign in (-1, 1)
    ]
    centers, scales = np.array(some).T
    reluctance = 0.25 * np.abs(np.log2(np.hypot(centers, scales)))
    return _tried(centers, scales, LADDER, reluctance)


def _between() -> tuple[Reals, Templates]:
    """On [-1, 1]: scales from a 30th of the range to half of it."""
    grid = np.meshgrid(np.linspace(-0.875, 0.875, 29), 2.0 ** (np.arange(-16, 1) / 4))
    centers, scales = (each.ravel() for each in grid)
    return _tried(centers, scales, _even(-1.0, 1.0), np.abs(np.log2(scales / 0.3)) * 0.5 + np.abs(centers))


ON_LADDER, BETWEEN = _ladder(), _between()


def _on_ladder(counts: Reals, sd: float) -> tuple[float, float]:
    laws, templates = ON_LADDER
    center, scale = laws[templates.best(counts, sd)]
    return _no_narrower(float(center), float(scale), counts, SEEN_FAR * sd, LADDER)


def _within(counts: Reals, sd: float, low: float, high: float) -> tuple[float, float]:
    laws, templates = BETWEEN
    center, scale = laws[templates.best(counts, sd)] * (high - low) / 2
    middle = float(center) + (low + high) / 2
    return _no_narrower(middle, float(scale), counts, SEEN * sd, _even(low, high))


def _no_narrower(
    center: float, scale: float, counts: Reals, least: float, edges: Reals
) -> tuple[float, float]:
    """The bump, unless the bins that stand out spread wider: two values of a code, say, or zeros beside amounts."""
    seen = np.where(counts[1:-1] > least, counts[1:-1], 0.0)
    if not seen.any():
        return center, scale
    middles, share = (edges[1:] + edges[:-1]) / 2, seen / seen.sum()
    mean = float(share @ middles)
    spread = math.sqrt(float(share @ (middles - mean) ** 2))
    return (mean, spread) if spread > scale else (center, scale)


def _look(
    source: Source, columns: Sequence[int], edges: Sequence[Reals], mu: float, adjacency: Adjacency
) -> list[tuple[Reals, float]]:
    """Noisy counts of each column and the standard deviation of their noise."""
    longest = max(len(each) for each in edges)
    table = np.tile(np.arange(longest, dtype=float), (source.columns + 1, 1))
    for column, each in zip(columns, edges, strict=True):
        table[column] = np.concatenate([each, np.full(longest - len(each), np.inf)])
    counts = source.column_counts(table)[list(columns)]
    apart = math.sqrt(len(columns)) * (1 if adjacency is ADD_REMOVE else math.sqrt(2)) * (1 + 1e-14)
    mechanism = Gaussian(sensitivity=apart, sigma=apart / mu, adjacency=adjacency)
    noisy = np.asarray(mechanism.release(counts.ravel())).reshape(counts.shape)
    return [(noisy[i, : len(each) + 1], apart / mu) for i, each in enumerate(edges)]
