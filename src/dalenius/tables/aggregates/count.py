"""The number of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from dalenius.core.habits import hinted
from dalenius.errors import QueryRefused
from dalenius.tables.aggregates.aggregate import GIVEN_LATER, Inputs, checked_text
from dalenius.tables.aggregates.call import Call
from dalenius.tables.aggregates.direct import Direct, direct
from dalenius.tables.facts.forms import NULLS, PLAIN
from dalenius.tables.facts.schema import Nulls, nulls_of
from dalenius.tables.measures.measure import Measure
from dalenius.tables.measures.measure import count as rows
from dalenius.tables.rows.scope import Scope
from dalenius.tables.statistics.column import Column


@dataclass(frozen=True)
class Count(Direct):
    """Rows, or rows that have a value. Role: count."""

    column: str | None = None
    nulls: Nulls | None = None

    tag = "count"
    sql_names = ("count",)
    words: ClassVar = {"column": PLAIN, "nulls": NULLS}
    explanation = "a noisy count"

    @property
    def arguments(self) -> tuple[str, ...]:
        return () if self.column is None else (self.column,)

    def roles(self, table: Scope) -> dict[str, Measure]:
        return {"count": rows(*self._given(table))}

    def normal(self, table: Scope) -> Self:
        """Of all rows where no row can lack a value."""
        given = self._given(table)
        return (
            replace(self, column=given[0], nulls="drop") if given else replace(self, column=None, nulls=None)
        )

    def _given(self, table: Scope) -> tuple[str, ...]:
        return () if self.column is None else table.present(self.column, self.nulls, self.what)

    def estimate(self, name: str, inputs: Inputs) -> list[Column]:
        return [direct(name, inputs["count"], 1.0, inputs.failure, whole=True)]

    @classmethod
    def made(cls, **parts: Any) -> Count:
        return count(**parts)

    @classmethod
    def from_sql(cls, call: Call) -> Count:
        if len(call.arguments) > 1:
            raise QueryRefused(f"{call}: COUNT takes one argument.")
        return count(call.text(0) if call.arguments else None)


@hinted(GIVEN_LATER)
def count(column: str | None = None, *, nulls: Nulls | None = None) -> Count:
    """The number of rows in each group; of rows where `column` is not missing, if given.

    Parameters
    ----------
    column : str, optional
        A column or an expression; rows that lack its value do not count.
    nulls : {"drop", "never"} or impute(constant), optional
        What becomes of missing values of `column`; where it is left out, what the schema says.

    Returns
    -------
    Count
        The aggregate, for `agg`.

    Raises
    ------
    InvalidParameter
        If `column` is not text or `nulls` is not a policy.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.count(), dp.count("income")
    (Count(column=None, nulls=None), Count(column='income', nulls=None))
    """
    return Count(None if column is None else checked_text(column, "count"), nulls_of(nulls, "count"))
