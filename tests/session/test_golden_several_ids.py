"""A ledger with a person's month as the unit, written once: it is read, and questions are answered from the record."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from dalenius.session.ledger import Ledger
from dalenius.session.verify import verify
from tests.session.golden_ledger import HERE
from tests.session.golden_several_ids import NAME, told


def test_it_is_read_and_nothing_is_paid_again(tmp_path: Path) -> None:
    copy = shutil.copy(HERE / f"{NAME}.ledger", tmp_path / "copy.ledger")
    assert verify(copy).ok
    with Ledger.open(copy) as ledger:
        before = ledger.checkpoint()
        assert told(ledger) == json.loads((HERE / f"{NAME}.json").read_text())
        assert ledger.checkpoint() == before
