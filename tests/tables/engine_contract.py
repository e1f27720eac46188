"""What every engine must do, in one suite that all of them run.

An engine's class says how rows get into it (`hold`), and inherits the rest: the same integers as plain Python and as
every other engine, for the nastiest of tables; digests, lengths and sums that are right at their limits; nothing that a
value could make fail; one way to fail, which the ledger records.
"""

from __future__ import annotations

import builtins
import contextlib
import datetime
import hashlib
import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import ibis
import ibis.expr.operations as ops
import numpy as np
import pyarrow as pa
import pytest

import dalenius as dp
from dalenius.errors import EngineFailed, QueryRefused
from dalenius.infer.on_tables.table_source import table_source
from dalenius.infer.scores import ArraySource, CurveScore, Standard
from dalenius.session.coded_columns import asked_columns, codes
from dalenius.session.ledger import Ledger
from dalenius.sums.curves import Logistic
from dalenius.sums.grids import on_grid
from dalenius.tables import (
    Query,
    Schema,
    Source,
    Table,
    Unit,
    compute,
    count,
    count_distinct,
    discover,
    histogram,
    mean,
    sum,
)
from dalenius.tables.compute import exact
from dalenius.tables.compute.totals import Total, exponential, nearest, totals
from dalenius.tables.engines import KNOWN
from dalenius.tables.engines.engine import LIMB, LIMIT, ROWS, Engine, fits
from dalenius.tables.engines.failure import FAILED
from dalenius.tables.facts.kinds import MOST
from tests.sample import sampled
from tests.tables import nasty, reference
from tests.tables.engines.holds import UNIT, Hold, check_discovery, check_fit, check_release, integers
from tests.tables.rows import meanings

CASES = sampled(nasty.cases())
SCHEMA = Schema(nulls="drop")
TEXTS = ["", " ", "a", "A", "é", "e\u0301", "𝄞", "o'b\"\\", "%", "_", "NaN", "\ufffd", "x" * 70_000, None]
WRITTEN = [
    *(
        "'",
        "''",
        '"',
        "`",
        "\\",
        "\\\\",
        "\\'",
        "\\' OR 1=1 --",
        "a\\nb",
        "\\u0041",
        "\\x41",
        "a\nb",
        "a\r\n",
        "\t",
    ),
    *(
        "${env:PATH}",
        "${spark.app.name}",
        "$${x}",
        "$",
        "${",
        "$$",
        "$1",
        ":x",
        "?",
        "%s",
        "%(x)s",
        "{0}",
        "@x",
    ),
    *("--", "/* a */", "*/", ";", "\u2028", "\ufeff"),
]
WHOLE = [2**63 - 1, -(2**63), 2**53 + 1, 0, -1, None]
DOUBLES = [0.0, 5e-324, -5e-324, 1.5, MOST, -MOST, 2.0**62, -(2.0**62), math.inf, math.nan, None]
DAYS = [datetime.date(1, 1, 1), datetime.date(9999, 12, 31), datetime.date(2020, 2, 29), None]


def column(values: list[Any], dtype: pa.DataType) -> pa.Array:
    size = max(map(len, (TEXTS, WHOLE, DOUBLES, DAYS)))
    return pa.array([values[n % len(values)] for n in range(size)], dtype)


EXTREMES = pa.table(
    {
        "i": column(WHOLE, pa.int64()),
        "x": column(DOUBLES, pa.float64()),
        "s": column(TEXTS, pa.string()),
        "b": column([True, False, None], pa.bool_()),
        "d": column(DAYS, pa.date32()),
        "t": column([datetime.datetime(9999, 12, 31, 23, 59, 59, 999999), None], pa.timestamp("us")),
    }
)


def number(x: float) -> Any:
    return ibis.literal(repr(x)).cast("float64")


def tame(x: Any) -> Any:
    """Within what arithmetic is given."""
    large, small = number(1e18), number(1e-30)
    steps = [(x <= number(-1e18), number(-1e18)), (x <= number(-1e-30), x), (x < small, number(0.0))]
    return ibis.cases(*steps, (x <= large, x), (x > large, large))


def over(i: Any, rank: Any) -> Any:
    return rank.over(ibis.window(group_by=i % 3, order_by=[ibis.asc(i, nulls_first=True)]))


TOTAL: dict[type[Any], Callable[..., Any]] = {
    ops.Add: lambda i, x, s, b, d, t: tame(x) + tame(x),
    ops.Subtract: lambda i, x, s, b, d, t: tame(x) - number(0.1),
    ops.Multiply: lambda i, x, s, b, d, t: tame(x) * number(0.1),
    ops.Divide: lambda i, x, s, b, d, t: number(1.0) / ibis.cases((x >= number(1.0), x)).nullif(number(0.0)),
    ops.Modulus: lambda i, x, s, b, d, t: i % 7,
    ops.Abs: lambda i, x, s, b, d, t: x.abs(),
    ops.Floor: lambda i, x, s, b, d, t: tame(x).floor(),
    ops.Ceil: lambda i, x, s, b, d, t: tame(x).ceil(),
    ops.Sqrt: lambda i, x, s, b, d, t: ibis.cases((x >= number(0.0), x)).sqrt(),
    ops.Less: lambda i, x, s, b, d, t: x < number(1.5),
    ops.LessEqual: lambda i, x, s, b, d, t: i <= 7,
    ops.Greater: lambda i, x, s, b, d, t: d > datetime.date(2020, 1, 1),
    ops.GreaterEqual: lambda i, x, s, b, d, t: x >= number(MOST),
    ops.Equals: lambda i, x, s, b, d, t: s == "A",
    ops.NotEquals: lambda i, x, s, b, d, t: d != datetime.date(2020, 2, 29),
    ops.And: lambda i, x, s, b, d, t: b & (i > 0),
    ops.Or: lambda i, x, s, b, d, t: b | (i > 0),
    ops.Not: lambda i, x, s, b, d, t: ~b,
    ops.IsNull: lambda i, x, s, b, d, t: t.isnull(),
    ops.NotNull: lambda i, x, s, b, d, t: s.notnull(),
    ops.SearchedCase: lambda i, x, s, b, d, t: ibis.cases((b, i)),
    ops.Coalesce: lambda i, x, s, b, d, t: ibis.coalesce(s, ibis.literal("none")),
    ops.NullIf: lambda i, x, s, b, d, t: s.nullif("a"),
    ops.Least: lambda i, x, s, b, d, t: ibis.least(x, number(2.0)),
    ops.Greatest: lambda i, x, s, b, d, t: ibis.greatest(i, ibis.literal(5, "int64")),
    ops.InValues: lambda i, x, s, b, d, t: s.isin(["a", "é"]),
    ops.ExtractYear: lambda i, x, s, b, d, t: t.year(),
    ops.ExtractQuarter: lambda i, x, s, b, d, t: d.quarter(),
    ops.ExtractMonth: lambda i, x, s, b, d, t: d.month(),
    ops.ExtractDay: lambda i, x, s, b, d, t: t.day(),
    ops.ExtractWeekOfYear: lambda i, x, s, b, d, t: d.week_of_year(),
    ops.ExtractHour: lambda i, x, s, b, d, t: t.hour(),
    ops.ExtractMinute: lambda i, x, s, b, d, t: t.minute(),
    ops.ExtractSecond: lambda i, x, s, b, d, t: t.second(),
    ops.StringContains: lambda i, x, s, b, d, t: s.contains("é"),
    ops.StartsWith: lambda i, x, s, b, d, t: s.startswith("o'"),
    ops.EndsWith: lambda i, x, s, b, d, t: s.endswith('"\\'),
    ops.Literal: lambda i, x, s, b, d, t: ibis.literal(1, "int64"),
    ops.RowNumber: lambda i, x, s, b, d, t: over(i, ibis.row_number()),
    ops.DenseRank: lambda i, x, s, b, d, t: over(i, ibis.dense_rank()),
    ops.Exp: lambda i, x, s, b, d, t: exponential(x),
    ops.StringConcat: lambda i, x, s, b, d, t: s + "x",
    ops.Substring: lambda i, x, s, b, d, t: s.left(3),
    ops.TryCast: lambda i, x, s, b, d, t: s.try_cast("int64"),
    ops.BitwiseAnd: lambda i, x, s, b, d, t: i & 255,
    ops.BitwiseRightShift: lambda i, x, s, b, d, t: i >> 23,
}
"""Each operation, with the arguments questions give it (`rows.total`)."""

WITHIN = {
    ops.WindowFunction,
    ops.SortKey,
    ops.Sum,
    ops.Count,
    ops.CountStar,
    ops.CountDistinct,
    ops.ArrayIndex,
}
"""Parts of others; aggregates, which every case has; and items of lists, of which there is no column here
(tests/tables/relations/test_explode.py)."""


CLEAN: dict[str, Callable[[Any], Any]] = {
    "i": lambda x: -5 if x is None else x,
    "x": lambda x: MOST if x == math.inf else None if x != x else x,
    "s": lambda x: x,
    "b": lambda x: -5 if x is None else int(x),
    "d": lambda x: -5 if x is None else x.year * 10_000 + x.month * 100 + x.day,
}
"""What is read of a value, as the contract asks for it."""


def _in_order(rows: Any) -> list[str]:
    return sorted(map(str, np.asarray(rows).tolist()))


class EngineContract:
    """Inherit, name the engine, and write the fixture `hold`."""

    name: ClassVar[str]

    @pytest.fixture(scope="class")
    @classmethod
    def hold(cls) -> Hold:
        raise NotImplementedError("say how a table gets into the engine")

    @pytest.fixture
    def collating(self) -> Source | None:
        """A table t(s) of 'a' and 'A', which a collation takes to be equal; None where there is no such thing."""
        return None

    def roots(self, source: Source, asked: exact.Evaluation) -> int:
        """Run the question; how many square roots the engine took."""
        raise NotImplementedError("say how evaluations are counted in the engine")

    computed: ClassVar[tuple[str, str]] = "y * y + y / (y + 1)", "z >= 0 AND z < 1e9"
    """A column made of the computed column y, and a filter."""

    @property
    def engine(self) -> Engine:
        return KNOWN[self.name]

    @pytest.fixture(scope="class")
    @classmethod
    def held(cls, hold: Hold) -> tuple[Any, dict[str, Any]]:
        return hold(nasty.arrow())

    @pytest.fixture(scope="class")
    @classmethod
    def source(cls, held: tuple[Any, dict[str, Any]]) -> Iterator[Source]:
        source = Source.open(held[0], **held[1])
        yield source
        source.close()

    @pytest.fixture(scope="class")
    @classmethod
    def elsewhere(cls) -> Source:
        return Source.open(nasty.arrow())

    @pytest.fixture(scope="class")
    @classmethod
    def extremes(cls, hold: Hold) -> Source:
        data, options = hold(EXTREMES)
        return Source.open(data, **options)

    # The same answers everywhere

    @pytest.mark.parametrize(("name_", "ask", "unit"), CASES, ids=[case[0] for case in CASES])
    def test_integers_are_those_of_any_other(
        self, name_: str, ask: Callable[[Table], Query], unit: Unit, source: Source, elsewhere: Source
    ) -> None:
        assert source.engine is self.engine
        assert integers(source, ask, unit) == integers(elsewhere, ask, unit)

    def test_release(self, held: tuple[Any, dict[str, Any]]) -> None:
        check_release(held[0], **held[1])

    def test_discovery(self, held: tuple[Any, dict[str, Any]]) -> None:
        check_discovery(held[0], **held[1])

    def test_fit(self, held: tuple[Any, dict[str, Any]]) -> None:
        check_fit(held[0], **held[1])

    def test_blocks_of_rows(self, source: Source, elsewhere: Source) -> None:
        """All rows, a few at a time, and the same as in another engine; twice, since a fit reads them again."""
        sums = {"h": sum("h", (-3, 39)), "twice": sum("h * 2", (-3, 39)), "a": sum("a", (-5, 5))}
        query, other = (s.table(nasty.SCHEMA).filter("g < 9").agg(**sums) for s in (source, elsewhere))
        expected = exact.rows(elsewhere, other, UNIT)
        for _ in range(2):
            blocks = list(exact.blocks(source, query, UNIT, 64))
            assert builtins.max(map(len, blocks)) <= 64 < len(expected)
            assert _in_order(np.concatenate(blocks)) == _in_order(expected)
        assert not [
            *exact.blocks(source, source.table(nasty.SCHEMA).filter("g > 99").agg(**sums), Unit.rows())
        ]

    def test_totals_of_functions_of_a_row(self, source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
        """Exactly those of the same rows in memory; `exp` differs by a step a row at most, and no row by more."""
        most = 2**20

        def wanted(rows: Any) -> tuple[Any, list[Total]]:
            odds = exponential(rows.v1 * number(0.5) - rows.v0)
            rows = rows.mutate(
                x=nearest(rows.v0 * number(1000.0), most),
                y=nearest(rows.v1 * number(1e9), 2**30),
                p=nearest(number(float(most)) / (number(1.0) + odds), most),
            )
            return rows, [Total(rows.x * rows.x, 40), Total(rows.x * rows.y, 50), Total(rows.p, 20)] * 2

        for unit in (Unit.rows(), UNIT):
            monkeypatch.setattr(
                compute.totals, "SUMS", 400 if unit is UNIT else 9
            )  # in one statement, or two
            query = source.table(nasty.SCHEMA).agg(h=sum("h", (-3, 39)), a=sum("a", (-5, 5)))
            found = totals(source, query, unit, wanted)
            kept = exact.rows(source, query, unit)
            kept = kept[~np.isnan(kept).any(axis=1)]
            x, y = np.clip(np.rint(kept * [1000.0, 1e9]), [-most, -(2**30)], [most, 2**30]).T
            p = np.rint(most / (1 + np.exp(np.clip(kept[:, 1] * 0.5 - kept[:, 0], -30, 30))))
            assert found[:2] == [int(x @ x), int(x @ y)]
            assert abs(found[2] - int(p.sum())) <= len(kept)
            assert found == found[:3] * 2

    def test_sums_of_scores(self, source: Source) -> None:
        """What steps of a regression are made of, computed where the rows are or read in blocks: as from arrays."""
        query = source.table(nasty.SCHEMA).agg(a=sum("a", (-5, 5)), h=sum("h", (-3, 39)), g=sum("g", (-1, 4)))
        rows = exact.rows(source, query, UNIT)
        labels = [1, 2]
        rows[:, -1] = np.where(np.isin(rows[:, -1], labels), rows[:, -1] - 1, np.nan)
        array = ArraySource(rows[:, :-1], rows[:, -1])
        there = table_source(source, query, UNIT, labels)
        assert there.count() == array.count() > 20
        standard = Standard(np.array([0.5, 12.0]), np.array([2.0, 9.0]), 1.0, 1.5)
        score, theta = CurveScore(Logistic(0.8)), on_grid(np.array([0.3, -0.4, 0.1]))
        found, expected = (
            s.rows(standard).totals(theta, score, want_score=True, want_bend=True, want_square=True)
            for s in (there, array)
        )
        for name in ("score", "bend", "square"):
            one, other = getattr(found, name), getattr(expected, name)
            assert np.abs(one - other).max() <= 2**20, name  # a row may round to the other side of a half
            assert np.abs(other).max() > 2**36
        edges = np.array([0.1, 0.5, 0.9])
        counts = (s.rows(standard).residual_counts(theta, edges).tolist() for s in (there, array))
        assert next(counts) == next(counts)

    def test_blocks_that_fail(self, source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
        """In the middle, with the one constant error; and the next question finds the engine as it was."""
        query = source.table(nasty.SCHEMA).agg(h=sum("h", (-3, 39)))
        original = type(self.engine).blocks

        def fails(self: Engine, *arguments: Any) -> Iterator[Any]:
            blocks = original(self, *arguments)
            yield next(blocks)
            blocks.close()  # type: ignore[attr-defined]
            raise RuntimeError("secret")

        with monkeypatch.context() as patch:
            patch.setattr(type(self.engine), "blocks", fails)
            with pytest.raises(EngineFailed) as caught:
                list(exact.blocks(source, query, Unit.rows(), 64))
        assert str(caught.value) == FAILED
        left = exact.blocks(source, query, Unit.rows(), 64)
        next(left)
        left.close()  # type: ignore[attr-defined]
        assert builtins.sum(map(len, exact.blocks(source, query, Unit.rows(), 64))) == 300

    # Values at the ends of their types

    def test_clean_columns(self, extremes: Source) -> None:
        """NaN is null, infinity the largest double, everything else is what it was."""
        kinds = [f.kind for f in extremes.fields]
        assert kinds == ["integer", "number", "text", "bool", "date", "timestamp"]
        columns = {name: extremes.rows[f"c{n}"] for n, name in enumerate("ixsbd")}
        for name, kind in (("i", "integer"), ("b", "bool"), ("d", "date")):
            # Never null, as in questions: on some ways out of Spark, whole numbers beside a null become doubles.
            columns[name] = ibis.coalesce(self.engine.integer(kind, columns[name]), ibis.literal(-5, "int64"))
        found = extremes.fetch(extremes.rows.select(**columns))
        for name in "ixsbd":
            expected = [CLEAN[name](value) for value in EXTREMES.column(name).to_pylist()]
            assert sorted(map(str, expected)) == sorted(map(str, found.column(name).to_pylist()))

    def test_operations_are_total(self, extremes: Source) -> None:
        """Each that is listed has a value for every row; each is tried here."""
        listed = set(self.engine.operations) - WITHIN
        assert listed <= set(TOTAL)
        columns = [extremes.rows[f"c{n}"] for n in range(6)]
        asked = {f"y{n}": TOTAL[op](*columns) for n, op in enumerate(sorted(listed, key=str))}
        counted = extremes.rows.mutate(**asked)
        statement = counted.aggregate(**{name: counted[name].count() for name in asked})
        self.engine.check(statement, extremes.rows)
        found = extremes.fetch(statement).to_pylist()
        assert all(0 <= n <= EXTREMES.num_rows for n in found[0].values())

    def test_codes_of_synthetic_data(self, extremes: Source) -> None:
        """One for every value there can be, the same in every engine; a category that is not listed has none."""
        listed, first, last = ["a", "é", "o'b\"\\", "%"], datetime.date(2000, 1, 1), datetime.date(2040, 1, 1)
        how = {"i": (-4, 11), "x": (-2, 2), "s": listed, "b": None, "d": (first, last)}
        columns = asked_columns(how, extremes.table(SCHEMA), 4, (), ())
        found = codes(extremes, extremes.table(SCHEMA), columns, Unit.rows())  # type: ignore[arg-type]
        expected = []
        for row in EXTREMES.to_pylist():
            x = None if row["x"] is None or math.isnan(row["x"]) else row["x"]
            code = [
                4 if row["i"] is None else min(max((row["i"] + 4) // 4, 0), 3),
                4 if x is None else int(x >= -1) + int(x >= 0) + int(x >= 1),
                4 if row["s"] is None else listed.index(row["s"]) if row["s"] in listed else -1,
                2 if row["b"] is None else int(row["b"]),
                4 if row["d"] is None else min(max((row["d"].year - 2000) // 10, 0), 3),
            ]
            expected += [code] if -1 not in code else []
        assert len(expected) == 5
        assert sorted(found.tolist()) == sorted(expected)

    def test_dates_moments_and_text(self, hold: Hold) -> None:
        """Every function of them, for the oddest values, is what plain Python says."""
        table = meanings.nasty(zero=self.engine.name != "postgres")
        data, options = hold(table)
        with contextlib.closing(Source.open(data, **options)) as source:
            meanings.check(source, table)

    def test_constants_are_what_was_written(self, hold: Hold) -> None:
        """No engine reads more into a text than stands there: no escapes, no comments, no variables of its own."""
        data, options = hold(pa.table({"s": WRITTEN}))
        listed = ", ".join("'" + text.replace("'", "''") + "'" for text in WRITTEN)
        with contextlib.closing(Source.open(data, **options)) as source:
            query = source.table(SCHEMA).filter(f"s IN ({listed})").agg(n=count())
            assert exact.evaluate(source, query, Unit.rows())[query.measures[0]].tolist() == [len(WRITTEN)]

    def test_what_is_not_listed_is_refused(self, extremes: Source) -> None:
        rows = extremes.rows
        for statement in (rows.select(y=rows.c1.log()), rows.aggregate(y=rows.c1.sum()), rows.order_by("c0")):
            with pytest.raises(QueryRefused, match="not among the operations known to be total"):
                self.engine.check(statement, rows)

    def test_digests(self, extremes: Source) -> None:
        """They are those of hashlib, and so are the bytes."""
        s = extremes.rows["c2"]
        of = {"d": self.engine.digest(s), "h": self.engine.hexadecimal(s), "n": self.engine.length(s)}
        statement = extremes.rows.select(s=s, **of)
        self.engine.check(statement, extremes.rows)
        for row in extremes.fetch(statement).to_pylist():
            if row["s"] is None:
                assert row == dict.fromkeys("sdhn")
                continue
            raw = row["s"].encode()
            assert row["d"] == int.from_bytes(hashlib.sha256(raw).digest()[:3], "big")
            assert (bytes.fromhex(row["h"]), row["n"]) == (raw, len(raw))

    @pytest.mark.parametrize("size", [1, 23, 24, 30, 46, 48, 60, 62])
    def test_sums_at_their_limits(self, hold: Hold, size: int) -> None:
        """Exact, as a number or as text; clamped where the bounds say that it fits 64 bits."""
        most = 2**size - 1
        lists = [[most] * 5, [-most] * 5, [most, -most, 1, None, None], [None] * 5]
        self.check_sums(hold, size, lists)
        if size == 1:
            self.check_sums(hold, size, [[]])

    def check_sums(self, hold: Hold, size: int, lists: list[list[int | None]]) -> None:
        """A column for each list."""
        data, options = hold(pa.table({f"x{n}": pa.array(x, pa.int64()) for n, x in enumerate(lists)}))
        with contextlib.closing(Source.open(data, **options)) as source:
            pieces = [self.engine.sum(source.rows[f"c{n}"], size) for n in range(len(lists))]
            named = {f"s{n}_{i}": x for n, parts in enumerate(pieces) for i, (x, _) in enumerate(parts)}
            statement = source.rows.aggregate(**named)
            self.engine.check(statement, source.rows)
            (row,) = source.fetch(statement).to_pylist()
        for n, (values, parts) in enumerate(zip(lists, pieces, strict=True)):
            found = [row[f"s{n}_{i}"] for i in range(len(parts))]
            total = builtins.sum(int(x) * 2**power for x, (_, power) in zip(found, parts, strict=True))
            expected = builtins.sum(value or 0 for value in values)
            clamped = fits(size) and len(parts) == 1
            assert total == (max(-LIMIT, min(LIMIT, expected)) if clamped else expected)
            assert [type(x) for x in found] in ([int] * len(parts), [str])

    def test_bounds_on_rows_are_met_exactly(self, hold: Hold) -> None:
        """Whatever is asked alone, in which an optimizer may see a rule of its own: units of 0 to 5 equal rows."""
        rows = [{"who": f"u{n}", "g": "a", "x": 1} for n in range(6) for _ in range(n)]
        given, options = hold(pa.Table.from_pylist(rows))
        with contextlib.closing(Source.open(given, **options)) as source:
            table = source.table(SCHEMA)
            for most in range(1, 6):
                kept = builtins.sum(min(n, most) for n in range(6))
                for query in (
                    table.agg(n=count()),
                    table.agg(s=sum("x", (0, 1))),
                    table.group_by("g", keys=["a"]).agg(n=count()),
                    table.group_by("g", keys=["a"]).agg(s=sum("x", (0, 1))),
                ):
                    unit = Unit("who", max_rows=most, max_groups=most)
                    assert exact.evaluate(source, query, unit)[query.measures[0]].tolist() == [kept], most

    def test_units_of_several_columns(self, hold: Hold) -> None:
        """A person in one month, by text, number and date: as any other computes it, with missing ids left out."""
        random = Random(5)
        months = [datetime.date(2024, month, 1) for month in (1, 2, 3)]
        rows = [
            {
                "who": random.choice(["ann", "Ann", "bob", None]),
                "month": random.choice([*months, None]),
                "n": random.choice([1, 2, None]),
                "g": random.choice("ab"),
                "x": random.randrange(50),
            }
            for _ in range(200)
        ]
        types = [
            ("who", pa.string()),
            ("month", pa.date32()),
            ("n", pa.int64()),
            ("g", pa.string()),
            ("x", pa.int64()),
        ]
        given, options = hold(pa.Table.from_pylist(rows, pa.schema(types)))
        with contextlib.closing(Source.open(given, **options)) as source:
            table = source.table(SCHEMA)
            every = {
                "n": count(),
                "u": count_distinct(),
                "s": sum("x", (0, 100)),
                "h": histogram("x", 3, (0, 50)),
            }
            for query in (
                table.agg(u=count_distinct()),
                table.group_by("month", keys=months).agg(**every),
                table.group_by("g", keys=discover()).agg(**every),
            ):
                for unit in (
                    Unit(["who", "month"], max_rows=1),
                    Unit(["n", "who", "month"], max_rows=4, max_groups=1),
                ):
                    found = exact.evaluate(source, query, unit)
                    _, expected = reference.evaluate(rows, query, unit)
                    for measure in query.measures:
                        assert found[measure].tolist() == list(expected[measure]), (query, unit, measure)

    def test_computed_columns_are_computed_once(self, hold: Hold) -> None:
        """By each statement, for each row: however often other columns, filters, grids and bins mention them."""
        rows = [{"who": f"u{n % 9}", "g": "ab"[n % 2], "x": float(n)} for n in range(40)]
        given, options = hold(pa.Table.from_pylist(rows))
        with contextlib.closing(Source.open(given, **options)) as source:
            column, condition = self.computed
            table = (
                source.table(SCHEMA).with_columns(y="SQRT(x) + 1").with_columns(z=column).filter(condition)
            )
            binned = dp.histogram("z", bins=4, bounds=(0, 50))
            query = table.group_by("g", keys=["a", "b"]).agg(
                h=binned, m=mean("z", (0, 50)), f=mean("FLOOR(z + y)", (0, 9))
            )
            asked = exact.prepared(source, query, Unit("who", max_rows=3))
            assert self.roots(source, asked) == len(rows) * 2  # sums are one statement, bins another

    def test_limbs_have_room_for_all_rows(self) -> None:
        assert LIMB + ROWS < 62

    def test_huge_products(self, hold: Hold) -> None:
        data, options = hold(pa.table({"x": pa.array([2.0**40, -(2.0**41), 1e300, None], pa.float64())}))
        source = Source.open(data, **options)
        query = source.table(SCHEMA).agg(
            v=dp.variance("x", (-(2.0**41), 2.0**41)), s=sum("x", (-1e100, 1e100))
        )
        here = Source.open(pa.table({"x": [2.0**40, -(2.0**41), 1e300, None]}))
        other = here.table(SCHEMA).agg(v=dp.variance("x", (-(2.0**41), 2.0**41)), s=sum("x", (-1e100, 1e100)))
        found, expected = (exact.evaluate(*pair, Unit.rows()) for pair in ((source, query), (here, other)))
        assert [v.tolist() for v in found.values.values()] == [v.tolist() for v in expected.values.values()]

    def test_texts_that_a_collation_takes_for_equal(self, collating: Source | None) -> None:
        """They are two keys, or the column is not used."""
        if collating is None:
            return
        if collating.fields[0].kind is None:
            with pytest.raises(QueryRefused, match="different texts can be equal"):
                collating.table(SCHEMA).group_by("s", keys=["a", "A"])
            return
        query = collating.table(SCHEMA).group_by("s", keys=["a", "A"]).agg(n=count())
        everybody = collating.table(SCHEMA).agg(n=count())
        found = exact.evaluate(collating, everybody, Unit("s", max_rows=1))
        assert found[everybody.measures[0]].tolist() == [2]
        assert exact.evaluate(collating, query, Unit.rows())[query.measures[0]].tolist() == [1, 1]

    # Running

    def test_an_engine_that_fails(
        self, held: tuple[Any, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """One constant error, and the ledger says that it happened."""
        for problem, expected in (
            (RuntimeError("secret"), EngineFailed),
            (KeyboardInterrupt(), KeyboardInterrupt),
        ):
            path = tmp_path / expected.__name__
            s = dp.Session(
                held[0], unit=UNIT, budget=dp.ZCDP(1), schema=nasty.SCHEMA, ledger=path, name="d", **held[1]
            )

            def fetch(self: Engine, backend: Any, statement: Any, problem: BaseException = problem) -> Any:
                raise problem

            with monkeypatch.context() as patch:
                patch.setattr(type(self.engine), "fetch", fetch)
                with pytest.raises(expected) as caught:
                    s.release(s.table.agg(n=dp.count()), dp.ZCDP(0.5))
            assert expected is KeyboardInterrupt or str(caught.value) == FAILED
            assert s.remaining == dp.ZCDP(0.5)
            assert Ledger.open(path).verify().failures == 1

    def test_questions_at_the_same_time(self, source: Source) -> None:
        query = source.table(SCHEMA).group_by("k", keys=nasty.KEYS).agg(n=count(), m=mean("a", (-5, 5)))

        def ask(_: int) -> list[Any]:
            found = exact.evaluate(source, query, UNIT)
            return [found[measure].tolist() for measure in query.measures]

        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(ask, range(8)))
        assert answers == [answers[0]] * 8

    def test_opened_twice_and_closed(self, held: tuple[Any, dict[str, Any]]) -> None:
        """Each opening is its own: to close one does not close the other."""
        first, second = (Source.open(held[0], **held[1]) for _ in range(2))
        query = first.table(SCHEMA).agg(n=count())
        first.close()
        assert exact.evaluate(second, query, Unit.rows())[query.measures[0]].tolist() == [300]
        if first._owned:
            with pytest.raises(EngineFailed):
                exact.evaluate(first, query, Unit.rows())
        second.close()
