"""Numbers that come from data, as the doubles they are: never rounded, never shown."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from dalenius.core.arrays import Array
from dalenius.core.arrays import Reals as Reals
from dalenius.errors import InvalidParameter
from dalenius.mechanisms._support.exact_arrays import array_of, exactly

WHOLE = 1 << 53
"""Whole numbers up to here are doubles; larger ones are clamped, which never drives two of them apart."""


def reals(name: str, values: object, least: int = 1) -> Reals:
    """A list of finite numbers as doubles, each exactly the number given.

    Whole numbers beyond 2^53 are clamped to it: rounding them to doubles could turn a change of 1 into a
    change of 2, clamping moves two numbers together or not at all. What is not a finite real number is
    refused.
    """
    given = _listed(name, values)
    if given.ndim != 1:
        raise InvalidParameter(f"{name} has {given.ndim} dimensions; it must be a plain list of numbers.")
    if len(given) < least:
        raise InvalidParameter(f"{name} has {len(given)} entries; it must have at least {least}.")
    if given.size and (given.dtype.kind not in "iuf" or given.dtype.itemsize > 8):
        raise InvalidParameter(f"{name} holds {given.dtype} values; it must hold integers or doubles.")
    if given.dtype.kind in "iu" and given.dtype.itemsize == 8:
        given = np.minimum(given, WHOLE) if given.dtype.kind == "u" else np.clip(given, -WHOLE, WHOLE)
    result = given.astype(np.float64)
    if not np.isfinite(result).all():
        raise InvalidParameter(f"{name} holds a value that is not a finite number; every value must be one.")
    return result


def _listed(name: str, values: Any) -> Array:
    if isinstance(values, str | bytes | bytearray):
        raise InvalidParameter(f"{name} is text; it must be a list of numbers.")
    # NumPy would turn a list of small and huge integers into rounded doubles.
    given = array_of(values, name)
    if given.dtype != object:
        return given
    exact = np.array([_exact(name, value) for value in given.ravel().tolist()], dtype=np.float64)
    return exact.reshape(given.shape)


def _exact(name: str, value: Any) -> float:
    number = exactly(value, name)
    if isinstance(number, Fraction):
        raise InvalidParameter(f"{name} holds a value of type Fraction; it must hold integers or doubles.")
    return float(max(-WHOLE, min(WHOLE, number))) if isinstance(number, int) else number
