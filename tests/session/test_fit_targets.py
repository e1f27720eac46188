"""One fit of several targets: a model for each, one pass over the table, one charge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import Pipeline

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.learn import HuberRegression, LinearRegression, LogisticRegression
from dalenius.learn.models.several_targets import of_each
from dalenius.session import fit_rows, fit_targets
from dalenius.session.columns import of_a_unit
from dalenius.session.travel.outcomes import carried_out
from dalenius.session.travel.requests import read_request
from dalenius.session.words import in_words
from dalenius.tables.compute import exact
from tests.noise.seeded import seeded

ROWS = 3000
SCHEMA = dp.Schema({"age": {"bounds": (18, 90)}, "pay": {"bounds": (0, 100)}}, nulls="drop")
TWO = ["pay > 40", "work = 'full'"]


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    age = rng.integers(18, 91, ROWS)
    pay = np.clip(age / 2 + rng.normal(size=ROWS) * 10, 0, 100)
    work = np.where(age + rng.normal(size=ROWS) * 9 < 50, "full", np.where(age < 70, "part", "none"))
    return pd.DataFrame({"id": np.arange(ROWS) // 2, "age": age, "pay": pay, "work": work})


def session(people: Any, **options: Any) -> dp.Session:
    options = {"budget": dp.ApproxDP(50.0, 1e-3), "unit": dp.Unit.rows(), "schema": SCHEMA, **options}
    return dp.Session(people, name="people", **options)


def test_each_is_the_fit_of_its_target(people: pd.DataFrame, tmp_path: Path, monkeypatch: Any) -> None:
    """The same noise, on rows made by hand: the same coefficients; the table is read once, and charged once."""
    model = LogisticRegression(dp.ApproxDP(6.0, 1e-5), class_weight={1: 3})
    reads = []
    blocks = exact.blocks
    monkeypatch.setattr(exact, "blocks", lambda *args: reads.append(1) or blocks(*args))
    asked = session(people, ledger=tmp_path / "ledger")
    with seeded(4):
        made = asked.fit(model, ["age"], TWO)
    assert list(made) == TWO
    assert len(reads) == 1
    part, loss = of_each(model, 2)
    rows = ((people["age"].to_numpy() - 54) / 36)[:, None]
    with seeded(4):
        alone = [
            clone(part).fit(rows, labels.astype(int))
            for labels in (people["pay"] > 40, people["work"] == "full")
        ]
    for found, own in zip(made.values(), alone, strict=True):
        assert isinstance(found, Pipeline)
        np.testing.assert_allclose(found[-1].coef_, own.coef_, rtol=1e-3, atol=1e-5)
        assert found[-1].loss_ == loss  # of both together
        assert found[-1].guarantee == part.guarantee
        assert model.guarantee.holds(found[-1].loss_)
    spent = asked.account.balance()
    again = asked.fit(LogisticRegression(dp.ApproxDP(6.0, 1e-5), class_weight={0: 1, 1: 3.0}), ["age"], TWO)
    assert np.array_equal(again[TWO[1]][-1].coef_, made[TWO[1]][-1].coef_)
    assert asked.account.balance() == spent
    (charge,) = [entry for entry in asked.ledger.log() if entry.cost]
    assert charge.what == "fits: logistic regression of pay > 40, work = 'full' on age"
    for target in (TWO[::-1], TWO[:1], [*TWO, "age > 50"]):
        before = asked.account.balance()
        asked.fit(model, ["age"], target)
        assert asked.account.balance() != before
    told = asked.evaluate(made[TWO[0]], ["age"], TWO[0], dp.GDP(0.5))
    assert told.accuracy.estimate > 0.7
    saved = dp.learn.from_json(dp.learn.to_json(made[TWO[0]]))
    assert np.array_equal(saved.predict([[30], [80]]), made[TWO[0]].predict([[30], [80]]))


def test_regressions_have_bounds_of_their_own(people: pd.DataFrame) -> None:
    """Those beside the target, or the schema's; each model predicts in the units of its target."""
    for kind, promise in ((LinearRegression, dp.GDP(2.0)), (HuberRegression, dp.ApproxDP(8.0, 1e-5))):
        asked = session(people)
        made = asked.fit(kind(promise, target_bounds=(-5, 5)), ["age"], {"pay": None, "age * 10": (180, 900)})
        assert [one[-1].target_bounds for one in made.values()] == [(0.0, 100.0), (180, 900)]
        assert abs(made["age * 10"].predict([[50]])[0] - 500) < 100
        assert abs(made["pay"].predict([[50]])[0] - 25) < 10
        spent = asked.account.balance()
        same = asked.fit(
            kind(promise), ["age"], {"pay": (0, 100), "age * 10": (180, 900)}
        )  # the same said otherwise
        assert asked.account.balance() == spent
        assert np.array_equal(same["pay"][-1].coef_, made["pay"][-1].coef_)
        asked.fit(kind(promise), ["age"], {"pay": (0, 100), "age * 10": (180, 901)})
        assert asked.account.balance() != spent


def test_one_gram_is_released_for_all(people: pd.DataFrame) -> None:
    """Three linear regressions cost what one does; each keeps its own part."""
    promise = dp.GDP(0.7)
    asked = session(people, budget=dp.GDP(2.0))
    made = asked.fit(LinearRegression(promise), ["age"], {"pay": None, "pay / 2": (0, 50), "age": None})
    assert promise.holds(made["pay"][-1].loss_)
    one = asked.fit(LinearRegression(promise), ["age"], "pay")
    assert made["pay"][-1].loss_.gdp() == pytest.approx(one[-1].loss_.gdp(), rel=1e-6)
    assert made["pay"][-1].price().gdp() < 0.9 * 0.7
    report = made["pay"][-1].privacy_report_
    assert report.worst(failure=1e-3) >= made["pay"][-1].loss_.epsilon(1e-3)


def test_missing_targets(people: pd.DataFrame) -> None:
    """A row that lacks one target is there for the others; rows without a listed class, too."""
    odd = people.assign(pay=people["pay"].where(people["age"] > 40))
    model = LogisticRegression(dp.ApproxDP(6.0, 1e-5))
    with seeded(6):
        made = session(odd).fit(model, ["age"], TWO)
    rows = ((people["age"].to_numpy() - 54) / 36)[:, None]
    part, _ = of_each(model, 2)
    there = (people["age"] > 40).to_numpy()
    with seeded(6):
        clone(part).fit(rows[there], (people["pay"] > 40)[there].astype(int))
        second = clone(part).fit(rows, (people["work"] == "full").astype(int))
    np.testing.assert_allclose(made[TWO[1]][-1].coef_, second.coef_, rtol=1e-3, atol=1e-5)


def test_classes_of_text(people: pd.DataFrame) -> None:
    both = people.assign(last=people["work"].iloc[::-1].to_list())
    model = dp.learn.MultinomialRegression(
        dp.PureDP(9.0), classes=("full", "part", "none"), class_weight={"part": 2}
    )
    made = session(both).fit(model, ["age"], ["work", "last"])
    assert made["work"].predict([[20], [89]]).tolist() == ["full", "none"]
    assert made["last"][-1].coef_.shape == (3, 1)


@pytest.mark.parametrize(
    ("model", "target"),
    [
        (LogisticRegression(dp.ApproxDP(8.0, 1e-5)), TWO),
        (LinearRegression(dp.ApproxDP(8.0, 1e-5)), {"pay": None, "age / 2": (9, 45)}),
    ],
    ids=["logistic", "linear"],
)
def test_rows_that_do_not_fit_into_memory(
    people: pd.DataFrame, model: Any, target: Any, monkeypatch: Any
) -> None:
    found = []
    for most in (1 << 24, 1000):
        monkeypatch.setattr(fit_rows, "IN_MEMORY", most)
        monkeypatch.setattr(exact.blocks, "__defaults__", (700,))
        with seeded(6):
            found.append(session(people).fit(model, ["age"], target))
    for name in target:
        one, other = (np.append(made[name][-1].coef_, made[name][-1].intercept_) for made in found)
        np.testing.assert_allclose(other, one, rtol=1e-6, atol=1e-7)


def test_the_charge_is_for_all_rows_of_a_unit(people: pd.DataFrame) -> None:
    unit, budget = dp.Unit("id", max_rows=2), dp.ZCDP(90.0)
    asked = session(people, unit=unit, adjacency=dp.REPLACE_ONE, budget=budget)
    model = LogisticRegression(dp.ZCDP(0.1))
    made = asked.fit(model, ["age"], TWO)
    each, _ = of_each(model, 2)
    expected = of_a_unit(each.price() * 2, unit, dp.REPLACE_ONE, asked.account.filter)
    assert made[TWO[0]][-1].loss_ == expected
    alone = session(people, unit=unit, adjacency=dp.REPLACE_ONE, budget=budget)
    alone.fit(model, ["age"], TWO[0])
    assert asked.spent.rho == pytest.approx(alone.spent.rho, rel=0.01)  # one promise, however many targets
    assert asked.price(model, features=["age"], target=TWO).budget.rho == pytest.approx(
        asked.spent.rho, rel=0.001
    )


@pytest.mark.parametrize(
    ("model", "target", "match"),
    [
        (None, ["pay > 40", "nowhere > 2"], "no column"),
        (None, ["pay > 40", "pay > 40"], "twice"),
        (None, [f"pay > {n}" for n in range(101)], "at most 100"),
        (None, ["pay > 40", 3], "must be a column"),
        (LogisticRegression(dp.GDP(1.0), classes=(0, 1), class_weight="balanced"), TWO, "public weights"),
        (LogisticRegression(dp.GDP(1.0), classes=(20.1, 20.25)), ["age", "pay / 10"], "whole numbers"),
        (LogisticRegression(dp.TradeOff(lambda a: max(0.0, 0.9 - a))), TWO, "cannot be divided"),
        (LinearRegression(dp.GDP(1.0)), {"pay": (3, 1), "age": None}, "exchange|lower|below"),
        (dp.learn.ExponentialMean(dp.PureDP(1.0)), TWO, "list of numbers"),
    ],
)
def test_refused_before_the_charge(people: pd.DataFrame, model: Any, target: Any, match: str) -> None:
    asked = session(people)
    with pytest.raises(dp.errors.DaleniusError, match=match):
        asked.fit(model or LogisticRegression(dp.GDP(1.0)), ["age"], target)
    assert asked.spent == session(people).spent


def test_more_coefficients_than_a_ledger_keeps(people: pd.DataFrame, monkeypatch: Any) -> None:
    from dalenius.session import aim

    monkeypatch.setattr(aim, "MOST_NUMBERS", 3)
    session(people).fit(LogisticRegression(dp.GDP(1.0)), ["age"], "pay > 40")
    with pytest.raises(dp.errors.InvalidParameter, match="2 classes of 2 targets"):
        session(people).fit(LogisticRegression(dp.GDP(1.0)), ["age"], TWO)


def test_largest_promise_of_a_class(people: pd.DataFrame) -> None:
    asked = session(people, budget=dp.ZCDP(1.0))
    made = asked.fit(LinearRegression, ["age"], {"pay": None, "age": None}, budget=dp.ZCDP(0.1))
    assert asked.spent.rho == pytest.approx(0.1, rel=0.01)
    assert set(made) == {"pay", "age"}


def test_from_afar(people: pd.DataFrame) -> None:
    """A request with several targets is carried out, and shown as a model for each."""
    from dalenius.learn.saved import model_record
    from dalenius.web.asking.shown import shown

    asked = session(people)
    model = LogisticRegression(dp.GDP(0.5))
    record = {"kind": "fit", "model": model_record(model), "features": ["age"], "target": TWO}
    request = read_request(record, asked)
    told = shown(carried_out(asked, request), request, "1")
    assert set(told["models"]) == set(TWO)
    assert told["answer"]["kind"] == "fit_targets"
    assert asked.fit(model, ["age"], TWO)[TWO[0]][-1].coef_.tolist()[0][0] == float(
        told["models"][TWO[0]]["released"]["coefficients"]["values"][0]
    )
    assert in_words(carried_out(asked, request).question).startswith("fits: logistic regression of pay > 40")


def test_a_damaged_answer_is_refused(people: pd.DataFrame) -> None:
    from dalenius.session.record import answers

    asked = session(people)
    fitting = asked._fitting(LogisticRegression(dp.GDP(0.5)), ["age"], TWO, None)
    assert isinstance(fitting, fit_targets.FittingTargets)
    text = fitting.compute(asked.source)
    assert set(fitting.restored(text)) == set(TWO)
    for bad in (answers.to_fit_targets([]), answers.to_fit_targets([{}, {}, {}]), answers.to_fit({})):
        with pytest.raises(dp.errors.LedgerDamaged):
            fitting.restored(bad)


def test_a_pipeline_that_finds_bounds_is_for_one_target() -> None:
    people = pd.DataFrame({"age": [20, 30, 60, 70] * 10, "pay": [1, 2, 8, 9] * 10})
    session = dp.Session(people, unit=dp.Unit.rows(), budget=dp.ZCDP(1.0), schema=dp.Schema(nulls="never"))
    steps = [("b", dp.learn.PrivateBounds(dp.ZCDP(0.1))), ("m", dp.learn.LogisticRegression(dp.ZCDP(0.1)))]
    with pytest.raises(InvalidParameter, match="one target"):
        session.fit(Pipeline(steps), ["age"], ["pay > 5", "pay > 7"])
    assert session.remaining == dp.ZCDP(1.0)
