"""The functions people call: frames in, results out, and nothing that a row can break. Nothing here is random."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import dalenius as dp
from dalenius.errors import CannotMeet, InvalidParameter
from dalenius.infer import Result
from dalenius.infer.estimates.bounded import Bounded, power_sums, present, steps_of
from dalenius.infer.estimates.found_bounds import FoundBounds
from tests.noise.seeded import seeded

infer = dp.infer
MU = dp.GDP(1.0)
X, Y = np.linspace(-1, 1, 300), np.linspace(-1, 1, 300) ** 2

CALLS = {
    "mean": lambda x, **k: infer.mean(x, MU, bounds=(-1, 1), **k),
    "mean by moment": lambda x, **k: infer.mean(x, MU, location=(-9, 9), moment=(4, 1.0), **k),
    "mean by sd": lambda x, **k: infer.mean(x, MU, location=(-900, 900), sd_at_most=1.0, **k),
    "mean of anything": lambda x, **k: infer.mean(x, MU, **k),
    "variance": lambda x, **k: infer.variance(x, MU, bounds=(-1, 1), **k),
    "std": lambda x, **k: infer.std(x, MU, bounds=(-1, 1), **k),
    "proportion": lambda x, **k: infer.proportion(x, MU, **k),
    "difference": lambda x, **k: infer.difference_of_means(x, Y, MU, bounds=(-1, 1), **k),
    "correlation": lambda x, **k: infer.correlation(
        x, Y[: len(x)], MU, x_bounds=(-1, 1), y_bounds=(0, 1), **k
    ),
    "median": lambda x, **k: infer.median(x, MU, bounds=(-1, 1), bins=64, **k),
    "quantiles": lambda x, **k: infer.quantiles(x, MU, levels=[0.1, 0.9], **k),
    "contingency": lambda x, **k: infer.contingency(
        np.sign(x), Y[: len(x)] > 0.5, MU, x_levels=(-1, 1), y_levels=(False, True), **k
    ),
}


@pytest.mark.parametrize("relation", [dp.ADD_REMOVE, dp.REPLACE_ONE], ids=repr)
@pytest.mark.parametrize("name", CALLS)
def test_every_estimate_is_a_result_that_can_be_kept(name: str, relation: dp.Adjacency) -> None:
    with seeded(31):
        fit = CALLS[name](X, adjacency=relation)
    assert fit.interval_available
    limits = fit.conf_int()
    assert (limits[:, 0] <= fit.params).all()
    assert (fit.params <= limits[:, 1]).all()
    assert (fit.conf_int(0.001)[:, 0] <= limits[:, 0]).all()
    assert MU.holds(fit.loss)
    assert Result.from_json(fit.to_json()).summary() == fit.summary()


@pytest.mark.parametrize("relation", [dp.ADD_REMOVE, dp.REPLACE_ONE], ids=repr)
@pytest.mark.parametrize("name", CALLS)
def test_no_row_can_break_an_estimate(name: str, relation: dp.Adjacency) -> None:
    odd = X.copy()
    odd[:6] = np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for rows in (odd, odd[:3], np.zeros(0)):
            assert len(CALLS[name](rows, adjacency=relation).params) >= 1


def test_missing_rows_are_absent_or_in_the_middle() -> None:
    bounds, rows = Bounded(0.0, 10.0), np.array([1.0, np.nan, np.inf, 9.0])
    assert power_sums(steps_of(bounds, present(dp.ADD_REMOVE, rows)[0]))[0] == 2
    steps = steps_of(bounds, present(dp.REPLACE_ONE, rows)[0])
    assert steps.tolist()[1:3] == [0, 0]


def test_names_come_from_frames() -> None:
    frame = pd.DataFrame({"pay": X, "age": Y})
    assert infer.mean(frame["pay"], MU, bounds=(-1, 1)).names == ("pay",)
    assert infer.correlation(frame["pay"], frame["age"], MU, x_bounds=(-1, 1), y_bounds=(0, 1)).names == (
        "pay, age",
    )
    fit = infer.contingency(
        frame["pay"] > 0, frame["age"] > 0.5, MU, x_levels=(False, True), y_levels=(False, True)
    )
    assert fit.names[:2] == ("pay=False, age=False", "pay=False, age=True")
    assert fit.names[4:] == ("risk difference", "log relative risk", "log odds ratio")


def test_text_can_be_counted() -> None:
    x, y = ["a", "b", "c", None] * 50, ["u", "v"] * 100
    with seeded(32):
        fit = infer.contingency(x, y, dp.GDP(100.0), x_levels=("a", "b"), y_levels=("u", "v"))
    assert fit.nobs == pytest.approx(100, abs=1)
    np.testing.assert_allclose(fit.params[:4], [0.5, 0.0, 0.0, 0.5], atol=0.02)


def test_without_public_facts_the_estimand_is_named() -> None:
    with seeded(33):
        fit = infer.mean(np.full(2000, 100.0) + X.repeat(7)[:2000], MU)
        none = infer.mean([1.0], MU)
    assert "clamped to [64, 128]" in fit.names[0]
    assert "No interval for the mean itself" in fit.notes[0]
    assert not none.interval_available
    assert np.isnan(none.params).all()
    assert "noise hides" in none.summary()


def test_found_bounds_hold_the_values() -> None:
    with seeded(34):
        for values, expected in (
            (np.linspace(1, 60, 3000), (1.0, 64.0)),
            (np.linspace(-60, 60, 3000), (-64.0, 64.0)),
            (-np.linspace(3, 7, 3000), (-8.0, -2.0)),
            (np.zeros(3000), (-(2.0**-40), 2.0**-40)),
        ):
            found = FoundBounds(MU).release(values)
            assert found is not None
            assert (found.low, found.high) == expected


@pytest.mark.parametrize(
    "call",
    [
        lambda: infer.mean(X, 1.0, bounds=(0, 1)),
        lambda: infer.mean(X, MU, bounds=(1, 0)),
        lambda: infer.mean(X, MU, bounds=(0, 1), sd_at_most=1.0),
        lambda: infer.mean(X, MU, sd_at_most=1.0),
        lambda: infer.mean(X, MU, location=(0, 1)),
        lambda: infer.mean(X, MU, location=(0, 1), moment=(1, 1.0)),
        lambda: infer.mean(X, MU, location=(0, 1), moment=3),
        lambda: infer.mean(X, MU, location=(0, 1), moment=(2, 1.0), sd_at_most=1.0),
        lambda: infer.mean(X, MU, location=(0, 1e9), sd_at_most=1.0),
        lambda: infer.mean(X, MU, bounds=(0, 1), adjacency="add"),
        lambda: infer.mean("text", MU, bounds=(0, 1)),
        lambda: infer.variance(X, MU, bounds=None),
        lambda: infer.correlation(X, Y[:5], MU, x_bounds=(0, 1), y_bounds=(0, 1)),
        lambda: infer.quantiles(X, MU, levels=[], bounds=(0, 1)),
        lambda: infer.quantiles(X, MU, levels=[0.5, 0.5], bounds=(0, 1)),
        lambda: infer.quantiles(X, MU, levels=[1.0], bounds=(0, 1)),
        lambda: infer.median(X, MU, bounds=(0, 1), bins=1),
        lambda: infer.contingency(X, Y, MU, x_levels=(1,), y_levels=(0, 1)),
        lambda: infer.contingency(X, Y, MU, x_levels=(1, 1), y_levels=(0, 1)),
        lambda: infer.contingency(X, Y[:5], MU, x_levels=(1, 2), y_levels=(0, 1)),
        lambda: infer.contingency(X, Y, MU, x_levels=([], 2), y_levels=(0, 1)),
    ],
)
def test_what_makes_no_sense_is_refused(call) -> None:
    with pytest.raises(InvalidParameter):
        call()


def test_without_bounds_a_quantile_that_noise_hides_has_infinite_limits() -> None:
    with seeded(35):
        assert np.isinf(infer.median([1.0, 2.0], dp.GDP(0.1)).conf_int()).all()


def test_quantiles_say_what_to_use_for_pure_promises() -> None:
    with pytest.raises(CannotMeet, match="GDP"):
        infer.median(X, dp.PureDP(1.0), bounds=(0, 1))


def test_results_say_what_missing_values_count_as() -> None:
    relation = {"adjacency": dp.REPLACE_ONE}
    for fit, words in (
        (
            dp.infer.mean([1.0, float("nan")], dp.GDP(1.0), bounds=(0, 2), **relation),
            "missing ones as their middle",
        ),
        (dp.infer.proportion([True, None], dp.GDP(1.0), **relation), "Missing values count as false"),
        (dp.infer.median([1.0, 2.0], dp.GDP(1.0), bounds=(0, 4), **relation), "Missing values count as 2."),
        (
            dp.infer.contingency(
                ["a", "c"], [0, 1], dp.GDP(1.0), x_levels=("a", "b"), y_levels=(0, 1), **relation
            ),
            "Rows whose values are not among the levels count as x=a, y=0.",
        ),
    ):
        assert any(words in note for note in fit.notes)
