"""Rows rounded to whole numbers, fetched in blocks that are small enough for the cache."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from dalenius.calculus.pairs.pair import Reals
from dalenius.learn.data.rows import Records
from dalenius.sums.grids import TOGETHER

FETCHED = 1 << 10
"""Sampled rows fetched together, for as many steps as they last."""
PASS = 1 << 12
"""Rows taken together where all are."""

Blocks = Iterable[tuple[Reals, Reals]]
"""Rows in whole numbers and their labels; to be used before the next are asked for, as memory is used again."""


class RoundedRows:
    """round(row / step) of the records; each row on its own, so that it is the same in whatever company."""

    def __init__(self, records: Records, step: float, keep: bool) -> None:
        self.records, self.step = records, step
        self.space = np.empty((0, records.size))
        self.table: Reals | None = None
        if keep:
            # Whole numbers up to 2^18 are single-precision floats, too: half the memory of the features. To round
            # anew in every step takes several times as long, so there is no size from which on they are not kept.
            table = np.empty((len(records), records.size), dtype=np.float32)
            for start in range(0, len(records), PASS):
                where = slice(start, start + PASS)
                table[where] = self._rounded(where)
            self.table = table

    def of(self, chosen: Any = None) -> Blocks:
        """The chosen rows; all for None."""
        if chosen is None:
            for start in range(0, len(self.records), PASS):
                where = slice(start, start + PASS)
                yield self._rounded(where), self.records.labels[where]
        else:
            for start in range(0, len(chosen), TOGETHER):
                part = chosen[start : start + TOGETHER]
                yield self._rounded(part), self.records.labels.take(part)

    def of_many(self, samples: Iterable[Any], together: int = FETCHED) -> Iterator[Blocks]:
        """The rows of every sample in turn, those of many samples fetched at once."""
        waiting: list[Any] = []
        held = 0
        for sample in samples:
            size = 0 if sample is None else len(sample)
            if waiting and (sample is None or held + size > min(together, TOGETHER)):
                yield from self._one_by_one(waiting)
                waiting, held = [], 0
            if sample is None:
                yield self.of()
            else:
                waiting.append(sample)
                held += size
        yield from self._one_by_one(waiting)

    def _one_by_one(self, samples: list[Any]) -> Iterator[Blocks]:
        if len(samples) < 2:
            yield from map(self.of, samples)
            return
        together = np.concatenate(samples)
        rows, labels = self._rounded(together), self.records.labels.take(together)
        start = 0
        for sample in samples:
            end = start + len(sample)
            yield [(rows[start:end], labels[start:end])]
            start = end

    def _rounded(self, part: Any) -> Reals:
        size = len(self.records.labels[part]) if isinstance(part, slice) else len(part)
        if size > len(self.space):
            self.space = np.empty((size, self.records.size))
        rows = self.space[:size]
        if self.table is not None:
            rows[...] = self.table[part] if isinstance(part, slice) else self.table.take(part, axis=0)
            return rows
        self.records.rows(part, 1 / self.step, rows)
        return np.asarray(np.rint(rows, out=rows))
