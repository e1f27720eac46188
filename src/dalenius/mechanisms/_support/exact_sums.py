"""Numbers plus whole-numbered noise: exact, and in the same time whatever the numbers are.

Which way a sum is worked out depends on types and on the grid, never on values: a large number takes as long
as a small one.

On a grid of 2^p a number x becomes u = floor(x/2^p + 1/2) steps and T = u + noise is what may be shown, or any
function of it. u can have a thousand digits, so T is kept as

    T = H 2^80 + M 2^40 + Q,   0 <= M, Q < 2^40,   H whole,

which is unique. M and Q are 64-bit integers. For doubles, H 2^(80+p) before the noise is a double exactly (the
leading part of x), and the noise adds a carry to it, which rounds that sum once: what comes out is a function
of H, hence of T. The answer, (H 2^80 + M 2^40 + Q) 2^p added up in this order, is a function of T as well: the
nearest double to T 2^p where |H| < 2^13, and within an ulp of it beyond.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from dalenius.core.arrays import Array, Ints, Reals
from dalenius.mechanisms._support.exact_arrays import LARGEST, SMALLEST, Numbers
from dalenius.noise.grid import Grid, quotient

LIMB = 40
MASK = (1 << LIMB) - 1
MAX_SHIFT = 78
"""Integers times 2^78 at most fit three limbs."""
MAX_POWER = 800
"""On coarser grids everything is worked out 2^(power - 800) times smaller, lest a part of it overflows."""
SIGN = np.int64(SMALLEST)


def noisy_reals(grid: Grid, numbers: Numbers, noise: Numbers, offset: float = 0.0) -> Reals:
    """(floor(x/g + 1/2) + noise + offset) g as doubles, g a power of two; shapes broadcast, 0 <= offset < 1."""
    power = grid.granularity.numerator.bit_length() - grid.granularity.denominator.bit_length()
    limbs = _limbs(numbers, min(power, MAX_POWER), max(0, power - MAX_POWER))
    if limbs is None or noise.dtype != np.int64:
        return _one_by_one(grid, numbers, noise, offset)
    high, middle, low = limbs
    low = low + (noise & MASK)
    middle = middle + (noise >> LIMB) + (low >> LIMB)
    carry, middle, low = middle >> LIMB, middle & MASK, low & MASK
    small = min(power, MAX_POWER)
    top = (
        np.ldexp((high + carry).astype(np.float64), 2 * LIMB + small)
        if high.dtype == np.int64
        else high + np.ldexp(carry.astype(np.float64), 2 * LIMB + small)
    )
    total = top + np.ldexp(middle.astype(np.float64), LIMB + small) + np.ldexp(low + offset, small)
    with np.errstate(over="ignore"):
        return np.asarray(np.ldexp(total, power - small))


def _limbs(numbers: Numbers, power: int, more: int) -> tuple[Array, Ints, Ints] | None:
    """The three parts on a grid of 2^(power + more), the first one 2^more times too small; by type alone."""
    if numbers.dtype.kind == "f":
        # What 2^-more loses of a double is far below half a step.
        return _of_doubles(np.ldexp(numbers, -more), power)
    if numbers.dtype == np.uint64 and power > 0:
        halves = numbers >> np.uint64(power + more - 1) if power + more < 65 else np.zeros_like(numbers)
        high, middle, low = _of_integers((halves >> np.uint64(1)).view(np.int64), 0)
        return high, middle, low + (halves & np.uint64(1)).view(np.int64)
    if numbers.dtype == np.uint64 and -power + 32 <= MAX_SHIFT:
        upper = _of_integers((numbers >> np.uint64(32)).astype(np.int64), power - 32)
        lower = _of_integers((numbers & np.uint64(0xFFFFFFFF)).astype(np.int64), power)
        return upper[0] + lower[0], upper[1] + lower[1], upper[2] + lower[2]
    if numbers.dtype.kind in "iu" and numbers.dtype != np.uint64 and -power <= MAX_SHIFT:
        x = numbers.astype(np.int64)
        if power > 0:
            halves = x >> (power + more - 1) if power + more < 64 else np.zeros_like(x)
            x = (halves >> 1) + (halves & 1)
        return _of_integers(x, min(power, 0))
    return None


def _of_doubles(x: Reals, power: int) -> tuple[Reals, Ints, Ints]:
    """H 2^(80+p), M and Q of u, the latter below 2^40 + 1 in size and of the sign of x.

    Cutting toward 0 at a power of two leaves two parts that are both doubles. Where x/2^(80+p) is beyond all
    doubles, x is a multiple of 2^(80+p); where it is too small for one, it is cut to 0 all the same.
    """
    with np.errstate(over="ignore", under="ignore"):
        quotient = np.ldexp(x, -2 * LIMB - power)
        high = np.where(np.isinf(quotient), x, np.ldexp(np.trunc(quotient), 2 * LIMB + power))
        rest = x - high
        middle = np.trunc(np.ldexp(rest, -LIMB - power))
        scaled = np.ldexp(rest - np.ldexp(middle, LIMB + power), -power)
    whole = np.floor(scaled)
    low = whole.astype(np.int64) + (scaled - whole >= 0.5)
    return high, middle.astype(np.int64), low


def _of_integers(x: Ints, power: int) -> tuple[Ints, Ints, Ints]:
    """H, M and Q of x 2^-power, power being 0 or less."""
    shift = -power
    spare = 2 * LIMB - shift
    high, rest = (x >> spare, x & ((1 << spare) - 1)) if spare < 63 else (np.zeros_like(x), x)
    if shift > LIMB:
        return high, rest << (shift - LIMB), np.zeros_like(x)
    return high, rest >> (LIMB - shift), (rest & ((1 << (LIMB - shift)) - 1)) << shift


def _one_by_one(grid: Grid, numbers: Numbers, noise: Numbers, offset: float) -> Reals:
    """Python integers and fractions of any size, or noise beyond 2^62 (never seen in practice)."""
    g = grid.granularity
    units = np.empty(numbers.size, dtype=object)
    units[:] = [_unit(x, g) for x in numbers.ravel().tolist()]
    total = units.reshape(numbers.shape) + noise.astype(object)
    top, bottom = (Fraction(offset) * g).as_integer_ratio()
    a, b = g.numerator * bottom, g.denominator * bottom
    flat = [quotient(t * a + top * g.denominator, b) for t in np.ravel(total).tolist()]
    return np.array(flat, dtype=np.float64).reshape(np.shape(total))


def _unit(x: int | float | Fraction, g: Fraction) -> int:
    """floor(x/g + 1/2)."""
    a, b = x.as_integer_ratio()
    a, b = a * g.denominator, b * g.numerator
    return (2 * a + b) // (2 * b)


def noisy_integers(numbers: Numbers, noise: Numbers) -> Ints:
    """numbers + noise clamped to 64 bits, exactly; shapes broadcast."""
    if noise.dtype != np.int64 or numbers.dtype == object:
        total = np.asarray(numbers.astype(object) + noise.astype(object), dtype=object)
        clamped = [max(SMALLEST, min(LARGEST, x)) for x in total.ravel().tolist()]
        return np.array(clamped, dtype=np.int64).reshape(total.shape)
    if numbers.dtype == np.uint64:
        # Numbers from 2^63 on are 2^63 + b: 2^63 + (b + noise), and LARGEST unless b + noise is negative.
        b = (numbers ^ np.uint64(1 << 63)).view(np.int64)
        below = _clamped_sum(numbers.view(np.int64), noise)
        beyond = _clamped_sum(b, noise)
        return np.where(b >= 0, np.where(beyond < 0, beyond ^ SIGN, LARGEST), below)
    return _clamped_sum(numbers.astype(np.int64), noise)


def _clamped_sum(a: Ints, b: Ints) -> Ints:
    """a + b: where it wraps, its sign differs from that of both."""
    with np.errstate(over="ignore"):
        total = a + b
    wrapped = ((a ^ total) & (b ^ total)) < 0
    return np.where(wrapped, np.where(b < 0, SMALLEST, LARGEST), total)


def python_integer(numbers: Numbers, noise: Any) -> int:
    """One whole number of any size plus noise."""
    return int(numbers.item()) + int(np.asarray(noise).item())
