"""Work that ends well, fails, ends its process, hangs, or is taken over."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dalenius.errors import InvalidParameter
from dalenius.session.entries import digest
from dalenius.web.jobs import record
from dalenius.web.jobs.carry_out import CHANGED, Work, carry_out
from dalenius.web.jobs.slots import Slots
from dalenius.web.jobs.view import FAILED
from tests.session.helpers import rho
from tests.web.jobs.probe import Bench, Probe


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path, lanes=2)
    yield made
    made.jobs.workers.stop(2.0)


def test_work_is_charged_once_and_read_again_for_nothing(bench: Bench) -> None:
    bench.jobs.workers.start()
    asked = bench.submit("how many?")
    again = bench.submit("how many?", "ben")
    failing = bench.submit("why?", how="fail")
    with pytest.raises(InvalidParameter, match="no question"):
        bench.submit("odd", how="odd")
    first, second, failed = bench.after(asked), bench.after(again), bench.after(failing)
    assert first["state"] == "done"
    assert second["answer"] == first["answer"]
    assert (failed["state"], failed["detail"]) == ("failed", FAILED)
    assert bench.charges() * 100 == 2
    # The one who asked the same was not answered before the first had left.
    assert second["left"] > first["left"]


def test_an_answer_on_record_is_not_told_before_it_leaves(bench: Bench) -> None:
    bench.jobs.slot = 2.0  # looked at in time on a busy machine, too
    session = bench.opener("people", None)
    bench.jobs.workers.start()
    id = bench.submit("how many?")
    deadline = time.monotonic() + 5
    while session.account.recorded("how many?") is None and time.monotonic() < deadline:
        time.sleep(0.005)
    assert bench.jobs.recorded(session, "people", "how many?") is None
    told = bench.after(id)
    assert bench.jobs.recorded(session, "people", "how many?") == str(told["answer"])


@pytest.mark.parametrize("before", ["nothing", "charged", "failed", "answered"])
def test_what_a_dead_worker_left_is_settled_by_the_ledger(bench: Bench, before: str) -> None:
    """A worker noted where the ledger stood, and was gone before, or after it charged, or after it recorded."""
    account = bench.opener("people", None).account
    id = bench.submit("how many?")
    old = record.begin(bench.store, 0.01, 0.01, False)
    assert old is not None
    # An older charge of the same question, which failed, is not this one's.
    account._fail(account.charge("how many?", rho("0.01")))
    with account.ledger.reading() as rows:
        assert record.note(bench.store, old, rows.end)
    if before != "nothing":
        ticket = account.charge("how many?", rho("0.01"))
        if before == "answered":
            account.record(ticket, "41")
        if before == "failed":
            account._fail(ticket)
    bench.jobs.workers.start()
    told = bench.after(id)
    assert told["state"] == ("failed" if before in ("charged", "failed") else "done")
    assert (told.get("answer") == 41) == (before == "answered")
    assert bench.charges() * 100 == 2
    assert record.finish(bench.store, old, "done", "[43]", None) is None


def test_what_became_another_question_meanwhile_is_not_asked(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A steward changed the public facts: under its new key it would be held back from nobody, and found by nobody."""
    id = bench.submit("how many?")
    monkeypatch.setattr(Probe, "question", lambda self, session, payload: "how many by now?")
    bench.jobs.workers.start()
    told = bench.after(id)
    assert (told["state"], told["detail"]) == ("refused", CHANGED)
    assert bench.charges() == 0


def test_a_budget_that_is_spent_refuses_in_its_own_words(bench: Bench) -> None:
    bench.opener("people", None).account.charge("all", rho("0.995"))
    bench.jobs.workers.start()
    told = bench.after(bench.submit("how many?"))
    assert told["state"] == "refused"
    assert "is left" in told["detail"]


def test_processes_that_crash_or_hang_take_nothing_with_them(tmp_path: Path) -> None:
    bench = Bench(tmp_path, lanes=2, isolation="process", limit=3.0)
    workers = bench.jobs.workers
    workers.start()
    try:
        touched = str(tmp_path / "touched")
        crash = bench.submit("crash", how="crash", touched=touched)
        hang = bench.submit("hang", seconds=60, touched=touched)
        ends = [bench.after(id) for id in (crash, hang)]
        assert [(told["state"], told["detail"]) for told in ends] == [("failed", FAILED)] * 2
        assert sorted(Path(touched).read_text().split()) == ["crash", "hang"]  # never drawn again
        assert bench.after(bench.submit("well"))["state"] == "done"
        assert bench.charges() * 100 == 3
        assert workers.alive
    finally:
        workers.stop(2.0)


def test_a_charge_is_made_at_a_moment_of_the_plan_however_long_the_data_take_to_open(tmp_path: Path) -> None:
    """A slot of 1.2 s: at 0.3 s, however soon they are open, and, where they were not open by then, at 1.5 s."""
    bench = Bench(tmp_path, slot=1.2, limit=5.0, lanes=2)
    bench.opener("people", None)  # the account is open
    seconds = {"at once": 0.0, "slowly": 0.15, "late": 0.6}

    def opener(dataset: str, analyst: str | None) -> Any:
        time.sleep(seconds.get(str(analyst), 0.0))
        return bench.opener(dataset, None)

    found = {}
    for who in seconds:
        slots, starts = Slots(1.2, 5.0), time.monotonic()
        work = Work("probe", "people", who, {"text": who}, digest(who), None, slots, starts)
        assert carry_out(work, opener, lambda seq: True).outcome == "done"
        found[who] = time.monotonic() - starts
    assert found["at once"] >= 0.3
    assert found["slowly"] >= 0.3
    assert found["late"] >= 1.5
    # What is on record is not charged, and need not wait.
    slots = Slots(100.0, 200.0)
    again = Work("probe", "people", None, {"text": "late"}, digest("late"), None, slots, time.monotonic())
    assert carry_out(again, bench.opener, lambda seq: True).outcome == "done"
