"""The kinds of column a question can use, whatever the engine calls them."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any, Literal, get_args

Kind = Literal["integer", "number", "text", "bool", "date", "timestamp"]
KINDS: tuple[Kind, ...] = get_args(Kind)

NUMERIC: tuple[Kind, ...] = ("integer", "number")
KEYS: tuple[Kind, ...] = ("integer", "text", "bool", "date")
"""Kinds that can be compared for equality in the same way everywhere: what can be grouped by or joined on."""


@dataclass(frozen=True)
class Field:
    """A column as the engine describes it, before any row is read.

    dtype: the engine's type as Ibis writes it, `float32` or `decimal(12, 2)`.
    kind: None when the type is of no use in a question; `dtype` then says what it is.
    nullable: whether the engine lets it hold null. nan: whether it can hold NaN, as floating point can, and
    PostgreSQL's numeric.
    """

    name: str
    dtype: str
    kind: Kind | None
    nullable: bool
    nan: bool = False

    @property
    def missing(self) -> bool:
        """Whether a row can lack a value."""
        return self.nullable or self.nan


def field_of(name: str, dtype: Any) -> Field:
    """The Field of an Ibis type."""
    kind = kind_of(dtype)
    nan = kind == "number" and not dtype.is_integer()
    return Field(name, str(dtype).removeprefix("!"), kind, bool(dtype.nullable), nan)


def kind_of(dtype: Any) -> Kind | None:
    if dtype.is_boolean():
        return "bool"
    if dtype.is_integer() and not dtype.is_uint64():
        return "integer"
    if dtype.is_numeric():  # floating point, decimal, and the integers that do not fit 64 bits with a sign
        return "number"
    if dtype.is_string() or dtype.is_uuid():
        return "text"
    if dtype.is_date():
        return "date"
    if dtype.is_timestamp() and dtype.timezone is None:
        return "timestamp"
    return None


def kind_of_value(value: object) -> Kind | None:
    """The kind of a Python constant; None when it has none."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "text"
    if isinstance(value, datetime.datetime):
        return "timestamp"
    return "date" if isinstance(value, datetime.date) else None


def is_text(value: object) -> bool:
    """Whether something is text with anything in it."""
    return isinstance(value, str) and bool(value.strip())


def fits(value: object, kind: Kind) -> bool:
    """Whether a constant may stand for a value of that kind."""
    own = kind_of_value(value)
    return own == kind or (own == "integer" and kind == "number")
