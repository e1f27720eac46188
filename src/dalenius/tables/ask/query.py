"""Questions, built step by step and checked as they are built; no data is read.

people = source.table(schema)
question = (people.filter("age >= 18")
                  .group_by("state", keys=["CA", "NY"])
                  .agg(n=count(), pay=mean("income", bounds=(0, 250_000))))
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Literal

from dalenius.core import checks, record
from dalenius.errors import InvalidParameter, QueryRefused
from dalenius.tables.aggregates import Aggregate
from dalenius.tables.facts.keys import Discover, Keys, checked_kinds, group_kind, public_keys
from dalenius.tables.facts.kinds import Field, is_text
from dalenius.tables.facts.problems import Problems
from dalenius.tables.facts.public import PublicTable
from dalenius.tables.facts.schema import Schema
from dalenius.tables.measures.measure import Measure
from dalenius.tables.rows.expressions import parse, quoted
from dalenius.tables.rows.steps import Compute, Filter, Join, Step


@dataclass(frozen=True)
class Table:
    """A table one can ask about: its columns' types and public facts, and the steps applied so far. Holds no
    data.

    >>> from dalenius.tables import Field, Schema, Table, count, mean
    >>> fields = (Field("age", "int64", "integer", False), Field("pay", "float64", "number", True, True))
    >>> people = Table("people", fields, Schema({"pay": {"bounds": (0, 9), "nulls": "drop"}}))
    >>> question = people.filter("age >= 18").agg(n=count(), pay=mean("pay"))
    >>> [measure.kind for measure in question.measures]
    ['count', 'count', 'sum', 'product']
    """

    name: str
    fields: tuple[Field, ...]
    schema: Schema = field(default_factory=Schema)
    steps: tuple[Step, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, as they are after the steps."""
        found: tuple[str, ...] = self.scope().names
        return found

    def filter(self, condition: str) -> Table:
        """Only rows for which the condition holds."""
        if not isinstance(condition, str):
            raise InvalidParameter(
                f"filter is given a {type(condition).__name__}; write the condition as text, like 'age >= 18'."
            )
        scope = self.scope()
        _known(scope, condition, "the filter")
        text = scope.canonical(condition, "the filter")
        scope.condition(text, "the filter")
        return replace(self, steps=(*self.steps, Filter(text)))

    def with_columns(self, **expressions: str) -> Table:
        """Further columns, computed from each row: `with_columns(decade="FLOOR(age / 10)")`."""
        table = self
        for name, text in expressions.items():
            if not isinstance(text, str):
                raise InvalidParameter(
                    f"column {name!r} is a {type(text).__name__}; write the expression as text, like 'age / 10'."
                )
            scope = table.scope()
            _known(scope, text, f"column {name!r}")
            step = Compute(name, scope.canonical(text, f"column {name!r}"))
            scope.apply(step, _shape)
            table = replace(table, steps=(*table.steps, step))
        return table

    def join_public(
        self,
        table: Any,
        on: str | Iterable[str | tuple[str, str]] | Mapping[str, str],
        how: Literal["inner", "left"] = "inner",
    ) -> Table:
        """The columns of a public table, by equality of `on` (a column, several, or a mapping or pairs of ours and
        theirs); all of them must be equal.

        The public table must not hold one combination of `on` twice: a row would become two.
        """
        public = PublicTable.of(table)
        pairs = _pairs(on)
        if not checks.is_one_of(how, "inner", "left"):
            raise InvalidParameter(f"how is {how!r}; it must be 'inner' or 'left'.")
        keys = public.select(tuple(dict.fromkeys(theirs for _, theirs in pairs)))
        rows = [row for row in keys.rows() if None not in row]
        if len(set(rows)) != len(rows):
            raise InvalidParameter(
                f"the public table holds the same {', '.join(keys.names)} more than once, so that one row of the data "
                "would become several; keep one row for each."
            )
        scope = self.scope()
        step = Join(public, tuple((scope.resolve(ours), theirs) for ours, theirs in pairs), how)
        scope.apply(step, _shape)
        return replace(self, steps=(*self.steps, step))

    def group_by(self, *columns: str, keys: Any = None) -> Grouped:
        """One row of the answer for each public key; see `dalenius.tables.facts.keys`.

        keys: a list (of tuples for several columns), a mapping of columns to lists (all combinations), a public
        table, or `discover()`. Left out: the categories of each column in the schema, all combinations.
        """
        if not columns:
            raise InvalidParameter(
                "group_by needs at least one column; leave it out to ask about all rows at once."
            )
        for name in columns:
            if not isinstance(name, str):
                raise InvalidParameter(
                    f"group_by is given {name!r}; name the columns one by one, like group_by('state', 'sex')."
                )
        scope = self.scope()
        names = tuple(scope.resolve(name) for name in columns)
        if len(set(names)) != len(names):
            raise InvalidParameter("group_by lists a column twice.")
        kinds = {name: scope.column(name).kind for name in names}
        if isinstance(keys, Discover):
            for name in names:
                group_kind(name, kinds[name])
            return Grouped(self, names, keys)
        found = public_keys(names, self._categories(names) if keys is None else keys)
        checked_kinds(found, kinds)
        return Grouped(self, names, found)

    def agg(self, *unnamed: Aggregate, **aggregates: Aggregate) -> Query:
        """The question, about all rows at once: `agg(n=dp.count())`."""
        return _query(self, (), None, unnamed, aggregates)

    def __repr__(self) -> str:
        names = self.names
        shown = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
        steps = f"; {len(self.steps)} step{'s' * (len(self.steps) > 1)} so far" if self.steps else ""
        return f"<Table {self.name!r}: {shown}{steps}>"

    def _categories(self, names: tuple[str, ...]) -> dict[str, tuple[Any, ...]]:
        found = {}
        for name in names:
            categories = self.schema[name].categories
            if categories is None:
                raise QueryRefused(
                    f"group_by({name!r}) needs keys: the groups must be public. List them (keys=[...]), give a public "
                    "table, state the column's categories in the schema, or use keys=dp.discover(), which costs budget."
                )
            found[name] = categories
        return found

    def scope(self) -> Any:
        """The columns as they are after the steps, belonging to no engine."""
        from dalenius.tables.rows.scope import Scope

        scope = Scope(None, self.fields, self.schema)
        for step in self.steps:
            scope.apply(step, _shape)
        return scope


@dataclass(frozen=True)
class Grouped:
    """A table about to be aggregated by groups."""

    table: Table
    columns: tuple[str, ...]
    keys: Keys | Discover

    def agg(self, *unnamed: Aggregate, **aggregates: Aggregate) -> Query:
        """The question: `agg(n=dp.count())`."""
        return _query(self.table, self.columns, self.keys, unnamed, aggregates)


@dataclass(frozen=True)
class Query:
    """A question, complete and checked. Equal questions are equal objects with equal `canonical()` texts.

    columns, keys: the grouping; () and None when all rows are one group.
    aggregates: (name, aggregate) in the order asked. roles: for each, its measures by role.
    """

    table: Table
    columns: tuple[str, ...]
    keys: Keys | Discover | None
    aggregates: tuple[tuple[str, Aggregate], ...]
    roles: tuple[tuple[tuple[str, Measure], ...], ...]

    @cached_property
    def measures(self) -> tuple[Measure, ...]:
        """Every measure the question needs, each once."""
        return tuple(dict.fromkeys(measure for role in self.roles for _, measure in role))

    @cached_property
    def parts(self) -> tuple[tuple[str, Aggregate, dict[str, Measure]], ...]:
        """Name, aggregate and measures by role of every column asked for."""
        return tuple(
            (name, aggregate, dict(roles))
            for (name, aggregate), roles in zip(self.aggregates, self.roles, strict=True)
        )

    def users(self, measure: Measure) -> list[Aggregate]:
        """The aggregates that are made of a measure."""
        return [aggregate for _, aggregate, roles in self.parts if measure in roles.values()]

    def __repr__(self) -> str:
        asked = ", ".join(f"{name} = {aggregate}" for name, aggregate in self.aggregates)
        where = [step.condition for step in self.table.steps if isinstance(step, Filter)]
        kept = f" where {' and '.join(where)}" if where else ""
        by = f" by {', '.join(self.columns)}" if self.columns else ""
        groups = f" ({len(self.keys)} groups)" if isinstance(self.keys, Keys) else ""
        return f"<Query of {self.table.name!r}: {_shortened(asked)}{_shortened(kept)}{by}{groups}>"

    def canonical(self) -> str:
        """A text that identifies the question: the same for the same question, another for any other."""
        from dalenius.tables.ask.record import query_record

        return record.text(query_record(self))


def _query(
    table: Table,
    columns: tuple[str, ...],
    keys: Keys | Discover | None,
    unnamed: tuple[Any, ...],
    aggregates: Mapping[str, Any],
) -> Query:
    if unnamed:
        raise InvalidParameter(
            f"agg is given {unnamed[0]} without a name; every aggregate needs one: agg(n={unnamed[0]})."
        )
    if not aggregates:
        raise InvalidParameter("agg() needs at least one aggregate, like agg(n=dp.count()).")
    scope, problems = table.scope(), Problems()
    roles = []
    for name, aggregate in aggregates.items():
        if not isinstance(aggregate, Aggregate):
            raise InvalidParameter(f"{name} is {aggregate!r}; it must be an aggregate, like dp.count().")
        if name in columns:
            problems.add(
                InvalidParameter(
                    f"{name!r} names both a grouping column and an aggregate; rename the aggregate."
                )
            )
        for ending in aggregate.endings:
            if name + ending in (*aggregates, *columns):
                problems.add(
                    InvalidParameter(
                        f"{name + ending!r} is what the error or interval of {name!r} is called in the answer; "
                        "rename one of the two."
                    )
                )
        roles.append(_roles(aggregate, scope, problems))
    problems.raise_any()
    return Query(table, columns, keys, tuple(aggregates.items()), tuple(roles))


def _shortened(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:197]}..."


def _roles(aggregate: Aggregate, scope: Any, problems: Problems) -> tuple[tuple[str, Measure], ...]:
    """The measures of an aggregate; whatever is wrong with it, all of it, becomes a problem."""
    before = len(problems.found)
    for text in aggregate.arguments:
        problems.attempt(partial(_known, scope, text, f"{aggregate.tag}({text!r})"))
    if len(problems.found) > before:
        return ()
    found = problems.attempt(lambda: aggregate.roles(scope))
    if found is not None:
        return tuple(found.items())
    problems.attempt(lambda: aggregate.dropping().roles(scope))
    return ()


def _known(scope: Any, text: str, what: str) -> None:
    """Refuse an expression that names columns which are not there: all of them at once."""
    from sqlglot import exp

    if text in scope.names:
        return
    problems = Problems()
    for node in parse(text, what).find_all(exp.Column):
        if isinstance(node.this, exp.Identifier) and not node.table:
            problems.attempt(partial(scope.resolve, node.name))
    for name in scope.names if problems.found else ():
        # hours-per-week is a difference to SQL.
        if not name.isidentifier() and _squeezed(name) in _squeezed(text):
            raise QueryRefused(f"{what}: the column {name!r} is written in double quotes, {quoted(name)}.")
    problems.raise_any()


def _squeezed(text: str) -> str:
    return "".join(text.lower().split())


def _shape(table: PublicTable) -> Any:
    """A public table's columns, belonging to no engine."""
    import ibis

    return ibis.table({f.name: f.dtype for f in table.fields}, name=f"public_{table.digest[:16]}")


def _pairs(on: str | Iterable[str | tuple[str, str]] | Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    if isinstance(on, str):
        return ((on, on),)
    given: object = on
    listed = [*on.items()] if isinstance(on, Mapping) else [*on] if isinstance(given, Iterable) else []
    pairs = [(name, name) if isinstance(name, str) else name for name in listed]
    if not pairs or not all(
        isinstance(p, tuple | list) and len(p) == 2 and all(map(is_text, p)) for p in pairs
    ):
        raise InvalidParameter(
            "join_public needs the columns to join on: a name, several, or pairs (ours, theirs)."
        )
    return tuple(dict.fromkeys((ours, theirs) for ours, theirs in pairs))
