"""The rows of a question as a source of scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import ibis
import numpy as np

from dalenius.core.arrays import Reals
from dalenius.infer.on_tables.block_source import BlockSource
from dalenius.infer.on_tables.pushed_source import PushedSource
from dalenius.infer.scores import Source
from dalenius.tables.ask.query import Query
from dalenius.tables.compute import exact
from dalenius.tables.compute import source as tables
from dalenius.tables.compute.totals import tally, totals
from dalenius.tables.facts.unit import Unit
from dalenius.tables.rows.terms import double


def table_source(
    table: tables.Source, query: Query, unit: Unit, classes: Sequence[float] | None = None
) -> Source:
    """The features and, last, the response that a question sums, of at most `max_rows` rows of a unit.

    Rows at hand are read in blocks, which is as fast and gives the integers of arrays; of rows that are far away only
    sums come back. With `classes`, the response is the number of its class, and a row with another is absent.
    """
    columns = len(query.roles) - 1

    def read() -> Iterator[Reals]:
        for block in exact.blocks(table, query, unit):
            if classes is not None:
                block[:, -1] = _codes(block[:, -1], classes)
            yield block

    def coded(rows: Any) -> Any:
        if classes is None:
            return rows
        label = rows[f"v{columns}"]
        code = ibis.cases(*((label == double(float(c)), double(float(n))) for n, c in enumerate(classes)))
        rows = rows.mutate(**{f"v{columns}": code})
        return rows.filter(rows[f"v{columns}"].notnull())

    blocks = BlockSource(columns, read)
    if table.engine.at_hand:
        return blocks
    return PushedSource(
        blocks,
        lambda wanted: totals(table, query, unit, lambda rows: wanted(coded(rows))),
        lambda placed: tally(table, query, unit, lambda rows: placed(coded(rows))),
        table.engine.once,
    )


def _codes(labels: Reals, classes: Sequence[float]) -> Reals:
    codes = np.full(len(labels), np.nan)
    for code, label in enumerate(classes):
        codes[labels == float(label)] = code
    return codes
