"""Analysts race for one budget over HTTP while workers and the database are killed: benchmarks/console.py in small."""

from __future__ import annotations

import os

import pytest
from benchmarks.console import PRICE, Size, held

from tests.servers import postgres

pytestmark = pytest.mark.slow
SMALL = Size(
    analysts=6, questions=4, workers=2, reads=16, rows=200, slot=0.2, lanes=1, lease=1.5, isolation="thread",
    kills=((0.2, "worker at work"), (0.5, "database")),
)  # fmt: skip


def test_nothing_is_overspent_or_lost_and_what_was_charged_in_vain_is_told() -> None:
    if os.environ.get("DALENIUS_TEST_POSTGRES"):
        pytest.skip("the database is killed here, so it must be one of our own: unset DALENIUS_TEST_POSTGRES")
    try:
        postgres.find()
    except postgres.NoServer as missing:
        pytest.skip(str(missing))
    race, seen = held(SMALL)
    assert [what for what, _ in race.kills] == ["worker at work", "database"]
    assert seen.asked == SMALL.analysts * SMALL.questions  # everybody was told what became of everything
    assert seen.verified
    assert not seen.overspent
    assert seen.charged == pytest.approx(PRICE * seen.charges)
    assert seen.answers_that_differ == 0
    # The worker that was killed at work had charged: its question has failed, and whoever asked is told the cost.
    assert seen.in_vain >= 1
    assert seen.told_in_vain == seen.in_vain
    failed = [told for told in race.told if told.state == "failed"]
    assert failed
    assert all("charged" in told.words for told in failed)
    # What was answered is what was charged and not in vain; the rest was refused, as the budget is smaller.
    answered = {told.sql for told in race.told if told.state in ("done", "on record")}
    assert len(answered) + 1 == seen.answered  # one more for those who only read
    assert sum("refused" in told.state for told in race.told) > 0
