"""The parts of an aggregate as records hold them: numbers as exact text, constants with their type."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from dalenius.errors import LedgerError
from dalenius.tables.kinds import kind_of_value
from dalenius.tables.schema import Impute, Nulls, nulls_of


def bounds_record(bounds: tuple[float, ...] | None) -> list[str] | None:
    """Numbers in a row, such as bounds, edges or levels."""
    return None if bounds is None else [repr(end) for end in bounds]


def read_bounds(content: list[str] | None) -> tuple[float, ...] | None:
    """What `bounds_record` wrote."""
    return None if content is None else tuple(map(float, content))


def nulls_record(nulls: Nulls | None) -> Any:
    """The policy for missing values: null (none declared), "drop", "never", or {"impute": constant}."""
    return {"impute": constant_record(nulls.value)} if isinstance(nulls, Impute) else nulls


def read_nulls(content: Any) -> Any:
    """What `nulls_record` wrote."""
    return (
        Impute(read_constant(content["impute"]))
        if isinstance(content, Mapping)
        else nulls_of(content, "a record")
    )


def constant_record(value: Any) -> dict[str, Any]:
    """{"kind": "text", "is": "CA"}: `1`, `True`, `1.0` and `"1"` are four things."""
    kind = kind_of_value(value)
    if kind is None or kind not in _WRITTEN:
        raise LedgerError(f"a constant of type {type(value).__name__} cannot be recorded.")
    return {"kind": kind, "is": _WRITTEN[kind](value)}


def read_constant(content: Mapping[str, Any]) -> Any:
    """What `constant_record` wrote."""
    if content["kind"] not in _READ:
        raise LedgerError(f"the record has a constant of the unknown kind {content['kind']!r}.")
    return _READ[content["kind"]](content["is"])


_WRITTEN: Mapping[str, Callable[[Any], Any]] = {
    "bool": bool,
    "integer": str,
    "number": repr,
    "text": str,
    "date": datetime.date.isoformat,
}
_READ: Mapping[str, Callable[[Any], Any]] = {
    "bool": bool,
    "integer": int,
    "number": float,
    "text": str,
    "date": datetime.date.fromisoformat,
}


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
