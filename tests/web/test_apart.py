"""Requests that take long to plan, in a process of their own: the same answers, the same refusals, and nobody waits."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dalenius.web.asking.apart import Apart
from dalenius.web.asking.asked import Desk
from dalenius.web.problems import Problem
from tests.web.console import Console, csrf

SYNTHESIS = {"kind": "synthesize", "columns": {"age": None, "pay": None}, "bins": 4}
BUDGET = {"budget": {"kind": "zcdp", "rho": "0.1"}}
WHERE = "/api/v1/datasets/people"


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """Work in threads, which is quick, and plans in a process, as a console has them that people use."""
    with Console.made(Path(tmp_path_factory.mktemp("apart")), calls_per_minute=10**6) as made:
        n = np.arange(300)
        pd.DataFrame({"age": 18 + n % 72, "pay": n % 100}).to_parquet(made.data / "people.parquet")
        facts = {
            "age": {"bounds": [18, 90], "nulls": "drop"},
            "pay": {"bounds": [0, 100], "nulls": "drop"},
        }
        given = {
            "name": "people",
            "title": "People",
            "source": {"kind": "file", "files": {"people": "people.parquet"}},
            "facts": {"people": facts},
            "unit": {"kind": "row"},
            "budget": {"kind": "zcdp", "rho": 1},
        }
        stella = made.api("Stella")
        assert stella.post("/api/v1/datasets", json=given).status_code == 201
        assert stella.post(f"{WHERE}/open").status_code == 200
        assert stella.put(f"{WHERE}/grants/Anna").status_code == 204
        made.app.state.apart = apart = Apart(made.settings)
        yield made
        apart.close()


def apart(console: Console) -> Apart:
    found: Apart = console.app.state.apart
    return found


def test_a_synthesis_is_priced_asked_and_answered_through_it(console: Console) -> None:
    anna = console.api("Anna")
    price = anna.post(f"{WHERE}/price", json=SYNTHESIS | BUDGET).json()
    assert price["budget"] == {"kind": "zcdp", "rho": "0.1"}
    assert (price["affordable"], price["free"]) == (True, False)
    assert apart(console).child.process is not None
    told = anna.post(f"{WHERE}/releases", json=SYNTHESIS | BUDGET)
    assert told.status_code == 202, told.text
    done = anna.get(f"/api/v1/jobs/{told.json()['job']}", params={"wait": 30}).json()
    assert done["state"] == "done", done
    again = anna.post(f"{WHERE}/releases", json=SYNTHESIS | BUDGET, headers={"Idempotency-Key": "mine"})
    assert again.status_code == 201
    assert again.json()["answer"] == done["answer"]["answer"]
    assert anna.post(f"{WHERE}/price", json=SYNTHESIS | BUDGET).json()["free"]
    other = anna.post(
        f"{WHERE}/releases", json={**SYNTHESIS, **BUDGET, "bins": 3}, headers={"Idempotency-Key": "mine"}
    )
    assert (other.status_code, other.json()["detail"]) == (
        422,
        "this idempotency key came with another request before.",
    )


def test_what_is_refused_there_is_told_here_in_the_same_words(console: Console) -> None:
    anna = console.api("Anna")
    whole = {**SYNTHESIS, "budget": {"kind": "zcdp", "rho": "5"}}
    wrong = {**SYNTHESIS, **BUDGET, "columns": {"height": None}}
    found = [anna.post(f"{WHERE}/releases", json=each) for each in (whole, wrong)]
    console.app.state.apart, held = None, console.app.state.apart
    try:
        assert [each.json() for each in found] == [
            anna.post(f"{WHERE}/releases", json=each).json() for each in (whole, wrong)
        ]
    finally:
        console.app.state.apart = held
    assert [each.status_code for each in found] == [409, 422]
    refused = console.api("Boris").post(f"{WHERE}/price", json=SYNTHESIS | BUDGET)
    assert (refused.status_code, "that you may use" in refused.json()["detail"]) == (404, True)
    page = console.browser("Anna")
    form = {"what": "mean", "features": "height", "amount": "0.1", "csrf": csrf(page, "/me")}
    shown = page.post("/datasets/people/ask/model", data=form)
    assert (shown.status_code, "height" in shown.text) == (422, True)
    priced = page.post("/datasets/people/ask/model", data={**form, "features": "age"})
    assert "ZCDP(rho=0.1), epsilon" in priced.text


def test_what_takes_too_long_is_given_up_and_others_are_told_to_come_again(console: Console) -> None:
    desk = Desk(console.store, console.settings, console.app.state.jobs, console.people["Anna"], "people")
    small = Apart(console.settings, limit=60.0, most=1)
    try:
        assert small.call(Desk.history, desk, 10)[0]["kind"] == "synthesize"  # it runs
        small.limit = 1.5  # the other one comes while this one waits
        found: list[Any] = []

        def waits() -> None:
            with pytest.raises(Problem) as told:
                small.call(slow, desk)
            found.append(told.value)

        thread = threading.Thread(target=waits)
        thread.start()
        while not small._turn.locked():
            time.sleep(0.001)
        with pytest.raises(Problem) as busy:
            small.call(slow, desk)
        thread.join(30)
        assert (busy.value.status_code, busy.value.headers) == (503, {"Retry-After": "2"})
        assert (found[0].status_code, found[0].kind) == (422, "too-much")
        assert small.child.process is None  # it was ended
        small.limit = 60.0
        with pytest.raises(Problem, match="could not be planned"):
            small.call(ends, desk)  # out of memory, say
        with pytest.raises(Problem, match="Something failed; number") as unexpected:
            small.call(fails, desk)
        assert "row 17" not in str(unexpected.value.document())
        assert len(small.call(Desk.history, desk, 10)) >= 1  # started again
        assert small.call(reads, desk) == ("people", ["age", "pay"], False)
    finally:
        small.close()


def reads(desk: Desk) -> tuple[str, list[str], bool]:
    source = desk.session.source
    return source.name, [field.name for field in source.fields], source.rows is not None


def slow(desk: Desk) -> None:
    time.sleep(30)


def ends(desk: Desk) -> None:
    os._exit(9)


def fails(desk: Desk) -> None:
    raise ValueError("row 17")
