"""Continuous vectors, each entry rounded exactly to the nearest multiple of 2^-bits.

Whoever adds such noise must add it on the same grid: data rounded to multiples of h, noise h 2^bits times a
rounded draw. Then data + noise is the rounding of (data + continuous noise), and what holds for the
continuous mechanism holds for the release, as post-processing; see docs/noise.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dalenius.core import checks
from dalenius.core.arrays import Array, Ints, Reals
from dalenius.errors import InvalidParameter
from dalenius.noise.chunks import CHUNK
from dalenius.noise.exponential import certified_gamma, gammas
from dalenius.noise.interval import Interval, whole
from dalenius.noise.lazy import LazyUniform
from dalenius.noise.normal import certified_direction, certified_pair, direction, normals
from dalenius.noise.parameters import Size, shape_of
from dalenius.noise.rounding import DEFAULT_BITS, Settled, bits_of, to_units
from dalenius.noise.source import words

MAX_DIMENSION = 1 << 20


def gaussian(shape: Size = None, *, bits: int = DEFAULT_BITS, as_units: bool = False) -> Any:
    """Independent standard normal numbers, each rounded exactly to the nearest multiple of 2^-bits.

    Parameters
    ----------
    shape
        The shape of the result; None for a single number.
    bits
        The grid has the granularity 2^-bits.
    as_units
        Whether to return whole multiples of the granularity, as integers, in place of floats.

    Returns
    -------
    float or ndarray
        Floats of that shape, or integers with `as_units`.

    Raises
    ------
    InvalidParameter
        If a parameter is not one of those described.

    Examples
    --------
    >>> from dalenius.noise import gaussian
    >>> gaussian((2, 3)).shape
    (2, 3)
    """
    fine = bits_of(bits)
    count = math.prod(shape_of(shape))
    ones = np.ones(2)
    pairs = fill_rows(
        -(-count // 2), 2, lambda n: _normal_units(np.broadcast_to(ones, (n, 2)), fine), fine, as_units
    )
    return shaped(pairs.reshape(-1)[:count], shape)


def goe(d: int, *, bits: int = DEFAULT_BITS, as_units: bool = False) -> Any:
    """A symmetric d x d matrix of the Gaussian orthogonal ensemble, rounded exactly to multiples of 2^-bits.

    Entries on and above the diagonal are independent and normal, of variance 2 on the diagonal and 1 off
    it: the law of (Z + Z^T)/sqrt 2 for Z with independent standard normal entries (Redberg 2023,
    section A.4).

    Parameters
    ----------
    d
        The number of rows and columns.
    bits
        The grid has the granularity 2^-bits.
    as_units
        Whether to return whole multiples of the granularity, as integers, in place of floats.

    Returns
    -------
    ndarray
        The matrix, of floats or, with `as_units`, of integers.

    Raises
    ------
    InvalidParameter
        If a parameter is not one of those described.

    Examples
    --------
    >>> from dalenius.noise import goe
    >>> h = goe(3)
    >>> bool((h == h.T).all())
    True
    """
    d, fine = checks.count("d", d, 1), bits_of(bits)
    count = d * (d + 1) // 2
    pairs = -(-count // 2)
    diagonal = np.zeros(2 * pairs, dtype=np.bool_)
    diagonal[:d] = True
    factor = np.where(diagonal, math.sqrt(2.0), 1.0).reshape(pairs, 2)
    done = 0

    def draw(n: int) -> Ints:
        nonlocal done
        done += n
        return _normal_units(factor[done - n : done], fine)

    entries = fill_rows(pairs, 2, draw, fine, as_units).reshape(-1)
    matrix = np.zeros((d, d), dtype=entries.dtype)
    matrix[np.triu_indices(d, 1)] = entries[d:count]
    matrix += matrix.T
    matrix[np.diag_indices(d)] = entries[:d]
    return matrix


def gamma(shape_param: int, size: Size = None, *, bits: int = DEFAULT_BITS, as_units: bool = False) -> Any:
    """Gamma numbers of scale 1 and this whole shape, rounded exactly to the nearest multiple of 2^-bits.

    The sum of `shape_param` independent standard exponential numbers.

    Parameters
    ----------
    shape_param
        The shape parameter, a whole number above 0.
    size
        The shape of the result; None for a single draw.
    bits
        The grid has the granularity 2^-bits.
    as_units
        Whether to return whole multiples of the granularity, as integers, in place of floats.

    Returns
    -------
    float or ndarray
        Floats of that shape, or integers with `as_units`.

    Raises
    ------
    InvalidParameter
        If a parameter is not one of those described.

    Examples
    --------
    >>> from dalenius.noise import gamma
    >>> gamma(3, 1000).shape
    (1000,)
    """
    k, fine = dimension("shape_param", shape_param), bits_of(bits)
    return shaped(fill_rows(size, k, lambda n: _gamma_units(k, n, fine), fine, as_units, width=1), size)


def sphere(d: int, size: Size = None, *, bits: int = DEFAULT_BITS, as_units: bool = False) -> Any:
    """Points uniform on the unit sphere of R^d, entries rounded exactly to the nearest multiple of 2^-bits.

    d independent standard normal numbers over their Euclidean norm.

    Parameters
    ----------
    d
        The dimension.
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
    >>> from dalenius.noise import sphere
    >>> bool(abs((sphere(3, 5) ** 2).sum(axis=-1) - 1).max() < 1e-8)
    True
    """
    d, fine = dimension("d", d), bits_of(bits)
    points = fill_rows(size, d, lambda n: _sphere_units(d, n, fine), fine, as_units)
    return points.reshape((*shape_of(size), d))


def dimension(name: str, value: Any) -> int:
    """A number of dimensions, at most 2^20."""
    dimension = checks.count(name, value, 1)
    if dimension > MAX_DIMENSION:
        raise InvalidParameter(f"{name} is {dimension}; it must be at most 2^20.")
    return dimension


def fill_rows(
    size: Size,
    columns: int,
    draw: Callable[[int], Ints],
    bits: int,
    as_units: bool,
    width: int | None = None,
) -> Array:
    """`draw(n)`, rows of `width` multiples (`columns` unless told), until there are as many as `size` says.

    As many rows at a time as fit a chunk of `columns` words each.
    """
    count = math.prod(shape_of(size))
    out = np.empty((count, columns if width is None else width), dtype=np.int64 if as_units else np.float64)
    together = max(1, CHUNK // columns)
    for start in range(0, count, together):
        units = draw(min(together, count - start))
        out[start : start + len(units)] = units if as_units else np.ldexp(units.astype(np.float64), -bits)
    return out


def shaped(values: Array, size: Size) -> Any:
    """The values in this shape, one plain number for size None."""
    values = values.reshape(shape_of(size))
    return values.item() if size is None else values


def _normal_units(factor: Reals, bits: int) -> Ints:
    """Pairs of normal numbers times a factor that is 1 or the square root of 2."""
    first, second = words(len(factor)), words(len(factor))
    values, error = normals(first, second)

    def row(i: int) -> Settled:
        pair = [LazyUniform(int(first[i]), 64), LazyUniform(int(second[i]), 64)]

        def enclose(precision: int) -> list[Interval]:
            root = whole(2, precision).sqrt()
            normals = certified_pair(pair[0], pair[1], precision)
            return [x if f == 1.0 else x * root for x, f in zip(normals, factor[i], strict=True)]

        return pair, enclose

    # Multiplying by a rounded square root of 2 is off by a relative 2^-52.
    return to_units(values * factor, error * factor + np.abs(values) * 2.0**-50, bits, row)


def _gamma_units(k: int, n: int, bits: int) -> Ints:
    drawn = words(n * k).reshape(n, k)
    total, error = gammas(drawn)

    def row(i: int) -> Settled:
        uniforms = [LazyUniform(int(w), 64) for w in drawn[i]]
        return uniforms, lambda precision: [certified_gamma(uniforms, precision)]

    return to_units(total, error, bits, row)


def _sphere_units(d: int, n: int, bits: int) -> Ints:
    pairs = -(-d // 2)
    first, second = words(n * pairs).reshape(n, pairs), words(n * pairs).reshape(n, pairs)
    values, error = direction(first, second, d)

    def row(i: int) -> Settled:
        uniforms = [LazyUniform(int(w), 64) for w in (*first[i], *second[i])]
        return uniforms, lambda precision: certified_direction(uniforms, d, precision)

    return to_units(values, error, bits, row)
