"""What a steward did in a ledger that was written once is read for ever, and a server that makes it says the same."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import dalenius as dp
from dalenius.errors import BudgetExceeded, InvalidParameter
from dalenius.session.ledger import Ledger
from dalenius.session.verify import verify
from tests.session.golden_ledger import HERE
from tests.session.golden_steward import NAME, lives, told
from tests.session.helpers import rho


def test_it_is_read(tmp_path: Path) -> None:
    copy = shutil.copy(HERE / f"{NAME}.ledger", tmp_path / "copy.ledger")
    said = json.loads((HERE / f"{NAME}.json").read_text())
    found = verify(copy, said["checkpoint"])
    assert found.ok, found.problems
    with Ledger.open(copy) as ledger:
        assert told(ledger) == said
        ana = ledger.existing("all", "ana")
        assert ana.recorded("how many?") == "[41]"
        ana.charge("more", rho("0.2"))
        ana.renew()
        with pytest.raises(InvalidParameter, match="2 times"):
            ana.renew()
        with pytest.raises(BudgetExceeded, match="was closed"):
            ledger.existing("closed", "ana").charge("q", dp.losses.laplace(100.0))
    assert verify(copy).ok


def test_a_server_says_the_same(postgres_place: str) -> None:
    said = json.loads((HERE / f"{NAME}.json").read_text())
    with Ledger.open(postgres_place) as ledger:
        found = lives(ledger)
    assert found["log"] == said["log"]
    for name, account in found["accounts"].items():  # the sum of a plan is rounded up by the code of the day
        assert {**account, "promise": ""} == {**said["accounts"][name], "promise": ""}
    assert verify(postgres_place).ok
