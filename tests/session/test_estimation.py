"""Means, shares, quantiles and the like of a session's table: charged first, the same as of arrays, and remembered."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dalenius as dp
from dalenius import infer
from dalenius.errors import BudgetExceeded, InvalidParameter
from dalenius.session.ledger import Ledger
from tests.noise.seeded import seeded

PROMISE = dp.ZCDP(0.2)
SEXES = ("f", "o'x")
CASES: dict[str, tuple[Any, Any, Any]] = {
    "mean": (infer.Mean(PROMISE), "pay", None),
    "clipped": (infer.Mean(PROMISE, location=(0, 100), sd_at_most=15), "pay", None),
    "unknown": (infer.Mean(PROMISE, bounds="unknown"), {"pay": (-1e9, 1e9)}, None),
    "variance": (infer.Variance(PROMISE), "pay", None),
    "std": (infer.Std(PROMISE, bounds=(0, 100)), "pay", None),
    "share": (infer.Proportion(PROMISE), "old", None),
    "difference": (infer.DifferenceOfMeans(PROMISE), "sex = 'f'", "pay"),
    "median": (infer.Median(PROMISE, bins=256), "pay", None),
    "quantiles": (infer.Quantiles(PROMISE, levels=(0.1, 0.9), bounds="unknown"), "pay", None),
    "correlation": (infer.Correlation(PROMISE, x_bounds=(0, 1500)), "person", "pay"),
    "table": (infer.Contingency(PROMISE, x_levels=SEXES, y_levels=(False, True)), "sex", "old"),
}


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    sex, old = rng.choice([*SEXES, "other"], 3000), rng.random(3000) < 0.4
    pay = np.round(rng.normal(40, 10, 3000) + 3 * (sex == "f"), 2)
    pay[::70] = np.nan
    return pd.DataFrame({"person": np.arange(3000) // 2, "sex": sex, "old": old, "pay": pay})


def session(people: pd.DataFrame, budget: dp.Guarantee = dp.ZCDP(9.0), **options: Any) -> dp.Session:  # noqa: B008
    options.setdefault("unit", dp.Unit.rows())
    facts = dp.Schema({"pay": {"bounds": (0, 100)}}, nulls="drop")
    return dp.Session(people, budget=budget, schema=facts, name="people", **options)


def on_arrays(people: pd.DataFrame, name: str) -> infer.Result:
    pay, sex, old = people["pay"], people["sex"], people["old"]
    bounds: dict[str, Any] = {"bounds": (0, 100)}
    match name:
        case "mean":
            return infer.mean(pay, PROMISE, **bounds)
        case "clipped":
            return infer.mean(pay, PROMISE, location=(0, 100), sd_at_most=15)
        case "unknown":
            return infer.mean(pay, PROMISE)
        case "variance":
            return infer.variance(pay, PROMISE, **bounds)
        case "std":
            return infer.std(pay, PROMISE, **bounds)
        case "share":
            return infer.proportion(old, PROMISE)
        case "difference":
            return infer.difference_of_means(pay[sex == "f"], pay[sex != "f"], PROMISE, **bounds)
        case "median":
            return infer.median(pay, PROMISE, bins=256, **bounds)
        case "quantiles":
            return infer.quantiles(pay, PROMISE, levels=(0.1, 0.9))
        case "correlation":
            both: dict[str, Any] = {"x_bounds": (0, 1500), "y_bounds": (0, 100)}
            return infer.correlation(people["person"], pay, PROMISE, **both)
        case _:
            return infer.contingency(sex, old, PROMISE, x_levels=SEXES, y_levels=(False, True))


@pytest.mark.parametrize("name", CASES)
def test_an_estimate_costs_what_it_promises_once_and_is_that_of_arrays(
    name: str, people: pd.DataFrame, tmp_path: Path
) -> None:
    estimate, features, target = CASES[name]
    asked = session(people, ledger=tmp_path / "ledger")
    price = asked.price(estimate, features=features, target=target)
    assert asked.remaining == dp.ZCDP(9.0)
    asked.infer(infer.Proportion(dp.ZCDP(1.0)), "old")  # so that the account is open
    before = asked.remaining.rho
    found = asked.infer(estimate, features, target)
    assert asked.remaining.rho == pytest.approx(before - price.budget.rho)
    assert 0.199 < price.budget.rho <= 0.2
    again = session(people, ledger=tmp_path / "ledger").infer(estimate, features, target)
    assert again.to_json() == found.to_json()
    assert asked.remaining.rho == pytest.approx(before - price.budget.rho)
    assert Ledger.open(tmp_path / "ledger").verify().ok
    # Both are of the same rows, whose sampling error is in either's limits and far above the noise: the noises would
    # have to differ by more than 30 of their standard deviations for limits at 1e-4 not to meet.
    other = on_arrays(people, name)
    (low, high), (least, most) = found.conf_int(1e-4).T, other.conf_int(1e-4).T
    assert ((low <= most) & (least <= high)).all()
    assert len(found.names) == len(other.names)


class Blocks:
    """Rows in blocks of odd sizes, some of them empty, and how often they were read."""

    def __init__(self, table: np.ndarray) -> None:
        self.table, self.looks = table, 0

    def __call__(self) -> Any:
        self.looks += 1
        ends = [0, 0, 1, 40, 40, 977, len(self.table)]
        return (self.table[a:b] for a, b in pairwise(ends))


@pytest.mark.parametrize("name", CASES)
def test_blocks_of_rows_are_the_rows(name: str, people: pd.DataFrame) -> None:
    """With the same random bits, to the last bit: sums do not depend on how rows come."""
    from dalenius.infer.estimates.settings.estimate import TableRows

    estimate, _, target = CASES[name]
    pay, places = people["pay"], people["sex"].map(dict(zip(SEXES, (0.0, 1.0), strict=True))).fillna(-1.0)
    told = estimate.told([(0.0, 100.0)] * (1 if target is None else 2)) if name != "unknown" else estimate
    columns = {
        "share": [people["old"].astype(float)],
        "difference": [(people["sex"] == "f").astype(float), pay],
        "correlation": [people["person"], pay],
        "table": [places, people["old"].astype(float)],
    }.get(name, [pay])
    blocks = Blocks(np.column_stack(columns))
    with seeded(5):
        found = told.release_from(TableRows(blocks, ["x", "y"][: len(columns)], [0.0] * len(columns)))
    with seeded(5):
        alone = on_arrays(people, name)
    assert np.array_equal(found.params, alone.params)
    assert np.array_equal(found.conf_int(), alone.conf_int())
    assert blocks.looks == {"clipped": 2, "unknown": 2, "variance": 2, "std": 2, "difference": 2}.get(name, 1)


def test_replace_one(people: pd.DataFrame) -> None:
    """The number of rows is public, missing values count as the middle, and the price is the promise."""
    public = infer.Mean(PROMISE, adjacency=dp.REPLACE_ONE)
    asked = session(people, adjacency=dp.REPLACE_ONE)
    found = asked.infer(public, "pay")
    assert (found.nobs, found.nobs_noisy) == (3000, False)
    assert asked.remaining.rho == pytest.approx(8.8)
    assert found.conf_int()[0, 0] < people["pay"].fillna(50).mean() < found.conf_int()[0, 1]
    twice = asked.infer(infer.Mean(PROMISE), "pay")
    assert twice.loss.gdp() == pytest.approx(2 * infer.Mean(PROMISE).loss.gdp())
    for table in (asked.table.filter("old"), session(people).table):
        with pytest.raises(InvalidParameter, match="number of rows to be public"):
            (asked if table.steps else session(people)).infer(public, "pay", table=table)
    with pytest.raises(InvalidParameter, match="both samples"):
        asked.infer(infer.DifferenceOfMeans(PROMISE, adjacency=dp.REPLACE_ONE), "sex = 'f'", "pay")


def test_rows_of_a_person_that_may_be_alike_leave_no_interval(people: pd.DataFrame) -> None:
    found = session(people, unit=dp.Unit("person", max_rows=2)).infer(infer.Mean(PROMISE), "pay")
    assert not found.interval_available
    assert "may be alike" in found.reason
    assert not any("are taken" in note for note in found.notes)
    assert found.loss.zcdp() == pytest.approx(4 * infer.Mean(PROMISE).loss.zcdp())


def test_a_condition_is_a_category_too(people: pd.DataFrame) -> None:
    table = infer.Contingency(PROMISE, x_levels=(False, True), y_levels=(False, True))
    found = session(people).infer(table, "pay > 40", "old")
    assert found.names[0] == "pay > 40=False, old=False"
    assert abs(found.params[0] - 0.25) < 0.1  # a quarter or so of the rows; the noise is of 3 rows of 3000


def test_the_grid_of_the_engine_is_inside_the_interval() -> None:
    """Read in steps of 2^13, all values of 1000 are 0 to the engine: the interval reaches beyond what they were."""
    frame = pd.DataFrame({"x": [1000.0] * 4000})
    facts = dp.Schema({"x": {"bounds": (-(2.0**59), 2.0**59)}}, nulls="never")
    asked = dp.Session(frame, unit=dp.Unit.rows(), budget=dp.GDP(40.0), schema=facts)
    for how in (
        infer.Mean(dp.GDP(5.0), bounds="unknown"),
        infer.Median(dp.GDP(5.0), bounds="unknown"),
        infer.Median(dp.GDP(5.0), bins=2),
    ):
        low, high = asked.infer(how, "x").conf_int()[0]
        assert low <= 1000 <= high


def test_whole_numbers_and_bounds_that_are_not(people: pd.DataFrame) -> None:
    """Values within them are what they are, and those beyond count as the bound itself."""
    frame = pd.DataFrame({"k": [0, 1, 2, 9] * 5000})
    asked = dp.Session(frame, unit=dp.Unit.rows(), budget=dp.GDP(2000.0))
    found = asked.infer(infer.Mean(dp.GDP(900.0)), {"k": (0.25, 3.4)})
    assert found.params[0] == pytest.approx((0.25 + 1 + 2 + 3.4) / 4, abs=1e-3)


def test_what_does_not_fit_is_refused_before_the_charge(people: pd.DataFrame) -> None:
    asked, mean, table = session(people), CASES["mean"][0], CASES["table"][0]
    for estimate, features, target, words in (
        (mean, ["pay", "old"], None, "one column"),
        (mean, "pay", "old", "one column"),
        (table, "sex", None, "a feature and a target"),
        (table, "sex", "sex", "a feature and a target"),
        (mean, "wage", None, "wage"),
        (mean, {"sex": (0, 1)}, None, "sex"),
        (mean, "person", None, "needs bounds"),
        (CASES["std"][0], {"pay": (0, 50)}, None, "give one of them"),
        (CASES["clipped"][0], {"pay": (0, 50)}, None, "give one of them"),
        (mean, {"pay": (1e9, 1e9 + 1e-2)}, None, "subtract a constant"),
        (mean, {"pay": (0, 1e200)}, None, "beyond what doubles hold"),
        (infer.Contingency(PROMISE, x_levels=((1,), (2,)), y_levels=(0, 1)), "sex", "old", "categories are"),
        (infer.Mean, "pay", None, "no promise yet"),
    ):
        with pytest.raises(InvalidParameter, match=words):
            asked.infer(estimate, features, target)
    with pytest.raises(BudgetExceeded):
        session(people, dp.ZCDP(0.1)).infer(mean, "pay")
    assert asked.remaining == dp.ZCDP(9.0)


def test_settings_that_cannot_be_are_refused() -> None:
    for make, words in (
        (lambda: infer.Mean(PROMISE, bounds="private"), "unknown"),
        (lambda: infer.Mean(PROMISE, bounds=(1, 0)), "bounds"),
        (lambda: infer.Mean(PROMISE, location=(0, 1)), "moment"),
        (lambda: infer.Mean(PROMISE, sd_at_most=1), "location"),
        (lambda: infer.Mean(PROMISE, bounds="unknown", location=(0, 1), sd_at_most=1), "leave location"),
        (lambda: infer.Mean(0.5), "guarantee"),
        (lambda: infer.Quantiles(PROMISE), "levels"),
        (lambda: infer.Quantiles(PROMISE, levels=(0.5, 0.2)), "increase"),
        (lambda: infer.Median(PROMISE, bins=1), "bins"),
        (lambda: infer.Median(dp.PureDP(1.0)), "Gaussian noise"),
        (lambda: infer.Contingency(PROMISE, x_levels=(0, 1)), "y_levels"),
        (lambda: infer.Variance(PROMISE).release([1.0]), "needs bounds"),
        (lambda: infer.Correlation(PROMISE, x_bounds=(0, 1)).release([1.0], [1.0]), "needs y_bounds"),
    ):
        with pytest.raises((InvalidParameter, dp.errors.CannotMeet), match=words):
            make()


def test_bounds_beside_the_column_and_in_the_estimate_are_one_question(people: pd.DataFrame) -> None:
    asked = session(people)
    said = asked.infer(infer.Mean(PROMISE, bounds=(0, 100)), "pay")
    left = asked.remaining
    for how, column in (
        (infer.Mean(PROMISE), "pay"),
        (infer.Mean(PROMISE), {"pay": (0, 100)}),
        (infer.Mean(PROMISE, bounds=[0.0, 100.0]), '"pay"'),
    ):
        assert asked.infer(how, column).params[0] == said.params[0]
    assert asked.remaining == left
    asked.infer(infer.Mean(PROMISE, bounds=(0, 101)), "pay")
    assert asked.remaining != left


def test_a_location_after_a_private_test_is_that_of_arrays(people: pd.DataFrame) -> None:
    """Bounds from the schema, missing values absent, one charge with its delta; refused by promises without one."""
    from dalenius.infer.estimates.settings.estimate import TableRows

    huber = infer.HuberLocation(dp.ApproxDP(2.0, 1e-6), c=15.0, size=3000)
    asked = session(people, dp.ApproxDP(9.0, 1e-4))
    price = asked.price(huber, features="pay")
    found = asked.infer(huber, "pay")
    assert dp.ApproxDP(2.0, 1e-6).holds(found.loss)
    assert price.affordable
    assert asked.infer(huber, {"pay": (0, 100)}).to_json() == found.to_json()
    told = huber.told([(0.0, 100.0)])
    with seeded(3):
        blocks = told.release_from(TableRows(Blocks(people[["pay"]].to_numpy()), ["pay"], [0.0]))
    with seeded(3):
        alone = infer.huber_location(
            people["pay"], dp.ApproxDP(2.0, 1e-6), bounds=(0, 100), c=15.0, size=3000
        )
    assert blocks.to_json() == alone.to_json()
    with pytest.raises(InvalidParameter, match="no finite rho"):
        session(people).infer(huber, "pay")
    with pytest.raises(InvalidParameter, match="needs bounds"):
        huber.release([1.0])


def test_a_function_is_answered_with_what_a_session_takes(people: pd.DataFrame) -> None:
    asked = session(people)
    for name, function in vars(infer).items():
        if isinstance(function, FunctionType) and not name.startswith("_") and name != "exported":
            with pytest.raises(InvalidParameter, match="numbers that you hold") as told:
                asked.infer(function, "pay")
            named = re.findall(r"dp\.infer\.(\w+)\(", str(told.value))
            assert all(hasattr(infer, each) for each in named), name
            assert named or "nothing like it" in str(told.value)
