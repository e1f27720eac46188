"""What a pipeline costs: the sum of its steps, and no step for nothing."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler

import dalenius as dp
from dalenius.errors import InvalidParameter

MODEL = dp.learn.LogisticRegression(dp.PureDP(0.5))


def test_the_sum_of_the_steps() -> None:
    steps = dp.learn.PrivateBounds(dp.PureDP(1.0)), dp.learn.PrivateScaler(dp.PureDP(0.25)), MODEL
    made = make_pipeline(*steps)
    assert dp.learn.price(made).epsilon(0.0) == pytest.approx(1.75)
    with pytest.raises(InvalidParameter, match="not fitted"):
        dp.learn.loss(made)
    made.fit(np.zeros((5, 2)), [0, 1, 0, 1, 0])
    assert dp.learn.loss(made).epsilon(0.0) == pytest.approx(1.75)
    assert dp.learn.price(MODEL) == MODEL.price()


def test_steps_that_learn_nothing_are_free() -> None:
    public = dp.learn.PublicBounds([(0, 1)])
    made = make_pipeline("passthrough", Normalizer(), public, MODEL)
    assert dp.learn.price(made) == MODEL.price()
    assert dp.learn.price(make_pipeline(public)).epsilon(0.0) == 0.0


@pytest.mark.parametrize(
    "step",
    [
        StandardScaler(),
        make_pipeline(StandardScaler()),
        FunctionTransformer(lambda x: x - x.mean(0)),  # which looks at all rows
        GaussianProcessRegressor(),  # which keeps all rows, and says that it needs no fit
        object(),
        5,
    ],
)
def test_steps_that_learn_for_nothing_are_refused(step: object) -> None:
    with pytest.raises(InvalidParameter, match="what a fit costs"):
        dp.learn.price(make_pipeline("passthrough", MODEL).set_params(steps=[("a", step), ("b", MODEL)]))
