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
from types import FunctionType
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import ibis
from sqlglot import exp

from dalenius.core import checks, notebook
from dalenius.core.habits import absent, hinted
from dalenius.core.nearest import meant
from dalenius.core.record import JSON
from dalenius.core.record import text as record_text
from dalenius.errors import InvalidParameter, QueryRefused
from dalenius.tables.aggregates import Aggregate
from dalenius.tables.facts.forms import nulls_record
from dalenius.tables.facts.ids import check_ids
from dalenius.tables.facts.keys import Discover, Keys, checked_kinds, group_kind, public_keys
from dalenius.tables.facts.kinds import CLEAN, KEYS, MOST_ITEMS, Field, Kind, is_text
from dalenius.tables.facts.nearest import alike, nearest
from dalenius.tables.facts.problems import Problems
from dalenius.tables.facts.public import PublicTable
from dalenius.tables.facts.schema import Column, Schema
from dalenius.tables.facts.unit import Unit
from dalenius.tables.measures.measure import Measure
from dalenius.tables.rows.computed_keys import keys_of
from dalenius.tables.rows.expressions import check_quotes, parse, quoted
from dalenius.tables.rows.relations import Explode, LimitRows, PerUnit, PrivateJoin
from dalenius.tables.rows.scope import Scope
from dalenius.tables.rows.steps import Compute, Filter, Held, Join, Step

if TYPE_CHECKING:
    from dalenius.tables.ask.cube import Cube


_ROWS = "it would show rows of the data; ask for aggregates: agg(n=dp.count())"
AGGREGATES = (
    "aggregates stand in agg, each with a name: agg(n=dp.count(), pay=dp.mean('income', bounds=(0, 9)))"
)
HINTS = {
    **dict.fromkeys(
        ["collect", "describe", "head", "iloc", "loc", "sample", "show", "tail", "to_pandas"], _ROWS
    ),
    **dict.fromkeys(
        ["count", "histogram", "max", "mean", "median", "min", "quantile", "std", "sum", "var"], AGGREGATES
    ),
    **dict.fromkeys(["aggregate", "select"], AGGREGATES),
    **dict.fromkeys(
        ["nrow", "shape", "size"], "how many rows there are is an answer, too: agg(n=dp.count())"
    ),
    **dict.fromkeys(
        ["crosstab", "pivot", "pivot_table"],
        "write session.cross_table(session.table.cube('sex', 'town').agg(n=dp.count()), budget)",
    ),
    **dict.fromkeys(
        ["assign", "mutate", "withColumn", "with_column"], "write with_columns(decade='FLOOR(age / 10)')"
    ),
    **dict.fromkeys(["query", "where"], "write filter('age >= 18')"),
    "groupBy": "write group_by('town', keys=[...])",
    "groupby": "write group_by('town', keys=[...])",
    "value_counts": "write group_by('town', keys=[...]).agg(n=dp.count())",
    "merge": "write join (private tables of one session) or join_public",
}
"""What other libraries call what a table can do, or cannot."""


MISSING = frozenset({"na", "nan", "nat", "none"})
"""What other languages call a value that is not there."""


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
    unit: Unit | None = field(default=None, compare=False)
    """Who is protected, and how much of them may enter: a session tells its tables."""
    family: object = field(default=None, compare=False, repr=False)
    """The same object for the tables of one session."""

    if not TYPE_CHECKING:  # with it type checkers would take every name for one that is there

        def __getattr__(self, name: str) -> NoReturn:
            hints = HINTS
            if not name.startswith("_") and any(name == field.name for field in self.fields):
                hints = {
                    name: f"columns are named in text, as in filter({name + ' > 0'!r}) or dp.mean({name!r})"
                }
            raise absent("a table", name, dir(type(self)), hints)

    def __getitem__(self, name: str) -> Table:
        """The table of that name: a session of one table has this one only."""
        if len(alike(str(name), [self.name])) != 1:
            if any(name == field.name for field in self.fields):
                raise QueryRefused(
                    f"{name!r} is a column: it is named in text, as in filter({str(name) + ' > 0'!r}) or "
                    f"dp.mean({name!r})."
                )
            raise QueryRefused(
                f"there is no table {name!r}; this session has one, called {self.name!r}. Several are given by their "
                "names: dp.Session({'visits': 'visits.parquet', 'purchases': 'purchases.parquet'}, ...)."
            )
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, as they are after the steps."""
        return self.scope().names

    def filter(self, condition: str) -> Table:
        """Only rows for which the condition holds."""
        scope, text = self._read(condition, "the filter", "age >= 18")
        scope.condition(text, "the filter")
        return replace(self, steps=(*self.steps, Filter(text)))

    def with_columns(self, /, **expressions: str) -> Table:
        """Further columns, computed from each row: `with_columns(decade="FLOOR(age / 10)")`."""
        table = self
        for name, expression in expressions.items():
            checks.label("the name of a computed column", name)
            scope, text = table._read(expression, f"column {name!r}", "age / 10")
            Compute(name, text).apply(scope, NOWHERE)
            table = replace(table, steps=(*table.steps, Compute(name, text)))
        return table

    def _read(self, text: str, what: str, example: str) -> tuple[Scope, str]:
        """The columns so far, and an expression over them in its one spelling."""
        if not isinstance(text, str):
            raise InvalidParameter(f"{what} is a {type(text).__name__}; write it as text, like {example!r}.")
        scope = self.scope()
        _known(scope, text, what)
        return scope, scope.canonical(text, what)

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
        scope = self.scope()
        step = Join(public, tuple((scope.resolve(ours), theirs) for ours, theirs in pairs), how)
        step.apply(scope, NOWHERE)
        # As they are sent: what is not the same may become so, as days after the year 9999 do.
        rows = [row for row in keys.sent(0).rows() if None not in row]
        if len(set(rows)) != len(rows):
            raise InvalidParameter(
                f"the public table holds the same {', '.join(keys.names)} more than once, so that one row of the data "
                "would become several; keep one row for each."
            )
        return replace(self, steps=(*self.steps, step))

    @hinted(on="the columns that must be equal, the unit's id among them: join(other, on='person_id')")
    def join(
        self,
        other: Table,
        on: str | Iterable[str | tuple[str, str]] | Mapping[str, str],
        how: Literal["inner", "left"] = "inner",
    ) -> Table:
        """The matching rows of another private table of the same session, by equality of `on`, as in `join_public`.

        The unit's id must be among `on`: each person's rows meet that person's rows only. Before they are joined, each
        side is cut to its `max_rows` rows of a unit (after the filters that stand before the join), so one unit has at
        most the product of both in what comes out. Columns of the other table keep their names; those that this one
        has, too, and those joined on, are called `purchases.day`, by the other table's name.
        """
        given: object = other
        if not isinstance(given, Table):
            raise InvalidParameter(
                f"join is given a {type(other).__name__}; it joins private tables of one session, like "
                "s.table['visits'].join(s.table['purchases'], on=...). A public table is joined by join_public(...)."
            )
        if again := sorted(self.tables & other.tables):
            raise QueryRefused(
                f"the table {again[0]!r} cannot be joined with itself; compute what is needed in one row "
                "(with_columns), or count rows of each unit first: per_unit()."
            )
        unit = self._unit("a join of private tables")
        if self.family is None or other.family is not self.family:
            raise QueryRefused(
                f"{self.name!r} and {other.name!r} are not of one session; open them together: dp.Session({{"
                f"{self.name!r}: ..., {other.name!r}: ...}}, ...), so that one budget pays for both."
            )
        if not checks.is_one_of(how, "inner", "left"):
            raise InvalidParameter(f"how is {how!r}; it must be 'inner' or 'left'.")
        theirs, scope = other.scope(), self.scope()
        pairs = tuple(
            (_column_of(scope, a, self.name), _column_of(theirs, b, other.name))
            for a, b in _pairs(on, "join")
        )
        ids = [(column, column) for column in unit.columns]
        if not set(ids) <= set(pairs):
            listed = ", ".join(repr(name) for name in dict.fromkeys((*unit.columns, *(a for a, _ in pairs))))
            own = ", ".join(map(repr, unit.columns))
            raise QueryRefused(
                f"private tables are joined on the unit's id, {own}, and on what else you like: on=[{listed}]. Without "
                "it, one person's rows would meet other people's, and no bound on their own rows would bound what they "
                "change."
            )
        for table in (self, other):
            check_ids(table.fields, table.schema, unit.columns)
        for column in unit.columns:
            kinds = scope.identity(column)[1], theirs.identity(column)[1]
            if kinds[0] != kinds[1]:
                raise QueryRefused(
                    f"{column!r} is of type {scope.fields[column].dtype} in {self.name!r} and of type "
                    f"{theirs.fields[column].dtype} in {other.name!r}; ids must be of one type in all tables."
                )
        for a, b in (pair for pair in pairs if pair not in ids):
            mine, its = scope.column(a).kind, theirs.column(b).kind
            if mine not in KEYS or mine != its:
                raise QueryRefused(
                    f"column {a!r} is of type {mine} and {b!r} of {other.name!r} of type {its}; to join, both must be "
                    "whole numbers, text, dates or conditions, and the same; compute such columns of both first, as "
                    "with_columns(day=\"DATE_TRUNC('day', t)\")."
                )
        flat = _flat_names(scope.names, other.name, theirs.names, {b for _, b in pairs})
        left, right = self.bound.max_rows, other.bound.max_rows
        step = PrivateJoin(other, unit.columns, pairs, how, left, right, tuple(flat.items()))
        schema = _joined_schema(self.schema, other.schema, step)
        return replace(self, schema=schema, steps=(*self.steps, step))

    def explode(self, column: str, *, max_items: int) -> Table:
        """A row for each item of a list, the first `max_items` of each row: `explode("items", max_items=5)`.

        The column is then the item. A row with an empty list, or none, is left out. One unit has so many times the rows
        it had, which the noise is for; `limit_rows` after it lowers them.
        """
        self._unit("explode")
        most = checks.count("max_items", max_items, 1)
        if most > MOST_ITEMS:
            raise InvalidParameter.of(
                "max_items", f"max_items is {most}; at most {MOST_ITEMS} items of a list are read."
            )
        if any(isinstance(step, PrivateJoin | PerUnit) for step in self.steps):
            raise QueryRefused(
                "lists are exploded before tables are joined, or rows counted: put explode first."
            )
        scope = self.scope()
        name = scope.resolve(column)
        field = scope.fields.get(name)
        if field is None or field.items is None or field.kind is not None:
            kind = "computed" if field is None else f"of type {field.dtype}"
            raise QueryRefused(
                f"column {name!r} is {kind}; explode takes lists of numbers, text, dates or truth values. Arrow and "
                "Polars frames, Parquet and DuckDB files, PostgreSQL and Spark have them; SQLite and CSV files do not. "
                "A pandas column of Python lists is given as Arrow: pyarrow.Table.from_pandas(frame)."
            )
        # Items of double precision, whatever the list holds: their clean form is all that is known of them.
        item = Field(name, CLEAN[field.items], field.items, True, True)
        step = Explode(item, most)
        step.apply(scope, NOWHERE)
        return replace(self, steps=(*self.steps, step))

    def limit_rows(self, rows: int) -> Table:
        """Fewer rows of each unit than the session's `max_rows`: less noise, and more left out.

        Which rows are kept is settled where they are joined or summed, among those that passed the filters before
        that.
        """
        unit, most = self._unit("limit_rows"), checks.count("rows", rows, 1)
        bound = self.bounded(unit)
        if most > bound.max_rows:
            raise QueryRefused(
                f"limit_rows({most}) is more than the {bound.max_rows} rows of one {unit.each} that may enter here; "
                "it can only lower them. The session's own bound is max_rows of its dp.Unit."
            )
        return replace(self, steps=(*self.steps, LimitRows(most)))

    def per_unit(self, rows: str = "rows") -> Table:
        """One row for each unit that has rows here, with their number as a column: `rows`, or as named.

        A unit then has one row, whatever `max_rows` is: `per_unit().agg(n=dp.mean("rows", bounds=(0, 50)))`.
        """
        unit = self._unit("per_unit")
        checks.label("the name of the column that holds the number of rows", rows)
        check_ids(self.fields, self.schema, unit.columns)
        step = PerUnit(unit.columns, rows)
        step.apply(self.scope(), NOWHERE)
        return replace(self, steps=(*self.steps, step))

    def _unit(self, what: str) -> Unit:
        if self.unit is None or self.unit.column is None:
            raise QueryRefused(
                f"{what} needs to know whose rows are whose: take the table from a session whose unit has an id, "
                "dp.Session(..., unit=dp.Unit('person_id', max_rows=...))."
            )
        return self.unit

    @property
    def bound(self) -> Unit:
        """How much of one unit there is at most, after the steps; for tables of a session."""
        return self.bounded(self._unit("a bound"))

    def bounded(self, unit: Unit) -> Unit:
        """The same where the unit before the steps is this one."""
        for step in self.steps:
            unit = step.bound(unit)
        return unit

    @property
    def is_per_unit(self) -> bool:
        """Whether a step looks at the rows of a unit, or makes several of one."""
        return any(step.per_unit for step in self.steps)

    @property
    def tables(self) -> frozenset[str]:
        """The private tables in it, by name."""
        joined = (step.table.tables for step in self.steps if isinstance(step, PrivateJoin))
        return frozenset({self.name}).union(*joined)

    @property
    def units(self) -> frozenset[tuple[str, ...]]:
        """The ids by which its steps, and those of the tables in it, take rows together."""
        own = frozenset(step.unit for step in self.steps if isinstance(step, PrivateJoin | PerUnit))
        return own.union(*(step.table.units for step in self.steps if isinstance(step, PrivateJoin)))

    @property
    def columns(self) -> tuple[Field, ...]:
        """The columns of this and of joined tables that are still there after the steps; not the computed ones."""
        return tuple(self.scope().fields.values())

    def group_by(self, *columns: str, keys: Any = None) -> Grouped:
        """One row of the answer for each public key; see `dalenius.tables.facts.keys`.

        keys: a list (of tuples for several columns), a mapping of columns to lists (all combinations), a public
        table, or `discover()`. Left out, or left out of the mapping: the categories of the column in the schema, the
        months within its bounds, the outcomes of CASE, true and false of a condition; all combinations.
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
        listed = public_keys(names, self.all_keys(columns, names, keys))
        checked_kinds(listed, kinds)
        return Grouped(self, names, listed)

    def all_keys(self, columns: tuple[str, ...], names: tuple[str, ...], keys: Any) -> Any:
        """The keys given; of columns that are left out, or of all of them, what is public of their values."""
        if keys is None:
            return self._categories(names)
        if not isinstance(keys, Mapping):
            return keys
        missing = tuple(
            name
            for column, name in zip(columns, names, strict=True)
            if column not in keys and name not in keys and self._public(name) is not None
        )
        return {**keys, **self._categories(missing)}

    def cube(self, *columns: str, keys: Any = None) -> Cube:
        """Groups, and their margins: `cube("sex", "town")` asks by sex and town, by sex, by town and in all, with
        numbers that add up.

        keys: a list for each column, `{"sex": ["f", "m"], "town": [...]}`; left out, the categories in the schema. Rows
        with other keys are left out of all of them.
        """
        from dalenius.tables.ask.cube import cube

        return cube(self, *columns, keys=keys)

    def rollup(self, *columns: str, keys: Any = None) -> Cube:
        """Groups, and the margins that leave out the last columns: `rollup("state", "town")` asks by state and town, by
        state and in all; see `cube`."""
        from dalenius.tables.ask.cube import rollup

        return rollup(self, *columns, keys=keys)

    def agg(self, /, *unnamed: Aggregate, **aggregates: Aggregate) -> Query:
        """The question, about all rows at once: `agg(n=dp.count())`."""
        return _query(self, (), None, unnamed, aggregates)

    def record(self) -> dict[str, JSON]:
        """The table as a question sees it, in the words of a ledger.

        missing: whether a row can lack a value. nulls: what then becomes of it, for columns of the data and joined
        ones. Of the schema nothing else is here: bounds and categories are with what they were used for.
        """
        fields = [*self.fields, *(f for step in self.steps for f in step.added)]
        return {
            "name": self.name,
            "columns": [
                {"name": f.name, "type": f.kind, "missing": f.missing}
                for f in sorted(self.fields, key=lambda f: f.name)
            ],
            "nulls": {f.name: nulls_record(self.schema.policy(f.name)) for f in fields if f.missing},
            "steps": [step.record() for step in self.steps],
        }

    def __repr__(self) -> str:
        names = self.names
        shown = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
        steps = f"; {len(self.steps)} step{'s' * (len(self.steps) > 1)} so far" if self.steps else ""
        return f"<Table {self.name!r}: {shown}{steps}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: who is protected, the steps so far, and what is public about each column."""
        facts = [("table", self.name)]
        facts += [] if self.unit is None else [("unit", repr(self.unit))]
        facts += [(step.tag, _shortened(step.said)) for step in self.steps]
        scope = self.scope()
        head = ("column", "type", "what is public", "missing values")
        return notebook.table(facts) + notebook.grid(head, (self._told(scope, name) for name in scope.names))

    def _told(self, scope: Scope, name: str) -> tuple[str, str, str, str]:
        """A column, its type, what the schema says of its values, and what becomes of rows without one."""
        field, own = scope.fields.get(name), self.schema[name]
        if field is None:
            return name, str(scope.column(name).kind), "computed", ""
        public = ""
        if own.categories is not None:
            public = _shortened(
                f"{len(own.categories)} categories: {', '.join(map(str, own.categories))}", 80
            )
        elif (ends := own.days or own.bounds) is not None:
            public = " to ".join(f"{end:g}" if isinstance(end, float) else str(end) for end in ends)
        policy = self.schema.policy(name)
        missing = "none" if not field.missing else "no policy yet" if policy is None else str(policy)
        return name, str(field.kind or f"{field.dtype}, of no use here"), public, missing

    def _public(self, name: str) -> tuple[Any, ...] | None:
        """The values that a column can have, where the schema, its type or what it is computed as says so."""
        known = self.schema[name].categories or keys_of(self._text(name), self.schema)
        return known or ((False, True) if self.scope().column(name).kind == "bool" else None)

    def _categories(self, names: tuple[str, ...]) -> dict[str, tuple[Any, ...]]:
        categories = {}
        for name in names:
            listed = self._public(name)
            if listed is None:
                raise QueryRefused(
                    f"group_by({name!r}) needs keys: the groups must be public. List them (keys=[...]; of dates "
                    "keys=dp.months('2023-01', '2024-12'); from a shell --keys a,b), give a public table, state the "
                    "column's categories in the schema, or use keys=dp.discover(), which costs budget."
                )
            categories[name] = listed
        return categories

    def _text(self, name: str) -> str:
        """What a column is computed as; itself, if it is not."""
        computed = {step.name: step.text for step in self.steps if isinstance(step, Compute)}
        return computed.get(name, quoted(name))

    def scope(self, held: Held | None = None) -> Scope:
        """The columns as they are after the steps; belonging to no engine, unless the rows are held somewhere."""
        held = NOWHERE if held is None else held
        scope = Scope(held.rows_of(self.name), self.fields, self.schema, held.spelling)
        for step in self.steps:
            step.apply(scope, held)
        return scope


@dataclass(frozen=True)
class Grouped:
    """A table about to be aggregated by groups."""

    table: Table
    columns: tuple[str, ...]
    keys: Keys | Discover

    def __repr__(self) -> str:
        groups = f"{len(self.keys)} groups" if isinstance(self.keys, Keys) else "groups to be discovered"
        return f"<{repr(self.table)[1:-1]}; by {', '.join(self.columns)} ({groups})>"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise absent(
                "a table by groups",
                name,
                vars(type(self)),
                dict.fromkeys([*HINTS, "size", "head"], AGGREGATES),
            )

    def agg(self, /, *unnamed: Aggregate, **aggregates: Aggregate) -> Query:
        """The question: `agg(n=dp.count())`."""
        return _query(self.table, self.columns, self.keys, unnamed, aggregates)


@dataclass(frozen=True)
class Query:
    """A question, complete and checked. Equal questions are equal objects with equal `canonical()` texts.

    columns, keys: the grouping; () and None when all rows are one group.
    aggregates: (name, aggregate) in the order asked, each in its one spelling (`Aggregate.normal`). roles: for each,
    its measures by role.
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

    def facts(self) -> list[tuple[str, str]]:
        """The question in pairs of a word and what it is, for people."""
        facts = [("question of", self.table.name)]
        facts += [(step.tag, _shortened(step.said)) for step in self.table.steps]
        if self.columns:
            groups = f"{len(self.keys)} groups" if isinstance(self.keys, Keys) else "groups to be discovered"
            facts.append(("by", f"{', '.join(self.columns)} ({groups})"))
        return facts + [(name, _shortened(str(aggregate))) for name, aggregate in self.aggregates]

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return notebook.table(self.facts())

    def record(self) -> dict[str, JSON]:
        """What is asked, in the words of a ledger, and nothing of how it is computed.

        The same question has one record, and another question another: every constant is written with its type, every
        expression in its normal form, a public table by a digest of its rows. Grids, bins and noise follow from the
        code of the day; they are not part of the question but of the answer (`release.record`).
        """
        return {
            "table": self.table.record(),
            "group_by": list(self.columns),
            "keys": None if self.keys is None else self.keys.record(),
            "aggregates": [{"name": name, "aggregate": asked.record()} for name, asked in self.aggregates],
        }

    def canonical(self) -> str:
        """A text that identifies the question: the same for the same question, another for any other."""
        return record_text(self.record())


def query_of(table: Table, grouped: Grouped | None, aggregates: Mapping[str, Any]) -> Query:
    """The question with these aggregates, whatever they are called."""
    if grouped is None:
        return _query(table, (), None, (), aggregates)
    return _query(grouped.table, grouped.columns, grouped.keys, (), aggregates)


def _query(
    table: Table,
    columns: tuple[str, ...],
    keys: Keys | Discover | None,
    unnamed: tuple[Any, ...],
    aggregates: Mapping[str, Any],
) -> Query:
    if unnamed:
        if not isinstance(unnamed[0], Aggregate):
            raise InvalidParameter(f"agg is given {checks.shown(unnamed[0])}; {AGGREGATES}.")
        raise InvalidParameter(
            f"agg is given {unnamed[0]} without a name; every aggregate needs one: agg(n={unnamed[0]})."
        )
    if not aggregates:
        raise InvalidParameter("agg() needs at least one aggregate, like agg(n=dp.count()).")
    scope, problems = table.scope(), Problems()
    asked, roles = [], []
    for name, aggregate in aggregates.items():
        checks.label("the name of an aggregate", name)
        if not isinstance(aggregate, Aggregate):
            if isinstance(aggregate, FunctionType) and str(aggregate.__module__).startswith("dalenius."):
                raise InvalidParameter(f"{name} is a function; call it: {name}=dp.{aggregate.__name__}(...).")
            raise InvalidParameter(
                f"{name} is {checks.shown(aggregate)}; it must be an aggregate, like dp.count()."
            )
        if name in columns:
            problems.add(f"{name!r} names both a grouping column and an aggregate; rename the aggregate.")
        for ending in aggregate.endings:
            if name + ending in (*aggregates, *columns):
                problems.add(
                    f"{name + ending!r} is what the error or interval of {name!r} is called in the answer; rename one "
                    "of the two."
                )
        normal, parts = _resolved(aggregate, scope, problems)
        asked.append((name, normal))
        roles.append(parts)
    problems.raise_any()
    return Query(table, columns, keys, tuple(asked), tuple(roles))


def _shortened(text: str, most: int = 200) -> str:
    return notebook.shortened(text, most)


def _resolved(
    aggregate: Aggregate, scope: Scope, problems: Problems
) -> tuple[Aggregate, tuple[tuple[str, Measure], ...]]:
    """An aggregate in its one spelling, and its measures; whatever is wrong with it, all of it, becomes a problem."""
    before = len(problems.noted)
    for text in aggregate.arguments:
        what = aggregate.what if len(aggregate.arguments) == 1 else f"{aggregate.tag}({text!r})"
        problems.attempt(partial(_known, scope, text, what))
    if len(problems.noted) > before:
        return aggregate, ()
    roles = problems.attempt(lambda: aggregate.roles(scope))
    if roles is not None:
        return aggregate.normal(scope), tuple(roles.items())
    problems.attempt(lambda: aggregate.dropping().roles(scope))
    return aggregate, ()


def _known(scope: Scope, text: str, what: str) -> None:
    """Refuse an expression that names columns which are not there: all of them at once."""
    if scope.named(text) is not None:
        return
    problems = Problems()
    for node in parse(text, what, scope.names).find_all(exp.Column):
        if isinstance(node.this, exp.Identifier) and not node.table:
            problems.attempt(partial(_named, scope, node))
    if problems.noted:
        check_quotes(text, scope.names, f"{what}: ")
    problems.raise_any()


def check_missing(name: str) -> None:
    """Refuse a name that no column has where it is what another language calls a missing value."""
    if name.lower() in MISSING:
        raise QueryRefused(
            f"there is no column {name!r}; a value that is missing is asked for by IS NULL, one that is there by "
            "IS NOT NULL."
        )


def _named(scope: Scope, node: Any) -> None:
    """Refuse a name that no column has. In double quotes it may be meant as text, as other languages write it."""
    if not alike(node.name, scope.names):
        check_missing(node.name)
    quotes = node.this.args.get("quoted")
    if quotes and not alike(node.name, scope.names) and isinstance(node.parent, COMPARED):
        text = exp.Literal.string(node.name).sql()
        raise QueryRefused(f"there is no column {node.name!r}; text is written in single quotes: {text}.")
    if (
        not alike(node.name, scope.names)
        and isinstance(node.parent, COMPARED)
        and not meant(node.name, scope.names)
    ):
        raise QueryRefused(
            f"there is no column {node.name!r}; {nearest(node.name, scope.names)}. Text is written in single "
            f"quotes: {exp.Literal.string(node.name).sql()}."
        )
    scope.resolve(node.name)


COMPARED = (exp.EQ, exp.NEQ, exp.In, exp.Like, exp.ILike, exp.Case, exp.If, exp.Coalesce)
"""What stands beside text."""


class _Nowhere:
    """Columns that belong to no engine: everything is checked, and nothing can be run."""

    spelling = None

    def upload(self, public: PublicTable) -> Any:
        return ibis.table({f.name: f.dtype for f in public.fields}, name=f"public_{public.digest[:16]}")

    def rows_of(self, table: str) -> Any:
        return None

    def listed(self, items: Any, kind: Kind, at: Any) -> tuple[Any, Any]:
        return items[at], items.length()

    def truncate(self, scope: Scope, unit: tuple[str, ...], most: int, by: tuple[str, ...]) -> None:
        pass


NOWHERE = _Nowhere()


def _column_of(scope: Scope, name: str, table: str) -> str:
    """The column meant by a name, where there are two tables."""
    try:
        return scope.resolve(name)
    except QueryRefused as refused:
        raise QueryRefused(f"in {table!r} {refused}") from None


def _flat_names(
    ours: Iterable[str], table: str, theirs: Iterable[str], joined_on: Iterable[str]
) -> dict[str, str]:
    """What the columns of a joined private table are called: a public rule, from names alone."""
    taken, flat, shared = {name.lower() for name in ours}, {}, set(joined_on)
    for name in theirs:
        called = f"{table}.{name}" if name in shared or name.lower() in taken else name
        while called.lower() in taken:
            called += "'"
        taken.add(called.lower())
        flat[name] = called
    return flat


def _joined_schema(ours: Schema, theirs: Schema, step: PrivateJoin) -> Schema:
    """Our facts, and theirs under their names from now on. Where nothing matched there is no value, whatever was said:
    after a left join "never" is "drop", and so is nothing, of a column that always has a value itself."""
    columns = dict(ours.columns)
    full = {f.name for f in step.table.columns if not f.missing}
    for name, called in step.flat:
        own, policy = theirs[name], theirs.policy(name)
        if step.how == "left" and (policy == "never" or (policy is None and name in full)):
            policy = "drop"
        columns[called] = Column(bounds=own.bounds or own.days, categories=own.categories, nulls=policy)
    return Schema(columns, nulls=ours.nulls, records=ours.records)


def _pairs(
    on: str | Iterable[str | tuple[str, str]] | Mapping[str, str], what: str = "join_public"
) -> tuple[tuple[str, str], ...]:
    if isinstance(on, str):
        return ((on, on),)
    given: object = on
    listed = [*on.items()] if isinstance(on, Mapping) else [*on] if isinstance(given, Iterable) else []
    pairs = [(name, name) if isinstance(name, str) else name for name in listed]
    if not pairs or not all(
        isinstance(p, tuple | list) and len(p) == 2 and all(map(is_text, p)) for p in pairs
    ):
        raise InvalidParameter(
            f"{what} needs the columns to join on: a name, several, or pairs (ours, theirs)."
        )
    return tuple(dict.fromkeys((ours, theirs) for ours, theirs in pairs))
