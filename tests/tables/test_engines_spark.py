"""One question, one set of integers: on DuckDB and on Spark, for the nastiest of tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from dalenius.tables import Query, Source, Table, Unit
from tests.tables import nasty
from tests.tables.engines import NoSpark, in_duckdb, in_spark, integers, spark_session

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
def spark_source(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Source]:
    try:
        session = spark_session()
    except NoSpark as missing:
        pytest.skip(str(missing))
    yield in_spark(nasty.arrow(), tmp_path_factory.mktemp("spark"), session)
    session.stop()


@pytest.mark.parametrize(("name", "ask", "unit"), CASES, ids=[case[0] for case in CASES])
def test_spark_agrees_with_duckdb(
    name: str, ask: Callable[[Table], Query], unit: Unit, duckdb_source: Source, spark_source: Source
) -> None:
    assert integers(spark_source, ask, unit) == integers(duckdb_source, ask, unit)
