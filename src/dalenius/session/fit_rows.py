"""The rows of a fit, on the scale of its model: in memory, or in a file where they are many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.core.arrays import Reals
from dalenius.infer.on_tables.spool import Spool
from dalenius.learn.models.public_bounds import PublicBounds
from dalenius.learn.models.public_columns import PublicColumns
from dalenius.tables.aggregates.sum import Sum
from dalenius.tables.ask.query import Query
from dalenius.tables.compute import exact
from dalenius.tables.compute.source import Source
from dalenius.tables.facts.unit import Unit

IN_MEMORY = 1 << 24
"""Numbers (128 MB of them) that a fit holds in memory; more are kept in a temporary file and read block by block."""

Block = tuple[Reals, Reals]


@dataclass(frozen=True)
class FitRows:
    """Features, and a column for each target."""

    blocks: Iterable[Block]
    """One where they are in memory."""
    columns: int
    is_held: bool

    @classmethod
    def read(
        cls,
        source: Source,
        query: Query,
        unit: Unit,
        scale: PublicBounds | PublicColumns,
        *,
        targets: int,
        held: bool,
    ) -> FitRows:
        """The rows of a question whose last sums are the targets. held: in memory, however many they are."""
        columns = len(query.roles) - targets

        def pair(rows: Reals) -> Block:
            made = scale.transform if isinstance(scale, PublicBounds) else scale.scaled
            return made(rows[:, :columns]), rows[:, columns:]

        if held:
            return cls([pair(exact.rows(source, query, unit))], columns, True)
        found = _kept(pair(block) for block in exact.blocks(source, query, unit))
        if isinstance(found, Spool):
            return cls(_Pairs(found), columns, False)
        features = np.concatenate([np.empty((0, columns)), *(x for x, _ in found)])
        labels = np.concatenate([np.empty((0, targets)), *(y for _, y in found)])
        found.clear()
        return cls([(features, labels)], columns, True)

    def fitted(self, model: Any, target: int = 0) -> Any:
        """The model, fitted to one of the targets."""
        if self.is_held:
            ((features, labels),) = self.blocks
            return model.fit(features, np.ascontiguousarray(labels[:, target]))
        return model.fit_blocks(lambda: ((x, y[:, target]) for x, y in self.blocks), self.columns)


@dataclass(frozen=True)
class _Pairs:
    spool: Spool

    def __iter__(self) -> Iterator[Block]:
        return ((x, y) for x, y in self.spool)


def _kept(blocks: Iterable[Block]) -> list[Block] | Spool:
    held: list[Block] = []
    spool, numbers = None, 0
    for block in blocks:
        numbers += sum(part.size for part in block)
        if spool is None and numbers > IN_MEMORY:
            spool = Spool()
            for each in held:
                spool.add(*each)
            held = []
        if spool is None:
            held.append(block)
        else:
            spool.add(*block)
    return held if spool is None else spool


def scale_of(
    query: Query, listed: Sequence[tuple[Any, ...] | None], targets: int, names: Sequence[str]
) -> PublicBounds | PublicColumns:
    """The features' public bounds, and categories where there are any, as a transformer that knows their names."""
    columns = columns_of(query, listed, targets)
    scale = PublicBounds(columns.bounds).fit() if not any(listed) else columns.fit()
    scale.feature_names_in_ = np.array(names, dtype=object)
    return scale


def columns_of(query: Query, listed: Sequence[tuple[Any, ...] | None], targets: int) -> PublicColumns:
    """The same, not fitted; bounds that are to be found are None."""
    sums = [aggregate for _, aggregate in query.aggregates[: len(query.aggregates) - targets]]
    given, bounds = iter(sums), []
    for categories in listed:
        here = [next(given) for _ in categories or [None]]
        bounds.append(here[0].bounds if categories is None and isinstance(here[0], Sum) else None)
    return PublicColumns(bounds, listed)
