"""A model for each of several targets, fitted to the same features of a session's table and paid by one promise.

As `session.fit`, with one pass over the table for all of them. The promise of the model is for all fits together
(`learn.models.several_targets`), and so is the `loss_` of each.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sklearn.base import clone
from sklearn.pipeline import Pipeline

from dalenius.calculus.guarantees import Filter
from dalenius.calculus.loss import Loss
from dalenius.core.adjacency import Adjacency
from dalenius.errors import InvalidParameter
from dalenius.learn.models.linear_regression import LinearRegression
from dalenius.learn.models.public_bounds import PublicBounds
from dalenius.learn.models.public_columns import PublicColumns
from dalenius.learn.models.several_targets import fit_linear, of_each
from dalenius.learn.saved import released_record
from dalenius.session.aim import Aim, check_model, check_size, in_normal_form, single
from dalenius.session.columns import Columns, column_of, named_columns, of_a_unit
from dalenius.session.features import Features
from dalenius.session.fit import as_released, takes_blocks, written, written_features
from dalenius.session.fit_rows import FitRows, columns_of, scale_of
from dalenius.session.record import answers, questions
from dalenius.tables.ask.query import Query, Table
from dalenius.tables.compute import exact
from dalenius.tables.compute.source import Source
from dalenius.tables.facts.unit import Unit

MOST_TARGETS = 100


@dataclass(frozen=True)
class FittingTargets:
    """What will be fitted, to which columns, and at what price: settled before any data is read."""

    model: Any
    """As given: its promise is for all."""
    aims: dict[str, Aim]
    """By the names of the targets: the model of each, with its part of the promise."""
    query: Query
    unit: Unit
    loss: Loss
    listed: tuple[tuple[Any, ...] | None, ...]
    names: tuple[str, ...]

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
    ) -> FittingTargets:
        """Everything that can be refused is refused here. `budget` is what pays."""
        if isinstance(model, Pipeline):
            raise InvalidParameter(
                "steps that find the scale of features are for one target; fit the targets one after another, or give "
                "the features public bounds: features={'age': (18, 90)}."
            )
        check_model(model)
        columns, labels = Features.of(features, table), named_columns("target", target)
        if len(labels) > MOST_TARGETS:
            raise InvalidParameter(f"target names {len(labels)} columns; at most {MOST_TARGETS} are allowed.")
        check_size(model, columns, len(labels))
        aims = {name: Aim.of(model, name, around, table) for name, around in labels.items()}
        wanted = {
            f"feature {n}": column_of("feature", text, ends) for n, (text, ends) in enumerate(columns.sums)
        }
        wanted |= {
            f"target {n}": column_of("target", aim.text, aim.ends) for n, aim in enumerate(aims.values())
        }
        query = table.agg(**wanted)
        exact.check(query, unit)
        for place, aim in enumerate(aims.values(), start=len(columns.sums)):
            aim.check(query, place)
        part, loss = of_each(model, len(labels))
        for name, aim in aims.items():
            mine = clone(part)
            if "target_bounds" in single(mine).get_params():
                single(mine).set_params(target_bounds=single(aim.model).target_bounds)
            aims[name] = replace(aim, model=mine)
        joint = of_a_unit(loss, unit, adjacency, budget)
        return cls(model, aims, query, unit, joint, columns.listed, columns.names)

    def tried(self) -> None:
        """Refuse what only a fit would notice, whatever the rows are."""
        for aim in self.aims.values():
            aim.tried(len(self.query.roles) - len(self.aims))

    @property
    def question(self) -> str:
        """A text that identifies the fits. The bounds of the targets are in the query, and not those of the model."""
        model = in_normal_form(self.model)
        if "target_bounds" in single(model).get_params():
            model = clone(model)
            single(model).set_params(target_bounds=(-1.0, 1.0))
        features = written_features(columns_of(self.query, self.listed, len(self.aims)))
        return questions.of_fit_targets(written(model), self.query, self.unit, self.loss.adjacency, features)

    def compute(self, source: Source) -> str:
        """Read once, fit each, and write down what is released: the coefficients and nothing else."""
        models = [aim.fresh() for aim in self.aims.values()]
        held = not all(map(takes_blocks, models))
        rows = FitRows.read(source, self.query, self.unit, self.scale, targets=len(models), held=held)
        if isinstance(self.model, LinearRegression):
            fitted: list[Any] = fit_linear(self.model, models, lambda: rows.blocks, rows.columns)
        else:
            fitted = [rows.fitted(model, n) for n, model in enumerate(models)]
        return answers.to_fit_targets([released_record(model) for model in fitted])

    def restored(self, text: str) -> dict[str, Pipeline]:
        """The models as they were released, by the names of their targets."""
        columns = len(self.query.roles) - len(self.aims)
        released = answers.read_fit_targets(text, len(self.aims))
        return {
            name: as_released(aim.model, one, self.scale, columns, self.loss)
            for (name, aim), one in zip(self.aims.items(), released, strict=True)
        }

    @property
    def scale(self) -> PublicBounds | PublicColumns:
        """The features' public bounds, and categories where there are any, as a transformer."""
        return scale_of(self.query, self.listed, len(self.aims), self.names)
