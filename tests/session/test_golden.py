"""Ledgers that were written once, and must be read for ever: they verify, and answer every question for nothing.

What was released, the estimates, and the intervals that were first shown are compared to the last bit. Intervals of
another confidence are computed when an answer is looked at, by the method of the day: there must be one wherever there
was one, around the estimate.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.session.ledger import Ledger
from dalenius.session.verify import verify
from tests.session.golden_ledger import HERE, MOVED, SHOWN, Case, adaptive_cases, cases, numbers, people

VERSIONS = ("v2",)


@pytest.fixture(scope="module", params=VERSIONS)
def golden(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Ledger, Any]:
    """A copy of the ledger, open, and what it said when it was made."""
    copy = tmp_path_factory.mktemp("golden") / "copy.ledger"
    shutil.copy(HERE / f"{request.param}.ledger", copy)
    return Ledger.open(copy), json.loads((HERE / f"{request.param}.json").read_text())


@pytest.mark.parametrize("version", VERSIONS)
def test_it_verifies(version: str, tmp_path: Path) -> None:
    told = json.loads((HERE / f"{version}.json").read_text())
    found = verify(shutil.copy(HERE / f"{version}.ledger", tmp_path / "copy.ledger"), told["checkpoint"])
    assert found.ok, found.problems
    assert found.checkpoint == told["checkpoint"]
    assert (found.failures, found.unanswered > found.failures) == (1, True)


def test_what_was_spent_is_spent(golden: tuple[Ledger, Any]) -> None:
    ledger, told = golden
    assert {account.dataset for account in ledger.accounts()} == set(told["spent"])
    for account in ledger.accounts():
        balance = account.balance()
        found = {
            "": balance.total.written(),
            **{f"by {who}": cost.written() for who, cost in balance.by.items()},
        }
        assert found == told["spent"][account.dataset]


@pytest.mark.parametrize("name", cases())
def test_every_question_is_answered_from_the_record(golden: tuple[Ledger, Any], name: str) -> None:
    ledger, told = golden
    case = cases()[name]
    assert set(case.questions) == set(told[name])
    session = case.session(name, ledger)
    before = session.account.balance()
    for asked, question in case.questions.items():
        same(numbers(question(session)), told[name][asked])
        assert session.account.balance() == before, asked


@pytest.mark.parametrize("name", adaptive_cases())
def test_adaptive_answers_are_on_record(name: str, tmp_path: Path) -> None:
    copy = shutil.copy(HERE / "v2-adaptive.ledger", tmp_path / "copy.ledger")
    told, case = json.loads((HERE / "v2-adaptive.json").read_text()), adaptive_cases()[name]
    assert verify(copy, told["checkpoint"]).ok
    assert set(case.questions) == set(told[name])
    with Ledger.open(copy) as ledger:
        session = case.session(name, ledger)
        before = session.account.balance()
        for asked, question in case.questions.items():
            same(numbers(question(session)), told[name][asked])
        assert session.account.balance() == before


def test_answers_stay_when_the_code_changes(
    golden: tuple[Ledger, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another grid, other ranks, wider intervals, other names of classes: the same questions, and the same numbers."""
    from dalenius.tables import aggregates
    from dalenius.tables.measures import gridding, tree
    from dalenius.tables.statistics import ranks

    monkeypatch.setattr(gridding, "STEPS", 20)
    monkeypatch.setattr(gridding, "SUM_STEPS", 30)
    monkeypatch.setattr(ranks, "SIDE", 20)
    monkeypatch.setattr(ranks, "BLUR", 0.7)
    modules = (aggregates, gridding, ranks, tree)
    kinds = {kind for module in modules for kind in vars(module).values() if isinstance(kind, type)}
    names = {kind: kind.__name__ for kind in kinds if kind.__module__.startswith("dalenius.")}
    for kind in names:
        kind.__name__ = kind.__qualname__ = "Renamed"
    try:
        still_answered(*golden)
    finally:
        for kind, name in names.items():
            kind.__name__ = kind.__qualname__ = name


def still_answered(ledger: Ledger, told: Any) -> None:
    case = cases()["zcdp, persons"]
    session = case.session("zcdp, persons", ledger)
    before = session.account.balance()
    for asked, question in case.questions.items():
        same(numbers(question(session)), told["zcdp, persons"][asked])
    assert session.account.balance() == before


def test_a_file_that_was_moved(golden: tuple[Ledger, Any], tmp_path: Path) -> None:
    ledger, told = golden
    people().to_csv(tmp_path / "moved.csv", index=False)
    with pytest.raises(dp.errors.InvalidParameter, match="elsewhere"):
        MOVED.session("moved", ledger, data=tmp_path / "moved.csv")
    session = MOVED.session("moved", ledger, data=tmp_path / "moved.csv", moved=True)
    same(numbers(MOVED.questions["count"](session)), told["moved"]["count"])
    assert session.spent == dp.ZCDP(0.1)


def test_an_account_that_no_session_opened(golden: tuple[Ledger, Any]) -> None:
    ledger, told = golden
    account = ledger.existing("by hand", "ana")
    assert account.unit == "households é"
    for question, answer in told["by hand"].items():
        assert account.recorded(question) == answer
    assert account.recorded("failed") is None
    assert account.recorded("lost") is None


def test_another_question_is_charged(golden: tuple[Ledger, Any]) -> None:
    """The tests above would pass for nothing if everything were free."""
    case: Case = cases()["shared"]
    session = case.session("shared", golden[0])
    before = session.account.balance()
    session.release(session.table.agg(another=dp.count()), dp.ZCDP(0.01))
    assert session.account.balance() != before


def same(found: Any, told: Any) -> None:
    if isinstance(told, dict):
        assert {name for name in found if name in told or not name.endswith(SHOWN)} == set(told)
        for name in told:
            if name == "keys" or name.endswith(SHOWN):
                assert found[name] == told[name], name
            else:
                same(found[name], told[name])
    elif told and isinstance(told[0], list):
        assert found[0] == told[0]  # estimates
        (_, low, high), (_, was, _) = np.float64(found[1:]), np.float64(told[1:])
        assert (np.isnan(low) == np.isnan(was)).all()
        if not np.isnan(low).all():
            estimate = np.float64(found[0])
            assert ((low <= estimate) & (estimate <= high)).all()
    else:
        assert found == told
