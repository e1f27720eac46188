"""Sums of numbers and noise against fractions; and what comes out depends on the exact sum alone."""

from __future__ import annotations

import math
import time
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dalenius.mechanisms import Geometric, Laplace
from dalenius.mechanisms._support.exact_sums import noisy_integers, noisy_reals
from dalenius.noise import Grid

POWERS = [-1100, -700, -90, -60, -40, -3, 0, 1, 7, 63, 64, 65, 300, 900]
NOISE = np.array([0, 1, -1, 2**39, -(2**40), 2**40 - 1, 2**61, -(2**61) + 3], dtype=np.int64)


def exact(x: Any, power: int, noise: int, offset: Fraction = Fraction(0)) -> Fraction:
    g = Fraction(2) ** power
    return (math.floor(Fraction(x) / g + Fraction(1, 2)) + noise + offset) * g


def doubles(rng: np.random.Generator, power: int) -> np.ndarray:
    """Of all sizes, near halves of a step, and at the edges of the three parts."""
    near = [math.ldexp(k, power + e) for k in (1, -1, 3, -5, 1.5) for e in (-1, 0, 39, 40, 52, 79, 80, 81, 93)
            if power + e < 1000]  # fmt: skip
    sizes = rng.normal(size=200) * np.exp2(rng.uniform(-1070, 1020, 200))
    around = rng.normal(size=200) * np.exp2(np.clip(rng.uniform(power - 5, power + 110, 200), -1070, 1015))
    plain = [0.0, -0.0, 5e-324, -5e-324, 1.7e308, 4194303.9, 4194304.0]
    return np.concatenate([near, np.nextafter(near, np.inf), sizes, around, plain])


@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("offset", [0.0, 0.5])
def test_doubles(power: int, offset: float) -> None:
    rng = np.random.default_rng(power % 97)
    x = doubles(rng, power)
    grid = Grid(Fraction(2) ** power)
    for k in NOISE.tolist():
        found = noisy_reals(grid, x, np.full(x.shape, k), offset)
        for given, got in zip(x.tolist(), found.tolist(), strict=True):
            true = exact(given, power, k, Fraction(offset))
            _close(got, true, exactly=abs(true) < Fraction(2) ** (power + 93))


def _close(got: float, true: Fraction, exactly: bool) -> None:
    """The nearest double; beyond 2^93 steps, within one more rounding."""
    try:
        nearest = float(true)
    except OverflowError:
        nearest = math.inf if true > 0 else -math.inf
    if exactly and abs(true) > Fraction(2) ** -960:
        assert got == nearest
    elif got != nearest:
        assert abs(got - nearest) <= 2 * math.ulp(
            max(abs(nearest), abs(got)) if math.isfinite(nearest) else 1e308
        )


@pytest.mark.parametrize("power", [-60, -40, 0, 30])
def test_what_comes_out_depends_on_the_sum_alone(power: int) -> None:
    """u + k = u' + k': the same bits come out, at every size, or rounding would tell u from u'."""
    rng = np.random.default_rng(1)
    grid = Grid(Fraction(2) ** power)
    for size in (20, 45, 52, 53, 60, 80, 92, 93, 100, 110):
        digits = min(size, 52)
        one = np.ldexp(rng.integers(-(2**digits), 2**digits, 400).astype(float), power + size - digits)
        noise = rng.integers(-(2**60), 2**60, 400)
        # A neighbour: one step or one unit of the double further, and so much less noise.
        gap = np.maximum(1.0, np.ldexp(np.spacing(np.abs(one)), -power))
        other = one + np.ldexp(gap, power)
        a = noisy_reals(grid, one, noise)
        b = noisy_reals(grid, other, noise - gap.astype(np.int64))
        assert (a.view(np.int64) == b.view(np.int64)).all()  # to the bit: no -0.0 either
        # Adding in doubles, which rounds twice, would tell them apart.
        c, d = (x + np.ldexp(k.astype(float), power) for x, k in ((one, noise), (other, noise - gap)))
        assert size != 60 or (c != d).any()


@pytest.mark.parametrize("kind", [np.int8, np.int32, np.int64, np.uint16, np.uint64])
@pytest.mark.parametrize("power", POWERS)
def test_integers(kind: Any, power: int) -> None:
    info = np.iinfo(kind)
    x = np.array([0, 1, 2, 3, info.max, info.max - 1, info.min, info.max // 2, info.max // 2 + 1], dtype=kind)
    grid = Grid(Fraction(2) ** power)
    for k in NOISE.tolist():
        found = noisy_reals(grid, x, np.full(x.shape, k))
        for given, got in zip(x.tolist(), found.tolist(), strict=True):
            _close(got, exact(given, power, k), exactly=True)


def test_python_numbers_of_any_size() -> None:
    x = np.array([2**200 + 1, Fraction(1, 3), -(2**70)], dtype=object)
    found = noisy_reals(Grid(Fraction(1, 4)), x, np.array([1, 2, 3]))
    assert found.tolist() == [float(exact(a, -2, k)) for a, k in zip(x.tolist(), (1, 2, 3), strict=True)]


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.uint64, object])
def test_whole_numbers_are_clamped(kind: Any) -> None:
    top = (2**63 - 1, -(2**63), 2**62, 5, -5) if kind in (np.int64, object) else (127, 5, 0)
    if kind is np.uint64:
        top = (2**64 - 1, 2**63, 2**63 - 1, 2**63 + 2**62, 0, 7)
    numbers = np.array(top, dtype=kind)
    for k in (*NOISE.tolist(), 2**62 - 1, -(2**62) + 1):
        found = noisy_integers(numbers, np.full(numbers.shape, k, dtype=np.int64))
        assert found.dtype == np.int64
        assert found.tolist() == [max(-(2**63), min(2**63 - 1, x + k)) for x in top]
    # Noise beyond 64 bits, which no one will see.
    huge = np.full(numbers.shape, 2**70, dtype=object)
    assert noisy_integers(numbers, huge).tolist() == [2**63 - 1] * len(top)


def _least(run: Any) -> float:
    def once() -> float:
        start = time.perf_counter()
        run()
        return time.perf_counter() - start

    return min(once() for _ in range(5))


@pytest.mark.parametrize(
    "values",
    [np.full(50_000, 4194303.9), np.full(50_000, 1e300), np.zeros(50_000, dtype=np.int32),
     np.full(50_000, 2**63 - 1), np.full(50_000, 2**64 - 1, dtype=np.uint64)],
    ids=lambda x: f"{x[0]}",
)  # fmt: skip
def test_no_value_and_no_type_takes_ten_times_as_long(values: np.ndarray) -> None:
    """A large number used to send the whole array through fractions, 40 times slower; the least of 5 runs."""
    mechanism = Laplace(sensitivity=1, scale=1.0)
    usual = np.zeros(50_000)
    assert _least(lambda: mechanism.release(values)) < 10 * _least(lambda: mechanism.release(usual)) + 0.02
    if values.dtype.kind in "iu":
        whole = Geometric(sensitivity=1, scale=1.0)
        small = np.zeros(50_000, dtype=np.int64)
        assert _least(lambda: whole.release(values)) < 10 * _least(lambda: whole.release(small)) + 0.02
