"""The most frequent category."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sqlglot import exp

from dalenius.core.habits import hinted
from dalenius.errors import QueryRefused
from dalenius.tables.aggregates.aggregate import GIVEN_LATER, Inputs, checked_text
from dalenius.tables.aggregates.call import Call
from dalenius.tables.aggregates.direct import Direct
from dalenius.tables.facts.forms import CONSTANTS, NULLS, PLAIN
from dalenius.tables.facts.kinds import KEYS, fits
from dalenius.tables.facts.schema import Constant, Impute, Nulls, categories_of, nulls_of
from dalenius.tables.measures.bins import equal_bins
from dalenius.tables.measures.measure import Measure, fullest
from dalenius.tables.rows.expressions import parse, written
from dalenius.tables.rows.scope import Scope
from dalenius.tables.statistics.column import Column

MOST = 256
"""So many categories are told apart, at most."""


@dataclass(frozen=True)
class Mode(Direct):
    """The category with most rows. Role: fullest, whose bins are the categories: rows with another value, or none, are
    in no bin.

    The bins are those of the expression CASE WHEN x = first THEN 0 WHEN x = second THEN 1 ... END.
    """

    column: str
    categories: tuple[Constant, ...] | None = None
    nulls: Nulls | None = None

    tag = "mode"
    sql_names = ("mode",)
    endings: ClassVar[tuple[str, ...]] = ("_short",)
    words: ClassVar = {"column": PLAIN, "categories": CONSTANTS.optional, "nulls": NULLS}
    explanation = "the category whose count with noise is largest; the error is in rows"

    @property
    def arguments(self) -> tuple[str, ...]:
        return (self.column,)

    def roles(self, table: Scope) -> dict[str, Measure]:
        listed = self._listed(table)
        position = _position(table.canonical(self.column, self.what), listed, self.nulls)
        argument = table.argument(position, (0.0, float(len(listed))), "drop", self.what)
        bins = equal_bins(argument.term, argument.text, argument.bounds, len(listed), argument.nulls)
        return {"fullest": fullest(bins, listed)}

    def normal(self, table: Scope) -> Self:
        """Of a policy, only what it imputes matters: rows without a value are in no bin."""
        nulls: Nulls = self.nulls if isinstance(self.nulls, Impute) else "drop"
        text = table.canonical(self.column, self.what)
        return replace(self, column=text, categories=self._listed(table), nulls=nulls)

    def _listed(self, table: Scope) -> tuple[Constant, ...]:
        """The categories, once it is known that the column can hold them."""
        kind = table.declared(self.column, self.nulls, self.what).kind
        listed = self.categories or table.categories(self.column, self.what)
        if listed is None:
            raise QueryRefused(
                f"{self.what} needs categories: they must be public. Give categories=[...], or state them in the "
                "schema."
            )
        if len(listed) > MOST:
            raise QueryRefused(f"{self.what} has {len(listed)} categories; at most {MOST} are allowed.")
        wanted = [*listed, *([self.nulls.value] if isinstance(self.nulls, Impute) else [])]
        wrong = [value for value in wanted if kind is None or kind not in KEYS or not fits(value, kind)]
        if wrong:
            raise QueryRefused(
                f"{self.what} has the category {wrong[0]!r}, and the values are of type {kind}; categories are whole "
                "numbers, text, dates, or True and False, as the column has them."
            )
        return listed

    def estimate(self, name: str, inputs: Inputs) -> list[Column]:
        """The category, and how many rows it may have less than the most frequent one, but for this chance."""
        chosen, labels = inputs["fullest"], inputs.roles["fullest"].labels
        values = np.empty(len(chosen.values), dtype=object)
        values[:] = [labels[int(k)] for k in chosen.values]
        nan = np.full(len(values), np.nan)
        short = np.full(len(values), float(math.floor(chosen.law.reach(inputs.failure)[1])))
        return [Column(name, values, nan, nan, nan), Column(f"{name}_short", short, nan, nan, nan)]

    @classmethod
    def made(cls, **parts: Any) -> Mode:
        return mode(**parts)

    @classmethod
    def from_sql(cls, call: Call) -> Mode:
        """MODE(x), or MODE(x, 'first', 'second', ...) with the categories."""
        return mode(call.text(0), call.constants(1) or None)


def _position(text: str, listed: tuple[Constant, ...], nulls: Nulls | None) -> str:
    """The expression for the place of a value among the categories; null for one that is not among them."""
    value: Any = exp.Paren(this=parse(text))
    if isinstance(nulls, Impute):
        value = exp.Coalesce(this=value, expressions=[_literal(nulls.value)])
    branches = [
        exp.If(this=exp.EQ(this=value.copy(), expression=_literal(one)), true=exp.Literal.number(k))
        for k, one in enumerate(listed)
    ]
    return written(exp.Case(ifs=branches))


def _literal(value: Constant) -> Any:
    if isinstance(value, datetime.date):
        return exp.cast(exp.Literal.string(value.isoformat()), "date")
    return exp.convert(value)


@hinted(GIVEN_LATER)
def mode(column: str, categories: Iterable[Constant] | None = None, *, nulls: Nulls | None = None) -> Mode:
    """The most frequent of public categories, chosen by the largest noisy count.

    Nothing but the category leaves, so that it costs as much as one count however many categories there are. The
    answer has the category in column `name`, and in `name_short` a number of rows: the category chosen has at most so
    many rows less than the most frequent one, with the confidence of the answer. Which mechanism chooses, and what it
    costs, is in `dalenius.tables.plan.noises`.

    Parameters
    ----------
    column : str
        A column or an expression: whole numbers, text, dates or a condition.
    categories : iterable, optional
        The categories to choose from; where they are left out, those of the schema. Rows with another value do not
        count.
    nulls : {"drop", "never"} or impute(constant), optional
        What becomes of values that the schema's policy leaves missing. Rows without a value do not count.

    Returns
    -------
    Mode
        The aggregate, for `agg`.

    Raises
    ------
    InvalidParameter
        If `column` is not text, the categories are not different constants of one type or `nulls` is not a policy.

    Examples
    --------
    >>> import dalenius as dp, pandas as pd
    >>> people = pd.DataFrame({"town": ["Lund"] * 900 + ["Umea"] * 100})
    >>> s = dp.Session(people, unit=dp.Unit.rows(), budget=dp.PureDP(2.0))
    >>> question = s.table.agg(most=dp.mode("town", ["Lund", "Umea"], nulls="drop"))
    >>> s.release(question, budget=dp.PureDP(1.0)).to_dict()
    {'most': ['Lund'], 'most_short': [2.0]}
    """
    return Mode(checked_text(column, "mode"), categories_of(categories), nulls_of(nulls, "mode"))
