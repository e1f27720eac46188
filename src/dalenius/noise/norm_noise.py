"""Vectors with density proportional to exp(-norm), rounded exactly to multiples of 2^-bits.

In R^d such a vector is r u with r of the gamma law of shape d + 1 and u uniform in the unit ball of the
norm (Hardt and Talwar 2010). For the l2 norm it is, more simply, sqrt(t) N with N a standard normal vector and
t, independent of it, the sum of squares of d + 1 standard normal numbers: t has density proportional to
t^((d-1)/2) exp(-t/2), N sqrt(t) given t has density proportional to t^(-d/2) exp(-|z|^2/(2t)), and

    integral of t^(-1/2) exp(-t/2 - |z|^2/(2t)) dt  =  sqrt(2 pi) exp(-|z|).

No entry needs the others then, but for the common factor sqrt(t).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, Literal

import numpy as np

from dalenius.core import checks
from dalenius.core.arrays import Ints, Reals, Words
from dalenius.noise.continuous import dimension, fill_rows
from dalenius.noise.exponential import certified_gamma, exponentials, gammas
from dalenius.noise.interval import Interval, exponential, uniform, whole
from dalenius.noise.lazy import LazyUniform
from dalenius.noise.normal import certified_pair, normals
from dalenius.noise.parameters import Size, shape_of
from dalenius.noise.rounding import DEFAULT_BITS, Row, Settled, bits_of, to_units
from dalenius.noise.source import words

Norm = Literal["l1", "l2", "linf"]


def norm_noise(
    d: int, norm: Norm = "l2", size: Size = None, *, bits: int = DEFAULT_BITS, as_units: bool = False
) -> Any:
    """Vectors of R^d with density proportional to exp(-|z|), rounded exactly to multiples of 2^-bits.

    Parameters
    ----------
    d
        The dimension.
    norm
        The norm: "l1", "l2" or "linf".
    size
        The shape of the result; None for a single draw.
    bits
        The grid has the granularity 2^-bits.
    as_units
        Whether to return whole multiples of the granularity, as integers, in place of floats.

    Returns
    -------
    ndarray
        An array of shape (*size, d).

    Raises
    ------
    InvalidParameter
        If a parameter is not one of those described.

    Examples
    --------
    >>> from dalenius.noise import norm_noise
    >>> norm_noise(3, "linf", 10).shape
    (10, 3)
    """
    d, fine = dimension("d", d), bits_of(bits)
    units = norm_units(d, norm, math.prod(shape_of(size)), 1 << fine)
    return (units if as_units else np.ldexp(units.astype(np.float64), -fine)).reshape((*shape_of(size), d))


def norm_units(d: int, norm: Norm, count: int, scale: int) -> Ints:
    """floor(scale z + 1/2) for `count` such vectors z, one row each; exact for any whole scale below 2^53."""
    checks.one_of("norm", norm, *_SAMPLERS)
    return fill_rows(count, d, lambda n: _SAMPLERS[norm](d, n, scale), 0, as_units=True)


def _l1(d: int, n: int, scale: int) -> Ints:
    """Independent Laplace numbers: an exponential one on 63 digits, and the first digit for the sign."""
    drawn = words(n * d)
    negative = (drawn >> np.uint64(63)).astype(np.bool_)
    values, relative = exponentials(drawn, 63)

    def row(i: int) -> Settled:
        part = LazyUniform(int(drawn[i]) & (2**63 - 1), 63)

        def enclose(precision: int) -> list[Interval]:
            value = exponential(part, precision).times(scale)
            return [-value if negative[i] else value]

        return [part], enclose

    return _scaled(np.where(negative, -values, values), values * relative, scale, row, 1).reshape(n, d)


def _l2(d: int, n: int, scale: int) -> Ints:
    """Normal numbers, two by two, times the root of a sum of d + 1 squares.

    Squares add up two by two to twice an exponential number; for even d one is left. The root of t, off by a
    relative r, is off by a relative r at most.
    """
    pairs, even = -(-d // 2), d % 2 == 0
    drawn = words(n * ((d + 1) // 2)).reshape(n, (d + 1) // 2)
    left = words(2 * n).reshape(2, n)
    first, second = words(n * pairs), words(n * pairs)
    total, off = gammas(drawn)
    total, off = 2 * total, 2 * off
    if even:
        last, wrong = (x[:, :1] for x in normals(left[0], left[1]))
        total, off = total + last * last, off + wrong * (2 * np.abs(last) + wrong)
    root = np.repeat(np.sqrt(total), pairs, axis=0)
    with np.errstate(invalid="ignore"):
        relative = np.repeat(off / total + 2.0**-50, pairs, axis=0)
    values, error = normals(first, second)

    @cache
    def length(i: int) -> Common:
        parts = [LazyUniform(int(w), 64) for w in drawn[i]]
        rest = [LazyUniform(int(w), 64) for w in left[:, i]] if even else []
        return Common(parts, partial(_root, parts, rest), rest)

    def row(i: int) -> Settled:
        shared = length(i // pairs)
        pair = [LazyUniform(int(first[i]), 64), LazyUniform(int(second[i]), 64)]

        def enclose(precision: int) -> list[Interval]:
            factor = shared(precision).times(scale)
            return [factor * x for x in certified_pair(pair[0], pair[1], precision)]

        return [shared, *pair], enclose

    with np.errstate(invalid="ignore"):
        reach = root * (error + relative * (np.abs(values) + error))
        coordinates = _scaled(root * values, reach, scale, row, 2)
    return coordinates.reshape(n, 2 * pairs)[:, :d]


def _root(parts: list[LazyUniform], rest: list[LazyUniform], precision: int) -> Interval:
    """The root of the sum of squares."""
    total = certified_gamma(parts, precision).times(2)
    if rest:
        last = certified_pair(rest[0], rest[1], precision)[0]
        total = total + last * last
    return total.sqrt()


def _linf(d: int, n: int, scale: int) -> Ints:
    """A gamma number of shape d + 1 times a point of the cube [-1, 1]^d."""
    drawn, places = words(n * (d + 1)).reshape(n, d + 1), words(n * d)
    radius, off = (np.repeat(x[:, 0], d) for x in gammas(drawn))
    values, error = cube(places)

    @cache
    def length(i: int) -> Common:
        parts = [LazyUniform(int(w), 64) for w in drawn[i]]
        return Common(parts, partial(certified_gamma, parts))

    def row(i: int) -> Settled:
        shared, part = length(i // d), LazyUniform(int(places[i]), 64)

        def enclose(precision: int) -> list[Interval]:
            return [shared(precision).times(scale) * certified_side(part, precision)]

        return [shared, part], enclose

    return _scaled(radius * values, radius * error + off * (1 + error), scale, row, 1).reshape(n, d)


class Common:
    """A number that many entries of one vector share: worked out once for each precision."""

    def __init__(
        self, parts: list[LazyUniform], enclose: Callable[[int], Interval], rest: Sequence[LazyUniform] = ()
    ) -> None:
        self._parts, self._enclose, self._known = [*parts, *rest], enclose, dict[tuple[int, int], Interval]()
        self.bits = max(part.bits for part in self._parts)

    def more(self) -> None:
        """Fetch more digits for all of them."""
        for part in self._parts:
            part.more()
        self.bits = max(part.bits for part in self._parts)

    def __call__(self, precision: int) -> Interval:
        key = self.bits, precision
        if key not in self._known:
            self._known[key] = self._enclose(precision)
        return self._known[key]


def _scaled(value: Reals, error: Reals, scale: int, row: Row, width: int) -> Ints:
    """floor(scale x + 1/2): scale as a double and the product are off by a relative 2^-52."""
    value, error = value.reshape(-1, width) * scale, error.reshape(-1, width) * scale
    return to_units(value, error * (1 + 2.0**-20) + np.abs(value) * 2.0**-51, 0, row)


def cube(drawn: Words) -> tuple[Reals, float]:
    """2 U - 1 for each word, off by less than 2^-51 (three roundings near 1, and half a unit of 2^-63)."""
    return (drawn.astype(np.float64) + 0.5) * 2.0**-63 - 1.0, 2.0**-51


def certified_side(u: LazyUniform, precision: int) -> Interval:
    """2 U - 1."""
    return uniform(u, precision).times(2) + whole(-1, precision)


_SAMPLERS: dict[str, Callable[[int, int, int], Ints]] = {"l1": _l1, "l2": _l2, "linf": _linf}
