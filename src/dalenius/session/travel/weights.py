"""How long a model takes beside an ordinary question, from its public parameters: what a slot is multiplied by.

It only has to be of the right order: a slot is chosen with room to spare, and an overrun leaves at the next boundary.

    a fit                   8 x columns x work of the model
    an inference            4 x columns x work of the estimator

    columns                 1, and 1 more for every 32 features
    work of a model         max(1, classes - 1) x max(1, steps / 100) of its descent; 1 for all others
    of a search             so many tries as are expected, of the candidate that takes longest
    of parts                as many as there are parts / 10: each sees its own rows only
"""

from __future__ import annotations

from collections.abc import Sized
from numbers import Real
from typing import Any

FIT, INFERENCE = 8.0, 4.0
COLUMNS, STEPS, PARTS = 32, 100, 10


def weight(model: Any, columns: int, base: float) -> float:
    """The weight of a model of so many columns.

    >>> import dalenius as dp
    >>> sgd = dp.learn.Descent(steps=1000, rate=0.05)
    >>> weight(dp.learn.LogisticRegression(dp.GDP(1.0), method=sgd), 3, FIT)
    80.0
    """
    return base * (1 + columns // COLUMNS) * max(1.0, _work(model))


def _work(model: Any) -> float:
    if hasattr(model, "steps") and isinstance(model.steps, list):  # a pipeline: public bounds, and a model
        return _work(model.steps[-1][1])
    classes = getattr(model, "classes", None)
    own = max(1.0, (len(classes) if isinstance(classes, Sized) else 0) - 1.0)
    own *= max(1.0, _number(getattr(getattr(model, "method", None), "steps", None)) / STEPS)
    own *= max(1.0, _number(getattr(model, "parts", None)) / PARTS)
    inner = getattr(model, "estimator", None)
    if inner is None:
        return own
    longest = max(map(_work, _candidates(inner, getattr(model, "candidates", None))))
    return own * longest * max(1.0, _tries(getattr(model, "tries", None)))


def _candidates(estimator: Any, candidates: Any) -> list[Any]:
    """The estimator with each of the listed parameters in the place of its own."""
    from copy import copy

    made = [estimator]
    for given in candidates if isinstance(candidates, list | tuple) else ():
        one = copy(estimator)
        vars(one).update(given if isinstance(given, dict) else {})
        made.append(one)
    return made


def _tries(tries: Any) -> float:
    return max(_number(getattr(tries, word, None)) for word in ("number", "mean"))


def _number(value: object) -> float:
    return float(value) if isinstance(value, Real) else 0.0
