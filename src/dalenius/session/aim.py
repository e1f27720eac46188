"""One target of a fit: what is read for it, and the model as it is fitted to that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin, clone, is_classifier

from dalenius.core.quiet import quiet
from dalenius.errors import DaleniusError, InvalidParameter, QueryRefused
from dalenius.learn.data.class_weights import normal_weights
from dalenius.learn.models.bounded_regression import BoundedRegression
from dalenius.learn.models.exponential_regression import DrawnRegression
from dalenius.learn.models.linear_model import LinearModel
from dalenius.learn.models.linear_regression import LinearRegression
from dalenius.learn.models.search import PrivateSearch
from dalenius.learn.models.subsample_aggregate import SubsampleAggregate
from dalenius.session.columns import beside, check_labels
from dalenius.session.features import Ends, Features, label_code
from dalenius.session.target_facts import UNSAID, check_text, known_bounds, no_such_class, unsaid_bounds
from dalenius.tables.ask.query import Query, Table
from dalenius.tables.facts.schema import bounds_of

MOST_NUMBERS = 1 << 20
"""Coefficients of all classes and targets together."""


@dataclass(frozen=True)
class Aim:
    """model: as it is given, but for the bounds of a regression's target: those given, or the schema's, before its own.

    text, ends: the expression that is read, and its bounds. has_codes: whether it is the number of a class of text.
    """

    model: Any
    text: str
    ends: Ends
    has_codes: bool = False
    why: str = ""
    """What public facts say against it: it is refused where it is not on record."""

    @classmethod
    def of(cls, model: Any, text: str, ends: Ends, table: Table) -> Aim:
        """Everything that can be refused about one target is refused here, and by `check`."""
        one, settings = single(model), single(model).get_params()
        if is_classifier(one):
            check_text(table, text, one.classes)
            why = no_such_class(table, text, one.classes)
            if all(isinstance(name, str) for name in one.classes) and one is model:
                code = label_code(table, text, one.classes)
                return cls(model, code, beside(range(len(one.classes))), True, why)
            return cls(model, text, beside(one.classes), why=why)
        why = ""
        if "target_bounds" in settings:
            own, ends = (
                bounds_of(settings["target_bounds"], f"target {text!r}"),
                ends or known_bounds(table, text),
            )
            why = "" if ends else unsaid_bounds(table, text, own, one)
            # As they are written, which the record of a fit has.
            ends = ends or (UNSAID if own is None else tuple(settings["target_bounds"]))
            model = clone(model)
            single(model).set_params(target_bounds=tuple(ends))
        elif "most" in settings:
            ends = ends or (0.0, settings["most"])
        return cls(model, text, ends, why=why)

    def check(self, query: Query, place: int) -> None:
        """That the classes are on the grid of the target, which has this place in the question."""
        one = single(self.model)
        if is_classifier(one) and not self.has_codes:
            check_labels(query, one.classes, place)

    def tried(self, columns: int) -> None:
        """Refuse a model that cannot be fitted, before it is charged: to no rows at all, where its price does not look
        at all of its numbers."""
        if self.why:
            raise QueryRefused(self.why)
        if not isinstance(single(self.model), BoundedRegression) or isinstance(
            single(self.model), LinearModel | LinearRegression
        ):
            return
        try:
            with quiet():
                self.fresh().fit(np.zeros((0, columns)), np.zeros(0))
        except DaleniusError:
            raise
        except Exception:
            raise InvalidParameter(
                f"{type(self.model).__name__} cannot be fitted with these numbers, whatever the rows are: some are too "
                "large or too small for what it computes. Use numbers near 1."
            ) from None

    def fresh(self) -> Any:
        """The model, to be fitted to what is read."""
        return _coded(self.model) if self.has_codes else clone(self.model)


def check_model(model: Any) -> None:
    """Refuse what is not fitted to features and a target."""
    if not callable(getattr(model, "price", None)):
        instead = "a model of dp.learn, such as dp.learn.LogisticRegression"
        if hasattr(model, "refit"):
            instead = (
                "dp.learn.PrivateSearch(model, [{'row_norm': 0.5}, {'row_norm': 1.0}], dp.ApproxDP(1.0, 1e-7)), which "
                "tries several and costs what it says"
            )
        raise InvalidParameter(f"{type(model).__name__} does not say what a fit costs; use {instead}.")
    one = single(model)
    if not isinstance(one, RegressorMixin | ClassifierMixin | SubsampleAggregate):
        raise InvalidParameter(
            f"{type(one).__name__} is about one list of numbers, not about features and a target; ask the table "
            "for it: release(session.table.agg(m=dp.mean(...)), budget)."
        )
    check_classes = getattr(one, "check_classes", None)
    if check_classes is not None:
        check_classes()


def check_size(model: Any, columns: Features, targets: int = 1) -> None:
    """Refuse more features than the model can have, or a ledger keeps the coefficients of."""
    one = single(model)
    if isinstance(one, DrawnRegression):
        one.check_columns(len(columns.sums))
    classes: Sequence[Any] = one.classes if is_classifier(one) else (None,)
    if len(classes) * len(columns.sums) * targets > MOST_NUMBERS:
        each = f"{len(classes)} classes" + (f" of {targets} targets" if targets > 1 else "")
        raise InvalidParameter(
            f"{each} with {len(columns.sums)} numbers each are more coefficients than a ledger keeps, {MOST_NUMBERS}; "
            "take fewer."
        )


def single(model: Any) -> Any:
    """The model that is fitted in the end: a search has one inside."""
    return model.estimator if isinstance(model, PrivateSearch) else model


def in_normal_form(model: Any) -> Any:
    """The same model in its one spelling: weights of classes that have the same ratios are the same weights."""
    given = getattr(model, "class_weight", None)
    if given is None:
        return model
    return clone(model).set_params(class_weight=normal_weights(given, model.classes))


def _coded(model: Any) -> Any:
    """The model of the numbers of its classes, which are text."""
    codes = range(len(model.classes))
    made = clone(model).set_params(classes=tuple(codes))
    weights = normal_weights(getattr(model, "class_weight", None), model.classes)
    if weights is None:
        return made
    return made.set_params(class_weight=dict(zip(codes, weights.values(), strict=True)))
