"""Ledgers of inference that were written once: every question is answered from the record, to the last bit."""

from __future__ import annotations

import json
import shutil
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from dalenius import infer
from dalenius.session.ledger import Ledger
from dalenius.session.record.estimators import FIELDS, KNOWN
from dalenius.session.verify import verify
from tests.session import golden_estimates, golden_inference, golden_locations, golden_testing
from tests.session.golden_ledger import HERE

GOLDEN = {
    "inference": golden_inference,
    "testing": golden_testing,
    "estimates": golden_estimates,
    "locations": golden_locations,
}


@pytest.mark.parametrize(
    ("ledger", "name"), [(key, name) for key, made in GOLDEN.items() for name in made.cases()]
)
def test_every_question_is_answered_from_the_record(ledger: str, name: str, tmp_path: Path) -> None:
    told = json.loads((HERE / f"{ledger}.json").read_text())
    case, numbers = GOLDEN[ledger].cases()[name], GOLDEN[ledger].numbers
    with Ledger.open(shutil.copy(HERE / f"{ledger}.ledger", tmp_path / "copy.ledger")) as kept:
        session = case.session(name, kept)
        before = session.account.balance()
        for word, ask in case.questions.items():
            found, written = numbers(ask(session)), told[name][word]
            # The loss is that of the record; the epsilon or mu that tells it here is found anew, to 1e-10.
            new, old = (np.float64(each.pop("loss")) for each in (found, written))
            assert np.allclose(new, old, rtol=1e-10, atol=0.0)
            assert found == written
        assert session.account.balance() == before


@pytest.mark.parametrize("ledger", GOLDEN)
def test_it_verifies(ledger: str, tmp_path: Path) -> None:
    assert verify(shutil.copy(HERE / f"{ledger}.ledger", tmp_path / "copy.ledger")).ok


@pytest.mark.parametrize("tag", KNOWN)
def test_every_setting_has_a_word(tag: str) -> None:
    name, words = KNOWN[tag]
    told = [FIELDS.get((tag, word), word) for word in words]
    assert sorted(told) == sorted(field.name for field in fields(getattr(infer, name)))
