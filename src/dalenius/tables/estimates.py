"""Estimates, standard errors and confidence intervals from noisy measures: all post-processing."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

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
from dalenius.tables.measures import Measure
from dalenius.tables.query import Query
from dalenius.tables.ranges import Range
from dalenius.tables.released import SPREADS, Noisy, Released

Reals = npt.NDArray[Any]
Roles = dict[str, Measure]


@dataclass(frozen=True, eq=False)
class Column:
    """One column of an answer: per group an estimate, its standard error and an interval."""

    name: str
    estimate: Reals
    error: Reals
    low: Reals
    high: Reals
    whole: bool = False
    """Whether the true value is a whole number, 0 or more."""


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
        found += _columns(name, aggregate, dict(roles), released, failure, wanted.sampling)
    return found


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
        return [_direct(name, released.measures[roles["sum"]], float(roles["sum"].granularity), failure)]
    if isinstance(aggregate, Mean | Proportion):
        return [_mean(name, roles, released, failure, sampling)]
    if isinstance(aggregate, Histogram):
        return _histogram(name, roles["bins"], released, failure)
    if isinstance(aggregate, Quantiles):
        return _quantiles(name, aggregate, roles["bins"], released, failure)
    if isinstance(aggregate, FindBounds):
        return _bounds(name, aggregate, roles["bins"], released)
    if isinstance(aggregate, Variance | Covariance):
        return [_moments(name, aggregate, roles, released, failure)]
    raise TypeError(f"no estimate is written for {type(aggregate).__name__}; this is a defect")


def reach(noisy: Noisy, failure: float) -> float:
    """What the noise of one cell stays within, but for this chance."""
    if noisy.gaussian:
        return noisy.sigma * -float(ndtri(failure / 2))
    return noisy.sigma / math.sqrt(2) * math.log(1 / failure) + 1.0  # Laplace, or geometric and its step


def _direct(name: str, noisy: Noisy, worth: float, failure: float, whole: bool = False) -> Column:
    estimate, away = noisy.values * worth, reach(noisy, failure) * worth
    low, high = estimate - away, estimate + away
    if whole:
        low, high = np.maximum(low, 0.0), np.maximum(high, 0.0)
        estimate = np.maximum(np.rint(estimate), 0.0)
    return Column(name, estimate, np.full(len(estimate), noisy.sigma * worth), low, high, whole)


def _mean(name: str, roles: Roles, released: Released, failure: float, sampling: bool) -> Column:
    """S/N from the middle of the bounds. The interval is Fieller's: all m with |S - m N| within its noise.

    For Gaussian noise S - m N is normal with variance s_S^2 + m^2 s_N^2, so the true ratio is in it with
    exactly the confidence asked. For Laplace noise both are bounded at half the failure each, which is safe.
    """
    measure = roles["sum"]
    (value,) = measure.values
    top, bottom = released.measures[measure], released.measures[roles["count"]]
    half = max(abs(value.low), abs(value.high))
    s, n = top.values, bottom.values
    usable = n > max(1.0, bottom.sigma)
    ratio = np.where(usable, s / np.where(usable, n, 1.0), 0.0)
    ratio = np.clip(ratio, value.low, value.high)
    spread = np.zeros_like(ratio)
    if sampling:  # Bhatia and Davis: a variance is at most (high - mean)(mean - low)
        spread = np.where(usable, (value.high - ratio) * (ratio - value.low), 0.0)
    error = np.sqrt(top.sigma**2 + ratio**2 * bottom.sigma**2 + spread * np.maximum(n, 0.0))
    error = np.where(usable, error / np.where(usable, n, 1.0), float(half))
    if top.gaussian:
        z = -float(ndtri(failure / 2))
        low, high = _fieller(
            s, n, (z * top.sigma) ** 2 + z * z * spread * np.maximum(n, 0.0), (z * bottom.sigma) ** 2
        )
    else:
        a, b = reach(top, failure / 2), reach(bottom, failure / 2)
        extra = np.sqrt(spread * np.maximum(n, 0.0)) * -float(ndtri(failure / 4)) if sampling else 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = [(s + u * (a + extra)) / (n + v * b) for u in (-1, 1) for v in (-1, 1)]
        sure = n - b > 0
        low = np.where(sure, np.minimum.reduce(ends), -np.inf)
        high = np.where(sure, np.maximum.reduce(ends), np.inf)
    centre, step = value.centre, float(value.granularity)

    def real(x: Reals) -> Reals:
        return np.asarray((np.clip(x, value.low, value.high) + centre) * step)

    return Column(name, real(ratio), error * step, real(low), real(high))


def _fieller(s: Reals, n: Reals, a: Reals | float, b: float) -> tuple[Reals, Reals]:
    """The m with (s - m n)^2 <= a + m^2 b, where that is an interval; everything where it is not."""
    square = n * n - b
    inside = square > 0
    safe = np.where(inside, square, 1.0)
    root = np.sqrt(
        np.maximum(s * s * b + a * safe, 0.0)
    )  # (s n)^2 - (s^2 - a)(n^2 - b) = s^2 b + a (n^2 - b)
    low, high = (s * n - root) / safe, (s * n + root) / safe
    wide = inside & (n > 0)
    return np.where(wide, low, -np.inf), np.where(wide, high, np.inf)


def _moments(
    name: str, aggregate: Variance | Covariance, roles: Roles, released: Released, failure: float
) -> Column:
    """Second moments: a function of several noisy sums. The standard error is by the delta method, before the
    estimate is brought to where it can be.

    The interval is the range of the function while every sum is within its own noise, each at an equal part
    of the failure: it holds for small groups and any kind of noise, and is wider than it must be for large
    ones.
    """
    names = list(roles)
    noisy = {role: released.measures[roles[role]] for role in names}
    formula, low, high = _formula(aggregate, roles)
    at = {role: part.values for role, part in noisy.items()}
    variance = np.zeros(len(at["count"]))
    for role, part in noisy.items():
        step = 0.01 * part.sigma
        up, down = formula(at | {role: at[role] + step}), formula(at | {role: at[role] - step})
        variance += ((up - down) / 0.02) ** 2
    error, estimate = np.sqrt(variance), formula(at)
    if isinstance(aggregate, Std):
        # At a variance of 0 the root of what is left of the noise is off by 0.63 roots of its error; 0.71 is told.
        error /= 2 * np.sqrt(np.maximum(estimate, np.maximum(error / 2, np.finfo(float).tiny)))
        estimate = np.sqrt(np.maximum(estimate, 0.0))
    usable = at["count"] > max(2.0, 2 * noisy["count"].sigma)
    error = np.where(usable, np.minimum(error, high - low), high - low)
    estimate = np.where(usable, np.clip(estimate, low, high), (low + high) / 2)
    box = {role: Range.around(part.values, reach(part, failure / len(names))) for role, part in noisy.items()}
    found = _range(aggregate, roles, box)
    sure = box["count"].low > 2
    below = np.where(sure, np.clip(np.minimum(found.low, estimate), low, high), low)
    above = np.where(sure, np.clip(np.maximum(found.high, estimate), low, high), high)
    return Column(name, estimate, error, below, above)


def _range(aggregate: Variance | Covariance, roles: Roles, box: dict[str, Range]) -> Range:
    n = box["count"].at_least(2.0)
    if isinstance(aggregate, Variance):
        (value,) = roles["sum"].values
        spread = (box["square"] - box["sum"].square() / n) / (n - 1.0)
        spread = spread.at_least(0.0) * float(value.granularity) ** 2
        return spread.root() if isinstance(aggregate, Std) else spread
    (x,), (y,) = roles["sum_x"].values, roles["sum_y"].values
    together = (box["product"] - box["sum_x"] * box["sum_y"] / n) / (n - 1.0)
    if not isinstance(aggregate, Correlation):
        return together * float(x.granularity * y.granularity)
    spreads = [(box[f"square_{k}"] - box[f"sum_{k}"].square() / n) / (n - 1.0) for k in "xy"]
    product = (spreads[0].at_least(1e-9) * spreads[1].at_least(1e-9)).root()
    return together / product


def _formula(
    aggregate: Variance | Covariance, roles: Roles
) -> tuple[Callable[[dict[str, Reals]], Reals], float, float]:
    """The function, and the ends of what the aggregate can be. Of a standard deviation: its square."""
    if isinstance(aggregate, Variance):
        (value,) = roles["sum"].values
        worth = float(value.granularity) ** 2
        most = worth * max(abs(value.low), abs(value.high)) ** 2 * 2

        def spread(part: dict[str, Reals]) -> Reals:
            n = np.maximum(part["count"], 2.0)
            return np.asarray(worth * (part["square"] - part["sum"] ** 2 / n) / (n - 1))

        return spread, 0.0, math.sqrt(most) if isinstance(aggregate, Std) else most
    (x,), (y,) = roles["sum_x"].values, roles["sum_y"].values
    worth = float(x.granularity * y.granularity)

    def together(part: dict[str, Reals]) -> Reals:
        n = np.maximum(part["count"], 2.0)
        return np.asarray((part["product"] - part["sum_x"] * part["sum_y"] / n) / (n - 1))

    if not isinstance(aggregate, Correlation):
        most = worth * max(abs(x.low), abs(x.high)) * max(abs(y.low), abs(y.high)) * 2
        return lambda part: np.asarray(together(part) * worth), -most, most

    def correlation(part: dict[str, Reals]) -> Reals:
        n = np.maximum(part["count"], 2.0)
        vx = np.maximum(part["square_x"] - part["sum_x"] ** 2 / n, 1.0) / (n - 1)
        vy = np.maximum(part["square_y"] - part["sum_y"] ** 2 / n, 1.0) / (n - 1)
        return np.asarray(together(part) / np.sqrt(vx * vy))

    return correlation, -1.0, 1.0


def _histogram(name: str, measure: Measure, released: Released, failure: float) -> list[Column]:
    noisy = released.measures[measure]
    assert measure.bins is not None
    edges = measure.bins.edges
    found = []
    for k in range(measure.size):
        close = "]" if k == measure.size - 1 else ")"
        part = Noisy(noisy.values[:, k], noisy.sigma, noisy.gaussian)
        found.append(_direct(f"{name}[{edges[k]:g}, {edges[k + 1]:g}{close}", part, 1.0, failure, whole=True))
    return found


def _quantiles(
    name: str, aggregate: Quantiles, measure: Measure, released: Released, failure: float
) -> list[Column]:
    ranks = released.ranks[measure, aggregate.levels]
    assert measure.bins is not None
    edges = np.array(measure.bins.edges)
    middles = np.array(measure.bins.middles)
    wanted = -float(ndtri(failure / 2))
    place = min(int(np.searchsorted(SPREADS, wanted)), len(SPREADS) - 1)
    found = []
    for k, level in enumerate(aggregate.levels):
        below, best, above = ranks.best[:, :, k]
        estimate = middles[best]
        low, high = edges[ranks.low[place][:, k]], edges[ranks.high[place][:, k] + 1]
        error = (edges[above + 1] - edges[below]) / 2
        label = name if len(aggregate.levels) == 1 else f"{name}_{level:g}"
        found.append(Column(label, estimate, error, low, high))
    return found


def _bounds(name: str, aggregate: FindBounds, measure: Measure, released: Released) -> list[Column]:
    """The range of magnitudes that holds the share asked for, from bins that stand out of the noise."""
    noisy = released.measures[measure]
    assert measure.bins is not None
    edges = np.array(measure.bins.edges)
    # With this threshold an empty bin is taken for a full one once in about a thousand releases.
    counts = np.where(noisy.values > reach(noisy, 1e-3 / measure.size), noisy.values, 0.0)
    total = np.maximum(counts.sum(axis=1, keepdims=True), 1e-9)
    climbing = np.cumsum(counts, axis=1) / total
    outside = (1 - aggregate.share) / 2
    first = (climbing > outside).argmax(axis=1)
    last = (climbing >= 1 - outside).argmax(axis=1)
    none = counts.sum(axis=1) == 0
    low, high = np.where(none, np.nan, edges[first]), np.where(none, np.nan, edges[last + 1])
    nan = np.full(len(low), np.nan)
    return [Column(f"{name}_lower", low, nan, nan, nan), Column(f"{name}_upper", high, nan, nan, nan)]
