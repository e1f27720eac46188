"""Questions about a table and its margins: counts by sex and town, by sex, by town, and in all.

Every margin is a question of its own with noise of its own, all of them together are one release, and afterwards
they are made to add up (`release.reconcile`). For that they must be about the same rows: those whose keys are
listed, in all columns.
"""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from dalenius.core import notebook
from dalenius.errors import InvalidParameter, QueryRefused
from dalenius.tables.aggregates import Aggregate
from dalenius.tables.ask.query import Query, Table
from dalenius.tables.facts.keys import Discover, Keys, public_keys
from dalenius.tables.rows.expressions import written

MOST_COLUMNS = 5
MOST_KEYS = 500
"""So many values of one column can be listed: they become a condition."""


@dataclass(frozen=True)
class Cube:
    """A table about to be aggregated by groups and by groups of these groups.

    sets: which columns each margin keeps; the first keeps all.
    """

    table: Table
    columns: tuple[str, ...]
    lists: tuple[tuple[Any, ...], ...]
    sets: tuple[tuple[str, ...], ...]

    def agg(self, /, *unnamed: Aggregate, **aggregates: Aggregate) -> CubeQuery:
        """The question: `agg(n=dp.count())`."""
        table, scope = self.table, self.table.scope()
        for column, listed in zip(self.columns, self.lists, strict=True):
            # Null is no key: such a row is in no cell, and so in no margin. Where no policy says that, this does.
            table = table.filter(_listed(column, listed, nulls=bool(scope.column(column).undeclared)))
        keys = dict(zip(self.columns, self.lists, strict=True))
        queries = []
        for kept in self.sets:
            grouped = table.group_by(*kept, keys={name: keys[name] for name in kept}) if kept else table
            queries.append(grouped.agg(*unnamed, **aggregates))
        return CubeQuery(self.columns, self.lists, self.sets, tuple(queries))


@dataclass(frozen=True, repr=False)
class CubeQuery:
    """A question about a table and its margins, one query for each."""

    columns: tuple[str, ...]
    lists: tuple[tuple[Any, ...], ...]
    sets: tuple[tuple[str, ...], ...]
    queries: tuple[Query, ...]

    @property
    def named(self) -> dict[str, Query]:
        """The queries, each under a name of its own."""
        names = [f"by {', '.join(kept)}" if kept else "in all" for kept in self.sets]
        return {
            name if names.count(name) == 1 else f"{name} ({number})": query
            for number, (name, query) in enumerate(zip(names, self.queries, strict=True))
        }

    def __repr__(self) -> str:
        number = len(self.queries) - 1
        return f"<Cube{repr(self.queries[0])[1:-1]} and {number} margin{'s' * (number != 1)}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the question about all columns, and the margins beside it."""
        return notebook.table([*self.queries[0].facts(), ("margins", "; ".join([*self.named][1:]))])


def cube(table: Table, *columns: str, keys: Any = None) -> Cube:
    """All margins: one for each set of the columns."""
    sets = [kept for size in range(len(columns), -1, -1) for kept in itertools.combinations(columns, size)]
    return _checked(table, columns, keys, tuple(sets), "cube")


def rollup(table: Table, *columns: str, keys: Any = None) -> Cube:
    """The margins that leave out the last columns: (a, b), (a), ()."""
    sets = tuple(columns[:size] for size in range(len(columns), -1, -1))
    return _checked(table, columns, keys, sets, "rollup")


def _checked(
    table: Table, columns: tuple[str, ...], keys: Any, sets: tuple[tuple[str, ...], ...], what: str
) -> Cube:
    if len(columns) > MOST_COLUMNS:
        raise InvalidParameter(f"{what} has {len(columns)} columns; at most {MOST_COLUMNS} are allowed.")
    if isinstance(keys, Discover):
        raise QueryRefused(
            f"{what} needs keys that are known, so that margins add up; ask for discover() with group_by first, then "
            "list what it found."
        )
    if keys is not None and not isinstance(keys, Mapping):
        if len(columns) != 1:
            raise InvalidParameter(
                f"keys of {what} are a list for each column, {{{columns[0]!r}: [...], ...}}: all combinations are "
                "asked for."
            )
        keys = {columns[0]: keys}
    grouped = table.group_by(*columns, keys=keys)
    assert isinstance(grouped.keys, Keys)
    given = table.all_keys(columns, grouped.columns, keys)
    lists = []
    for place, name in enumerate(grouped.columns):
        listed = public_keys((name,), list(given[columns[place] if columns[place] in given else name])).rows
        if len(listed) > MOST_KEYS:
            raise QueryRefused(
                f"{what} lists {len(listed)} values of {name!r}; at most {MOST_KEYS} are allowed."
            )
        lists.append(tuple(value for (value,) in listed))
    if math.prod(map(len, lists)) != len(grouped.keys):
        raise InvalidParameter(f"keys of {what} must list every value once.")
    spelled = dict(zip(columns, grouped.columns, strict=True))
    return Cube(
        table, grouped.columns, tuple(lists), tuple(tuple(spelled[name] for name in kept) for kept in sets)
    )


def _listed(column: str, values: tuple[Any, ...], nulls: bool) -> str:
    """The condition that a column has one of these values; false where it has none, if it can be so."""
    name = exp.column(exp.to_identifier(column, quoted=True))
    condition: Any = exp.In(this=name, expressions=[_literal(value) for value in values])
    if all(isinstance(value, bool) for value in values):
        either = [name.copy() if value else exp.Not(this=name.copy()) for value in values]
        condition = either[0] if len(either) == 1 else exp.or_(*either)
    return str(written(exp.Coalesce(this=condition, expressions=[exp.false()]) if nulls else condition))


def _literal(value: Any) -> Any:
    if isinstance(value, datetime.date):
        return exp.cast(exp.Literal.string(value.isoformat()), "date")
    return exp.convert(value)
