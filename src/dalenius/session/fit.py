"""A private model fitted to a session's table and paid from its budget.

The rows are read inside the same walls as for a table: filters and computed columns in the engine, every value
clamped to its public bounds and put on its grid, missing values by their policy, and at most `max_rows` rows of
a unit. The model's loss is for one row; what is charged, and what the fitted model's `loss_` says, is for a unit:
the loss of a group of its rows, towards the session's neighbours.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from sklearn.base import ClassifierMixin, RegressorMixin, clone, is_classifier
from sklearn.pipeline import Pipeline

from dalenius.calculus.guarantees import Filter
from dalenius.calculus.loss import Loss
from dalenius.core.adjacency import Adjacency
from dalenius.core.record import CannotBeWritten
from dalenius.errors import InvalidParameter
from dalenius.learn.models.exponential_regression import DrawnRegression
from dalenius.learn.models.public_bounds import PublicBounds
from dalenius.learn.models.search import PrivateSearch
from dalenius.learn.models.subsample_aggregate import SubsampleAggregate
from dalenius.learn.saved import mark, model_record, released_record, restore
from dalenius.session.columns import Columns, beside, named_columns, of_a_unit
from dalenius.session.record import answers, questions
from dalenius.tables.aggregates import sum as sum_of
from dalenius.tables.ask.query import Query, Table
from dalenius.tables.compute import exact
from dalenius.tables.compute.source import Source
from dalenius.tables.facts.unit import Unit


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
        columns, labels = named_columns("features", features), named_columns("target", target)
        if len(labels) != 1:
            raise InvalidParameter(f"target names {len(labels)} columns; a model has one.")
        if isinstance(single, DrawnRegression):
            single.check_columns(len(columns))
        ((label, around),) = labels.items()
        settings = single.get_params()
        if is_classifier(single):
            around = beside(single.classes)
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
