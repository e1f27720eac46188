"""What is told of a job depends on the plan, the clock, and the boundary at which it left."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from dalenius.web.jobs import record
from dalenius.web.jobs.view import FAILED, GONE, shown
from dalenius.web.jobs.workers import Away, Pace, Workers
from tests.web.jobs.probe import Bench, Probe


class Clock:
    """A store's time that moves when it is told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(record, "clock", lambda _: self.now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def begun(bench: Bench, take_over: bool = False) -> record.Job:
    job = record.begin(bench.store, 0.5, 0.01, take_over)
    assert job is not None
    return job


def test_what_is_seen_is_the_same_for_all_ends_in_one_slot(tmp_path: Path, clock: Clock) -> None:
    """Every way to end within a slot, at every moment of it: one film, up to the words at its end."""
    films: dict[int, set[str]] = {}
    bench = Bench(tmp_path)
    ends = [("done", "[41]", None), ("failed", None, None)]
    for number, (after, (outcome, answer, problem), cancelled) in enumerate(
        itertools.product((0.0, 0.1, 0.249, 0.31, 0.5), ends, (None, 0.2))
    ):
        clock.now = 1000.0
        id = bench.submit(f"question {number}")
        job = begun(bench)
        assert job.id == id
        film: list[Any] = []
        finished = False
        for moment in (0.0, 0.1, 0.15, 0.2, 0.25, 0.2999, 0.3001, 0.4, 0.55):
            if after <= moment and not finished:
                clock.now = 1000.0 + after
                assert record.finish(bench.store, job, outcome, answer, problem) is not None  # type: ignore[arg-type]
                finished = True
            clock.now = 1000.0 + moment
            if cancelled == moment:
                cancel = bench.jobs.cancel(id, "ana")
                assert cancel is not None
                film.append({**cancel, "job": ""})
            told = bench.jobs.look(id, "ana")
            assert told is not None
            held = bench.jobs.in_flight("people", f"question {number}")
            film.append({**told, "job": "", "answer": "", "detail": "", "held": held})
            if told["state"] in ("done", "failed"):
                film[-1]["state"] = "left"
        clock.now = 1002.0
        told = bench.jobs.look(id, "ana")
        assert told is not None
        if cancelled is None:
            assert told["state"] == outcome
            assert told.get("detail") == (FAILED if outcome == "failed" else None)
        else:
            assert told["state"] == "cancelled"
            assert "answer" not in told
        kind = (0 if after < 0.3 else 1) + 2 * (cancelled is not None)
        films.setdefault(kind, set()).add(json.dumps(film, sort_keys=True))
    assert [len(films[k]) for k in range(4)] == [1, 1, 1, 1]
    assert len(set.union(*films.values())) == 4


def test_an_outcome_that_is_written_late_does_not_show_between_boundaries(
    tmp_path: Path, clock: Clock
) -> None:
    bench = Bench(tmp_path)
    id = bench.submit("how many?")
    job = begun(bench)
    clock.now = 1000.301  # somebody looks: the first boundary is over, and there is nothing
    told = bench.jobs.look(id, "ana")
    assert told is not None
    assert told["seconds_left"] == 0.3
    clock.now = 1000.249  # the outcome was there in time, and its writing took until now
    assert record.finish(bench.store, job, "done", "[41]", None) is not None
    for clock.now, state in ((1000.302, "running"), (1000.599, "running"), (1000.6, "done")):
        told = bench.jobs.look(id, "ana")
        assert told is not None
        assert told["state"] == state


def test_only_the_holder_of_the_lease_is_heard(tmp_path: Path, clock: Clock) -> None:
    bench = Bench(tmp_path)
    bench.submit("how many?")
    first = begun(bench)
    clock.now += 0.4
    record.renew(bench.store, [str(first.token)], 0.5)
    clock.now += 0.4
    assert record.begin(bench.store, 0.5, 0.01, True) is None
    clock.now += 0.2
    assert record.begin(bench.store, 0.5, 0.01, False) is None
    second = begun(bench, take_over=True)
    assert (second.id, second.starts, second.attempts) == (first.id, first.starts, 2)
    assert not record.note(bench.store, first, 7)
    assert record.finish(bench.store, first, "done", "[41]", None) is None
    assert record.note(bench.store, second, 7)
    assert record.finish(bench.store, second, "done", "[42]", None) is not None
    found = record.look(bench.store, first.id)
    assert found is not None
    assert shown(found[0], 2000.0)["answer"] == [42]


def test_people_take_turns_and_a_question_is_under_way_once(tmp_path: Path, clock: Clock) -> None:
    bench = Bench(tmp_path)
    mine = []
    for number in range(3):
        clock.now += 0.001
        mine.append(bench.submit(f"ana {number}"))
    twice = bench.submit("ana 0", "ben")
    yours = bench.submit("ben 1", "ben")
    order = []
    while (job := record.begin(bench.store, 0.5, 0.01, False)) is not None:
        order.append(job.id)
        clock.now += 0.001
    assert order == [mine[0], yours, mine[1], mine[2]]
    found = record.look(bench.store, mine[0])
    assert found is not None
    clock.now += 0.2
    assert record.finish(bench.store, found[0], "done", "[1]", None) is not None
    assert record.begin(bench.store, 0.5, 0.01, False) is None  # done, and not left
    clock.now += 0.2
    assert (
        record.begin(bench.store, 0.5, 0.01, False) is None
    )  # who asked the same leaves with it, without a lane
    left = record.look(bench.store, twice)
    assert left is not None
    assert (left[0].outcome, left[0].answer, left[0].leaves) == ("done", None, clock.now)


def test_many_who_ask_the_same_leave_as_soon_as_the_first_has(tmp_path: Path, clock: Clock) -> None:
    """One after the other, a slot each, the last of two hundred would wait for two hundred slots."""
    bench = Bench(tmp_path)
    ids = []
    for number in range(30):
        ids.append(bench.submit("how many?", f"person {number}"))
        clock.now += 0.001
    cancelled = bench.submit("how many?", "who went away")
    bench.jobs.cancel(cancelled, "who went away")
    first = begun(bench)
    assert first.id == ids[0]
    answer = Probe().run(bench.opener("people", None), first.content)  # it is on record
    assert record.finish(bench.store, first, "done", answer, None) is not None
    assert record.begin(bench.store, 0.5, 0.01, False) is None
    assert {record.look(bench.store, id)[0].outcome for id in ids[1:]} == {None}  # type: ignore[index]
    assert bench.jobs.held("people") == {first.key}
    clock.now += 0.4
    assert record.begin(bench.store, 0.5, 0.01, False) is None
    for number, id in enumerate(ids):
        told = bench.jobs.look(id, f"person {number}")
        assert told is not None
        assert (told["state"], told["answer"]) == ("done", json.loads(answer))
    assert bench.jobs.look(cancelled, "who went away")["state"] == "cancelled"  # type: ignore[index]
    # Told once is told for ever: work on the same question holds nothing back any more, and is none.
    late = bench.submit("how many?", "late")
    assert record.begin(bench.store, 0.5, 0.01, False) is None
    assert bench.jobs.look(late, "late")["state"] == "done"  # type: ignore[index]
    assert bench.jobs.held("people") == frozenset()
    assert bench.charges() == Decimal("0.01")


def test_what_failed_is_not_what_others_are_told(tmp_path: Path, clock: Clock) -> None:
    bench = Bench(tmp_path)
    bench.submit("how many?", "ana")
    clock.now += 0.001
    second = bench.submit("how many?", "ben")
    assert record.finish(bench.store, begun(bench), "failed", None, None) is not None
    clock.now += 0.4
    assert begun(bench).id == second  # it has a charge of its own


def test_an_answer_that_the_ledger_lost_is_not_made_up(tmp_path: Path, clock: Clock) -> None:
    bench = Bench(tmp_path)
    bench.submit("how many?", "ana")
    clock.now += 0.001
    second = bench.submit("how many?", "ben")
    assert record.finish(bench.store, begun(bench), "done", "[1]", None) is not None  # and it is on no record
    clock.now += 0.4
    assert record.begin(bench.store, 0.5, 0.01, False) is None
    told = bench.jobs.look(second, "ben")
    assert told is not None
    assert "answer" not in told
    assert told["detail"] == GONE
    assert bench.charges() == 0


def test_others_do_not_see_or_cancel_a_job(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    id = bench.submit("how many?")
    assert bench.jobs.look(id, "ben") is None
    assert bench.jobs.cancel(id, "ben") is None
    assert bench.jobs.list("ben") == []
    assert [job["state"] for job in bench.jobs.list("ana")] == ["waiting"]
    told = bench.jobs.cancel(id, "ana")
    assert told is not None
    assert told["state"] == "cancelled"
    assert record.begin(bench.store, 0.5, 0.01, True) is None
    assert record.count_open(bench.store, "ana") == 0


def test_where_jobs_are_is_told_without_reading_what_was_asked_and_answered(
    tmp_path: Path, clock: Clock
) -> None:
    """A request and its answer may have a MiB, and a list has a thousand."""
    bench = Bench(tmp_path)
    whole: list[str] = []

    @event.listens_for(bench.store.engine, "before_cursor_execute")
    def look(_: Any, __: Any, statement: str, *___: Any) -> None:
        asked = re.search(r"console_jobs\.(payload|answer)\b(?! IS NOT NULL)", statement)
        if statement.startswith("SELECT") and asked:
            whole.append(statement)

    id = bench.submit("how many?")
    job = begun(bench)
    bench.submit("and how many of these?")
    for clock.now, state in ((1000.1, "running"), (1000.301, "running"), (1000.601, "done")):
        if state == "done":
            assert record.finish(bench.store, job, "done", "[41]", None) is not None
            clock.now = 1001.201
        whole.clear()
        listed = {each["job"]: each for each in bench.jobs.list("ana")}
        assert len(listed) == 2
        for told in (bench.jobs.stands(id, "ana"), listed[id]):
            assert told is not None
            assert told["state"] == state
        assert not whole
        told = asyncio.run(bench.jobs.wait(id, "ana", 0.05))
        assert told is not None
        assert told.get("answer") == ([41] if state == "done" else None)
        assert len(whole) == 1  # what is told at the end


def test_what_was_given_back_is_anybodys(tmp_path: Path, clock: Clock) -> None:
    """Also while nobody is taken for gone, since the store was away: otherwise it waits, and its slots double."""
    bench = Bench(tmp_path)
    bench.submit("how many?")
    job = begun(bench)
    record.give_back(bench.store, job, 2.0)
    assert record.begin(bench.store, 0.5, 0.01, False) is None  # a little later
    clock.now += 2.1
    again = begun(bench)
    assert (again.id, again.starts, again.attempts) == (job.id, job.starts, job.attempts)
    assert again.token != job.token


def test_a_process_that_is_busy_with_itself_does_not_take_the_store_for_gone(tmp_path: Path) -> None:
    """All its connections are in use: that says nothing of the leases of others."""
    bench = Bench(tmp_path)
    workers = Workers(bench.store, bench.opener, Pace(lanes=0, lease=5.0))
    workers.steady_since = before = time.monotonic() - 60

    def failing(kind: type[Exception]) -> Any:
        def action() -> None:
            with bench.store.writing():
                raise kind("", None, Exception()) if kind is OperationalError else kind()

        return action

    assert isinstance(workers._stored(failing(PoolTimeout)), Away)
    assert workers.steady_since == before
    assert isinstance(workers._stored(failing(OperationalError)), Away)
    assert workers.steady_since > before
