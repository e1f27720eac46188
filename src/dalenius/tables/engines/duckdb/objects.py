"""Columns of Python objects, which may be of any type, each another.

What such a column holds cannot be told from its type. It is of the kind that the schema states, or else of the kind of
most of its values (of text where there is a tie; numbers are whole if no more than one in a hundred is not, or one in
all); a value of another kind is missing, and so is a whole number beyond 64 bits. A whole number may stand for a
number, and a date for the timestamp at its midnight. A column of which most values are of no kind (lists, bytes,
moments with a zone) is refused by name when it is used.
"""

from __future__ import annotations

import datetime
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa

from dalenius.tables.engines.duckdb.guessing import mostly_whole
from dalenius.tables.facts.kinds import KINDS, MOST, Kind

OTHER = "other"
CLOCK = ("hour", "minute", "second", "microsecond")
ORDER = ("text", *KINDS, OTHER)


def from_objects(values: Iterable[Any], declared: Kind | None) -> Any:
    """An Arrow column; of Arrow's type null where most values are of no kind."""
    listed = list(values)
    types = Counter(map(type, listed))
    kind = declared or _commonest(listed, types)
    if kind is None:
        return pa.nulls(len(listed))
    if kind == "text" and set(types) <= {str, type(None)}:
        try:
            return pa.array(listed, pa.large_string())
        except (pa.ArrowException, UnicodeEncodeError):  # half of a surrogate pair is no text
            pass
    read, dtype = READERS[kind]
    return pa.array([read(value) for value in listed], dtype)


def _commonest(listed: list[Any], types: Counter[type]) -> Kind | None:
    """The kind of most values; of missing ones there is none."""
    counts: Counter[str] = Counter()
    for one, many in types.items():
        kind = _kind_of_type(one)
        if kind is not None:
            counts[kind] += many
    if float in types or np.float64 in types:  # NaN says that a value is missing
        counts["number"] -= sum(isinstance(value, float) and math.isnan(value) for value in listed)
    if counts["timestamp"]:  # a moment's zone is its own, not its type's
        zoned = sum(isinstance(value, datetime.datetime) and value.tzinfo is not None for value in listed)
        counts["timestamp"] -= zoned
        counts[OTHER] += zoned
    whole, broken = counts.pop("integer", 0), counts.pop("number", 0)
    counts["integer" if mostly_whole(whole, broken) else "number"] = whole + broken
    best = max(ORDER, key=lambda kind: counts[kind])
    if counts[best] <= 0:
        return "text" if type(None) in types or not listed else None
    return None if best == OTHER else best  # type: ignore[return-value]


def _kind_of_type(one: type) -> str | None:
    """The kind of a Python or NumPy type; None for what says that a value is missing."""
    if one.__name__ in ("NoneType", "NaTType", "NAType"):
        return None
    if issubclass(one, np.timedelta64):  # which NumPy has among the integers
        return OTHER
    for kind, kinds in TYPES:
        if issubclass(one, kinds):
            return kind
    return OTHER


TYPES: tuple[tuple[Kind, tuple[type, ...]], ...] = (
    ("bool", (bool, np.bool_)),
    ("integer", (int, np.integer)),
    ("number", (float, np.floating, Decimal)),
    ("text", (str, UUID)),
    ("timestamp", (datetime.datetime, np.datetime64)),
    ("date", (datetime.date,)),
)


def _integer(value: Any) -> int | None:
    if isinstance(value, bool | np.bool_ | np.timedelta64) or not isinstance(value, int | np.integer):
        return None
    return int(value) if -(2**63) <= int(value) < 2**63 else None


def _number(value: Any) -> float | None:
    odd = isinstance(value, bool | np.bool_ | np.timedelta64 | np.complexfloating)
    if odd or not isinstance(value, int | float | Decimal | np.number):
        return None
    try:
        return float(value)
    except OverflowError:
        return MOST if value > 0 else -MOST
    except (ValueError, TypeError, ArithmeticError):  # a signalling NaN, a complex number
        return None


def _text(value: Any) -> str | None:
    if not isinstance(value, str | UUID):
        return None
    text = (
        str.__str__(value) if isinstance(value, str) else str(value)
    )  # a class of its own may say otherwise
    try:
        text.encode()
    except UnicodeEncodeError:  # half a character: mended, it could be taken for another text
        return None
    return text


def _bool(value: Any) -> bool | None:
    return bool(value) if isinstance(value, bool | np.bool_) else None


def _timestamp(value: Any) -> datetime.datetime | None:
    """Python's own moments; those of pandas are such too, and finer ones are cut off.

    Both pandas and NumPy go on where Python's years end: what lies there is the nearer end, and not put together of its
    parts, since the year 9999 has no 29th of February.
    """
    if isinstance(value, np.datetime64):
        return _of_numpy(value)
    plain = isinstance(value, datetime.date) and getattr(value, "tzinfo", None) is None
    if not plain or type(value).__name__ == "NaTType":
        return None
    if not datetime.MINYEAR <= value.year <= datetime.MAXYEAR:
        return _end(value.year)
    hour, minute, second, micro = (getattr(value, part, 0) for part in CLOCK)
    return datetime.datetime(value.year, value.month, value.day, hour, minute, second, micro)


def _of_numpy(value: np.datetime64) -> datetime.datetime | None:
    if np.isnat(value):
        return None
    try:
        year = int(value.astype("datetime64[Y]").astype(np.int64)) + 1970
    except OverflowError:  # of units finer than microseconds, which do not leave our days
        year = 1970
    if not datetime.MINYEAR <= year <= datetime.MAXYEAR:
        return _end(year)
    micros = int(value.astype("datetime64[us]").astype(np.int64))
    return datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=micros)


def _end(year: int) -> datetime.datetime:
    return datetime.datetime.min if year < datetime.MINYEAR else datetime.datetime.max


def _date(value: Any) -> datetime.date | None:
    plain = isinstance(value, datetime.date) and not isinstance(value, datetime.datetime)
    return datetime.date(value.year, value.month, value.day) if plain else None


READERS: Mapping[Kind, tuple[Callable[[Any], Any], Any]] = {
    "integer": (_integer, pa.int64()),
    "number": (_number, pa.float64()),
    "text": (_text, pa.large_string()),
    "bool": (_bool, pa.bool_()),
    "timestamp": (_timestamp, pa.timestamp("us")),
    "date": (_date, pa.date32()),
}
"""What reads a value of each kind, and the type of what it gives in Arrow."""
