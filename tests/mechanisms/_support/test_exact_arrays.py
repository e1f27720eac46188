from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dalenius.errors import InvalidParameter
from dalenius.mechanisms import RandomizedResponse
from dalenius.mechanisms._support.exact_arrays import real_numbers, whole_numbers
from dalenius.mechanisms._support.float_arrays import reals
from dalenius.noise import Grid
from dalenius.noise.parameters import floats


class TestRealNumbers:
    @pytest.mark.parametrize(
        ("given", "dtype"),
        [
            (1, object),
            (1.5, np.float64),
            (Fraction(1, 3), object),
            (2**70, object),
            ([1, 2.5], object),
            ([1.0, 2.5], np.float64),
            (np.float32(0.1), np.float64),
            (np.array([1, 2], dtype=np.int8), np.int8),
            ([np.int64(3), 4], object),
            ((np.float64(3.0), 4.5), np.float64),
        ],
    )
    def test_kept_exactly(self, given: Any, dtype: Any) -> None:
        found = real_numbers(given)
        assert found.dtype == dtype
        for x, y in zip(np.ravel(np.array(given, dtype=object)), found.ravel().tolist(), strict=True):
            assert Fraction(float(x) if isinstance(x, np.floating) else x) == Fraction(y)

    @pytest.mark.parametrize(
        "given",
        [None, "1", b"1", True, [True], 1j, [1j], math.nan, [1, math.inf], [1.0, math.nan], [[1], [1, 2]], [],
         np.array(["a"]), np.array([1.0], dtype=np.longdouble), {}, [None], object()],
    )  # fmt: skip
    def test_refused(self, given: Any) -> None:
        with pytest.raises(InvalidParameter):
            real_numbers(given)


class TestWholeNumbers:
    def test_by_type(self) -> None:
        assert whole_numbers([1, 2**80]).dtype == object
        for bad in (1.0, [1, 2.0], Fraction(4, 2), [Fraction(1, 2)], np.array([1.0])):
            with pytest.raises(InvalidParameter):
                whole_numbers(bad)


class TestMissing:
    """What is behind a mask, or is no number, is refused in every reader, without NumPy's own errors."""

    @pytest.mark.parametrize("read", [real_numbers, whole_numbers, lambda x: reals("x", x), Grid(1).to_units,
                                      lambda x: floats("x", x), RandomizedResponse(epsilon=1.0).release])  # fmt: skip
    @pytest.mark.parametrize(
        "given",
        [np.ma.array([1, 2], mask=[True, False]), np.ma.array([1.0, 2.0]), [[1], [1, 2]], [1, [2]], [1, None],
         [np.ma.array([1, 2], mask=[True, False])], (([np.ma.array([1.0])],),), [1, np.ma.masked],
         pd.array([1, None], dtype="Int64"), pd.Series([1, None], dtype="Int64"), [pd.NA], pd.NaT, {1: 2},
         [Decimal(1)], np.array([np.datetime64("2020-01-01")]), np.array(["a"]), {1}, object()],
        ids=lambda x: type(x).__name__,
    )  # fmt: skip
    def test_refused(self, read: Any, given: Any) -> None:
        with pytest.raises(InvalidParameter) as caught:
            read(given)
        assert caught.value.__cause__ is None

    def test_a_list_goes_by_types_alone(self) -> None:
        """Not by the size of its numbers: that would show in the time it takes."""
        for small, large in (([1, 2], [1, 2**70]), (1, 2**70), ([0.5, 1], [0.5, 2**70])):
            assert real_numbers(small).dtype == real_numbers(large).dtype == object

    def test_subclasses_are_plain_numbers(self) -> None:
        class Loud(float):
            def __add__(self, other: object) -> Any:
                raise AssertionError

        class Count(int):
            pass

        assert type(real_numbers([Loud(0.5), Count(2)])[0]) is Fraction
        assert type(whole_numbers([Count(2)])[0]) is int
