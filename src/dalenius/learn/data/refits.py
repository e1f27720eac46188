"""A fit inside another estimator's fit: refused, or counted.

scikit-learn's searches, ensembles, cross-validation and one-against-the-rest fit an estimator many times on the same
records and show one of the models. Its `loss_` is what one fit cost, and nobody adds the others.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextvars import ContextVar, Token
from types import CodeType, FrameType
from typing import Any, TypeVar

from dalenius.calculus.loss import Loss
from dalenius.errors import InvalidParameter

ONCE = ("sklearn.base", "sklearn.pipeline", "sklearn.utils")
"""Modules of scikit-learn that fit what they are given once, and its own tests of estimators."""
REPEATS_ROWS = "sklearn.ensemble"
"""Bootstrap samples hold a row several times: not even the sum of all losses would cover that."""

_open: ContextVar[Refits | None] = ContextVar("refits", default=None)
_paying: set[CodeType] = set()
Method = TypeVar("Method", bound=Callable[..., Any])


class Refits:
    """Inside `with Refits() as refits`, scikit-learn may fit private models many times; `refits.loss` is the sum.

    Attributes
    ----------
    losses
        What each fit so far cost.
    loss
        Their sum.

    Examples
    --------
    >>> import numpy as np, dalenius as dp
    >>> from sklearn.model_selection import cross_val_score
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2)) / 2; y = (X[:, 0] > 0).astype(int)
    >>> with dp.learn.Refits() as refits:
    ...     scores = cross_val_score(dp.learn.LogisticRegression(dp.ZCDP(0.1)), X, y, cv=5)
    >>> len(scores), round(refits.loss.zcdp(), 3)
    (5, 0.5)
    """

    def __init__(self) -> None:
        self.losses: list[Loss] = []
        self._before: list[Token[Refits | None]] = []

    def __enter__(self) -> Refits:
        self._before.append(_open.set(self))
        return self

    def __exit__(self, *problem: object) -> None:
        _open.reset(self._before.pop())

    @property
    def loss(self) -> Loss:
        """What all fits so far cost together."""
        return sum(self.losses[1:], self.losses[0]) if self.losses else Loss.zero()


def pays_for_all(fit: Method) -> Method:
    """Marks the `fit` of an estimator whose own loss covers every fit that it asks for."""
    _paying.add(fit.__code__)
    return fit


def alone(model: Any) -> None:
    """Refuse (or count) a fit that another estimator asked for; the caller's module tells, never the data."""
    asked = _asked_by(sys._getframe(1), model)
    if asked is None:
        return
    refits = _open.get()
    if refits is None or asked.startswith(REPEATS_ROWS):
        raise InvalidParameter(
            f"{asked} fits {type(model).__name__} several times, and loss_ would be the cost of one fit. To choose "
            "parameters use dp.learn.PrivateSearch; for more than two classes dp.learn.MultinomialRegression or "
            "dp.learn.OneVsRest; or count all fits: with dp.learn.Refits() as refits: ... (not for ensembles, which "
            "repeat rows, and not in other processes or threads: n_jobs=None)."
        )
    refits.losses.append(model.price())


def _asked_by(frame: FrameType | None, model: Any) -> str | None:
    """The module of scikit-learn that is in the middle of fits of its own, if any."""
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if frame.f_code in _paying and frame.f_locals.get("self") is not model:
            return None
        if name.startswith("sklearn.") and not name.startswith(ONCE):
            return name
        frame = frame.f_back
    return None
