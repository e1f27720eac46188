"""One report for everything that an account has released."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import Pipeline

import dalenius as dp
from dalenius.adaptive import DataDependentReport, PrivacyReport
from dalenius.adaptive.personal.perturbed_objective import PerturbedObjective
from dalenius.adaptive.personal.release import Statement
from dalenius.adaptive.personal.worst_case import WorstCase
from dalenius.errors import InvalidParameter
from dalenius.learn.models.reported import release_of


def people(rows: int = 3000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    age, school = rng.integers(18, 90, rows), rng.normal(12, 3, rows)
    return pd.DataFrame(
        {"id": np.arange(rows) // 2, "age": age, "school": school, "rich": (age + 3 * school) > 90}
    )


def opened(tmp_path: Path, budget: dp.ApproxDP | dp.ZCDP | dp.PureDP, **more: object) -> dp.Session:
    settings: dict[str, object] = {
        "unit": dp.Unit.rows(),
        "name": "people",
        "schema": dp.Schema({}, nulls="drop"),
        **more,
    }
    return dp.Session(people(), budget=budget, ledger=tmp_path / "people.ledger", **settings)


FEATURES = {"age": (18, 90), "school": (0, 22)}
PERSON = {"age": 45, "school": 14.0, "rich": 1}


def test_fits_are_personal_and_the_rest_is_the_worst_case(tmp_path: Path) -> None:
    s = opened(tmp_path, dp.ApproxDP(4.0, 1e-6))
    assert s.privacy_report.epsilon(PERSON) == 0.0
    s.release(s.table.agg(n=dp.count()), dp.ApproxDP(0.2, 1e-9))
    s.fit(dp.learn.LogisticRegression(dp.PureDP(0.3)), FEATURES, "rich")
    report = s.privacy_report
    count, fit = report.releases
    assert isinstance(count, WorstCase)
    assert isinstance(fit, PerturbedObjective)
    assert fit.fields.features == ("age", "school")
    assert 0 < fit.row_rounding < 1e-3
    found = report.epsilon(PERSON, failure=1e-3)
    share = 1e-3 / 2 * 6 / math.pi**2  # half is the ceiling's
    alone = PrivacyReport([count]).epsilon(PERSON, failure=share) + PrivacyReport([fit]).epsilon(
        PERSON, failure=share / 4
    )
    assert found == pytest.approx(alone, rel=1e-12)
    assert PrivacyReport.from_json(report.to_json()).epsilon(PERSON, failure=1e-3) == found


def test_the_budget_is_a_ceiling(tmp_path: Path) -> None:
    s = opened(tmp_path, dp.ZCDP(0.1))
    for n in range(12):
        s.release(s.table.filter(f"age > {20 + n}").agg(n=dp.count()), dp.ZCDP(0.008))
    report = s.privacy_report
    assert len(report.releases) == 12
    assert report.epsilon(PERSON) == dp.losses.zcdp(0.1).tail(1e-6 / 4)
    assert PrivacyReport(report.releases, more=True).epsilon(PERSON) > 1.5 * report.epsilon(PERSON)


def test_another_session_on_the_same_ledger_knows_the_charges(tmp_path: Path) -> None:
    model = dp.learn.LogisticRegression(dp.PureDP(0.5))
    first = opened(tmp_path, dp.PureDP(2.0))
    first.fit(model, FEATURES, "rich")
    own = first.privacy_report.epsilon(PERSON)
    second = opened(tmp_path, dp.PureDP(2.0))
    assert second.privacy_report.epsilon(PERSON) == pytest.approx(0.5, abs=1e-9)  # the worst case
    second.fit(model, FEATURES, "rich")  # from the record, for nothing
    assert second.privacy_report.epsilon(PERSON) == own < 0.5
    assert second.privacy_report.epsilon(PERSON, people=math.inf) == pytest.approx(own, rel=1e-6)


def test_several_rows_of_a_unit() -> None:
    model = dp.learn.LinearRegression(dp.ZCDP(0.01), target_bounds=(18, 90))
    found = []
    for unit in (dp.Unit.rows(), dp.Unit("id", max_rows=2)):
        s = dp.Session(people(), unit=unit, budget=dp.ZCDP(1.0), schema=dp.Schema({}, nulls="drop"))
        s.fit(model, {"school": (0, 22)}, {"age": (18, 90)})
        found.append(s.privacy_report.epsilon({"school": 12.0, "age": 60}))
    assert 1.99 * found[0] < found[1] < 4 * found[0]


def test_replacing_a_record_has_the_worst_case_only(tmp_path: Path) -> None:
    s = opened(tmp_path, dp.PureDP(2.0), adjacency=dp.REPLACE_ONE)
    s.fit(dp.learn.LogisticRegression(dp.PureDP(0.5)), FEATURES, "rich")
    (fit,) = s.privacy_report.releases
    assert isinstance(fit, WorstCase)
    assert s.privacy_report.epsilon(PERSON) == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize(
    ("unit", "adjacency"),
    [(dp.Unit("id", max_rows=2), dp.ADD_REMOVE), (dp.Unit.rows(), dp.REPLACE_ONE)],
    ids=["several rows", "replaced"],
)
def test_the_fitted_model_itself_never_says_less_than_was_paid(
    unit: dp.Unit, adjacency: dp.Adjacency, tmp_path: Path
) -> None:
    s = opened(tmp_path, dp.PureDP(2.0), unit=unit, adjacency=adjacency)
    fitted = s.fit(dp.learn.LogisticRegression(dp.PureDP(0.5)), FEATURES, "rich")[-1]
    dp.learn.save(fitted, tmp_path / "model.json")
    for model in (fitted, dp.learn.load(tmp_path / "model.json")):
        assert model.privacy_report_.worst() == pytest.approx(1.0, rel=1e-6)
        assert model.privacy_report_.epsilon([0.0, 0.0], 1) == pytest.approx(1.0, rel=1e-6)


def test_rows_of_one_person_need_not_be_alike(tmp_path: Path) -> None:
    s = opened(tmp_path, dp.ApproxDP(9.0, 1e-4), unit=dp.Unit("id", max_rows=2))
    s.fit(dp.learn.LogisticRegression(dp.ApproxDP(1.0, 1e-7)), FEATURES, "rich")
    (fit,) = s.privacy_report.releases
    assert isinstance(fit, PerturbedObjective)
    alone = replace(fit, rows=1)
    two = alone.constants(Statement(0.1, people=2))["ball"]
    assert fit.constants(Statement(0.1))["ball"] == two > alone.constants(Statement(0.1))["ball"]
    assert "type one after the other" in s.privacy_report.page()


def test_rows_that_are_normalized_after_rounding_have_the_worst_case_only(tmp_path: Path) -> None:
    """School 0.2 is 1e-15 off the middle of its bounds for the fit, and a row of norm 1 then; not a row of 0."""
    table = people().assign(school=lambda frame: 0.1 + 0.2 * (frame.school > 12))
    s = dp.Session(table, unit=dp.Unit.rows(), budget=dp.PureDP(2.0), schema=dp.Schema({}, nulls="drop"))
    model = dp.learn.LogisticRegression(dp.PureDP(0.5), rows="normalize", intercept_scale=0)
    s.fit(model, {"school": (0.1, 0.3)}, "rich")
    assert s.privacy_report.epsilon({"school": 0.2, "rich": 0}) == pytest.approx(0.5, rel=1e-6)


def test_a_session_s_fit_is_not_sharpened_beside_its_account(tmp_path: Path) -> None:
    s = opened(tmp_path, dp.ApproxDP(9.0, 1e-4), unit=dp.Unit("id", max_rows=2))
    s.fit(dp.learn.LogisticRegression(dp.ApproxDP(1.0, 1e-7)), {"age": (18, 90)}, "rich")
    report = s.privacy_report
    for given in (report, PrivacyReport([replace(report.releases[0], row_rounding=0.0)])):
        with pytest.raises(InvalidParameter, match="can be sharpened"):
            DataDependentReport.released(given, [[9.0, 0.0], [0.0, 9.0]], dp.ApproxDP(0.1, 1e-6))


def test_a_name_that_stands_for_two_things(tmp_path: Path) -> None:
    s = opened(tmp_path, dp.PureDP(9.0))
    model = dp.learn.LogisticRegression(dp.PureDP(0.5))
    for text, weight in (("age - 54", 0.5), ("90 - age", 0.5), ("age - 54", 0.6)):
        asked = model if weight == 0.5 else dp.learn.LogisticRegression(dp.PureDP(weight))
        s.fit(asked, {"z": (-36, 72)}, "rich", table=s.table.with_columns(z=text))
    kinds = [type(release) for release in s.privacy_report.releases]
    assert kinds == [PerturbedObjective, WorstCase, PerturbedObjective]


def test_a_name_that_stands_for_a_column_of_each_of_two_tables() -> None:
    facts = {name: dp.Schema({}, nulls="drop") for name in ("visits", "purchases")}
    unit = dp.Unit("id", max_rows=2)
    s = dp.Session(dict.fromkeys(facts, people()), unit=unit, budget=dp.ZCDP(9.0), schema=facts)
    model = dp.learn.LogisticRegression(dp.ZCDP(0.01))
    for table, features in (
        ("visits", "age"),
        ("purchases", "age"),
        ("purchases", "school"),
        ("visits", "school"),
    ):
        s.fit(model, {features: FEATURES[features]}, "rich", table=s.table[table])
    kinds = [type(release) for release in s.privacy_report.releases]
    assert kinds == [
        PerturbedObjective,
        WorstCase,
        WorstCase,
        PerturbedObjective,
    ]  # "rich" is asked for of visits

    s = dp.Session(dict.fromkeys(facts, people()), unit=unit, budget=dp.ZCDP(9.0), schema=facts)
    for table, features, target in ("visits", "age", "rich"), ("purchases", "school", "rich = (school > 1)"):
        s.fit(model, {features: FEATURES[features]}, target, table=s.table[table])
    assert not any(isinstance(release, WorstCase) for release in s.privacy_report.releases)


def test_what_found_the_scale_is_told_by_its_worst_case_and_the_model_for_the_person(tmp_path: Path) -> None:
    """Given what the steps released, the rows are on a known scale: the two losses add up."""
    s = opened(tmp_path, dp.ZCDP(1.0))
    steps = [
        ("bounds", dp.learn.PrivateBounds(dp.ZCDP(0.02))),
        ("scale", dp.learn.PrivateScaler(dp.ZCDP(0.03))),
    ]
    model = dp.learn.LogisticRegression(dp.ZCDP(0.1))
    made = s.fit(Pipeline([*steps, ("model", model)]), ["age", "school"], "rich")
    bounds, scaler, fit = s.privacy_report.releases
    assert isinstance(bounds, WorstCase)
    assert isinstance(scaler, WorstCase)
    assert (bounds.loss.zcdp(), scaler.loss.zcdp()) == pytest.approx((0.02, 0.03), rel=1e-9)
    assert isinstance(fit, PerturbedObjective)
    assert fit.fields.bounds == tuple(made[0].bounds)  # those that were found
    assert fit.scale == made[-1]._plan().sigma  # of the model alone, not of what all steps cost
    likely, odd = ({**PERSON, "age": 85, "rich": rich} for rich in (1, 0))
    assert s.privacy_report.epsilon(likely) < s.privacy_report.epsilon(odd) <= s.privacy_report.worst()


def test_categories_are_asked_for_by_their_column(tmp_path: Path) -> None:
    """The row of a person is the one the fit saw: numbers between bounds, a 1 among zeros, over the root of 3."""
    table = people().assign(
        sex=lambda frame: np.where(frame.id % 2, "f", "m"), plan=lambda frame: frame.id % 3
    )
    s = dp.Session(table, unit=dp.Unit.rows(), budget=dp.ZCDP(9.0), schema=dp.Schema({}, nulls="drop"))
    features = {"age": (18, 90), "sex": ["f", "m"], "plan": dp.tables.Column(categories=(0, 1, 2))}
    for model in (
        dp.learn.LogisticRegression(dp.ZCDP(0.1)),
        dp.learn.LogisticRegression(dp.ZCDP(0.1), class_weight={0: 1, 1: 3}),
        Pipeline(
            [
                ("scale", dp.learn.PrivateScaler(dp.ZCDP(0.03))),
                ("model", dp.learn.LogisticRegression(dp.ZCDP(0.1))),
            ]
        ),
    ):
        made = s.fit(model, features, "age > 50")
        *_, fit = s.privacy_report.releases
        assert isinstance(fit, PerturbedObjective)
        person = {"age": 40, "sex": "m", "plan": 2, "age > 50": 0}
        row, label = fit.fields.taken(person, None)
        scaled = made[0].transform([[40, "m", 2]])
        np.testing.assert_allclose(
            row, np.column_stack([scaled, [fit.fields.constant]]), rtol=1e-12, atol=1e-15
        )
        assert label == [0.0]
        alone = PrivacyReport([replace(release_of(made[-1]), row_rounding=fit.row_rounding)])
        assert PrivacyReport([fit]).epsilon(person) == pytest.approx(alone.epsilon(scaled[0], 0), rel=1e-9)
        both = pd.DataFrame([person, {**person, "sex": "x"}])  # not listed: all zeros
        assert (np.asarray(fit.fields.rows(both))[1, 1:3] == 0).all()
        for lacking, match in (
            ({"sex": None}, "left out of the fit"),
            ({"sex": float("nan")}, "left out"),
            ({"sex": "M "}, "'sex' is 'M '; write it as the fit has it, 'm'"),
            ({"plan": "2"}, "'plan' is '2'; write it as the fit has it, 2"),
        ):
            with pytest.raises(InvalidParameter, match=match):
                fit.fields.rows({**person, **lacking})
    report = s.privacy_report
    again = PrivacyReport.from_json(report.to_json())
    assert again.epsilon(person) == report.epsilon(person)
    assert '"bounds"' not in PrivacyReport([fit]).to_json()  # who knows no categories cannot read it wrongly
    assert report.page().count('<option value="-1">another</option>') == 2


def test_each_of_several_targets_is_a_release_of_its_own(tmp_path: Path) -> None:
    s = opened(tmp_path, dp.ZCDP(9.0))
    model = dp.learn.LogisticRegression(dp.ZCDP(0.1))
    made = s.fit(model, FEATURES, ["rich", "age > 50"])
    first, second = s.privacy_report.releases
    for fit, (name, fitted) in zip((first, second), made.items(), strict=True):
        assert isinstance(fit, PerturbedObjective)
        assert fit.fields.target.replace('"', "") == name
        assert fit.scale == fitted[-1]._plan().sigma
    person = {**PERSON, "age > 50": 0}
    alone = [
        PrivacyReport([fit]).epsilon(person, failure=1e-3 / 2 * 6 / (math.pi * n) ** 2)
        for n, fit in enumerate((first, second), start=1)
    ]
    assert s.privacy_report.epsilon(person, failure=1e-3) == pytest.approx(sum(alone), rel=1e-12)
    assert sum(alone) < s.privacy_report.worst(failure=1e-3)


def test_several_targets_with_one_gram_matrix_have_the_worst_case_only(tmp_path: Path) -> None:
    s = opened(tmp_path, dp.ZCDP(9.0))
    model = dp.learn.LinearRegression(dp.ZCDP(0.1))
    s.fit(model, {"school": (0, 22)}, {"age": (18, 90), "id": (0, 1500)})
    (fit,) = s.privacy_report.releases
    assert isinstance(fit, WorstCase)


def test_an_expression_may_be_named_without_quotes(tmp_path: Path) -> None:
    s = opened(tmp_path, dp.PureDP(9.0))
    s.fit(dp.learn.LogisticRegression(dp.PureDP(0.5)), FEATURES, "school > 12")
    own = s.privacy_report.epsilon({**PERSON, '"school" > 12': 1})
    assert s.privacy_report.epsilon({**PERSON, "school > 12": 1}) == own
    with pytest.raises(InvalidParameter, match="a condition is 1 where it holds"):
        s.privacy_report.epsilon(PERSON)
