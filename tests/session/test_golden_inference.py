"""A ledger of inference that was written once: every question is answered from the record, to the last bit."""

from __future__ import annotations

import json
import shutil
from dataclasses import fields
from pathlib import Path

import pytest

from dalenius import infer
from dalenius.session.ledger import Ledger
from dalenius.session.record.estimators import FIELDS, WORDS
from dalenius.session.verify import verify
from tests.session.golden_inference import cases, numbers
from tests.session.golden_ledger import HERE


@pytest.mark.parametrize("name", cases())
def test_every_question_is_answered_from_the_record(name: str, tmp_path: Path) -> None:
    told = json.loads((HERE / "inference.json").read_text())
    with Ledger.open(shutil.copy(HERE / "inference.ledger", tmp_path / "copy.ledger")) as ledger:
        session = cases()[name].session(name, ledger)
        before = session.account.balance()
        for word, ask in cases()[name].questions.items():
            assert numbers(ask(session)) == told[name][word]
        assert session.account.balance() == before


def test_it_verifies(tmp_path: Path) -> None:
    assert verify(shutil.copy(HERE / "inference.ledger", tmp_path / "copy.ledger")).ok


@pytest.mark.parametrize("tag", WORDS)
def test_every_setting_has_a_word(tag: str) -> None:
    name, words = WORDS[tag]
    told = [FIELDS.get((tag, word), word) for word in words]
    assert sorted(told) == sorted(field.name for field in fields(getattr(infer, name)))
