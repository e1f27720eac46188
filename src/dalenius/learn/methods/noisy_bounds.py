"""Bounds of several columns from noisy counts of bins, at powers of two and at even steps of a public range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.calculus.pairs.pair import Reals
from dalenius.core.arrays import Ints
from dalenius.learn.data.ranges import Range
from dalenius.learn.methods.column_noise import noise_for, noise_for_one
from dalenius.sums.power_bins import EDGES, POWERS, held

STEPS = 32
"""Even steps of a public range."""
APART = 2.0**-10
"""An edge at a power of two is left out where an even step is as near as that part of it."""
FALSE_ALARMS = 1e-5
"""How often an empty bin is taken for a full one, in any column of a release: one far away would ruin the scale."""
NOT_FOUND = (-1.0, 1.0)
"""What is released where noise hides all values and no range is public."""


@lru_cache(maxsize=64)
def bin_edges(within: Range | None) -> tuple[float, ...]:
    """Increasing edges. Any two are far enough apart for doubles, so that whichever come out can be bounds."""
    if within is None:
        return EDGES
    low, high = within
    even = np.linspace(low, high, STEPS + 1)
    powers = np.array([edge for edge in EDGES if low < edge < high])
    if len(powers):
        distance = np.abs(powers[:, None] - even[None, :]).min(axis=1)
        powers = powers[distance > APART * np.abs(powers)]
    return tuple(np.sort(np.concatenate((even, powers))).tolist())


def counts(values: Reals, edges: Sequence[float]) -> Ints:
    """How many values there are in every bin: NaN in none, what is beyond the ends, infinity included, in the end bins.

    As the engines of `tables` have it: a value at an edge is in the bin above.
    """
    seen = values[~np.isnan(values)]
    places = np.searchsorted(np.array(edges[1:-1]), seen, side="right")
    return np.bincount(places, minlength=len(edges) - 1).astype(np.int64)


@dataclass(frozen=True)
class NoisyBounds:
    """Releases the counts of the bins of every column, with noise, and nothing else: bounds are read off them.

    A record is in one bin of every column at most, so it moves as many counts by 1 as there are columns.
    """

    guarantee: Guarantee
    share: float

    @property
    def loss(self) -> Loss:
        """What the release costs, whatever the number of columns."""
        return noise_for_one(self.guarantee).loss

    def release(self, counted: Sequence[Ints], within: Sequence[Range | None]) -> tuple[Reals, Reals]:
        """Lower and upper ends; lower is below upper for whatever was counted."""
        noise = noise_for(self.guarantee, len(counted))
        noisy = np.asarray(noise.release(np.concatenate(list(counted))), dtype=np.float64)
        most = noise.accuracy(1 - FALSE_ALARMS, size=noisy.size)
        found, start = [], 0
        for column, public in zip(counted, within, strict=True):
            part, start = noisy[start : start + len(column)], start + len(column)
            found.append(_ends(part, most, self.share, public))
        lower, upper = np.array(found).T
        return lower, upper


def _ends(noisy: Reals, most: float, share: float, within: Range | None) -> Range:
    first, last = (int(at[0]) for at in held(noisy[None, :], most, share))
    if first < 0:
        return NOT_FOUND if within is None else within
    edges = bin_edges(within)
    low, high = edges[first], edges[last + 1]
    # The bin around zero reaches as little below it as above: where other bins are full, too, it ends at zero.
    if first < last and low == -POWERS[0]:
        low = 0.0
    if first < last and high == POWERS[0]:
        high = 0.0
    return low, high
