"""The same rows in every engine."""

from __future__ import annotations

import datetime
import itertools
import math
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import dalenius as dp
from dalenius.session.ledger import Ledger
from dalenius.tables import Query, Source, Table, Unit
from dalenius.tables.compute import exact
from dalenius.tables.release.answer import Answer
from tests.noise.seeded import seeded
from tests.tables import nasty, reference

Hold = Callable[[pa.Table], tuple[Any, dict[str, Any]]]
"""Puts a table into an engine; what `Source.open` needs to open it."""

numbers = itertools.count()


def parquet(folder: Path) -> Hold:
    """A Parquet file, whose statistics DuckDB uses."""

    def hold(table: pa.Table) -> tuple[Any, dict[str, Any]]:
        path = folder / f"data{next(numbers)}.parquet"
        pq.write_table(table, path, row_group_size=100)
        return path, {}

    return hold


def duckdb_file(folder: Path) -> Hold:
    def hold(table: pa.Table) -> tuple[Any, dict[str, Any]]:
        import duckdb

        path = folder / f"data{next(numbers)}.duckdb"
        with duckdb.connect(str(path)) as connection:
            connection.register("given", table)
            connection.execute("CREATE TABLE data AS SELECT * FROM given")
        return path, {"table": "data"}

    return hold


POSTGRES = {
    "int64": "bigint",
    "int32": "integer",
    "int16": "smallint",
    "double": "double precision",
    "float": "real",
    "string": "text",
    "bool": "boolean",
    "date32[day]": "date",
    "timestamp[us]": "timestamp",
    "decimal128(12, 2)": "numeric(12,2)",
}


def postgres(url: str) -> Hold:
    def hold(table: pa.Table) -> tuple[Any, dict[str, Any]]:
        import psycopg

        name = f"data{next(numbers)}"
        columns = ", ".join(f"{field.name} {POSTGRES[str(field.type)]}" for field in table.schema)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"CREATE TABLE {name} ({columns})")
            with connection.cursor() as cursor, cursor.copy(f"COPY {name} FROM STDIN") as copy:
                for row in table.to_pylist():
                    copy.write_row(tuple(row.values()))
        return url, {"table": name}

    return hold


def sqlite(folder: Path) -> Hold:
    def hold(table: pa.Table) -> tuple[Any, dict[str, Any]]:
        path = folder / f"data{next(numbers)}.sqlite"
        columns = ", ".join(f"{field.name} {POSTGRES[str(field.type)]}" for field in table.schema)
        marks = ", ".join("?" * table.num_columns)
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(f"CREATE TABLE data ({columns})")
            rows = ([_in_sqlite(value) for value in row.values()] for row in table.to_pylist())
            connection.executemany(f"INSERT INTO data VALUES ({marks})", rows)
        return path, {"table": "data"}

    return hold


def _in_sqlite(value: Any) -> Any:
    if isinstance(value, datetime.date):
        return value.isoformat()
    return float(value) if isinstance(value, Decimal) else value


class NoSpark(Exception):
    """There is no Java to run Spark; the message says what to install."""


def spark_session() -> Any:
    """A small local Spark, quiet, on the loopback address only."""
    home = os.environ.get("JAVA_HOME")
    if shutil.which(os.path.join(home, "bin", "java") if home else "java") is None:
        raise NoSpark(
            "Spark needs Java 17 or later: apt-get install default-jre-headless, brew install openjdk."
        )
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.default.parallelism": "1",
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.codegen.wholeStage": "false",  # compiling costs more than it saves on a few hundred rows
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # nor does optimizing
    }
    builder = SparkSession.builder.master("local[1]").appName("dalenius tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def spark(session: Any, folder: Path) -> Hold:
    def hold(table: pa.Table) -> tuple[Any, dict[str, Any]]:
        path = folder / f"spark{next(numbers)}.parquet"
        pq.write_table(table, path)
        return session.read.parquet(str(path)), {}

    return hold


def integers(source: Source, ask: Callable[[Table], Query], unit: Unit) -> tuple[Any, ...]:
    """What a question is answered from, before any noise."""
    table = exact.evaluate(source, ask(source.table(nasty.SCHEMA)), unit)
    return table.keys, [(measure.kind, values.tolist()) for measure, values in table.values.items()]


class Calls:
    """A function that counts how often an engine calls it."""

    def __init__(self) -> None:
        self.count = 0

    def sqrt(self, x: float | None) -> float | None:
        self.count += 1
        return None if x is None else math.sqrt(x)


# Whole sessions on an engine. Noise is seeded: each of these holds always or never. A cell is allowed seven standard
# deviations of its noise, which a fresh draw would exceed with probability below 3e-12.

UNIT = Unit("id", max_rows=3)


def agrees(answer: Answer, query: Query, unit: Unit) -> bool:
    """Whether everything released is within its noise of the numbers that plain Python works out of the same rows."""
    keys, values = reference.evaluate(nasty.arrow().to_pylist(), query, unit)
    released = answer.released.measures
    away = [np.abs(told.values - values[m]).max() / told.sigma for m, told in released.items()]
    return answer.keys == list(keys) and len(away) > 0 and max(away) < 7


def check_release(data: Any, **options: Any) -> None:
    """A release at a huge price is the exact answer, and not that of another bound on the rows of a unit."""
    asked = dp.Session(data, unit=UNIT, budget=dp.ZCDP(1e4), schema=nasty.SCHEMA, **options)
    groups = asked.table.filter("g < 9").group_by("k", keys=nasty.KEYS)
    query = groups.agg(
        n=dp.count(),
        who=dp.count_distinct(),
        total=dp.sum("h", bounds=(0, 30)),
        mean=dp.mean("h", bounds=(0, 30)),
        spread=dp.histogram("h", bins=3, bounds=(0, 30)),
    )
    with seeded(1):
        answer = asked.release(query, dp.ZCDP(1e4))
    assert agrees(answer, query, UNIT)
    assert not agrees(answer, query, Unit("id", max_rows=2))
    assert asked.remaining == dp.ZCDP(0.0)


def check_discovery(data: Any, **options: Any) -> None:
    """Keys shared by many units come to light; where a key needs more units than there are, none does."""
    budget = dp.ApproxDP(200.0, 1e-6)
    asked = dp.Session(data, unit=UNIT, budget=budget, schema=nasty.SCHEMA, **options)
    query = asked.table.group_by("k", keys=dp.discover()).agg(n=dp.count(), h=dp.sum("h", bounds=(0, 30)))
    with seeded(2):
        answer = asked.release(query, dp.ApproxDP(100.0, 1e-7))
        nothing = asked.release(query, dp.ApproxDP(0.1, 1e-7))
    assert answer.keys == [("x",), ("y",), ("z",), ("é",)]
    listed = asked.table.group_by("k", keys=[key for (key,) in answer.keys]).agg(**dict(query.aggregates))
    assert agrees(answer, listed, UNIT)
    assert nothing.keys == []


def check_fit(data: Any, **options: Any) -> None:
    """The same bits give the same model as on DuckDB, rows in whatever order, and it has learned something."""
    where = (data, options), (nasty.arrow(), {})
    fits = []
    for place, more in where:
        asked = dp.Session(place, unit=UNIT, budget=dp.ZCDP(2e3), schema=nasty.SCHEMA, **more)
        with seeded(3):
            fits.append(
                asked.fit(dp.learn.LinearRegression(dp.ZCDP(100.0)), {"h": (-3, 39)}, {"h": (-3, 39)})
            )
        assert asked.remaining.rho < 2e3 - 899  # type: ignore[attr-defined]
    here, there = (fit[-1] for fit in fits)
    assert np.array_equal(here.coef_, there.coef_)
    assert here.intercept_ == there.intercept_
    assert np.abs(fits[0].predict([[0], [20], [39]]) - [0, 20, 39]).max() < 3


ASKING = """
import sys, dalenius as dp
s = dp.Session(sys.argv[1], table="slow", unit=dp.Unit.rows(), budget=dp.ZCDP(1), schema=dp.Schema(nulls="drop"),
               ledger=sys.argv[2])
try:
    s.release(s.table.agg(n=dp.count(), m=dp.mean("n", bounds=(0, 9))), dp.ZCDP(0.5))
except KeyboardInterrupt:
    print("interrupted")
"""


def check_interrupt(path: Path, folder: Path) -> None:
    """Ctrl-C while a view called slow is read: it stops, says so, and the ledger says that there is no answer."""
    ledger = folder / "ledger"
    asking = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", ASKING, str(path), str(ledger)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        started = time.monotonic()
        while time.monotonic() < started + 100 and not (ledger.exists() and Ledger.open(ledger).accounts()):
            time.sleep(0.2)
        time.sleep(2)  # the charge is written before the engine is asked
        asking.send_signal(signal.SIGINT)
        told, _ = asking.communicate(timeout=60)
    finally:
        asking.kill()
    assert (asking.returncode, told) == (0, "interrupted\n")
    assert Ledger.open(ledger).verify().failures == 1
