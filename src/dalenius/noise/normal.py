"""Standard normal numbers in doubles with what they may be off by, and the same certified.

Box and Muller (1958): sqrt(2 E) (cos 2 pi V, sin 2 pi V) are two independent standard normal numbers, for E
standard exponential and V uniform: a function of two uniform numbers, without rejection.
"""

from __future__ import annotations

import math

import numpy as np

from dalenius.core.arrays import Reals, Words
from dalenius.noise.exponential import exponentials
from dalenius.noise.interval import Interval, circle, exponential, whole
from dalenius.noise.lazy import LazyUniform


def normals(first: Words, second: Words) -> tuple[Reals, Reals]:
    """Two normal numbers from each pair of words (along a new last axis of length 2), and their error.

    E is off by the relative error r of `exponentials`, so sqrt(2 E) by r (|sqrt(1 + r) - 1| <= r). The
    angle 2 pi V, below 6.3, is off by 2^-62 for the digits not seen and by four roundings, 6.3 * 2^-51;
    np.cos and np.sin, assumed good to 8 ulps of 1, by 2^-49. With the product's rounding that is below
    2^-48 of sqrt(2 E); the error is sqrt(2 E) (r + 2^-47).
    """
    e, relative = exponentials(first, 64)
    radius = np.sqrt(2.0 * e)
    angle = (second.astype(np.float64) + 0.5) * (2.0 * math.pi * 2.0**-64)
    values = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
    error = radius * (relative + 2.0**-47)
    return values, np.stack([error, error], axis=-1)


def certified_pair(first: LazyUniform, second: LazyUniform, precision: int) -> list[Interval]:
    """The same two numbers, certified."""
    radius = exponential(first, precision).times(2).sqrt()
    cosine, sine = circle(second, precision)
    return [radius * cosine, radius * sine]


def direction(first: Words, second: Words, d: int) -> tuple[Reals, Reals]:
    """Points of the unit sphere in doubles, one for each row of pairs of words, and their error.

    With z off by e_j in each entry and e = |(e_j)|, z_j/|z| is off by (e_j + e)/(|z| - e) at most, as no
    entry is larger than |z|; the sum of squares, the root and the quotient round by less than (d + 8)
    2^-53.
    """
    z, error = normals(first, second)
    z, error = z.reshape(len(z), -1)[:, :d], error.reshape(len(z), -1)[:, :d]
    length = np.sqrt(np.square(z).sum(axis=1, keepdims=True))
    off = np.sqrt(np.square(error).sum(axis=1, keepdims=True))
    with np.errstate(divide="ignore", invalid="ignore"):
        bound = np.where(length > 2 * off, (error + off) / (length - off) * (1 + 2.0**-20), np.inf)
    return z / length, bound + (d + 8) * 2.0**-52


def certified_direction(uniforms: list[LazyUniform], d: int, precision: int) -> list[Interval]:
    """The same point, certified; `uniforms` are the first words of the pairs, then the second."""
    half = len(uniforms) // 2
    z = [x for i in range(half) for x in certified_pair(uniforms[i], uniforms[half + i], precision)][:d]
    square = whole(0, precision)
    for x in z:
        square = square + x * x
    length = square.sqrt()
    if length.low <= 0:  # nothing known of the direction yet
        return [Interval(-(1 << precision), 1 << precision, precision) for _ in z]
    return [x / length for x in z]
