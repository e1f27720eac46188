"""Models fitted to a session's table: charged first, from bounded rows, and remembered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import Ridge

import dalenius as dp
from dalenius.calculus.guarantees import filter_of
from dalenius.learn.saved import WORDS
from dalenius.session.fit import Fitting
from dalenius.tables.compute import exact
from tests.sample import paired

ROWS = 8000
SCHEMA = dp.Schema({"age": {"bounds": (18, 90)}, "hours": {"nulls": "drop"}}, nulls="never")


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    age, hours = rng.integers(18, 91, ROWS), rng.normal(40, 10, ROWS).round(1)
    pay = 1000 * age + 500 * hours + rng.normal(0, 4000, ROWS)
    hours[::50] = np.nan
    return pd.DataFrame({"person": np.arange(ROWS) // 4, "age": age, "hours": hours, "pay": pay})


def session(people: Any, budget: dp.Guarantee, **options: Any) -> dp.Session:
    options.setdefault("unit", dp.Unit.rows())
    return dp.Session(people, budget=budget, schema=SCHEMA, name="people", **options)


FEATURES = {"age": (18, 90), "hours": (0, 80)}


@pytest.mark.parametrize(
    ("budget", "promise", "left"),
    [
        (dp.ZCDP(0.5), dp.ZCDP(0.2), dp.ZCDP(0.3)),
        (dp.GDP(1.0), dp.GDP(0.6), dp.GDP(0.8)),
        (dp.PureDP(3.0), dp.PureDP(1.0), dp.PureDP(2.0)),
    ],
)
def test_a_fit_costs_what_it_promises_once(
    people: pd.DataFrame, budget: dp.Guarantee, promise: dp.Guarantee, left: dp.Guarantee, tmp_path: Path
) -> None:
    asked = session(people, budget, ledger=tmp_path / "ledger")
    model = dp.learn.LogisticRegression(promise)
    made = asked.fit(model, FEATURES, "pay >= 74000")
    truth = (people["pay"] >= 74000).to_numpy()
    seen = people[["age", "hours"]].fillna(40)
    # Not private, these columns tell 94 %; always the larger class, 51 %.
    assert np.mean(made.predict(seen) == truth) > 0.85
    remaining = asked.remaining
    value, expected = (next(iter(vars(x).values())) for x in (remaining, left))
    assert value == pytest.approx(expected, rel=1e-6)
    # From another session on the same ledger: the same model, from the record.
    again = session(people, budget, ledger=tmp_path / "ledger")
    recalled = again.fit(model, FEATURES, "pay >= 74000")
    assert np.array_equal(recalled[-1].coef_, made[-1].coef_)
    assert np.array_equal(recalled.predict(seen), made.predict(seen))
    assert again.remaining == remaining
    assert recalled[-1].loss_ == made[-1].loss_ == model.price()
    # Another setting is another question.
    other = asked.fit(clone(model).set_params(intercept_scale=0.5), FEATURES, "pay >= 74000")
    assert not np.array_equal(other[-1].coef_, made[-1].coef_)
    assert asked.remaining != remaining


def test_nothing_is_read_when_it_does_not_fit(people: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = session(people, dp.ZCDP(0.1))
    monkeypatch.setattr(exact, "blocks", lambda *_: pytest.fail("data was read"))
    with pytest.raises(dp.errors.BudgetExceeded):
        asked.fit(dp.learn.LogisticRegression(dp.ZCDP(0.2)), FEATURES, "pay >= 74000")
    assert asked.remaining == dp.ZCDP(0.1)


def test_the_charge_stays_when_the_fit_fails(people: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = session(people, dp.ZCDP(0.5))

    def fails(*_: Any) -> Any:
        raise RuntimeError("the power went out")

    monkeypatch.setattr(exact, "blocks", fails)
    with pytest.raises(dp.errors.EngineFailed):
        asked.fit(dp.learn.LogisticRegression(dp.ZCDP(0.2)), FEATURES, "pay >= 74000")
    assert asked.remaining.rho == pytest.approx(0.3, rel=1e-6)  # type: ignore[attr-defined]


@pytest.mark.parametrize("most", [1, 3])
def test_a_unit_is_bounded_and_pays_for_all_its_rows(people: pd.DataFrame, most: int) -> None:
    asked = session(people, dp.ZCDP(4.0), unit=dp.Unit("person", max_rows=most, max_groups=1))
    model = dp.learn.LogisticRegression(dp.ZCDP(0.1))
    fitting = Fitting.of(model, FEATURES, "pay >= 74000", asked.table, asked.unit, asked.adjacency)
    rows = exact.rows(asked.source, fitting.query, asked.unit)
    assert len(rows) == ROWS // 4 * most
    kept = {tuple(row) for row in np.nan_to_num(rows).round(2)}
    label = (people["pay"] >= 74000).astype(float)
    clamped = people["hours"].clip(0, 80).fillna(0)
    assert kept <= {tuple(row) for row in np.c_[people["age"], clamped, label].round(2)}
    asked.fit(model, FEATURES, "pay >= 74000")
    spent = 4.0 - asked.remaining.rho  # type: ignore[attr-defined]
    assert spent == pytest.approx(0.1 * most**2, rel=1e-6)


PAID = [
    (dp.ZCDP(50.0), dp.learn.LogisticRegression(dp.ZCDP(0.1))),
    (dp.ZCDP(50.0), dp.learn.HuberRegression(dp.ApproxDP(0.5, 1e-6))),
    (dp.GDP(9.0), dp.learn.LogisticRegression(dp.GDP(0.3))),
    (dp.PureDP(30.0), dp.learn.LogisticRegression(dp.PureDP(0.5))),
    (dp.ApproxDP(30.0, 1e-4), dp.learn.LogisticRegression(dp.ApproxDP(0.5, 1e-6))),
    (dp.ApproxDP(30.0, 1e-4), dp.learn.LogisticRegression(dp.PureDP(0.5))),
    (dp.ApproxDP(30.0, 1e-4), dp.learn.PosteriorSampleRegression(dp.ApproxDP(0.2, 1e-6))),
]


@pytest.mark.parametrize(
    ("paid", "unit", "adjacency"),
    paired(PAID, [dp.Unit.rows(), dp.Unit("person", max_rows=2)], [dp.ADD_REMOVE, dp.REPLACE_ONE]),
    ids=repr,
)
def test_loss_is_what_was_charged(
    people: pd.DataFrame, paid: tuple[dp.Guarantee, Any], unit: dp.Unit, adjacency: Any, tmp_path: Path
) -> None:
    """For every kind of budget, unit and neighbours; and when it comes from the record."""
    budget, model = paid
    target = {"pay": (0, 150_000)} if "target_bounds" in model.get_params() else "pay >= 74000"
    asked = session(people[:400], budget, unit=unit, adjacency=adjacency, ledger=tmp_path / "ledger")
    made = asked.fit(model, FEATURES, target)
    again = session(people[:400], budget, unit=unit, adjacency=adjacency, ledger=tmp_path / "ledger")
    for loss in (made[-1].loss_, again.fit(model, FEATURES, target)[-1].loss_):
        assert loss.adjacency is adjacency
        assert asked._cost_of_fit(loss) == asked.account.balance().total
    rows = (1 if unit.is_row else 2) * (1 if adjacency is dp.ADD_REMOVE else 2)
    if rows > 1:
        one = model.price()
        alone = filter_of(budget).cost(
            one, one.delta_at_infinity() + 1e-8 if "ApproxDP" in str(budget) else None
        )
        assert asked.account.balance().total.amount > 1.99 * alone.amount
    if isinstance(budget, dp.ZCDP):
        assert made[-1].loss_.zcdp() <= model.price().zcdp() * rows**2 * (1 + 1e-12)


def test_objective_perturbation_is_affordable(people: pd.DataFrame) -> None:
    """Two fits and then some; with something set aside, more."""

    def fits(**options: Any) -> int:
        asked = session(people[:400], dp.ApproxDP(3.0, 1e-5), **options)
        for n in range(10):
            model = dp.learn.LogisticRegression(dp.ApproxDP(1.0, 1e-6), intercept_scale=1 - n / 100)
            try:
                asked.fit(model, FEATURES, "pay >= 74000")
            except dp.errors.BudgetExceeded:
                return n
            if n == 1:
                asked.release(asked.table.agg(n=dp.count()), dp.GDP(0.2))
        return 10

    assert fits() == 3
    assert fits(reserve=1.0) == 5


def test_the_rows_are_those_of_the_filtered_table(people: pd.DataFrame) -> None:
    asked = session(people, dp.ZCDP(1.0))
    table = asked.table.filter("age < 30").with_columns(decade="age / 10")
    model = dp.learn.HuberRegression(dp.ZCDP(0.1))
    fitting = Fitting.of(model, {"decade": (1, 9)}, {"pay": (0, 200_000)}, table, asked.unit, asked.adjacency)
    rows = exact.rows(asked.source, fitting.query, asked.unit)
    young = people[people["age"] < 30]
    order = np.lexsort(rows.T[::-1])
    expected = np.c_[young["age"] / 10, young["pay"].clip(0, 200_000)]
    # The grid is 2^-20 of the bounds or finer.
    assert np.allclose(rows[order], expected[np.lexsort(expected.T[::-1])], rtol=0, atol=[8e-6, 0.2])


def test_regression_takes_the_bounds_of_its_target(people: pd.DataFrame) -> None:
    asked = session(people, dp.GDP(2.0))
    made = asked.fit(dp.learn.LinearRegression(dp.GDP(1.0)), {"age": (18, 90)}, {"pay": (0, 150_000)})
    assert made[-1].target_bounds == (0, 150_000)
    assert made.predict([[30], [80]]) == pytest.approx([50_000, 100_000], rel=0.1)


def test_replacing_a_record_costs_more(people: pd.DataFrame) -> None:
    asked = session(people, dp.GDP(2.0), adjacency=dp.REPLACE_ONE)
    asked.fit(dp.learn.LogisticRegression(dp.GDP(0.5)), FEATURES, "pay >= 74000")
    assert asked.remaining.mu == pytest.approx(3**0.5, rel=1e-6)  # type: ignore[attr-defined]


class NotPrivate(BaseEstimator):  # type: ignore[misc]
    pass


@pytest.mark.parametrize(
    ("model", "features", "target", "why"),
    [
        (NotPrivate(), ["age"], "pay > 1", "does not say what a fit costs"),
        (None, [], "pay > 1", "features is empty"),
        (None, ["age", "age"], "pay > 1", "twice"),
        (None, ["hours"], "pay > 1", "^feature 'hours' needs bounds"),
        (None, ["weight"], "pay > 1", "no column"),
        (None, {"age": (90, 18)}, "pay > 1", "exchange them"),
        (None, ["age"], ["pay > 1", "pay > 1"], "target names a column twice"),
        (dp.learn.LogisticRegression(dp.ZCDP(0.1), classes=("no", "yes")), ["age"], "pay > 1", "a condition"),
    ],
)
def test_refused(people: pd.DataFrame, model: Any, features: Any, target: Any, why: str) -> None:
    asked = session(people, dp.ZCDP(1.0))
    with pytest.raises(ValueError, match=why):
        asked.fit(model or dp.learn.LogisticRegression(dp.ZCDP(0.1)), features, target)
    assert asked.remaining == dp.ZCDP(1.0)


def test_parts_and_searches_are_paid_and_remembered(people: pd.DataFrame, tmp_path: Path) -> None:
    """A model in parts, and a search: what they release comes back from the record as it was."""
    pure = dp.learn.LogisticRegression(dp.PureDP(1.0))
    candidates: list[dict[str, Any]] = [{"intercept_scale": 0.3}, {"intercept_scale": 1.0}]
    models = {
        "value_": dp.learn.SubsampleAggregate(Ridge(), dp.PureDP(1.0), size=3, bound=2.0),
        "best_score_": dp.learn.PrivateSearch(pure, candidates, dp.PureDP(3.0)),
    }
    asked = session(people, dp.PureDP(10.0), ledger=tmp_path / "ledger")
    for released, model in models.items():
        made = asked.fit(model, FEATURES, "pay >= 74000")
        left = asked.remaining
        again = session(people, dp.PureDP(10.0), ledger=tmp_path / "ledger").fit(
            model, FEATURES, "pay >= 74000"
        )
        assert asked.remaining == left
        assert np.array_equal(getattr(made[-1], released), getattr(again[-1], released))
        seen = people[["age", "hours"]].fillna(0).to_numpy()[:50]
        assert np.array_equal(made.predict(seen), again.predict(seen))
        assert made[-1].loss_.epsilon(0.0) == model.price().epsilon(0.0)
    assert made[-1].best_params_ in candidates
    assert made.score(seen, (people["pay"] >= 74000).astype(int)[:50]) > 0.5


def test_a_model_with_a_delta_of_its_own(people: pd.DataFrame) -> None:
    asked = session(people, dp.ApproxDP(20.0, 1e-4))
    model = dp.learn.PosteriorSampleRegression(dp.ApproxDP(0.5, 1e-5))
    made = asked.fit(model, FEATURES, {"pay": (0, 150_000)})
    assert np.isfinite(made.predict([[30, 40]])).all()
    assert asked.remaining != dp.ApproxDP(20.0, 1e-4)


def test_a_list_of_numbers_is_refused_before_anything_is_charged(people: pd.DataFrame) -> None:
    asked = session(people, dp.PureDP(2.0))
    with pytest.raises(dp.errors.InvalidParameter, match=r"dp\.mean"):
        asked.fit(dp.learn.GradientMean(dp.PureDP(1.0)), FEATURES, "pay >= 74000")
    assert asked.remaining == dp.PureDP(2.0)


def test_what_is_set_aside_is_remembered(people: pd.DataFrame, tmp_path: Path) -> None:
    """A later session need not name it; one that names another is refused."""
    promise = dp.ApproxDP(3.0, 1e-5)
    asked = session(people[:400], promise, ledger=tmp_path / "ledger", reserve=0.5)
    assert asked.remaining == dp.ApproxDP(2.5, 1e-5)
    assert asked.account.remaining == dp.ApproxDP(2.5, 5e-6)
    asked.fit(dp.learn.LogisticRegression(dp.ApproxDP(1.0, 1e-6)), FEATURES, "pay >= 74000")
    left = asked.account.left()
    assert 0 < left.shift < 0.5
    assert session(people[:400], promise, ledger=tmp_path / "ledger").account.left() == left
    with pytest.raises(dp.errors.InvalidParameter, match=r"a reserve of 0\.5"):
        session(people[:400], promise, ledger=tmp_path / "ledger", reserve=0.25)


def test_how_rows_are_shortened_is_looked_at_before_the_charge(people: pd.DataFrame) -> None:
    asked = session(people[:50], dp.ApproxDP(20.0, 1e-4))
    before = asked.remaining
    for name, words in WORDS.values():
        if "rows" not in words:
            continue
        target: Any = "pay > 60_000" if "classes" in words else {"pay": (0, 150_000)}
        classes = {"classes": (False, True)} if "classes" in words else {}
        model = getattr(dp.learn, name)(dp.ApproxDP(0.5, 1e-7), rows="shorten", **classes)
        with pytest.raises(dp.errors.InvalidParameter, match="'clip' or 'normalize'"):
            asked.fit(model, FEATURES, target)
        assert asked.remaining == before


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (dp.learn.GradientLeastSquares(dp.PureDP(0.1), intercept_scale=1e15), "intercept_scale"),
        (dp.learn.ExponentialLeastSquares(dp.PureDP(0.1), coef_bound=1e-300), "coef_bound"),
        (dp.learn.LinearRegression(dp.ZCDP(0.1), shrink=-1.0), "shrink"),
        (dp.learn.PosteriorSampleRegression(dp.ApproxDP(0.5, 1e-7), row_norm=1e99), "cannot be fitted"),
        (dp.learn.CalibratedPosteriorSampleRegression(dp.ApproxDP(0.5, 1e-7), ridge="10"), "ridge"),
        (dp.learn.HuberRegression(dp.GDP(1e-6)), "added exactly"),
        (dp.learn.HuberRegression(dp.PureDP(1e-9)), "times the sensitivity"),
        (dp.learn.HuberRegression(dp.ZCDP(1e-12), method=dp.learn.Descent(steps=500)), "added exactly"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_numbers_that_no_fit_takes_are_refused_before_the_charge(
    people: pd.DataFrame, model: Any, words: str
) -> None:
    budget = dp.ApproxDP(20.0, 1e-4) if isinstance(model.guarantee, dp.ApproxDP) else dp.ZCDP(5.0)
    asked = session(people[:50], budget)
    before = asked.remaining
    for target in ({"pay": (0, 150_000)}, {"pay": (0, 150_000), "age": (18, 90)}):
        with pytest.raises(dp.errors.InvalidParameter, match=words):
            asked.fit(model, FEATURES, target)
        assert asked.remaining == before
