"""Campaigns: what is tried on each engine, in batches that depend on one number each."""

from __future__ import annotations

import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import Random

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests import same_examples
from tests.tables.hostile import databases, dtypes, lines, models, objects, relations, stores
from tests.tables.hostile.judge import Leak, Tally, agree, judge
from tests.tables.hostile.made import made
from tests.tables.hostile.questions import questions
from tests.tables.hostile.rows import worlds
from tests.tables.hostile.sessions import sessions

QUESTIONS = 8
"""Asked of each world."""

FOUR = (4, 4)
"""Rows of the one neighbour that has several, where there are few neighbours: more than any unit may have."""

EQUAL = 2500
"""So many equal rows that an engine takes them for a column of one value."""

Try = Callable[[st.DataObject, Random, Tally], None]

same_examples.settle()


def neighbours(
    store: stores.Store,
    engine: str,
    names: int | None = None,
    equal: int = 1,
    forms: bool = True,
    units: int = 32,
    mostly_dates: bool = False,
    shared: bool = False,
    brought: bool = False,
) -> Try:
    """A world and questions: does anything tell its neighbours apart? shared: units have ids of several columns, and
    share the first of them with other units. brought: public tables hold trouble."""

    def attempt(data: st.DataObject, random: Random, tally: Tally) -> None:
        world = worlds(random, engine, names, units=units, equal=equal, forms=forms)
        world = world.shared(random) if shared else world
        asked = [data.draw(questions(world.names, mostly_dates, shared, brought)) for _ in range(QUESTIONS)]
        judge(store, world, asked, tally)

    return attempt


def engines(held: Mapping[str, stores.Store], units: int = 6, mostly_dates: bool = False) -> Try:
    """A world that every engine can hold: do they count the same?"""

    def attempt(data: st.DataObject, random: Random, tally: Tally) -> None:
        world = worlds(random, "all", names=0, units=units)
        agree(held, world, [data.draw(questions(world.names, mostly_dates)) for _ in range(QUESTIONS)], tally)

    return attempt


def whole(engine: str, place: Path) -> Try:
    """Whole sessions, with a ledger."""

    def attempt(data: st.DataObject, random: Random, tally: Tally) -> None:
        world = worlds(random, engine, 0, units=6, equal=random.choice((1, 1, 300)))
        sessions(place, world, [data.draw(questions(world.names)) for _ in range(4)], random, tally)

    return attempt


def syntheses_and_feeds(engine: str, place: Path) -> Try:
    """Whole sessions, with a ledger, in which tables are made up and counts published again and again."""

    def attempt(_data: st.DataObject, random: Random, tally: Tally) -> None:
        world = worlds(random, engine, units=3, equal=random.choice((1, 1, 1, 300)), several=FOUR)
        made(place, world, random, tally)

    return attempt


def fits_and_plans(engine: str, place: Path) -> Try:
    """Whole sessions, with a ledger, in which models are fitted and evaluated, and several questions asked at once."""

    def attempt(_data: st.DataObject, random: Random, tally: Tally) -> None:
        world = worlds(random, engine, units=3, equal=random.choice((1, 1, 1, 300)), several=FOUR)
        made(place, world, random, tally, models.MAKERS)

    return attempt


class _Found(BaseException):
    """Ends a batch at its first leak. No Exception, which Hypothesis would want to see again."""


def run(attempt: Try, count: int, number: int, tally: Tally) -> Leak | None:
    """So many worlds of one batch; the first leak, if there is one. What is drawn depends on the number alone."""

    @seed(number)
    @settings(
        max_examples=count + 1,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],  # a world is small, and shrinking one takes minutes
        report_multiple_bugs=False,
    )
    @given(st.data())
    def some(data: st.DataObject) -> None:
        place = data.draw(st.integers(0, 2**32))
        if place == 0:  # Hypothesis begins with the simplest questions there are
            return
        try:
            attempt(data, Random(f"{number} {place}"), tally)
        except Leak as leak:
            raise _Found(leak) from None
        except Exception:  # whatever it is, it must not be
            raise _Found(Leak(traceback.format_exc())) from None

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            some()
        except _Found as found:
            leak: Leak = found.args[0]
            return leak
    return None


WORLDS = {"duckdb": 3, "postgres": 2, "sqlite": 3, "spark": 1}
"""In one batch."""

SHARES: Mapping[str, Mapping[str, float]] = {
    "duckdb": {
        "frames": 0.13,
        "frames, mostly dates and text": 0.04,
        "frames, units of several columns": 0.03,
        "frames and odd public tables": 0.03,
        "joined frames": 0.03,
        "Parquet files": 0.18,
        "Parquet files of equal rows": 0.12,
        "CSV files, records=lines": 0.1,
        "CSV files, records=quoted": 0.05,
        "DuckDB files": 0.04,
        "DuckDB files of equal rows": 0.03,
        "given connections": 0.05,
        "pandas objects": 0.06,
        "pandas types of its own": 0.02,
        "Polars frames and mappings": 0.02,
        "whole sessions": 0.01,
        "syntheses and feeds": 0.005,
        "fits and plans": 0.005,
        "the same integers without an optimizer": 0.05,
    },
    "postgres": {
        "tables": 0.6,
        "tables, units of several columns": 0.05,
        "tables and odd public tables": 0.05,
        "tables of equal rows": 0.05,
        "joined tables": 0.1,
        "the same integers as DuckDB": 0.15,
    },
    "sqlite": {
        "files": 0.55,
        "files, units of several columns": 0.05,
        "files of equal rows": 0.1,
        "joined tables": 0.1,
        "the same integers as DuckDB": 0.2,
    },
    "spark": {"Parquet files": 0.5, "joined files": 0.1, "the same integers as DuckDB": 0.4},
}
"""What part of an engine's cases goes where."""


@contextmanager
def attempts(engine: str) -> Iterator[dict[str, Try]]:
    """What a campaign tries on an engine, which runs meanwhile."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if engine == "duckdb":
            yield dict(zip(SHARES[engine], _duckdb(folder), strict=True))
        elif engine == "postgres":
            from tests.servers import postgres

            with postgres.running() as server:
                held = stores.postgres(server.fresh())
                tried = (
                    neighbours(held, "postgres"),
                    neighbours(held, "postgres", shared=True),
                    neighbours(held, "postgres", brought=True),
                    neighbours(held, "postgres", equal=EQUAL, units=16),
                    relations.neighbours(relations.in_postgres(server.fresh()), "postgres"),
                    engines({"duckdb": stores.frame, "postgres": held}),
                )
                yield dict(zip(SHARES[engine], tried, strict=True))
        elif engine == "sqlite":
            held = stores.sqlite(folder)
            tried = (
                neighbours(held, "duckdb", names=0, forms=False),
                neighbours(held, "duckdb", names=0, forms=False, shared=True),
                neighbours(held, "duckdb", names=0, equal=EQUAL, forms=False, units=16),
                relations.neighbours(relations.in_sqlite(folder), "duckdb", 0),
                engines({"duckdb": stores.frame, "sqlite": stores.sqlite(folder, anything=False)}),
            )
            yield dict(zip(SHARES[engine], tried, strict=True))
        else:
            from tests.tables.engines.holds import spark_session

            session = spark_session()
            held = stores.spark(session, folder)
            both = (
                neighbours(held, "all", names=0, units=12),
                relations.neighbours(relations.in_spark(session, folder), "all", 0, units=8),
                engines({"duckdb": stores.frame, "spark": held}),
            )
            yield dict(zip(SHARES[engine], both, strict=True))
            session.stop()


def _duckdb(folder: Path) -> Iterator[Try]:
    file, base = stores.parquet(folder), databases.database(folder)
    yield neighbours(stores.frame, "duckdb")
    yield neighbours(stores.frame, "duckdb", mostly_dates=True)
    yield neighbours(stores.frame, "duckdb", shared=True)
    yield neighbours(stores.frame, "duckdb", brought=True)
    yield relations.neighbours(relations.in_frames, "duckdb")
    yield neighbours(file, "duckdb")
    yield neighbours(file, "duckdb", equal=EQUAL)
    for records in ("lines", "quoted"):
        yield neighbours(lines.csv(folder, records), "duckdb", forms=False)
    yield neighbours(base, "duckdb", names=0)
    yield neighbours(base, "duckdb", names=0, equal=EQUAL)
    yield neighbours(databases.given(), "duckdb", names=0)
    yield neighbours(objects.objects, "duckdb", forms=False)
    yield neighbours(dtypes.nullable, "duckdb", forms=False)
    yield neighbours(dtypes.polars, "duckdb", forms=False)
    yield whole("duckdb", folder)
    yield syntheses_and_feeds("duckdb", folder)
    yield fits_and_plans("duckdb", folder)
    yield engines({"duckdb": stores.frame, "no optimizer": stores.plain_frame})


def batch(attempt: Try, engine: str, number: int) -> tuple[Tally, Leak | None, float, float]:
    """One batch: what came of it, wall and processor time."""
    tally, wall, processor = Tally(), time.perf_counter(), time.process_time()
    leak = run(attempt, WORLDS[engine], number, tally)
    return tally, leak, time.perf_counter() - wall, time.process_time() - processor
