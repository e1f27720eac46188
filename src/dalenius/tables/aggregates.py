"""What one can ask about each group. Each aggregate says which measures it is made of; noise is added to those.

An argument is a column or any expression of the language in `dalenius.tables.expressions`. `bounds` may be left
out when the schema has them; values beyond are clamped. `nulls` is the policy for missing values of this
argument, when the schema does not have it. `granularity` is a power of two, see `dalenius.tables.gridding`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from dalenius.core.checks import number
from dalenius.errors import InvalidParameter, QueryRefused
from dalenius.tables.bins import Bins, equal_bins, fine_bins, listed_bins
from dalenius.tables.gridding import Value, make_value
from dalenius.tables.measures import Measure, binned, centred_sum, needed, product, total, units
from dalenius.tables.measures import count as rows
from dalenius.tables.schema import Nulls, bounds_of, nulls_of
from dalenius.tables.terms import Term

Bounds = tuple[float, float]

QUANTILE_BINS = 2**14
"""Quantiles are read from at most so many bins, unless asked otherwise."""

EXPONENTS = range(-40, 61)
"""`bounds()` looks for the magnitude of values among 2^-40 ... 2^60."""


class Argument(Protocol):
    """An aggregate's argument, found in the table it is asked of."""

    @property
    def term(self) -> Term: ...
    @property
    def text(self) -> str: ...
    @property
    def bounds(self) -> Bounds: ...
    @property
    def nulls(self) -> Nulls: ...
    @property
    def condition(self) -> bool: ...


class Columns(Protocol):
    """The table an aggregate is asked of: knows the types, bounds and policies of columns."""

    def argument(self, text: str, bounds: Bounds | None, nulls: Nulls | None, what: str) -> Argument:
        """A number, with its bounds and policy."""

    def present(self, text: str, nulls: Nulls | None, what: str) -> tuple[str, ...]:
        """What a row must have for the argument not to be missing."""


@dataclass(frozen=True)
class Aggregate:
    """One column of an answer."""

    def roles(self, table: Columns) -> dict[str, Measure]:
        """The measures this aggregate is computed from, by the part each plays."""
        raise NotImplementedError

    def weight(self, role: str) -> Fraction:
        """How much of the budget a role is worth beside the others."""
        return Fraction(1, 4) if role in self.minor else Fraction(1)

    @property
    def minor(self) -> tuple[str, ...]:
        """Roles that only intervals of a population need: how much the rows vary."""
        return ()

    @property
    def name(self) -> str:
        return type(self).__name__.lower()


@dataclass(frozen=True)
class Count(Aggregate):
    """count(): rows; count("x"): rows that have x. Role: count."""

    column: str | None = None
    nulls: Nulls | None = None

    def roles(self, table: Columns) -> dict[str, Measure]:
        if self.column is None:
            return {"count": rows()}
        return {"count": rows(*table.present(self.column, self.nulls, f"count({self.column!r})"))}


@dataclass(frozen=True)
class CountDistinct(Aggregate):
    """The distinct units with a row in the group. Role: units."""

    def roles(self, table: Columns) -> dict[str, Measure]:
        return {"units": units()}


@dataclass(frozen=True)
class _OfOne(Aggregate):
    column: str
    bounds: Bounds | None = None
    nulls: Nulls | None = None
    granularity: Fraction | None = None

    def _value(self, table: Columns, halves: bool = True) -> Value:
        argument = table.argument(self.column, self.bounds, self.nulls, f"{self.name}({self.column!r})")
        return _value(argument, self.granularity, halves)


@dataclass(frozen=True)
class Sum(_OfOne):
    """Role: sum (from zero)."""

    def roles(self, table: Columns) -> dict[str, Measure]:
        return {"sum": total(self._value(table, halves=False))}


@dataclass(frozen=True)
class Mean(_OfOne):
    """Roles: count, sum, square (both from the middle of the bounds); no square where values are 0 or 1."""

    def roles(self, table: Columns) -> dict[str, Measure]:
        value = self._value(table)
        found = {"count": rows(*needed(value)), "sum": centred_sum(value)}
        return found if value.binary else found | {"square": product(value, value)}

    @property
    def minor(self) -> tuple[str, ...]:
        return ("square",)


@dataclass(frozen=True)
class Variance(_OfOne):
    """Roles: count, sum, square (both from the middle of the bounds)."""

    def roles(self, table: Columns) -> dict[str, Measure]:
        value = self._value(table)
        return {"count": rows(*needed(value)), "sum": centred_sum(value), "square": product(value, value)}


@dataclass(frozen=True)
class Std(Variance):
    """The square root of the variance; the same roles."""


@dataclass(frozen=True)
class Covariance(Aggregate):
    """Roles: count, sum_x, sum_y, product, square_x, square_y. Rows lacking either value do not count."""

    x: str
    y: str
    x_bounds: Bounds | None = None
    y_bounds: Bounds | None = None
    nulls: Nulls | None = None

    def roles(self, table: Columns) -> dict[str, Measure]:
        x, y = self._values(table)
        return {
            "count": rows(*needed(x, y)),
            "sum_x": centred_sum(x, y),
            "sum_y": centred_sum(y, x),
            "product": product(x, y),
            "square_x": product(x, x, y),
            "square_y": product(y, y, x),
        }

    @property
    def minor(self) -> tuple[str, ...]:
        return ("square_x", "square_y")

    def _values(self, table: Columns) -> tuple[Value, Value]:
        what = f"{self.name}({self.x!r}, {self.y!r})"
        if self.x == self.y:
            raise QueryRefused(f"{what} is of one column; use variance({self.x!r}).")
        x = _value(table.argument(self.x, self.x_bounds, self.nulls, what))
        y = _value(table.argument(self.y, self.y_bounds, self.nulls, what))
        return x, y


@dataclass(frozen=True)
class Correlation(Covariance):
    """The same roles as the covariance, each as important."""

    @property
    def minor(self) -> tuple[str, ...]:
        return ()


@dataclass(frozen=True)
class Proportion(Aggregate):
    """The share of rows for which a condition holds. Roles: count, sum (of 0 and 1, from one half)."""

    condition: str
    nulls: Nulls | None = None

    def roles(self, table: Columns) -> dict[str, Measure]:
        what = f"proportion({self.condition!r})"
        argument = table.argument(self.condition, (0.0, 1.0), self.nulls, what)
        if not argument.condition:
            raise QueryRefused(f"{what} needs a condition, like proportion('age >= 65').")
        value = _value(argument)
        return {"count": rows(*needed(value)), "sum": centred_sum(value)}


@dataclass(frozen=True)
class Histogram(Aggregate):
    """Rows per bin. Role: bins."""

    column: str
    bins: int | None = 10
    bounds: Bounds | None = None
    edges: tuple[float, ...] | None = None
    nulls: Nulls | None = None

    def roles(self, table: Columns) -> dict[str, Measure]:
        what = f"histogram({self.column!r})"
        if self.edges is not None:
            around = (self.edges[0], self.edges[-1]) if len(self.edges) > 1 else None
            argument = table.argument(self.column, around, self.nulls, what)
            return {"bins": binned(listed_bins(argument.term, argument.text, self.edges, argument.nulls))}
        argument = table.argument(self.column, self.bounds, self.nulls, what)
        assert self.bins is not None
        made = equal_bins(argument.term, argument.text, argument.bounds, self.bins, argument.nulls)
        return {"bins": binned(made)}


@dataclass(frozen=True)
class Quantiles(Aggregate):
    """Any set of quantiles, from fine bins. Role: bins."""

    column: str
    levels: tuple[float, ...]
    bounds: Bounds | None = None
    nulls: Nulls | None = None
    bins: int = QUANTILE_BINS

    def roles(self, table: Columns) -> dict[str, Measure]:
        return {"bins": binned(self._bins(table))}

    def _bins(self, table: Columns) -> Bins:
        argument = table.argument(self.column, self.bounds, self.nulls, f"quantiles({self.column!r})")
        return fine_bins(argument.term, argument.text, argument.bounds, self.bins, argument.nulls)


@dataclass(frozen=True)
class FindBounds(Aggregate):
    """Bounds that hold nearly all values, from their magnitudes. Role: bins, at powers of two on both sides of
    zero."""

    column: str
    share: float = 0.99
    nulls: Nulls | None = None

    def roles(self, table: Columns) -> dict[str, Measure]:
        powers = [math.ldexp(1.0, k) for k in EXPONENTS]
        edges = (*(-x for x in reversed(powers)), *powers)
        argument = table.argument(self.column, (edges[0], edges[-1]), self.nulls, f"bounds({self.column!r})")
        return {"bins": binned(listed_bins(argument.term, argument.text, edges, argument.nulls))}


def count(column: str | None = None, *, nulls: Nulls | None = None) -> Count:
    """The number of rows; of rows where `column` is not missing, if given."""
    return Count(None if column is None else _text(column, "count"), nulls_of(nulls, "count"))


def count_distinct() -> CountDistinct:
    """The number of distinct units (persons, say) with a row in the group."""
    return CountDistinct()


def sum(
    column: str,
    bounds: Iterable[float] | None = None,
    *,
    nulls: Nulls | None = None,
    granularity: float | Fraction | None = None,
) -> Sum:
    """The sum of a column, its values clamped to the bounds."""
    return Sum(**_one("sum", column, bounds, nulls, granularity))


def mean(
    column: str,
    bounds: Iterable[float] | None = None,
    *,
    nulls: Nulls | None = None,
    granularity: float | Fraction | None = None,
) -> Mean:
    """The mean of a column, its values clamped to the bounds."""
    return Mean(**_one("mean", column, bounds, nulls, granularity))


def variance(
    column: str,
    bounds: Iterable[float] | None = None,
    *,
    nulls: Nulls | None = None,
    granularity: float | Fraction | None = None,
) -> Variance:
    """The variance of a column, its values clamped to the bounds."""
    return Variance(**_one("variance", column, bounds, nulls, granularity))


def std(
    column: str,
    bounds: Iterable[float] | None = None,
    *,
    nulls: Nulls | None = None,
    granularity: float | Fraction | None = None,
) -> Std:
    """The standard deviation of a column, its values clamped to the bounds."""
    return Std(**_one("std", column, bounds, nulls, granularity))


def covariance(
    x: str,
    y: str,
    x_bounds: Iterable[float] | None = None,
    y_bounds: Iterable[float] | None = None,
    *,
    nulls: Nulls | None = None,
) -> Covariance:
    """The covariance of two columns."""
    return Covariance(*_two("covariance", x, y, x_bounds, y_bounds, nulls))


def correlation(
    x: str,
    y: str,
    x_bounds: Iterable[float] | None = None,
    y_bounds: Iterable[float] | None = None,
    *,
    nulls: Nulls | None = None,
) -> Correlation:
    """Pearson's correlation of two columns."""
    return Correlation(*_two("correlation", x, y, x_bounds, y_bounds, nulls))


def proportion(condition: str, *, nulls: Nulls | None = None) -> Proportion:
    """The share of rows for which a condition holds."""
    return Proportion(_text(condition, "proportion"), nulls_of(nulls, "proportion"))


def histogram(
    column: str,
    bins: int | None = None,
    bounds: Iterable[float] | None = None,
    *,
    edges: Iterable[float] | None = None,
    nulls: Nulls | None = None,
) -> Histogram:
    """Counts in bins: so many between the bounds (10), or with the edges listed. Values beyond count in the end
    bins."""
    column = _text(column, "histogram")
    if edges is not None:
        if bins is not None or bounds is not None:
            raise InvalidParameter(
                f"histogram({column!r}) has both edges and bins or bounds; give one of the two."
            )
        return Histogram(
            column, None, None, tuple(number("an edge", e) for e in edges), nulls_of(nulls, "histogram")
        )
    around = None if bounds is None else bounds_of(bounds, f"histogram({column!r})")
    return Histogram(column, 10 if bins is None else bins, around, None, nulls_of(nulls, "histogram"))


def quantiles(
    column: str,
    levels: Iterable[float],
    bounds: Iterable[float] | None = None,
    *,
    nulls: Nulls | None = None,
    bins: int = QUANTILE_BINS,
) -> Quantiles:
    """Any set of quantiles of a column, all from one look at the data: `quantiles("pay", [0.25, 0.5, 0.75], (0,
    9))`."""
    column = _text(column, "quantiles")
    made = tuple(number("a quantile's level", level) for level in levels)
    if not made:
        raise InvalidParameter(f"quantiles({column!r}) has no levels; give some, like [0.25, 0.5, 0.75].")
    for level in made:
        if not 0 < level < 1:
            raise InvalidParameter(
                f"a quantile's level is {level:g}; it must be above 0 and below 1; for the ends use bounds(...)."
            )
    if list(made) != sorted(set(made)):
        raise InvalidParameter("the levels of quantiles must increase.")
    around = None if bounds is None else bounds_of(bounds, f"quantiles({column!r})")
    return Quantiles(column, made, around, nulls_of(nulls, "quantiles"), bins)


def quantile(
    column: str,
    level: float,
    bounds: Iterable[float] | None = None,
    *,
    nulls: Nulls | None = None,
    bins: int = QUANTILE_BINS,
) -> Quantiles:
    """One quantile of a column."""
    return quantiles(column, [level], bounds, nulls=nulls, bins=bins)


def median(
    column: str,
    bounds: Iterable[float] | None = None,
    *,
    nulls: Nulls | None = None,
    bins: int = QUANTILE_BINS,
) -> Quantiles:
    """The median of a column."""
    return quantiles(column, [0.5], bounds, nulls=nulls, bins=bins)


def bounds(column: str, *, share: float = 0.99, nulls: Nulls | None = None) -> FindBounds:
    """Bounds for a column that are not known: a private question, with a price, whose answer is powers of
    two."""
    level = number("share", share)
    if not 0.5 <= level < 1:
        raise InvalidParameter(f"share is {level:g}; it must be at least 0.5 and below 1.")
    return FindBounds(_text(column, "bounds"), level, nulls_of(nulls, "bounds"))


def _value(argument: Argument, granularity: float | Fraction | None = None, halves: bool = True) -> Value:
    return make_value(
        argument.term, argument.text, argument.bounds, argument.nulls, granularity, halves=halves
    )


def _text(column: object, what: str) -> str:
    if not isinstance(column, str) or not column.strip():
        raise InvalidParameter(
            f"{what} is asked of {column!r}; it must be a column or an expression, as text."
        )
    return column


def _one(what: str, column: str, bounds: object, nulls: object, granularity: object) -> Mapping[str, Any]:
    column = _text(column, what)
    return {
        "column": column,
        "bounds": None if bounds is None else bounds_of(bounds, f"{what}({column!r})"),
        "nulls": nulls_of(nulls, f"{what}({column!r})"),
        "granularity": granularity,
    }


def _two(what: str, x: str, y: str, x_bounds: object, y_bounds: object, nulls: object) -> tuple[Any, ...]:
    x, y = _text(x, what), _text(y, what)
    of = f"{what}({x!r}, {y!r})"
    first = None if x_bounds is None else bounds_of(x_bounds, of)
    second = None if y_bounds is None else bounds_of(y_bounds, of)
    return x, y, first, second, nulls_of(nulls, of)
