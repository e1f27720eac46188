"""One record can only spoil itself, whatever holds the table: with a nasty record and without it, nothing fails, and no
integer changes by more than one record may change it. Where a value has an order it is clamped, else it is missing.
"""

from __future__ import annotations

import datetime
import enum
import math
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dalenius.errors import QueryRefused, SourceError
from dalenius.tables import (
    Query,
    Schema,
    Source,
    Table,
    Unit,
    count,
    discover,
    histogram,
    mean,
    proportion,
    sum,
)
from dalenius.tables.compute import exact

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")

SCHEMA = Schema(nulls="drop")
QUESTIONS = {
    "integer": (
        ["x", "x % 7", "x * x", "SQRT(x) / x", "COALESCE(x, 0)"],
        ["x > 3", "x IN (1, 2)", "x IS NULL"],
    ),
    "number": (
        ["x", "x * x * x", "FLOOR(SQRT(SQRT(COALESCE(x, 0))))", "x / x"],
        ["x > 5000", "x < 0", "x = 1"],
    ),
    "text": ([], ["x = 'a'", "x LIKE '%a%'", "x IN ('a', 'b')", "x IS NULL"]),
    "bool": ([], ["x", "NOT x", "x = TRUE"]),
    "date": (
        ["YEAR(x)", "MONTH(x)", "DAY(x)"],
        ["x >= '2020-01-01'", "x < '2020-01-01'", "x = '2020-01-01'"],
    ),
    "timestamp": (["YEAR(x)", "DAY(CAST(x AS DATE))"], ["CAST(x AS DATE) > '2020-01-01'", "x IS NOT NULL"]),
}
KEYS: dict[str, list[Any]] = {
    "integer": [1, 2, 3],
    "text": ["a", "b"],
    "bool": [True, False],
    "date": [datetime.date(2020, 1, 1), datetime.date(9999, 12, 31)],
}


Integers = list[tuple[Any, list[int]]]


def questions(table: Table, kind: str) -> list[Query]:
    numbers, conditions = QUESTIONS[kind]
    moments = {f"m{n}": mean(text, (-10, 10)) for n, text in enumerate(numbers)}
    bins = {f"h{n}": histogram(text, 5, (-1, 9)) for n, text in enumerate(numbers[:1])}
    shares = {f"p{n}": proportion(text) for n, text in enumerate(conditions)}
    asked = [table.agg(n=count(), c=count("x"), **moments, **bins, **shares)]
    asked.append(table.filter(conditions[0]).agg(n=count()))
    if kind in KEYS:
        asked.append(table.group_by("x", keys=KEYS[kind]).agg(n=count(), s=sum("i", (0, 9))))
    return asked


def integers(source: Source, kind: str) -> Integers:
    assert {f.name: f.kind for f in source.fields}["x"] == kind
    answers: Integers = []
    for query in questions(source.table(SCHEMA), kind):
        table = exact.evaluate(source, query, Unit.rows())
        answers += [(m, np.asarray(table[m]).ravel().tolist()) for m in query.measures]
    if kind in ("text", "date"):  # nothing fails; what is found is for the release to hide
        exact.evaluate(
            source, source.table(SCHEMA).group_by("x", keys=discover()).agg(n=count()), Unit.rows()
        )
    source.close()
    return answers


def check(left: Integers, right: Integers, records: int = 1) -> None:
    """What changes is what so many records may change, and no other record is lost."""
    changed = 0
    for (measure, old), (_, new) in zip(left, right, strict=True):
        most = records * max(abs(measure.low), abs(measure.high), 1)
        differences = [abs(a - b) for a, b in zip(old, new, strict=True)]
        assert np.sum(differences) <= most, (measure, old, new)
        changed += int(np.sum(differences) == records)
    assert changed  # the records themselves are there: count() counts them


def arrow(values: list[Any], dtype: Any) -> pa.Array:
    if pa.types.is_timestamp(dtype) or dtype == pa.date64():
        return pa.array(values, pa.int64()).view(dtype)
    return pa.array(values, pa.int32()).view(dtype) if dtype == pa.date32() else pa.array(values, dtype)


def text_of(*values: bytes) -> pa.Array:
    """Text that nobody has looked at."""
    offsets = np.cumsum([0, *map(len, values)]).astype("int32")
    return pa.StringArray.from_buffers(
        len(values), pa.py_buffer(offsets.tobytes()), pa.py_buffer(b"".join(values))
    )


FAR = [2**63 - 1, -(2**63), 2**62, -(2**62)]
ARROW: list[tuple[str, Any, list[Any], list[Any]]] = [
    ("integer", pa.int64(), [1, 2, 3], [None, 2**63 - 1, -(2**63), 0]),
    ("integer", pa.uint32(), [1, 2, 3], [None, 2**32 - 1]),
    ("number", pa.uint64(), [1, 2, 3], [None, 2**64 - 1]),
    (
        "number",
        pa.float64(),
        [1.0, 2.0],
        [None, math.nan, math.inf, -math.inf, 5e-324, -0.0, 1.7976931348623157e308],
    ),
    ("number", pa.float32(), [1.0, 2.0], [math.nan, math.inf, -math.inf, 1e-45]),
    ("number", pa.float16(), [1.0, 2.0], [math.nan, math.inf, -math.inf]),
    ("number", pa.decimal128(38, 2), [Decimal(1), Decimal(2)], [None, Decimal(10) ** 35]),
    (
        "number",
        pa.decimal256(76, 2),
        [Decimal(1), Decimal(2)],
        [None, Decimal(10) ** 73, -(Decimal(10) ** 73)],
    ),
    ("text", pa.string(), ["a", "b"], [None, "", "\x00", "a\x00", "\U0010ffff", "a" * 100_000]),
    ("text", pa.large_string(), ["a", "b"], [None, "\r\n\"'"]),
    ("text", pa.string_view(), ["a", "b"], [None, "a" * 20]),
    ("text", pa.dictionary(pa.int32(), pa.string()), ["a", "b"], [None, "c"]),
    ("bool", pa.bool_(), [True, False], [None, True]),
    ("date", pa.date32(), [18262, 18263], [None, 2**31 - 1, -(2**31), 2**31 - 2, -719_163, 2_932_897]),
    ("date", pa.date64(), [18262 * 86_400_000], [None, *FAR]),
    ("timestamp", pa.timestamp("s"), [1577836800], [None, *FAR, 253402300800, -62135596801]),
    ("timestamp", pa.timestamp("ms"), [1577836800_000], [None, *FAR, 253402300800_000]),
    ("timestamp", pa.timestamp("us"), [1577836800_000_000], [None, *FAR]),
    ("timestamp", pa.timestamp("ns"), [1577836800_000_000_000], [None, *FAR, -1]),
]


UNWRITTEN = (pa.timestamp("s"), pa.date64(), pa.decimal256(76, 2))
"""Parquet has no such thing, or files hold another."""


def parquet(table: pa.Table, path: Path, **options: Any) -> Source:
    pq.write_table(table, path, **options)
    return Source.open(path)


@pytest.mark.parametrize(("kind", "dtype", "good", "nasty"), ARROW, ids=[str(case[1]) for case in ARROW])
def test_arrow_and_parquet(tmp_path: Path, kind: str, dtype: Any, good: list[Any], nasty: list[Any]) -> None:
    def table(values: list[Any]) -> pa.Table:
        return pa.table({"x": arrow(values, dtype), "i": [1] * len(values)})

    plain = integers(Source.open(table(good * 3)), kind)
    beside = table([*good, *nasty, *good, *good])
    check(plain, integers(Source.open(beside), kind), len(nasty))
    if dtype not in UNWRITTEN:
        check(plain, integers(parquet(beside, tmp_path / "x.parquet"), kind), len(nasty))


@pytest.mark.parametrize("bad", [b"\xff", b"a\xfe", b"\xed\xa0\x80", b"\xc3", b"\xf8\x88\x80\x80\x80"])
def test_bytes_that_are_no_text(tmp_path: Path, bad: bytes) -> None:
    good = [b"a", b"b", b"\xc3\xa9"]
    path, i, t = tmp_path / "x.parquet", [1] * 7, pa.array([0] * 7).view(pa.timestamp("ms"))
    plain = integers(Source.open(pa.table({"x": text_of(*good, *good), "i": i[:6]})), "text")
    table = pa.table({"x": text_of(*good, bad, *good), "i": i})
    check(plain, integers(Source.open(table), "text"))
    check(plain, integers(parquet(table, path), "text"))
    check(plain, integers(parquet(table, path, use_dictionary=False), "text"))
    check(plain, integers(parquet(table.append_column("t", t), path), "text"))  # which Arrow reads


Moment = datetime.datetime
Zone = datetime.timezone(datetime.timedelta(hours=2))
MIXED: list[tuple[str, list[Any], list[Any]]] = [
    (
        "integer",
        [1, 2, 3],
        [None, math.nan, 2**63, -(2**63) - 1, 10**400, "1", 1.5, True, b"1", [1], Decimal(1), pd.NA, pd.NaT],
    ),
    (
        "number",
        [1.0, 2.5],
        [
            None,
            math.nan,
            math.inf,
            10**400,
            -(10**400),
            Decimal("NaN"),
            Decimal("sNaN"),
            "x",
            1j,
            True,
            pd.NA,
        ],
    ),
    (
        "text",
        ["a", "b"],
        [None, math.nan, 1, b"a", "\ud800", "\x00", pd.NA, pd.NaT, UUID(int=1), ["a"], object()],
    ),
    ("bool", [True, False], [None, 1, "True", pd.NA, np.True_]),
    (
        "date",
        [datetime.date(2020, 1, 1)] * 2,
        [None, pd.NaT, Moment(2020, 1, 1), "2020-01-01", datetime.date.max],
    ),
    (
        "timestamp",
        [Moment(2020, 1, 1)] * 2,
        [None, pd.NaT, Moment.max, Moment(2020, 1, 1, tzinfo=Zone), "x", datetime.date.min]
        + [pd.Timestamp(np.datetime64(f"{year}-02-29", "s")) for year in ("20000", "-0004")]
        + [np.datetime64(10**9, "Y"), np.datetime64(-(10**17), "s"), np.datetime64(1, "as")],
    ),
]


@pytest.mark.parametrize(("kind", "good", "nasty"), MIXED, ids=[case[0] for case in MIXED])
def test_columns_of_objects(kind: str, good: list[Any], nasty: list[Any]) -> None:
    plain = integers(Source.open({"x": good * 9, "i": [1] * 9 * len(good)}), kind)
    stated = Schema({"x": {"type": kind}})
    values = [*good, *nasty, *good * 8]
    frame = {"x": values, "i": [1] * len(values)}
    check(plain, integers(Source.open(frame, schema=stated), kind), len(nasty))
    frame["x"] = _objects(values)
    check(plain, integers(Source.open(pd.DataFrame(frame), schema=stated), kind), len(nasty))


@pytest.mark.parametrize(("kind", "good", "nasty"), MIXED, ids=[case[0] for case in MIXED])
def test_one_odd_object_does_not_decide_the_type(kind: str, good: list[Any], nasty: list[Any]) -> None:
    for value in nasty:
        for at in (0, 150, 300):
            values = [*(good * 300)[:at], value, *(good * 300)[at:300]]
            assert [f.kind for f in Source.open({"x": values}).fields] == [kind], value


def test_moments_beyond_the_calendar_are_its_nearer_end() -> None:
    far = [
        pd.Timestamp(np.datetime64("20000-02-29", "s")),
        np.datetime64(10**9, "Y"),
        np.datetime64("-0004-02-29"),
    ]
    source = Source.open({"x": far}, schema=Schema({"x": {"type": "timestamp"}}))
    last, first = Moment(9999, 12, 31), Moment(1, 1, 1)
    assert source.rows.to_pyarrow()["c0"].to_pylist() == [last, last, first]


NUMPY: list[tuple[str, Any, Any]] = [
    ("text", np.array(["a", "b"] * 3), np.array(["a", "b"] * 3 + ["\ud800"])),
    *(
        ("date", np.zeros(6, "datetime64[D]"), np.array([0] * 6 + [far], "datetime64[D]"))
        for far in (2**40, -(2**40), 2**62, "NaT")
    ),
]


@pytest.mark.parametrize(("kind", "plain", "odd"), NUMPY)
def test_arrays_of_numpy(kind: str, plain: Any, odd: Any) -> None:
    """One value that Arrow has no place for does not take the column away, and becomes no other one."""
    left, right = (integers(Source.open({"x": x, "i": [1] * len(x)}), kind) for x in (plain, odd))
    check(left, right)


def test_an_enum_of_text_is_what_it_holds() -> None:
    class Town(str, enum.Enum):  # noqa: UP042 - it prints as Town.ULM
        ULM = "a"

    assert integers(Source.open({"x": [Town.ULM] * 3, "i": [1] * 3}), "text") == integers(
        Source.open({"x": ["a"] * 3, "i": [1] * 3}), "text"
    )


def _objects(values: list[Any]) -> pd.Series:
    held = np.empty(len(values), dtype=object)
    for position, value in enumerate(values):
        held[position] = value
    return pd.Series(held, dtype=object)


@pytest.mark.parametrize("bad", [b"\xff", b"\xf0\x9d"])
def test_pandas_columns_that_hold_arrow(tmp_path: Path, bad: bytes) -> None:
    """pandas calls them objects, and fails where it makes one of text that is none or of a day after the year 9999."""

    def held(column: Any) -> Any:
        return pd.Series(pd.arrays.ArrowExtensionArray(column))

    good = [b"a", b"b", b"\xc3\xa9"] * 2
    plain = integers(Source.open(pa.table({"x": text_of(*good), "i": [1] * 6})), "text")
    texts, i = text_of(*good, bad), [1] * 7
    for column in (held(texts), held(texts.dictionary_encode())):
        check(plain, integers(Source.open(pd.DataFrame({"x": column, "i": i})), "text"))
    pq.write_table(pa.table({"x": texts, "i": i}), tmp_path / "x.parquet")
    check(plain, integers(Source.open(pd.read_parquet(tmp_path / "x.parquet")), "text"))
    days = [
        pa.array(values, pa.int32()).view(pa.date32()) for values in ([0, 1] * 3, [*[0, 1] * 3, 2**31 - 1])
    ]
    frames = [pd.DataFrame({"x": held(column), "i": [1] * len(column)}) for column in days]
    check(integers(Source.open(frames[0]), "date"), integers(Source.open(frames[1]), "date"))


def test_what_types_tell_is_refused_by_name_when_it_is_used() -> None:
    table = pa.table(
        {
            "n": [1, 2],
            "list": [[1], [2]],
            "bytes": [b"a", b"b"],
            "time": pa.array([0, 1], pa.time64("us")),
            "span": pa.array([0, 1], pa.duration("us")),
            "zoned": pa.array([0, 1], pa.timestamp("us", "UTC")),
            "nothing": pa.nulls(2),
            "struct": [{"a": 1}, {"a": 2}],
        }
    )
    for data in (table, table.to_pandas(), pl.from_arrow(table.drop(["nothing"]))):
        source = Source.open(data)
        found = exact.evaluate(source, query := source.table(SCHEMA).agg(s=sum("n", (0, 9))), Unit.rows())
        assert found[query.measures[0]].tolist() == [3]
        for name in ("list", "bytes", "time", "span", "zoned", "struct"):
            with pytest.raises(QueryRefused, match=f"column '{name}' has type .*, which cannot be used"):
                source.table(SCHEMA).filter(f'"{name}" IS NULL')


DUCKDB: list[tuple[str, str, str, list[str]]] = [
    ("integer", "BIGINT", "1", ["NULL", "9223372036854775807", "-9223372036854775808"]),
    ("number", "HUGEINT", "1", ["NULL", "170141183460469231731687303715884105727"]),
    ("number", "UHUGEINT", "1", ["340282366920938463463374607431768211455"]),
    ("number", "UBIGINT", "1", ["18446744073709551615"]),
    ("number", "DECIMAL(38, 38)", "0.5", ["0.00000000000000000000000000000000000001"]),
    ("number", "DOUBLE", "1", ["'nan'", "'inf'", "'-inf'", "5e-324", "NULL"]),
    ("number", "FLOAT", "1", ["'nan'", "'inf'", "1e-45"]),
    ("text", "VARCHAR", "'a'", ["chr(0)", "repeat('a', 100000)", "NULL"]),
    ("text", "ENUM('a', 'b')", "'a'", ["'b'", "NULL"]),
    ("text", "UUID", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", ["NULL", "uuid()"]),
    (
        "date",
        "DATE",
        "'2020-01-01'",
        ["'infinity'", "'-infinity'", "'5877642-06-25 (BC)'", "'5881580-07-10'", "NULL"],
    ),
    *(
        ("timestamp", name, "'2020-01-01'", ["'infinity'", "'-infinity'", far, "NULL"])
        for name, far in [
            ("TIMESTAMP", "'290309-12-22 (BC) 00:00:00'"),
            ("TIMESTAMP_S", "'294247-01-10'"),
            ("TIMESTAMP_MS", "'294247-01-10'"),
            ("TIMESTAMP_NS", "'2262-04-11 23:47:16.854775'"),
        ]
    ),
]


@pytest.mark.parametrize(("kind", "dtype", "good", "nasty"), DUCKDB, ids=[case[1] for case in DUCKDB])
def test_duckdb_tables(tmp_path: Path, kind: str, dtype: str, good: str, nasty: list[str]) -> None:
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE t (x {dtype}, i INTEGER)")
        connection.execute(f"INSERT INTO t SELECT CAST({good} AS {dtype}), 1 FROM range(5)")
        connection.execute("CREATE TABLE u AS FROM t")
        for value in nasty:
            connection.execute(f"INSERT INTO u VALUES (CAST({value} AS {dtype}), 1)")
    plain = integers(Source.open(path, table="t"), kind)
    check(plain, integers(Source.open(path, table="u"), kind), len(nasty))


@pytest.mark.parametrize(
    "dtype", ["TIMESTAMPTZ", "INTERVAL", "TIME", "BLOB", "INTEGER[]", "STRUCT(a INTEGER)", "BIT"]
)
def test_duckdb_types_without_use(tmp_path: Path, dtype: str) -> None:
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute(f"CREATE TABLE t (x {dtype}, i INTEGER)")
    source = Source.open(tmp_path / "t.duckdb", table="t")
    with pytest.raises(QueryRefused, match="column 'x' has type"):
        source.table(SCHEMA).filter("x IS NULL")
    source.close()


def test_ids_beyond_64_bits_with_a_sign_are_told_apart() -> None:
    source = Source.open(pa.table({"id": pa.array([2**63, 2**63 + 1, 2**64 - 1, 2**63], pa.uint64())}))
    query = source.table(SCHEMA).agg(n=count())
    assert exact.evaluate(source, query, Unit("id", max_rows=1))[query.measures[0]].tolist() == [3]


def test_the_ends_of_the_calendar_and_of_doubles() -> None:
    """Infinity is the largest value: it is counted, and on the right side."""
    moments = pa.array([2**62, -(2**62), 0]).view(pa.timestamp("s"))
    numbers = pa.array([math.inf, -math.inf, math.nan])
    source = Source.open(pa.table({"t": moments, "x": numbers}))
    for text, wanted in {
        "YEAR(t) = 9999": 1,
        "YEAR(t) = 1": 1,
        "x > 1e300": 1,
        "x < -1e300": 1,
        "x IS NULL": 1,
    }.items():
        query = source.table(SCHEMA).filter(text).agg(n=count())
        assert exact.evaluate(source, query, Unit.rows())[query.measures[0]].tolist() == [wanted], text


def test_parquet_files_that_differ_are_not_opened_together(tmp_path: Path) -> None:
    """A value that does not fit the first file's type would make a question fail."""
    pq.write_table(pa.table({"x": pa.array([1], pa.int32())}), tmp_path / "part-1.parquet")
    for other in (
        {"x": [2**40]},
        {"x": ["secret-value"]},
        {"y": pa.array([1], pa.int32())},
        {"x": pa.array([1], pa.int32()), "y": [1]},
    ):
        pq.write_table(pa.table(other), tmp_path / "part-2.parquet")
        with pytest.raises(SourceError, match="differ in the names or types of their columns"):
            Source.open(str(tmp_path / "part-*.parquet"))
