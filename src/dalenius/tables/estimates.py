"""Estimates, standard errors and confidence intervals from noisy measures: all post-processing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dalenius.tables import populations
from dalenius.tables.aggregates import (
    Aggregate,
    Correlation,
    Count,
    CountDistinct,
    Covariance,
    FindBounds,
    Histogram,
    Mean,
    Proportion,
    Quantiles,
    Std,
    Sum,
    Variance,
)
from dalenius.tables.column import Column as Column
from dalenius.tables.correlations import correlation
from dalenius.tables.gridding import Value
from dalenius.tables.laws import Noisy, reach, scaled, truncated_mean
from dalenius.tables.measures import Measure
from dalenius.tables.moments import Deviations
from dalenius.tables.query import Query
from dalenius.tables.ranks import quantile
from dalenius.tables.ratios import interval
from dalenius.tables.released import Released

Reals = npt.NDArray[Any]
Roles = dict[str, Measure]


@dataclass(frozen=True)
class Wanted:
    """How intervals are to be made."""

    confidence: float = 0.95
    simultaneous: bool = False
    sampling: bool = False

    def failure(self, cells: int) -> float:
        """The chance each of so many intervals may fail with."""
        return (1 - self.confidence) / (cells if self.simultaneous else 1)


def columns(query: Query, released: Released, wanted: Wanted) -> list[Column]:
    """The columns of the answer to a query."""
    width = sum(
        _width(aggregate, dict(roles))
        for (_, aggregate), roles in zip(query.aggregates, query.roles, strict=True)
    )
    failure = wanted.failure(max(1, width * len(released.keys)))
    found: list[Column] = []
    for (name, aggregate), roles in zip(query.aggregates, query.roles, strict=True):
        made = _columns(name, aggregate, dict(roles), released, failure, wanted.sampling)
        found += [_within(query, aggregate, column) for column in made]
    return found


def _within(query: Query, aggregate: Aggregate, column: Column) -> Column:
    """A quantile within the declared bounds, which the outer bins may pass."""
    if not isinstance(aggregate, Quantiles):
        return column
    scope = query.table._scope()
    bounds = scope.argument(aggregate.column, aggregate.bounds, aggregate.nulls, aggregate.name).bounds
    estimate, low, high = (np.clip(x, *bounds) for x in (column.estimate, column.low, column.high))
    return replace(column, estimate=estimate, low=low, high=high)


def _width(aggregate: Aggregate, roles: Roles) -> int:
    if isinstance(aggregate, Histogram):
        return roles["bins"].size
    if isinstance(aggregate, Quantiles):
        return len(aggregate.levels)
    return 1


def _columns(
    name: str, aggregate: Aggregate, roles: Roles, released: Released, failure: float, sampling: bool
) -> list[Column]:
    if isinstance(aggregate, Count | CountDistinct):
        (measure,) = roles.values()
        return [_direct(name, released.measures[measure], 1.0, failure, whole=True)]
    if isinstance(aggregate, Sum):
        return [_sum(name, roles["sum"], released, failure)]
    if isinstance(aggregate, Mean | Proportion):
        return [_mean(name, roles, released, failure, sampling)]
    if isinstance(aggregate, Histogram):
        return _histogram(name, roles["bins"], released, failure)
    if isinstance(aggregate, Quantiles):
        return _quantiles(name, aggregate, roles["bins"], released, failure, sampling)
    if isinstance(aggregate, FindBounds):
        return _bounds(name, aggregate, roles["bins"], released)
    if isinstance(aggregate, Correlation):
        return [_correlation(name, roles, released, failure, sampling)]
    if isinstance(aggregate, Variance | Covariance):
        return [_covariance(name, aggregate, roles, released, failure, sampling)]
    raise TypeError(f"no estimate is written for {type(aggregate).__name__}; this is a defect")


def _direct(
    name: str, noisy: Noisy, worth: float, failure: float, rounding: float = 0.0, whole: bool = False
) -> Column:
    estimate, (below, above) = noisy.values * worth, reach(noisy, failure)
    low, high = estimate - below * worth - rounding, estimate + above * worth + rounding
    if whole:
        low, high = np.maximum(low, 0.0), np.maximum(high, 0.0)
        estimate = np.maximum(np.rint(estimate), 0.0)
    return Column(name, estimate, np.full(len(estimate), noisy.sigma * worth), low, high, whole)


def _sum(name: str, measure: Measure, released: Released, failure: float) -> Column:
    (value,) = measure.values
    step = float(value.granularity)
    # Half a step for each of 2^36 rows; a coarser grid was asked for, and then the sum is of the rounded values.
    rounding = 0.0 if value.exact else min(2.0**35 * step, max(abs(value.lower), abs(value.upper)) * 2.0**-11)
    return _direct(name, released.measures[measure], step, failure, rounding)


def _mean(name: str, roles: Roles, released: Released, failure: float, sampling: bool) -> Column:
    """S/N from the middle of the bounds; half a step is allowed for rounding.

    sampling: the mean of a population; its variance is estimated from the sum of squares. Values that are 0 or 1
    have the interval of a share instead.
    """
    (value,) = roles["sum"].values
    half = _half(value)
    top, bottom = scaled(released.measures[roles["sum"]], 1 / half), released.measures[roles["count"]]
    within = value.low / half, value.high / half
    s, n = top.values, bottom.values
    usable = n > max(1.0, bottom.sigma)
    ratio = np.clip(np.where(usable, s / np.where(usable, n, 1.0), 0.0), *within)
    c = (np.full(len(s), top.variance), np.zeros(len(s)), np.full(len(s), bottom.variance))
    if sampling:
        square = scaled(released.measures[roles["square"]], half**-2) if "square" in roles else None
        drawn = _drawn(top, bottom, square, ratio)
        c = (c[0] + drawn[0], c[1] + drawn[1], c[2] + drawn[2])
    error = np.sqrt(np.maximum(c[0] + c[1] * ratio + c[2] * ratio**2, 0.0))
    error = np.where(usable, np.minimum(error / np.where(usable, n, 1.0), 1.0), 1.0)
    edge = released.measures[roles["sum"]].edge / half
    if sampling:
        low, high = populations.mean(top, bottom, square, drawn, failure, edge)
    else:
        low, high = interval(s, n, c, lambda m: top.fourth + m**4 * bottom.fourth, failure, within, edge)
    low, high = np.minimum(low, ratio), np.maximum(high, ratio)
    rounding = 0.0 if value.exact else 0.5
    worth = float(value.granularity)

    def real(x: Reals, off: float = 0.0) -> Reals:
        return np.asarray((np.clip(x * half + off, value.low, value.high) + value.centre) * worth)

    return Column(name, real(ratio), error * half * worth, real(low, -rounding), real(high, rounding))


def _drawn(top: Noisy, bottom: Noisy, square: Noisy | None, ratio: Reals) -> tuple[Reals, Reals, Reals]:
    """The variance of S - m N that comes from drawing the rows, as a polynomial of m.

    It is the sum of squares around m, as Student's; but for values that are at either bound, of which there are as
    many at the upper one as m says, that is n (1 - m^2), as Wilson's. The more they are, the more of the second.
    """
    n = np.maximum(bottom.values, 0.0)
    squares = _squares(top, bottom, square, ratio)
    share = np.clip(squares / np.maximum(n * (1 - ratio**2), 1e-12), 0.0, 1.0)
    ends = share**4
    student = (squares + n * ratio**2, -2 * n * ratio, n)
    wilson = (n * share, 0.0 * n, -n * share)
    first, second, third = ((1 - ends) * a + ends * b for a, b in zip(student, wilson, strict=True))
    return first, second, third


def _squares(top: Noisy, bottom: Noisy, square: Noisy | None, ratio: Reals) -> Reals:
    """The sum of squares around the mean: as estimated, brought to where it can be.

    It is between 0 and n (1 - mean^2) (Bhatia and Davis 2000). Of what the noise leaves open the mean is taken, as if
    all in between were equally likely.
    """
    n = np.maximum(bottom.values, 0.0)
    most = n * (1 - ratio**2)
    if square is None:
        return np.asarray(most)
    found = square.values - n * ratio**2
    noise = np.sqrt(square.variance + 4 * ratio**2 * top.variance + ratio**4 * bottom.variance)
    return truncated_mean(found, noise, most)


def _covariance(
    name: str,
    aggregate: Variance | Covariance,
    roles: Roles,
    released: Released,
    failure: float,
    sampling: bool,
) -> Column:
    """A variance, its root, or a covariance: see `moments`."""
    one = isinstance(aggregate, Variance)
    (x,), (y,) = (roles["sum"].values,) * 2 if one else (roles["sum_x"].values, roles["sum_y"].values)
    parts = _deviations(
        roles, released, x, y, ("sum", "sum", "square") if one else ("sum_x", "sum_y", "product")
    )
    worth = _half(x) * _half(y) * float(x.granularity * y.granularity)
    within = (0.0 if one else -2.0, 2.0)  # n / (n - 1) is 2 at most
    top, bottom, c = parts.top, parts.bottom, parts.variances()
    if sampling:
        drawn = parts.drawn() if one else parts.drawn(*_spreads(roles, released, x, y))
        c = (c[0] + drawn[0], c[1], c[2] + drawn[1])
    usable = (parts.n.values > max(2.0, 2 * parts.n.sigma)) & (bottom > 0)
    ratio = np.where(usable, top / np.where(usable, bottom, 1.0), 0.0 if not one else 1.0)
    variance = np.maximum(c[0] + c[1] * ratio + c[2] * ratio**2, 0.0)
    error = np.where(usable, np.sqrt(variance) / np.where(usable, bottom, 1.0), 4.0)
    edge = released.measures[roles["square" if one else "product"]].edge / (_half(x) * _half(y)) * parts.size
    if sampling and one:
        low, high = populations.variance(parts, x.binary, failure, edge)
    else:
        low, high = interval(top, bottom, c, parts.fourth, failure, within, edge)
    # A value is off by half a step, which moves a (co)variance by as much of the other's deviation, twice.
    rounding = sum((0.0 if v.exact else 1.0) * np.sqrt(2.0) / _half(v) for v in (x, y))
    low, high = np.clip(low - rounding, *within), np.clip(high + rounding, *within)
    estimate = np.clip(ratio, *within)
    low, high = np.minimum(low, estimate), np.maximum(high, estimate)
    if isinstance(aggregate, Std):
        # At a variance of 0 the root of what is left of the noise is off by 0.63 roots of its error; 0.71 is told.
        error = error / (2 * np.sqrt(np.maximum(ratio, np.maximum(error / 2, np.finfo(float).tiny))))
        estimate, low, high = np.sqrt(estimate), np.sqrt(low), np.sqrt(high)
        worth, within = np.sqrt(worth), (0.0, np.sqrt(2.0))
    error = np.minimum(error, within[1] - within[0])
    return Column(name, estimate * worth, error * worth, low * worth, high * worth)


def _correlation(name: str, roles: Roles, released: Released, failure: float, sampling: bool) -> Column:
    (x,), (y,) = roles["sum_x"].values, roles["sum_y"].values
    xx, yy = _spreads(roles, released, x, y)
    xy = _deviations(roles, released, x, y, ("sum_x", "sum_y", "product"))
    estimate, error, low, high = correlation(xx, yy, xy, failure, sampling)
    return Column(name, estimate, error, low, high)


def _spreads(roles: Roles, released: Released, x: Value, y: Value) -> tuple[Deviations, Deviations]:
    xx = _deviations(roles, released, x, x, ("sum_x", "sum_x", "square_x"))
    return xx, _deviations(roles, released, y, y, ("sum_y", "sum_y", "square_y"))


def _deviations(
    roles: Roles, released: Released, x: Value, y: Value, names: tuple[str, str, str]
) -> Deviations:
    n, first, second, product = (released.measures[roles[name]] for name in ("count", *names))
    a, b = 1 / _half(x), 1 / _half(y)
    return Deviations(n, scaled(first, a), scaled(second, b), scaled(product, a * b), x == y)


def _half(value: Value) -> float:
    """The most a row can be away from the centre, in steps."""
    return float(max(abs(value.low), abs(value.high), 1))


def _histogram(name: str, measure: Measure, released: Released, failure: float) -> list[Column]:
    noisy = released.measures[measure]
    assert measure.bins is not None
    edges = measure.bins.edges
    found = []
    for k in range(measure.size):
        close = "]" if k == measure.size - 1 else ")"
        part = replace(noisy, values=noisy.values[:, k])
        found.append(_direct(f"{name}[{edges[k]:g}, {edges[k + 1]:g}{close}", part, 1.0, failure, whole=True))
    return found


def _quantiles(
    name: str, aggregate: Quantiles, measure: Measure, released: Released, failure: float, sampling: bool
) -> list[Column]:
    ranks = released.ranks[measure, aggregate.levels]
    assert measure.bins is not None
    found = []
    for k, level in enumerate(aggregate.levels):
        told = quantile(ranks, measure.bins, k, level, failure, sampling)
        label = name if len(aggregate.levels) == 1 else f"{name}_{level:g}"
        found.append(Column(label, *told))
    return found


def _bounds(name: str, aggregate: FindBounds, measure: Measure, released: Released) -> list[Column]:
    """The range of magnitudes that holds the share asked for, from bins that stand out of the noise."""
    noisy = released.measures[measure]
    assert measure.bins is not None
    edges = np.array(measure.bins.edges)
    # With this threshold an empty bin is taken for a full one once in about a thousand releases.
    counts = np.where(noisy.values > reach(noisy, 1e-3 / measure.size)[1], noisy.values, 0.0)
    total = np.maximum(counts.sum(axis=1, keepdims=True), 1e-9)
    climbing = np.cumsum(counts, axis=1) / total
    outside = (1 - aggregate.share) / 2
    first = (climbing > outside).argmax(axis=1)
    last = (climbing >= 1 - outside).argmax(axis=1)
    none, zero = counts.sum(axis=1) == 0, measure.size // 2
    # The bin of zero reaches as little below it as above: that end is shown as zero, but where it holds all.
    low = np.where(none, np.nan, np.where(first == zero, 0.0, edges[first]))
    high = np.where(none, np.nan, np.where((last == zero) & (first < zero), 0.0, edges[last + 1]))
    nan = np.full(len(low), np.nan)
    return [Column(f"{name}_lower", low, nan, nan, nan), Column(f"{name}_upper", high, nan, nan, nan)]
