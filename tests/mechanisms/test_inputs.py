"""Whatever is handed in, every mechanism answers or refuses with its own error: none of NumPy's, no cause, no value."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dalenius.errors import InvalidParameter
from dalenius.mechanisms import AboveThreshold, SparseVector
from tests.audit.test_mechanisms import LISTED


class Odd:
    """Fails at whatever is tried."""

    def __array__(self, *_: object, **__: object) -> Any:
        raise RuntimeError("12345")

    def __float__(self) -> float:
        raise RuntimeError("12345")

    def __iter__(self) -> Any:
        raise RuntimeError("12345")

    def __len__(self) -> int:
        raise RuntimeError("12345")


GIVEN: list[Any] = [
    np.array(5), np.array(5.5), np.array(True), np.array("a"), np.array(None), np.float32(2), np.uint8(3),
    [], [[]], np.zeros(0), np.zeros((0, 3)), np.zeros((2, 0)), [[1, 2], [3]], [1, [2, 3]], [np.zeros(2), np.zeros(3)],
    np.ma.array([1.0, 12345.0], mask=[False, True]), np.ma.array([1, 2]), np.ma.masked, [np.ma.masked, 1],
    np.array([1, 12345.5], dtype=object), np.array([1, None], dtype=object), np.array([[1], [1, 2]], dtype=object),
    pd.Series([1, 2]), pd.Series([1.0, np.nan]), pd.Series([1, None], dtype="Int64"), pd.DataFrame({"a": [1, 2]}),
    pd.NA, pd.NaT, pd.Timestamp("2020-01-01"), pd.Categorical(["a"]), pd.Index([1, 2]), pd.array([1, 2]),
    Decimal("12345"), [Decimal(1)], Fraction(1, 3), [Fraction(1, 3), 2], 10**400, [10**400, 1], -(2**63), 2**64,
    np.array([2**64 - 1], dtype=np.uint64), np.array([1.5], dtype=np.float16), np.array([1], dtype=np.longdouble),
    np.array(["2020-01-01"], dtype="datetime64[D]"), np.array([(1, 2)], dtype=[("a", int), ("b", int)]),
    np.matrix([[1.0, 2.0], [3.0, 4.0]]), 1j, np.array([1j]), b"ab", bytearray(b"ab"), memoryview(b"ab"), range(3),
    iter([1, 2]), (x for x in (1, 2)), {1, 2}, {"a": 1}, {"a": 12345.5}, object(), int, Odd(), [Odd()], {Odd(): 1},
    ([1.0], [0.0, 1.0]), ([], [1]), ([2.0, 1.0], [0, 0, 0]), (1, 2), ([1.0], [0.0]), (Odd(), [1.0]), float("nan"),
    np.array([np.inf]), -0.0, [True, False], [None], ["a", 1], "text", "", Ellipsis, NotImplemented, slice(3),
]  # fmt: skip


@pytest.mark.parametrize("listed", {x.name: x for x in LISTED}.values(), ids=str)
def test_answers_or_refuses(listed: Any) -> None:
    mechanism = listed.mechanism
    runs = [mechanism.release, lambda value: mechanism.releases(value, 2)]
    if isinstance(mechanism, AboveThreshold | SparseVector):
        runs.append(lambda value: mechanism.start(0.0).ask(value))
        runs.append(lambda value: mechanism.start(value))
        runs.append(lambda value: mechanism.release([1.0, 2.0], threshold=value))
    refusals = [refusal for given in GIVEN for run in runs if (refusal := _refusal(run, given)) is not None]
    assert len(refusals) > len(GIVEN) // 2
    for refused in refusals:
        assert refused.__cause__ is None
        assert "12345" not in str(refused)


def _refusal(run: Callable[[Any], Any], given: Any) -> InvalidParameter | None:
    try:
        run(given)
    except InvalidParameter as refused:
        return refused
    return None
