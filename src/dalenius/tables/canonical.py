"""One text for one question: the identity under which a ledger remembers that it was answered."""

from __future__ import annotations

import dataclasses
import datetime
import json
from fractions import Fraction
from typing import Any


def canonical(thing: Any) -> str:
    """Frozen descriptions as JSON: equal things give equal texts, different ones different texts."""
    return json.dumps(
        _plain(thing), sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )


def _plain(thing: Any) -> Any:
    if thing is None or isinstance(thing, bool | int | str):
        return thing
    if isinstance(thing, float):
        return {"float": repr(thing)}
    if isinstance(thing, Fraction):
        return {"fraction": str(thing)}
    if isinstance(thing, datetime.date):
        return {type(thing).__name__: thing.isoformat()}
    if isinstance(thing, tuple | list):
        return [_plain(part) for part in thing]
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        parts = {f.name: _plain(getattr(thing, f.name)) for f in dataclasses.fields(thing) if f.compare}
        return {type(thing).__name__: parts}
    raise TypeError(f"a {type(thing).__name__} has no canonical text")
