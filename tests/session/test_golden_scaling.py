"""A ledger of fits that found the scale of their features, written once: every question is answered from the record."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from dalenius.session.ledger import Ledger
from dalenius.session.verify import verify
from tests.session.golden_ledger import HERE
from tests.session.golden_scaling import cases, numbers


@pytest.mark.parametrize("name", cases())
def test_every_question_is_answered_from_the_record(name: str, tmp_path: Path) -> None:
    told = json.loads((HERE / "scaling.json").read_text())
    with Ledger.open(shutil.copy(HERE / "scaling.ledger", tmp_path / "copy.ledger")) as ledger:
        session = cases()[name].session(name, ledger)
        before = session.account.balance()
        for word, ask in cases()[name].questions.items():
            assert numbers(ask(session)) == told[name][word], word
        assert session.account.balance() == before


def test_it_verifies(tmp_path: Path) -> None:
    assert verify(shutil.copy(HERE / "scaling.ledger", tmp_path / "copy.ledger")).ok
