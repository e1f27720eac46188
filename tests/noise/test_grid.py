"""Values on an integer grid."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.errors import InvalidParameter
from dalenius.noise import Grid

GRANULARITIES = [
    1,
    0.25,
    2.0**-40,
    8,
    Fraction(1, 100),
    0.01,
    Fraction(1, 3),
    Fraction(7, 5),
    1e-300,
    1e300,
    Fraction(1, 3**700),
]
FLOATS = st.floats(allow_nan=False, allow_infinity=False)


def unit(x: Any, granularity: Fraction) -> int:
    return math.floor(Fraction(x) / granularity + Fraction(1, 2))


class TestToUnits:
    @given(st.lists(FLOATS, max_size=6), st.sampled_from(GRANULARITIES))
    def test_is_exact(self, values: list[float], granularity: Any) -> None:
        grid = Grid(granularity)
        found = grid.to_units(np.array(values, dtype=np.float64))
        assert [int(k) for k in found] == [unit(x, grid.granularity) for x in values]
        if found.dtype == object:
            assert max(abs(k) for k in found) > 2**62

    @given(st.integers(-(10**6), 10**6), st.sampled_from(GRANULARITIES), st.integers(-2, 2))
    def test_is_exact_next_to_a_half(self, k: int, granularity: Any, steps: int) -> None:
        grid = Grid(granularity)
        try:
            x = float((k + Fraction(1, 2)) * grid.granularity)
        except OverflowError:
            return
        for _ in range(abs(steps)):
            x = math.nextafter(x, math.copysign(math.inf, steps))
        if math.isfinite(x):
            assert grid.to_units(x) == unit(x, grid.granularity)

    @given(st.lists(st.integers(-(2**70), 2**70), min_size=1, max_size=5), st.sampled_from(GRANULARITIES))
    def test_whole_numbers(self, values: list[int], granularity: Any) -> None:
        grid = Grid(granularity)
        assert [int(k) for k in grid.to_units(values)] == [unit(x, grid.granularity) for x in values]

    def test_fractions(self) -> None:
        assert Grid(Fraction(1, 3)).to_units([Fraction(1, 2), Fraction(5, 9)]).tolist() == [2, 2]

    def test_halves_go_up(self) -> None:
        assert Grid(1).to_units([-1.5, -0.5, 0.5, 1.5, 0.49999999999999994]).tolist() == [-1, 0, 1, 2, 0]

    def test_repeated_halves_on_a_decimal_grid_are_quick(self) -> None:
        grid = Grid(Fraction(1, 100))
        values = np.tile([0.005, 0.015, 0.025, 0.29], 50_000)
        found = grid.to_units(values)
        assert found[:4].tolist() == [unit(x, grid.granularity) for x in values[:4].tolist()]

    @given(
        st.lists(FLOATS, min_size=1, max_size=6),
        st.sampled_from(GRANULARITIES),
        st.tuples(FLOATS, FLOATS).map(sorted),
    )
    def test_bounds_clamp_before_rounding(
        self, values: list[float], granularity: Any, bounds: list[float]
    ) -> None:
        grid = Grid(granularity, bounds=(bounds[0], bounds[1]))
        expected = [unit(min(max(x, bounds[0]), bounds[1]), grid.granularity) for x in values]
        assert [int(k) for k in grid.to_units(values)] == expected

    def test_clamping_keeps_64_bits(self) -> None:
        assert Grid(2.0**-40, bounds=(0, 1)).to_units([1e300, -1e300]).dtype == np.int64
        assert Grid(1, bounds=(-5, 5)).to_units([2**80, -(2**80)]).tolist() == [5, -5]

    @pytest.mark.parametrize("kind", ["i1", "u1", "i4", "i8", "u8"])
    def test_whole_numbers_within_bounds_go_by_the_bounds(
        self, kind: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """And not by the largest of them, which would show in the time it takes."""
        widest = np.iinfo(kind)
        values = np.array([widest.min, 0, 1, 3, widest.max], dtype=kind)
        for granularity in (2.0**-30, 1, 4, Fraction(1, 3)):
            for bounds in ((-3, 10), (2.5, 2.6), (-9, -5), (300, 400)):
                grid = Grid(granularity, bounds=bounds)
                expected = [unit(min(max(int(x), Fraction(bounds[0])), Fraction(bounds[1])), grid.granularity)
                            for x in values]  # fmt: skip
                with monkeypatch.context() as patched:
                    patched.delattr(Grid, "_by_fractions")
                    assert [int(k) for k in grid.to_units(values)] == expected

    def test_shapes(self) -> None:
        grid = Grid(0.5)
        assert type(grid.to_units(3)) is int
        assert type(grid.to_units(3.2)) is int
        assert grid.to_units(np.zeros((2, 3))).shape == (2, 3)
        assert grid.to_units(np.zeros((2, 0))).shape == (2, 0)
        assert grid.to_units([]).shape == (0,)
        assert grid.to_units(np.float32([0.1])).tolist() == [0]

    @pytest.mark.parametrize(
        "value", [float("nan"), float("inf"), [1.0, float("nan")], ["a"], [None], [1j], [True]]
    )
    def test_bad_values_are_refused_without_repeating_them(self, value: Any) -> None:
        with pytest.raises(InvalidParameter) as caught:
            Grid(1, bounds=(0, 1)).to_units(value)
        assert "inf," not in str(caught.value)
        assert "'a'" not in str(caught.value)


class TestToValues:
    @given(st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=5), st.sampled_from(GRANULARITIES))
    def test_nearest_double(self, units: list[int], granularity: Any) -> None:
        grid = Grid(granularity)
        for k, found in zip(units, grid.to_values(np.array(units, dtype=np.int64)), strict=True):
            exact = k * grid.granularity
            try:
                assert found == exact.numerator / exact.denominator
            except OverflowError:
                assert math.isinf(found)

    @given(FLOATS, st.sampled_from([2.0**-40, 0.25, 4.0]))
    def test_round_trip(self, x: float, granularity: float) -> None:
        grid = Grid(granularity)
        on_grid = float(unit(x, grid.granularity) * grid.granularity) if abs(x) < 1e300 else x
        assert grid.to_values(grid.to_units(on_grid)) == on_grid

    def test_shapes(self) -> None:
        grid = Grid(0.5)
        assert type(grid.to_values(3)) is float
        assert grid.to_values(np.zeros((2, 3), dtype=np.int64)).shape == (2, 3)
        assert grid.to_values(np.zeros((0, 3), dtype=np.int64)).shape == (0, 3)
        assert grid.to_values([2**80]).tolist() == [2.0**79]

    def test_units_must_be_whole(self) -> None:
        with pytest.raises(InvalidParameter, match="integers"):
            Grid(1).to_values([1.5])


class TestSteps:
    @pytest.mark.parametrize("granularity", [1, 0.3, Fraction(1, 7)])
    @pytest.mark.parametrize("sensitivity", [0.1, 1.0, 2.5, Fraction(22, 7)])
    def test_one_coordinate_is_attained_and_never_exceeded(self, granularity: Any, sensitivity: Any) -> None:
        grid = Grid(granularity)
        change = Fraction(sensitivity)
        moved = [
            unit(x + change, grid.granularity) - unit(x, grid.granularity)
            for x in (Fraction(i, 997) for i in range(3000))
        ]
        assert max(moved) == grid.steps(sensitivity)

    @pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
    def test_vectors(self, norm: Any) -> None:
        """Never exceeded over a fine net of small changes in three coordinates; l1 and linf attained."""
        grid, d, sensitivity = Grid(1), 3, Fraction(5, 2)
        largest = Fraction(0)
        parts = [Fraction(i, 8) for i in range(21)]
        for change in itertools.product(parts, repeat=d):
            size = {"l1": sum(change), "linf": max(change)}.get(norm)
            if (size is not None and size > sensitivity) or (
                norm == "l2" and sum(c * c for c in change) > sensitivity**2
            ):
                continue
            # The start just below a half moves a coordinate by ceil of its change.
            moved = [math.ceil(c) for c in change]
            found = {"l1": sum(moved), "linf": max(moved)}.get(norm)
            largest = max(largest, Fraction(found if found is not None else 0), key=abs)
            if norm == "l2":
                assert sum(m * m for m in moved) <= grid.steps(sensitivity, d, "l2") ** 2
        if norm != "l2":
            assert largest == grid.steps(sensitivity, d, norm)

    def test_types(self) -> None:
        grid = Grid(Fraction(1, 3))
        assert type(grid.steps(1)) is int
        assert grid.steps(1) == 3
        assert grid.steps(1, 10) == 12
        assert grid.steps(1, 10, "linf") == 3
        found = grid.steps(1, 10, "l2")
        assert isinstance(found, Fraction)
        assert 0 <= found - 3 - Fraction(math.sqrt(10)) < Fraction(1, 10**9)
        assert (found - 3) ** 2 >= 10
        assert grid.steps(1, 1, "l2") == 3

    @pytest.mark.parametrize(
        ("sensitivity", "size", "norm"),
        [(0, 1, "l1"), (-1, 1, "l1"), (float("nan"), 1, "l1"), (1, 0, "l1"), (1, 1, "l3")],
    )
    def test_bad_input(self, sensitivity: Any, size: Any, norm: Any) -> None:
        with pytest.raises(InvalidParameter):
            Grid(1).steps(sensitivity, size, norm)


class TestFine:
    @given(st.floats(1e-200, 1e200), st.floats(1e-200, 1e200), st.integers(1, 10**6))
    def test_fine_and_fitting(self, sensitivity: float, scale: float, size: int) -> None:
        g = Grid.fine(sensitivity, scale, size).granularity
        assert Fraction(scale) / g <= 2**54
        least = min(Fraction(sensitivity), Fraction(scale)) / g
        if scale / sensitivity < 2**12 and size == 1:
            assert 2**40 <= least < 2**41
        assert least < 2**41 * size * 2

    def test_is_a_power_of_two(self) -> None:
        assert Grid.fine(1, 3.0).granularity == Fraction(1, 2**40)
        assert Grid.fine(0.3, 3.0).granularity == Fraction(1, 2**42)

    @pytest.mark.parametrize(("sensitivity", "scale"), [(0, 1), (1, 0), (-1, 1), (float("inf"), 1)])
    def test_bad_input(self, sensitivity: Any, scale: Any) -> None:
        with pytest.raises(InvalidParameter):
            Grid.fine(sensitivity, scale)


class TestConstruction:
    def test_frozen_and_equal(self) -> None:
        assert Grid(0.5) == Grid(Fraction(1, 2))
        assert hash(Grid(0.5, (0, 1))) == hash(Grid(Fraction(1, 2), (0.0, 1.0)))
        with pytest.raises(AttributeError):
            Grid(1).granularity = Fraction(2)  # type: ignore[misc]

    @pytest.mark.parametrize("granularity", [0, -1, float("nan"), float("inf"), "1", None, True])
    def test_bad_granularity(self, granularity: Any) -> None:
        with pytest.raises(InvalidParameter, match="granularity"):
            Grid(granularity)

    @pytest.mark.parametrize("bounds", [(1, 0), (0,), 5, (0, float("inf")), (float("nan"), 1), ("a", "b")])
    def test_bad_bounds(self, bounds: Any) -> None:
        with pytest.raises(InvalidParameter, match="bound"):
            Grid(1, bounds=bounds)
