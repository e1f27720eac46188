"""What is shown is never better than what was computed."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.cli import show
from dalenius.core import decimals

FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@given(FLOATS, st.integers(1, 20))
def test_rounding_is_outward_and_tight(value: float, digits: int) -> None:
    exact = Decimal(value)
    low, high = Decimal(decimals.rounded_down(value, digits)), Decimal(decimals.rounded_up(value, digits))
    assert low <= exact <= high
    # At most one unit in the last digit shown.
    if value != 0:
        assert high - low <= Decimal(1).scaleb(exact.adjusted() - digits + 1)


@given(FLOATS)
def test_exact_reads_back(value: float) -> None:
    assert float(decimals.exact(value)) == value


@pytest.mark.parametrize(
    ("value", "low", "high"),
    [
        (6.507280812407254, "6.507280", "6.507281"),
        (0.5, "0.5", "0.5"),
        (0.0, "0", "0"),
        (100.0, "100", "100"),
        (0.1, "0.1000000", "0.1000001"),  # the double is a little above one tenth
        (1 / 3, "0.3333333", "0.3333334"),
        (9.99999999, "9.999999", "10.00000"),
        (1.23456789e-7, "1.234567e-7", "1.234568e-7"),
        (1e300, "1.000000e300", "1.000001e300"),
        (-1 / 3, "-0.3333334", "-0.3333333"),
        (math.inf, "inf", "inf"),
        (-math.inf, "-inf", "-inf"),
    ],
)
def test_examples(value: float, low: str, high: str) -> None:
    assert (decimals.rounded_down(value), decimals.rounded_up(value)) == (low, high)


@pytest.mark.parametrize(
    ("value", "text"), [(1e-5, "1e-5"), (3.0, "3"), (1.5e-10, "1.5e-10"), (0.25, "0.25"), (1e15, "1e15")]
)
def test_exact(value: float, text: str) -> None:
    assert decimals.exact(value) == text


def test_tables_are_plain_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    show.table(("a", "long header"), [("1e-5", "[bold]x"), ("2", "y")])
    assert capsys.readouterr().out == "a     long header\n1e-5  [bold]x\n2     y\n"


def test_tables_are_framed_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(show, "is_terminal", lambda: True)
    show.table(("a", "b"), [("1e-5", "[bold]x")])
    out = capsys.readouterr().out
    assert "[bold]x" in out
    assert "│" in out
