"""Exact integer aggregates, computed by the engine.

    table = evaluate(source, query, unit)
    table.keys                      the groups, as tuples: every public key, in the order of the query
    table[measure]                  its integers, one per group (for bins: groups x bins), as int64, or as Python
                                    integers in an object array where they might not fit: which of the two is a matter
                                    of the bounds, never of the data

for every `measure` in `query.measures` (and units() when keys are discovered). What noise needs to know is
public and in the Measure itself: a row that counts contributes an integer in [measure.low, measure.high] to one
group (to one bin of it), and one unit at most `unit.max_rows` such rows in at most `unit.max_groups` groups (to
a measure that counts units `once`: 1 in each). An integer of a measure is worth `measure.granularity`; a sum counts
from `measure.origin`, a product from the centres. `roles` of an aggregate say which measure plays which part: the
mean, for one, is

    (sum / count + origin) * granularity.

The steps, all inside the engine:

1. filters, computed columns, public joins; each looks at one row;
2. the key of each row becomes the position of its public key; rows without one are left out;
3. each argument becomes an integer on its grid (`gridding`) or a bin (`bins`);
4. each unit's rows are bounded (`bounding`);
5. the integers are summed by group: counts, sums and products in one statement, each set of bins in one more.

No value in a row can make any of this fail (`terms`, `rows.total`). If something fails all the same, it does so with
one constant error (`failure`). An answer computed here is exact: it must not leave the process except through a
mechanism. With `discover()` that holds for the keys as well: they travel as integers and hexadecimal digits, which hold
whatever the engine does, and only those that come to light are read (`discovery`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dalenius.errors import InvalidParameter, QueryRefused
from dalenius.tables.ask.query import Query
from dalenius.tables.compute.bounding import SEED, bounded, seed, unit_names
from dalenius.tables.compute.source import BLOCK, Source
from dalenius.tables.compute.truncation import HeldIn
from dalenius.tables.engines.engine import LIMIT, fits
from dalenius.tables.engines.failure import sealed
from dalenius.tables.facts.ids import check_ids
from dalenius.tables.facts.keys import LONGEST, Code, Discover, Key, Keys, checked_kinds, read_key
from dalenius.tables.facts.kinds import Kind
from dalenius.tables.facts.public import PublicTable
from dalenius.tables.facts.schema import Nulls
from dalenius.tables.facts.unit import Unit
from dalenius.tables.measures.bins import Bins
from dalenius.tables.measures.gridding import Value
from dalenius.tables.measures.measure import PLACE, Frame, Measure, units
from dalenius.tables.rows.scope import Scope
from dalenius.tables.rows.terms import Term, double, integer

LARGEST = 2**27
"""At most so many integers in one answer."""

GROUP = "__k"

MISSING = -(2**62)
"""Farther from any centre than a value can be."""


@dataclass(frozen=True, eq=False)
class ExactTable:
    """Exact integers by group; see the head of this module.

    codes: the keys, those that were discovered as they came from the engine. kinds: what they are then to be read as.
    """

    columns: tuple[str, ...]
    codes: list[Code]
    values: dict[Measure, NDArray[Any]]
    kinds: tuple[Kind, ...] | None = None

    @property
    def keys(self) -> list[Key]:
        return self.codes if self.kinds is None else [read_key(code, self.kinds) for code in self.codes]

    def __getitem__(self, measure: Measure) -> NDArray[Any]:
        return self.values[measure]

    def __len__(self) -> int:
        return len(self.codes)

    def __repr__(self) -> str:
        return "<ExactTable: exact, not to be shown>"


def check(query: Query, unit: Unit) -> None:
    """Refuse what cannot be evaluated; no data is read. `evaluate` does this first, a release before it
    charges."""
    cells = sum(measure.size for measure in query.measures) * (
        len(query.keys) if isinstance(query.keys, Keys) else 1
    )
    if cells > LARGEST:
        raise QueryRefused(
            f"the answer would hold {cells} numbers; at most {LARGEST} are allowed. Ask for fewer groups or bins."
        )
    if unit.column is None:
        if query.table.is_per_unit:
            raise QueryRefused(
                "this question looks at all rows of a unit, and here every row is a unit of its own: say whose rows "
                "are whose, dp.Unit('person_id', max_rows=...)."
            )
        return
    check_ids(query.table.fields, query.table.schema, unit.columns)
    if others := query.table.units - {unit.columns}:
        # Rows that meet by another id are those of several units, and no bound on each bounds what one changes.
        there, here = (", ".join(map(repr, columns)) for columns in (min(others), unit.columns))
        raise QueryRefused(
            f"this question was built where {there} tells units apart, and here {here} does; take the table from this "
            "session: s.table."
        )
    if unit.column in query.columns:
        raise QueryRefused(
            f"grouping by {unit.column!r} would make a group of every unit; group by something units share."
        )


def evaluate(source: Source, query: Query, unit: Unit, in_order: bool = False) -> ExactTable:
    """Exact integers for every measure and group. The result is private: it must go through a mechanism.

    in_order: of each unit, the rows of the first groups are kept (`bounding`).
    """
    return sealed(prepared(source, query, unit, in_order).run)


def rows(source: Source, query: Query, unit: Unit) -> NDArray[np.float64]:
    """The bounded rows of a question that only sums: a column for each sum, in the order asked; NaN is missing.

    Values are on their grids, within their bounds. For private learning: no row may leave the process.
    """
    return sealed(prepared(source, query, unit).listed)


def blocks(source: Source, query: Query, unit: Unit, size: int = BLOCK) -> Iterator[NDArray[np.float64]]:
    """The same rows, so many at a time: for tables that do not fit the memory. Each call reads the table once."""
    return prepared(source, query, unit).blocks(size)


def prepared(source: Source, query: Query, unit: Unit, in_order: bool = False) -> Evaluation:
    """What can be refused is refused here; it depends on the question alone. `run` may be called again and again."""
    check(query, unit)
    source = source.called(query.table.name)
    if tuple(f.name for f in query.table.fields) != tuple(f.name for f in source.fields):
        raise InvalidParameter(
            "the question was built for another table than this source; use source.table(...)."
        )
    return Evaluation(source, query, unit, in_order)


class Evaluation:
    def __init__(self, source: Source, query: Query, unit: Unit, in_order: bool = False) -> None:
        self.source, self.query, self.unit, self.in_order = source, query, unit, in_order
        self.engine = source.engine
        self.units = unit_names(len(unit.columns))
        wanted = dict.fromkeys(query.measures)
        if isinstance(query.keys, Discover):
            wanted |= {units(): None}
        self.measures = tuple(wanted)
        self.by: tuple[str, ...] = ()
        self.mixed: list[str] = []
        self.ordered: list[str] = []
        self.kinds: tuple[Kind, ...] | None = None
        self.names: dict[Value | Bins | str, str] = {}

    @cached_property
    def statements(self) -> tuple[Any, dict[Measure, Any]]:
        """What is asked of the engine: counts, sums and products at once (None where there are none), and each set
        of bins. Only what is listed as total is handed out."""
        rows = self._bounded(self._projected())
        summed = self._aggregated(rows, [m for m in self.measures if m.bins is None])
        binned = {m: self._binned(rows, m.bins) for m in self.measures if m.bins is not None}
        for statement in (summed, *binned.values()):
            if statement is not None:
                self.engine.check(statement, self.source.given)
        return summed, binned

    def run(self) -> ExactTable:
        summed, binned = self.statements
        table = None if summed is None else self.source.fetch(summed)
        positions = self._keys(table)
        values = self._scalars(table, positions)
        for measure, statement in binned.items():
            values[measure] = self._counted(self.source.fetch(statement), measure, positions)
        return ExactTable(self.query.columns, list(positions), values, self.kinds)

    def listed(self) -> NDArray[np.float64]:
        rows = self._bounded(self._projected())
        values = self.summed_values
        statement = rows.select(*dict.fromkeys(self.names[value] for value in values))
        self.engine.check(statement, self.source.given)
        table = self.source.fetch(statement)
        numbers = np.empty((table.num_rows, len(values)))
        for n, value in enumerate(values):
            steps = np.asarray(table.column(self.names[value]).to_numpy(), dtype=np.float64)
            numbers[:, n] = (steps + value.centre) * float(value.granularity)
        return numbers

    @property
    def summed_values(self) -> list[Value]:
        """The values of a question that only sums, in the order asked."""
        return [measure.values[0] for role in self.query.roles for name, measure in role if name == "sum"]

    @cached_property
    def _whole_rows(self) -> Any:
        """The steps of every value, from its centre; `MISSING` stands for null."""
        rows = self._bounded(self._projected())
        columns = dict.fromkeys(self.names[value] for value in self.summed_values)
        statement = rows.select(**{name: ibis.coalesce(rows[name], integer(MISSING)) for name in columns})
        self.engine.check(statement, self.source.given)
        return statement

    @property
    def numbers(self) -> Any:
        """The same rows inside the engine: values as doubles v0, v1, ..., in the order asked; none is missing."""
        rows, columns = self._bounded(self._projected()), {}
        for n, value in enumerate(self.summed_values):
            whole = rows[self.names[value]].cast("float64") + double(value.centre)
            columns[f"v{n}"] = whole * double(float(value.granularity))
        lacking = {self.names[value] for value in self.summed_values if value.nullable}
        rows = rows.filter([rows[name].notnull() for name in sorted(lacking)]) if lacking else rows
        return rows.select(**columns)

    def blocks(self, size: int) -> Iterator[NDArray[np.float64]]:
        values, statement = self.summed_values, sealed(lambda: self._whole_rows)
        at = [statement.columns.index(self.names[value]) for value in values]
        steps = np.array([float(value.granularity) for value in values])
        centres = np.array([float(value.centre) for value in values])
        for block in self.source.blocks(statement, size):
            whole = block[:, at]
            yield np.where(whole == MISSING, np.nan, (whole + centres) * steps)

    # Rows as integers

    def _projected(self) -> Any:
        scope = self.query.table.scope(HeldIn(self.source, self.query, self.measures))
        columns: dict[str, Any] = {}
        if self.unit.column is not None:
            columns |= self._ids(scope)
        columns |= self._arguments(scope)
        return self._grouped(scope, columns)

    def _ids(self, scope: Scope) -> dict[str, Any]:
        for column in self.unit.columns:
            field = scope.fields[column]
            if field.missing or field.mended:
                scope.rows = scope.rows.filter(scope.identity(column)[0].notnull())
        identities = [scope.identity(column) for column in self.unit.columns]
        columns = {name: x for name, (x, _) in zip(self.units, identities, strict=True)}
        return {**columns, SEED: seed([self.engine.integer(kind, x) for x, kind in identities])}

    def _arguments(self, scope: Scope) -> dict[str, Any]:
        """A column for every value and every set of bins, and for presence where no value shows it."""
        values = dict.fromkeys(value for measure in self.measures for value in measure.values)
        bins = dict.fromkeys(measure.bins for measure in self.measures if measure.bins is not None)
        wanted: list[Value | Bins] = [*values, *bins]
        terms = _terms(scope, wanted)
        columns = {}
        for argument in wanted:
            name = self.names[argument] = f"__v{len(self.names)}"
            columns[name] = argument.expression(terms[argument.text, argument.nulls])
            if argument.nullable:
                self.names.setdefault(argument.text, name)
        for text in dict.fromkeys(text for measure in self.measures for text in measure.given):
            if text not in self.names:
                name = self.names[text] = f"__v{len(self.names)}"
                present = scope.declared(text, "drop", "the query").value.notnull()
                columns[name] = ibis.cases((present, integer(1)))
        return columns

    def _grouped(self, scope: Scope, columns: dict[str, Any]) -> Any:
        rows, keys = scope.rows, self.query.keys
        if keys is None:
            return rows.select(**columns) if columns else rows
        own = {f"__key{i}": scope.column(name) for i, name in enumerate(self.query.columns)}
        if isinstance(keys, Discover):
            return self._discovered(rows, columns, own)
        kinds = checked_kinds(keys, dict(zip(keys.columns, (t.kind for t in own.values()), strict=True)))
        right = self.source.upload(
            PublicTable.of(keys.arrow(kinds, GROUP, tuple(f"__is{i}" for i in range(len(own)))))
        )
        rows = rows.select(**{name: term.value for name, term in own.items()}, **columns)
        match = [rows[f"__key{i}"] == right[f"__is{i}"] for i in range(len(own))]
        joined = rows.inner_join(right, match)
        self.by, self.mixed, self.ordered = (GROUP,), [GROUP], [GROUP]
        return joined.select([joined[GROUP], *(joined[name] for name in columns)])

    def _discovered(self, rows: Any, columns: dict[str, Any], own: dict[str, Term]) -> Any:
        kinds: list[Kind] = []
        for i, (name, term) in enumerate(own.items()):
            assert term.kind is not None
            kinds.append(term.kind)
            columns[name] = term.value
            if term.kind == "text":  # one person's gigabyte is nobody else's key
                columns[name] = ibis.cases((self.engine.length(term.value) <= LONGEST, term.value))
            columns[f"__m{i}"] = self.engine.integer(term.kind, term.value)
            self.mixed.append(f"__m{i}")
            self.ordered.append(f"__m{i}")
        self.ordered += [name for name, term in own.items() if term.kind == "text"]
        self.by, self.kinds = tuple(own), tuple(kinds)
        rows = rows.select(**columns)
        return rows.filter([rows[name].notnull() for name in own])

    def _bounded(self, rows: Any) -> Any:
        if self.unit.column is None:
            return rows
        content = list(dict.fromkeys(self.names.values()))
        if all(measure.once for measure in self.measures):
            # Only who is where matters: one row for each group a unit is in, and all of max_groups groups can be kept.
            rows = rows.distinct()
            most, content = self.unit.max_groups, list[str]()
        else:
            most = self.unit.max_rows
        rows = bounded(
            rows, most, self.unit.max_groups, self.mixed, self.ordered, content, self.in_order, self.units
        )
        if len(self.units) > 1 and any(measure.once for measure in self.measures):
            own = [*self.units, *self.by]
            place = ibis.row_number().over(ibis.window(group_by=own, order_by=self.units))
            rows = rows.mutate(**{PLACE: place})
        return rows

    # Sums

    def _aggregated(self, rows: Any, scalars: Sequence[Measure]) -> Any:
        pieces: dict[str, Any] = {}
        self.pieces: dict[Measure, list[tuple[str, int]]] = {}
        frame = Frame(rows, self.names, self.engine, self.units)
        for measure in scalars:
            self.pieces[measure] = []
            for expression, factor in measure.sums(frame):
                name = f"s{len(pieces)}"
                pieces[name] = expression
                self.pieces[measure].append((name, factor))
        if not pieces and not isinstance(self.query.keys, Discover):
            return None
        if not self.by:
            return rows.aggregate(**pieces)
        return self._coded(rows.group_by(*self.by).aggregate(**pieces))

    def _coded(self, grouped: Any) -> Any:
        """Groups with discovered keys in a form that any key has, and that any key comes through the wire in."""
        if self.kinds is None:
            return grouped
        codes = {
            name: self.engine.hexadecimal(grouped[name])
            if kind == "text"
            else self.engine.integer(kind, grouped[name])
            for name, kind in zip(self.by, self.kinds, strict=True)
        }
        return grouped.select(
            **codes, **{name: grouped[name] for name in grouped.columns if name not in codes}
        )

    # Results

    def _keys(self, table: Any) -> dict[Code, int]:
        """The keys of the answer and the position of each; discovered ones in order, by what they are."""
        keys = self.query.keys
        if keys is None:
            return {(): 0}
        if isinstance(keys, Keys):
            return {key: i for i, key in enumerate(keys.rows)}
        return {code: i for i, code in enumerate(sorted(self._codes(table)))}

    def _codes(self, table: Any) -> Iterable[Code]:
        return zip(*(table.column(name).to_pylist() for name in self.by), strict=True)

    def _positions(self, table: Any, positions: dict[Code, int]) -> NDArray[np.int64]:
        if isinstance(self.query.keys, Keys):
            return np.asarray(table.column(GROUP).to_numpy(), dtype=np.int64)
        if self.query.keys is None:
            return np.zeros(table.num_rows, dtype=np.int64)
        at = (positions[code] for code in self._codes(table))
        return np.fromiter(at, dtype=np.int64, count=table.num_rows)

    def _scalars(self, table: Any, positions: dict[Code, int]) -> dict[Measure, NDArray[Any]]:
        values: dict[Measure, NDArray[Any]] = {}
        at = self._positions(table, positions) if self.pieces else None
        for measure, pieces in self.pieces.items():
            parts = [(_integers(table.column(name)), factor) for name, factor in pieces]
            numbers = _combined(measure, parts)
            values[measure] = np.zeros(len(positions), dtype=numbers.dtype)  # where a group has no rows
            values[measure][at] = numbers
        return values

    def _binned(self, rows: Any, bins: Bins) -> Any:
        return self._coded(rows.group_by(*self.by, self.names[bins]).aggregate(n=rows.count()))

    def _counted(self, table: Any, measure: Measure, positions: dict[Code, int]) -> NDArray[np.int64]:
        assert measure.bins is not None
        name, size = self.names[measure.bins], measure.size
        # Rows without a value are a bin of their own to the engine: cheaper to drop here than to filter there.
        table = table.filter(table.column(name).is_valid())
        counts = np.zeros((len(positions), size), dtype=np.int64)
        # They are within range (see `Bins`). If an engine should count differently, a row still counts once, in a bin.
        column = np.clip(np.asarray(table.column(name).to_numpy(), dtype=np.int64), 0, size - 1)
        np.add.at(counts, (self._positions(table, positions), column), table.column("n").to_numpy())
        return counts


def _terms(scope: Scope, wanted: Sequence[Value | Bins]) -> dict[tuple[str, Nulls], Term]:
    """The arguments by text and policy. One that is more than a column becomes one first, to be computed
    once."""

    def term(text: str, nulls: Nulls) -> Term:
        return scope.argument(text, (0.0, 1.0), nulls, "the query").term

    keys = list(dict.fromkeys((argument.text, argument.nulls) for argument in wanted))
    computed = {key: whole for key in keys if (whole := term(*key)).size > 1}
    names = {key: f"__x{n}" for n, key in enumerate(computed)}
    if computed:
        scope.rows = scope.rows.mutate(**{names[key]: whole.value for key, whole in computed.items()})
    return {
        key: replace(computed[key], value=scope.rows[names[key]]) if key in computed else term(*key)
        for key in keys
    }


def _integers(column: Any) -> NDArray[Any]:
    """A column of integers, or of integers as text."""
    if pa.types.is_integer(column.type):
        return np.asarray(column.to_numpy(), dtype=np.int64)
    return np.array([int(text) for text in column.to_pylist()], dtype=object)


def _combined(measure: Measure, parts: Sequence[tuple[NDArray[Any], int]]) -> NDArray[Any]:
    """Limbs put together, and the sum moved from the centre to the origin of the measure. As int64, clamped, when 2^32
    rows cannot make it too large for that, else as Python's integers: by the bounds, whatever the data."""
    total = parts[0][0]
    if len(parts) > 1:
        total = np.zeros(len(total), dtype=object)
        for numbers, factor in parts:
            total = total + numbers.astype(object) * factor
    if not fits(measure.bits):
        return np.asarray(total, dtype=object)
    return np.asarray(np.clip(total, -LIMIT, LIMIT), dtype=np.int64)
