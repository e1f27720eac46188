"""Reports as objects: what they take, how they add up, how they are written down."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dalenius as dp
from dalenius.adaptive import PrivacyReport
from dalenius.adaptive.personal.worst_case import WorstCase
from dalenius.errors import InvalidParameter
from tests.adaptive.personal.golden_reports import NAMES, categories, records, reports, targets

GOLDEN = [Path(__file__).parent / "golden" / f"reports-v1{more}.json" for more in ("", "-weights")]


def fitted(promise: object, rows: int = 300, **options: object) -> tuple[object, np.ndarray, np.ndarray]:
    x = np.random.default_rng(0).normal(size=(rows, 3)) / 2
    y = (x[:, 0] > 0).astype(int)
    return dp.learn.LogisticRegression(promise, **options).fit(x, y), x, y


@pytest.mark.parametrize("name", reports())
def test_golden(name: str) -> None:
    """Texts of version 1 read for ever, and say the same numbers."""
    kept = {word: told for path in GOLDEN for word, told in json.loads(path.read_text()).items()}[name]
    report = PrivacyReport.from_json(kept["text"])
    assert report == reports()[name]
    assert report.to_json() == kept["text"]
    some = {**records(5), "target": targets(name, 5)}
    np.testing.assert_allclose(report.epsilon(some), kept["one"], rtol=1e-9)
    np.testing.assert_allclose(report.epsilon(some, people=math.inf), kept["everyone"], rtol=1e-9)


def test_golden_categories() -> None:
    kept = json.loads((GOLDEN[0].parent / "reports-v1-categories.json").read_text())
    report = PrivacyReport.from_json(kept["text"])
    assert report == categories()
    assert report.to_json() == kept["text"]
    some = {"age": [40, 95], "sex": ["m", "x"], "school": [12.0, 3.0], "target": ["yes", "no"]}
    np.testing.assert_allclose(report.epsilon(pd.DataFrame(some)), kept["one"], rtol=1e-9)


@pytest.mark.parametrize("name", reports())
def test_nobody_is_above_the_worst(name: str) -> None:
    report, some = reports()[name], {**records(500), "target": targets(name, 500)}
    for people in (1, 7, math.inf):
        assert (report.epsilon(some, people=people) <= report.worst(people=people) * (1 + 1e-12)).all()
    assert (report.epsilon(some, member=False) <= report.epsilon(some, member=True) + 1e-15).all()


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '{"format":"dalenius privacy report","version":2}',
        '{"format":"dalenius privacy report","version":1}',
        "[",
        "7",
    ],
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(InvalidParameter):
        PrivacyReport.from_json(text)


def test_unknown_kinds_are_refused() -> None:
    text = reports()["logistic"].to_json().replace('"perturbed_objective"', '"something_new"')
    with pytest.raises(InvalidParameter, match="newer dalenius"):
        PrivacyReport.from_json(text)


@pytest.mark.parametrize("number", ["nan", "inf", "-1.0", "many"])
@pytest.mark.parametrize(
    "word", ["scale", "ridge", "tolerance", "row_norm", "theta", "sigma", "gram_sigma", "shift"]
)
def test_impossible_numbers_are_refused(word: str, number: str) -> None:
    """NaN would be no bound at all."""
    if (word, number) == ("theta", "-1.0"):
        return

    def spoiled(record: object) -> object:
        if isinstance(record, dict):
            return {
                k: ([number] * len(v) if k == "theta" else number) if k == word else spoiled(v)
                for k, v in record.items()
            }
        return [spoiled(part) for part in record] if isinstance(record, list) else record

    found = 0
    for report in reports().values():
        text = json.dumps(spoiled(json.loads(report.to_json())))
        if text != json.dumps(json.loads(report.to_json())):
            found += 1
            with pytest.raises(InvalidParameter):
                PrivacyReport.from_json(text)
    assert found


def test_files(tmp_path: Path) -> None:
    report = reports()["huber"]
    report.save(tmp_path / "report.json")
    assert PrivacyReport.load(tmp_path / "report.json") == report
    with pytest.raises(InvalidParameter):
        PrivacyReport.load(tmp_path / "absent.json")


def test_a_report_holds_nothing_but_what_was_released() -> None:
    """Every number in it is a coefficient, or follows from parameters alone."""
    model, x, y = fitted(dp.ApproxDP(1.0, 1e-6))
    text = model.privacy_report_.to_json()
    other = dp.learn.LogisticRegression(dp.ApproxDP(1.0, 1e-6)).fit(x[:5], 1 - y[:5])
    other.coef_, other.intercept_ = model.coef_, model.intercept_
    assert other.privacy_report_.to_json() == text


def test_a_loaded_model_has_the_same_report() -> None:
    model, x, y = fitted(dp.ApproxDP(1.0, 1e-6), row_norm=2.0, classes=(0, 1))
    again = dp.learn.from_json(dp.learn.to_json(model))
    assert again.privacy_report_ == model.privacy_report_
    assert again.privacy_report_.epsilon(x, y).shape == (300,)


def test_names_of_columns_are_taken_from_the_fit() -> None:
    pandas = pytest.importorskip("pandas")
    _, x, y = fitted(dp.ApproxDP(1.0, 1e-6))
    frame = pandas.DataFrame(x, columns=["a", "b", "c"])
    model = dp.learn.LogisticRegression(dp.ApproxDP(1.0, 1e-6)).fit(frame, y)
    report = model.privacy_report_
    person = {"c": x[0, 2], "a": x[0, 0], "b": x[0, 1], "y": y[0]}
    assert report.epsilon(person) == report.epsilon(x[0], y[0])
    np.testing.assert_array_equal(report.epsilon(frame, y), report.epsilon(x, y))
    with pytest.raises(InvalidParameter, match='no "b"'):
        report.epsilon({"a": 1.0, "y": 1})


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ([1.0, 2.0], 1),
        ([1.0, 2.0, math.nan], 1),
        ([1.0, 2.0, 3.0], 7),
        ([1.0, 2.0, 3.0], None),
        (["a"] * 3, 1),
    ],
)
def test_records_that_the_fit_left_out_are_refused(x: object, y: object) -> None:
    model, _, _ = fitted(dp.ApproxDP(1.0, 1e-6))
    with pytest.raises(InvalidParameter):
        model.privacy_report_.epsilon(x, y)


@pytest.mark.parametrize(
    "bad", [{"failure": 0.0}, {"failure": 1.0}, {"people": 0}, {"people": 1.5}, {"people": "all"}]
)
def test_statements_are_checked(bad: dict[str, object]) -> None:
    with pytest.raises(InvalidParameter):
        reports()["logistic"].worst(**bad)


def test_a_worst_case_says_nothing_about_everybody() -> None:
    report = PrivacyReport([WorstCase(dp.losses.gaussian(1.0), "a mean")])
    assert report.epsilon([1.0]) == dp.losses.gaussian(1.0).tail(5e-7)
    assert report.epsilon([1.0], people=1000) > report.epsilon([1.0])
    with pytest.raises(InvalidParameter, match="people=N"):
        report.epsilon([1.0], people=math.inf)
    always = PrivacyReport([WorstCase(dp.losses.laplace(1.0), "a count")])
    assert always.epsilon([1.0], people=math.inf) == 1.0


def test_methods_without_an_analysis_tell_the_worst_case() -> None:
    model, x, y = fitted(dp.GDP(0.5))
    assert (model.privacy_report_.epsilon(x, y) == model.loss_.tail(5e-7)).all()


def test_unfitted_models_have_no_report() -> None:
    assert not hasattr(dp.learn.LogisticRegression(dp.ApproxDP(1.0, 1e-6)), "privacy_report_")


def test_many_people_at_once() -> None:
    """100 000 people under a second of one core."""
    report, some = reports()["sharper"], {**records(100_000), "target": targets("sharper", 100_000)}
    start = time.process_time()
    found = report.epsilon(some)
    assert found.shape == (100_000,)
    assert time.process_time() - start < 1.0


def test_a_person_with_several_rows() -> None:
    """Their rows together: n times the gradient, n times the leverage at most."""
    one, three = reports()["logistic"], reports()["hinge"].releases[0]
    assert three.rows == 3
    from dataclasses import replace

    release = one.releases[0]
    some = {**records(50), "target": targets("logistic", 50)}
    several = PrivacyReport([replace(release, rows=3)]).epsilon(some)
    assert (several > one.epsilon(some)).all()
    assert (several < 9 * one.epsilon(some)).all()


def test_fields_by_name_only_need_their_own_columns() -> None:
    assert set(records(1)) == set(NAMES)


def test_a_page_does_not_ask_once_for_two_things() -> None:
    """A class is a number in the form, and must not be taken for that number by another fit."""
    x = np.random.default_rng(0).normal(size=(300, 3)) / 2
    y = np.where(x[:, 0] > 0, 5, 3)
    classes = dp.learn.LogisticRegression(dp.PureDP(1.0), classes=(3, 5)).fit(x, y).privacy_report_
    numbers = dp.learn.HuberRegression(dp.PureDP(1.0), target_bounds=(0, 9)).fit(x, y).privacy_report_
    for both in (classes + numbers, numbers + classes):
        assert both.epsilon([0.1, 0.1, 0.1], 5) > 0
        with pytest.raises(InvalidParameter, match="'y' is one of two classes"):
            both.page()
    same = dp.learn.LogisticRegression(dp.PureDP(1.0)).fit(x, y // 4).privacy_report_
    assert "<select" in (same + numbers).page()


def test_a_delta_above_its_part_of_the_failure_is_said() -> None:
    """Which release it is, and what to do; with a larger failure there is a bound, in words as in numbers."""
    loss = dp.losses.gaussian(2.0) + dp.losses.approx(0.0, 1e-5)
    report = PrivacyReport([WorstCase(dp.losses.gaussian(3.0), "first"), WorstCase(loss, "second")])
    assert report.worst() == math.inf
    assert "release 2 of 2" in report.explain()
    assert "larger failure" in report.explain()
    assert f"epsilon = {report.worst(failure=1e-3):.4g}" in report.explain(failure=1e-3)
    assert "3 people" in report.explain(failure=1e-3, people=3)
