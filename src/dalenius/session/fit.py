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

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin, clone, is_classifier
from sklearn.pipeline import Pipeline

from dalenius.calculus.guarantees import Filter
from dalenius.calculus.loss import Loss
from dalenius.core.adjacency import Adjacency
from dalenius.core.record import CannotBeWritten
from dalenius.errors import InvalidParameter
from dalenius.infer.on_tables.spool import Spool
from dalenius.learn.data.class_weights import normal_weights
from dalenius.learn.models.exponential_regression import DrawnRegression
from dalenius.learn.models.public_bounds import PublicBounds
from dalenius.learn.models.public_columns import PublicColumns
from dalenius.learn.models.search import PrivateSearch
from dalenius.learn.models.subsample_aggregate import SubsampleAggregate
from dalenius.learn.saved import mark, model_record, released_record, restore
from dalenius.session.columns import Columns, beside, check_labels, named_columns, of_a_unit
from dalenius.session.features import Features, label_code
from dalenius.session.record import answers, questions
from dalenius.tables.aggregates import sum as sum_of
from dalenius.tables.ask.query import Query, Table
from dalenius.tables.compute import exact
from dalenius.tables.compute.source import Source
from dalenius.tables.facts.unit import Unit

IN_MEMORY = 1 << 24
"""Numbers (128 MB of them) that a fit holds in memory; more are kept in a temporary file and read block by block."""
MOST_NUMBERS = 1 << 20
"""Coefficients of all classes together."""


@dataclass(frozen=True)
class Fitting:
    """What will be fitted, to which columns, and at what price: settled before any data is read.

    The bounds of a regression's target are those given, or the schema's, before the model's own.
    """

    model: Any
    query: Query
    unit: Unit
    loss: Loss
    listed: tuple[tuple[Any, ...] | None, ...]
    """Of every feature its categories, or None."""
    has_codes: bool = False
    """Whether the target is the number of its class, which is text."""

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
        columns, labels = Features.of(features, table), named_columns("target", target)
        if len(labels) != 1:
            raise InvalidParameter(f"target names {len(labels)} columns; a model has one.")
        if isinstance(single, DrawnRegression):
            single.check_columns(len(columns.sums))
        ((label, around),) = labels.items()
        settings, has_codes = single.get_params(), False
        if is_classifier(single):
            check_classes = getattr(single, "check_classes", None)
            if check_classes is not None:
                check_classes()
            if len(single.classes) * len(columns.sums) > MOST_NUMBERS:
                raise InvalidParameter(
                    f"{len(single.classes)} classes with {len(columns.sums)} numbers each are more coefficients than a "
                    f"ledger keeps, {MOST_NUMBERS}; take fewer."
                )
            if all(isinstance(name, str) for name in single.classes) and single is model:
                label, around, has_codes = (
                    label_code(table, label, single.classes),
                    beside(range(len(single.classes))),
                    True,
                )
            else:
                around = beside(single.classes)
        elif "target_bounds" in settings:
            around = around or table.schema[label].bounds or settings["target_bounds"]
            model = clone(model)
            _single(model).set_params(target_bounds=tuple(around))
        elif "most" in settings:
            around = around or (0.0, settings["most"])
        wanted = {f"feature {n}": sum_of(text, ends) for n, (text, ends) in enumerate(columns.sums)}
        query = table.agg(**wanted, target=sum_of(label, around))
        exact.check(query, unit)
        if is_classifier(single) and not has_codes:
            check_labels(query, single.classes)
        loss = of_a_unit(model.price(), unit, adjacency, budget)
        return cls(model, query, unit, loss, columns.listed, has_codes)

    @property
    def question(self) -> str:
        """A text that identifies the fit: the same model of the same columns is the same question.

        A model with a part that cannot be recognised (a function, say) is another question every time.
        """
        try:
            model = model_record(in_normal_form(self.model))
        except CannotBeWritten:
            model = {"kind": "like_no_other", "mark": uuid.uuid4().hex}
        features = None if isinstance(self.scale, PublicBounds) else model_record(self.scale)
        return questions.of_fit(model, self.query, self.unit, self.loss.adjacency, features)

    def compute(self, source: Source) -> str:
        """Read, fit, and write down what is released: the coefficients and nothing else."""
        model = coded(self.model) if self.has_codes else clone(self.model)
        takes_blocks = getattr(model, "takes_blocks", None)
        if takes_blocks is not None and takes_blocks():
            fitted = self._fitted_in_blocks(model, source)
        else:
            rows = exact.rows(source, self.query, self.unit)
            fitted = model.fit(self._scaled(rows[:, :-1]), rows[:, -1])
        return answers.to_fit(released_record(fitted))

    def _fitted_in_blocks(self, model: Any, source: Source) -> Any:
        """From memory where the rows fit into a moderate part of it; else they are kept in a file, and passed over."""
        held: list[Any] = []
        spool, columns, numbers = None, len(self.query.roles) - 1, 0
        for block in exact.blocks(source, self.query, self.unit):
            numbers += block.size
            pair = self._scaled(block[:, :-1]), block[:, -1]
            if spool is None and numbers > IN_MEMORY:
                spool = Spool()
                for each in held:
                    spool.add(*each)
                held = []
            if spool is None:
                held.append(pair)
            else:
                spool.add(*pair)
        if spool is not None:
            kept = spool
            return model.fit_blocks(lambda: ((x, y) for x, y in kept), columns)
        features = np.concatenate([np.empty((0, columns)), *(x for x, _ in held)])
        labels = np.concatenate([np.empty(0), *(y for _, y in held)])
        held.clear()
        return model.fit(features, labels)

    def restored(self, text: str) -> Pipeline:
        """The model as it was released; it predicts from features in the user's units."""
        model, columns = clone(self.model), len(self.query.roles) - 1
        mark(model, restore(model, answers.read_fit(text)), columns, self.loss)
        return Pipeline([("bounds", self.scale), ("model", model)])

    @property
    def scale(self) -> PublicBounds | PublicColumns:
        """The features' public bounds, and categories where there are any, as a transformer."""
        values = [dict(role)["sum"].values[0] for role in self.query.roles[:-1]]
        ends = [(value.lower, value.upper) for value in values]
        if not any(self.listed):
            return PublicBounds(ends).fit()
        given, bounds = iter(ends), []
        for categories in self.listed:
            here = [next(given) for _ in categories or [None]]
            bounds.append(None if categories else here[0])
        return PublicColumns(bounds, self.listed).fit()

    def _scaled(self, rows: Any) -> Any:
        """Rows as the engine gives them, a number for every category, on the scale of the model."""
        scale = self.scale
        return scale.transform(rows) if isinstance(scale, PublicBounds) else scale.scaled(rows)


def coded(model: Any) -> Any:
    """The model of the numbers of its classes, which are text."""
    codes = range(len(model.classes))
    made = clone(model).set_params(classes=tuple(codes))
    weights = normal_weights(getattr(model, "class_weight", None), model.classes)
    return (
        made
        if weights is None
        else made.set_params(class_weight=dict(zip(codes, weights.values(), strict=True)))
    )


def in_normal_form(model: Any) -> Any:
    """The same model in its one spelling: weights of classes that have the same ratios are the same weights."""
    given = getattr(model, "class_weight", None)
    return (
        model if given is None else clone(model).set_params(class_weight=normal_weights(given, model.classes))
    )


def _single(model: Any) -> Any:
    """The model that is fitted in the end: a search has one inside."""
    return model.estimator if isinstance(model, PrivateSearch) else model
