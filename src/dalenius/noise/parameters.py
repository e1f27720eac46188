"""Checks of what enters a sampler: scales as exact rationals, sizes as shapes."""

from __future__ import annotations

import math
import operator
from fractions import Fraction
from typing import Any, SupportsIndex

import numpy as np

from dalenius.core import checks
from dalenius.core.arrays import Array, has_mask
from dalenius.errors import InvalidParameter

Size = SupportsIndex | tuple[SupportsIndex, ...] | None

LARGEST_SCALE = Fraction(1 << 56)
"""Up to this scale a draw fits an int64 but for one in more than 2^90."""


def exact(name: str, value: object, allowed: str = "a finite number") -> Fraction:
    """The exact value of a float, an integer or a Fraction."""
    if isinstance(value, Fraction):
        return value
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return Fraction(int(value))
    return Fraction(checks.number(name, value, allowed))


def positive(name: str, value: object, why: str = "") -> Fraction:
    """The exact value of a number above 0."""
    result = exact(name, value, "a finite number above 0")
    if result <= 0:
        raise InvalidParameter(f"{name} is {value}; it must be a finite number above 0.{why}")
    return result


def scale_of(name: str, value: object) -> Fraction:
    """A scale of noise: above 0, at most 2^56."""
    result = positive(name, value, " Noise of scale 0 hides nothing.")
    if result > LARGEST_SCALE:
        raise InvalidParameter(
            f"{name} is {_short(result)}; it must be at most 2^56, so that draws fit 64 bits. "
            "Take a coarser grid."
        )
    return result


def probability_of(name: str, value: object) -> Fraction:
    """A probability."""
    result = exact(name, value, "a number in [0, 1]")
    if not 0 <= result <= 1:
        raise InvalidParameter(f"{name} is {_short(result)}; it must be a number in [0, 1].")
    return result


def shape_of(size: Size) -> tuple[int, ...]:
    """The shape asked for; one number alone (None) has the empty shape."""
    if size is None:
        return ()
    if isinstance(size, bool | np.bool_):
        raise InvalidParameter(f"size is {size!r}; it must be a whole number or a tuple of them.")
    try:
        shape = tuple(operator.index(n) for n in size) if isinstance(size, tuple) else (operator.index(size),)
    except TypeError:
        raise InvalidParameter(f"size is {size!r}; it must be a whole number or a tuple of them.") from None
    if any(n < 0 for n in shape):
        raise InvalidParameter(f"size is {size!r}; no length may be negative.")
    return shape


def as_array(name: str, values: object) -> Array:
    """Whatever NumPy makes of it. Never repeats a value back."""
    if has_mask(values):
        raise InvalidParameter(
            f"{name} is or holds a masked array; what is behind the mask is not to be read."
        )
    try:
        return np.asarray(values)
    except Exception:
        raise InvalidParameter(f"{name} is ragged or cannot be read as an array.") from None


def floats(name: str, values: object) -> Any:
    """An array of finite doubles; whole numbers must be exact as doubles. Never repeats a value back."""
    given = as_array(name, values)
    if given.dtype == object or given.dtype.kind not in "fiu":
        raise InvalidParameter(f"{name} has type {given.dtype}; it must hold real numbers.")
    if given.dtype.kind == "f" and given.dtype.itemsize > 8:
        raise InvalidParameter(f"{name} has type {given.dtype}; give doubles (float64).")
    result = given.astype(np.float64, copy=False)
    if given.dtype.kind in "iu" and bool(np.any((given > 2**53) | (given < -(2**53)))):
        raise InvalidParameter(f"{name} holds a whole number beyond 2^53, which a double would round.")
    if not bool(np.all(np.isfinite(result))):
        raise InvalidParameter(f"{name} holds a value that is not a finite number; every value must be one.")
    return result


def _short(value: Fraction) -> str:
    return f"{float(value):g}" if value < Fraction(1e300) and not math.isinf(value) else "beyond 1e300"
