"""A ledger of fits and evaluations that was written once: every question is answered from the record."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from dalenius.session.ledger import Ledger
from dalenius.session.verify import verify
from tests.session import golden_learning, golden_targets
from tests.session.golden_ledger import HERE

FILES: dict[str, Any] = {"learning": golden_learning, "targets": golden_targets}


@pytest.mark.parametrize(
    ("file", "name"), [(file, name) for file, made in FILES.items() for name in made.cases()]
)
def test_every_question_is_answered_from_the_record(file: str, name: str, tmp_path: Path) -> None:
    made, told = FILES[file], json.loads((HERE / f"{file}.json").read_text())
    with Ledger.open(shutil.copy(HERE / f"{file}.ledger", tmp_path / "copy.ledger")) as ledger:
        session = made.cases()[name].session(name, ledger)
        before = session.account.balance()
        for word, ask in made.cases()[name].questions.items():
            assert made.numbers(ask(session)) == told[name][word], word
        assert session.account.balance() == before


@pytest.mark.parametrize("file", FILES)
def test_it_verifies(file: str, tmp_path: Path) -> None:
    assert verify(shutil.copy(HERE / f"{file}.ledger", tmp_path / "copy.ledger")).ok
