"""The parts of an aggregate as records hold them: numbers as exact text, constants with their type."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

from dalenius.tables.record.constants import (
    bounds_record,
    constant_record,
    nulls_record,
    read_constant,
    read_nulls,
)


def read_bounds(content: list[str] | None) -> tuple[float, ...] | None:
    """What `bounds_record` wrote."""
    return None if content is None else tuple(map(float, content))


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
NUMBER = Form(repr, float)
NUMBERS = Form(bounds_record, read_bounds)
STEP = Form(_none_or(str), _none_or(Fraction))
NULLS = Form(nulls_record, read_nulls)
CONSTANTS = Form(
    _none_or(lambda values: [constant_record(value) for value in values]),
    _none_or(lambda values: tuple(read_constant(value) for value in values)),
)
