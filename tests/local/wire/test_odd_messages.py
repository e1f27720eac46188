"""Messages, tallies and arguments that nobody should send: refused by name, and without memory for them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from dalenius import local
from dalenius.errors import InvalidParameter
from dalenius.local.wire import aggregator

ANSWERS = local.Parameters(local.RandomizedResponse(epsilon=1.0, k=3))
NUMBERS = local.Parameters(local.Duchi(epsilon=1.0, bounds=(0, 1)))
ODD: list[Any] = [None, 5, [1], {}, np.array([1, 2]), object(), "null", "[" * 10**5, b"\xff", "1" * 5000]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: str(odd)[:12])
def test_what_is_no_message_is_counted_and_changes_nothing(odd: Any) -> None:
    collector = local.Aggregator(ANSWERS)
    assert collector.read([local.Client(ANSWERS).report(1), odd, local.Client(ANSWERS).report(2)]) == 2
    assert sum(collector.rejected.values()) == 1


@pytest.mark.parametrize("odd", [None, 5, "abc", b"abc"])
def test_one_message_is_not_many(odd: Any) -> None:
    with pytest.raises(InvalidParameter, match="add"):
        local.Aggregator(ANSWERS).read(odd)
    with pytest.raises(InvalidParameter, match="one value for each person"):
        local.Client(ANSWERS).reports(odd)


def test_surveys_have_as_many_answers_as_can_be_counted() -> None:
    with pytest.raises(InvalidParameter, match="at most 67108864"):
        local.Parameters(local.RandomizedResponse(epsilon=1.0, k=2**40))


def test_few_large_reports_are_kept_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aggregator, "WAITING", 100)
    parameters = local.Parameters(local.OptimizedUnaryEncoding(epsilon=1.0, k=200))
    client, collector = local.Client(parameters), local.Aggregator(parameters)
    for number in range(1, 12):
        collector.add(client.report(number))
        assert len(collector._waiting) < 4
        assert collector.people == number


@pytest.mark.parametrize("people", [2, 2**61])
def test_a_tally_of_numbers_adds_up(people: int) -> None:
    collector = local.Aggregator(NUMBERS)
    collector.add(local.Client(NUMBERS).reports([0.0, 0.5, 1.0]))
    with pytest.raises(InvalidParameter, match="not written as we write them"):
        local.Aggregator.from_json(json.dumps({**json.loads(collector.to_json()), "people": people}))


def test_a_mean_of_more_reports_than_memory_is_refused() -> None:
    record = {**json.loads(local.Aggregator(NUMBERS).to_json()), "people": 2**61, "tally": [[0, 2**61]]}
    with pytest.raises(InvalidParameter, match="several aggregators"):
        local.Aggregator.from_json(json.dumps(record)).estimate()


@pytest.mark.parametrize("kind", [local.Duchi, local.Piecewise, local.Laplace, local.Hybrid])
def test_numbers_and_bounds_at_the_ends_of_the_floats(kind: Any) -> None:
    assert np.isfinite(kind(epsilon=1.0, bounds=(0, 1)).release(5))
    assert np.isfinite(kind(epsilon=1.0, bounds=(0, 1)).release([10**400, -(10**400), 1e308])).all()
    with pytest.raises(InvalidParameter, match="too close"):
        kind(epsilon=1.0, bounds=(0, 5e-324))
