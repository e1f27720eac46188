"""How the parts of an aggregate are written into records, and read again."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

from dalenius.core.record import exact
from dalenius.tables.facts.constants import (
    bounds_record,
    constant_record,
    nulls_record,
    read_bounds,
    read_constant,
    read_nulls,
)


class Form(NamedTuple):
    """How a part is written, and read again."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


def _none_or(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else f(value)


def _same(value: Any) -> Any:
    return value


PLAIN = Form(_same, _same)
"""Text, whole numbers and null."""
NUMBER = Form(exact, float)
NUMBERS = Form(bounds_record, read_bounds)
STEP = Form(_none_or(exact), _none_or(Fraction))
NULLS = Form(nulls_record, read_nulls)
CONSTANTS = Form(
    _none_or(lambda values: [constant_record(value) for value in values]),
    _none_or(lambda values: tuple(read_constant(value) for value in values)),
)
