"""The rows of a question as a source of scores."""

from __future__ import annotations

from dalenius.infer.on_tables.block_source import BlockSource
from dalenius.infer.on_tables.pushed_source import PushedSource
from dalenius.infer.scores import Source
from dalenius.tables.ask.query import Query
from dalenius.tables.compute import exact
from dalenius.tables.compute import source as tables
from dalenius.tables.compute.totals import tally, totals
from dalenius.tables.facts.unit import Unit


def table_source(table: tables.Source, query: Query, unit: Unit) -> Source:
    """The features and, last, the response that a question sums, of at most `max_rows` rows of a unit.

    Rows at hand are read in blocks, which is as fast and gives the integers of arrays; of rows that are far away only
    sums come back.
    """
    blocks = BlockSource(len(query.roles) - 1, lambda: exact.blocks(table, query, unit))
    if table.engine.at_hand:
        return blocks
    return PushedSource(
        blocks,
        lambda wanted: totals(table, query, unit, wanted),
        lambda placed: tally(table, query, unit, placed),
    )
