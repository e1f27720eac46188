"""Every kind of place that a steward may register, the whole way: registered, opened, granted, asked."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

from dalenius.web.datasets.sources import spark as place
from tests.web.console import Console

ROWS = 400
PEOPLE = pd.DataFrame({"person": range(ROWS), "age": [20, 30] * (ROWS // 2)})


def asked(console: Console, name: str, source: dict[str, Any]) -> None:
    """The number of rows, as an analyst is told it: right to a few."""
    stella, anna, where = console.api("Stella"), console.api("Anna"), f"/api/v1/datasets/{name}"
    facts = {"people": {"person": {"nulls": "never"}, "age": {"bounds": [0, 100], "nulls": "drop"}}}
    draft = {
        "name": name,
        "title": "People",
        "source": source,
        "facts": facts,
        "unit": {"kind": "id", "column": "person", "max_rows": 1},
        "budget": {"kind": "zcdp", "rho": "10"},
    }
    made = stella.post("/api/v1/datasets", json=draft)
    assert made.status_code == 201, made.text
    assert [each["column"] for each in made.json()["tables"]["people"]] == ["person", "age"]
    assert stella.post(f"{where}/open").status_code == 200
    assert stella.put(f"{where}/grants/Anna").status_code == 204
    question = {"sql": "SELECT COUNT(*) AS n, AVG(age) AS age FROM people"}
    told = anna.post(f"{where}/releases", json={"question": question, "budget": {"kind": "zcdp", "rho": "5"}})
    assert told.status_code == 202, told.text
    job = f"/api/v1/jobs/{told.json()['job']}"
    for _ in range(5):
        done = anna.get(job, params={"wait": 60}).json()
        if done["state"] not in ("waiting", "running"):
            break
    assert done["state"] == "done", done
    row = dict(
        zip([each["name"] for each in done["answer"]["columns"]], done["answer"]["rows"][0], strict=True)
    )
    assert abs(row["n"] - ROWS) < 10
    assert abs(row["age"] - 25) < 5


def test_a_table_of_duckdb(console: Console) -> None:
    with closing(duckdb.connect(str(console.data / "register.duckdb"))) as connection:
        connection.register("given", PEOPLE)
        connection.execute("CREATE TABLE people AS SELECT * FROM given")
    asked(console, "ducks", {"kind": "database file", "file": "register.duckdb", "tables": "people"})


def test_a_table_of_sqlite(console: Console) -> None:
    with closing(sqlite3.connect(console.data / "register.sqlite")) as connection:
        PEOPLE.to_sql("people", connection, index=False)
    asked(
        console, "lite", {"kind": "database file", "file": "register.sqlite", "tables": {"people": "people"}}
    )


@pytest.fixture
def spark() -> Iterator[Any]:
    from tests.tables.engines.holds import NoSpark, spark_session

    try:
        session = spark_session()
    except NoSpark as missing:
        pytest.skip(str(missing))
    place.connected.cache_clear()
    yield session
    place.connected.cache_clear()
    session.stop()


def test_a_table_of_spark(tmp_path: Path, spark: Any) -> None:
    """Without Spark Connect: the session is that of the server's own environment."""
    PEOPLE.to_parquet(tmp_path / "people.parquet")
    spark.read.parquet(str(tmp_path / "people.parquet")).createOrReplaceTempView("people")
    (tmp_path / "console").mkdir()
    with Console.made(tmp_path / "console", source_schemes=("spark",)) as console:
        asked(console, "sparks", {"kind": "spark", "tables": "people"})


@pytest.mark.slow
def test_a_table_of_spark_connect(tmp_path: Path) -> None:
    """By SPARK_REMOTE, as docs/operate.md says it; in a process of its own, since a process has one Spark.

    pyspark starts the server itself where SPARK_REMOTE is local."""
    pytest.importorskip("grpc", reason="pip install 'dalenius[spark]'")
    environment = {**os.environ, "SPARK_REMOTE": "local[1]", "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [sys.executable, "-m", "tests.web.test_sources", str(tmp_path)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr[-3000:]
    assert "pyspark.sql.connect.session.SparkSession" in run.stdout


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    PEOPLE.to_parquet(folder / "people.parquet")
    remote = place.connected()
    print(f"{type(remote).__module__}.{type(remote).__name__}")
    remote.read.parquet(str(folder / "people.parquet")).createOrReplaceTempView("people")
    (folder / "console").mkdir()
    with Console.made(folder / "console", source_schemes=("spark",)) as far:
        asked(far, "far", {"kind": "spark", "tables": "people"})
    os._exit(0)  # the server that pyspark started would be waited for
