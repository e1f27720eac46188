"""Keys of records, each in the one form it is shown in.

Python takes 1, True, 1.0 and Decimal("1.00") for the same key, and of equal keys a dictionary shows the one it
met first: that is somebody's record, not a noisy count. So every record's key is put, by itself, into a form
in which equal keys are the same to the letter, type included; what has no such form is refused by its type.
"""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from uuid import UUID

import numpy as np

from dalenius.errors import InvalidParameter


def canonical(key: Any, name: str = "value") -> Any:
    """The key as plain text, bytes, an int, a float, a moment, an identifier, or a tuple of these.

    Whole numbers of any type are ints (True is 1, -0.0 is 0). Moments with a time zone are in UTC, and those
    that UTC cannot write (the first and last hours of all years) are its first or last. Subclasses of text
    become plain text, named tuples plain tuples.
    """
    if isinstance(key, np.generic) and not isinstance(key, np.datetime64 | np.timedelta64):
        key = key.item()
    if key is None or (isinstance(key, float) and math.isnan(key)):
        raise InvalidParameter(f"{name} holds a missing key (None or NaN); drop such records or name them.")
    match key:
        case str():
            return str.__str__(key)
        case bytes():
            return bytes.__getitem__(key, slice(None))
        case int():
            return int.__pos__(int(key) if isinstance(key, bool) else key)
        case float():
            plain = float.__pos__(key)
            return int(plain) if plain.is_integer() else plain
        case tuple():
            return tuple(canonical(part, name) for part in tuple.__iter__(key))
        case UUID():
            return UUID(int=key.int)
    if type(key) in _MOMENTS:
        return _moment(key, name)
    raise InvalidParameter(
        f"{name} holds a key of type {type(key).__name__}, which has no canonical form in which to show it; use text, "
        "whole numbers, floats, dates, or tuples of these."
    )


_MOMENTS = (date, datetime, time, timedelta)
"""Not their subclasses, which may hold more than can be seen (nanoseconds, say)."""


def _moment(key: Any, name: str) -> Any:
    if not isinstance(key, datetime | time):
        return key
    if key.tzinfo is None:
        return key.replace(fold=0)
    if isinstance(key, time):
        raise InvalidParameter(f"{name} holds a time of day with a zone; give it without one, or as text.")
    try:
        offset = key.utcoffset()
        there = key.replace(tzinfo=None, fold=0)
    except Exception:
        raise InvalidParameter(
            f"{name} holds a key whose time zone cannot be read; give it as text."
        ) from None
    if offset is None:
        return there
    try:
        moment = there - offset
    except OverflowError:
        moment = datetime.min if offset > timedelta(0) else datetime.max
    return moment.replace(tzinfo=UTC)
