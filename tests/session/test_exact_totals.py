"""A release may spend exactly the total, whatever its decimals; a grain more is refused."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dalenius as dp
from dalenius.calculus.guarantees import filter_of
from dalenius.calculus.losses import gaussian
from tests.sample import sampled

FRAME = pd.DataFrame({"g": ["a", "b"] * 50, "x": range(100)})
FACTS = dp.Schema({"g": {"categories": ["a", "b"]}, "x": {"bounds": (0, 100)}}, nulls="never")

TOTALS = [
    *sampled(
        kind(value)
        for kind in (dp.PureDP, dp.ZCDP, dp.GDP)
        for value in (0.1, 1 / 3, 0.7, 1.0, math.pi, 1e-3, 7)
    ),
    *(dp.ApproxDP(e, d) for e, d in ((1, 1e-6), (0.3, 1e-8), (1 / 3, 1e-7 / 3), (8, 1e-12))),
    dp.ApproxDP(0.5, 0.0),
]
"""Of a third of the pure, zCDP and GDP ones each value is there once."""


def session(budget: dp.Guarantee, **more: Any) -> dp.Session:
    return dp.Session(FRAME, unit=dp.Unit.rows(), budget=budget, schema=FACTS, **more)


@pytest.mark.parametrize("total", TOTALS, ids=repr)
def test_all_at_once(total: dp.Guarantee) -> None:
    one = session(total)
    one.release(one.table.agg(n=dp.count()), total)
    assert one.account.left().amount == 0
    with pytest.raises(dp.errors.BudgetExceeded):
        one.release(one.table.agg(m=dp.count()), total)
    many = session(total)
    many.release(many.table.group_by("g").agg(n=dp.count(), x=dp.mean("x"), v=dp.variance("x")), total)
    several = session(total)
    several.release_all({k: several.table.agg(x=dp.mean("x"), n=dp.count()) for k in "abc"}, total)


@pytest.mark.parametrize("total", TOTALS, ids=repr)
def test_a_little_more_is_refused(total: dp.Guarantee) -> None:
    first, *rest = vars(total).values()
    more = type(total)(math.nextafter(first, math.inf), *rest)
    if isinstance(total, dp.ApproxDP):  # the amount is found by a search, to a few units in the last place
        more = type(total)(first * (1 + 1e-12), *rest)
    s = session(total)
    with pytest.raises(dp.errors.BudgetExceeded):
        s.release(s.table.agg(n=dp.count()), more)


@pytest.mark.parametrize("total", [t for t in TOTALS if isinstance(t, dp.ApproxDP) and t.delta], ids=repr)
def test_the_noise_keeps_the_price(total: dp.ApproxDP) -> None:
    """What is charged is at least what the noise costs, and the noise alone keeps half of the delta."""
    s = session(total)
    s.release(s.table.agg(n=dp.count(), x=dp.mean("x")), total)
    spent = s.account.balance().total
    made = s._plan(s.table.agg(n=dp.count(), x=dp.mean("x")), s.account.filter.price(total))
    assert filter_of(total).cost(made.loss).amount <= spent.amount <= filter_of(total).limit.amount
    assert made.loss.delta(total.epsilon) <= total.delta / 2
    assert gaussian(float(spent.amount) ** -0.5 * (1 + 1e-12)).delta(total.epsilon) <= total.delta / 2


def test_all_of_a_share(tmp_path: Path) -> None:
    shares = {"ann": "1/3", "bo": 0.25}
    for n, (total, part) in enumerate(
        (
            (dp.ZCDP(0.3), dp.ZCDP(0.1)),
            (dp.PureDP(3.0), dp.PureDP(1.0)),
            (dp.GDP(3.0), dp.GDP(math.sqrt(3.0) * (1 - 1e-15))),
        )
    ):
        ann = session(total, ledger=tmp_path / str(n), name="x", analyst="ann", shares=shares)
        ann.release(ann.table.agg(n=dp.count()), part)
        bo = session(total, ledger=tmp_path / str(n), name="x", analyst="bo", shares=shares)
        bo.release(bo.table.agg(n=dp.count("x")), bo.remaining)
        assert float(bo.account.left().amount) < 1e-12
    approx = {"ledger": tmp_path / "approx", "name": "x", "shares": {"ann": 1}, "analyst": "ann"}
    ann = session(dp.ApproxDP(0.3, 1e-8), **approx)
    ann.release(ann.table.agg(n=dp.count()), dp.ApproxDP(0.3, 1e-8))
    assert ann.account.left().amount == 0


def test_a_discovery_may_take_all(tmp_path: Path) -> None:
    s = session(dp.ApproxDP(1.0, 1e-6))
    s.release(s.table.group_by("g", keys=dp.discover()).agg(n=dp.count()), dp.ApproxDP(1.0, 1e-6))
    assert s.account.left().amount == 0


@pytest.mark.parametrize("total", TOTALS, ids=repr)
def test_all_that_remains(total: dp.Guarantee) -> None:
    """After something was spent: the next release may be given what remains, and then nothing is left of it."""
    s = session(total)
    s.release(s.table.agg(n=dp.count()), total.divided(3))
    left = s.account.left().amount
    assert left > 0
    s.release(s.table.agg(m=dp.count()), s.remaining)
    assert s.account.left().amount <= left * Fraction(1, 10**14)
    with pytest.raises(dp.errors.BudgetExceeded):
        s.release(s.table.agg(k=dp.count()), total.divided(1000))


def test_all_that_remains_of_a_share_beside_a_reserve(tmp_path: Path) -> None:
    more = {"ledger": tmp_path / "L", "name": "x", "shares": {"ann": "1/3", "bo": 0.25}, "reserve": 0.25}
    bo = session(dp.ApproxDP(1.0, 1e-6), analyst="bo", **more)
    left = bo.account.left()
    bo.release(bo.table.agg(n=dp.count()), bo.remaining)
    after = bo.account.left()
    assert after.amount <= left.amount * Fraction(1, 10**14)
    assert (after.delta, after.shift) == (left.delta, left.shift)


def test_a_total_that_is_untouched_remains() -> None:
    for total in TOTALS:
        same = total.as_pure() or total
        assert session(total).remaining == same
