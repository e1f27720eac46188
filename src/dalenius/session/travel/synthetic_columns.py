"""The columns of synthetic data in a request: what is said beside each, null for what the schema says.

{"age": {"bounds": [18, 90], "bins": 12}, "pay": {"bins": 20}, "town": {"categories": ["a", "b"]},
 "day": {"days": ["2024-01-01", "2024-12-31"]}, "sex": null}
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dalenius.core.checks import shown
from dalenius.core.record import JSON
from dalenius.errors import InvalidParameter
from dalenius.queries.domain import Bins
from dalenius.tables.facts.forms import CONSTANTS, NUMBERS

BESIDE = "null, {'bounds': [0, 100]}, {'bins': 12}, both of these, {'categories': [...]} or {'days': [first, last]}"


def columns_record(given: Any) -> dict[str, JSON]:
    """What `Session.synthesize` was given, for a request."""
    if isinstance(given, Mapping):
        return {str(name): _beside_record(how) for name, how in given.items()}
    return dict.fromkeys(given)


def _beside_record(how: Any) -> JSON:
    if how is None:
        return None
    if isinstance(how, Bins):
        return {"bounds": NUMBERS.write((how.low, how.high)), "bins": how.count}
    if isinstance(how, int) and not isinstance(how, bool):
        return {"bins": how}
    if isinstance(how, tuple):
        is_days = all(isinstance(end, datetime.date) for end in how)
        return {"days": CONSTANTS.write(how)} if is_days else {"bounds": NUMBERS.write(how)}
    return {"categories": CONSTANTS.write(how)}


def read_columns(record: JSON) -> dict[str, Any]:
    """As `Session.synthesize` takes them, from a record that anybody may have written."""
    if isinstance(record, list) and record and all(isinstance(name, str) for name in record):
        return dict.fromkeys(record)
    if not isinstance(record, dict) or not record:
        raise InvalidParameter(
            f"columns is {shown(record)}; it must list columns, or have beside each {BESIDE}."
        )
    return {name: _beside(name, how) for name, how in record.items()}


def _beside(name: str, how: JSON) -> Any:
    words = set(how) if isinstance(how, dict) else None
    if how is None:
        return None
    if words == {"categories"}:
        return list(CONSTANTS.given(f"the categories of {name!r}", how["categories"]))
    if words == {"days"}:
        return _two(name, CONSTANTS.given(f"the days of {name!r}", how["days"]))
    if words in ({"bounds"}, {"bounds", "bins"}, {"bins"}):
        bins = how.get("bins", 1)
        if isinstance(bins, bool) or not isinstance(bins, int):
            raise InvalidParameter(f"the bins of {name!r} are {shown(bins)}; they are a whole number.")
        if "bounds" not in how:
            return bins
        low, high = _two(name, NUMBERS.given(f"the bounds of {name!r}", how["bounds"]))
        return Bins(low, high, bins) if "bins" in how else (low, high)
    raise InvalidParameter(f"beside the column {name!r} stands {shown(how)}; it must be {BESIDE}.")


def _two(name: str, ends: Sequence[Any] | None) -> tuple[Any, Any]:
    if ends is None or len(ends) != 2:
        raise InvalidParameter(f"beside the column {name!r} stand two ends, the lower one first.")
    return ends[0], ends[1]


def marginals_record(given: Any) -> JSON:
    """A number of columns, or sets of them, for a request."""
    if isinstance(given, int | str) or not isinstance(given, Iterable):
        return given
    return [one if isinstance(one, str) else list(one) for one in given]
