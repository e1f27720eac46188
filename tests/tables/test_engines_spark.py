"""One question, one set of integers: on DuckDB and on Spark, for the nastiest of tables.

Then whole sessions on Spark: a release, keys discovered, a model. `engines` states their false alarms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dalenius.tables import Query, Source, Table, Unit, exact
from tests.tables import nasty
from tests.tables.engines import (
    NoSpark,
    check_discovery,
    check_fit,
    check_release,
    in_duckdb,
    in_spark,
    integers,
    spark_session,
)
from tests.tables.test_names import check_both
from tests.tables.test_nasty_records import check, questions

CASES = nasty.cases()
SCHEMA = nasty.SCHEMA

pytestmark = [
    # What PySpark and Ibis say about each other's and pandas' newest versions.
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.fixture(scope="module")
def duckdb_source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    return in_duckdb(nasty.arrow(), tmp_path_factory.mktemp("duckdb"))


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    try:
        session = spark_session()
    except NoSpark as missing:
        pytest.skip(str(missing))
    yield session
    session.stop()


@pytest.fixture(scope="module")
def spark_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("spark")


@pytest.fixture(scope="module")
def spark_source(spark: Any, spark_folder: Path) -> Source:
    return in_spark(nasty.arrow(), spark_folder, spark)


@pytest.fixture
def spark_frame(spark: Any, spark_source: Source, spark_folder: Path) -> Any:
    """The same rows as a DataFrame, which is what people have."""
    return spark.read.parquet(str(spark_folder / "spark.parquet"))


@pytest.mark.parametrize(("name", "ask", "unit"), CASES, ids=[case[0] for case in CASES])
def test_spark_agrees_with_duckdb(
    name: str, ask: Callable[[Table], Query], unit: Unit, duckdb_source: Source, spark_source: Source
) -> None:
    assert integers(spark_source, ask, unit) == integers(duckdb_source, ask, unit)


def test_names_that_differ_in_capitals_only(spark: Any) -> None:
    check_both(Source.open(spark.createDataFrame([(1, 30, "x"), (2, 40, "y")], "a int, A int, k string")))


NASTY = [
    ("number", "DOUBLE", "1", ["'NaN'", "'Infinity'", "'-Infinity'", "5e-324", "NULL"]),
    ("text", "STRING", "'a'", ["X'FF'", "X'61FE'", "NULL", "''"]),
    (
        "date",
        "DATE",
        "'2020-01-01'",
        ["date_add(DATE '9999-12-31', 400)", "date_sub(DATE '0001-01-01', 400)", "NULL"],
    ),
    (
        *("timestamp", "TIMESTAMP", "'2020-01-01'"),
        ["timestamp_micros(9223372036854775807)", "timestamp_micros(-9223372036854775807)", "NULL"],
    ),
]


@pytest.mark.parametrize(("kind", "dtype", "good", "nasty"), NASTY, ids=[case[1] for case in NASTY])
def test_one_record_can_only_spoil_itself(
    spark: Any, kind: str, dtype: str, good: str, nasty: list[str]
) -> None:
    plain, odd = (
        spark.sql(
            " UNION ALL ".join(
                f"SELECT CAST({value} AS {dtype}) AS x, 1 AS i" for value in [good, *values, "NULL"]
            )
        )
        for values in ([good], [good, *nasty])
    )
    told = []
    for frame in (plain, odd):
        source = Source.open(frame)
        query = questions(source.table(SCHEMA), kind)[0]
        found = exact.evaluate(source, query, Unit.rows())
        told.append([(m, found[m].ravel().tolist()) for m in query.measures if m.bins is None])
    check(told[0], told[1], len(nasty))


class TestSession:
    def test_release(self, spark_frame: Any) -> None:
        check_release(spark_frame)

    def test_discovery(self, spark_frame: Any) -> None:
        check_discovery(spark_frame)

    def test_fit(self, spark_frame: Any) -> None:
        check_fit(spark_frame)
