"""The most frequent categories, with their counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from dalenius.core.checks import count
from dalenius.core.habits import hinted
from dalenius.errors import QueryRefused
from dalenius.tables.aggregates.aggregate import GIVEN_LATER, Inputs, Roles, checked_text
from dalenius.tables.aggregates.call import Call
from dalenius.tables.aggregates.direct import direct
from dalenius.tables.aggregates.mode import Mode
from dalenius.tables.facts.forms import CONSTANTS, NULLS, PLAIN
from dalenius.tables.facts.schema import Constant, Nulls, categories_of, nulls_of
from dalenius.tables.measures.measure import Measure, binned
from dalenius.tables.rows.scope import Scope
from dalenius.tables.statistics.column import Column

MOST_SHOWN = 20


@dataclass(frozen=True)
class TopK(Mode):
    """The k categories with the largest noisy counts, and these counts. Role: bins, one for each category."""

    k: int = 5

    tag = "top_k"
    sql_names = ("top_k",)
    endings = tuple(
        f"_{place}{part}"
        for place in range(1, MOST_SHOWN + 1)
        for part in ("", "_n", "_n_error", "_n_low", "_n_high")
    )
    words: ClassVar = {"column": PLAIN, "categories": CONSTANTS.optional, "nulls": NULLS, "k": PLAIN}
    explanation = "a noisy count for each category, of which the largest are shown"

    def roles(self, table: Scope) -> dict[str, Measure]:
        made = super().roles(table)["fullest"].bins
        assert made is not None
        if self.k > made.size:
            raise QueryRefused(
                f"{self.what} shows {self.k} of {made.size} categories; ask for at most all of them."
            )
        return {"bins": binned(made)}

    def width(self, roles: Roles) -> int:
        return roles["bins"].size

    def estimate(self, name: str, inputs: Inputs) -> list[Column]:
        """The counts of all categories are released, so that each shown has the interval of its own noise."""
        noisy, labels = inputs["bins"], self.categories
        assert labels is not None
        order = np.argsort(-noisy.values, axis=1, kind="stable")
        rows = np.arange(len(noisy.values))
        nan = np.full(len(rows), np.nan)
        columns = []
        for place in range(self.k):
            chosen = order[:, place]
            values = np.empty(len(rows), dtype=object)
            values[:] = [labels[int(which)] for which in chosen]
            part = replace(noisy, values=noisy.values[rows, chosen])
            columns.append(Column(f"{name}_{place + 1}", values, nan, nan, nan))
            columns.append(direct(f"{name}_{place + 1}_n", part, 1.0, inputs.failure, whole=True))
        return columns

    @classmethod
    def made(cls, **parts: Any) -> TopK:
        return top_k(**parts)

    @classmethod
    def from_sql(cls, call: Call) -> TopK:
        """TOP_K(x, 5), or TOP_K(x, 5, 'first', 'second', ...) with the categories."""
        number = call.number(1)
        if not number.is_integer():
            raise QueryRefused(f"{call}: the number of categories shown is a whole one.")
        return top_k(call.text(0), int(number), call.constants(2) or None)


@hinted(GIVEN_LATER)
def top_k(
    column: str, k: int = 5, categories: Iterable[Constant] | None = None, *, nulls: Nulls | None = None
) -> TopK:
    """The k most frequent of public categories, with noisy counts, the largest first.

    Every category is counted with noise, which costs as much as a histogram of them; the k largest are shown. The
    answer has the categories in columns `name_1`, `name_2`, ..., and their counts in `name_1_n`, `name_2_n`, ...
    The largest of noisy counts tend to be somewhat too large. For one category alone `mode` is less noisy.

    Parameters
    ----------
    column : str
        A column or an expression: whole numbers, text, dates or a condition.
    k : int
        How many are shown, from 1 to 20.
    categories : iterable, optional
        The categories to choose from; where they are left out, those of the schema. Rows with another value do not
        count.
    nulls : {"drop", "never"} or impute(constant), optional
        What becomes of values that the schema's policy leaves missing. Rows without a value do not count.

    Returns
    -------
    TopK
        The aggregate, for `agg`.

    Raises
    ------
    InvalidParameter
        If `column` is not text, k is not from 1 to 20, the categories are not different constants of one type or
        `nulls` is not a policy.

    Examples
    --------
    >>> import dalenius as dp, pandas as pd
    >>> people = pd.DataFrame({"job": ["baker"] * 700 + ["smith"] * 250 + ["sailor"] * 50})
    >>> s = dp.Session(people, unit=dp.Unit.rows(), budget=dp.PureDP(2.0))
    >>> question = s.table.agg(job=dp.top_k("job", 2, ["baker", "sailor", "smith"], nulls="drop"))
    >>> answer = s.release(question, budget=dp.PureDP(1.0))
    >>> answer["job_1"].plain, answer["job_2"].plain
    (['baker'], ['smith'])
    """
    shown = count("k", k, 1)
    if shown > MOST_SHOWN:
        raise QueryRefused(
            f"top_k shows {shown} categories; at most {MOST_SHOWN} are shown. Group by them instead."
        )
    return TopK(checked_text(column, "top_k"), categories_of(categories), nulls_of(nulls, "top_k"), shown)
