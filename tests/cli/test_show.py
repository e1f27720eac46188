"""What is shown is never better than what was computed."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

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


def on_a_terminal(
    width: int, header: tuple[str, ...], rows: list[tuple[str, ...]], patch: pytest.MonkeyPatch, capsys: Any
) -> list[str]:
    patch.setattr(show, "is_terminal", lambda: True)
    patch.setenv("COLUMNS", str(width))
    show.table(header, rows)
    lines = str(capsys.readouterr().out).splitlines()
    assert all(len(line.rstrip()) <= width for line in lines)
    return lines


def test_nothing_is_cut_on_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An amount stands in one piece, whatever the width; only words are folded."""
    what = "mean of pay by state, where age >= 18 and sex = 'f' and region = 'north'"
    row = ("2026-03-05 10:11", "ana", "people", what, "rho 0.03391", "rho 0.4661")
    header = ("when", "who", "account", "what", "cost", "left")
    wide, fold, narrow = (
        on_a_terminal(width, header, [row, row], monkeypatch, capsys) for width in (200, 110, 60)
    )
    for lines in (wide, fold, narrow):
        text = "\n".join(lines)
        assert "…" not in text
        for cell in (row[0], *row[4:]):
            assert text.count(cell) == 2
    assert any(all(cell in line for cell in row) for line in wide)
    assert any("rho 0.03391" in line and "rho 0.4661" in line for line in fold)
    assert len([line for line in fold if "│" in line]) > 2  # rows of several lines
    assert not any("│" in line for line in narrow)
    assert "cost     rho 0.03391" in [line.rstrip() for line in narrow]
    assert sum(line.startswith("when ") for line in narrow) == 2
