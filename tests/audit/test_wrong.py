"""Every broken promise is caught, and its repair is not.

Confidence is 1 - 1e-9: the chance, over the seed, that a true promise is called broken is below 1e-9 for each
repair, and below 5e-8 for all of them together. Seeds are fixed.
"""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

import dalenius as dp
from tests.audit import laws
from tests.audit.wrong import CASES, Wrong

SURE = 1 - 1e-9


def audit(wrong: Wrong, release: object, share: int = 1) -> dp.audit.Audit:
    laws.reset(zlib.crc32(wrong.name.encode()))
    trials = max(wrong.trials // share, 1000)
    return dp.audit.lower_bound(release, wrong.pair, trials, wrong.level, SURE, batched=True)


@pytest.mark.parametrize("wrong", CASES, ids=lambda wrong: wrong.name)
def test_caught(wrong: Wrong) -> None:
    assert audit(wrong, wrong.release).contradicts(wrong.claim)


@pytest.mark.parametrize("wrong", [c for c in CASES if c.right is not None], ids=lambda wrong: wrong.name)
def test_repair_passes(wrong: Wrong) -> None:
    """With fewer trials: that a true promise is called broken is as unlikely for any number of them."""
    assert not audit(wrong, wrong.right, share=4).contradicts(wrong.claim)


def test_names_are_unique() -> None:
    assert len({wrong.name for wrong in CASES}) == len(CASES) > 40


def test_sources_are_documented() -> None:
    """What is in print, or commonly made of it, has its row in the documentation."""
    page = (Path(__file__).parents[2] / "docs" / "printed-but-wrong.md").read_text(encoding="utf-8")
    for wrong in CASES:
        assert (f"\n| {wrong.name} |" in page) == (wrong.where != "bug"), wrong.name
