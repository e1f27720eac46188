"""Spark, on one machine; all of it in one class, which one worker runs with one Java."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from dalenius.errors import SourceError
from dalenius.tables import Query, Schema, Source, Table, Unit
from dalenius.tables.compute import exact
from tests.sample import sampled
from tests.tables.engine_contract import CASES, EngineContract
from tests.tables.engines import holds
from tests.tables.engines.holds import Hold, NoSpark, spark_session
from tests.tables.engines.test_nasty_records import check, questions
from tests.tables.hostile import relations, stores
from tests.tables.hostile.campaign import engines, neighbours
from tests.tables.relations.test_explode import EXPECTED, LISTS, counted, session
from tests.tables.rows.test_names import check_both
from tests.tables.test_hostile import tried

SCHEMA = Schema(nulls="drop")

pytestmark = [
    # What PySpark and Ibis say about each other's and pandas' newest versions.
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    try:
        session = spark_session()
    except NoSpark as missing:
        pytest.skip(str(missing))
    yield session
    session.stop()


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

FEWER = sampled(CASES)
"""A question takes Spark a second, and it is asked dozens more by `test_hostile` below."""


class TestSpark(EngineContract):
    name = "pyspark"

    @pytest.fixture(scope="class")
    @classmethod
    def hold(cls, spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Hold:
        return holds.spark(spark, tmp_path_factory.mktemp("spark"))

    @pytest.fixture
    def collating(self, spark: Any) -> Source | None:
        if int(spark.version.split(".")[0]) < 4:
            return None
        return Source.open(spark.sql("SELECT s COLLATE UTF8_LCASE AS s FROM VALUES ('a'), ('A') AS v(s)"))

    @pytest.mark.parametrize(("name_", "ask", "unit"), FEWER, ids=[case[0] for case in FEWER])
    def test_integers_are_those_of_any_other(
        self, name_: str, ask: Callable[[Table], Query], unit: Unit, source: Source, elsewhere: Source
    ) -> None:
        super().test_integers_are_those_of_any_other(name_, ask, unit, source, elsewhere)

    # Below a fraction, and in filters that it moves to where the data is, Spark writes columns out; what they share it
    # finds when it runs, which the plan does not show.
    computed = "y * y + y", "x >= 0"

    def roots(self, source: Source, asked: exact.Evaluation) -> int:
        """As often as the optimized plan has them."""
        summed, binned = asked.statements
        mentions, backend = 0, source._backend
        for statement in (summed, *binned.values()):
            backend._run_pre_execute_hooks(statement)
            plan = backend._session.sql(backend.compile(statement))._jdf.queryExecution().optimizedPlan()
            mentions += plan.toString().count("SQRT(")
        return mentions * source.fetch(source.rows.select(n=source.rows["c0"].notnull())).num_rows

    @pytest.mark.parametrize("kind", ["csv", "CSV", "text", "binaryFile"])
    def test_a_file_is_never_taken_for_a_table(self, spark: Any, tmp_path: Path, kind: str) -> None:
        """Spark reads `csv`.`/a/file` as a file: any that it can reach, and each another place with another budget."""
        (tmp_path / "secret").write_text("user\nroot\n")
        with pytest.raises(SourceError, match="there is no table"):
            Source.open(spark, table=f"{kind}.{tmp_path}/secret")

    def test_names_that_differ_in_capitals_only(self, spark: Any) -> None:
        check_both(Source.open(spark.createDataFrame([(1, 30, "x"), (2, 40, "y")], "a int, A int, k string")))

    @pytest.mark.parametrize(("kind", "dtype", "good", "nasty"), NASTY, ids=[case[1] for case in NASTY])
    def test_one_record_can_only_spoil_itself(
        self, spark: Any, kind: str, dtype: str, good: str, nasty: list[str]
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

    def test_hostile(self, spark: Any, tmp_path: Path) -> None:
        """A few cases of `tests.tables.test_hostile`, here because a second Spark would take longer to start."""
        held = stores.spark(spark, tmp_path)
        assert tried(neighbours(held, "all", names=0, units=4), 1, 0) > 5
        assert tried(engines({"duckdb": stores.frame, "spark": held}, units=1), 1, 1) > 5

    def test_joined_tables(self, spark: Any, tmp_path: Path) -> None:
        """The same rows of the same units meet as in DuckDB, lists included."""
        held = {"duckdb": relations.in_frames, "spark": relations.in_spark(spark, tmp_path)}
        assert tried(relations.engines(held, units=1), 1, 8) > 4
        pq.write_table(LISTS, tmp_path / "lists.parquet")
        assert counted(session(spark.read.parquet(str(tmp_path / "lists.parquet")))) == EXPECTED
