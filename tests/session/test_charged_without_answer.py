"""What fails after the charge is told by one sentence, whatever it was, and the ledger keeps that it happened."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dalenius as dp
from dalenius.session import planning as room
from dalenius.session.account import FAILED
from dalenius.session.ledger import Ledger
from dalenius.session.report import exported, overview
from dalenius.session.verify import verify
from dalenius.tables.compute import exact

FRAME = pd.DataFrame({"g": ["a", "b"] * 500, "x": np.arange(1000.0)})
FACTS = dp.Schema({"g": {"categories": ["a", "b"]}, "x": {"bounds": (0, 1000)}}, nulls="drop")
PRICE = dp.GDP(0.01)

ASKED: dict[str, Callable[[dp.Session], Any]] = {
    "release": lambda s: s.release(s.table.agg(n=dp.count()), PRICE),
    "groups": lambda s: s.release(s.table.group_by("g").agg(x=dp.mean("x")), PRICE),
    "all": lambda s: s.release_all(
        {"n": s.table.agg(n=dp.count()), "m": s.table.agg(x=dp.median("x"))}, PRICE
    ),
    "sql": lambda s: s.sql("SELECT AVG(x) AS x FROM data", PRICE),
    "discovery": lambda s: s.release(s.table.group_by("g", keys=dp.discover()).agg(n=dp.count()), PRICE),
    "fit": lambda s: s.fit(dp.learn.LogisticRegression(PRICE), ["x"], "g = 'a'"),
}


class Odd(Exception):
    """An exception with a secret in it, that cannot even be written."""

    def __init__(self) -> None:
        super().__init__("income is 41732")
        self.object = b"41732"

    def __str__(self) -> str:
        raise RuntimeError("41732")


@pytest.mark.parametrize(
    "problem",
    [IndexError("41732"), UnicodeDecodeError("utf-8", b"\xff", 0, 1, "41732"), Odd(), MemoryError()],
    ids=repr,
)
@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: str, problem: Exception
) -> None:
    s = dp.Session(
        FRAME,
        unit=dp.Unit.rows(),
        budget=dp.ApproxDP(1.0, 1e-6),
        schema=FACTS,
        ledger=tmp_path / "L",
        name="x",
    )
    with monkeypatch.context() as patch:
        for place, word in ((exact, "evaluate"), (exact, "rows"), (exact, "blocks"), (room, "release")):
            patch.setattr(place, word, lambda *_: (_ for _ in ()).throw(problem))
        with pytest.raises(dp.errors.EngineFailed) as caught:
            ASKED[asked](s)
    assert (type(caught.value), caught.value.args) == (dp.errors.EngineFailed, (FAILED,))
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert "41732" not in "".join(traceback.format_exception(caught.value))
    left = s.account.left().amount
    found = verify(tmp_path / "L")
    assert (found.ok, found.charges, found.answers, found.failures) == (True, 1, 0, 1)
    told = overview(Ledger.open(tmp_path / "L"))["accounts"][0]
    assert (told["charges"], told["answers"], told["failures"]) == (1, 0, 1)
    # Asked again it is charged again, and answered; the failure is not taken for an answer.
    ASKED[asked](s)
    assert s.account.left().amount < left
    after = s.account.left().amount
    ASKED[asked](s)
    assert s.account.left().amount == after
    assert verify(tmp_path / "L").ok


def test_the_record_of_a_failure_says_nothing_else(tmp_path: Path) -> None:
    entries = []
    for n, problem in enumerate((ValueError("a"), KeyError("b"))):
        ledger = Ledger.open(tmp_path / str(n))
        account = ledger.account("x", dp.ZCDP(1.0))

        def fails(problem: Exception = problem) -> str:
            raise problem

        with pytest.raises(dp.errors.EngineFailed):
            account.ask("q", dp.losses.gaussian(2.0), fails)
        told = [json.loads(line) for line in exported(ledger)]
        (entry,) = (json.loads(line["body"]) for line in told if line.get("kind") == "answer")
        entries.append(entry)
    for entry in entries:
        del entry["time"]
    assert entries[0] == entries[1] == {"charge": 3, "answer": "null", "failed": True}


def test_a_person_who_stops_it_is_not_told_that_it_failed(tmp_path: Path) -> None:
    account = Ledger.open(tmp_path / "L").account("x", dp.ZCDP(1.0))

    def stopped() -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        account.ask("q", dp.losses.gaussian(2.0), stopped)
    assert verify(tmp_path / "L").unanswered == 1
