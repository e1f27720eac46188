"""Tables of numbers as people have them, read so that no value can make the reading fail."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from dalenius.core.arrays import Reals
from dalenius.errors import InvalidParameter

NOT_NUMBERS = ("str", "cat", "date", "time", "period", "interval")
"""How the names of frames' column types begin that hold no numbers."""


def matrix(values: Any, columns: int | None = None, model: str = "this model") -> Reals:
    """A two-dimensional array of floats; its shape and its types are public, its values are not spoken of."""
    if hasattr(values, "toarray"):
        raise InvalidParameter("X is a sparse matrix, which is not supported; pass X.toarray().")
    kinds = [str(kind).lower() for kind in values.dtypes] if hasattr(values, "columns") else []
    try:
        given = np.asarray(values) if hasattr(values, "__array__") else np.asarray(values, dtype=object)
    except Exception:
        raise InvalidParameter("X must be a table: rows of the same length.") from None
    if given.dtype.kind in "US" or any(kind.startswith(NOT_NUMBERS[:2]) for kind in kinds):
        raise InvalidParameter(
            "X must be a table of numbers. Encode text and categories with fixed, public codes first."
        )
    if given.dtype.kind in "Mm" or any(kind.startswith(NOT_NUMBERS[2:]) for kind in kinds):
        raise InvalidParameter(
            "X has a column of dates or times; make numbers of it in public units first, such as days since 2000."
        )
    if given.dtype.kind == "c":
        raise InvalidParameter("Complex data not supported: X must be a table of real numbers.")
    if given.shape == (0,) and isinstance(values, list | tuple):
        given = given.reshape(0, columns or 1)  # no rows: a list cannot say how many columns they would have
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a single value
        try:
            table = np.asarray(given, dtype=np.float64)
        except Exception:
            # One odd value must not decide for all of them: what is not a number is NaN, and its row absent.
            table = np.array([number(value) for value in given.ravel()]).reshape(given.shape)
    if table.ndim != 2 or table.shape[1] == 0:
        raise InvalidParameter(
            f"X has {table.ndim} dimensions; it must have two, rows and at least one column. Reshape your data: "
            "X.reshape(-1, 1) makes one column of a list."
        )
    if columns is not None and table.shape[1] != columns:
        raise InvalidParameter(
            f"X has {table.shape[1]} features, but {model} is expecting {columns} features as input."
        )
    return table


def number(value: object) -> float:
    """A float; NaN for what cannot be read as one."""
    try:
        return float(value)  # type: ignore[arg-type]
    except Exception:  # whatever a value raises, it is not a number
        return float("nan")
