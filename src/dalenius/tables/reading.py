"""What a question sees of a column: null for NaN, ordinary types for odd ones, the calendar for dates.

A column may hold whatever its engine's type can: NaN and infinities (floating point; PostgreSQL's numeric, of any
precision), dates and timestamps that are infinite or outside of years 1 to 9999, numerics far beyond doubles. After
reading,

- a number is a double, null instead of NaN. It may be infinite or of any magnitude: comparisons take it as it is, and
  arithmetic and grids clamp it first (`terms.tame`, `gridding.clamp`), which is what `loose` says;
- a date or timestamp lies within the years 1 to 9999, clamped to their first and last moment;
- a whole number has 64 bits.

Every conversion here has a value for everything the type can hold, in any order of evaluation.
"""

from __future__ import annotations

import datetime
from dataclasses import replace
from typing import Any

import ibis

from dalenius.calculus.errors import QueryRefused
from dalenius.tables.kinds import Field, fits
from dalenius.tables.schema import Impute, Nulls
from dalenius.tables.terms import INT64, UNBOUNDED, Term, double, is_nan, null

FIRST_DAY, LAST_DAY = datetime.date.min, datetime.date.max
FIRST_MOMENT = datetime.datetime(1, 1, 1)
LAST_MOMENT = datetime.datetime(9999, 12, 31, 23, 59, 59)

PLAIN_DECIMAL = 38
"""Decimals with at most so many digits, on either side of the point, are converted to doubles without fail."""


def read(column: Any, field: Field, policy: Nulls | None) -> Term:
    """The term of a column under a policy for its missing values."""
    name, kind = field.name, field.kind
    if kind is None:
        raise QueryRefused(f"column {name!r} has type {field.dtype}, which cannot be used in a question.")
    missing = field.missing
    undeclared = frozenset({name}) if missing and policy is None else frozenset()
    nullable = missing and policy in (None, "drop")
    fill = _fill(field, policy)
    if kind == "number":
        return replace(_number(column, field, fill), nullable=nullable, undeclared=undeclared)
    value = column
    if kind == "integer":
        value = column.cast("int64")
    elif kind == "date":
        value = _within(column, FIRST_DAY, LAST_DAY)
    elif kind == "timestamp":
        value = _within(column, FIRST_MOMENT, LAST_MOMENT)
    elif field.dtype == "uuid":
        value = column.cast("string")
    if fill is not None and missing:
        value = ibis.coalesce(value, ibis.literal(fill))
    if kind == "integer":
        return Term(value, kind, nullable, undeclared, top=INT64, bottom=0, whole=True)
    return Term(value, kind, nullable, undeclared)


def _fill(field: Field, policy: Nulls | None) -> Any:
    """The constant that missing values become, if any."""
    if not isinstance(policy, Impute):
        return None
    if field.kind is None or not fits(policy.value, field.kind):
        raise QueryRefused(
            f"{policy.value!r} cannot be imputed for column {field.name!r}, which is of type {field.kind}."
        )
    return policy.value


def _number(column: Any, field: Field, fill: Any) -> Term:
    dtype = ibis.dtype(field.dtype)
    top, bottom = 128, -128
    if dtype.is_floating():
        raw, top, bottom = column if dtype.is_float64() else column.cast("float64"), UNBOUNDED, -1074
    elif dtype.is_decimal() and not _plain(dtype):
        raw, top, bottom = _within_doubles(column).cast("float64"), 500, -500
    else:
        raw = column.cast("float64")
    facts: dict[str, Any] = {"top": top, "bottom": bottom, "whole": dtype.is_integer(), "loose": True}
    if fill is not None:
        value = ibis.cases((is_nan(raw), double(fill)), else_=ibis.coalesce(raw, double(fill)))
        return Term(value, "number", raw=value, **facts)
    return Term(ibis.cases((is_nan(raw), null("float64")), else_=raw), "number", raw=raw, **facts)


def _plain(dtype: Any) -> bool:
    """Whether doubles hold the range of a decimal type; only PostgreSQL has others."""
    precision, scale = dtype.precision, dtype.scale
    return (
        precision is not None
        and precision <= PLAIN_DECIMAL
        and (scale is None or 0 <= scale <= PLAIN_DECIMAL)
    )


def _within_doubles(column: Any) -> Any:
    """PostgreSQL's numeric holds more than doubles do, and NaN: clamped to 1e150, flushed to zero below
    1e-150."""

    def decimal(text: str) -> Any:
        return ibis.literal(text).cast("decimal")

    return ibis.cases(
        (column <= decimal("-1e150"), decimal("-1e150")),
        (column <= decimal("-1e-150"), column),
        (column < decimal("1e-150"), decimal("0")),
        (column <= decimal("1e150"), column),
        (column < decimal("NaN"), decimal("1e150")),
    )


def _within(column: Any, first: Any, last: Any) -> Any:
    low, high = ibis.literal(first), ibis.literal(last)
    return ibis.cases((column < low, low), (column > high, high), else_=column)
