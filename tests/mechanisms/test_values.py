from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dalenius.calculus.errors import InvalidParameter
from dalenius.mechanisms.values import added, integers_like, real_numbers, whole_numbers


class TestRealNumbers:
    @pytest.mark.parametrize(
        ("given", "dtype"),
        [
            (1, np.int64),
            (1.5, np.float64),
            (Fraction(1, 3), object),
            (2**70, object),
            ([1, 2.5], object),
            ([1.0, 2.5], np.float64),
            (np.float32(0.1), np.float64),
            (np.array([1, 2], dtype=np.int8), np.int8),
            ([np.int64(3), 4], np.int64),
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


class TestSums:
    def test_never_overflow(self) -> None:
        top = np.array([2**63 - 1, -(2**63)])
        found = added(top, np.array([1, -1]))
        assert found.tolist() == [2**63, -(2**63) - 1]
        assert integers_like(found, False).tolist() == [2**63 - 1, -(2**63)]
        assert added(np.array([2**61]), np.array([2**61])).dtype == np.int64
        assert added(np.array([2**62]), np.array([2**62])).tolist() == [2**63]
        assert added(np.array([2**63], dtype=np.uint64), np.array([1])).tolist() == [2**63 + 1]
