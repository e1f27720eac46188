"""The same rows in every engine."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dalenius.tables import Query, Source, Table, Unit, exact
from tests.tables import nasty


def in_duckdb(table: pa.Table, folder: Path) -> Source:
    """By way of a Parquet file, whose statistics DuckDB uses."""
    path = folder / "data.parquet"
    pq.write_table(table, path, row_group_size=100)
    return Source.open(path)


def in_postgres(table: pa.Table, url: str) -> Source:
    import psycopg

    columns = ", ".join(f"{name} {nasty.TYPES[name][1]}" for name in table.column_names)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE TABLE data ({columns})")
        with connection.cursor() as cursor, cursor.copy("COPY data FROM STDIN") as copy:
            for row in table.to_pylist():
                copy.write_row(tuple(row.values()))
    return Source.open(url, table="data")


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
    }
    builder = SparkSession.builder.master("local[1]").appName("dalenius tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def in_spark(table: pa.Table, folder: Path, session: Any) -> Source:
    path = folder / "spark.parquet"
    pq.write_table(table, path)
    return Source.open(session.read.parquet(str(path)))


def integers(source: Source, ask: Callable[[Table], Query], unit: Unit) -> tuple[Any, ...]:
    """What a question is answered from, before any noise."""
    table = exact.evaluate(source, ask(source.table(nasty.SCHEMA)), unit)
    return table.keys, [(measure.kind, values.tolist()) for measure, values in table.values.items()]
