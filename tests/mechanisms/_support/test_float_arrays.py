"""Numbers from data as doubles: exact or refused, never shown."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dalenius.errors import InvalidParameter
from dalenius.mechanisms._support.float_arrays import reals


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ([1, 2.5, -3], [1.0, 2.5, -3.0]),
        ((np.float32(0.1), np.int8(-4)), [float(np.float32(0.1)), -4.0]),
        (np.array([1, 2], dtype=np.uint8), [1.0, 2.0]),
        (np.array([0.1], dtype=np.float32), [float(np.float32(0.1))]),
        (range(3), [0.0, 1.0, 2.0]),
        ([2**53 + 1, -(2**60), 0.5], [2.0**53, -(2.0**53), 0.5]),
        (np.array([2**62, -(2**62)]), [2.0**53, -(2.0**53)]),
        (np.array([2**63], dtype=np.uint64), [2.0**53]),
        ([10**400], [2.0**53]),
    ],
)
def test_exact(given: Any, found: list[float]) -> None:
    result = reals("x", given)
    assert result.dtype == np.float64
    assert result.tolist() == found


def test_neighbours_stay_neighbours() -> None:
    """Rounding to doubles would take 2^53 + 1 to 2^53 and 2^53 + 2 to itself: a change of 1 becomes 2."""
    for x in range(2**53 - 3, 2**53 + 5):
        assert abs(reals("x", [x + 1])[0] - reals("x", [x])[0]) <= 1


@pytest.mark.parametrize(
    "given",
    [
        None,
        5,
        "12345",
        b"12345",
        [None],
        ["12345"],
        [True],
        [1j],
        [Fraction(12345, 2)],
        [[1.0]],
        [[1], [2, 3]],
        np.zeros((2, 2)),
        np.array([True]),
        np.array([1j]),
        np.array(["12345"]),
        np.array([12345, None]),
        np.array([1.0], dtype=np.longdouble),
        [float("nan"), 12345.0],
        [float("inf")],
        {"a": 1},
        object(),
    ],
)
def test_refused_without_showing_it(given: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"^x ") as caught:
        reals("x", given)
    assert "12345" not in str(caught.value)


def test_how_many() -> None:
    assert len(reals("x", [], least=0)) == 0
    assert len(reals("x", np.array([]), least=0)) == 0
    with pytest.raises(InvalidParameter, match="at least 1"):
        reals("x", [])
