"""The choice of a way of release: by predicted error alone, and said in words."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.queries import AdaptiveMarginals, Domain, Workload
from dalenius.queries.linear_mechanism import LinearMechanism
from dalenius.queries.workload.choice import CANDIDATES

FEW = CANDIDATES["AdaptiveMarginals"]
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


@pytest.mark.parametrize("name", ["MWEM", "SmallDB"])
def test_what_cannot_win_is_not_calibrated(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The least error that is stated is one: nothing that is built promises less."""
    one, least = CANDIDATES[name], CANDIDATES[name].least
    assert least is not None
    for workload in (Workload.marginals(Domain({"x": 4, "y": 3}), 1), Workload.ranges(Domain({"x": 8}))):
        for n in (5, 2000):
            built = one.build(workload, dp.PureDP(500.0), n=n, n_is_public=True)
            assert least(workload, dp.PureDP(500.0), n) <= built.predicted_error(n)
    never = replace(one, build=lambda *a, **k: pytest.fail("it was built"))
    monkeypatch.setattr("dalenius.queries.workload.choice.CANDIDATES", {name: never} | LINEAR)
    choice = Workload.marginals(Domain({"x": 4, "y": 3}), 1).best(dp.ApproxDP(1.0, 1e-6), n=10**6)
    assert [line.name for line in choice.table][-1] == name
    assert (choice.table[-1].mechanism, "noise left out" in str(choice)) == (None, True)
    monkeypatch.setattr("dalenius.queries.workload.choice.CANDIDATES", {name: one} | LINEAR)
    won = Workload.marginals(Domain({"x": 4, "y": 3}), 1).best(dp.PureDP(1.0), n=1)
    assert {line.name: line.mechanism is None for line in won.table}[name] is False
    with pytest.raises(InvalidParameter):
        least(Workload.marginals(Domain(dict.fromkeys("abcdefgh", 10)), 1), dp.PureDP(1.0), 5)


def test_a_choice_says_how_it_releases() -> None:
    choice = Workload.marginals(Domain({"a": 4}), 1).best(dp.ZCDP(0.1), n=10)
    with pytest.raises(AttributeError, match=r"choice.mechanism.release\(table\)"):
        choice.release  # noqa: B018


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


def test_hopeless_promises_are_said() -> None:
    workload = Workload.marginals(Domain(dict.fromkeys("abcdefgh", 10)), 2)
    choice = workload.best(dp.ZCDP(1e-6), n=100)
    assert choice.table[0].error > 50
    assert "tells next to nothing" in choice.why


def test_a_model_of_few_marginals_is_taken_for_wide_tables_and_small_budgets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    few = {"AdaptiveMarginals": FEW}
    monkeypatch.setattr("dalenius.queries.workload.choice.CANDIDATES", LINEAR | few)
    wide = Workload.marginals(Domain(dict.fromkeys("abcdefghijkl", 10)), 2)
    small = wide.best(dp.ApproxDP(0.1, 1e-9), n=5000)
    assert isinstance(small.mechanism, AdaptiveMarginals)
    assert small.mechanism.predicted_error(5000) == small.table[0].error < small.table[1].error
    assert "depends on the data" in small.why
    for workload, promise in (
        (wide, dp.ApproxDP(100.0, 1e-9)),
        (Workload.marginals(Domain({"a": 2, "b": 2, "c": 8}), 2), dp.ZCDP(0.5)),
        (Workload.ranges(Domain({"x": 10})), dp.ApproxDP(0.1, 1e-9)),
    ):
        assert isinstance(workload.best(promise, n=5000).mechanism, LinearMechanism)


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
