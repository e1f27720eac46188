"""A mean, a share, a quantile and the like, with an interval, of a session's table and paid from its budget.

The rows are those that a fit sees (`session.fit`), read in blocks: once for every look that the estimate takes at them,
a number of times that is public. Categories are coded by the engine.

Values come on the grid of a sum, of some 2^48 steps between their bounds; whole numbers stay what they are. Estimates
have a grid of 2^21 steps of their own, whose rounding is in their intervals with a tenth more, so a step here of at
most 2^-24 of the bounds' width (half of it being 1/16 of theirs) is in there, too. Where bounds are found, or a limit
is an edge of a bin, half a step is added to the limits (`Stream.half_step`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from dalenius.calculus.guarantees import Filter
from dalenius.calculus.loss import Loss
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.arrays import Reals
from dalenius.core.record import JSON
from dalenius.errors import InvalidParameter
from dalenius.infer.columns import OUTCOMES, Categories, Column
from dalenius.infer.estimates.settings.difference import DifferenceOfMeans
from dalenius.infer.estimates.settings.estimate import Estimate, TableRows
from dalenius.infer.result import Result
from dalenius.session.columns import Columns, column_of, name_of, named_columns, of_a_unit
from dalenius.session.inference import check_rows_are_public
from dalenius.session.record import answers, questions
from dalenius.session.record.estimators import estimator_record
from dalenius.session.testing import summed
from dalenius.tables.ask.query import Query, Table
from dalenius.tables.compute import exact
from dalenius.tables.compute.source import Source
from dalenius.tables.facts.unit import Unit
from dalenius.tables.measures.gridding import Value

FINE = 2**24
"""A step is at most so small a part of the bounds' width."""

Ends = tuple[float, float] | None


@dataclass(frozen=True)
class Estimation:
    """What will be estimated, of which columns, and at what price: settled before any data is read."""

    estimate: Estimate
    record: Mapping[str, JSON]
    query: Query
    names: tuple[str, ...]
    unit: Unit
    loss: Loss

    @classmethod
    def of(
        cls,
        estimate: Estimate,
        features: Columns,
        target: Columns | None,
        table: Table,
        unit: Unit,
        adjacency: Adjacency,
        budget: Filter | None = None,
    ) -> Estimation:
        """Everything that can be refused is refused here. `budget` is what pays."""
        unit.check_whole("an estimate with an interval")
        estimator_record(estimate)
        given = named_columns("features", features) | (
            {} if target is None else named_columns("target", target)
        )
        if len(given) != len(estimate.columns):
            wanted = (
                "one column" if len(estimate.columns) == 1 else "a feature and a target, different columns"
            )
            raise InvalidParameter(f"the {estimate.what} is about {wanted}.")
        if estimate.adjacency is not ADD_REMOVE:
            if isinstance(estimate, DifferenceOfMeans):
                raise InvalidParameter(
                    "a difference of means with adjacency=REPLACE_ONE takes the numbers of rows of both samples to be "
                    "public, and here a record can be in either. Leave its adjacency out: the session pays for its "
                    "own neighbours either way."
                )
            check_rows_are_public(table, unit, adjacency)
        wanted_bounds = [
            _bounds(estimate, column, text, ends, table)
            for column, (text, ends) in zip(estimate.columns, given.items(), strict=True)
        ]
        estimate = estimate.told(wanted_bounds)
        query = table.agg(
            **{
                f"column {n}": column_of(
                    "column", *summed(table, column, text, _outward(table, text, ends, estimate.what)), text
                )
                for n, (column, text, ends) in enumerate(
                    zip(estimate.columns, given, wanted_bounds, strict=True)
                )
            }
        )
        exact.check(query, unit)
        names = tuple(map(name_of, given))
        loss = of_a_unit(estimate.loss, unit, adjacency, budget)
        made = cls(estimate, estimator_record(estimate), query, names, unit, loss)
        for value in _values(query):
            if not value.exact and value.granularity * FINE > value.upper - value.lower:
                raise InvalidParameter(
                    f"the bounds of {value.text!r} are too far from zero for their width; subtract a constant from it."
                )
        made._released(lambda: ())  # on no rows at all: what cannot be is refused before the charge
        return made

    @property
    def question(self) -> str:
        """A text that identifies the estimate: the same settings and the same columns are the same question."""
        return questions.of_inference(self.record, self.query, self.unit, self.loss.adjacency)

    def compute(self, source: Source) -> str:
        """Read, estimate, and write down the result and nothing else."""
        return answers.to_inference(self._released(lambda: exact.blocks(source, self.query, self.unit)))

    def restored(self, text: str) -> Result:
        """The result as it was released, with the loss of a unit."""
        return answers.read_inference(text).for_units(self.loss, self.unit.max_rows)

    def _released(self, read: Callable[[], Iterable[Reals]]) -> Result:
        moved = [0.0 if value.exact else float(value.granularity) / 2 for value in _values(self.query)]
        return self.estimate.release_from(TableRows(read, self.names, moved))


def _values(query: Query) -> list[Value]:
    return [dict(role)["sum"].values[0] for role in query.roles]


def _bounds(estimate: Estimate, column: Column, text: str, ends: Ends, table: Table) -> Ends:
    """Those to read a column with: the estimate's own, or else the column's."""
    if isinstance(column, Categories):
        return None
    if column.bounds is None:
        return ends or table.scope().argument(text, None, None, f"the {estimate.what}").bounds
    if ends is not None and column is not OUTCOMES and tuple(map(float, ends)) != column.bounds:
        raise InvalidParameter(
            f"the {estimate.what} says where values lie, and {text!r} comes with other bounds; give one of them."
        )
    return column.bounds


def _outward(table: Table, text: str, ends: Ends, what: str) -> Ends:
    """Bounds of whole numbers as whole numbers: the estimate clamps values itself, and none is rounded."""
    if ends is None or not all(map(math.isfinite, ends)):
        return ends
    term = table.scope().argument(text, ends, None, f"the {what}").term
    return (float(math.floor(ends[0])), float(math.ceil(ends[1]))) if term.kind == "integer" else ends
