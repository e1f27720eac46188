"""What agreement is worth: against the exact divergences of all small votes, and against what is in print."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dalenius.adaptive.pate.consensus import gnmax_renyi, least_margin, log_miss, margin
from dalenius.adaptive.pate.papernot import papernot_renyi
from tests.adaptive.pate.votes import all_counts, moves, renyi, winner_law

ORDERS = (1.5, 2.0, 5.0, 20.0)
SMALL = ((2, 7, 1.0), (2, 6, 4.0), (3, 6, 0.7), (3, 5, 2.0), (4, 4, 1.0))


@pytest.mark.parametrize(("classes", "teachers", "sigma"), SMALL)
def test_bounds_hold_for_all_votes(classes: int, teachers: int, sigma: float) -> None:
    close = 0.0
    for counts in all_counts(teachers, classes):
        here, law = margin(np.array(counts), sigma), winner_law(counts, sigma)
        assert 1 - law.max() <= math.exp(float(log_miss(np.array(counts), sigma))) * (1 + 1e-9)
        for order in ORDERS:
            bound = float(gnmax_renyi(here, order, sigma, classes))
            printed = float(papernot_renyi(here, order, sigma, classes))
            assert bound <= printed * (1 + 1e-8)
            for other in moves(counts)[1:]:
                found = renyi(law, winner_law(other, sigma), order)
                assert found <= bound + 1e-12
                close = max(close, found / bound)
    assert close > 0.5


@pytest.mark.parametrize(("classes", "teachers", "sigma"), SMALL)
def test_one_vote_changes_the_margin_by_two_at_most(classes: int, teachers: int, sigma: float) -> None:
    for counts in all_counts(teachers, classes):
        for other in moves(counts):
            assert abs(margin(np.array(counts), sigma) - margin(np.array(other), sigma)) <= 2 + 1e-9


def test_falls_with_the_margin() -> None:
    margins = np.linspace(0, 400, 4001)
    for sigma in (1.0, 20.0, 100.0, 1000.0):
        for order in (1.05, 2.0, 30.0, 1e4):
            assert (np.diff(gnmax_renyi(margins, order, sigma, 10)) <= 1e-18).all()


def test_margin_of_two_classes_is_the_lead() -> None:
    assert margin(np.array([[30, 10], [5, 35]]), 7.0) == pytest.approx([20.0, 30.0], abs=1e-8)
    assert least_margin(2, 7.0) == pytest.approx(0.0, abs=1e-9)


def test_printed_bound_for_all_orders_is_wrong() -> None:
    """Redberg 2023, Theorem 3.6.4, has exp(-2 a/sigma^2)/a for every order a where the lead is large; it is meant for
    one order (the lead over 4), and votes with a lead of five sigma have more."""
    sigma, order, counts = 2.0, 30.0, (15, 4, 1)
    found = renyi(winner_law(counts, sigma), winner_law((14, 5, 1), sigma), order)
    assert found > 5 * math.exp(-2 * order / sigma**2) / order
    assert found <= float(gnmax_renyi(margin(np.array(counts), sigma), order, sigma, 3))
