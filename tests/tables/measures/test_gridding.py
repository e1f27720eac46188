"""Values on their grid: within range whatever the rounding, and the nearest step but for the last digit."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import ibis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.errors import InvalidParameter
from dalenius.tables.measures.bins import equal_bins, fine_bins, listed_bins
from dalenius.tables.measures.gridding import make_value
from dalenius.tables.rows.terms import Term

TABLE = ibis.table({"x": "float64", "n": "int64"}, name="t")
NUMBER = Term(TABLE.x, "number", True, loose=True)
WHOLE = Term(TABLE.n, "integer", True, whole=True)

finite = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e100, max_value=1e100)
limits = st.tuples(finite, finite).filter(
    lambda p: p[0] < p[1] and math.isfinite(p[1] - p[0]) and p[1] - p[0] > 1e-100
)


@given(limits, st.floats(allow_nan=False))
def test_values_stay_within_their_range(bounds: tuple[float, float], x: float) -> None:
    value = make_value(NUMBER, "x", bounds, "drop")
    unit = value.unit(x)
    assert value.low <= unit <= value.high
    assert value.low <= 0 <= value.high
    assert value.high - value.low <= 2**48 + 1
    assert make_value(NUMBER, "x", bounds, "drop", halves=True).high <= 2**29 + 1  # products fit 64 bits


@given(limits, st.floats(0, 1), st.booleans())
def test_values_go_to_the_nearest_step(bounds: tuple[float, float], where: float, halves: bool) -> None:
    value = make_value(NUMBER, "x", bounds, "drop", halves=halves)
    x = min(max(bounds[0] + where * (bounds[1] - bounds[0]), bounds[0]), bounds[1])
    assert value.unit(x) + value.centre == round(Fraction(x) / value.granularity)  # halves to the even one


def test_rounding_is_neither_up_nor_down() -> None:
    """Certain: odd multiples of half a step, of which as many go up as down."""
    value = make_value(NUMBER, "x", (0, 100), "drop", 1)
    off = [value.value(value.unit(k + 0.5)) - Fraction(2 * k + 1, 2) for k in range(100)]
    assert {abs(x) for x in off} == {Fraction(1, 2)}
    assert sum(off) == 0


def test_a_sum_loses_little_beside_its_noise() -> None:
    """Certain: 1e8 copies of 0.1, or of an odd number in wide bounds, are off by less than 1e-4 of one row's weight."""
    for term, x, bounds in (
        (NUMBER, 0.1, (0, 1)),
        (NUMBER, 24_999_999, (0, 25e6)),
        (WHOLE, 24_999_999, (0, 25e6)),
    ):
        value = make_value(term, "x", bounds, "drop")
        lost = 10**8 * abs(value.value(value.unit(x)) - Fraction(x))
        assert lost <= Fraction(bounds[1]) / 10**4
        assert lost == 0 or x == 0.1


@given(st.integers(-(10**6), 10**6), st.integers(1, 2**29), st.integers(-(10**9), 10**9), st.booleans())
def test_whole_numbers_are_exact(lower: int, width: int, x: int, halves: bool) -> None:
    value = make_value(WHOLE, "n", (lower, lower + width), "drop", halves=halves)
    assert value.exact
    assert value.value(value.unit(x)) == min(max(x, lower), lower + width)
    if halves:
        assert value.low == -value.high  # the centre is in the middle


def test_the_middle_halves_the_range() -> None:
    assert make_value(NUMBER, "x", (1000, 1010), "drop", halves=True).high * 2 <= 2**30 + 2


@pytest.mark.parametrize("granularity", [0, -1, 0.3, 3, float("nan"), float("inf"), "x", Fraction(2, 3)])
def test_bad_granularity(granularity: float) -> None:
    with pytest.raises(InvalidParameter, match="power of two"):
        make_value(NUMBER, "x", (0, 1), "drop", granularity)


@given(
    limits.filter(lambda p: p[1] - p[0] > 1e-3 * max(abs(p[0]), abs(p[1]))),
    st.integers(1, 300),
    st.floats(allow_nan=False),
)
def test_every_value_is_in_the_bin_whose_edges_hold_it(
    bounds: tuple[float, float], size: int, x: float
) -> None:
    bins = equal_bins(NUMBER, "x", bounds, size, "drop")
    edges = bins.edges
    assert len(edges) == size + 1
    assert all(a < b for a, b in itertools.pairwise(edges))
    inside = min(max(x, edges[0]), edges[-1])
    n = bins.bin(x)
    assert edges[n] <= inside
    assert inside < edges[n + 1] or n == size - 1


@given(limits.filter(lambda p: p[1] - p[0] > 1e-3 * max(abs(p[0]), abs(p[1]))), st.integers(2, 2**14))
def test_fine_bins_cover_the_bounds(bounds: tuple[float, float], most: int) -> None:
    bins = fine_bins(NUMBER, "x", bounds, most, "drop")
    assert most / 4 - 2 <= bins.size <= most
    assert bins.edges[0] <= bounds[0] < bounds[1] <= bins.edges[-1]
    assert math.frexp(bins.width)[0] == 0.5


far = st.floats(2.0**40, 2.0**53) | st.floats(-(2.0**53), -(2.0**40)) | st.just(9007199254740994.0) | finite


@given(far, st.integers(1, 40), st.sampled_from([1, 2, 3, 7]), st.floats(0, 1))
def test_narrow_bins_are_refused_or_hold_every_value(
    lower: float, steps: int, size: int, where: float
) -> None:
    """Bins of few doubles: whatever is rounded on the way, the engines' arithmetic ends within range."""
    upper = lower
    for _ in range(steps):
        upper = math.nextafter(upper, math.inf)
    try:
        bins = equal_bins(NUMBER, "x", (lower, upper), size, "drop")
    except InvalidParameter:
        return
    for x in (lower, upper, lower + where * (upper - lower)):
        inside = min(max(x, lower), bins._last)
        near = bins._near(inside)
        start, end = lower + near * bins.width, lower + (near + 1) * bins.width
        found = near - 1 if inside < start else near + 1 if inside >= end else near
        assert 0 <= (near if bins._exact else found) < size


def test_the_middle_of_the_last_bin_may_be_its_end() -> None:
    """Half-way between two neighbouring doubles: the middle rounds to the upper edge, which no bin holds."""
    first, last = 9007199254740994.0, 9007199254740996.0
    assert first + (last - first) / 2 == last
    assert equal_bins(NUMBER, "x", (first, last), 1, "drop")._last == first


def test_listed_bins() -> None:
    bins = listed_bins(NUMBER, "x", [0, 1, 10], "drop")
    assert [bins.bin(x) for x in (-5, 0, 0.5, 1, 9, 10, 99)] == [0, 0, 0, 1, 1, 1, 1]


def test_bins_too_narrow_for_doubles() -> None:
    with pytest.raises(InvalidParameter, match="too narrow"):
        equal_bins(NUMBER, "x", (1e15, 1e15 + 1), 2**20, "drop")
    with pytest.raises(InvalidParameter, match="too narrow"):
        fine_bins(NUMBER, "x", (1e15, 1e15 + 1), 2**14, "drop")
