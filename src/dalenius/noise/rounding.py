"""Continuous numbers, rounded to the nearest multiple of 2^-bits: the rounding is exact.

A row of numbers is a function of a few uniform numbers of unlimited precision. Doubles give each number to
within an error; where all of that rounds alike, that is the answer, and a row where it does not is computed
again with more digits and certified arithmetic until it does. What comes out is therefore exactly the
rounding of an ideal continuous draw: no property of floating-point numbers enters its law.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from dalenius.core import checks
from dalenius.core.arrays import Ints, Reals
from dalenius.errors import InvalidParameter
from dalenius.noise.interval import Interval
from dalenius.noise.lazy import STEP


class Lazy(Protocol):
    """What has digits, and can fetch more of them."""

    @property
    def bits(self) -> int: ...

    def more(self) -> None: ...


Settled = tuple[Sequence[Lazy], Callable[[int], list[Interval]]]
Row = Callable[[int], Settled]
"""For the number of a row: its uniform numbers, and bounds on its entries at any precision."""

DEFAULT_BITS = 32
MAX_BITS = 40
LARGEST = 2.0**62


def to_units(value: Reals, error: Reals, bits: int, row: Row) -> Ints:
    """floor(x 2^bits + 1/2) for rows of numbers x within `error` of `value`, certain.

    The fraction of t = value 2^bits is exact; a relative 2^-50 is added to the error for what the caller's
    own error arithmetic may have lost.
    """
    t = np.ldexp(value, bits)
    reach = np.ldexp(error, bits) * (1 + 2.0**-20) + np.abs(t) * 2.0**-52
    whole = np.floor(t)
    rest = t - whole
    doubt = ~(np.abs(rest - 0.5) > reach) | ~(np.abs(t) < LARGEST)
    with np.errstate(invalid="ignore"):
        units: Ints = whole.astype(np.int64) + (rest >= 0.5)
    for i in np.flatnonzero(doubt.any(axis=1)):
        units[i] = settle(*row(int(i)), bits)
    return units


def settle(uniforms: Sequence[Lazy], enclose: Callable[[int], list[Interval]], bits: int) -> list[int]:
    """The rounded entries of one row, with as many digits as it takes."""
    while True:
        precision = max(u.bits for u in uniforms) + STEP
        units = [entry.nearest(bits) for entry in enclose(precision)]
        if None not in units:
            return [unit for unit in units if unit is not None]
        least = min(u.bits for u in uniforms)
        for u in uniforms:
            if u.bits < least + STEP:  # what many rows share may have digits enough, and is long to fetch
                u.more()


def bits_of(bits: Any) -> int:
    """How fine the result is: multiples of 2^-bits."""
    count = checks.count("bits", bits)
    if count > MAX_BITS:
        raise InvalidParameter(f"bits is {count}; it must be at most {MAX_BITS}.")
    return count
