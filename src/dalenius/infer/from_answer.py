"""What a session released about a table, as a result: estimates of a population, with intervals for it."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalenius.core.arrays import Reals
from dalenius.errors import InvalidParameter
from dalenius.infer.result import Result

POPULATION = ("mean", "variance", "std", "covariance", "correlation", "proportion", "quantiles")
"""Aggregates that estimate something of the population the rows were drawn from; counts and sums are of the table."""


def from_answer(answer: Any) -> Result:
    """Means, spreads, shares, correlations and quantiles of a session's answer as one `Result`. It is free.

    The intervals are `answer.at(sampling=True)`: for the population that the rows were drawn from, with the noise.

    Parameters
    ----------
    answer
        What `Session.release` returned; counts, sums and histograms in it are left out, as they are of the table.

    Returns
    -------
    Result
        An estimate for each of these columns and each group.

    Raises
    ------
    InvalidParameter
        If it is no answer, or estimates nothing of a population.

    Examples
    --------
    >>> import dalenius as dp, pandas as pd
    >>> s = dp.Session(pd.DataFrame({"age": [20, 30, 40] * 500}), unit=dp.Unit.rows(), budget=dp.GDP(1.0))
    >>> a = s.release(s.table.agg(n=dp.count(), m=dp.mean("age", bounds=(0, 100))), dp.GDP(0.5))
    >>> dp.infer.from_answer(a).names
    ('m',)
    """
    query = getattr(getattr(answer, "plan", None), "query", None)
    if query is None:
        raise InvalidParameter(
            f"a {type(answer).__name__} is no answer of a session; give what session.release returned."
        )
    wanted = tuple(name for name, aggregate, _ in query.parts if aggregate.tag in POPULATION)
    shown = _columns(answer, wanted, 0.05)
    if not shown or not len(answer):
        raise InvalidParameter(
            f"nothing in the answer estimates a population; ask for one of: {', '.join(POPULATION)}."
        )

    def limits(alpha: float) -> Reals:
        ends = _columns(answer, wanted, alpha)
        low, high = (np.concatenate([getattr(column, end) for column in ends]) for end in ("low", "high"))
        return np.column_stack(
            (np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high))
        )

    groups = ["" if key == () else f"[{', '.join(map(str, key))}]" for key in answer.keys]
    result = Result(
        [f"{column.name}{group}" for column in shown for group in groups],
        np.concatenate([column.estimate for column in shown]),
        loss=answer.plan.loss,
        method="noisy sums of a table",
        limits=limits,
        bse=np.concatenate([column.error for column in shown]),
    )
    return result.for_units(answer.plan.loss, answer.plan.unit.max_rows)


def _columns(answer: Any, wanted: tuple[str, ...], alpha: float) -> list[Any]:
    """Those of the aggregates wanted: one of their own name, or several that begin with it."""
    columns = answer.at(1 - alpha, sampling=True).columns
    return [
        column
        for column in columns
        if column.has_interval
        and any(column.name == name or column.name.startswith(f"{name}_") for name in wanted)
    ]
