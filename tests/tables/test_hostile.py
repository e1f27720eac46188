"""A table and its neighbours look alike whatever is asked: random questions, nasty rows, every engine.

`make fuzz` runs far more of the same; those of Spark are in `tests.tables.engines.test_spark`. Nothing here is a matter
of chance: examples are the same in every run of CI.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.servers.postgres import PostgresServer
from tests.tables.hostile import databases, dtypes, lines, objects, relations, stores
from tests.tables.hostile.campaign import (
    EQUAL,
    Try,
    engines,
    fits_and_plans,
    neighbours,
    run,
    syntheses_and_feeds,
    whole,
)
from tests.tables.hostile.judge import Tally
from tests.tables.hostile.leaks import LEAKS, Planted
from tests.tables.hostile.sessions import LEGS

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
    print(tally.total, "cases")
    return tally.total


@pytest.mark.parametrize("seed", range(2))
def test_frames(seed: int) -> None:
    assert tried(neighbours(stores.frame, "duckdb"), 2, seed) > 150


def test_dates_and_text() -> None:
    assert tried(neighbours(stores.frame, "duckdb", units=16, mostly_dates=True), 2, 1) > 100


def test_units_of_several_columns(tmp_path: Path, postgres_server: PostgresServer) -> None:
    assert tried(neighbours(stores.frame, "duckdb", units=16, shared=True), 2, 1) > 100
    held = stores.postgres(postgres_server.fresh())
    assert tried(neighbours(held, "postgres", units=4, shared=True), 1, 2) > 10
    held = stores.sqlite(tmp_path)
    assert tried(neighbours(held, "duckdb", names=0, forms=False, units=4, shared=True), 1, 3) > 10


def test_public_tables_with_trouble(postgres_server: PostgresServer) -> None:
    """What whoever asks brings along meets some rows and not others."""
    assert tried(neighbours(stores.frame, "duckdb", units=8, brought=True), 1, 1) > 10
    held = stores.postgres(postgres_server.fresh())
    assert tried(neighbours(held, "postgres", units=4, brought=True), 1, 1) > 10


def test_parquet(tmp_path: Path) -> None:
    assert tried(neighbours(stores.parquet(tmp_path), "duckdb"), 2, 5) > 150


def test_parquet_of_equal_rows(tmp_path: Path) -> None:
    """Statistics and dictionaries of a file, which one odd row changes."""
    assert tried(neighbours(stores.parquet(tmp_path), "duckdb", equal=EQUAL), 2, 6) > 100


@pytest.mark.parametrize("records", ["lines", "quoted"])
def test_csv(records: str, tmp_path: Path) -> None:
    assert tried(neighbours(lines.csv(tmp_path, records), "duckdb", forms=False), 1, 7) > 50


@pytest.mark.parametrize("equal", [1, EQUAL])
def test_database_files(equal: int, tmp_path: Path) -> None:
    held = databases.database(tmp_path)
    assert tried(neighbours(held, "duckdb", names=0, equal=equal), 1, 8) > 50


def test_given_connections() -> None:
    assert tried(neighbours(databases.given(), "duckdb", names=0), 1, 9) > 100


def test_columns_of_objects() -> None:
    assert tried(neighbours(objects.objects, "duckdb", forms=False), 1, 10) > 50


@pytest.mark.parametrize("held", [dtypes.nullable, dtypes.polars], ids=["pandas", "polars"])
def test_columns_of_other_types(held: stores.Store) -> None:
    assert tried(neighbours(held, "duckdb", forms=False, units=8), 1, 11) > 20


def test_whole_sessions(tmp_path: Path) -> None:
    """And every leg of them is walked: a session in which all is refused tells nothing."""
    tally = Tally()
    leak = run(whole("duckdb", tmp_path), 3, 12, tally)
    if leak is not None:
        raise leak
    assert tally.total > 10
    for leg in LEGS:
        assert tally.asked[leg] > tally.asked[f"{leg}, refused"], (leg, tally.asked)


def test_syntheses_and_feeds(tmp_path: Path) -> None:
    assert tried(syntheses_and_feeds("duckdb", tmp_path), 2, 1) > 10


def test_fits_and_plans(tmp_path: Path) -> None:
    assert tried(fits_and_plans("duckdb", tmp_path), 3, 1) > 10


def test_duckdb_without_its_optimizer() -> None:
    """What DuckDB rewrites, and what it leaves alone because it was told to, means the same."""
    assert tried(engines({"duckdb": stores.frame, "no optimizer": stores.plain_frame}, units=2), 3, 2) > 30


def test_postgres(postgres_server: PostgresServer) -> None:
    held = stores.postgres(postgres_server.fresh())
    assert tried(neighbours(held, "postgres"), 2, 6) > 100
    assert tried(engines({"duckdb": stores.frame, "postgres": held}), 1, 7) > 20


def test_sqlite(tmp_path: Path) -> None:
    held, same = stores.sqlite(tmp_path), stores.sqlite(tmp_path, anything=False)
    assert tried(neighbours(held, "duckdb", names=0, forms=False), 1, 12) > 50
    assert tried(engines({"duckdb": stores.frame, "sqlite": same}), 1, 13) > 20


def test_joined_tables() -> None:
    """One unit has rows in both tables; what of it meets, and nothing else, may show."""
    assert tried(relations.neighbours(relations.in_frames, "duckdb", units=16), 1, 1) > 40


def test_joined_tables_of_postgres(postgres_server: PostgresServer) -> None:
    held = relations.in_postgres(postgres_server.fresh())
    assert tried(relations.neighbours(held, "postgres", units=4), 1, 2) > 10
    assert tried(relations.engines({"duckdb": relations.in_frames, "postgres": held}, units=2), 1, 3) > 5


def test_joined_tables_of_sqlite(tmp_path: Path) -> None:
    held = relations.in_sqlite(tmp_path)
    assert tried(relations.neighbours(held, "duckdb", 0, units=2), 1, 4) > 5
    assert tried(relations.engines({"duckdb": relations.in_frames, "sqlite": held}, units=1), 1, 5) > 2


@pytest.mark.parametrize("planted", LEAKS, ids=[leak.name for leak in LEAKS])
def test_planted_leaks_are_found(planted: Planted) -> None:
    tally = Tally()
    assert planted.sought(1, tally) is not None, tally
