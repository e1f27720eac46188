"""A ledger of synthetic data that was written once: every question is answered from the record."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from dalenius.session.ledger import Ledger
from dalenius.session.verify import verify
from tests.session.golden_ledger import HERE
from tests.session.golden_synthesis import cases, numbers


@pytest.mark.parametrize("name", cases())
def test_every_question_is_answered_from_the_record(name: str, tmp_path: Path) -> None:
    told = json.loads((HERE / "synthesis.json").read_text())
    with Ledger.open(shutil.copy(HERE / "synthesis.ledger", tmp_path / "copy.ledger")) as ledger:
        session = cases()[name].session(name, ledger)
        before = session.account.balance()
        for word, ask in cases()[name].questions.items():
            made = ask(session)
            assert made.free
            found, expected = numbers(made), told[name][word]
            for column in made.columns:
                # What was measured to the last bit; what a model makes of it as well as exponentials agree.
                counts = found[column].pop("count")
                assert counts == pytest.approx(expected[column].pop("count"), rel=1e-4, abs=1e-4)
            assert found == expected
            frame = made.to_pandas()
            assert len(frame) == made.rows
        assert session.account.balance() == before


def test_it_verifies(tmp_path: Path) -> None:
    assert verify(shutil.copy(HERE / "synthesis.ledger", tmp_path / "copy.ledger")).ok
