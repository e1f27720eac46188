"""Pipelines that find the scale of their features, paid from a session's budget."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import dalenius as dp
from dalenius.errors import BudgetExceeded, DaleniusError, LedgerDamaged
from dalenius.learn import LogisticRegression, PrivateBounds, PrivateScaler
from dalenius.learn.methods import noisy_bounds
from dalenius.learn.methods.noisy_bounds import bin_edges
from dalenius.learn.saved import asked_model, model_record
from dalenius.session import fit_rows, scaling
from dalenius.session.record import answers
from dalenius.session.travel.requests import read_request
from dalenius.session.words import in_words
from dalenius.tables.compute import exact
from tests.learn.scaled_contract import NASTY
from tests.noise.seeded import seeded

ROWS = 2000
SCHEMA = dp.Schema({"age": {"bounds": (18, 90)}, "town": {"categories": ["a", "b"]}}, nulls="drop")
FEATURES: Any = ["pay", "town", "age", "year - 1950", "age > 40"]
FOUND = PrivateBounds(dp.ZCDP(0.5))
MODEL = LogisticRegression(dp.ZCDP(2.0))


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    pay = rng.lognormal(8, 1, ROWS)
    pay[:7] = np.nan, np.inf, -np.inf, 1e300, 0.0, -1e300, 5e-324
    return pd.DataFrame(
        {
            "id": np.arange(ROWS) // 2,
            "pay": pay,
            "age": rng.integers(18, 91, ROWS),
            "year": rng.integers(1980, 2021, ROWS),
            "town": rng.choice(["a", "b"], ROWS),
        }
    )


def session(people: Any, **options: Any) -> dp.Session:
    given = {"budget": dp.ZCDP(1000.0), "unit": dp.Unit.rows(), "schema": SCHEMA, "name": "people"}
    return dp.Session(people, **{**given, **options})


def test_it_is_the_pipeline_fitted_to_the_rows(people: pd.DataFrame, tmp_path: Path) -> None:
    """The same noise on rows made by hand: the same bounds, and coefficients to within the engine's grid."""
    asked = session(people, ledger=tmp_path / "ledger")
    made = make_pipeline(FOUND, MODEL)
    price = asked.price(made, features=FEATURES, target="pay > 3000")
    with seeded(4):
        fitted = asked.fit(made, FEATURES, "pay > 3000")
    assert price.budget.rho == pytest.approx(2.5, rel=1e-3)
    assert dp.learn.loss(fitted).zcdp() == pytest.approx(2.5)
    assert asked.spent.rho == pytest.approx(2.5)
    rows = people.assign(late=people["year"] - 1950, old=people["age"] > 40)
    finite = rows[rows["pay"].notna()]
    with seeded(4):
        found = PrivateBounds(FOUND.guarantee).fit(rows[["pay", "late"]])
        bounds = [found.ends_[0], None, (18, 90), found.ends_[1], (0, 1)]
        columns = dp.learn.PublicColumns(bounds, [None, ("a", "b"), None, None, None]).fit()
        x = columns.transform(finite[["pay", "town", "age", "late", "old"]])
        alone = LogisticRegression(MODEL.guarantee).fit(x, (finite["pay"] > 3000).astype(int))
    assert list(fitted[0].bounds) == bounds
    np.testing.assert_allclose(fitted[-1].coef_, alone.coef_, rtol=1e-3, atol=1e-5)
    spent = asked.account.balance()
    again = session(people, ledger=tmp_path / "ledger").fit(
        make_pipeline(FOUND, MODEL), FEATURES, "pay > 3000"
    )
    assert np.array_equal(again[-1].coef_, fitted[-1].coef_)
    assert asked.account.balance() == spent
    read = dp.learn.from_json(dp.learn.to_json(fitted))
    assert np.array_equal(read[-1].coef_, fitted[-1].coef_)
    for other in (PrivateBounds(dp.ZCDP(0.4)), PrivateBounds(dp.ZCDP(0.5), share=0.9)):  # other questions
        asked.fit(make_pipeline(other, MODEL), FEATURES, "pay > 3000")
        assert asked.account.balance() != spent
        spent = asked.account.balance()


def test_a_scaler_and_both(people: pd.DataFrame) -> None:
    asked = session(people)
    scaler = PrivateScaler(dp.ZCDP(0.5), deviations=2.0)
    fitted = asked.fit(make_pipeline(scaler, MODEL), ["age", "town"], "pay > 3000")
    mean, deviation = people["age"].mean(), people["age"].std()
    low, high = fitted[0].bounds[0]
    assert (low + high) / 2 == pytest.approx(mean, abs=1)
    assert (high - low) / 4 == pytest.approx(deviation, rel=0.1)
    assert fitted[0].bounds[1] is None
    both = asked.fit(make_pipeline(FOUND, scaler, MODEL), ["year", "age"], "pay > 3000")
    low, high = both[0].bounds[0]
    assert (low + high) / 2 == pytest.approx(people["year"].mean(), abs=20)
    assert 40 < high - low < 300  # of (1024, 2048), as far as noise lets it be told
    assert dp.learn.loss(both).zcdp() == pytest.approx(3.0)
    told = asked.evaluate(both, ["year", "age"], "pay > 3000", budget=dp.ZCDP(0.5))
    assert 0 < told.accuracy.estimate < 1


@pytest.mark.parametrize("adjacency", [dp.ADD_REMOVE, dp.REPLACE_ONE], ids=str)
@pytest.mark.parametrize(
    ("budget", "promise"),
    [
        (dp.ZCDP(1000.0), dp.ZCDP(0.1)),
        (dp.PureDP(1000.0), dp.PureDP(0.5)),
        (dp.GDP(50.0), dp.GDP(0.3)),
        (dp.ApproxDP(50.0, 1e-3), dp.ApproxDP(0.5, 1e-7)),
    ],
    ids=str,
)
def test_every_step_is_paid_for_a_unit(
    people: pd.DataFrame, budget: Any, promise: Any, adjacency: Any
) -> None:
    """Two rows of a person, and both steps: as much as each alone, and all of it in one charge."""
    made = make_pipeline(PrivateBounds(promise), LogisticRegression(promise))
    options = {"unit": dp.Unit("id", max_rows=2), "budget": budget, "adjacency": adjacency}
    asked = session(people.head(400), **options)
    steps = 2 if adjacency is dp.ADD_REMOVE else 4
    fitted = asked.fit(made, ["pay"], "age > 40")
    loss = dp.learn.loss(fitted)
    if isinstance(promise, dp.ZCDP):
        assert loss.zcdp() == pytest.approx(0.2 * steps**2)
    elif isinstance(promise, dp.PureDP):
        assert loss.epsilon(0.0) == pytest.approx(1.0 * steps)
    elif isinstance(promise, dp.GDP):
        assert loss.gdp() == pytest.approx(0.3 * np.sqrt(2) * steps)
    else:
        alone = session(people.head(400), **options).fit(made[-1], {"pay": (0, 1)}, "age > 40")[-1].loss_
        assert loss.epsilon(1e-5) > alone.epsilon(1e-5)
    assert len([e for e in asked.ledger.log() if e.what.startswith("fit")]) == 1


def test_at_most_max_rows_of_a_unit_are_counted(
    people: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One more unit of many rows moves the counts of a column by max_rows in all."""
    seen: list[Any] = []
    release = noisy_bounds.NoisyBounds.release

    def spy(self: Any, counted: Any, within: Any) -> Any:
        seen.append(np.concatenate(list(counted)))
        return release(self, counted, within)

    monkeypatch.setattr(noisy_bounds.NoisyBounds, "release", spy)
    more = people.head(40).assign(id=-1, year=2000)
    for frame in (people, pd.concat([people, more])):
        asked = session(frame, unit=dp.Unit("id", max_rows=3))
        asked.fit(make_pipeline(FOUND, MODEL), ["pay", "year"], "age > 40")
    moved = np.abs(seen[1] - seen[0])
    assert moved[: len(moved) // 2].sum() <= 3
    assert moved[len(moved) // 2 :].sum() == 3


@pytest.mark.parametrize("kind", ["integer", "number"])
def test_whatever_bounds_come_out_there_is_a_fit(kind: str) -> None:
    """Every end that a release can have, on columns with the largest values there are."""
    values: Any = [v for v in NASTY if not np.isnan(v)]
    if kind == "integer":
        values = np.array([0, 1, -1, 2**62, -(2**63), 2**63 - 1, 2**50 + 1], dtype=np.int64)
    asked = session(pd.DataFrame({"x": values, "y": 1}), schema=dp.Schema(nulls="drop"))
    planned = asked._fitting(make_pipeline(FOUND, MODEL), ["x"], "y > 0", None)
    ends = [(a, b) for a, b in itertools.pairwise(bin_edges(None))][::25]
    ends += [(-(2.0**60), 2.0**60), (-1.0, 1.0), (0.0, 2.0**-40), (-(2.0**60), 0.0)]
    ends += [
        pair
        for outer in ((2.0**52, 2.0**52 + 2.0**40), (-1e100, 1e100), (0, 1e-90))
        for pair in _narrow(outer)
    ]
    for pair in ends:
        scaled = planned.within([pair])
        rows = exact.rows(asked.source, scaled.query, scaled.unit)
        assert len(rows) == len(values)
        x = scaled.scale.transform(rows[:, :-1])
        assert np.isfinite(x).all()
        assert (np.abs(x) <= 1).all()


def _narrow(outer: Any) -> list[tuple[float, float]]:
    """The narrowest and the widest that both steps can make of a public range."""
    low, high = (float(end) for end in outer)
    edges = bin_edges((low, high))
    found = [(low, high), *itertools.islice(itertools.pairwise(edges), 2), edges[-2:]]
    scaled = []
    for a, b in found:
        half = b / 2 - a / 2
        scaled += [(b - half * 2.0**-11, b + half * 2.0**-11), (a - 100 * half, a + 100 * half)]
    return [*found, *scaled]  # type: ignore[list-item]


@pytest.mark.parametrize("value", [np.nan, np.inf, 0.0, 5e-324, -1.7e308])
def test_nasty_columns(value: Any) -> None:
    frame = pd.DataFrame({"x": [value] * 60, "y": range(60)}).astype({"x": float})
    asked = session(frame, schema=dp.Schema(nulls="drop"))
    steps = PrivateBounds(dp.PureDP(5.0)), PrivateScaler(dp.ZCDP(9.0)), MODEL
    fitted = asked.fit(make_pipeline(*steps), ["x"], "y > 30")
    assert np.isfinite(fitted[-1].coef_).all()
    assert set(fitted.predict([[0.0], [1e308]])) <= {0, 1}


def test_rows_that_do_not_fit_into_memory(people: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for most in (1 << 24, 2000):
        monkeypatch.setattr(fit_rows, "IN_MEMORY", most)
        monkeypatch.setattr(exact.blocks, "__defaults__", (700,))
        with seeded(6):
            steps = FOUND, PrivateScaler(dp.ZCDP(1.0)), MODEL
            found.append(session(people).fit(make_pipeline(*steps), FEATURES, "pay > 3000"))
    assert found[0][0].bounds == found[1][0].bounds
    np.testing.assert_allclose(found[0][-1].coef_, found[1][-1].coef_, atol=1e-5)


@pytest.mark.parametrize(
    ("steps", "features", "match"),
    [
        ([StandardScaler(), MODEL], ["pay"], "StandardScaler"),
        ([MODEL], ["age"], "none"),
        ([PrivateScaler(dp.ZCDP(1.0)), FOUND, MODEL], ["pay"], "in this order"),
        ([FOUND, FOUND, MODEL], ["pay"], "in this order"),
        ([FOUND, MODEL], ["age", "town"], "paid for nothing"),
        ([FOUND, MODEL], ["town"], "paid for nothing"),
        ([PrivateBounds(dp.ZCDP(0.1), within=[(0, 1)]), MODEL], ["pay", "year"], "lists 1 columns"),
        ([PrivateBounds(dp.ZCDP(0.1), within=(1, 0)), MODEL], ["pay"], "within"),
        ([PrivateBounds(dp.ZCDP(0.1), share=2.0), MODEL], ["pay"], "share"),
        ([PrivateBounds(1.0), MODEL], ["pay"], "promise"),
        ([PrivateScaler(dp.ZCDP(0.1), bounds=(0, 1)), MODEL], ["age"], "leave them out"),
        ([PrivateScaler(dp.ZCDP(0.1), deviations=0.1), MODEL], ["age"], "deviations"),
        ([PrivateScaler(dp.ZCDP(0.1)), MODEL], ["pay"], "^feature 'pay' needs bounds"),
        ([PrivateScaler(dp.ZCDP(0.1)), MODEL], {"pay": (0, 1e110)}, "rescale"),
        ([FOUND, StandardScaler()], ["pay"], "what a fit costs"),
        ([FOUND, MODEL], ["nowhere"], "nowhere"),
    ],
)
def test_refused_before_the_charge(people: pd.DataFrame, steps: Any, features: Any, match: str) -> None:
    asked = session(people)
    with pytest.raises(DaleniusError, match=match):
        asked.price(make_pipeline(*steps), features=features, target="pay > 3000")
    with pytest.raises(DaleniusError, match=match):
        asked.fit(make_pipeline(*steps), features, "pay > 3000")
    assert asked.spent == session(people).spent


def test_too_dear(people: pd.DataFrame) -> None:
    """The model alone could be paid, the pipeline not: nothing is charged."""
    asked = session(people, budget=dp.ZCDP(2.2))
    with pytest.raises(BudgetExceeded):
        asked.fit(make_pipeline(FOUND, MODEL), ["pay"], "age > 40")
    assert asked.spent == session(people, budget=dp.ZCDP(2.2)).spent
    asked.fit(MODEL, ["age"], "pay > 3000")


def test_what_a_budget_pays_for(people: pd.DataFrame) -> None:
    """A function of a promise makes the whole pipeline, which then costs what the budget says."""

    def made(promise: Any) -> Pipeline:
        return make_pipeline(PrivateBounds(promise.divided(10)), LogisticRegression(promise))

    asked = session(people)
    fitted = asked.fit(made, ["pay"], "age > 40", budget=dp.ZCDP(0.5))
    assert dp.learn.loss(fitted).zcdp() == pytest.approx(0.5, rel=1e-3)
    assert asked.spent.rho <= 0.5


def test_it_is_told_and_travels(people: pd.DataFrame) -> None:
    steps = PrivateBounds(dp.ZCDP(0.5), within=[(0.0, 1e6), None]), PrivateScaler(dp.ZCDP(0.1)), MODEL
    made = make_pipeline(*steps)
    record = model_record(made, arrays=True)
    again = asked_model(json.loads(json.dumps(record)))
    assert model_record(again, arrays=True) == record
    asked = session(people)
    one, other = (asked._fitting(model, ["pay", "year"], "age > 40", None) for model in (made, again))
    assert one.question == other.question
    assert "private bounds, private scaler, logistic regression of age > 40 on pay, year" in in_words(
        one.question
    )
    request = {"kind": "fit", "model": record, "features": ["pay", "year"], "target": "age > 40"}
    read = read_request(request, asked)
    assert read.said == "fit of PrivateBounds, PrivateScaler, LogisticRegression of age > 40 on pay, year"
    with pytest.raises(DaleniusError, match="none"):
        read_request({**request, "model": {"kind": "pipeline", "parameters": {"steps": []}}}, asked).price(
            asked
        )
    fitted = read.ask(asked)
    assert np.array_equal(asked.fit(again, ["pay", "year"], "age > 40")[-1].coef_, fitted[-1].coef_)


@pytest.mark.parametrize(
    "wrong", [None, [], [["0", "1"]] * 2, [["1", "0"]], [["0"]], [["a", "b"]], ["ab", "c"]]
)
def test_a_damaged_answer_is_refused(wrong: Any) -> None:
    text = answers.to_fit({}, [(0.0, 1.0)])
    assert answers.read_found(text, 1) == [(0.0, 1.0)]
    content = json.loads(text)
    content["bounds"] = wrong
    with pytest.raises(LedgerDamaged):
        answers.read_found(json.dumps(content), 1)


def test_numbers_among_categories() -> None:
    assert scaling.numbers([None, ("a", "b"), None, ("c",), None]) == [0, 3, 5]


@pytest.mark.parametrize(
    "within", [(1e15, 1e15 + 1e7), (1e18, 1e18 + 1e10), (0.0, 1e-89), (0.9999, 1.0000000001 * 2)]
)
def test_narrow_ranges_are_searched_and_scaled(within: tuple[float, float]) -> None:
    low, high = within
    people = pd.DataFrame({"x": np.linspace(low, high, 400), "y": [0, 1] * 200})
    asked = session(people, schema=dp.Schema(nulls="never"))
    steps = make_pipeline(
        dp.learn.PrivateBounds(dp.ZCDP(0.1), within=within), dp.learn.PrivateScaler(dp.ZCDP(0.1)), MODEL
    )
    made = asked.fit(steps, ["x"], "y")  # one of 32 steps of such a range is as narrow as doubles hold
    assert np.isfinite(made[-1].coef_).all()
