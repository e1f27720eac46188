"""Responses as numbers, each on its own; what is none of the declared values is NaN, and its row absent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalenius.core import checks
from dalenius.core.arrays import Bools, Reals
from dalenius.errors import InvalidParameter


def class_codes(y: Any, classes: Sequence[Any]) -> Reals:
    """0 for the first class, 1 for the second, and so on."""
    values = _listed(y)
    _one_kind(y, values, classes)
    codes = np.full(len(values), np.nan)
    for code, label in enumerate(classes):
        codes[_same(values, label)] = code
    return codes


def checked_classes(classes: object, least: int, most: int) -> tuple[Any, ...]:
    """Between so many different labels: public, never read off the data."""
    if isinstance(classes, str) or not isinstance(classes, Sequence | np.ndarray):
        raise InvalidParameter.of(
            "classes", "classes must be a list of the possible labels; they are public."
        )
    labels = tuple(c.item() if isinstance(c, np.generic) else c for c in classes)
    plain = all(isinstance(label, str | int | float | bool) for label in labels)
    if not plain or not least <= len(labels) <= most or len(set(labels)) < len(labels):
        many = f"{least}" if least == most else f"{least} to {most}"
        raise InvalidParameter.of(
            "classes",
            f"classes is {checks.shown(classes)}; it must name {many} different labels, texts or numbers.",
        )
    return labels


def _listed(y: Any) -> Any:
    if y is None or isinstance(y, str | bytes | dict):
        raise InvalidParameter.of("y", "y must be a list of labels, one for each row.")
    try:
        if isinstance(y, np.ma.MaskedArray):
            values = np.ma.filled(y.astype(object), None)
        elif hasattr(y, "__array__"):
            values = np.asarray(y)
        else:
            items = list(y)
            values = np.empty(len(items), dtype=object)
            values[:] = items
    except Exception:
        raise InvalidParameter.of("y", "y must be a list of labels, one for each row.") from None
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise InvalidParameter.of("y", "y must be a list of labels, one for each row.")
    return values


def _one_kind(y: Any, values: Any, classes: Sequence[Any]) -> None:
    """Raise where a column's type, which is public, says that no row can be of a class."""
    named = str(getattr(y, "dtype", "")).lower().startswith(("str", "string", "<u"))
    text = named or values.dtype.kind == "U"
    texts = [isinstance(label, str) for label in classes]
    if (text and not any(texts)) or (values.dtype.kind in "biuf" and all(texts)):
        raise InvalidParameter.of(
            "y",
            f"y is a column of {'text' if text else 'numbers'} and classes are {checks.shown(tuple(classes))}, so that "
            "no row would count; name the labels of y in classes=, the positive one last.",
        )


def _same(values: Any, label: object) -> Bools:
    kind = values.dtype.kind
    if kind not in "biufU":
        return np.array([_is(value, label) for value in values.tolist()], dtype=bool)
    if (kind == "U") != isinstance(label, str):
        return np.zeros(len(values), dtype=bool)
    numbers = values.astype(np.int64) if kind == "b" else values  # flags cannot be compared with all integers
    return np.asarray(numbers == label, dtype=bool)


def _is(value: object, label: object) -> bool:
    try:
        return bool(value == label)
    except Exception:  # missing values of some libraries cannot be compared
        return False
