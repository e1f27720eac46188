"""Questions that come from elsewhere, in the words of `Query.record()`.

Whoever sends one may have written anything. So nothing of it is taken as it is: each kind of step, key and aggregate
reads its own record and is then asked for anew, by the same calls that a person writes, on a table that we know. What
comes out is a question like any other, with every check made; a word without a meaning is refused, never passed over.

A record may be shorter than ours: what follows from the table (its columns, its policies for missing values, the rows
that a join keeps) and what an aggregate says by default may be left out, and constants may be plain JSON. What is told
of these must be true: a question that was written for other columns or policies is another question.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from dalenius.core.checks import shown
from dalenius.core.record import JSON
from dalenius.errors import DaleniusError, InvalidParameter, LedgerError
from dalenius.tables.aggregates import asked
from dalenius.tables.ask.query import Query, Table, query_of
from dalenius.tables.ask.several import Tables
from dalenius.tables.facts.forms import BROKEN
from dalenius.tables.facts.keys import Discover, Keys
from dalenius.tables.facts.nearest import nearest
from dalenius.tables.facts.public import PublicTable
from dalenius.tables.rows.relations import Explode, LimitRows, PerUnit, PrivateJoin
from dalenius.tables.rows.steps import Compute, Filter, Join, Step, as_text

T = TypeVar("T")

LONGEST = 50_000_000
"""Characters of a question and its public tables: no more than an entry of a ledger may have."""
DEEPEST = 40
"""A table that is joined is two levels deeper; nobody joins twenty."""
MOST_STEPS = 32
"""Each is checked against all before it."""
MOST_AGGREGATES = 1000

STEPS: Mapping[str, type[Step]] = {
    kind.tag: kind for kind in (Filter, Compute, Join, PrivateJoin, Explode, LimitRows, PerUnit)
}
KEYS: Mapping[str, type[Keys] | type[Discover]] = {kind.tag: kind for kind in (Keys, Discover)}


def read_query(
    record: JSON, tables: Table | Mapping[str, Table], public: Iterable[PublicTable] = ()
) -> Query:
    """The question whose `record()` this is, asked of these tables; InvalidParameter for anything else.

    public: the tables that it joins, of which a record has digests.

    >>> from dalenius.tables import Field, Schema, Table, count
    >>> people = Table("people", (Field("age", "int64", "integer", False),), Schema())
    >>> question = people.filter("age >= 18").agg(n=count())
    >>> read_query(question.record(), people) == question
    True
    >>> told = {"table": {"name": "people"}, "aggregates": [{"name": "n", "aggregate": {"kind": "count"}}]}
    >>> read_query(told, people)
    <Query of 'people': n = count()>
    """
    return reading(lambda: _Reader(tables, public).query(bounded(record)))


def read_table(
    record: JSON, tables: Table | Mapping[str, Table], public: Iterable[PublicTable] = ()
) -> Table:
    """The table with its steps whose `record()` this is, likewise."""
    return reading(lambda: _Reader(tables, public).table(bounded(record)))


def read_keys(record: JSON) -> Any:
    """Keys as `group_by` takes them, from their record."""
    return reading(lambda: _keys(bounded(record)))


def reading(read: Callable[[], T]) -> T:
    """What is read; whatever a record could not be is one error, in plain words."""
    try:
        return read()
    except LedgerError as problem:
        complaint = str(problem)
    except DaleniusError:
        raise
    except BROKEN:
        complaint = "the question is not written as we write them; docs/record-format.md says how."
    raise InvalidParameter(complaint)


def bounded(record: JSON) -> JSON:
    """A record that is JSON, and neither too deep nor too long to look at: without a recursion of its own."""
    left, rest = LONGEST, [(record, 1)]
    while rest:
        value, depth = rest.pop()
        left -= 1
        if isinstance(value, dict):
            rest += [(part, depth + 1) for pair in value.items() for part in pair]
        elif isinstance(value, list):
            rest += [(part, depth + 1) for part in value]
        elif isinstance(value, str):
            left -= len(value)
            if any("\ud800" <= sign <= "\udfff" for sign in value):
                raise InvalidParameter(
                    "the question holds half a character (a lone surrogate); write it as UTF-8."
                )
        elif isinstance(value, int) and not isinstance(value, bool):
            left -= value.bit_length() // 3
        elif isinstance(value, float):
            if not math.isfinite(value):
                raise InvalidParameter(
                    f"the question holds the number {value}; JSON has finite numbers only."
                )
        elif value is not None and not isinstance(value, bool):
            raise InvalidParameter(f"the question holds a {type(value).__name__}, which JSON has not.")
        if left < 0 or depth > DEEPEST:
            raise InvalidParameter(
                f"the question is too long or too deep: at most {LONGEST} characters and {DEEPEST} levels are read."
            )
    return record


class _Reader:
    def __init__(self, tables: Table | Mapping[str, Table], public: Iterable[PublicTable]) -> None:
        self.tables: Any = tables if isinstance(tables, Table | Tables) else Tables(tables)
        self._public = {table.usable_digest: table for table in public}
        self.steps = 0

    def query(self, record: JSON) -> Query:
        of = _words(record, "a question", ("table", "aggregates"), ("group_by", "keys"))
        table = self.table(of["table"])
        columns, keys = of.get("group_by") or [], of.get("keys")
        if not isinstance(columns, list):
            raise InvalidParameter(f"group_by is {shown(columns)}; it must be a list of columns.")
        grouped = None
        if columns:
            grouped = table.group_by(*columns, keys=None if keys is None else _keys(keys))
        elif keys is not None:
            raise InvalidParameter("the question has keys and no group_by; name the columns they are of.")
        listed = of["aggregates"]
        if not isinstance(listed, list) or not 0 < len(listed) <= MOST_AGGREGATES:
            raise InvalidParameter(
                "aggregates must be a list of {'name': ..., 'aggregate': {...}}, at least one and at most "
                f"{MOST_AGGREGATES}."
            )
        wanted = {}
        for one in listed:
            told = _words(one, "an aggregate", ("name", "aggregate"), ())
            name = as_text("the name of an aggregate", told["name"])
            if name in wanted:
                raise InvalidParameter(f"two aggregates are called {name!r}; rename one.")
            wanted[name] = asked(told["aggregate"])
        return query_of(table, grouped, wanted)

    def table(self, record: JSON) -> Table:
        of = _words(record, "a table", ("name",), ("columns", "nulls", "steps"))
        table: Table = self.tables[as_text("the name of a table", of["name"])]
        steps = of.get("steps", [])
        if not isinstance(steps, list):
            raise InvalidParameter(f"the steps of a table are {shown(steps)}; they must be a list.")
        for step in steps:
            table = self._step(step, table)
        told = table.record()
        for word in ("columns", "nulls"):
            if word in of and _sorted(of[word]) != _sorted(told[word]):
                raise InvalidParameter(
                    f"the question was written for a table {table.name!r} whose columns, or policies for missing "
                    "values, are not those it has here; take its description anew and ask again."
                )
        return table

    def public(self, digest: JSON) -> PublicTable:
        found = self._public.get(digest) if isinstance(digest, str) else None
        if found is None:
            raise InvalidParameter(
                f"the question joins the public table {shown(digest)}, which did not come with it."
            )
        return found

    def _step(self, record: JSON, table: Table) -> Table:
        kind = STEPS.get(_tag(record, "a step", STEPS))
        assert kind is not None
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise InvalidParameter(f"the question has more than {MOST_STEPS} steps.")
        needed = tuple(word for word in kind.words if word not in kind.told)
        of = _words(record, f"the step {kind.tag!r}", ("kind", *needed), kind.told)
        made = kind.again(of, table, self)
        told = made.steps[-1].record()
        for word in kind.told:
            if word in of and of[word] != told[word]:
                raise InvalidParameter(
                    f"the step {kind.tag!r} says {word} {shown(of[word])}, and here it is {shown(told[word])}; take "
                    "the table's description anew and ask again."
                )
        return made


def _keys(record: JSON) -> Any:
    return KEYS[_tag(record, "keys", KEYS)].asked(record)


def _tag(record: JSON, what: str, known: Mapping[str, object]) -> str:
    tag = record.get("kind") if isinstance(record, dict) else None
    if not isinstance(tag, str) or tag not in known:
        raise InvalidParameter(
            f"{what} is {shown(record)}; it must be an object whose 'kind' is one of {', '.join(map(repr, known))}."
        )
    return tag


def _words(record: JSON, what: str, needed: tuple[str, ...], others: tuple[str, ...]) -> dict[str, JSON]:
    """An object with these words and no others."""
    if not isinstance(record, dict):
        raise InvalidParameter(f"{what} is {shown(record)}; it must be an object with {', '.join(needed)}.")
    for word in record:
        if word not in (*needed, *others):
            raise InvalidParameter(f"{what} says {shown(word)}; {nearest(str(word), (*needed, *others))}.")
    for word in needed:
        if word not in record:
            raise InvalidParameter(f"{what} lacks {word!r}.")
    return record


def _sorted(content: JSON) -> str:
    """One text for one content: 1, 1.0 and true are equal to Python."""
    return json.dumps(content, sort_keys=True)
