"""Campaigns: so many cases on one engine, from one seed, and what came of them."""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.tables.hostile import stores
from tests.tables.hostile.judge import Leak, Tally, agree, judge
from tests.tables.hostile.questions import questions
from tests.tables.hostile.rows import worlds

QUESTIONS = 4
"""Asked of each world; every world has ten neighbours, seven of them of one row."""

Try = Callable[[st.DataObject, Tally], None]


def neighbours(store: stores.Store, engine: str, names: int | None = None) -> Try:
    """A world and questions: does anything tell its neighbours apart?"""

    def attempt(data: st.DataObject, tally: Tally) -> None:
        world = data.draw(worlds(engine, names))
        judge(store, world, [data.draw(questions(world.names)) for _ in range(QUESTIONS)], tally)

    return attempt


def engines(held: dict[str, stores.Store]) -> Try:
    """A world that every engine can hold: do they count the same?"""

    def attempt(data: st.DataObject, tally: Tally) -> None:
        world = data.draw(worlds("all", names=0, units=1))
        agree(held, world, [data.draw(questions(world.names)) for _ in range(QUESTIONS)], tally)

    return attempt


def run(attempt: Try, worlds_: int, number: int, tally: Tally) -> Leak | None:
    """so many worlds from one seed; the first leak, if there is one."""

    @seed(number)
    @settings(
        max_examples=worlds_,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],  # a world is small, and shrinking one takes minutes
        report_multiple_bugs=False,
    )
    @given(st.data())
    def some(data: st.DataObject) -> None:
        attempt(data, tally)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            some()
        except Leak as leak:
            return leak
    return None


def campaign(attempt: Try, cases: int, number: int) -> tuple[Tally, list[Leak], float]:
    """Until so many cases were tried, in batches of fifty worlds; a batch ends at its first leak."""
    tally, leaks, start = Tally(), [], time.perf_counter()
    while tally.cases + tally.engines < cases and len(leaks) < 20:
        leak = run(attempt, 50, number, tally)
        if leak is not None:
            leaks.append(leak)
        number += 1_000
    return tally, leaks, time.perf_counter() - start


@contextmanager
def attempts(engine: str) -> Iterator[dict[str, Try]]:
    """What a campaign tries on an engine, which runs meanwhile."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if engine == "duckdb":
            yield {
                "frames and tables": neighbours(stores.Reused(), "duckdb"),
                "parquet": neighbours(stores.parquet(folder), "duckdb"),
            }
        elif engine == "postgres":
            from tests.servers import postgres

            with postgres.running() as server:
                held = stores.postgres(server.fresh())
                yield {
                    "neighbours": neighbours(held, "postgres"),
                    "agreement with duckdb": engines({"duckdb": stores.frame, "postgres": held}),
                }
        else:
            yield from _spark(folder)


def _spark(folder: Path) -> Iterator[dict[str, Any]]:
    from tests.tables.engines import spark_session

    session = spark_session()
    held = stores.spark(session, folder)
    yield {
        "neighbours": neighbours(held, "all", names=0),
        "agreement with duckdb": engines({"duckdb": stores.frame, "spark": held}),
    }
    session.stop()


def part(job: tuple[str, int, int]) -> dict[str, tuple[Tally, list[str], float]]:
    """What one process does: an engine, a number of cases and a seed."""
    engine, cases, number = job
    done = {}
    with attempts(engine) as tried:
        for what, attempt in tried.items():
            tally, leaks, seconds = campaign(attempt, -(-cases // len(tried)), number)
            done[what] = (tally, [str(leak) for leak in leaks], seconds)
    return done
