"""One question, one set of integers: on DuckDB and on Spark, for the nastiest of tables.

Then whole sessions on Spark: a release, keys discovered, a model. `engines` states their false alarms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dalenius.tables import Query, Source, Table, Unit
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

CASES = nasty.cases()

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


class TestSession:
    def test_release(self, spark_frame: Any) -> None:
        check_release(spark_frame)

    def test_discovery(self, spark_frame: Any) -> None:
        check_discovery(spark_frame)

    def test_fit(self, spark_frame: Any) -> None:
        check_fit(spark_frame)
