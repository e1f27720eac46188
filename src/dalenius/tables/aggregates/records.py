"""The parts of an aggregate as records hold them: numbers as exact text, constants with their type."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from dalenius.errors import LedgerError
from dalenius.tables.kinds import kind_of_value
from dalenius.tables.schema import Impute, Nulls


def written_bounds(bounds: tuple[float, float] | None, prefix: str = "") -> dict[str, str | None]:
    """{"lower": ..., "upper": ...}; null where there are none."""
    lower, upper = (None, None) if bounds is None else map(repr, bounds)
    return {f"{prefix}lower": lower, f"{prefix}upper": upper}


def read_bounds(content: Mapping[str, Any], prefix: str = "") -> tuple[float, float] | None:
    """What `written_bounds` wrote."""
    lower, upper = content[f"{prefix}lower"], content[f"{prefix}upper"]
    return None if lower is None else (float(lower), float(upper))


def written_nulls(nulls: Nulls | None) -> Any:
    """null, "drop", "never" or {"impute": constant}."""
    return {"impute": written_constant(nulls.value)} if isinstance(nulls, Impute) else nulls


def read_nulls(content: Any) -> Any:
    """What `written_nulls` wrote."""
    return Impute(read_constant(content["impute"])) if isinstance(content, Mapping) else content


def written_constant(value: Any) -> dict[str, str]:
    """{"type": the kind of the constant, "value": its text}."""
    kind = kind_of_value(value)
    if kind is None or kind not in _READ:
        raise LedgerError(f"a constant of type {type(value).__name__} cannot be recorded.")
    return {"type": kind, "value": value.isoformat() if kind == "date" else str(value)}


def read_constant(content: Mapping[str, str]) -> Any:
    """What `written_constant` wrote."""
    if content["type"] not in _READ:
        raise LedgerError(f"the record has a constant of the unknown type {content['type']!r}.")
    return _READ[content["type"]](content["value"])


_READ: Mapping[str, Callable[[str], Any]] = {
    "bool": {"True": True, "False": False}.__getitem__,
    "integer": int,
    "number": float,
    "text": str,
    "date": datetime.date.fromisoformat,
}


def written_step(step: Fraction | None) -> str | None:
    """A granularity as p/q."""
    return None if step is None else f"{step.numerator}/{step.denominator}"
