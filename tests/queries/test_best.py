"""The choice of a way of release: by predicted error alone, and said in words."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.queries import Domain, Workload
from dalenius.queries.workload.choice import CANDIDATES, Candidate

LINEAR = {name: CANDIDATES[name] for name in ("noise per question", "noisy histogram", "matrix mechanism")}


@pytest.fixture(autouse=True)
def linear(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ways with exact errors alone: the calibration of the others takes seconds."""
    monkeypatch.setattr("dalenius.queries.workload.choice.CANDIDATES", dict(LINEAR))


def test_every_way_is_registered() -> None:
    assert set(LINEAR) | {"MWEM", "SmallDB", "AdaptiveMarginals"} <= set(CANDIDATES)


def test_the_least_error_is_chosen_and_the_table_says_so() -> None:
    workload = Workload.ranges(Domain({"x": 100}))
    choice = workload.best(dp.PureDP(1.0), n=100_000)
    errors = [line.error for line in choice.table]
    assert errors == sorted(errors)
    assert choice.table[0].name == "matrix mechanism"
    assert choice.mechanism.predicted_error(100_000) == errors[0]
    assert "matrix mechanism has the least predicted error" in choice.why
    for line in choice.table:
        assert line.name in str(choice)
    assert choice.mechanism.release({"x": [1, 2]}).answers().shape == (5050,)


def test_one_question_is_asked_directly() -> None:
    domain = Domain(dict.fromkeys("abc", 10))
    one = Workload.predicates(domain, [{"a": [0], "b": [1, 2]}])
    for promise in (dp.PureDP(0.5), dp.ZCDP(0.1)):
        assert one.best(promise, n=1000).table[0].name == "noise per question"


def test_few_questions_have_laplace_noise_and_many_gaussian_noise() -> None:
    domain = Domain({"x": 64})
    promise = dp.ApproxDP(1.0, 1e-9)
    few = Workload.predicates(domain, [{"x": [0, 1]}]).best(promise, n=1000).mechanism
    many = Workload.marginals(Domain(dict.fromkeys("abcdefghijkl", 9)), 2).best(promise, n=1000).mechanism
    assert (few.law, many.law) == ("laplace", "gaussian")
    assert promise.holds(few.loss)
    assert promise.holds(many.loss)


def test_no_data_are_needed_and_hopeless_promises_are_said() -> None:
    workload = Workload.marginals(Domain(dict.fromkeys("abcdefgh", 10)), 2)
    choice = workload.best(dp.ZCDP(1e-6), n=100)
    if choice.table[0].error > 50:
        assert "tells next to nothing" in choice.why


def test_where_noise_hides_the_cells_few_measurements_win(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a small epsilon a way that fits a model to few marginals is taken, at a large one everything is measured."""
    few = Candidate("few", "fits a model", lambda workload, promise, **options: Unpredicted(), few=True)
    monkeypatch.setattr("dalenius.queries.workload.choice.CANDIDATES", LINEAR | {"few": few})
    workload = Workload.marginals(Domain(dict.fromkeys("abcdefgh", 10)), 2)
    small, large = (workload.best(dp.ApproxDP(epsilon, 1e-9), n=5000) for epsilon in (0.05, 10.0))
    assert isinstance(small.mechanism, Unpredicted)
    assert "fits a model" in small.why
    assert large.table[0].mechanism is large.mechanism
    assert math.isinf(large.table[-1].error)
    ranges = Workload.ranges(Domain({"x": 10})).best(dp.ApproxDP(0.001, 1e-9), n=10)
    assert not isinstance(ranges.mechanism, Unpredicted)  # not about marginals


class Unpredicted:
    def predicted_error(self, n: int) -> float:
        return math.inf


@pytest.mark.parametrize(
    "options",
    [
        {"guarantee": 1.0},
        {"n": 0},
        {"n": -5},
        {"n": math.nan},
        {"n": "many"},
        {"adjacency": None},
        {"rows_per_unit": 0},
    ],
    ids=str,
)
def test_odd_input(options: dict[str, Any]) -> None:
    workload = Workload.marginals(Domain({"x": 3}), 1)
    with pytest.raises(InvalidParameter):
        workload.best(**{"guarantee": dp.PureDP(1.0), "n": 100} | options)


def test_candidates_that_cannot_are_listed_with_the_reason() -> None:
    wide = Workload.marginals(Domain(dict.fromkeys("abcdefghijkl", 10)), 2)
    lines = {line.name: line for line in wide.best(dp.ZCDP(0.5), n=1000).table}
    assert math.isinf(lines["noisy histogram"].error)
    assert "cells" in lines["noisy histogram"].note
    assert np.isfinite(lines["matrix mechanism"].error)
