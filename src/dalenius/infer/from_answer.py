"""What a session released about a table, as a result: estimates of a population, with intervals for it."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalenius.core.arrays import Reals
from dalenius.errors import InvalidParameter
from dalenius.infer.result import Result
from dalenius.intervals.differences import subtracted

POPULATION = ("mean", "variance", "std", "covariance", "correlation", "proportion", "quantiles")
"""Aggregates that estimate something of the population the rows were drawn from; counts and sums are of the table."""


def from_answer(answer: Any, *, differences: bool = False) -> Result:
    """Means, spreads, shares, correlations and quantiles of a session's answer as one `Result`. It is free.

    The intervals are `answer.at(sampling=True)`: for the population that the rows were drawn from, with the noise.

    Parameters
    ----------
    answer
        What `Session.release` returned; counts, sums and histograms in it are left out, as they are of the table.
    differences
        Of an answer about two groups: also the first's estimates less the second's, with intervals (Zou and Donner
        2008).

    Returns
    -------
    Result
        An estimate for each of these columns and each group.

    Raises
    ------
    InvalidParameter
        If it is no answer, or estimates nothing of a population; with differences, if it has other than two groups.

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

    answer.plan.unit.check_whole("an estimate with an interval")
    groups = ["" if key == () else f"[{', '.join(map(str, key))}]" for key in answer.keys]
    if differences and len(groups) != 2:
        raise InvalidParameter.of(
            "differences", f"differences are between two groups, and the answer has {len(groups)}."
        )
    names = [f"{column.name}{group}" for column in shown for group in groups]
    if differences:
        names += [f"{column.name}{groups[0]} - {column.name}{groups[1]}" for column in shown]

    def everything(alpha: float) -> list[Reals]:
        """Estimates, errors, and both limits."""
        each = [_numbers(column) for column in _columns(answer, wanted, alpha)]
        parts = list(each)
        if differences:
            parts += [_subtracted(*([part[k : k + 1] for part in one] for k in (0, 1))) for one in each]
        return [np.concatenate(part) for part in zip(*parts, strict=True)]

    estimates, errors, _, _ = everything(0.05)
    result = Result(
        names,
        estimates,
        loss=answer.plan.loss,
        method="noisy sums of a table",
        limits=lambda alpha: np.column_stack(everything(alpha)[2:]),
        bse=errors,
    )
    return result.for_units(answer.plan.loss, answer.plan.unit.max_rows)


def _numbers(column: Any) -> list[Reals]:
    """Of all groups; what is not known has no limit."""
    low = np.where(np.isnan(column.low), -np.inf, column.low)
    return [column.estimate, column.error, low, np.where(np.isnan(column.high), np.inf, column.high)]


def _subtracted(a: list[Reals], b: list[Reals]) -> list[Reals]:
    return list(subtracted((a[0], a[1], a[2], a[3]), (b[0], b[1], b[2], b[3])))


def _columns(answer: Any, wanted: tuple[str, ...], alpha: float) -> list[Any]:
    """Those of the aggregates wanted: one of their own name, or several that begin with it."""
    columns = answer.at(1 - alpha, sampling=True).columns
    return [
        column
        for column in columns
        if column.has_interval
        and any(column.name == name or column.name.startswith(f"{name}_") for name in wanted)
    ]
