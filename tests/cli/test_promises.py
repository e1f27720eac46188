"""Guarantees in text."""

from __future__ import annotations

import pytest

import dalenius as dp
from dalenius.cli.problems import GrammarError
from dalenius.cli.promises import read_promise


@pytest.mark.parametrize(
    ("text", "guarantee"),
    [
        ("pure:1.0", dp.PureDP(1.0)),
        ("approx:1.0,1e-5", dp.ApproxDP(1.0, 1e-5)),
        (" Approx : 1.0 , 1e-5 ", dp.ApproxDP(1.0, 1e-5)),
        ("zcdp:0.5", dp.ZCDP(0.5)),
        ("gdp:1", dp.GDP(1.0)),
        ("rdp:8,0.5", dp.RDP(8.0, 0.5)),
        ("ZCDP(rho=0.5)", dp.ZCDP(0.5)),
        (" ApproxDP( epsilon=1.0, delta = 1e-05 ) ", dp.ApproxDP(1.0, 1e-5)),
        ("gdp(0.25)", dp.GDP(0.25)),
    ],
)
def test_promises(text: str, guarantee: dp.Guarantee) -> None:
    assert read_promise(text) == guarantee


@pytest.mark.parametrize(
    ("text", "message", "under"),
    [
        ("aprox:1,1e-5", 'did you mean "approx"?', "aprox"),
        ("qqq:1", "Write pure:EPSILON, approx:EPSILON,DELTA", "qqq"),
        ("", "is not a guarantee", ""),
        ("0.1", "a kind, as zcdp:0.1.", "0.1"),
        ("1,1e-6", "a kind, as approx:1,1e-6.", "1,1e-6"),
        ("0.1.2", "is not a guarantee. Write", "0.1.2"),
        ("eps:0.1", "an epsilon is pure:0.1.", "eps"),
        ("epsilon:1,1e-6", "an epsilon is approx:1,1e-6.", "epsilon"),
        ("pure", "write pure:EPSILON", "pure"),
        ("pure:", "is not a finite number", ""),
        ("pure:x", "is not a finite number", "x"),
        ("pure:nan", "is not a finite number", "nan"),
        ("approx:1", "takes 2; write approx:EPSILON,DELTA", "1"),
        ("pure:1,2", "takes 1", "1,2"),
        ("approx:-1,1e-5", "epsilon is -1.0", "-1"),
        ("approx:1,1", "delta is 1.0; it must be a number in [0, 1)", "1"),
        ("rdp:1,0.5", "order is 1.0", "1"),
        ("ZDCP(rho=1)", 'did you mean "zcdp"?', "ZDCP"),
        ("ZCDP(mu=1)", "is not a finite number", "mu=1"),
        ("ZCDP(rho=-1)", "rho is -1.0", "-1"),
        ("TradeOff(f)", "is not a guarantee", "TradeOff"),
        ("tradeoff:1", "is not a guarantee", "tradeoff"),
    ],
)
def test_bad_promises(text: str, message: str, under: str) -> None:
    with pytest.raises(GrammarError) as caught:
        read_promise(text)
    assert message in caught.value.message
    assert text[caught.value.start : caught.value.end] == under


@pytest.mark.parametrize("text", ["pure:1", "approx:1,1e-5", "approx:1,0", "zcdp:0.5", "gdp:1", "rdp:8,0.5"])
def test_the_measure_decides(text: str) -> None:
    """Kept exactly when the measured bound is at most the promised one."""
    promise = read_promise(text)
    for epsilon in (0.3, 0.9, 1.1, 3.0):
        loss = dp.losses.pure(epsilon)
        measure = promise.measure(loss)
        assert (measure.upper <= measure.promised) == promise.holds(loss)
