"""A private model fitted to a session's table and paid from its budget.

The rows are read inside the same walls as for a table: filters and computed columns in the engine, every value
clamped to its public bounds and put on its grid, missing values by their policy, and at most `max_rows` rows of
a unit. The model's loss is for one row; what is charged, and what the fitted model's `loss_` says, is for a unit:
the loss of a group of its rows, towards the session's neighbours. Steps before the model that find its scale
(`scaling`) are paid with it, each for a unit: their losses add up, as each looks at the same table and at what those
before it released.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sklearn.base import clone
from sklearn.pipeline import Pipeline

from dalenius.calculus.guarantees import Filter
from dalenius.calculus.loss import Loss
from dalenius.core.adjacency import Adjacency
from dalenius.core.record import JSON, CannotBeWritten
from dalenius.errors import InvalidParameter
from dalenius.learn.models.fitted_pipeline import FittedPipeline
from dalenius.learn.models.public_bounds import PublicBounds
from dalenius.learn.models.public_columns import PublicColumns
from dalenius.learn.saved import mark, model_record, released_record, restore
from dalenius.session import scaling
from dalenius.session.aim import Aim, check_model, check_size, in_normal_form
from dalenius.session.columns import Columns, column_of, named_columns, of_a_unit
from dalenius.session.features import Features
from dalenius.session.fit_rows import FitRows, columns_of, scale_of
from dalenius.session.record import answers, questions
from dalenius.tables.ask.query import Query, Table
from dalenius.tables.compute import exact
from dalenius.tables.compute.source import Source
from dalenius.tables.facts.unit import Unit


@dataclass(frozen=True)
class Fitting:
    """What will be fitted, to which columns, and at what price: settled before any data is read."""

    aim: Aim
    query: Query
    unit: Unit
    loss: Loss
    listed: tuple[tuple[Any, ...] | None, ...]
    """Of every feature its categories, or None."""
    names: tuple[str, ...]
    """Of every feature what it is called in a frame to predict from."""
    steps: scaling.Steps = ()
    """What finds the scale of the features before the model: then `query` says which bounds are found."""

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
        steps, model = scaling.separated(model)
        check_model(model)
        columns, labels = Features.of(features, table), named_columns("target", target)
        if len(labels) != 1:
            raise InvalidParameter(f"target names {len(labels)} columns; a model has one.")
        check_size(model, columns)
        ((label, around),) = labels.items()
        aim = Aim.of(model, label, around, table)
        query = table.agg(
            **scaling.asked(steps, columns, table), target=column_of("target", aim.text, aim.ends)
        )
        scaling.check(steps, query, columns.listed)
        exact.check(query, unit)
        aim.check(query, -1)
        loss = of_a_unit(aim.model.price(), unit, adjacency, budget)
        for step in steps:
            loss = of_a_unit(step.price(), unit, adjacency, budget) + loss
        return cls(aim, query, unit, loss, columns.listed, columns.names, steps)

    @property
    def model(self) -> Any:
        """The model as it is returned, not fitted."""
        return self.aim.model

    def tried(self) -> None:
        """Refuse what only a fit would notice, whatever the rows are."""
        self.aim.tried(len(self.query.roles) - 1)

    @property
    def question(self) -> str:
        """A text that identifies the fit: the same model of the same columns is the same question."""
        model = in_normal_form(self.model)
        if self.steps:
            model = Pipeline([(str(n), step) for n, step in enumerate((*self.steps, model))])
        features = written_features(columns_of(self.query, self.listed, 1))
        return questions.of_fit(written(model), self.query, self.unit, self.loss.adjacency, features)

    def compute(self, source: Source) -> str:
        """Read, fit, and write down what is released: coefficients, bounds that were found, and nothing else."""
        if not self.steps:
            return answers.to_fit(self._released(source))
        ends = scaling.found(self.steps, self.query, self.listed, self.unit, source)
        return answers.to_fit(self.within(ends)._released(source), ends)

    def within(self, ends: Sequence[tuple[float, float]]) -> Fitting:
        """The fit of the model alone, to features between bounds that are known by now."""
        return replace(self, query=scaling.with_bounds(self.query, ends), steps=())

    def _released(self, source: Source) -> dict[str, JSON]:
        model = self.aim.fresh()
        rows = FitRows.read(
            source, self.query, self.unit, self.scale, targets=1, held=not takes_blocks(model)
        )
        return released_record(rows.fitted(model))

    def restored(self, text: str) -> Pipeline:
        """The model as it was released; it predicts from features in the user's units."""
        if self.steps:
            return self.within(answers.read_found(text, len(self.query.roles) - 1)).restored(text)
        return as_released(
            self.model, answers.read_fit(text), self.scale, len(self.query.roles) - 1, self.loss
        )

    @property
    def scale(self) -> PublicBounds | PublicColumns:
        """The features' public bounds, and categories where there are any, as a transformer."""
        return scale_of(self.query, self.listed, 1, self.names)


def takes_blocks(model: Any) -> bool:
    """Whether a fit passes over blocks of rows."""
    says = getattr(model, "takes_blocks", None)
    return says is not None and bool(says())


def written(model: Any) -> dict[str, JSON]:
    """The model in a question.

    One with a part that cannot be recognised (a function, say) is another question every time.
    """
    try:
        return model_record(model)
    except CannotBeWritten:
        return {"kind": "like_no_other", "mark": uuid.uuid4().hex}


def written_features(columns: PublicColumns) -> dict[str, JSON] | None:
    """Which sums are categories of one column, in a question; None where none are."""
    return model_record(columns) if any(columns.categories) else None


def as_released(model: Any, released: dict[str, JSON], scale: Any, columns: int, loss: Loss) -> Pipeline:
    """The public bounds, and the model with what was released in it."""
    fitted = clone(model)
    mark(fitted, restore(fitted, released), columns, loss)
    return FittedPipeline([("bounds", scale), ("model", fitted)])
