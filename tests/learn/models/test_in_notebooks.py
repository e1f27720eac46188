"""What a notebook shows of models: promise, cost and coefficients above scikit-learn's diagram."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn

import dalenius as dp
from dalenius.learn.models.in_notebooks import InNotebooks

RNG = np.random.default_rng(3)
X, Y = RNG.uniform(-1, 1, (200, 3)), RNG.integers(0, 2, 200)


def facts(shown: str) -> dict[str, str]:
    found = re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", shown.partition("</table>")[0])
    return dict(zip(found[::2], found[1::2], strict=True))


def test_a_model_that_is_not_fitted() -> None:
    shown = dp.learn.LogisticRegression(dp.ApproxDP(1.0, 1e-5))._repr_html_()
    assert facts(shown) == {
        "model": "LogisticRegression",
        "promise": "ApproxDP(epsilon=1.0, delta=1e-05)",
        "fitted": "not yet; price() is what a fit costs",
    }


def test_a_fitted_model_shows_what_it_cost() -> None:
    model = dp.learn.LogisticRegression(dp.ApproxDP(1.0, 1e-5)).fit(X, Y)
    shown = model._repr_html_()
    told = facts(shown)
    assert told["fitted"] == "3 coefficients and an intercept"
    assert model.loss_.epsilon(1e-5) <= float(told["epsilon at delta 1e-05"].removeprefix("at most ")) < 1.01
    assert "sk-top-container" in shown  # scikit-learn's own
    other = dp.learn.LogisticRegression(dp.ApproxDP(1.0, 1e-7)).fit(X, Y)
    assert float(facts(other._repr_html_())["epsilon at delta 1e-07"].removeprefix("at most ")) < 1.01
    assert model._repr_mimebundle_()["text/html"].startswith('<table class="dalenius">')
    alone = dp.learn.LogisticRegression(dp.ApproxDP(1.0, 1e-5), intercept_scale=0.0).fit(X, Y)
    assert facts(alone._repr_html_())["fitted"] == "3 coefficients"


def test_what_a_session_fitted_shows_the_model() -> None:
    """Its bill, before and after it was kept, above the diagram of both steps."""
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    s = dp.Session(frame, unit=dp.Unit.rows(), budget=dp.ZCDP(1.0), schema=dp.Schema(nulls="drop"))
    fitted = s.fit(dp.learn.LogisticRegression(dp.ZCDP(0.1)), {"a": (-1, 1), "b": (-1, 1)}, "c > 0")
    for one in (fitted, dp.learn.from_json(dp.learn.to_json(fitted)), sklearn.clone(fitted)):
        assert facts(one._repr_html_())["model"] == "LogisticRegression"
        assert {"sk-top-container", "PublicBounds"} <= set(re.findall(r"[\w-]+", one._repr_html_()))
    assert facts(fitted._repr_html_())["fitted"] == "2 coefficients and an intercept"


def test_where_diagrams_are_off_there_is_text_only() -> None:
    with sklearn.config_context(display="text"):
        model = dp.learn.LogisticRegression(dp.PureDP(1.0))
        assert not hasattr(model, "_repr_html_")
        assert [*model._repr_mimebundle_()] == ["text/plain"]


@pytest.mark.parametrize(
    "model",
    [
        dp.learn.ExponentialMean(dp.PureDP(1.0), bounds=(-1, 1)).fit(X[:, 0]),
        dp.learn.LinearRegression(dp.GDP(1.0), target_bounds=(0, 1)).fit(X, Y),
        dp.learn.MultinomialRegression(dp.ZCDP(0.5), classes=(0, 1)).fit(X, Y),
    ],
    ids=lambda model: type(model).__name__,
)
def test_other_models(model: Any) -> None:
    assert facts(model._repr_html_())["model"] == type(model).__name__
    assert "epsilon at delta 1e-05" in facts(model._repr_html_())


def test_every_model_with_a_promise_is_shown() -> None:
    for name in dir(dp.learn):
        kind = getattr(dp.learn, name)
        if isinstance(kind, type) and hasattr(kind, "get_params") and hasattr(kind, "price"):
            assert issubclass(kind, InNotebooks), name


def test_names_are_text() -> None:
    shown = dp.learn.ExponentialMean("<b>")._repr_html_()  # type: ignore[arg-type]
    assert "<b>" not in shown.partition("</table>")[0]
