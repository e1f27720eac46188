"""What a model costs with all the steps before it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Binarizer, Normalizer

from dalenius.calculus.loss import Loss
from dalenius.errors import InvalidParameter
from dalenius.learn.models.public_bounds import PublicBounds
from dalenius.learn.models.public_columns import PublicColumns

ROW_BY_ROW = (PublicBounds, PublicColumns, Normalizer, Binarizer)
"""Steps that keep nothing of the rows and bring each to another form by itself. By their types: what scikit-learn says
of an estimator (that it needs no fit, for one) is about something else."""


def price(model: Any) -> Loss:
    """What a fit of a model, or of a pipeline of steps and a model, will cost: the sum of what its steps cost.

    Every step is fitted to the same records, each brought to another form by what earlier steps released; the losses of
    such releases add up. Steps may be private transformers and models of `dp.learn`, public ones (`PublicBounds`,
    `PublicColumns`), and those of scikit-learn that treat every row by itself (`Normalizer`, `Binarizer`). A
    `FunctionTransformer` may look at all rows at once, and is refused: transform X before.

    Parameters
    ----------
    model : estimator
        A model of `dp.learn`, or a `sklearn.pipeline.Pipeline`.

    Returns
    -------
    Loss
        For one record added or removed, whatever the data.

    Raises
    ------
    InvalidParameter
        If a step learns from the data without a price, such as scikit-learn's StandardScaler.

    Examples
    --------
    >>> import dalenius as dp
    >>> from sklearn.pipeline import make_pipeline
    >>> steps = dp.learn.PrivateBounds(dp.ZCDP(0.01)), dp.learn.LogisticRegression(dp.ZCDP(0.1))
    >>> round(dp.learn.price(make_pipeline(*steps)).zcdp(), 6)
    0.11
    """
    return _sum(step.price() for step in _paid(model))


def loss(model: Any) -> Loss:
    """What the fit of a model, or of a pipeline of steps and a model, has cost: the sum of `loss_` of its steps.

    Parameters
    ----------
    model : estimator
        As for `price`, fitted; or what `Session.fit` returned, where it is all that was charged.

    Returns
    -------
    Loss
        Whatever the data.

    Raises
    ------
    InvalidParameter
        If a step is not fitted, or learns from the data without a price.

    Examples
    --------
    >>> import dalenius as dp
    >>> from sklearn.pipeline import make_pipeline
    >>> X, y = [[1.0], [2.0], [3.0], [9.0]] * 100, [0, 0, 1, 1] * 100
    >>> model = make_pipeline(dp.learn.PrivateBounds(dp.PureDP(1.0)), dp.learn.LogisticRegression(dp.PureDP(0.5)))
    >>> round(dp.learn.loss(model.fit(X, y)).epsilon(0.0), 6)
    1.5
    """
    steps = list(_paid(model))
    for step in steps:
        if not hasattr(step, "loss_"):
            raise InvalidParameter(
                f"this {type(step).__name__} is not fitted yet; `price` tells what it will cost."
            )
    return _sum(step.loss_ for step in steps)


def _sum(losses: Iterator[Loss]) -> Loss:
    total = None
    for one in losses:
        total = one if total is None else total + one
    return Loss.zero() if total is None else total


def _paid(model: Any) -> Iterator[Any]:
    """The steps that cost something; refused where one learns from the data for nothing."""
    if isinstance(model, Pipeline):
        for _, step in model.steps:
            yield from _paid(step)
    elif callable(getattr(model, "price", None)):
        yield model
    elif not (model is None or model == "passthrough" or type(model) in ROW_BY_ROW):
        raise InvalidParameter(
            f"{type(model).__name__} does not say what a fit costs. Use steps of dp.learn, such as PrivateBounds or "
            "PrivateScaler, or steps that treat every row by itself: Normalizer, Binarizer."
        )
