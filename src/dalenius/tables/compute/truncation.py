"""Truncation before a join: at most so many rows of each unit, of one table.

THE RULE. The rows reach this point as the columns that the question looks at anywhere, and no others. The rows of a
unit are ordered by mix(id, what else is joined on), then by mix(id, columns), in which text counts by its digest and
numbers by their whole part and 40 bits of their fraction, then by the columns one after the other, and rows after the
first `most` are left out. The first of these is the same on both sides of a join: both keep the same days, say, and not
each its own, which would hardly meet.

WHY IT IS PRIVATE. As for `bounding`: ranks are taken within the unit, by contents alone, and rows that still tie are
equal in every column that is left, so it does not matter which of them is kept. (0.0 and -0.0 tie; no operation of a
question tells them apart.) What is not ordered by is dropped: nothing later can look at it. So what is kept of a unit
is a function of the multiset of its rows in this table.

That `most` rows are kept bounds the work and gives the fan-out its meaning; what noise is planned for is enforced once
more after the join, by `bounding`, on the joined rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import ibis
from sqlglot import exp

from dalenius.tables.ask.query import Query, Table
from dalenius.tables.compute.bounding import mix, seed
from dalenius.tables.compute.source import Source
from dalenius.tables.engines.engine import Engine
from dalenius.tables.facts.kinds import Kind
from dalenius.tables.facts.public import PublicTable
from dalenius.tables.measures.measure import Measure
from dalenius.tables.rows.expressions import parse
from dalenius.tables.rows.relations import PrivateJoin
from dalenius.tables.rows.scope import Scope
from dalenius.tables.rows.terms import double, integer

WHOLE = 2.0**51
"""Beyond it doubles have no fraction to speak of."""

FRACTION = 2.0**40


@dataclass(frozen=True)
class HeldIn:
    """The tables of a question inside an engine. measures: all that is looked at in the end, beside the keys."""

    source: Source
    query: Query
    measures: tuple[Measure, ...]

    @property
    def spelling(self) -> Engine:
        return self.source.engine

    def upload(self, public: PublicTable) -> Any:
        return self.source.upload(public)

    def rows_of(self, table: str) -> Any:
        return self.source.called(table).rows

    def listed(self, items: Any, kind: Kind, at: Any) -> tuple[Any, Any]:
        engine = self.source.engine
        return engine.item(items, kind, at), engine.size(items, kind)

    def truncate(self, scope: Scope, unit: tuple[str, ...], most: int, by: tuple[str, ...]) -> None:
        truncate(self.source.engine, scope, unit, most, by, self.used)

    @cached_property
    def used(self) -> frozenset[str]:
        """Every name that the question mentions, in any of its tables."""
        texts = [text for measure in self.measures for text in measure.given]
        texts += [value.text for measure in self.measures for value in measure.values]
        texts += [measure.bins.text for measure in self.measures if measure.bins is not None]
        names = set(self.query.columns)
        flat = _of_steps(self.query.table, names, texts)
        for text in texts:
            names |= {node.name for node in parse(text, "the query").find_all(exp.Column)}
        while more := {own for own, called in flat if called in names} - names:
            names |= more
        return frozenset(names)


def _of_steps(table: Table, names: set[str], texts: list[str]) -> list[tuple[str, str]]:
    """What the steps of a table and of those joined to it mention; and what joined columns are called."""
    flat = []
    for step in table.steps:
        names |= step.names
        texts += step.texts
        if isinstance(step, PrivateJoin):
            names |= {name for pair in step.on for name in pair}
            flat += [*step.flat, *_of_steps(step.table, names, texts)]
    return flat


def truncate(
    engine: Engine, scope: Scope, unit: tuple[str, ...], most: int, by: Iterable[str], used: Iterable[str]
) -> None:
    """Leave at most so many rows of each unit, and the columns that are used. by: what else is joined on."""
    scope.rows = scope.rows.filter([scope.identity(column)[0].notnull() for column in unit])
    identities = [scope.identity(column) for column in unit]
    columns, own = scope.content(frozenset(used)), [identity.get_name() for identity, _ in identities]
    kept = list(dict.fromkeys((*own, *columns)))
    of_unit = seed([engine.integer(kind, identity) for identity, kind in identities])
    rows = scope.rows
    integers = [x for name, what in columns.items() for x in _integers(engine, what, rows[name])]
    joined_on = [engine.integer((term := scope.column(name)).kind, term.value) for name in by]
    rows = engine.once(rows.select(*kept, __g=_mixed(of_unit, joined_on), __h=_mixed(of_unit, integers)))
    order = [rows["__g"], rows["__h"], *(ibis.asc(rows[name], nulls_first=True) for name in columns)]
    rank = ibis.row_number().over(ibis.window(group_by=own, order_by=order))
    rows = rows.mutate(__rank=rank)
    scope.rows = rows.filter(rows["__rank"] < most).select(*kept)


def _mixed(of_unit: Any, integers: Iterable[Any]) -> Any:
    return mix([of_unit, *(ibis.coalesce(x, integer(-1)) for x in integers)])


def _integers(engine: Engine, kind: Kind, x: Any) -> list[Any]:
    """A value as integers, the same in every engine; not always others for another value."""
    if kind == "timestamp":
        return [engine.integer("date", x)]
    if kind != "number":
        return [engine.integer(kind, x)]
    low, high = double(-WHOLE), double(WHOLE)
    near = ibis.cases((x <= low, low), (x <= high, x), (x > high, high))
    whole = near.floor().cast("int64")
    return [whole, ((near - whole.cast("float64")) * double(FRACTION)).floor().cast("int64")]
