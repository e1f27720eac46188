"""A private model fitted to a session's table and paid from its budget.

The rows are read inside the same walls as for a table: filters and computed columns in the engine, every value
clamped to its public bounds and put on its grid, missing values by their policy, and at most `max_rows` rows of
a unit. The model's loss is for one row; what is charged, and what the fitted model's `loss_` says, is for a unit:
the loss of a group of its rows, towards the session's neighbours.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin, clone, is_classifier
from sklearn.pipeline import Pipeline

from dalenius.calculus.guarantees import Filter
from dalenius.calculus.loss import Loss
from dalenius.calculus.losses import group, pure, to_adjacency
from dalenius.core.adjacency import Adjacency
from dalenius.core.checks import shown
from dalenius.core.record import CannotBeWritten
from dalenius.errors import InvalidParameter
from dalenius.learn.models.exponential_regression import DrawnRegression
from dalenius.learn.models.public_bounds import PublicBounds
from dalenius.learn.models.search import PrivateSearch
from dalenius.learn.models.subsample_aggregate import SubsampleAggregate
from dalenius.learn.saved import mark, model_record, released_record, restore
from dalenius.session.record import answers, questions
from dalenius.tables.aggregates import sum as sum_of
from dalenius.tables.ask.query import Query, Table
from dalenius.tables.compute import exact
from dalenius.tables.compute.source import Source
from dalenius.tables.facts.unit import Unit

Columns = Mapping[str, tuple[float, float]] | Iterable[str] | str


@dataclass(frozen=True)
class Fitting:
    """What will be fitted, to which columns, and at what price: settled before any data is read.

    The bounds of a regression's target are those given, or the schema's, before the model's own.
    """

    model: Any
    query: Query
    unit: Unit
    loss: Loss

    @classmethod
    def of(
        cls,
        model: Any,
        features: Columns,
        target: Columns,
        table: Table,
        unit: Unit,
        adjacency: Adjacency,
        budget: Filter | None = None,
    ) -> Fitting:
        """Everything that can be refused is refused here. `budget` is what pays."""
        if not callable(getattr(model, "price", None)):
            raise InvalidParameter(
                f"{type(model).__name__} does not say what a fit costs; use a model of dp.learn, such as "
                "dp.learn.LogisticRegression."
            )
        single = _single(model)
        if not isinstance(single, RegressorMixin | ClassifierMixin | SubsampleAggregate):
            raise InvalidParameter(
                f"{type(single).__name__} is about one list of numbers, not about features and a target; ask the table "
                "for it: release(session.table.agg(m=dp.mean(...)), budget)."
            )
        columns, labels = _columns("features", features), _columns("target", target)
        if len(labels) != 1:
            raise InvalidParameter(f"target names {len(labels)} columns; a model has one.")
        if isinstance(single, DrawnRegression):
            single.check_columns(len(columns))
        ((label, around),) = labels.items()
        settings = single.get_params()
        if is_classifier(single):
            around = _beside(single.classes)
        elif "target_bounds" in settings:
            around = around or table.schema[label].bounds or settings["target_bounds"]
            model = clone(model)
            _single(model).set_params(target_bounds=tuple(around))
        elif "most" in settings:
            around = around or (0.0, settings["most"])
        wanted = {f"feature {n}": sum_of(text, ends) for n, (text, ends) in enumerate(columns.items())}
        query = table.agg(**wanted, target=sum_of(label, around))
        exact.check(query, unit)
        return cls(model, query, unit, of_a_unit(model.price(), unit, adjacency, budget))

    @property
    def question(self) -> str:
        """A text that identifies the fit: the same model of the same columns is the same question.

        A model with a part that cannot be recognised (a function, say) is another question every time.
        """
        try:
            model = model_record(self.model)
        except CannotBeWritten:
            model = {"kind": "like_no_other", "mark": uuid.uuid4().hex}
        return questions.of_fit(model, self.query, self.unit, self.loss.adjacency)

    def compute(self, source: Source) -> str:
        """Read, fit, and write down what is released: the coefficients and nothing else."""
        rows = exact.rows(source, self.query, self.unit)
        fitted = clone(self.model).fit(self.scale.transform(rows[:, :-1]), rows[:, -1])
        return answers.to_fit(released_record(fitted))

    def restored(self, text: str) -> Pipeline:
        """The model as it was released; it predicts from features in the user's units."""
        model = clone(self.model)
        mark(model, restore(model, answers.read_fit(text)), len(self.scale.bounds), self.loss)
        return Pipeline([("bounds", self.scale), ("model", model)])

    @property
    def scale(self) -> PublicBounds:
        """The features' public bounds as a transformer."""
        values = [dict(role)["sum"].values[0] for role in self.query.roles[:-1]]
        return PublicBounds([(value.lower, value.upper) for value in values]).fit()


def _single(model: Any) -> Any:
    """The model that is fitted in the end: a search has one inside."""
    return model.estimator if isinstance(model, PrivateSearch) else model


def of_a_unit(loss: Loss, unit: Unit, adjacency: Adjacency, budget: Filter | None = None) -> Loss:
    """The loss of all rows of a unit together, towards these neighbours: what this budget is charged.

    Where no closed form follows the neighbours in between, they are counted: by the budget's own rule where it has one
    (`Filter.group`); those of e-DP are of randomized response.
    """
    rows = 1 if unit.column is None else unit.max_rows
    if rows == 1 and loss.adjacency is adjacency:
        return loss
    steps = rows if loss.adjacency is adjacency else 2 * rows  # replacing is removing and adding
    counted = None if budget is None else budget.group(loss, steps, adjacency)
    if counted is not None:
        return counted
    if len(loss.terms_remove) > 1 and math.isfinite(loss.epsilon(0.0)):
        return group(pure(loss.epsilon(0.0), adjacency), steps)
    return to_adjacency(group(loss, rows), adjacency)


def _columns(what: str, given: Columns | object) -> dict[str, tuple[float, float] | None]:
    if isinstance(given, Mapping):
        columns: dict[str, tuple[float, float] | None] = dict(given)
    else:
        names: list[Any] = (
            [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
        )
        if not all(isinstance(name, str) for name in names):
            raise InvalidParameter(
                f"{what} is {shown(given)}; it must be a column, a list of columns, or columns with their bounds: "
                "{'age': (18, 90)}."
            )
        columns = dict.fromkeys(names)
        if len(columns) < len(names):
            raise InvalidParameter(f"{what} names a column twice.")
    if not columns:
        raise InvalidParameter(f"{what} is empty; name at least one column.")
    return columns


def _beside(classes: Any) -> tuple[float, float]:
    """Room on either side of the classes, so that any other label stays another label."""
    if not all(isinstance(label, int | float | np.integer | np.floating) for label in classes):
        raise InvalidParameter(
            f"the classes are {list(classes)!r}; a session's labels are numbers. Use a condition, which is 1 or 0: "
            "target=\"income = '>50K'\"."
        )
    return float(min(classes)) - 1, float(max(classes)) + 1
