"""Arrays and data frames as numbers and names. Shapes, types and names are public; no value is spoken of.

What is not a number is NaN: each estimator says what becomes of such rows, row by row.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence, Sized
from typing import Any

import numpy as np

from dalenius.core.arrays import Bools, Ints, Reals, unmasked
from dalenius.core.checks import shown
from dalenius.core.quiet import quiet
from dalenius.errors import InvalidParameter

NOT_NUMBERS = ("str", "cat", "date", "time", "period", "interval")
"""How the names of frames' column types begin that hold no numbers."""


def column(values: object, what: str = "x") -> tuple[Reals, str]:
    """One number a row, from a list, an array, a series or a frame of one column; and its name."""
    table, names = _table(values, what, what)
    if table.ndim == 2 and table.shape[1] == 1:
        table = table[:, 0]
    if table.ndim != 1:
        raise InvalidParameter.of(what, f"{what} has shape {table.shape}; it must be one column of numbers.")
    return table, name_of(values, names[0] if len(names) == 1 else what)


def matrix(values: object, what: str = "X") -> tuple[Reals, tuple[str, ...]]:
    """Rows of numbers, from a list of lists, an array or a frame, and its columns' names (x1, x2, ... if none)."""
    table, names = _table(values, what, "x", copied=False)  # large, and nothing here writes into it
    if table.shape == (0,) and isinstance(values, list | tuple):
        table = table.reshape(0, 1)  # no rows: a list cannot say how many columns they would have
    if table.ndim == 1 and hasattr(values, "name"):
        table, names = table[:, None], (name_of(values, "x1"),)
    if table.ndim != 2 or table.shape[1] == 0:
        raise InvalidParameter.of(
            what,
            f"{what} has shape {table.shape}; it must have two dimensions, rows and at least one column.",
        )
    return table, names or tuple(f"x{k + 1}" for k in range(table.shape[1]))


def levels(name: str, given: object, least: int = 2, most: int = 1000) -> tuple[Hashable, ...]:
    """Public values, which are never read off the data: between so many, each once."""
    if isinstance(given, str | bytes | dict | set | frozenset) or not isinstance(given, Iterable):
        raise InvalidParameter.of(
            name, f"{name} is {shown(given)}; it must list all the values there can be, which are public."
        )
    found = tuple(level.item() if isinstance(level, np.generic) else level for level in given)
    plain = all(isinstance(level, Hashable) for level in found)
    if not plain or not least <= len(found) <= most or len(set(found)) < len(found):
        many = f"{least}" if least == most else f"{least} to {most}"
        raise InvalidParameter.of(name, f"{name} is {shown(given)}; it must list {many} values, each once.")
    return found


class Places:
    """Rows that are places among levels already, as an engine told them; what is none is -1."""

    def __init__(self, places: Reals) -> None:
        self.places: Ints = np.where(np.isfinite(places), places, -1.0).astype(np.int64)

    def __len__(self) -> int:
        return len(self.places)


def codes(values: Any, known: Sequence[Hashable], what: str = "x") -> Ints:
    """The place of each row's value among public levels; -1 where it is none of them."""
    if isinstance(values, Places):
        return values.places
    if isinstance(values, str | bytes | dict) or not hasattr(values, "__len__"):
        raise InvalidParameter.of(what, f"{what} must be one value a row: a list, an array or a series.")
    places = {level: place for place, level in enumerate(known)}
    if not hasattr(values, "__array__"):
        # Not by way of an array: its shape would depend on whether all the values are lists.
        return np.array([_place(places, value) for value in values], dtype=np.int64)
    given = _array(values, what)
    if given.ndim == 2 and given.shape[1] == 1:
        given = given[:, 0]
    if given.ndim != 1:
        raise InvalidParameter.of(what, f"{what} has shape {given.shape}; it must be one value a row.")
    if given.dtype == object:
        return np.array([_place(places, value) for value in given], dtype=np.int64)
    different, which = np.unique(given, return_inverse=True)
    return np.array([_place(places, value) for value in different], dtype=np.int64)[which]


def labels(y: Any, known: Sequence[Hashable]) -> Reals:
    """The places of responses among public classes, as numbers; NaN where one is none of them."""
    places = codes(y, known, "y")
    kind = str(getattr(y, "dtype", "")).lower()
    texts = [isinstance(level, str) for level in known]
    numbers = kind.startswith(("bool", "int", "uint", "float"))
    if (kind.startswith(("str", "<u")) and not any(texts)) or (numbers and all(texts)):
        # The type of a column is public.
        raise InvalidParameter.of(
            "y",
            f"y is a column of {'numbers' if numbers else 'text'} and classes are {shown(tuple(known))}, so that no "
            "row would count; name the labels of y in classes=, the positive one last.",
        )
    return np.where(places < 0, np.nan, places)


def _place(places: dict[Hashable, int], value: Any) -> int:
    try:
        return places.get(value.item() if isinstance(value, np.generic) else value, -1)
    except Exception:  # whatever a value raises, it is no level
        return -1


def name_of(values: object, what: str) -> str:
    """What a series calls itself; `what` where it has no name."""
    name = None if hasattr(values, "columns") else getattr(values, "name", None)
    return str(name) if name is not None and _is_label(name) else what


def finite(*columns: Reals) -> Bools:
    """Which rows have a finite number everywhere."""
    return np.asarray(
        np.logical_and.reduce(
            [np.isfinite(c) if c.ndim == 1 else np.isfinite(c).all(axis=1) for c in columns]
        )
    )


def same_length(first: Sized, second: Sized, what: str) -> None:
    """Raise where two columns that belong together have different numbers of rows."""
    if len(first) != len(second):
        raise InvalidParameter(
            f"{what} have {len(first)} and {len(second)} rows; they must be of the same rows."
        )


def _table(values: Any, what: str, one: str, copied: bool = True) -> tuple[Reals, tuple[str, ...]]:
    if hasattr(values, "toarray"):
        raise InvalidParameter.of(
            what, f"{what} is a sparse matrix, which is not supported; pass {what}.toarray()."
        )
    if isinstance(values, str) and "~" in values:
        raise InvalidParameter.of(
            what,
            f"{what} is a formula, which is not read; pass the columns themselves, such as frame[['a', 'b']].",
        )
    if isinstance(values, str | bytes | dict) or values is None or callable(values):
        raise InvalidParameter.of(
            what, f"{what} must be numbers: a list, an array, a series or a data frame."
        )
    kinds = list(values.dtypes) if hasattr(values, "columns") and hasattr(values, "dtypes") else []
    kinds = [str(kind).lower() for kind in [*kinds, getattr(values, "dtype", "")]]
    if any(kind.startswith(NOT_NUMBERS) or kind.startswith(("<u", "<m", "|s")) for kind in kinds):
        raise InvalidParameter.of(
            what,
            f"{what} has a column of text, categories, dates or times; make numbers of it with fixed, public codes or "
            "units first.",
        )
    given = _array(values, what)
    if given.dtype.kind in "USMmcV":
        raise InvalidParameter.of(what, f"{what} must hold real numbers; its type is {given.dtype}.")
    with quiet():  # of a single value
        try:
            table = np.array(given, dtype=np.float64, copy=copied or None)
        except Exception:
            # One odd value must not decide for all of them.
            table = np.array([_number(value) for value in given.ravel()], dtype=float).reshape(given.shape)
    return table, _names(values)


def _array(values: Any, what: str) -> Any:
    """As an array; what is masked is missing."""
    try:
        values = unmasked(values)
        return np.asarray(values) if hasattr(values, "__array__") else np.asarray(values, dtype=object)
    except Exception:
        raise InvalidParameter.of(what, f"{what} must be a table: rows of the same length.") from None


def _names(values: object) -> tuple[str, ...]:
    """Of a frame's columns."""
    for word in ("columns", "column_names"):  # pyarrow's `columns` are the data
        names = getattr(values, word, None)
        if names is not None and all(map(_is_label, names)):
            return tuple(map(str, names))
    return ()


def _is_label(name: object) -> bool:
    """Whether it is a name: attributes of a frame may also be its columns, and results are published."""
    return not callable(name) and (isinstance(name, tuple) or np.ndim(name) == 0)  # type: ignore[arg-type]


def _number(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except Exception:  # whatever a value raises, it is not a number
        return float("nan")
