"""Vectors with density proportional to exp(-norm), rounded exactly to multiples of 2^-bits.

In R^d such a vector is r u with r of the gamma law of shape d + 1 and u uniform in the unit ball of the
norm, or r of shape d and u from its surface (the cone measure): Hardt and Talwar (2010).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dalenius.calculus.errors import InvalidParameter
from dalenius.noise.continuous import dimension, fill_rows
from dalenius.noise.exponential import certified_gamma, exponentials, gammas
from dalenius.noise.interval import Interval, exponential, uniform, whole
from dalenius.noise.lazy import LazyUniform
from dalenius.noise.normal import certified_direction, direction
from dalenius.noise.parameters import Size, shape_of
from dalenius.noise.rounding import BITS, bits_of, to_units
from dalenius.noise.source import Words, words

Units = NDArray[np.int64]
Floats = NDArray[np.float64]
Norm = Literal["l1", "l2", "linf"]


def norm_noise(
    d: int, norm: Norm = "l2", size: Size = None, *, bits: int = BITS, as_units: bool = False
) -> Any:
    """Vectors of R^d with density proportional to exp(-|z|), rounded exactly to multiples of 2^-bits.

    norm: "l1", "l2" or "linf". Floats of shape (*size, d); with `as_units` the multiples, as integers.

    >>> from dalenius.noise import norm_noise
    >>> norm_noise(3, "linf", 10).shape
    (10, 3)
    """
    d, fine = dimension("d", d), bits_of(bits)
    if norm not in _SAMPLERS:
        raise InvalidParameter(f"norm is {norm!r}; it must be 'l1', 'l2' or 'linf'.")
    draw = _SAMPLERS[norm]
    return fill_rows(size, d, lambda n: draw(d, n, fine), fine, as_units).reshape((*shape_of(size), d))


def _l1(d: int, n: int, bits: int) -> Units:
    """Independent Laplace numbers: an exponential one on 63 digits, and the first digit for the sign."""
    drawn = words(n * d).reshape(n, d)
    negative = (drawn >> np.uint64(63)).astype(np.bool_)
    values, relative = exponentials(drawn, 63)

    def row(i: int) -> tuple[list[LazyUniform], Callable[[int], list[Interval]]]:
        parts = [LazyUniform(int(w) & (2**63 - 1), 63) for w in drawn[i]]

        def enclose(precision: int) -> list[Interval]:
            found = [exponential(u, precision) for u in parts]
            return [-x if minus else x for x, minus in zip(found, negative[i], strict=True)]

        return parts, enclose

    return to_units(np.where(negative, -values, values), values * relative, bits, row)


def _l2(d: int, n: int, bits: int) -> Units:
    """A gamma number of shape d times a point of the sphere."""
    pairs = -(-d // 2)
    drawn = words(n * d).reshape(n, d)
    first, second = words(n * pairs).reshape(n, pairs), words(n * pairs).reshape(n, pairs)
    radius, off = gammas(drawn)
    values, error = direction(first, second, d)

    def row(i: int) -> tuple[list[LazyUniform], Callable[[int], list[Interval]]]:
        length = [LazyUniform(int(w), 64) for w in drawn[i]]
        angles = [LazyUniform(int(w), 64) for w in (*first[i], *second[i])]

        def enclose(precision: int) -> list[Interval]:
            r = certified_gamma(length, precision)
            return [r * x for x in certified_direction(angles, d, precision)]

        return [*length, *angles], enclose

    return to_units(radius * values, radius * error + off * (np.abs(values) + error), bits, row)


def _linf(d: int, n: int, bits: int) -> Units:
    """A gamma number of shape d + 1 times a point of the cube [-1, 1]^d."""
    drawn, places = words(n * (d + 1)).reshape(n, d + 1), words(n * d).reshape(n, d)
    radius, off = gammas(drawn)
    values, error = cube(places)

    def row(i: int) -> tuple[list[LazyUniform], Callable[[int], list[Interval]]]:
        length = [LazyUniform(int(w), 64) for w in drawn[i]]
        parts = [LazyUniform(int(w), 64) for w in places[i]]

        def enclose(precision: int) -> list[Interval]:
            r = certified_gamma(length, precision)
            return [r * certified_side(u, precision) for u in parts]

        return [*length, *parts], enclose

    return to_units(radius * values, radius * error + off * (1 + error), bits, row)


def cube(drawn: Words) -> tuple[Floats, float]:
    """2 U - 1 for each word, off by less than 2^-51 (three roundings near 1, and half a unit of 2^-63)."""
    return (drawn.astype(np.float64) + 0.5) * 2.0**-63 - 1.0, 2.0**-51


def certified_side(u: LazyUniform, precision: int) -> Interval:
    """2 U - 1."""
    return uniform(u, precision).times(2) + whole(-1, precision)


_SAMPLERS: dict[str, Callable[[int, int, int], Units]] = {"l1": _l1, "l2": _l2, "linf": _linf}
