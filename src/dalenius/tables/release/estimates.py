"""Estimates, standard errors and confidence intervals from noisy measures: all post-processing."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dalenius.tables.aggregates.aggregate import Inputs
from dalenius.tables.ask.query import Query
from dalenius.tables.release.released import Released
from dalenius.tables.statistics.column import Column as Column


@dataclass(frozen=True)
class Wanted:
    """How intervals are to be made."""

    confidence: float = 0.95
    simultaneous: bool = False
    sampling: bool = False
    among: int = 0
    """How many intervals there are in all, where this is about some of them: the margins of a table."""

    def failure(self, cells: int) -> float:
        """The chance each of so many intervals may fail with."""
        return (1 - self.confidence) / (max(cells, self.among) if self.simultaneous else 1)


def columns(query: Query, released: Released, wanted: Wanted) -> list[Column]:
    """The columns of the answer to a query; those of an answer on record as they were first shown, if nothing else is
    wanted."""
    width = sum(aggregate.width(roles) for _, aggregate, roles in query.parts)
    failure = wanted.failure(max(1, width * len(released.keys)))
    shown: list[Column] = []
    for name, aggregate, roles in query.parts:
        made = aggregate.estimate(name, Inputs(roles, released, failure, wanted.sampling))
        shown += made if aggregate.limits is None else [column.within(*aggregate.limits) for column in made]
    if released.shown is None or wanted != Wanted():
        return shown
    return [
        replace(
            now,
            estimate=now.estimate if was.estimate is None else was.estimate,
            error=was.error,
            low=was.low,
            high=was.high,
        )
        for now, was in zip(shown, released.shown, strict=True)
    ]
