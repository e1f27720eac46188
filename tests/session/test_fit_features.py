"""Features that are categories, conditions and expressions; targets that are text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dalenius as dp
from dalenius.adaptive import PrivacyReport
from dalenius.learn import LogisticRegression, PublicColumns
from dalenius.session import aim, fit_rows
from dalenius.tables import Column
from dalenius.tables.compute import exact
from tests.noise.seeded import seeded

ROWS = 3000
SCHEMA = dp.Schema(
    {"town": {"categories": ["Ulm", "O'Fallon", "Åbo"]}, "age": {"bounds": (18, 90)}}, nulls="drop"
)


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    town = rng.choice(np.array(["Ulm", "O'Fallon", "Åbo", "Elsewhere", None], dtype=object), ROWS)
    age, kind = rng.integers(18, 91, ROWS), rng.integers(1, 4, ROWS)
    pay = 40 * (town == "Ulm") + age / 2 + 10 * (kind == 2)
    return pd.DataFrame({"town": town, "age": age, "kind": kind, "pay": pay})


def session(people: Any, **options: Any) -> dp.Session:
    options.setdefault("budget", dp.ApproxDP(50.0, 1e-3))
    return dp.Session(people, unit=dp.Unit.rows(), schema=SCHEMA, name="people", **options)


FEATURES: dict[str, Any] = {"town": None, "age / 2": (9, 45), "kind": Column(categories=[1, 2, 3])}
MODEL = LogisticRegression(dp.ApproxDP(8.0, 1e-5))


def test_a_fit_is_that_of_the_rows_written_out(people: pd.DataFrame, tmp_path: Path) -> None:
    """The same noise, and the same rows made by hand: the same coefficients."""
    asked = session(people, ledger=tmp_path / "ledger")
    with seeded(4):
        made = asked.fit(MODEL, FEATURES, "pay > 40")
    towns = ["Ulm", "O'Fallon", "Åbo"]
    hot = (people["town"].to_numpy()[:, None] == np.array(towns, dtype=object)).astype(float)
    of_kind = (people["kind"].to_numpy()[:, None] == [1, 2, 3]).astype(float)
    age = (people["age"].to_numpy() / 2 - 27) / 18
    rows = np.column_stack((hot, age, of_kind)) / np.sqrt(3)
    there = people["town"].notna().to_numpy()  # a missing town: the row is dropped; an unlisted one: zeros
    assert np.linalg.norm(rows, axis=1).max() <= 1 + 1e-12
    with seeded(4):
        alone = LogisticRegression(MODEL.guarantee).fit(rows[there], (people["pay"] > 40)[there].astype(int))
    np.testing.assert_allclose(made[-1].coef_, alone.coef_, rtol=1e-3, atol=1e-5)  # values are on grids
    seen = people.assign(**{"age / 2": people["age"] / 2})[["town", "age / 2", "kind"]][there]
    np.testing.assert_allclose(made[0].transform(seen), rows[there], atol=1e-12)
    assert made.score(seen, (people["pay"] > 40)[there].astype(int)) > 0.9
    spent = asked.account.balance()
    again = asked.fit(MODEL, FEATURES, "pay > 40")
    assert np.array_equal(again.predict(seen), made.predict(seen))
    assert asked.account.balance() == spent
    read = dp.learn.from_json(dp.learn.to_json(made))
    assert np.array_equal(read.predict(seen), made.predict(seen))
    # The same sums, scaled one by one, are another question.
    conditions = {f"town = '{t}'": (0, 1) for t in ("Ulm", "O''Fallon", "Åbo")}
    other = asked.fit(MODEL, conditions, "pay > 40")
    listed = asked.fit(MODEL, ["town"], "pay > 40")
    assert asked.account.balance() != spent
    assert not np.array_equal(other[-1].coef_, listed[-1].coef_)


def test_a_target_of_text(people: pd.DataFrame) -> None:
    asked = session(people)
    model = LogisticRegression(dp.ApproxDP(8.0, 1e-5), classes=("Åbo", "Ulm"))
    with seeded(5):
        made = asked.fit(model, {"pay": (0, 100)}, "town")
    some = people["town"].isin(["Ulm", "Åbo"])
    rows = made[0].transform(people[["pay"]][some])
    with seeded(5):
        alone = LogisticRegression(model.guarantee, classes=("Åbo", "Ulm")).fit(
            rows, people["town"][some].to_list()
        )
    np.testing.assert_allclose(made[-1].coef_, alone.coef_, rtol=1e-3, atol=1e-5)
    assert set(made.predict([[0.0], [100.0]])) <= {"Ulm", "Åbo"}


def test_weights_of_classes(people: pd.DataFrame) -> None:
    """Those of text by their labels; the same ratios are the same question, others another one."""
    asked = session(people)

    def model(weights: Any) -> LogisticRegression:
        return LogisticRegression(dp.ApproxDP(8.0, 1e-5), classes=("Åbo", "Ulm"), class_weight=weights)

    with seeded(5):
        made = asked.fit(model({"Ulm": 1, "Åbo": 6}), {"pay": (0, 100)}, "town")
    some = people["town"].isin(["Ulm", "Åbo"])
    rows, labels = made[0].transform(people[["pay"]][some]), people["town"][some].to_list()
    with seeded(5):
        alone = model({"Ulm": 1, "Åbo": 6}).fit(rows, labels)
    np.testing.assert_allclose(made[-1].coef_, alone.coef_, rtol=1e-3, atol=1e-5)
    assert made[-1].class_weight == {"Ulm": 1, "Åbo": 6}
    with seeded(5):
        other_way = model({"Åbo": 1, "Ulm": 6}).fit(rows, labels)
    assert abs(other_way.intercept_ - alone.intercept_) > 0.5
    spent = asked.account.balance()
    again = asked.fit(model({"Åbo": 18.0, "Ulm": 3}), {"pay": (0, 100)}, "town")
    assert np.array_equal(again[-1].coef_, made[-1].coef_)
    assert asked.account.balance() == spent
    assert asked.price(model({"Åbo": 5}), features={"pay": (0, 100)}, target="town").budget is not None
    for weights in (None, {"Åbo": 5}):
        before = asked.account.balance()
        other = asked.fit(model(weights), {"pay": (0, 100)}, "town")
        assert not np.array_equal(other[-1].coef_, made[-1].coef_)
        assert asked.account.balance() != before
    spent = asked.account.balance()
    for bad in ("balanced", {"Bern": 2}, {0: 1, 1: 2}, {"Ulm": 0}):
        with pytest.raises(dp.errors.InvalidParameter, match="weight"):
            asked.fit(model(bad), {"pay": (0, 100)}, "town")
    search = dp.learn.PrivateSearch(
        LogisticRegression(dp.GDP(0.1)), [{"class_weight": "balanced"}, {}], dp.GDP(0.1)
    )
    with pytest.raises(dp.errors.InvalidParameter, match="public weights"):
        asked.fit(search, {"pay": (0, 100)}, "pay > 40")
    assert asked.account.balance() == spent


def test_weights_and_neighbours_that_are_replaced(people: pd.DataFrame) -> None:
    """A person's rows all of the heaviest class: what is charged for them is what it is without weights."""
    losses = [
        dp.Session(
            people.assign(id=np.arange(ROWS) // 2),
            unit=dp.Unit("id", max_rows=2),
            adjacency=dp.REPLACE_ONE,
            schema=SCHEMA,
            budget=dp.ZCDP(90.0),
        )
        .fit(LogisticRegression(dp.ZCDP(0.1), class_weight=weights), {"age": (18, 90)}, "pay > 40")[-1]
        .loss_
        for weights in (None, {1: 50})
    ]
    assert losses[0] == losses[1]


def test_a_person_is_told_by_the_weight_of_their_class(people: pd.DataFrame) -> None:
    asked = session(people)
    asked.fit(LogisticRegression(dp.ApproxDP(8.0, 1e-5), class_weight={1: 50}), {"age": (18, 90)}, "pay > 40")
    ((told,),) = asked._fits.values()
    assert told.slope.weights == (0.02, 1.0)
    person = {"age": 40, told.fields.target: 0}
    bare = PrivacyReport([replace(told, slope=replace(told.slope, weights=None))])
    assert asked.privacy_report.epsilon(person) < 0.3 * bare.epsilon(person)


@pytest.mark.parametrize(
    ("features", "target", "match"),
    [
        (["other"], "pay > 40", "categories must be public"),
        ({"town": [1, 2, 3]}, "pay > 40", "pair"),
        ({"town": Column(categories=[1, 2])}, "pay > 40", "cannot have the categories"),
        ({"age": ["old", "young"]}, "pay > 40", "cannot have the categories"),
        ({"town": ["Ulm", "Ulm"]}, "pay > 40", "twice"),
        ({"town": []}, "pay > 40", "empty"),
        ({"town": Column()}, "pay > 40", "without bounds"),
        ({"nowhere": ["a"]}, "pay > 40", "no column"),
        (["age"], "nowhere", "no column"),
    ],
)
def test_refused_before_the_charge(people: pd.DataFrame, features: Any, target: str, match: str) -> None:
    asked = session(people.assign(other="x"))
    for model in (MODEL, LogisticRegression(dp.ApproxDP(1.0, 1e-5), classes=("a", "b"))):
        with pytest.raises(dp.errors.DaleniusError, match=match):
            asked.fit(model, features, target if model is MODEL else target.replace("pay > 40", "town"))
    with pytest.raises(dp.errors.DaleniusError, match="classes"):
        asked.fit(LogisticRegression(dp.ApproxDP(1.0, 1e-5), classes=(1, 1)), ["age"], "kind")
    with pytest.raises(dp.errors.DaleniusError, match="whole numbers"):  # no row would have a class
        asked.fit(LogisticRegression(dp.ApproxDP(1.0, 1e-5), classes=(0.1, 0.25)), ["age"], "pay / 10")
    assert asked.spent == session(people).spent


def test_more_than_an_engine_hands_out_is_refused(
    people: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Columns that PostgreSQL or SQLite would not select, coefficients that no entry holds: before the charge."""
    asked = session(people)
    two = {"town": [f"t{n}" for n in range(800)], "kind": Column(categories=list(range(701)))}
    with pytest.raises(dp.errors.InvalidParameter, match="1501 numbers"):
        asked.fit(MODEL, two, "pay > 40")
    monkeypatch.setattr(aim, "MOST_NUMBERS", 8)
    rule = dp.learn.OneVsRest(dp.ApproxDP(8.0, 1e-5), classes=(1, 2, 3))
    with pytest.raises(dp.errors.InvalidParameter, match="coefficients"):
        asked.fit(rule, ["town"], "kind")
    assert asked.spent == session(people).spent


def test_columns_are_checked() -> None:
    for bounds, categories in (
        ([], []),
        ([(0, 1)], [("a",)]),
        ([None], [None]),
        ([None], ["ab"]),
        ([None], [("a", "a")]),
    ):
        with pytest.raises(dp.errors.InvalidParameter):
            PublicColumns(bounds, categories).fit()
    odd = PublicColumns([(0, 1), None], [None, ("a", "b")]).fit()
    found = odd.transform(pd.DataFrame({"x": [0.5, "?", None], "c": ["a", pd.NA, "z"]}))
    assert np.isnan(found[1]).all()
    assert np.isnan(found[2]).tolist() == [True, False, False]
    for bad in ([[1, "a", 3]], [1, 2], [[1, 2], [3]]):
        with pytest.raises(dp.errors.InvalidParameter):
            odd.transform(bad)


@pytest.mark.parametrize(
    ("model", "target"),
    [
        (MODEL, "pay > 40"),
        (dp.learn.LinearSVC(dp.PureDP(2.0)), "pay > 40"),
        (dp.learn.HuberRegression(dp.ApproxDP(8.0, 1e-5)), {"pay": (0, 100)}),
        (dp.learn.PoissonRegression(dp.ApproxDP(8.0, 1e-5), most=9), "FLOOR(pay / 10)"),
        (dp.learn.LinearRegression(dp.GDP(1.0)), {"pay": (0, 100)}),
        (dp.learn.MultinomialRegression(dp.PureDP(2.0), classes=("Ulm", "Åbo", "Elsewhere")), "town"),
        (dp.learn.OneVsRest(dp.ApproxDP(8.0, 1e-5), classes=(1, 2, 3)), "kind"),
        (LogisticRegression(dp.ApproxDP(8.0, 1e-5), class_weight={1: 9}), "pay > 40"),
        (
            dp.learn.MultinomialRegression(
                dp.PureDP(2.0), classes=("Ulm", "Åbo", "Elsewhere"), class_weight={"Åbo": 7}
            ),
            "town",
        ),
        (
            dp.learn.OneVsRest(dp.ApproxDP(8.0, 1e-5), classes=(1, 2, 3), class_weight={3: 4, 1: 2}),
            "kind",
        ),
        (LogisticRegression(dp.GDP(0.5)), "pay > 40"),  # by noisy descent, which holds its rows
    ],
    ids=lambda x: type(x).__name__,
)
def test_rows_that_do_not_fit_into_memory(
    people: pd.DataFrame, model: Any, target: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a file, block by block, with the same noise: the same model, to within what the solver leaves."""
    found = []
    for most in (1 << 24, 2000):
        monkeypatch.setattr(fit_rows, "IN_MEMORY", most)
        monkeypatch.setattr(exact.blocks, "__defaults__", (700,))
        asked = session(people, budget=dp.ApproxDP(90.0, 1e-3) if "GDP" not in str(model) else dp.GDP(9.0))
        with seeded(6):
            found.append(asked.fit(model, FEATURES, target)[-1])
    one, other = found
    scale = np.abs(one.coef_).max()
    np.testing.assert_allclose(other.coef_, one.coef_, atol=1e-6 * scale)
    np.testing.assert_allclose(other.intercept_, one.intercept_, atol=1e-6 * max(scale, 1))
