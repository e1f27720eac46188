"""Keys are looked at only once they have come to light; until then any key is as good as another."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dalenius as dp
from dalenius.calculus.guarantees import GDP
from dalenius.core.adjacency import ADD_REMOVE
from dalenius.mechanisms import Gaussian
from dalenius.tables import Schema, Source, Unit, count, discover, histogram, mean
from dalenius.tables.compute import exact
from dalenius.tables.compute.discovery import Discovery, discovery
from dalenius.tables.facts.keys import LONGEST, read_key
from tests.noise.seeded import seeded
from tests.servers.postgres import PostgresServer

SCHEMA = Schema(nulls="drop")


def keys_of(source: Source, *columns: str) -> list[Any]:
    query = (
        source.table(SCHEMA).group_by(*columns, keys=discover()).agg(n=count(), h=histogram("x", 3, (0, 1)))
    )
    return exact.evaluate(source, query, Unit.rows()).keys


def found_in(source: Source, column: str, unit: Unit, mu: float = 50.0) -> list[Any]:
    query = source.table(SCHEMA).group_by(column, keys=discover()).agg(n=count())
    made = discovery(query, unit, GDP(mu), 1e-6, ADD_REMOVE)
    with seeded(1):
        return made.keys(exact.evaluate(source, made.finding, unit))


def test_dates_beyond_the_calendar(tmp_path: Path) -> None:
    import duckdb

    path = tmp_path / "days.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE days (d DATE, x DOUBLE)")
        for day in ("infinity", "-infinity", "5881580-07-10", "4000-01-01 (BC)", "2020-02-29"):
            connection.execute(f"INSERT INTO days VALUES ('{day}', 0.5)")
    source = Source.open(path, table="days")
    ends = [(datetime.date.min,), (datetime.date(2020, 2, 29),), (datetime.date.max,)]
    assert keys_of(source, "d") == ends
    source.close()


def test_infinite_dates_of_postgres(postgres_server: PostgresServer) -> None:
    import psycopg

    url = postgres_server.fresh()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE days (d date, x float8)")
        connection.execute("INSERT INTO days VALUES ('infinity', 1), ('-infinity', 1), ('99999-01-01', 1)")
        connection.execute("INSERT INTO days SELECT '2020-02-29', 1 FROM generate_series(1, 40)")
    source = Source.open(url, table="days")
    day = datetime.date(2020, 2, 29)
    assert keys_of(source, "d") == [(datetime.date.min,), (day,), (datetime.date.max,)]
    assert found_in(source, "d", Unit.rows()) == [(day,)]
    source.close()


def test_bytes_that_are_no_text() -> None:
    """One person's broken bytes change nothing for the others, and are in no exception."""
    buffer = pa.array([b"\xff\xfe secret", *[b"caf\xc3\xa9"] * 40], pa.binary())
    text = pa.Array.from_buffers(pa.string(), len(buffer), buffer.buffers())
    source = Source.open(pa.table({"s": text, "x": [0.5] * len(buffer)}))
    assert found_in(source, "s", Unit.rows()) == [("café",)]


def test_a_text_of_no_end_is_nobodys_key() -> None:
    kept = ["x" * LONGEST, "y"]
    source = Source.open(pa.table({"s": [*kept, "x" * (LONGEST + 1), "é" * LONGEST], "x": [0.5] * 4}))
    assert keys_of(source, "s") == [(key,) for key in kept]


@pytest.mark.parametrize(
    ("code", "kind", "key"),
    [
        ("", "text", ""),
        ("c3a9", "text", "é"),
        ("C3A9", "text", "é"),
        ("ff", "text", None),
        ("eda080", "text", None),  # half of a surrogate pair
        (20200229, "date", datetime.date(2020, 2, 29)),
        (99991231, "date", datetime.date.max),
        (999990101, "date", None),
        (1, "bool", True),
        (-(2**63), "integer", -(2**63)),
    ],
)
def test_codes(code: Any, kind: Any, key: Any) -> None:
    (found,) = read_key((code,), (kind,))
    assert found == key
    assert type(found) is type(key)


def some(max_groups: int = 3) -> Discovery:
    source = Source.open(pa.table({"id": [1], "s": ["a"], "x": [0.5]}))
    query = source.table(SCHEMA).group_by("s", keys=discover()).agg(m=mean("x", (0, 1)))
    return discovery(query, Unit("id", max_rows=max_groups), GDP(1.0), 1e-6, ADD_REMOVE)


@pytest.mark.parametrize("max_groups", [3, 5000])
def test_noise_does_not_depend_on_the_number_of_keys(
    monkeypatch: pytest.MonkeyPatch, max_groups: int
) -> None:
    """Noise depends on the length of a vector, a little; so vectors have one length, in which any two neighbours differ
    in fewer places."""
    lengths = set()
    release = Gaussian.release

    def told(self: Gaussian, value: Any) -> Any:
        lengths.add(np.shape(value))
        return release(self, value)

    monkeypatch.setattr(Gaussian, "release", told)
    made = some(max_groups)
    for size in (0, 1, 2, 4095, 4096, 4097, 20_001):
        assert made._noisy(np.zeros(size, dtype=np.int64)).shape == (size,)
    ((length,),) = lengths
    assert length >= 2 * max_groups


def test_the_counts_are_what_noise_is_added_to() -> None:
    """The noise of 5000 counts has the mean of the counts and the variance of the mechanism: each beyond six standard
    errors with probability below 1e-8."""
    made = some()
    counts = np.arange(5000)
    with seeded(3):
        noise = made._noisy(counts) - counts
    sigma = made.mechanism.sigma
    assert abs(noise.mean()) < 6 * sigma / 5000**0.5
    assert abs(noise.var() / sigma**2 - 1) < 6 * (2 / 5000) ** 0.5


def test_too_many_keys_are_cut_by_their_noisy_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    source = Source.open(pa.table({"s": [*"a" * 90, *"b" * 80, *"c" * 100], "x": [0.5] * 270}))
    assert found_in(source, "s", Unit.rows()) == [("a",), ("b",), ("c",)]
    monkeypatch.setattr("dalenius.tables.compute.discovery.LARGEST", 2)
    assert found_in(source, "s", Unit.rows()) == [("a",), ("c",)]


def test_a_session_asks_about_the_keys_it_found() -> None:
    rows = pa.table({"id": range(300), "s": [*"ab" * 140, *map(str, range(20))], "x": [0.25] * 300})
    session = dp.Session(rows, unit=Unit("id", max_rows=1), budget=dp.ApproxDP(50.0, 1e-5), schema=SCHEMA)
    query = session.table.group_by("s", keys=discover()).agg(n=count(), m=mean("x", (0, 1)))
    with seeded(4):
        answer = session.release(query, dp.ApproxDP(20.0, 1e-6))
    assert answer.keys == [("a",), ("b",)]
