"""One text for one question: the identity under which a ledger remembers that it was answered.

Two different questions never have the same text; that is what matters, since one would be answered from the record
of the other. So everything is written by its value and with its type (`1`, `True`, `1.0` and `"1"` are four things),
and what has no value to be written by, such as a function, has no text: `NoCanonicalText` is raised.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import hashlib
import json
import sys
from fractions import Fraction
from typing import Any

import numpy as np


class NoCanonicalText(TypeError):
    """Something that may be another thing tomorrow, or looks like one: it cannot be recognised."""


def canonical(thing: Any) -> str:
    """Frozen descriptions as JSON: equal things give equal texts, different ones different texts."""
    return json.dumps(
        _plain(thing), sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )


def _plain(thing: Any) -> Any:
    if isinstance(thing, np.generic):
        thing = _scalar(thing)
    if thing is None or type(thing) in (bool, int, str):
        return thing
    if isinstance(thing, enum.Enum):
        return {"enum": [_importable(type(thing)), thing.name]}
    if isinstance(thing, str):
        return str(thing)
    if isinstance(thing, float):
        return {"float": repr(float(thing))}
    if isinstance(thing, Fraction):
        return {"fraction": str(thing)}
    if isinstance(thing, decimal.Decimal):
        return {"decimal": str(thing)}
    if isinstance(thing, datetime.date):
        return {type(thing).__name__: thing.isoformat()}
    if isinstance(thing, tuple | list):
        return [_plain(part) for part in thing]
    if isinstance(thing, dict):
        return {"dict": sorted(([_plain(k), _plain(v)] for k, v in thing.items()), key=json.dumps)}
    if isinstance(thing, np.ndarray):
        return _array(thing)
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        return {_ours(type(thing)): _fields(thing)}
    if hasattr(thing, "get_params") and not isinstance(thing, type):
        settings = {name: _plain(value) for name, value in thing.get_params(deep=False).items()}
        return {"estimator": [_importable(type(thing)), settings]}
    raise NoCanonicalText(f"a {type(thing).__name__} has no canonical text")


def _scalar(thing: Any) -> Any:
    """NumPy's scalar as Python's, where that is the same value."""
    if isinstance(thing, np.bool_ | np.integer | np.float64 | np.float32 | np.float16 | np.str_):
        return thing.item()
    raise NoCanonicalText(f"a {type(thing).__name__} has no canonical text")


def _array(thing: Any) -> dict[str, Any]:
    if thing.dtype.kind not in "biuf":
        return {"array": [thing.dtype.kind, _plain(thing.tolist())]}
    held = hashlib.sha256(np.ascontiguousarray(thing).tobytes()).hexdigest()
    return {"array": [thing.dtype.str, list(thing.shape), held]}


def _fields(thing: Any) -> dict[str, Any]:
    return {f.name: _plain(getattr(thing, f.name)) for f in dataclasses.fields(thing) if f.compare}


def _ours(kind: type) -> str:
    """Descriptions are told by the names of their classes, which are known to differ for ours."""
    return kind.__name__ if kind.__module__.startswith("dalenius.") else _importable(kind)


def _importable(kind: type) -> str:
    """A class that everybody finds under one name: not one that was typed into a notebook, and may change."""
    found: Any = sys.modules.get(kind.__module__)
    for part in kind.__qualname__.split("."):
        found = getattr(found, part, None)
    if kind.__module__ == "__main__" or found is not kind:
        raise NoCanonicalText(f"the class {kind.__qualname__} cannot be found by its name")
    return f"{kind.__module__}.{kind.__qualname__}"
