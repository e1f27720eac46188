"""Numbers from data on their way through a mechanism: any shape, exact, never shown.

A list of integers and floats is not handed to NumPy as it is: turning a large integer into a double rounds
it, and rounding can drive two neighbouring numbers further apart than the sensitivity allows. Values decide
about refusal only where they must (NaN and infinity); everything else goes by type and shape, the time it
takes included.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dalenius.core.arrays import Array, has_mask
from dalenius.errors import InvalidParameter

Numbers = Array
"""float64, a NumPy integer type, or Python integers and Fractions in an object array."""

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


def array_of(value: object, name: str) -> Array:
    """Whatever NumPy makes of it, if that is an array; no value decides and no error of NumPy shows."""
    if value is None or isinstance(value, bool | np.bool_ | str | bytes | bytearray | complex):
        raise InvalidParameter(f"{name} is of type {type(value).__name__}; it must be a number or an array.")
    if has_mask(value):
        raise InvalidParameter(
            f"{name} is or holds a masked array, and what is behind the mask is not to be read; give "
            "value.compressed() or value.filled(...), by a rule that looks at one record at a time."
        )
    try:
        return np.array(value, dtype=object) if isinstance(value, list | tuple) else np.asarray(value)
    except Exception:
        raise InvalidParameter(
            f"{name} is ragged or cannot be read as an array; all rows must have the same length."
        ) from None


def _array(value: object, name: str) -> Numbers:
    if isinstance(value, int | Fraction) and not isinstance(value, bool):
        return _narrow(np.array(value, dtype=object), name)
    array = array_of(value, name)
    return _narrow(array, name) if array.dtype == object else array


def _narrow(array: Numbers, name: str) -> Numbers:
    """An object array as doubles if it holds only those, else with every number exact: by type alone."""
    exact = [exactly(x, name) for x in array.ravel().tolist()]
    if exact and all(isinstance(x, float) for x in exact):
        return np.array(exact, dtype=np.float64).reshape(array.shape)
    if any(isinstance(x, float) and not np.isfinite(x) for x in exact):
        return np.array([np.nan])  # refused by the caller in the words it has for it
    result = np.empty(len(exact), dtype=object)
    result[:] = [Fraction(x) if isinstance(x, float) else x for x in exact]
    return result.reshape(array.shape)


def exactly(x: object, name: str) -> int | float | Fraction:
    """One entry of a list as a plain number."""
    match x:
        case bool() | np.bool_():
            pass
        case float():  # np.float64 is one, and so are subclasses
            return float.__pos__(x)
        case int():
            return int.__pos__(x)
        case np.integer():
            return int(x)
        case np.floating() if x.itemsize <= 8:
            return float(x)
        case Fraction():
            return Fraction(x.numerator, x.denominator)
        case np.ndarray() | list() | tuple():
            raise InvalidParameter(f"{name} is a ragged list; all rows must have the same length.")
    raise InvalidParameter(f"{name} holds an entry of type {type(x).__name__}; it must hold real numbers.")


def _not_empty(array: Numbers, name: str) -> Numbers:
    if array.size == 0:
        raise InvalidParameter(f"{name} is empty (shape {array.shape}); there is nothing to release.")
    return array
