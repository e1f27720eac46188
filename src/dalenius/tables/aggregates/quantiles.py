"""Quantiles of a column, all from one look at the data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from dalenius.core.checks import count, positive, shown
from dalenius.core.decimals import told_apart
from dalenius.core.habits import hinted
from dalenius.errors import InvalidParameter
from dalenius.tables.aggregates.adaptive_quantile import AdaptiveQuantile
from dalenius.tables.aggregates.aggregate import (
    GIVEN_LATER,
    Bounds,
    Inputs,
    Roles,
    checked_text,
    numbers,
)
from dalenius.tables.aggregates.call import Call
from dalenius.tables.aggregates.of_one import OfOneColumn
from dalenius.tables.aggregates.one_quantile import OneQuantile
from dalenius.tables.aggregates.proposed_quantile import ProposedQuantile
from dalenius.tables.aggregates.smooth_quantile import SmoothQuantile
from dalenius.tables.facts.forms import NULLS, NUMBERS, PLAIN
from dalenius.tables.facts.schema import Nulls
from dalenius.tables.measures.bins import fine_bins
from dalenius.tables.measures.measure import Measure, binned
from dalenius.tables.rows.scope import Scope
from dalenius.tables.statistics.column import Column
from dalenius.tables.statistics.ranks import quantile as quantile_of

QUANTILE_BINS = 2**14
"""Quantiles are read from at most so many bins, unless asked otherwise."""


@dataclass(frozen=True)
class Quantiles(OfOneColumn):
    """Any set of quantiles, from fine bins. Role: bins."""

    levels: tuple[float, ...] = (0.5,)
    bins: int = QUANTILE_BINS

    tag = "quantiles"
    sql_names = ("median", "quantile", "percentile_cont", "percentile_disc")
    priced = False
    words: ClassVar = {"column": PLAIN, "levels": NUMBERS, "bounds": NUMBERS, "nulls": NULLS, "bins": PLAIN}
    explanation = "from noisy counts of fine bins, at several resolutions"

    @property
    def ranks(self) -> tuple[float, ...]:
        return self.levels

    @property
    def what(self) -> str:
        if len(self.levels) > 1:
            return super().what
        return f"{'median' if self.levels == (0.5,) else 'quantile'}({self.column!r})"

    def roles(self, table: Scope) -> dict[str, Measure]:
        argument = self.argument(table)
        bins = fine_bins(argument.term, argument.text, argument.bounds, self.bins, argument.nulls)
        return {"bins": binned(bins)}

    @property
    def limits(self) -> Bounds | None:
        """The bounds, which the outer bins may pass."""
        return self.bounds

    def width(self, roles: Roles) -> int:
        return len(self.levels)

    def estimate(self, name: str, inputs: Inputs) -> list[Column]:
        ranks, bins = inputs.released.ranks[inputs.roles["bins"], self.levels], inputs.roles["bins"].bins
        assert bins is not None
        columns = []
        for k, (level, label) in enumerate(zip(self.levels, self._labels(name), strict=True)):
            columns.append(
                Column(label, *quantile_of(ranks, bins, k, level, inputs.failure, inputs.sampling))
            )
        return columns

    def _labels(self, name: str) -> list[str]:
        """What the columns are called."""
        return [name] if len(self.levels) == 1 else [f"{name}_{text}" for text in told_apart(self.levels)]

    @classmethod
    def made(cls, **parts: Any) -> Quantiles:
        return quantiles(**{"levels": (0.5,), **parts})

    @classmethod
    def from_sql(cls, call: Call) -> Quantiles:
        """MEDIAN(x), QUANTILE(x, level) or PERCENTILE_CONT(level) WITHIN GROUP (ORDER BY x)."""
        if call.order is not None:
            level = call.number(0)
            return quantiles(call.order.text, [1 - level if call.order.descending else level])
        if call.name == "median":
            return quantiles(call.text(0), [0.5], call.bounds(1))
        return quantiles(call.text(0), [call.number(1)], call.bounds(2))


@hinted(GIVEN_LATER, levels="[0.25, 0.5, 0.75], for instance")
def quantiles(
    column: str,
    levels: Iterable[float],
    bounds: Iterable[float] | None = None,
    *,
    nulls: Nulls | None = None,
    bins: int = QUANTILE_BINS,
) -> Quantiles:
    """Any set of quantiles of a column, all from one look at the data.

    Parameters
    ----------
    column : str
        A column or an expression.
    levels : iterable of float
        Increasing numbers above 0 and below 1. Several levels make columns `name_0.25`, `name_0.5`, ...
    bounds : pair of float, optional
        (lower, upper); where they are left out, those of the schema. Values beyond are clamped.
    nulls : {"drop", "never"} or impute(constant), optional
        What becomes of missing values; where it is left out, what the schema says.
    bins : int, optional
        Quantiles are read from at most so many bins of equal width.

    Returns
    -------
    Quantiles
        The aggregate, for `agg`.

    Raises
    ------
    InvalidParameter
        If `column` is not text, the levels are not increasing numbers between 0 and 1, the bounds are not increasing
        numbers or `nulls` is not a policy.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.quantiles("income", [0.25, 0.5, 0.75], (0, 250_000)).levels
    (0.25, 0.5, 0.75)
    """
    column = checked_text(column, "quantiles")
    instead = f"; for one use quantile({column!r}, 0.5)"
    made = numbers("a quantile's level", levels, f"quantiles({column!r})", instead)
    if not made:
        raise InvalidParameter(f"quantiles({column!r}) has no levels; give some, like [0.25, 0.5, 0.75].")
    for level in made:
        if not 0 < level < 1:
            percent = f" For {level:g} % it is {level / 100:g}." if 1 < level < 100 else ""
            raise InvalidParameter(
                f"a quantile's level is {level:g}; it must be above 0 and below 1; for the ends use bounds(...)."
                + percent
            )
    if list(made) != sorted(set(made)):
        raise InvalidParameter("the levels of quantiles must increase.")
    return Quantiles.of(column, bounds, nulls, levels=made, bins=count("the number of bins", bins, 2))


Way = Literal["rank", "smooth", "propose"]

WAYS: Mapping[str, type[OneQuantile]] = {
    kind.way: kind for kind in (AdaptiveQuantile, SmoothQuantile, ProposedQuantile)
}
"""What `adaptive` may be."""


def adaptive_quantile(
    column: str,
    level: float,
    bounds: Iterable[float] | None = None,
    *,
    nulls: Nulls | None = None,
    bins: int = QUANTILE_BINS,
    way: str = AdaptiveQuantile.way,
    sensitivity: float | None = None,
) -> OneQuantile:
    """What `quantile` and `median` make with `adaptive`, checked as `quantiles` is."""
    made = quantiles(column, [level], bounds, nulls=nulls, bins=bins)
    given = (made.column, made.bounds, made.nulls, made.levels[0], made.bins)
    if WAYS[way] is ProposedQuantile:
        if sensitivity is None:
            raise InvalidParameter.of(
                "sensitivity",
                "adaptive='propose' needs a proposal, sensitivity=...: how far one unit moves it at most, in units of "
                "the column.",
            )
        return ProposedQuantile(*given, positive("sensitivity", sensitivity))
    _without_proposal(sensitivity)
    return WAYS[way](*given)


def _without_proposal(sensitivity: object) -> None:
    if sensitivity is not None:
        raise InvalidParameter.of(
            "sensitivity",
            f"sensitivity is {shown(sensitivity)}; it is for adaptive='propose' alone, leave it out.",
        )


def _way(adaptive: object) -> str | None:
    """None where the quantile is read from noisy counts of all bins."""
    if isinstance(adaptive, str) and adaptive in WAYS:
        return adaptive
    if not isinstance(adaptive, bool):
        raise InvalidParameter.of(
            "adaptive",
            f"adaptive is {shown(adaptive)}; it must be True, False, {', '.join(map(repr, WAYS))}.",
        )
    return AdaptiveQuantile.way if adaptive else None


@hinted(GIVEN_LATER, level="0.9, for instance")
def quantile(
    column: str,
    level: float,
    bounds: Iterable[float] | None = None,
    *,
    nulls: Nulls | None = None,
    bins: int = QUANTILE_BINS,
    adaptive: bool | Way = False,
    sensitivity: float | None = None,
) -> Quantiles | OneQuantile:
    """One quantile of a column.

    Parameters
    ----------
    column : str
        A column or an expression.
    level : float
        A number above 0 and below 1.
    bounds : pair of float, optional
        (lower, upper); where they are left out, those of the schema. Values beyond are clamped.
    nulls : {"drop", "never"} or impute(constant), optional
        What becomes of missing values; where it is left out, what the schema says.
    bins : int, optional
        The quantile is read from at most so many bins of equal width.
    adaptive : bool or {"rank", "smooth", "propose"}, optional
        Whether nothing but the quantile leaves, and how. "rank", or True: its bin is drawn by rank; more accurate,
        above all where the bounds are wide, and without an interval; `name_off` is how many rows the rank may be off.
        "smooth": with noise in proportion to its smooth sensitivity, and without an interval. "propose": with noise for
        the `sensitivity` proposed, if a private test finds that the data bear it; `name_outcome` is released or
        refused. It needs an ApproxDP budget. docs/smooth-sensitivity.md says which is best when.
    sensitivity : float, optional
        With adaptive="propose": how far one unit moves the quantile at most, as proposed without looking at the data.

    Returns
    -------
    Quantiles or OneQuantile
        The aggregate, for `agg`.

    Raises
    ------
    InvalidParameter
        As `quantiles` does, if `adaptive` is none of these, or if a proposal is missing or too much.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.quantile("income", 0.9, (0, 250_000)).levels
    (0.9,)
    """
    way = _way(adaptive)
    if way is not None:
        return adaptive_quantile(
            column, level, bounds, nulls=nulls, bins=bins, way=way, sensitivity=sensitivity
        )
    _without_proposal(sensitivity)
    return quantiles(column, [level], bounds, nulls=nulls, bins=bins)


@hinted(GIVEN_LATER)
def median(
    column: str,
    bounds: Iterable[float] | None = None,
    *,
    nulls: Nulls | None = None,
    bins: int = QUANTILE_BINS,
    adaptive: bool | Way = False,
    sensitivity: float | None = None,
) -> Quantiles | OneQuantile:
    """The median of a column.

    Parameters
    ----------
    column : str
        A column or an expression.
    bounds : pair of float, optional
        (lower, upper); where they are left out, those of the schema. Values beyond are clamped.
    nulls : {"drop", "never"} or impute(constant), optional
        What becomes of missing values; where it is left out, what the schema says.
    bins : int, optional
        The median is read from at most so many bins of equal width.
    adaptive : bool or {"rank", "smooth", "propose"}, optional
        Whether nothing but the median leaves, and how. "rank", or True: its bin is drawn by rank; more accurate, above
        all where the bounds are wide, and without an interval; `name_off` is how many rows the rank may be off.
        "smooth": with noise in proportion to its smooth sensitivity, and without an interval. "propose": with noise for
        the `sensitivity` proposed, if a private test finds that the data bear it; `name_outcome` is released or
        refused. It needs an ApproxDP budget. docs/smooth-sensitivity.md says which is best when.
    sensitivity : float, optional
        With adaptive="propose": how far one unit moves the median at most, as proposed without looking at the data.

    Returns
    -------
    Quantiles or OneQuantile
        The aggregate, for `agg`.

    Raises
    ------
    InvalidParameter
        As `quantiles` does, if `adaptive` is none of these, or if a proposal is missing or too much.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.median("income", (0, 250_000)).levels
    (0.5,)
    """
    return quantile(column, 0.5, bounds, nulls=nulls, bins=bins, adaptive=adaptive, sensitivity=sensitivity)
