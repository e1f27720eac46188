"""Numbers that come in: any type of number, exactly, or a refusal that fits on a line."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dalenius.core import checks
from dalenius.errors import InvalidParameter

CHECKS = [
    checks.number,
    checks.positive,
    checks.nonnegative,
    checks.probability,
    checks.failure_probability,
    checks.count,
]
ODD = [
    10**5000,
    -(10**5000),
    Fraction(10**400),
    Decimal("NaN"),
    Decimal("sNaN"),
    Decimal("1e400"),
    math.inf,
    1j,
]
NEVER = [True, "1", b"1", None, [], {}, object(), np.zeros(2)]


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("value", [*ODD, *NEVER], ids=range(len(ODD) + len(NEVER)))
def test_what_is_no_number_is_refused_in_a_line(check: Any, value: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"^size is .*; it must be ") as caught:
        check("size", value)
    assert caught.value.parameter == "size"
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    "one", [1, 1.0, Fraction(1), Decimal(1), np.float32(1), np.int8(1), np.float64(1)], ids=repr
)
def test_any_number_is_one(one: Any) -> None:
    for check in (checks.number, checks.positive, checks.nonnegative, checks.probability, checks.count):
        assert check("size", one) == 1
    assert type(checks.count("size", one)) is int
    assert type(checks.number("size", one)) is float


def test_counts_are_exact() -> None:
    """A float cannot tell 10^17 from 10^17 + 1; whole numbers of other types are not sent through one."""
    odd = 10**17 + 1
    assert checks.count("n", Decimal(odd)) == checks.count("n", Fraction(odd)) == odd
    for value in (Fraction(1, 2), Decimal("2.5"), 1.5, np.float64(1.5), Fraction(odd, 2)):
        with pytest.raises(InvalidParameter, match="a whole number"):
            checks.count("n", value)


def test_counts_end_where_floats_do() -> None:
    assert checks.count("n", 10**300) == 10**300
    for value in (10**300 + 1, 10**400):
        with pytest.raises(InvalidParameter, match="at most 1e300"):
            checks.count("n", value)


@pytest.mark.parametrize("value", [0, 1, -0.5, 2, Decimal("1.0"), math.nan, "0.9", None], ids=repr)
def test_a_confidence_is_strictly_inside(value: Any) -> None:
    assert checks.confidence(Fraction(19, 20)) == 0.95
    with pytest.raises(InvalidParameter, match=r"confidence is .* strictly between 0 and 1"):
        checks.confidence(value)


def test_long_things_are_cut_short() -> None:
    assert checks.shown([1, 2]) == "[1, 2]"
    assert checks.shown("x" * 1000).endswith("... (1002 characters)")
    assert checks.shown(10**5000) == "a number of thousands of digits"
