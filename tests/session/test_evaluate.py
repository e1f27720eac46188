"""Private evaluation: one payment, counts of known noise, intervals that hold what they should."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import confusion_matrix, roc_auc_score

import dalenius as dp
from dalenius.errors import DaleniusError, Refused
from dalenius.intervals.laws import Normal, TwoSidedGeometric
from dalenius.learn import LogisticRegression, MultinomialRegression
from dalenius.learn.saved import model_record
from dalenius.session.evaluating import Evaluating
from dalenius.session.evaluation import Evaluation, error_of_accuracy
from dalenius.session.travel.requests import read_request
from dalenius.tables.compute import exact
from tests.noise.seeded import seeded

ROWS = 4000
FEATURES = {"age": (18, 90), "town": ["Ulm", "Bern"]}


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(7)
    age, town = rng.integers(18, 91, ROWS), rng.choice(np.array(["Ulm", "Bern", None], dtype=object), ROWS)
    score = age / 30 + (town == "Ulm") + rng.logistic(size=ROWS) / 2
    work = np.select([score < 1.5, score < 2.6], ["none", "part"], "full").astype(object)
    work[::40] = None
    return pd.DataFrame({"id": np.arange(ROWS) // 2, "age": age, "town": town, "score": score, "work": work})


def session(people: Any, budget: Any = None, **options: Any) -> dp.Session:
    options.setdefault("unit", dp.Unit.rows())
    return dp.Session(
        people, budget=budget or dp.ZCDP(300.0), schema=dp.Schema(nulls="drop"), name="people", **options
    )


@pytest.fixture(scope="module")
def model(people: pd.DataFrame) -> Any:
    with seeded(1):
        return session(people).fit(LogisticRegression(dp.ZCDP(2.0)), FEATURES, "score > 2.2")


def exactly(asked: dp.Session, model: Any, target: str) -> tuple[np.ndarray, Evaluating]:
    made = Evaluating.of(
        model, FEATURES, target, asked.table, asked.unit, asked.account.filter, dp.ZCDP(0.1), 20
    )
    counts = np.zeros((len(made.classes), len(made.classes), 20), dtype=int)
    for block in exact.blocks(asked.source, made.query, asked.unit):
        np.add.at(counts, made._cells(block), 1)
    return counts, made


def test_the_counts_are_those_of_the_predictions(people: pd.DataFrame, model: Any) -> None:
    asked, there = session(people), people["town"].notna()
    seen = people[there]
    counts, made = exactly(asked, model, "score > 2.2")
    truth, predicted = (seen["score"] > 2.2).astype(int), model.predict(seen[["age", "town"]])
    told = Evaluation([0, 1], counts[:, 1, :], Normal(1e-9), made.loss, True)
    assert np.array_equal(told.confusion, confusion_matrix(truth, predicted))
    assert told.accuracy.estimate == pytest.approx(np.mean(truth == predicted))
    area = roc_auc_score(truth, model.predict_proba(seen[["age", "town"]])[:, 1])
    assert told.auc.low <= area <= told.auc.high
    assert told.auc.high - told.auc.low < 0.1
    assert sum(rows.estimate for _, _, rows, _ in told.calibration) == len(seen)

    model = asked.fit(
        MultinomialRegression(dp.ApproxDP(8.0, 1e-5), classes=("none", "part", "full")), FEATURES, "work"
    )
    counts, made = exactly(asked, model, "work")
    seen = people[there & people["work"].notna()]
    predicted = model.predict(seen[["age", "town"]])
    told = Evaluation(made.classes, counts, Normal(1e-9), made.loss, True)
    assert np.array_equal(
        told.confusion, confusion_matrix(seen["work"], predicted, labels=["none", "part", "full"])
    )
    assert told.recall("full").estimate == pytest.approx(np.mean(predicted[seen["work"] == "full"] == "full"))
    assert told.precision("none").estimate == pytest.approx(
        np.mean(seen["work"][predicted == "none"] == "none")
    )
    for wrong in (lambda: told.auc, lambda: told.recall("some")):
        with pytest.raises(dp.errors.InvalidParameter):
            wrong()


@pytest.mark.parametrize(
    ("budget", "price", "adjacency", "rows", "law"),
    [
        (dp.ZCDP(9.0), dp.ZCDP(0.02), dp.ADD_REMOVE, 1, Normal(5.0)),
        (dp.ZCDP(9.0), dp.ZCDP(0.02), dp.REPLACE_ONE, 1, Normal(5.0 * 2**0.5)),
        (dp.GDP(9.0), dp.GDP(0.5), dp.ADD_REMOVE, 3, Normal(6.0)),
        (dp.PureDP(9.0), dp.PureDP(0.5), dp.REPLACE_ONE, 1, TwoSidedGeometric.of_scale(4.0)),
    ],
)
def test_price_and_noise(
    people: pd.DataFrame,
    model: Any,
    budget: Any,
    price: Any,
    adjacency: Any,
    rows: int,
    law: Any,
    tmp_path: Path,
) -> None:
    """m rows of a unit move the counts by m, twice that or sqrt(2) of it where a unit is replaced."""
    unit = dp.Unit.rows() if rows == 1 else dp.Unit("id", max_rows=rows, max_groups=1)
    asked = session(people, budget, adjacency=adjacency, unit=unit, ledger=tmp_path / "ledger")
    found = asked.evaluate(model, ["age", "town"], "score > 2.2", budget=price)
    assert type(found.law) is type(law)
    assert found.law.sigma == pytest.approx(law.sigma, rel=1e-6)
    spent = asked.account.balance()
    assert asked._cost(found.loss, price).amount <= spent.total.amount * (1 + 1e-12)
    again = session(people, budget, adjacency=adjacency, unit=unit, ledger=tmp_path / "ledger")
    free = again.evaluate(model, ["age", "town"], "score > 2.2", budget=price)
    assert np.array_equal(free.counts, found.counts)
    assert again.account.balance() == spent
    other = again.evaluate(model, ["age", "town"], "score > 2.2", budget=price, bins=10)
    assert other.counts.shape == (2, 10)
    assert again.account.balance() != spent
    assert "evaluation" in str(again.ledger.log())


def test_intervals_hold_the_truth() -> None:
    """At 99 %, of 500 draws of the noise: 475 or fewer have a chance of 2e-10.

    Intervals two thirds as wide would hold 91.4 %, and are caught.
    """
    rng = np.random.default_rng(11)
    truth = np.stack([rng.poisson(np.linspace(60, 5, 20)), rng.poisson(np.linspace(3, 40, 20))]).astype(float)
    exactly_ = Evaluation([0, 1], truth, Normal(1e-9), dp.losses.gaussian(1.0), True, 0.99)
    held = dict.fromkeys(("accuracy", "auc", "rows", "recall"), 0)
    narrow = 0
    for _ in range(500):
        noisy = Evaluation(
            [0, 1], truth + rng.normal(size=(2, 20)) * 4, Normal(4.0), exactly_.loss, True, 0.99
        )
        for name in ("accuracy", "auc", "rows"):
            told = getattr(noisy, name)
            held[name] += told.low <= getattr(exactly_, name).estimate <= told.high
        told, value = noisy.recall(1), exactly_.recall(1).estimate
        held["recall"] += told.low <= value <= told.high
        narrow += abs(told.estimate - value) <= (told.high - told.low) / 3
    assert min(held.values()) >= 476, held
    assert narrow < 476


def test_a_population_has_wider_intervals() -> None:
    counts = np.stack([np.linspace(60, 5, 20), np.linspace(3, 40, 20)])
    table = Evaluation([0, 1], counts, Normal(1.0), dp.losses.gaussian(1.0), True)
    wider = table.at(sampling=True)
    for name in ("accuracy", "auc"):
        one, other = getattr(table, name), getattr(wider, name)
        assert other.high - other.low > one.high - one.low
    share, n = wider.accuracy.estimate, counts.sum()
    usual = 2 * 1.96 * np.sqrt(share * (1 - share) / n + 40 * 0.25 / n**2)
    assert wider.accuracy.high - wider.accuracy.low == pytest.approx(usual, rel=0.05)
    assert "population" in wider.summary()


def test_refused_before_the_charge(people: pd.DataFrame, model: Any) -> None:
    asked = session(people)
    huber = asked.fit(dp.learn.HuberRegression(dp.ApproxDP(1.0, 1e-6)), ["age > 5"], {"score": (0, 5)})
    spent = asked.account.balance()
    for given, features, options, match in (
        (model[-1], ["age", "town"], {}, "fitted classifier"),
        (huber, ["age"], {}, "fitted classifier"),
        (model, ["age"], {}, "2"),
        (model, ["town", "age"], {}, "categories"),
        (model, ["age", "town"], {"bins": 7}, "even"),
        (model, ["age", "town"], {"bins": 2**21}, "cells"),
        (model, ["age", "town"], {"budget": dp.ApproxDP(1.0, 1e-6)}, "paid in"),
    ):
        with pytest.raises(dp.errors.DaleniusError, match=match):
            asked.evaluate(given, features, "score > 2.2", **{"budget": dp.ZCDP(0.1), **options})
    broken = dp.learn.from_json(dp.learn.to_json(model))
    broken[-1].coef_ = broken[-1].coef_[:, :-1]
    with pytest.raises(
        dp.errors.DaleniusError, match="cannot predict"
    ):  # and not where there is a row to predict for
        asked.evaluate(
            broken, ["age", "town"], "score > 2.2", budget=dp.ZCDP(0.1), table=asked.table.filter("age > 500")
        )
    broken = dp.learn.from_json(dp.learn.to_json(model))
    broken[-1].coef_ = broken[-1].coef_ * np.nan
    with pytest.raises(dp.errors.DaleniusError, match="not finite"):
        asked.evaluate(broken, ["age", "town"], "score > 2.2", budget=dp.ZCDP(0.1))
    with pytest.raises(dp.errors.DaleniusError, match="no column"):
        asked.evaluate(model, ["age", "town"], "nothing", budget=dp.ZCDP(0.1))
    assert asked.account.balance() == spent


@pytest.mark.parametrize("classes", [2, 3])
def test_the_accuracy_is_as_near_as_was_paid_for(classes: int) -> None:
    """4000 draws at a share of .99: within the error 94 to 98 times in 100 (a false alarm once in 10^5), and half of
    the error is not enough. At a share of .5 the error is smaller."""
    rows, bins, sigma = 5000.0, 20, 12.0
    error = error_of_accuracy(Normal(sigma), classes, bins, rows, 0.95)
    rng = np.random.default_rng(classes)
    shape = (2, bins) if classes == 2 else (classes, classes, bins)
    off = {}
    for share in (0.5, 0.99):
        counts = np.zeros(shape)
        right, wrong = ((1, -1), (1, 0)) if classes == 2 else ((0, 0, -1), (0, 1, -1))
        counts[right], counts[wrong] = rows * share, rows * (1 - share)
        noisy = rng.normal(counts, sigma, (4000, *shape))
        told = [
            Evaluation(list(range(classes)), one, Normal(sigma), dp.losses.zcdp(0.1), False) for one in noisy
        ]
        inside = [one.confusion.trace() / one.confusion.sum() for one in told]
        off[share] = np.abs(np.array(inside) - share)
    assert 0.935 < np.mean(off[0.99] <= error) < 0.98
    assert np.mean(off[0.99] <= error / 2) < 0.8
    assert np.mean(off[0.5] <= error) > 0.98


@pytest.mark.parametrize("budget", [dp.ZCDP(9.0), dp.ApproxDP(9.0, 1e-6), dp.PureDP(9.0), dp.GDP(3.0)])
def test_an_accuracy_has_a_price(people: pd.DataFrame, model: Any, budget: Any) -> None:
    asked = session(people, budget)
    given, near = (model, ["age", "town"], "score > 2.2"), dp.within(0.02, 0.9, rows=2500)
    price = asked.price(asked.evaluate, *given, accuracy=near)
    assert asked.account.balance().total == asked.account.filter.nothing
    told = asked.evaluate(*given, accuracy=near)
    assert told.confidence == 0.9
    assert (told.accuracy.high - told.accuracy.low) / 2 < 0.021
    spent = asked.account.balance()
    assert (asked.evaluate(*given, budget=price.budget).counts == told.counts).all()  # the same question
    assert asked.account.balance() == spent
    finer = asked.price(asked.evaluate, *given, accuracy=dp.within({"accuracy": 0.01}, 0.9, rows=2500))
    assert finer.epsilon > 1.5 * price.epsilon
    for options, match in (
        ({"accuracy": dp.within(0.01)}, "rows=5000"),
        ({"accuracy": dp.within({"auc": 0.01}, rows=10)}, "predicted rightly"),
        ({"accuracy": near, "budget": price.budget}, "one of budget and accuracy"),
        ({"accuracy": 0.01}, "say dp.within"),
        ({"accuracy": dp.within(1e-30, rows=10)}, "larger error"),
    ):
        with pytest.raises(dp.errors.InvalidParameter, match=match):
            asked.evaluate(*given, **options)


def test_nobody_there(people: pd.DataFrame, model: Any) -> None:
    asked = session(people)
    nobody = asked.table.filter("age > 500")
    with seeded(1):  # by chance, noise alone looks like a few rows
        told = asked.evaluate(model, ["age", "town"], "score > 2.2", budget=dp.ZCDP(0.1), table=nobody)
    assert told.accuracy.low == 0.0
    assert told.auc == type(told.auc)(0.5, 0.0, 1.0) or told.auc.high - told.auc.low > 0.5
    assert "accuracy" in str(told)


@pytest.mark.filterwarnings("error")
def test_no_warning_tells_of_a_row(people: pd.DataFrame) -> None:
    """Whatever floats do after the charge, nothing is said, and nothing fails where warnings are errors."""
    rule = dp.learn.OneVsRest(dp.ZCDP(1.0), classes=("none", "part", "full"))
    made = session(people).fit(rule, FEATURES, "work")
    told = dp.learn.from_json(dp.learn.to_json(made))
    told[-1].coef_ = np.full_like(told[-1].coef_, 1.7e308)  # of some rows, a sum overflows
    told[-1].intercept_ = np.full_like(told[-1].intercept_, -1.7e308)
    asked = session(people)
    with np.errstate(all="raise"):
        found = asked.evaluate(told, ["age", "town"], "work", budget=dp.ZCDP(0.1))
        answer = asked.account.ask(
            "0/0", asked._cost_of_budget(dp.ZCDP(0.1)), lambda: f"[{int((np.zeros(1) / 0 > 0)[0])}]"
        )
    assert found.rows.high > 1000
    assert answer.answer == "[0]"
    told[-1].coef_, told[-1].intercept_ = told[-1].coef_ * 0, told[-1].intercept_ * 0 - 2000.0
    assert np.allclose(told.predict_proba(people[["age", "town"]].dropna().head(3)), 1 / 3)


def test_no_row_makes_a_strangers_model_fail() -> None:
    """Anybody may send a model: what it predicts may be nonsense, but never an error that a row decides."""
    from dalenius.learn.saved import asked_fitted, told_model

    people = pd.DataFrame({"x": [0.0, 1.0, 0.5, 1e-320] * 50, "y": [0, 1, 0, 1] * 50})

    s = dp.Session(people, unit=dp.Unit.rows(), budget=dp.ZCDP(9.0), schema=dp.Schema(nulls="never"))
    fitted = s.fit(dp.learn.LogisticRegression(dp.ZCDP(0.5)), {"x": (0, 1)}, "y = 1")
    several = s.fit(dp.learn.OneVsRest(dp.ZCDP(0.5), classes=(0, 1, 2)), {"x": (0, 1)}, "y")
    asked = 0
    for model in (fitted, several):
        for bounds in ((0.0, 1.0), (0.0, 5e-324), (-1.7e308, 1.7e308), (0.0, 1e-310)):
            for number in (1e308, -1e308, 1e-320):
                told = json.loads(json.dumps(told_model(model)))
                told["features"]["parameters"]["bounds"] = [[{"number": repr(end)} for end in bounds]]
                for word in ("coefficients", "intercept"):
                    values = told["released"][word]["values"]
                    told["released"][word]["values"] = [repr(number)] * len(values)
                target = "y = 1" if model is fitted else "y"
                before = s.remaining
                try:
                    made = s.evaluate(asked_fitted(told), ["x"], target, dp.ZCDP(0.1))
                except DaleniusError:
                    assert s.remaining == before  # refused from public facts, before it was charged
                else:
                    asked += 1
                    assert abs(made.counts.sum() - 200) < 100
    assert asked >= 6


def _crafted(model: Any, coefficients: Any, intercept: Any) -> dict[str, Any]:
    """A model as anybody may write it down."""

    def array(values: Any) -> dict[str, Any]:
        held = np.asarray(values, dtype=float)
        return {"type": "number", "shape": list(held.shape), "values": [repr(float(x)) for x in held.ravel()]}

    return {
        "features": model_record(dp.learn.PublicBounds([(0.0, 100.0)])),
        "model": model_record(model),
        "released": {"coefficients": array(coefficients), "intercept": array(intercept)},
    }


THREE = {"classes": (0, 1, 2)}


@pytest.mark.parametrize(
    ("model", "coefficients", "intercept"),
    [
        (
            dp.learn.OneVsRest(dp.ZCDP(0.1), **THREE),
            np.zeros((4, 1)),
            [0, 0, 0, 50],
        ),  # failed where a row was
        (dp.learn.OneVsRest(dp.ZCDP(0.1), **THREE), np.zeros((1, 1)), [0, 0, 0, 9]),
        (dp.learn.OneVsRest(dp.ZCDP(0.1), **THREE), np.zeros((1, 1)), [[0, 0, 0, 9]]),
        (dp.learn.OneVsRest(dp.ZCDP(0.1), classes=(0, 1)), np.zeros((3, 1)), [0, 0, 9]),
        (
            dp.learn.MultinomialRegression(dp.ZCDP(0.1), **THREE),
            np.zeros((3, 1, 1)),
            np.zeros(3),
        ),  # counted 9 times
        (dp.learn.MultinomialRegression(dp.ZCDP(0.1), **THREE), np.zeros((3, 1)), np.zeros((1, 3))),
        (dp.learn.LogisticRegression(dp.ZCDP(0.1)), np.zeros((2, 1)), [0.0]),
        (dp.learn.LogisticRegression(dp.ZCDP(0.1)), np.zeros((1, 1)), [math.inf]),
        (dp.learn.LogisticRegression(dp.ZCDP(0.1), classes=(1,)), np.zeros((1, 1)), [0.0]),
    ],
)
def test_a_model_that_somebody_made_up_is_refused_before_the_charge(
    model: Any, coefficients: Any, intercept: Any
) -> None:
    people = pd.DataFrame({"age": [20, 30, 60], "y": [0, 1, 2]})
    session = dp.Session(people, unit=dp.Unit.rows(), budget=dp.ZCDP(1.0), schema=dp.Schema(nulls="drop"))
    request = {
        "kind": "evaluate", "model": _crafted(model, coefficients, intercept), "features": ["age"], "target": "y",
        "budget": {"kind": "zcdp", "rho": "0.01"},
    }  # fmt: skip
    with pytest.raises(Refused):
        read_request(request, session).ask(session)
    assert session.remaining == dp.ZCDP(1.0)


def _most_moved(asked: dp.Session, monkeypatch: pytest.MonkeyPatch | None = None) -> int:
    """How far one more row moves the counts, of models whose scores cancel but for how they are added up."""
    from dalenius.learn.models import row_model
    from dalenius.learn.saved import asked_fitted

    if monkeypatch is not None:
        monkeypatch.setattr(row_model, "products", lambda rows, table: rows @ table)
    rng, columns, most = np.random.default_rng(3), [f"x{k}" for k in range(16)], 0
    for _ in range(20):
        told = _crafted(dp.learn.LogisticRegression(dp.ZCDP(0.1)), rng.normal(size=(1, 16)) * 1e18, [0.0])
        told["features"] = model_record(dp.learn.PublicBounds([(0.0, 1.0)] * 16))
        row = np.append(rng.integers(0, 1025, 16) / 1024, 1.0)
        model = asked_fitted(told)
        model[-1].intercept_ = -model.decision_function(np.tile(row[:-1], (7, 1)))[-1:]
        made = Evaluating.of(
            model, columns, "y", asked.table, asked.unit, asked.account.filter, dp.ZCDP(0.1), 20
        )
        counts = [made.counted([np.tile(row, (n, 1))]) for n in range(1, 14)]
        most = max(most, *(int(abs(b - a).sum()) for a, b in itertools.pairwise(counts)))
    return most


def test_one_row_more_moves_one_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """A product of matrices adds up a row otherwise among others: it moved 7 counts, and noise was for 1."""
    table = pd.DataFrame({**{f"x{k}": [0.5] for k in range(16)}, "y": [1]})
    asked = dp.Session(table, unit=dp.Unit.rows(), budget=dp.ZCDP(1.0), schema=dp.Schema(nulls="never"))
    assert _most_moved(asked) == 1
    assert _most_moved(asked, monkeypatch) > 1
