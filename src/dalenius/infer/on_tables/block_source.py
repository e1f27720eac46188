"""Rows that come in blocks: any number of them in the memory of a few.

They are read once from where they are, and kept in a `Spool`; once standardised, in another one, as the whole numbers
that sums are made of. Every step of a fit reads that, in a tenth of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dalenius.core.arrays import Array, Reals
from dalenius.infer.on_tables.spool import Spool
from dalenius.infer.scores.array_source import ArrayRows, ArraySource
from dalenius.infer.scores.score import Score
from dalenius.infer.scores.source import Rows, Source, Standard, Totals


@dataclass(frozen=True)
class BlockSource(Source):
    """`read()` yields blocks of rows: the features, and the response in the last column. It is called once.

    Sums are those of `ArraySource` of all blocks together, to the last bit, whatever the blocks are.

    Examples
    --------
    >>> import numpy as np
    >>> from dalenius.infer.on_tables.block_source import BlockSource
    >>> source = BlockSource(1, lambda: iter([np.array([[1.0, 0.0], [2.0, 5.0]]), np.array([[3.0, np.nan]])]))
    >>> source.count()
    2
    """

    columns: int
    read: Callable[[], Iterable[Reals]]

    def count(self) -> int:
        return sum(block.count() for block in self._blocks())

    def column_counts(self, edges: Reals) -> Array:
        counts = np.zeros((self.columns + 1, edges.shape[1] + 1), dtype=np.int64)
        for block in self._blocks():
            counts += block.column_counts(edges)
        return counts

    def rows(self, standard: Standard) -> BlockRows:
        return BlockRows(self._blocks(), standard)

    @cached_property
    def _kept(self) -> Spool:
        spool = Spool()
        for block in self.read():
            spool.add(block)
        return spool

    def _blocks(self) -> Iterator[ArraySource]:
        return (ArraySource(block[:, :-1], block[:, -1]) for (block,) in self._kept)


class BlockRows(Rows):
    """Standardised rows."""

    def __init__(self, blocks: Iterable[ArraySource], standard: Standard) -> None:
        self.standard = standard
        self.kept = Spool()
        for block in blocks:
            rows = block.rows(standard)
            self.kept.add(rows.table, rows.weights, rows.labels)

    def totals(
        self, theta: Reals, score: Score, *, want_score: bool, want_bend: bool, want_square: bool
    ) -> Totals:
        size = score.outcomes * self.size
        sums = [
            np.zeros(shape, dtype=object) if wanted else None
            for wanted, shape in ((want_score, size), (want_bend, (size, size)), (want_square, (size, size)))
        ]
        for rows in self._blocks():
            part = rows.totals(
                theta, score, want_score=want_score, want_bend=want_bend, want_square=want_square
            )
            for total, more in zip(sums, (part.score, part.bend, part.square), strict=True):
                if total is not None:
                    total += more
        return Totals(*sums)

    def residual_counts(self, theta: Reals, edges: Reals) -> Array:
        counts = np.zeros(len(edges) + 1, dtype=np.int64)
        for rows in self._blocks():
            counts += rows.residual_counts(theta, edges)
        return counts

    def _blocks(self) -> Iterator[ArrayRows]:
        return (ArrayRows(self.standard, *block) for block in self.kept)
