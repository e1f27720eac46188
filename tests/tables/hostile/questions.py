"""Random questions: steps, groups, aggregates and units, in Python and in SQL, over the columns of `rows`.

A question is text and numbers only, so that a counterexample can be printed and asked again. It is drawn by role and
written with the names of the world it is asked in.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

import dalenius as dp
from dalenius.tables import Query, Schema, Table, Unit, discover, impute
from dalenius.tables.rows.expressions import quoted
from dalenius.tables.sql import parse_sql
from tests.tables.hostile.rows import DOUBLES, ROLES

NUMERIC = ("x", "y", "f", "i", "h", "dec", "num")
INTEGERS = ("i", "h", "g")
TEXTS = ("k", "who")
CONSTANTS = (
    *(
        "0",
        "1",
        "2",
        "3",
        "7",
        "10",
        "100",
        "0.1",
        "0.5",
        "2.5",
        "1e-3",
        "1e10",
        "1e15",
        "1e300",
        "1e-300",
        "255",
    ),
    *("9007199254740993", "9223372036854775807", "4503599627370496", "16777217", "0.30000000000000004"),
)
BOUNDS = (
    *(
        (0, 1),
        (-5, 5),
        (0, 10),
        (0, 250_000),
        (-1000, 100_000),
        (0, 0.001),
        (-1e6, 1e6),
        (0, 1e15),
        (-1, 3e9),
    ),
    *((9007199254740994, 9007199254740996), (0.1, 0.3), (1e-9, 2e-9), (-1e100, 1e100), (0, 1e300), (-7, 0)),
)
KEYS: Mapping[str, tuple[Any, ...]] = {
    "k": ("p", "q", "é", "absent", "", "a", "\ufffd"),
    "who": ("ann", "bob", "nobody"),
    "g": (1, 2, 77, 2**31 - 1),
    "i": (0, 1, -(2**63), 2**63 - 1),
    "h": (1, 39),
    "day": (datetime.date(2020, 1, 1), datetime.date(1970, 1, 1), datetime.date(9999, 12, 31)),
    "flag": (True, False),
}


@dataclass(frozen=True)
class Question:
    """A question. steps: ("filter", condition), ("compute", name, expression), ("join", columns, on, how)."""

    unit: Unit
    schema: Schema
    steps: tuple[tuple[Any, ...], ...]
    by: tuple[str, ...]
    keys: Any
    aggregates: tuple[tuple[str, tuple[Any, ...], dict[str, Any]], ...]
    sql: str | None = None
    public: Mapping[str, Any] = field(default_factory=dict)

    @property
    def labels(self) -> list[str]:
        """What kind of question it is, for a tally: aggregates, steps, unit, keys, language."""
        keys = "discovered keys" if self.keys == "discover" else "listed keys" if self.by else "no groups"
        unit = f"unit: {('a row', 'an id', 'several ids')[len(self.unit.columns)]}"
        if self.sql is not None:
            calls = [name for name, call in {**_SPELLED, **_COUNTED}.items() if f"{call}(" in self.sql]
            steps = ["public join"] * (" JOIN " in self.sql) + ["filter"] * (" WHERE " in self.sql)
            return [*calls, *steps, keys, unit, "in SQL"]
        steps = [
            {"filter": "filter", "compute": "computed column"}.get(step[0], "public join")
            for step in self.steps
        ]
        return [*dict.fromkeys((*(name for name, _, _ in self.aggregates), *steps)), keys, unit, "in Python"]

    def ask(self, table: Table) -> Query:
        """The question, built against a table; whatever is refused is refused here, before any charge."""
        keys = discover() if self.keys == "discover" else self.keys
        if self.sql is not None:
            return parse_sql(self.sql, table, unit=self.unit.columns, public=self.public, keys=keys)
        for kind, *given in self.steps:
            if kind == "filter":
                table = table.filter(*given)
            elif kind == "compute":
                table = table.with_columns(**{given[0]: given[1]})
            else:
                columns, on, how = given
                table = table.join_public(columns, on=on, how=how)
        made = {
            f"r{n}": getattr(dp, name)(*arguments, **more)
            for n, (name, arguments, more) in enumerate(self.aggregates)
        }
        return table.group_by(*self.by, keys=keys).agg(**made) if self.by else table.agg(**made)


class _Writer:
    """Draws expressions by kind, over the columns there are so far."""

    def __init__(
        self,
        draw: st.DrawFn,
        names: Mapping[str, str],
        numbers: Sequence[str] = (),
        conditions: Sequence[str] = (),
    ) -> None:
        self.draw, self.numbers, self.conditions = draw, numbers or _NUMBERS, conditions or _CONDITIONS
        self.names = dict(names)
        self.numeric = [names[role] for role in NUMERIC]
        self.integers = [names[role] for role in INTEGERS]
        self.texts = [names[role] for role in TEXTS]
        self.flags = [names["flag"]]
        self.days = [quoted(names["day"])]
        self.brought = False

    def pick(self, options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def column(self, names: list[str]) -> str:
        return quoted(self.pick(names))

    def number(self, depth: int) -> str:
        shape = self.pick(self.numbers if depth else self.numbers[:3])
        go = depth - 1
        if shape == "column":
            return self.column(self.numeric)
        if shape == "integer":
            return self.column(self.integers)
        if shape == "constant":
            return str(self.pick(CONSTANTS))
        if shape in "+-*/":
            return f"({self.number(go)} {shape} {self.number(go)})"
        if shape == "%":
            return f"({self.column(self.integers)} % {self.pick((1, 2, 7, 1000003))})"
        if shape in ("LEAST", "GREATEST", "COALESCE", "NULLIF"):
            return f"{shape}({self.number(go)}, {self.number(go)})"
        if shape == "CASE":
            return f"CASE WHEN {self.condition(go)} THEN {self.number(go)} ELSE {self.number(go)} END"
        if shape == "IF":
            return f"IF({self.condition(go)}, {self.number(go)}, {self.number(go)})"
        if shape == "part":
            if self.pick((0, 1, 2)) == 0:
                return (
                    f"EXTRACT({self.pick(('HOUR', 'MINUTE', 'SECOND'))} FROM {quoted(self.names['moment'])})"
                )
            moment = self.date() if self.pick((0, 1)) else quoted(self.names["moment"])
            return f"EXTRACT({self.pick(_PARTS)} FROM {moment})"
        if shape == "difference":
            if self.pick((0, 1, 2)) == 0:
                unit = self.pick(("hour", "second", "week", "month"))
                return f"DATE_DIFF('{unit}', {quoted(self.names['moment'])}, {self.moment()})"
            return f"DATE_DIFF('{self.pick(_SPANS)}', {quoted(self.names['day'])}, {self.date()})"
        if shape == "length":
            return f"LENGTH({self.words()})"
        if shape == "flag":
            return f"CAST({self.condition(0)} AS INTEGER)"
        if shape == "double":
            return f"CAST({self.number(go)} AS DOUBLE)"
        if shape == "neg":
            return f"-{self.number(go)}"
        return f"{shape}({self.number(go)})"

    def date(self) -> str:
        day = self.pick(self.days) if len(self.days) > 1 else self.days[0]
        moment = quoted(self.names["moment"])
        return self.pick(
            (
                day,
                f"CAST({moment} AS DATE)",
                "DATE '2020-03-01'",
                f"DATE_TRUNC('{self.pick(_SPANS)}', {self.pick((day, moment))})",
            )
        )

    def moment(self) -> str:
        return f"TIMESTAMP '{self.pick(('2020-02-28 23:59:59.999999', '0001-01-01', '9999-12-31 23:59:59'))}'"

    def text(self) -> str:
        return self.pick(
            (self.column(self.texts), f"COALESCE({self.column(self.texts)}, 'none')", self.words())
        )

    def words(self) -> str:
        """Text made of text."""
        return self.pick(_WORDS).format(self.column(self.texts))

    def condition(self, depth: int) -> str:
        shape = self.pick(self.conditions if depth else self.conditions[:-3])
        go = max(depth - 1, 0)
        if shape == "compare":
            return f"{self.number(go)} {self.pick(('=', '<>', '<', '<=', '>', '>='))} {self.number(go)}"
        if shape == "between":
            return f"{self.column(self.numeric)} BETWEEN {self.pick(CONSTANTS)} AND {self.pick(CONSTANTS)}"
        if shape == "member":
            return f"{self.column(self.integers)} IN ({self.pick(CONSTANTS)}, 1, {self.pick(CONSTANTS)})"
        if shape == "text":
            return f"{self.text()} {self.pick(('=', '<>'))} {self.pick(_TEXTS)}"
        if shape == "texts":
            return f"{self.column(self.texts)} IN ('p', {self.pick(_TEXTS)})"
        if shape == "like":
            return f"{self.text()} LIKE '{self.pick(('a%', '%a', '%é%', 'p', '%1%', '?%', 'a?%'))}'"
        if shape == "null":
            what = self.pick((self.column(self.numeric), self.column(self.texts), quoted(self.names["day"])))
            return f"{what} IS {self.pick(('', 'NOT '))}NULL"
        if shape == "date":
            return f"{self.date()} {self.pick(('=', '<', '>='))} DATE '{self.pick(('2020-01-01', '9999-12-31'))}'"
        if shape == "moment":
            moment = quoted(self.names["moment"])
            return f"{moment} {self.pick(('=', '<', '>=', '<>'))} {self.moment()}"
        if shape == "flag":
            return self.column(self.flags)
        if shape == "not":
            return f"NOT ({self.condition(go)})"
        return f"({self.condition(go)} {shape} {self.condition(go)})"


_NUMBERS = (
    *("column", "integer", "constant"),
    *(
        "+",
        "-",
        "*",
        "/",
        "%",
        "LEAST",
        "GREATEST",
        "COALESCE",
        "NULLIF",
        "CASE",
        "IF",
        "part",
        "difference",
        "length",
        "flag",
        "double",
    ),
    *("neg", "ABS", "FLOOR", "CEIL", "SQRT", "FLOOR", "SQRT", "/", "*"),
)
_CONDITIONS = (
    "compare",
    "compare",
    "between",
    "member",
    "text",
    "texts",
    "like",
    "null",
    "date",
    "moment",
    "flag",
    "not",
    "AND",
    "OR",
)
_OF_DATES = ("part", "difference", "length", "CASE", "+")
_WHERE_DATES = ("compare", "text", "like", "date", "moment", "not", "AND", "OR")
_SPANS = ("day", "week", "month", "quarter", "year")
_PARTS = ("YEAR", "MONTH", "DAY", "QUARTER", "WEEK", "DOW", "ISODOW", "DOY")
_WORDS = (
    "LOWER({})",
    "UPPER({})",
    "TRIM({})",
    "RTRIM({})",
    "SUBSTRING({}, 1, 1)",
    "SUBSTRING({}, 2)",
    "LEFT({}, 3)",
)
_TEXTS = ("'?'", "'a?'", "'p'", "'é'", "''", "'a'", "'o''b\"\\'", "'1e5'", "'\ufffd'")


def _schema(draw: st.DrawFn, names: Mapping[str, str]) -> Schema:
    if draw(st.booleans()):
        return Schema(nulls="drop")
    number = st.sampled_from(["drop", "never", impute(1)])
    facts = {names[role]: {"nulls": draw(number)} for role in ("x", "i", "f", "num")}
    return Schema(
        {name: _told(fact["nulls"]) for name, fact in facts.items()} | {names["k"]: {"impute": "p"}},
        nulls="drop",
    )


def _told(policy: Any) -> dict[str, Any]:
    return {"nulls": policy} if isinstance(policy, str) else {"impute": policy.value}


@st.composite
def questions(
    draw: st.DrawFn,
    names: Mapping[str, str],
    mostly_dates: bool = False,
    shared: bool = False,
    brought: bool = False,
) -> Question:
    """A question in Python, or one time in four in SQL, for columns of these names. mostly_dates: about dates, moments
    and text, whatever else it could be about. shared: of units with an id of several columns, the id before all.
    brought: with public tables that hold trouble."""
    shapes = (_OF_DATES, _WHERE_DATES) if mostly_dates else ()
    writer = _Writer(draw, names, *shapes)
    writer.brought = brought
    possible = [unit for unit in units(names) if not shared or (unit.beside and unit.column == names["id"])]
    unit = draw(st.sampled_from(possible))
    schema = _schema(draw, names)
    if draw(st.integers(0, 3)) == 0:
        return _in_sql(draw, writer, unit, schema)
    steps: list[tuple[Any, ...]] = [("join", *_public(draw, writer))] if brought else []
    steps += [_step(draw, writer, n) for n in range(draw(st.integers(0, 2)))]
    by, keys = _grouping(draw, names, unit)
    aggregates = tuple(_aggregate(draw, writer) for _ in range(draw(st.integers(1, 2))))
    return Question(unit, schema, tuple(steps), by, keys, aggregates)


def units(names: Mapping[str, str]) -> list[Unit]:
    return [
        Unit.rows(),
        Unit.rows(),
        Unit(names["id"], max_rows=1),
        Unit(names["id"], max_rows=3, max_groups=2),
        Unit(names["who"], max_rows=2),
        Unit(names["who"], max_rows=3, max_groups=1),
        Unit([names["id"], names["who"]], max_rows=1),
        Unit([names["id"], names["who"]], max_rows=2, max_groups=1),
        Unit([names["who"], names["id"]], max_rows=3, max_groups=2),
    ]


def _step(draw: st.DrawFn, writer: _Writer, number: int) -> tuple[Any, ...]:
    kind = draw(st.sampled_from(["filter", "compute", "join"]))
    if kind == "filter":
        return "filter", writer.condition(1)
    if kind == "compute":
        # Names that differ from a column's in capitals only, and names that nobody minds.
        name = draw(st.sampled_from([f"Z{number}", *(writer.names[r].swapcase() for r in ("x", "k", "i"))]))
        if name in writer.names.values():
            name = f"Z{number}"
        if draw(st.integers(0, 3)) == 0:
            writer.texts.append(name)
            return "compute", name, writer.words()
        text = writer.number(1)
        writer.numeric.append(name)
        return "compute", name, text
    columns, on, how = _public(draw, writer)
    return "join", columns, on, how


TROUBLE: Mapping[str, tuple[tuple[Any, ...], Any]] = {
    "doubles": (DOUBLES, pa.float64()),
    "decimals": ((Decimal(10) ** 75, None, -(Decimal(10) ** 75)), pa.decimal256(76, 0)),
    "small decimals": ((Decimal("1e-70"), Decimal(10) ** 5), pa.decimal256(76, 70)),
    "uint64": ((2**64 - 1, 0), pa.uint64()),
    "days": ((0, 2**31 - 1, -(2**31)), pa.int32()),
    "moments": ((0, 2**63 - 1, -(2**63)), pa.int64()),
}
"""Public columns with values that an engine might fail on, where a row meets them."""


def _public(draw: st.DrawFn, writer: _Writer) -> tuple[Any, Any, Any]:
    role = draw(st.sampled_from(["k", "g", "flag", "who"]))
    values = list(KEYS[role])
    # The public columns are called like private ones in other capitals.
    number, text = writer.names["y"].swapcase() + "1", writer.names["who"].swapcase()
    if text in writer.names.values():
        text = "label"
    key = draw(st.sampled_from([writer.names[role], "key"]))
    trouble = draw(st.sampled_from(sorted(TROUBLE))) if writer.brought else ""
    odd, day = TROUBLE.get(trouble), f"Odd day {len(writer.days)}"
    size = range(len(values))
    columns = {key: values, number: [float(n) for n in size], text: ["left"] * len(values)}
    if odd is not None:
        held = pa.array([odd[0][n % len(odd[0])] for n in size], odd[1])
        if trouble in ("days", "moments"):
            units = (
                (pa.date32(),)
                if trouble == "days"
                else (*map(pa.timestamp, ("s", "ms", "us", "ns")), pa.date64())
            )
            held = held.view(draw(st.sampled_from(units)))
        dated = pa.types.is_date(held.type) or pa.types.is_timestamp(held.type)
        columns[day if dated else number] = held
        writer.days += [quoted(day)] * pa.types.is_date(held.type)
        writer.days += [f"CAST({quoted(day)} AS DATE)"] * pa.types.is_timestamp(held.type)
    writer.numeric.append(number)
    writer.texts.append(text)
    return columns, {writer.names[role]: key}, draw(st.sampled_from(["inner", "left"]))


def _grouping(draw: st.DrawFn, names: Mapping[str, str], unit: Unit) -> tuple[tuple[str, ...], Any]:
    how = draw(st.sampled_from(["none", "listed", "listed", "discover"]))
    if how == "none":
        return (), None
    free = [role for role in KEYS if names[role] != unit.column]
    roles = draw(st.lists(st.sampled_from(free), min_size=1, max_size=2, unique=True))
    by = tuple(names[role] for role in roles)
    return by, "discover" if how == "discover" else {names[role]: list(KEYS[role]) for role in roles}


def _aggregate(draw: st.DrawFn, writer: _Writer) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    name = draw(st.sampled_from(_AGGREGATES))
    bounds = draw(st.sampled_from(BOUNDS))
    if name == "count":
        return name, (() if draw(st.booleans()) else (writer.number(1),)), {}
    if name == "count_distinct":
        return name, (), {}
    if name == "proportion":
        return name, (writer.condition(2),), {}
    if name == "mode":
        role = draw(st.sampled_from(sorted(KEYS)))
        return name, (quoted(writer.names[role]), KEYS[role]), {}
    x = writer.number(2)
    if name in ("covariance", "correlation"):
        return name, (x, writer.number(1), bounds, draw(st.sampled_from(BOUNDS))), {}
    if name == "histogram":
        return name, (x, draw(st.sampled_from([1, 2, 3, 7, 64])), bounds), {}
    if name == "quantiles":
        return name, (x, [0.1, 0.9], bounds), {}
    if name == "bounds":
        return name, (x,), {}
    policy = draw(st.sampled_from([None, None, "drop", "never", impute(0.5)]))
    options: dict[str, Any] = {} if policy is None else {"nulls": policy}
    if name == "median" and draw(st.booleans()):
        options["adaptive"] = draw(st.sampled_from([True, "smooth", "propose"]))
        if options["adaptive"] == "propose":
            options["sensitivity"] = draw(st.sampled_from([1e-3, 1.0, 1e9]))
    return name, (x, bounds), options


_AGGREGATES = (
    *(
        "count",
        "count_distinct",
        "sum",
        "sum",
        "mean",
        "mean",
        "variance",
        "std",
        "covariance",
        "correlation",
    ),
    *(
        "proportion",
        "proportion",
        "histogram",
        "histogram",
        "histogram",
        "median",
        "quantiles",
        "bounds",
        "mode",
    ),
)
_SPELLED = {
    "sum": "SUM",
    "mean": "AVG",
    "variance": "VARIANCE",
    "std": "STDDEV",
    "median": "MEDIAN",
    "smooth": "SMOOTH_MEDIAN",
    "histogram": "HISTOGRAM",
}


_COUNTED = {"count": "COUNT", "proportion": "PROPORTION"}


def _in_sql(draw: st.DrawFn, writer: _Writer, unit: Unit, schema: Schema) -> Question:
    joined, public = "", {}
    if draw(st.booleans()):
        columns, on, how = _public(draw, writer)
        ((ours, theirs),) = on.items()
        public = {"pub": columns}
        condition = f"data.{quoted(ours)} = pub.{quoted(theirs)}"
        joined = f" {'LEFT ' if how == 'left' else ''}JOIN pub ON {condition}"
    where = f" WHERE {writer.condition(2)}" if draw(st.booleans()) else ""
    by, keys = _grouping(draw, {role: writer.names[role] for role in ROLES}, unit)
    listed = [quoted(name) for name in by]
    for n in range(draw(st.integers(1, 2))):
        name = draw(st.sampled_from(["count", *_SPELLED, "proportion"]))
        lower, upper = (repr(float(b)) for b in draw(st.sampled_from(BOUNDS)))
        if name == "count":
            call = "COUNT(*)"
        elif name == "proportion":
            call = f"PROPORTION({writer.condition(1)})"
        else:
            more = f", {draw(st.sampled_from([1, 5]))}" if name == "histogram" else ""
            call = f"{_SPELLED[name]}({writer.number(2)}{more}, {lower}, {upper})"
        listed.append(f"{call} AS r{n}")
    grouped = f" GROUP BY {', '.join(quoted(name) for name in by)}" if by else ""
    text = f"SELECT {', '.join(listed)} FROM data{joined}{where}{grouped}"
    return Question(unit, schema, (), by, keys, (), sql=text, public=public)
