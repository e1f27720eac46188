"""An answer that is on record is told at once, whatever else is planned, waits or is under way."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from anyio import to_thread

from dalenius.web.asking import apart
from dalenius.web.asking.apart import Apart
from dalenius.web.asking.asked import Desk
from dalenius.web.datasets import opening
from tests.web.console import Console

BUDGET = {"budget": {"kind": "zcdp", "rho": "0.01"}}
WHERE = "/api/v1/datasets/people"
SYNTHESIS = {"kind": "synthesize", "columns": {"age": None}, "bins": 4, **BUDGET}


def count(least: int) -> dict[str, Any]:
    return {"question": {"sql": f"SELECT COUNT(*) AS n FROM people WHERE age >= {least}"}, **BUDGET}


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """With a data set that Anna and Boris may ask of, and one thread for all that plans or waits."""
    with Console.made(Path(tmp_path_factory.mktemp("once")), calls_per_minute=10**6) as made:
        pd.DataFrame({"age": 18 + np.arange(300) % 72}).to_parquet(made.data / "people.parquet")
        given = {
            "name": "people",
            "title": "People",
            "source": {"kind": "file", "files": {"people": "people.parquet"}},
            "facts": {"people": {"age": {"bounds": [18, 90], "nulls": "drop"}}},
            "unit": {"kind": "row"},
            "budget": {"kind": "zcdp", "rho": 1},
        }
        stella = made.api("Stella")
        assert stella.post("/api/v1/datasets", json=given).status_code == 201
        assert stella.post(f"{WHERE}/open").status_code == 200
        for name in ("Anna", "Boris"):
            assert stella.put(f"{WHERE}/grants/{name}").status_code == 204
        made.app.state.apart = beside = Apart(made.settings)
        assert made.client.portal is not None
        made.client.portal.call(one_thread)
        yield made
        beside.close()


async def one_thread() -> None:
    to_thread.current_default_thread_limiter().total_tokens = 1


@contextmanager
def all_at_work(console: Console, least: int) -> Iterator[list[Any]]:
    """Nobody gets a turn to plan, here or beside; and somebody waits for one, in the one thread there is."""
    found: list[Any] = []

    def waits() -> None:
        found.append(console.api("Boris").post(f"{WHERE}/releases", json=count(least)))

    with ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(apart.planning())
        stack.enter_context(console.app.state.apart._turn)
        thread = threading.Thread(target=waits)
        thread.start()
        limiter, until = to_thread.current_default_thread_limiter, time.monotonic() + 30
        assert console.client.portal is not None
        while not console.client.portal.call(borrowed, limiter):
            assert time.monotonic() < until
            time.sleep(0.002)
        yield found
    thread.join(30)


async def borrowed(limiter: Any) -> int:
    return int(limiter().borrowed_tokens)


@pytest.mark.parametrize(
    ("asked", "other"), [(count(30), 71), (SYNTHESIS, 72)], ids=["question", "synthesis"]
)
def test_it_waits_for_no_plan_and_for_no_thread(console: Console, asked: dict[str, Any], other: int) -> None:
    anna = console.api("Anna")
    told = anna.post(f"{WHERE}/releases", json=asked)
    assert told.status_code == 202, told.text
    done = anna.get(f"/api/v1/jobs/{told.json()['job']}", params={"wait": 30}).json()
    assert done["state"] == "done", done
    first = anna.post(f"{WHERE}/releases", json=asked).json()  # from the ledger: from now on it is at hand
    assert first["answer"] == done["answer"]["answer"]
    with all_at_work(console, other) as waiting:
        plain = anna.post(f"{WHERE}/releases", json=asked)
        # What programs and pages send has a word with it: it is kept, and is known again.
        mine, again = (
            anna.post(f"{WHERE}/releases", json=asked, headers={"Idempotency-Key": asked.get("kind", "q")})
            for _ in range(2)
        )
        assert [each.status_code for each in (plain, mine, again)] == [201] * 3
        assert [each.json() for each in (plain, mine, again)] == [first] * 3
        assert not waiting  # all the while
    assert waiting[0].status_code == 202
    word = {"Idempotency-Key": asked.get("kind", "q")}
    assert anna.post(f"{WHERE}/releases", json=count(31), headers=word).status_code == 422


def test_it_waits_for_no_source(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    """These threads also tell who somebody is: eight requests for data whose server hangs would have them all."""
    had = opening._opened(console.store)
    anna = console.people["Anna"]
    desk = Desk(console.store, console.settings, console.app.state.jobs, anna, "people")
    assert desk.session is opening.session_at_hand(console.store, "people", "Anna")
    monkeypatch.setattr(had, "sessions", {})
    monkeypatch.setattr(had, "sources", {})
    monkeypatch.setattr(opening, "looked_at", lambda *_: pytest.fail("a source was opened"))
    assert desk.at_once(count(20)) is None
    assert desk.at_once(count(20), "a word") is None


def test_who_may_not_ask_is_told_nothing(console: Console) -> None:
    anna, boris = console.api("Anna"), console.api("Boris")
    job = boris.post(f"{WHERE}/releases", json=count(40)).json()["job"]
    assert boris.get(f"/api/v1/jobs/{job}", params={"wait": 30}).json()["state"] == "done"
    for who in (boris, anna):  # from the record, and then at hand
        assert [who.post(f"{WHERE}/releases", json=count(40)).status_code for _ in range(2)] == [201, 201]
    assert console.api("Stella").delete(f"{WHERE}/grants/Boris").status_code == 204
    try:
        assert boris.post(f"{WHERE}/releases", json=count(40)).status_code == 404
        assert anna.post(f"{WHERE}/releases", json=count(40)).status_code == 201
    finally:
        assert console.api("Stella").put(f"{WHERE}/grants/Boris").status_code == 204


def test_who_gets_no_turn_to_plan_is_told_to_come_again(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apart, "LIMIT", 0.05)
    with apart.planning(), apart.planning():
        told = console.api("Anna").post(f"{WHERE}/price", json=count(50))
    assert (told.status_code, told.headers["retry-after"]) == (503, "2")
    assert console.api("Anna").post(f"{WHERE}/price", json=count(50)).status_code == 200


def test_nobody_has_all_turns_to_plan(console: Console) -> None:
    """Each request that waits for one has a thread, and signing in needs one, too."""
    anna, boris, id = console.api("Anna"), console.api("Boris"), console.people["Anna"].id
    with ExitStack() as stack:
        for number in range(apart.OF_ONE):
            if number == apart.MOST // 2:
                told = anna.post(f"{WHERE}/price", json=SYNTHESIS | {"bins": 5})
                assert (told.status_code, told.headers["retry-after"]) == (429, "1")
                assert anna.post(f"{WHERE}/price", json=count(61)).status_code == 200
            stack.enter_context(apart.one_of(id))
        for path in ("price", "releases"):
            assert anna.post(f"{WHERE}/{path}", json=count(60)).status_code == 429
            assert boris.post(f"{WHERE}/{path}", json=count(60)).status_code < 300
    assert anna.post(f"{WHERE}/price", json=count(60)).status_code == 200
    assert not apart._UNDER_WAY
