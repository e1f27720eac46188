"""The number of units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from dalenius.core.habits import hinted
from dalenius.errors import QueryRefused
from dalenius.tables.aggregates.aggregate import GIVEN_LATER, Inputs
from dalenius.tables.aggregates.call import Call
from dalenius.tables.aggregates.direct import Direct, direct
from dalenius.tables.facts.forms import Form
from dalenius.tables.measures.measure import Measure, units
from dalenius.tables.rows.scope import Scope
from dalenius.tables.statistics.column import Column


@dataclass(frozen=True)
class CountDistinct(Direct):
    """The distinct units with a row in the group. Role: units."""

    tag = "count_distinct"
    sql_names = ("count_distinct", "count distinct")
    arguments = ()
    words: ClassVar[dict[str, Form]] = {}
    explanation = "a noisy count of units"

    def roles(self, table: Scope) -> dict[str, Measure]:
        return {"units": units()}

    def normal(self, table: Scope) -> Self:
        return self

    def estimate(self, name: str, inputs: Inputs) -> list[Column]:
        return [direct(name, inputs["units"], 1.0, inputs.failure, whole=True)]

    @classmethod
    def made(cls, **parts: Any) -> Self:
        return cls(**parts)

    @classmethod
    def from_sql(cls, call: Call) -> Self:
        """COUNT_DISTINCT(), or COUNT(DISTINCT id) of the unit's id: of all its columns, where there are several."""
        if call.name == "count_distinct":
            call.at_most(0)
        elif not call.unit or call.column_names != [*call.unit]:
            of = (
                f"COUNT(DISTINCT {', '.join(call.unit)})"
                if call.unit
                else "the distinct units, which here are the rows: COUNT(*)"
            )
            raise QueryRefused(
                f"{call} is refused: distinct values can only be counted of the unit's id: {of}."
            )
        return cls()


@hinted(
    GIVEN_LATER,
    more="it counts units, by the id of the session's unit; other distinct values may each be one person's. How many "
    "rows have each of some public values: group_by(column, keys=[...])",
)
def count_distinct() -> CountDistinct:
    """The number of distinct units (persons, say) with a row in each group.

    Returns
    -------
    CountDistinct
        The aggregate, for `agg`.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.count_distinct()
    CountDistinct()
    """
    return CountDistinct()
