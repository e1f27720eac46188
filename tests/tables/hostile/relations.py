"""Two private tables of the same units, joined: random questions, and neighbours whose one unit has rows in both."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import strategies as st

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.tables import Query, Schema, Source, Table, Unit, discover
from dalenius.tables.ask.several import Tables
from dalenius.tables.compute import exact
from dalenius.tables.engines.duckdb import frames
from dalenius.tables.rows.expressions import quoted
from dalenius.tables.sql import parse_sql
from tests.tables.hostile import judge, stores
from tests.tables.hostile.questions import BOUNDS, KEYS, _aggregate, _schema, _Writer
from tests.tables.hostile.rows import COLUMNS, ROLES, Row, World, worlds
from tests.tables.hostile.statements import Statements

QUESTIONS = 5
JOINED_ON = ("g", "flag", "k", "h", "day")


@dataclass(frozen=True)
class Pair:
    """Two tables. The same number names a neighbour of both: one unit, with rows in one of them or in both."""

    data: World
    other: World

    @property
    def names(self) -> Mapping[str, str]:
        return self.data.names

    @property
    def tables(self) -> dict[str, World]:
        return {"data": self.data, "other": self.other}


def pairs(random: Random, engine: str, names: int | None = None, units: int = 24) -> Pair:
    """The other table's ordinary rows are of the same ordinary people, its nasty units those of the first."""
    data = worlds(random, engine, names, units=units, forms=False)
    other = worlds(random, engine, units=units, forms=False)
    mine, theirs = [], []
    for own, strange in zip(data.neighbours, other.neighbours, strict=True):
        who = own[0][:2]
        # Rows that repeat what is joined on, so that many of them meet.
        alike = tuple(_met(random, (*who, *row[2:]), own[0]) for row in strange)
        more = random.randint(0, 3)
        theirs.append((*alike, *(_met(random, row, own[0]) for row in alike[:1] * more)))
        mine.append((*own, *(_met(random, own[0], own[-1]) for _ in range(random.randint(0, 3)))))
        if random.random() < 0.1:
            mine[-1] = ()
        elif random.random() < 0.1:
            theirs[-1] = ()
    return Pair(
        replace(data, neighbours=tuple(mine)),
        replace(other, names=data.names, neighbours=tuple(theirs)),
    )


def _met(random: Random, row: Row, example: Row) -> Row:
    """A row that is like the example in some of the columns joined on."""
    return tuple(
        example[n] if role in JOINED_ON and random.random() < 0.7 else row[n] for n, role in enumerate(ROLES)
    )


@dataclass(frozen=True)
class Related:
    """A question about both tables, or about one of them in a session of two."""

    unit: Unit
    schemas: Mapping[str, Schema]
    ours: tuple[tuple[Any, ...], ...]
    theirs: tuple[tuple[Any, ...], ...]
    on: tuple[str, ...] | None
    how: Any
    steps: tuple[tuple[Any, ...], ...]
    by: tuple[str, ...]
    keys: Any
    aggregates: tuple[tuple[str, tuple[Any, ...], dict[str, Any]], ...]
    sql: str | None = None

    @property
    def labels(self) -> list[str]:
        return ["private join" if self.on else "one of two tables", f"{self.how} join", *self._asked]

    @property
    def _asked(self) -> list[str]:
        return ["in SQL"] if self.sql else [name for name, _, _ in self.aggregates]

    def ask(self, source: Source) -> Query:
        """Built for tables that a session would hand out."""
        family = object()
        tables = Tables(
            {
                name: replace(one.table(self.schemas[name]), unit=self.unit.of(name), family=family)
                for name, one in source.together.items()
            }
        )
        keys = discover() if self.keys == "discover" else self.keys
        if self.sql is not None:
            return parse_sql(self.sql, tables, unit=self.unit.columns, keys=keys)
        table = _stepped(tables["data"], self.ours)
        if self.on is not None:
            table = table.join(_stepped(tables["other"], self.theirs), on=self.on, how=self.how)
        table = _stepped(table, self.steps)
        made = {
            f"r{n}": getattr(dp, name)(*arguments, **more)
            for n, (name, arguments, more) in enumerate(self.aggregates)
        }
        return table.group_by(*self.by, keys=keys).agg(**made) if self.by else table.agg(**made)


LISTS = {"xs": ("x", "y", "f", "x"), "ks": ("k", "who", "k")}
"""Columns of lists, where an engine has them: the row's own values of these roles, as many as another value says."""


def _lists(world: World, number: int | None) -> dict[str, list[Any]]:
    made: dict[str, list[Any]] = {name: [] for name in LISTS}
    for row in world.table(number):
        values = dict(zip(ROLES, row, strict=True))
        for name, roles in LISTS.items():
            size = values["h"]
            items = [values[role] for role in roles][: abs(size) % 5 if size is not None else 0]
            made[name].append(None if size is None else items)
    return made


def _with_lists(world: World, number: int | None) -> pa.Table:
    table, lists = stores.arrow(world, number), _lists(world, number)
    for name, kind in {"xs": pa.float64(), "ks": pa.binary()}.items():
        ends = [0]
        for items in lists[name]:
            ends.append(ends[-1] + len(items or ()))
        values = pa.array([v for items in lists[name] for v in items or ()], kind)
        values = values.view(pa.string()) if name == "ks" else values
        missing = pa.array([items is None for items in lists[name]], pa.bool_())
        column = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), values, mask=missing)
        table = table.append_column(name, column)
    return table


def _array(items: list[Any] | None) -> str | None:
    """A list as PostgreSQL reads it."""
    if items is None:
        return None
    texts = [None if v is None else v.decode() if isinstance(v, bytes) else repr(v) for v in items]
    escaped = [
        "NULL" if t is None else '"' + t.replace("\\", "\\\\").replace('"', '\\"') + '"' for t in texts
    ]
    return "{" + ",".join(escaped) + "}"


def _stepped(table: Table, steps: Sequence[tuple[Any, ...]]) -> Table:
    for kind, *given in steps:
        if kind == "filter":
            table = table.filter(*given)
        elif kind == "compute":
            table = table.with_columns(**{given[0]: given[1]})
        elif kind == "limit":
            table = table.limit_rows(min(given[0], table.bound.max_rows))
        elif kind == "explode":
            table = table.explode(given[0], max_items=given[1])
        else:
            table = table.per_unit(*given)
    return table


@st.composite
def related(draw: st.DrawFn, names: Mapping[str, str]) -> Related:
    """A question, one time in five in SQL, and one in six about one table alone."""

    def pick(options: Any) -> Any:
        return draw(st.sampled_from(options))

    writer = _Writer(draw, names)
    ids = pick([(names["id"],), (names["who"],), (names["id"], names["who"])])
    rows = {"data": pick([1, 2, 3]), "other": pick([1, 2, 3])}
    unit = Unit(ids, max_rows=rows, max_groups=pick([None, None, 1, 2]))
    schemas = {"data": _schema(draw, names), "other": _schema(draw, names)}
    ours = tuple(_own_step(draw, writer, "Mine", OWN) for _ in range(pick([0, 0, 1])))
    on: tuple[str, ...] | None = None
    how, theirs = "inner", ()
    if pick([True] * 5 + [False]):
        more = draw(st.lists(st.sampled_from(JOINED_ON), max_size=2, unique=True))
        on, how = (
            (*ids, *(names[role] for role in more if names[role] not in ids)),
            pick(["inner", "inner", "left"]),
        )
        if draw(st.integers(0, 4)) == 0 and not ours:
            return _in_sql(draw, writer, unit, schemas, on, how)
        right = _Writer(draw, names)
        counted = pick([False] * 4 + [True]) and on == ids
        theirs = tuple(_own_step(draw, right, "Theirs", OWN) for _ in range(pick([0, 0, 1])))
        if counted:
            theirs = (*theirs, ("per unit", "Rows"))
        _see_theirs(writer, names, counted, [step[1] for step in theirs if step[0] == "compute"])
        if not counted:
            for _, column, _ in (step for step in theirs if step[0] == "explode"):
                (writer.texts if column == "ks" else writer.numeric).extend([f"other.{column}"] * 3)
    steps = tuple(
        _own_step(draw, writer, "After", ["filter", "compute", "limit"]) for _ in range(pick([0, 0, 1]))
    )
    by, keys = _groups(draw, writer, unit)
    aggregates = tuple(_aggregate(draw, writer) for _ in range(pick([1, 1, 2])))
    return Related(unit, schemas, ours, theirs, on, how, steps, by, keys, aggregates)


def _see_theirs(writer: _Writer, names: Mapping[str, str], counted: bool, computed: list[str]) -> None:
    """What the columns of the other table are called after the join."""
    if counted:
        writer.numeric.append("Rows")
        return
    writer.numeric += [f"other.{names[role]}" for role in ("x", "i", "f", "dec")] * 2 + computed
    writer.integers.append(f"other.{names['g']}")
    writer.texts.append(f"other.{names['k']}")
    writer.flags.append(f"other.{names['flag']}")


OWN = ["filter", "compute", "limit", "explode", "explode"]


def _own_step(draw: st.DrawFn, writer: _Writer, name: str, kinds: list[str]) -> tuple[Any, ...]:
    kind = draw(st.sampled_from(kinds))
    if kind == "filter":
        return "filter", writer.condition(1)
    if kind == "limit":
        return "limit", draw(st.sampled_from([1, 2, 4]))
    if kind == "explode":
        column = draw(st.sampled_from(sorted(LISTS)))
        (writer.texts if column == "ks" else writer.numeric).extend([column] * 3)
        return "explode", column, draw(st.sampled_from([1, 2, 3]))
    text = writer.number(1)
    writer.numeric.append(name)
    return "compute", name, text


def _groups(draw: st.DrawFn, writer: _Writer, unit: Unit) -> tuple[tuple[str, ...], Any]:
    how = draw(st.sampled_from(["none", "listed", "listed", "discover"]))
    if how == "none":
        return (), None
    role = draw(st.sampled_from([role for role in ("k", "g", "flag") if writer.names[role] != unit.column]))
    theirs = f"other.{writer.names[role]}"
    known = (*writer.texts, *writer.integers, *writer.flags)
    name = draw(st.sampled_from([writer.names[role], *([theirs] if theirs in known else [])]))
    return (name,), "discover" if how == "discover" else {name: list(KEYS[role])}


def _in_sql(
    draw: st.DrawFn,
    writer: _Writer,
    unit: Unit,
    schemas: Mapping[str, Schema],
    on: tuple[str, ...],
    how: Any,
) -> Related:
    side = "LEFT " if how == "left" else ""
    same = " AND ".join(f"d.{quoted(name)} = o.{quoted(name)}" for name in on)
    lower, upper = (repr(float(b)) for b in draw(st.sampled_from(BOUNDS)))
    x, g = quoted(writer.names["x"]), quoted(writer.names["g"])
    asked = draw(st.sampled_from(["COUNT(*)", f"SUM(o.{x} + d.{x}, {lower}, {upper})", f"AVG(o.{g}, 0, 3)"]))
    where = draw(st.sampled_from(["", f" WHERE o.{x} > 0", f" WHERE d.{x} > 0 OR o.{x} IS NULL"]))
    flag = quoted(writer.names["flag"])
    by = draw(st.sampled_from(["", f"o.{flag}"]))
    listed = f"{by}, " if by else ""
    text = f"SELECT {listed}{asked} AS r0 FROM data AS d {side}JOIN other AS o ON {same}{where}"
    text += f" GROUP BY {by}" if by else ""
    return Related(unit, schemas, (), (), on, how, (), (), [True, False] if by else None, (), text)


# Where the tables are held

Hold = Callable[[int | None], Source]
Store = Callable[[Pair], AbstractContextManager[Hold]]


@contextmanager
def in_frames(pair: Pair) -> Iterator[Hold]:
    """Two frames in one DuckDB, whose rows are exchanged."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frames, "view_name", lambda: "second")
        first = {name: (_with_lists(world, None), None) for name, world in pair.tables.items()}
        source = Source.open_together(first)

    def hold(number: int | None) -> Source:
        for name, world in zip(("data", "second"), pair.tables.values(), strict=True):
            columns = _with_lists(world, number).columns
            held = [frames.form(column, f"r{n}")[0] for n, column in enumerate(columns)]
            source._backend.con.register(name, pa.table(held, names=[f"r{n}" for n in range(len(held))]))
        return source

    yield hold
    source.close()


def in_postgres(url: str) -> Store:
    @contextmanager
    def store(pair: Pair) -> Iterator[Hold]:
        import psycopg

        with psycopg.connect(url, autocommit=True) as connection:
            for table, world in pair.tables.items():
                columns = ", ".join(
                    '"' + world.names[role].replace('"', '""') + '" ' + COLUMNS[role].postgres
                    for role in ROLES
                )
                connection.execute(f"DROP TABLE IF EXISTS {table}")
                listed = ", xs double precision[], ks text[]"
                connection.execute(f"CREATE TABLE {table} ({columns}{listed})")
            source = Source.open_together({table: (url, table) for table in pair.tables})

            def hold(number: int | None) -> Source:
                for table, world in pair.tables.items():
                    connection.execute(f"TRUNCATE {table}")
                    with connection.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN") as copy:
                        lists = zip(*_lists(world, number).values(), strict=True)
                        for row, both in zip(world.table(number), lists, strict=True):
                            values = zip(ROLES, row, strict=True)
                            own = [stores.spelled(value, role) for role, value in values]
                            copy.write_row([*own, *map(_array, both)])
                return source

            yield hold
            source.close()

    return store


def in_sqlite(folder: Path) -> Store:
    @contextmanager
    def store(pair: Pair) -> Iterator[Hold]:
        path = folder / "pair.sqlite"
        path.unlink(missing_ok=True)
        kinds = [stores.SQLITE.get(COLUMNS[role].arrow[:4], "TIMESTAMP") for role in ROLES]
        named = [pair.names[role].replace('"', '""') for role in ROLES]
        columns = ", ".join(f'"{name}" {kind}' for name, kind in zip(named, kinds, strict=True))
        marks = ", ".join("CAST(? AS TEXT)" if kind == "TEXT" else "?" for kind in kinds)
        with closing(sqlite3.connect(path)) as held:
            for table in pair.tables:
                held.execute(f"CREATE TABLE {table} ({columns})")
            source = Source.open_together({table: (path, table) for table in pair.tables})

            def hold(number: int | None) -> Source:
                with held:
                    for table, world in pair.tables.items():
                        rows = [
                            [stores._held(v, role) for v, role in zip(row, ROLES, strict=True)]
                            for row in world.table(number)
                        ]
                        held.execute(f"DELETE FROM {table}")
                        held.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
                return source

            yield hold
            source.close()

    return store


def in_spark(session: Any, folder: Path) -> Store:
    """In files; the tables of every neighbour are other DataFrames of the same session."""
    import pyarrow.parquet as pq

    places = iter(range(10**9))

    @contextmanager
    def store(pair: Pair) -> Iterator[Hold]:
        def hold(number: int | None) -> Source:
            given = {}
            for table, world in pair.tables.items():
                path = folder / f"pair{next(places)}.parquet"
                pq.write_table(_with_lists(world, number), path)
                given[table] = (session.read.parquet(str(path)), None)
            return Source.open_together(given)

        yield hold

    return store


# What is looked at


class Asked:
    """A question, with the unit that a session would plan for, and enforce."""

    def __init__(self, source: Source, question: Related) -> None:
        self.question, self.query = question, None
        try:
            query = question.ask(source)
            self.unit = query.table.bounded(question.unit.of("data"))
            self.run = exact.prepared(source, query, self.unit)
            self.query = query
        except InvalidParameter as refused:
            self.refusal = str(refused)

    outcome = judge.Asked.outcome

    @property
    def planned(self) -> Any:
        """As the judge knows questions: by the unit that noise is planned for."""
        return _Planned(self.unit, self.question.keys, self.question)


@dataclass(frozen=True)
class _Planned:
    unit: Unit
    keys: Any
    question: Related


def neighbours(store: Store, engine: str, names: int | None = None, units: int = 24) -> Any:
    """A pair of tables and questions: does anything tell its neighbours apart?"""

    def attempt(data: st.DataObject, random: Random, tally: judge.Tally) -> None:
        pair = pairs(random, engine, names, units)
        asked = [data.draw(related(pair.names)) for _ in range(QUESTIONS)]
        with store(pair) as hold:
            first = hold(None)
            statements = Statements(first)
            built = [Asked(first, question) for question in asked]
            tally.refused += sum(one.query is None for one in built)
            built = [one for one in built if one.query is not None]
            seen = [[one.outcome(first)] for one in built]
            for number in range(len(pair.data.neighbours)):
                rows = statements.over(hold(number))
                for one, outcomes in zip(built, seen, strict=True):
                    outcomes.append(one.outcome(rows))
                    judge.look_alike(one.planned, outcomes[0], outcomes[-1])
                    judge.count(tally, one.question)
        for one, outcomes in zip(built, seen, strict=True):
            judge.compare(one.planned, one.query, outcomes)

    return attempt


def engines(held: Mapping[str, Store], units: int = 4) -> Any:
    """Tables that every engine can hold: do they keep and count the same?"""

    def attempt(data: st.DataObject, random: Random, tally: judge.Tally) -> None:
        pair = pairs(random, "all", 0, units)
        asked = [data.draw(related(pair.names)) for _ in range(QUESTIONS)]
        found: list[list[Any]] = []
        for store in held.values():
            found.append([])
            with store(pair) as hold:
                for number in (None, *range(units)):
                    source = hold(number)
                    built = [Asked(source, question) for question in asked]
                    found[-1] += [None if one.query is None else one.outcome(source) for one in built]
        for question, here, there in zip(asked * (units + 1), *found, strict=True):
            if here is None or there is None:
                tally.refused += 1
                continue
            judge.count(tally, question, "agreed")
            same = here.failure == there.failure and here.codes == there.codes
            if not same or any((here.values[m] != there.values[m]).any() for m in here.values):
                raise judge.Leak(f"{list(held)} differ:\n  {here}\n  {there}\n{question}\n{pair}")

    return attempt
