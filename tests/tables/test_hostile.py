"""A table and its neighbours look alike whatever is asked: random questions, nasty rows, every engine.

`make fuzz` runs far more of the same. Nothing here is a matter of chance: examples are the same in every run of CI.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.servers.postgres import PostgresServer
from tests.tables.engines import NoSpark, spark_session
from tests.tables.hostile import stores
from tests.tables.hostile.campaign import Try, engines, neighbours, run
from tests.tables.hostile.judge import Tally
from tests.tables.hostile.leaks import LEAKS, Planted

pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def tried(attempt: Try, worlds: int, seed: int) -> int:
    """How many cases so many worlds came to; the first leak fails."""
    tally = Tally()
    leak = run(attempt, worlds, seed, tally)
    if leak is not None:
        raise leak
    return tally.cases + tally.engines


@pytest.mark.parametrize("seed", range(4))
def test_frames(seed: int) -> None:
    assert tried(neighbours(stores.Reused(), "duckdb"), 9, seed) > 150


def test_parquet(tmp_path: Path) -> None:
    assert tried(neighbours(stores.parquet(tmp_path), "duckdb"), 4, 5) > 50


def test_postgres(postgres_server: PostgresServer) -> None:
    held = stores.postgres(postgres_server.fresh())
    assert tried(neighbours(held, "postgres"), 3, 6) > 30
    assert tried(engines({"duckdb": stores.frame, "postgres": held}), 8, 7) > 15


def test_sqlite(tmp_path: Path) -> None:
    held = stores.sqlite(tmp_path)
    assert tried(neighbours(held, "duckdb", names=0), 3, 8) > 30
    assert tried(engines({"duckdb": stores.frame, "sqlite": held}), 6, 9) > 10


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    try:
        session = spark_session()
    except NoSpark as missing:
        pytest.skip(str(missing))
    yield session
    session.stop()


def test_spark(spark: Any, tmp_path: Path) -> None:
    held = stores.spark(spark, tmp_path)
    assert tried(neighbours(held, "all", names=0), 1, 0) > 5
    assert tried(engines({"duckdb": stores.frame, "spark": held}), 3, 1) > 5


@pytest.mark.parametrize("planted", LEAKS, ids=[leak.name for leak in LEAKS])
def test_planted_leaks_are_found(planted: Planted, monkeypatch: pytest.MonkeyPatch) -> None:
    planted.plant(monkeypatch)
    tally = Tally()
    assert run(neighbours(stores.Reused(), "duckdb"), planted.worlds, 1, tally) is not None, tally
