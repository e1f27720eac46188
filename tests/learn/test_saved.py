"""Models as text: read back they tell the same numbers, and what was written once is read for ever."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import Pipeline

import dalenius as dp
from dalenius import learn
from dalenius.errors import InvalidParameter
from dalenius.learn.saved import WORDS, tag_of
from tests.learn.golden_models import GDP, HERE, LABELS, X, Y, fitted, numbers

VERSIONS = (
    "models-v1",
    "models-v1-adaptive",
    "models-v1-classes",
    "models-v1-scaling",
    "models-v1-weights",
)


@pytest.fixture(scope="module")
def models() -> dict[str, Any]:
    return fitted()


def test_what_is_read_is_what_was_written(models: dict[str, Any], tmp_path: Path) -> None:
    for name, model in models.items():
        again = learn.from_json(learn.to_json(model))
        assert numbers(again) == numbers(model), name
        assert learn.to_json(again) == learn.to_json(model), name
        if not isinstance(model, Pipeline):
            assert type(again) is type(model)
            assert again.loss_ == model.loss_
    learn.save(models["search"], tmp_path / "search.json")
    again = learn.load(tmp_path / "search.json")
    assert again.best_params_ == models["search"].best_params_
    assert again.best_estimator_.guarantee == models["search"].best_estimator_.guarantee
    assert np.array_equal(again.predict_proba(X), models["search"].predict_proba(X))
    assert again.score(X, LABELS) == models["search"].score(X, LABELS)


def test_weights_of_classes_are_kept_and_written_where_there_are_any(models: dict[str, Any]) -> None:
    assert learn.from_json(learn.to_json(models["logistic, weights"])).class_weight == {0: 1, 1: 2.5}
    assert learn.from_json(learn.to_json(models["multinomial, weights"])).class_weight == {"b": 4}
    assert "class_weight" not in learn.to_json(models["logistic"])


@pytest.mark.parametrize("version", VERSIONS)
def test_golden(version: str) -> None:
    """Predictions and bounds are computed anew: on another machine their last digits may differ."""
    told = json.loads((HERE / f"{version}.json").read_text())
    for name, kept in told.items():
        found = numbers(learn.from_json(kept["text"]))
        assert set(found) == set(kept["numbers"]), name
        for word, values in kept["numbers"].items():
            if word in ("predicted", "epsilon") and values[0] not in ("yes", "no", "a", "b", "c"):
                assert np.allclose(np.float64(found[word]), np.float64(values), rtol=1e-9), (name, word)
            else:
                assert found[word] == values, (name, word)


def test_every_model_is_there(models: dict[str, Any]) -> None:
    parts = {
        "public_bounds",
        "public_columns",
        "descent",
        "fixed_tries",
        "geometric_tries",
        "negative_binomial_tries",
        "poisson_tries",
    }
    assert {tag_of(model) for model in models.values()} - {None} == set(WORDS) - parts


def test_a_student_is_saved_by_its_own_tools() -> None:
    model = learn.PATEClassifier(LinearRegression(), dp.ApproxDP(1.0, 1e-5), classes=(0, 1))
    model.student_, model.loss_ = LinearRegression(), model.price()
    with pytest.raises(InvalidParameter, match="labels_"):
        learn.to_json(model)


def test_a_model_of_a_session_is_saved(tmp_path: Path) -> None:
    people = {"age": np.arange(18, 90), "pay": np.arange(72)}
    session = dp.Session(
        people, unit=dp.Unit.rows(), budget=dp.ApproxDP(2.0, 1e-5), schema=dp.Schema(nulls="never")
    )
    made = session.fit(learn.LogisticRegression(dp.GDP(0.3)), {"age": (18, 90)}, "pay >= 36")
    learn.save(made, tmp_path / "model.json")
    again = learn.load(tmp_path / "model.json")
    assert np.array_equal(again.predict_proba([[20], [90]]), made.predict_proba([[20], [90]]))
    assert again[-1].loss_ == made[-1].loss_


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: learn.LogisticRegression(GDP), "not fitted yet"),
        (lambda: LinearRegression().fit(X, Y), "not a model of dp.learn"),
        (lambda: Pipeline([("model", LinearRegression())]), "as Session.fit returns it"),
        (
            lambda: learn.SubsampleAggregate(
                LinearRegression(), GDP, size=1, bound=1.0, parts=5, extract=lambda m: m.coef_[:1]
            ).fit(X, Y),
            "cannot be written down",
        ),
        (lambda: 5, "not a model of dp.learn"),
    ],
)
def test_what_cannot_be_saved(make: Any, message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        learn.to_json(make())


def _with_names(text: str, **more: Any) -> str:
    return json.dumps({**json.loads(text), "names": ["a"], **more}, separators=(",", ":"))


def test_what_cannot_be_read(models: dict[str, Any], tmp_path: Path) -> None:
    text = learn.to_json(models["linear"])
    for changed, message in (
        (text.replace('"version":1}', '"version":2}'), "install a newer dalenius"),
        (text.replace("linear_regression", "forest"), "'forest'.*install a newer dalenius"),
        (text.replace('"coefficients"', '"weights"'), "'weights'.*install a newer dalenius"),
        (text.replace('"shape"', '"form"'), "not written as we write them"),
        (text.replace('"row_norm"', '"norm"'), "not written as we write them"),
        ("{}", "not a dalenius model"),
        (_with_names(learn.to_json(models["exponential mean"])), "not written as we write them"),
        (_with_names(text, features={"kind": "descent", "parameters": {}}), "not written as we write them"),
    ):
        assert changed != text
        with pytest.raises(InvalidParameter, match=message):
            learn.from_json(changed)
    evil = learn.to_json(models["aggregate"]).replace(
        "sklearn.linear_model._base.LinearRegression", "os.system"
    )
    with pytest.raises(InvalidParameter, match="only those of scikit-learn"):
        learn.from_json(evil)
    with pytest.raises(InvalidParameter, match="no saved model"):
        learn.load(tmp_path / "nothing.json")
    with pytest.raises(InvalidParameter, match="cannot be written"):
        learn.save(models["linear"], tmp_path / "no" / "folder.json")


def test_a_frame_is_read_by_the_names_of_its_columns() -> None:
    """In any order, beside other columns, from a model that was saved; a column that lacks is named."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"a": rng.uniform(0, 1, 2000), "b": rng.uniform(0, 9, 2000), "town": "x"})
    rows["y"] = (rows["a"] > 0.5).astype(int)
    s = dp.Session(rows, unit=dp.Unit.rows(), budget=dp.ZCDP(1.0), schema=dp.Schema(nulls="drop"))
    made = s.fit(dp.learn.LogisticRegression(dp.ZCDP(0.5)), {"a": (0, 1), "b": (0, 9)}, "y")
    wanted = made.predict_proba(rows[["a", "b"]].to_numpy())
    for model in (made, dp.learn.from_json(dp.learn.to_json(made))):
        for given in (rows, rows[["b", "a"]], rows[["a", "b"]]):
            assert (model.predict_proba(given) == wanted).all()
        with pytest.raises(InvalidParameter, match=r"no column 'b'.*'a', 'b'"):
            model.predict(rows[["a", "town"]])


def test_a_model_of_a_frame_knows_its_columns_when_it_was_saved() -> None:
    rows = pd.DataFrame({"a": np.linspace(-1, 1, 500), "b": np.linspace(1, -1, 500)})
    y = (rows["a"] > 0).astype(int)
    steps = [
        ("bounds", dp.learn.PrivateBounds(dp.ZCDP(0.1))),
        ("model", dp.learn.LogisticRegression(dp.ZCDP(0.1))),
    ]
    for model in (dp.learn.LogisticRegression(dp.ZCDP(0.1)), Pipeline(steps)):
        again = dp.learn.from_json(dp.learn.to_json(model.fit(rows, y)))
        assert (again.predict(rows) == model.predict(rows)).all()
        with pytest.raises(ValueError, match="feature names should match"):
            again.predict(rows[["b", "a"]])
