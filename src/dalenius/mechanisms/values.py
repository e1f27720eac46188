"""Numbers from data on their way through a mechanism: any shape, exact, never shown.

A list of integers and floats is not handed to NumPy as it is: turning a large integer into a double rounds
it, and rounding can drive two neighbouring numbers further apart than the sensitivity allows. Values decide
about refusal only where they must (NaN and infinity); everything else goes by type and shape.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.calculus.errors import InvalidParameter

Numbers = NDArray[Any]
"""float64, int64, uint64, or Python integers and Fractions in an object array."""

LARGEST, SMALLEST = (1 << 63) - 1, -(1 << 63)


def real_numbers(value: object, name: str = "value") -> Numbers:
    """Finite real numbers of any shape, each exactly the number given."""
    array = _array(value, name)
    if array.dtype.kind == "f":
        if array.dtype.itemsize > 8:
            raise InvalidParameter(f"{name} has type {array.dtype}; give doubles (float64) or whole numbers.")
        array = array.astype(np.float64, copy=False)
        if not np.isfinite(array).all():
            raise InvalidParameter(
                f"{name} holds NaN or an infinity; every number must be finite. Drop or impute missing "
                "values by a rule that looks at one record at a time."
            )
    elif array.dtype.kind not in "iuO":
        raise InvalidParameter(f"{name} has type {array.dtype}; it must hold real numbers.")
    return _not_empty(array, name)


def whole_numbers(value: object, name: str = "value") -> Numbers:
    """Whole numbers of any shape, by type: a float is refused even where it is whole."""
    array = _array(value, name)
    if array.dtype.kind not in "iu" and not (
        array.dtype.kind == "O" and all(isinstance(x, int) for x in array.ravel().tolist())
    ):
        raise InvalidParameter(
            f"{name} has type {array.dtype}; it must hold whole numbers of an integer type. Round to "
            "integers first, or use a mechanism for real numbers."
        )
    return _not_empty(array, name)


def added(a: Numbers, b: Numbers) -> Numbers:
    """a + b without overflow: int64 where all of it fits, else Python integers."""
    if all(x.dtype == np.int64 and bool(((x > -(1 << 62)) & (x < 1 << 62)).all()) for x in (a, b)):
        return np.asarray(a + b)
    return np.asarray(a.astype(object) + b.astype(object), dtype=object)


def integers_like(result: Numbers, scalar: bool) -> Any:
    """An int for a scalar; for an array int64, clamped to its range, whatever the numbers are."""
    if scalar:
        return int(result.item())
    if result.dtype == object:
        clamped = [max(SMALLEST, min(LARGEST, x)) for x in result.ravel().tolist()]
        result = np.array(clamped, dtype=np.int64).reshape(result.shape)
    return result.astype(np.int64, copy=False)


def _array(value: object, name: str) -> Numbers:
    if value is None or isinstance(value, bool | np.bool_ | str | bytes | bytearray | complex):
        raise InvalidParameter(f"{name} is of type {type(value).__name__}; it must be a number or an array.")
    if isinstance(value, int | Fraction):
        return _narrow(np.array(value, dtype=object), name)
    try:
        array = np.array(value, dtype=object) if isinstance(value, list | tuple) else np.asarray(value)
    except ValueError:
        raise InvalidParameter(f"{name} is a ragged list; all rows must have the same length.") from None
    return _narrow(array, name) if array.dtype == object else array


def _narrow(array: Numbers, name: str) -> Numbers:
    """An object array as doubles if it holds only those, else with every number exact."""
    flat = array.ravel().tolist()
    if any(isinstance(x, np.ndarray | list | tuple) for x in flat):
        raise InvalidParameter(f"{name} is a ragged list; all rows must have the same length.")
    exact = [_exact(x, name) for x in flat]
    if exact and all(isinstance(x, float) for x in exact):
        return np.array(exact, dtype=np.float64).reshape(array.shape)
    if any(isinstance(x, float) and not np.isfinite(x) for x in exact):
        return np.array([np.nan])  # refused by the caller in the words it has for it
    whole = [Fraction(x) if isinstance(x, float) else x for x in exact]
    if whole and all(isinstance(x, int) and SMALLEST <= x <= LARGEST for x in whole):
        return np.array(whole, dtype=np.int64).reshape(array.shape)
    result = np.empty(len(whole), dtype=object)
    result[:] = whole
    return result.reshape(array.shape)


def _exact(x: object, name: str) -> int | float | Fraction:
    if isinstance(x, bool | np.bool_):
        pass
    elif isinstance(x, Fraction | float):
        return x
    elif isinstance(x, int | np.integer):
        return int(x)
    elif isinstance(x, np.floating) and x.itemsize <= 8:
        return float(x)
    raise InvalidParameter(f"{name} holds an entry of type {type(x).__name__}; it must hold real numbers.")


def _not_empty(array: Numbers, name: str) -> Numbers:
    if array.size == 0:
        raise InvalidParameter(f"{name} is empty (shape {array.shape}); there is nothing to release.")
    return array
