"""A ledger of feeds that was written once: what was published is published again, and the feeds go on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from dalenius.session.ledger import Ledger
from tests.session.golden_continual import cases, numbers
from tests.session.golden_ledger import HERE


@pytest.mark.parametrize("name", cases())
def test_feeds_go_on(name: str, tmp_path: Path) -> None:
    told = json.loads((HERE / "continual.json").read_text())[name]
    with Ledger.open(shutil.copy(HERE / "continual.ledger", tmp_path / "copy.ledger")) as ledger:
        session = cases()[name].session(name, ledger)
        before = session.account.balance()
        feed = cases()[name].questions["feed"](session)
        again = numbers(feed.publish(25))
        assert again["age"] == told["age"]
        # Totals are worked out anew from whole numbers on record, in double precision.
        for column, values in told.items():
            assert np.allclose(
                [float(x) for x in again[column]], [float(x) for x in values], rtol=1e-9, atol=1e-6
            )
        assert len(feed.publish(40)) == 23
        assert session.account.balance() == before
