"""Costs: exact, rounded up once, written so that the same number comes back."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dalenius as dp
from dalenius.calculus.guarantees.amounts import (
    GRAINS,
    decimal,
    declared,
    declared_at_least,
    declared_at_most,
    exactly_at_most,
    from_decimal,
    rounded_down,
    rounded_up,
)
from dalenius.calculus.guarantees.cost import Cost
from dalenius.errors import InvalidParameter

fractions = st.fractions(min_value=0, max_value=10**6, max_denominator=10**40)
floats = st.floats(min_value=0, max_value=1e6, allow_subnormal=True)


@given(fractions)
def test_rounding_is_by_less_than_a_grain_and_the_right_way(value: Fraction) -> None:
    assert 0 <= rounded_up(value) - value < Fraction(1, GRAINS)
    assert 0 <= value - rounded_down(value) < Fraction(1, GRAINS)


@given(fractions)
def test_one_number_has_one_text(value: Fraction) -> None:
    grain = rounded_up(value)
    assert from_decimal(decimal(grain)) == grain


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1.",
        ".5",
        "0.50",
        "00",
        "1e-3",
        "-1",
        "+1",
        "nan",
        "1/3",
        " 1",
        "1 ",
        "١",
        0.5,
        None,
        "0." + "1" * 31,
    ],
)
def test_another_spelling_is_refused(text: object) -> None:
    with pytest.raises(InvalidParameter):
        from_decimal(text)


@given(floats)
def test_a_float_is_read_as_it_was_written(value: float) -> None:
    assert float(declared(value)) == value
    assert declared_at_most(declared(value)) == value == declared_at_least(declared(value))


@given(fractions)
def test_floats_near_a_fraction_lie_on_the_side_they_should(value: Fraction) -> None:
    assert declared(declared_at_most(value)) <= value <= declared(declared_at_least(value))
    assert Fraction(exactly_at_most(value)) <= value


def test_ten_times_a_twentieth_is_a_half() -> None:
    """In doubles 0.05 is a little more than a twentieth, and ten of them would not fit."""
    twentieth = Cost("zcdp", declared(0.05))
    limit = Cost("zcdp", declared(0.5))
    total = twentieth
    for _ in range(9):
        total = total + twentieth
    assert total.fits(limit)
    assert not (total + Cost("zcdp", Fraction(1, GRAINS))).fits(limit)
    assert Fraction(0.05) * 10 > Fraction(0.5)


@pytest.mark.parametrize("rho", [0.05, 0.1, 0.3, 0.7, 1e-3])
def test_strict_promises_are_not_above_what_was_written(rho: float) -> None:
    found = dp.ZCDP(rho).strict()
    assert isinstance(found, dp.ZCDP)
    assert Fraction(found.rho) <= declared(rho) <= declared(math.nextafter(rho, 1))
    assert found.rho >= math.nextafter(rho, 0)


def test_parts_do_not_mix() -> None:
    with pytest.raises(InvalidParameter, match="do not add"):
        Cost("zcdp", Fraction(1)) + Cost("gdp", Fraction(1))
    with pytest.raises(InvalidParameter, match="same neighbours"):
        Cost("zcdp", Fraction(1)) + Cost("zcdp", Fraction(1), adjacency=dp.REPLACE_ONE)
    with pytest.raises(InvalidParameter, match="no delta"):
        Cost("pure", Fraction(1), Fraction(1, 10))


@pytest.mark.parametrize("amount", [-1, 0.5, "1", None, True, math.nan, Fraction(-1, 3)])
def test_an_amount_is_an_exact_number(amount: object) -> None:
    with pytest.raises(InvalidParameter, match="Fraction"):
        Cost("pure", amount)  # type: ignore[arg-type]


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="pure, approx, zcdp, gdp"):
        Cost("rdp", Fraction(1))  # type: ignore[arg-type]


def test_a_share_is_rounded_down() -> None:
    whole = Cost("approx", Fraction(1), Fraction(1, 10**6))
    third = whole.share(Fraction(1, 3))
    assert third.amount < Fraction(1, 3)
    assert (third + third + third).fits(whole)


def test_a_shift_adds_and_is_written_only_where_there_is_one() -> None:
    plain, aside = Cost("approx", Fraction(1)), Cost("approx", Fraction(1), shift=Fraction("0.5"))
    assert plain.written() == {"amount": "1", "delta": "0"}
    both = plain + aside
    assert both.written() == {"amount": "2", "delta": "0", "shift": "0.5"}
    assert plain.read(both.written()) == both
    assert not aside.fits(plain)
    assert both.below(Cost("approx", Fraction(3), shift=Fraction(1))) == aside
    assert aside.least(plain) == plain
    assert aside.share(Fraction(1, 2)).shift == Fraction("0.25")
    for content in (
        {"amount": "2", "delta": "0", "shift": "0"},
        {"amount": "2", "shift": "0.5"},
        {**both.written(), "x": "1"},
    ):
        with pytest.raises(InvalidParameter, match="must be written"):
            plain.read(content)
    with pytest.raises(InvalidParameter, match="no shift"):
        Cost("gdp", Fraction(1), shift=Fraction(1))


def test_how_much_of_the_room_a_cost_takes() -> None:
    room = Cost("approx", Fraction(2), Fraction(1, 10), shift=Fraction(1))
    assert Cost("approx", Fraction(1), shift=Fraction("0.25")).use_of(room) == Fraction(1, 2)
    assert Cost("approx", Fraction(1)).use_of(room.nothing) == math.inf
    assert room.nothing.use_of(room.nothing) == 0
