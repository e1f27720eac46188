"""An estimate with intervals from a session's table, paid from its budget.

The rows are those that a fit sees (`session.fit`): filters and computed columns in the engine, every value clamped to
its public bounds, missing values by their policy, at most `max_rows` rows of a unit. No step holds more than a few
blocks of them in memory, and from a server or a cluster nothing but sums comes back (`infer.on_tables`).

What is charged, and what the result's `loss` says, is for a unit, towards the session's neighbours. Rows of one unit
may be alike. The square of a sum of m scores is at most m times the sum of their squares: so where a unit may have m
rows, variances are taken m times, which is enough however alike they are, and more than enough where they are not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dalenius.calculus.guarantees import Filter
from dalenius.calculus.loss import Loss
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.record import JSON
from dalenius.errors import InvalidParameter
from dalenius.infer.on_tables.block_source import BlockSource
from dalenius.infer.on_tables.table_source import table_source
from dalenius.infer.regression.settings import Regression
from dalenius.infer.result import Result
from dalenius.session.columns import Columns, beside, column_of, name_of, named_columns, of_a_unit
from dalenius.session.features import Features
from dalenius.session.record import answers, questions
from dalenius.session.record.estimators import estimator_record
from dalenius.tables.aggregates import count
from dalenius.tables.ask.query import Query, Table
from dalenius.tables.compute import exact
from dalenius.tables.compute.source import Source
from dalenius.tables.facts.unit import Unit
from dalenius.tables.rows.steps import Filter as FilterStep
from dalenius.tables.rows.steps import Join


@dataclass(frozen=True)
class Inference:
    """What will be estimated, of which columns, and at what price: settled before any data is read."""

    estimator: Regression
    record: Mapping[str, JSON]
    query: Query
    unit: Unit
    loss: Loss

    @classmethod
    def of(
        cls,
        estimator: Regression,
        features: Columns,
        target: Columns,
        table: Table,
        unit: Unit,
        adjacency: Adjacency,
        budget: Filter | None = None,
    ) -> Inference:
        """Everything that can be refused is refused here. `budget` is what pays."""
        unit.check_whole("a regression with intervals")
        record = estimator_record(estimator)
        columns, table = Features.of(features, table).contrasts(table)
        labels = named_columns("target", target)
        if len(labels) != 1:
            raise InvalidParameter(f"target names {len(labels)} columns; a regression has one.")
        ((label, around),) = labels.items()
        wanted = {f"feature {n}": column_of("feature", text, ends) for n, (text, ends) in enumerate(columns)}
        query = table.agg(**wanted, target=column_of("target", label, _around(estimator, around)))
        exact.check(query, unit)
        if estimator.adjacency is not ADD_REMOVE:
            check_rows_are_public(table, unit, adjacency)
        made = cls(estimator, record, query, unit, of_a_unit(estimator.loss, unit, adjacency, budget))
        # On no rows at all: settings that do not fit the columns are refused before the charge.
        made.informed.release_from(BlockSource(len(columns), lambda: ()), made.names, 0)
        return made

    @property
    def question(self) -> str:
        """A text that identifies the inference: the same settings and the same columns are the same question."""
        return questions.of_inference(self.record, self.query, self.unit, self.loss.adjacency)

    @property
    def names(self) -> list[str]:
        """Of the features, as they are written."""
        return [name_of(value.text) for value in self._values[:-1]]

    @property
    def informed(self) -> Regression:
        """The estimator, told the public bounds of the columns where it was not told any."""
        *features, target = [(value.lower, value.upper) for value in self._values]
        return self.estimator.informed(features, target)

    def compute(self, source: Source) -> str:
        """Read, estimate, and write down the result and nothing else."""
        rows = None
        if self.estimator.adjacency is not ADD_REMOVE:
            everybody = self.query.table.agg(n=count())
            ((rows,),) = exact.evaluate(source, everybody, self.unit).values.values()
        from_table = table_source(source, self.query, self.unit, self.estimator.response_levels)
        return answers.to_inference(self.informed.release_from(from_table, self.names, rows))

    def restored(self, text: str) -> Result:
        """The result as it was released, with the loss of a unit."""
        return answers.read_inference(text).for_units(self.loss, self.unit.max_rows)

    @property
    def _values(self) -> list[Any]:
        return [dict(role)["sum"].values[0] for role in self.query.roles]


def _around(estimator: Regression, around: tuple[float, float] | None) -> tuple[float, float] | None:
    """Where the responses lie; None for what the schema says."""
    if estimator.response_levels is not None:
        return beside(estimator.response_levels)
    return around or estimator.response_bounds


def check_rows_are_public(table: Table, unit: Unit, adjacency: Adjacency) -> None:
    """With replace-one, the number of rows is public only if every unit has one row, and all rows count."""
    left_out = [
        step
        for step in table.steps
        if isinstance(step, FilterStep) or (isinstance(step, Join) and step.how == "inner")
    ]
    if adjacency is ADD_REMOVE or unit.column is not None or left_out:
        raise InvalidParameter(
            "an estimator with adjacency=REPLACE_ONE takes the number of rows to be public. It is so in a session with "
            "adjacency=REPLACE_ONE and Unit.rows(), of all rows of its table. Leave the estimator's adjacency out: the "
            "session pays for its own neighbours either way."
        )
