"""A table as mechanisms see it: counts of cells, or of blocks of cells, over some of the columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.core.arrays import Ints
from dalenius.queries.domain import Codes, Domain, too_large


@dataclass(frozen=True)
class Rows:
    """The rows of a table over a domain, as codes or as a histogram."""

    domain: Domain
    codes: Codes | None
    histogram: Ints | None

    @classmethod
    def of(cls, domain: Domain, data: Any) -> Rows:
        """From anything that `Domain.codes` takes, or from a histogram."""
        if isinstance(data, Rows):
            return data
        histogram = domain.histogram(data)
        if histogram is not None:  # so that no sum wraps around; it drives no two histograms apart
            histogram = np.clip(histogram, -(2**62) // domain.cells, 2**62 // domain.cells)
        return cls(domain, domain.codes(data) if histogram is None else None, histogram)

    def counts(self, positions: Sequence[int], blocks: Sequence[int] | None = None) -> Ints:
        """The counts over the columns at `positions`, in blocks of as many values as `blocks` says."""
        blocks = blocks or [1] * len(positions)
        shape = tuple(
            -(-self.domain.shape[place] // block) for place, block in zip(positions, blocks, strict=True)
        )
        too_large(math.prod(shape), "a histogram that is needed")
        if self.histogram is not None:
            return _blocked(self.histogram, positions, blocks)
        assert self.codes is not None
        flat = np.zeros(len(self.codes), dtype=np.int64)
        for place, block, size in zip(positions, blocks, shape, strict=True):
            flat *= size
            flat += np.asarray(self.codes[:, place]) // block
        return np.bincount(flat, minlength=math.prod(shape)).reshape(shape)


def _blocked(histogram: Ints, positions: Sequence[int], blocks: Sequence[int]) -> Ints:
    others = tuple(axis for axis in range(histogram.ndim) if axis not in positions)
    counts = np.asarray(histogram.sum(axis=others))
    order = sorted(positions)
    counts = np.transpose(counts, [order.index(place) for place in positions])
    for axis, block in enumerate(blocks):
        if block > 1:
            counts = np.add.reduceat(counts, np.arange(0, counts.shape[axis], block), axis=axis)
    return counts
