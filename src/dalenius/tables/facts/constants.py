"""Constants with their types: `1`, `True`, `1.0` and `"1"` are four things."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

from dalenius.core.record import JSON, exact, unknown
from dalenius.errors import LedgerError
from dalenius.tables.facts.schema import Impute, Nulls


def constant_record(value: Any) -> dict[str, JSON]:
    """{"kind": "text", "is": "CA"}."""
    if isinstance(value, bool):
        return {"kind": "bool", "is": value}
    if isinstance(value, int):
        return {"kind": "integer", "is": str(value)}
    if isinstance(value, float):
        return {"kind": "number", "is": exact(value)}
    if isinstance(value, str):
        return {"kind": "text", "is": value}
    if isinstance(value, datetime.datetime):
        return {"kind": "timestamp", "is": value.isoformat()}
    if isinstance(value, datetime.date):
        return {"kind": "date", "is": value.isoformat()}
    raise TypeError(f"a {type(value).__name__} is no constant of a question; this is a defect")


READ: dict[str, Callable[[Any], Any]] = {
    "bool": bool,
    "integer": int,
    "number": float,
    "text": str,
    "timestamp": datetime.datetime.fromisoformat,
    "date": datetime.date.fromisoformat,
}


def read_constant(record: dict[str, JSON]) -> Any:
    """The constant that `constant_record` wrote."""
    if record["kind"] not in READ:
        raise unknown("a constant", record["kind"], LedgerError)
    return READ[record["kind"]](record["is"])


def nulls_record(nulls: Nulls | None) -> JSON:
    """The policy for missing values: null (none declared), "drop", "never", or {"impute": constant}."""
    return {"impute": constant_record(nulls.value)} if isinstance(nulls, Impute) else nulls


def read_nulls(record: JSON) -> Nulls | None:
    """The policy that `nulls_record` wrote."""
    if isinstance(record, dict):
        return Impute(read_constant(record["impute"]))
    if record not in (None, "drop", "never"):
        raise unknown("a policy for missing values", record, LedgerError)
    found: Nulls | None = record
    return found


def bounds_record(bounds: tuple[float, ...] | None) -> list[str] | None:
    """Numbers in a row, such as bounds, edges or levels."""
    return None if bounds is None else [exact(end) for end in bounds]


def read_bounds(record: list[str] | None) -> tuple[float, ...] | None:
    """The numbers that `bounds_record` wrote."""
    return None if record is None else tuple(map(float, record))
