"""The share of rows for which a condition holds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from dalenius.core.habits import hinted
from dalenius.errors import QueryRefused
from dalenius.tables.aggregates.aggregate import GIVEN_LATER, Aggregate, Inputs, checked_text, on_grid
from dalenius.tables.aggregates.call import Call
from dalenius.tables.aggregates.mean import mean_column
from dalenius.tables.facts.forms import NULLS, PLAIN
from dalenius.tables.facts.schema import Nulls, nulls_of
from dalenius.tables.measures.measure import Measure, centred_sum, needed
from dalenius.tables.measures.measure import count as rows
from dalenius.tables.rows.scope import Argument, Scope
from dalenius.tables.statistics.column import Column


@dataclass(frozen=True)
class Proportion(Aggregate):
    """The mean of a condition. Roles: count, sum (of 0 and 1, from one half)."""

    condition: str
    nulls: Nulls | None = None

    tag = "proportion"
    sql_names = ("proportion",)
    words: ClassVar = {"condition": PLAIN, "nulls": NULLS}
    explanation = "a noisy sum over a noisy count"

    @property
    def arguments(self) -> tuple[str, ...]:
        return (self.condition,)

    def roles(self, table: Scope) -> dict[str, Measure]:
        value = on_grid(self._argument(table))
        return {"count": rows(*needed(value)), "sum": centred_sum(value)}

    def normal(self, table: Scope) -> Self:
        argument = self._argument(table)
        return replace(self, condition=argument.text, nulls=argument.nulls)

    def _argument(self, table: Scope) -> Argument:
        argument = table.argument(self.condition, (0.0, 1.0), self.nulls, self.what)
        if not argument.condition:
            raise QueryRefused(f"{self.what} needs a condition, like proportion('age >= 65').")
        return argument

    def estimate(self, name: str, inputs: Inputs) -> list[Column]:
        return [mean_column(name, inputs)]

    @classmethod
    def made(cls, **parts: Any) -> Proportion:
        return proportion(**parts)

    @classmethod
    def from_sql(cls, call: Call) -> Proportion:
        return proportion(call.at_most(1).text(0))


@hinted(GIVEN_LATER, more="it takes one condition, as text: proportion(\"sex = 'f'\")")
def proportion(condition: str, *, nulls: Nulls | None = None) -> Proportion:
    """The share of rows for which a condition holds.

    Parameters
    ----------
    condition : str
        A condition in the language of expressions.
    nulls : {"drop", "never"} or impute(True or False), optional
        What becomes of rows for which it is neither true nor false; where it is left out, what the schema says of the
        columns in it.

    Returns
    -------
    Proportion
        The aggregate, for `agg`.

    Raises
    ------
    InvalidParameter
        If `condition` is not text or `nulls` is not a policy.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.proportion("age >= 65")
    Proportion(condition='age >= 65', nulls=None)
    """
    return Proportion(checked_text(condition, "proportion"), nulls_of(nulls, "proportion"))
