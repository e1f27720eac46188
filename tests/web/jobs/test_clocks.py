"""The store's clock is set forward or back while work is under way: nothing hangs, nothing is charged in vain."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dalenius.web.jobs import record
from dalenius.web.jobs.slots import Slots
from dalenius.web.jobs.workers import Pace, Workers
from dalenius.web.store.store import StoreBusy
from tests.web.jobs.probe import Bench

YEAR = 365 * 86400.0


@pytest.fixture
def off(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """By how much the store's clock is off."""
    found = [0.0]
    monkeypatch.setattr(record, "clock", lambda _: time.time() + found[0])
    return found


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path, lanes=2, limit=1.2)
    yield made
    made.jobs.workers.stop(2.0)


@pytest.mark.parametrize("jump", [3600.0, YEAR, -3600.0, -YEAR])
def test_it_is_set_while_work_is_under_way(bench: Bench, off: list[float], jump: float) -> None:
    workers = bench.jobs.workers
    workers.start()
    assert bench.after(bench.submit("before"), 10)["state"] == "done"
    works, waits = (bench.submit(text, person, seconds=0.4) for text, person in (("a", "ana"), ("b", "ben")))
    until = time.monotonic() + 10
    while len(workers.tokens) < 2:
        assert time.monotonic() < until
        time.sleep(0.01)
    time.sleep(0.1)  # they have charged, or are about to
    off[0] += jump
    begun = time.monotonic()
    told = [bench.after(id, 20)["state"] for id in (works, waits)]
    assert told == ["done", "done"]
    assert bench.after(bench.submit("after", "eve"), 20)["state"] == "done"
    assert time.monotonic() - begun < 12  # 2 s; the lanes are free again
    assert bench.charges() * 100 == 4


@pytest.mark.parametrize("busy", [0, 2])
def test_it_was_set_back_before_the_workers_came(
    bench: Bench, off: list[float], busy: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker was killed at work, and the machine came back with another year; and others kept the store busy."""
    set_right, tried = record.set_right, [0]

    def after_others(*given: Any) -> None:
        tried[0] += 1
        if tried[0] <= busy:
            raise StoreBusy("it is busy.")
        set_right(*given)

    monkeypatch.setattr(record, "set_right", after_others)
    off[0] = YEAR
    id = bench.submit("how many?")
    assert record.begin(bench.store, 0.5, 0.01, False) is not None
    off[0] = 0.0
    bench.jobs.workers.start()
    assert bench.after(id, 20)["state"] == "done"
    assert bench.charges() * 100 == 1


def test_after_the_last_boundary_they_come_evenly() -> None:
    slots = Slots(0.5, 3600.0)
    last = slots.boundary(slots.last)
    assert 3600 < last < 4 * 3600
    for after in (last, 1.5 * last, 2 * last, 10.1 * last, YEAR):
        leaves = slots.boundary(slots.index(after))
        assert after <= leaves < after + last


def test_a_store_that_hung_is_taken_for_gone(bench: Bench) -> None:
    """A disk that stood still, say: others could not renew their leases either."""
    workers = Workers(bench.store, bench.opener, Pace(lanes=0, lease=1.0))
    workers.steady_since = before = time.monotonic() - 60
    assert workers._stored(lambda: 1) == 1
    assert workers.steady_since == before
    assert workers._stored(lambda: time.sleep(0.6)) is None
    assert workers.steady_since > before
