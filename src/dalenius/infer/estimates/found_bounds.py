"""Bounds found privately, where nothing is known: noisy counts of magnitudes, from powers of two to the next."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.arrays import Ints, Reals
from dalenius.infer.estimates.bounded import Bounded, present
from dalenius.infer.estimates.bounded_mean import Column
from dalenius.infer.estimates.stream import parts
from dalenius.infer.estimates.sums import Sums
from dalenius.sums import power_bins

EDGES = np.array(power_bins.EDGES)

SHARE = 0.99
"""Of the values, as far as noise lets it be told."""


@dataclass(frozen=True)
class FoundBounds:
    """Releases a histogram of magnitudes: one row is in one bin."""

    guarantee: Guarantee
    adjacency: Adjacency = ADD_REMOVE

    @cached_property
    def sums(self) -> Sums:
        return Sums.of_cells(self.guarantee, self.adjacency, len(EDGES) - 1)

    @property
    def loss(self) -> Loss:
        """What the release costs."""
        return self.sums.loss

    def release(self, values: Column) -> Bounded | None:
        """Bounds that hold nearly all values; None where noise hides all of them."""
        counts = np.zeros(len(EDGES) - 1, dtype=np.int64)
        for block in parts(values):
            counts += _counts(present(self.adjacency, block)[0])
        noisy = self.sums.release([[int(count)] for count in counts])
        # With this threshold an empty bin is taken for a full one once in about a thousand releases.
        most = noisy[0].law.reach(1e-3 / len(noisy))[1]
        seen = np.array([[one.values[0] for one in noisy]])
        first, last = (int(found[0]) for found in power_bins.held(seen, most, SHARE))
        if first < 0:
            return None
        zero = len(noisy) // 2
        low = 0.0 if first == zero < last else float(EDGES[first])
        high = 0.0 if last == zero > first else float(EDGES[last + 1])
        return Bounded(low, high)


def _counts(values: Reals) -> Ints:
    values = np.where(np.isfinite(values), values, 0.0)
    places = np.clip(np.searchsorted(EDGES, values, side="right") - 1, 0, len(EDGES) - 2)
    return np.bincount(places, minlength=len(EDGES) - 1)
