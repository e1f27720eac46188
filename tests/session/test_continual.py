"""Counts that keep being published: charged once, measured once, and a unit's rows are the same every time."""

from __future__ import annotations

import datetime
import math
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dalenius as dp
from dalenius.errors import (
    BudgetExceeded,
    CannotMeet,
    EngineFailed,
    InvalidParameter,
    LedgerDamaged,
    QueryRefused,
)
from dalenius.mechanisms._support import counter
from dalenius.session import continual
from dalenius.session.record import answers
from dalenius.session.record.counters import read_counter
from dalenius.tables.engines.failure import FAILED
from tests.noise.seeded import seeded

DAYS = [datetime.date(2026, 1, 1) + datetime.timedelta(days=d) for d in range(60)]


def visits(days: int, units: bool = False) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    day = np.repeat(np.arange(days), 50)
    frame = pd.DataFrame(
        {"day": [DAYS[d] for d in day], "region": np.where(np.arange(len(day)) % 5, "N", "S")}
    )
    return frame.assign(who=rng.integers(0, 40, len(day))) if units else frame


def opened(data: Any, ledger: Any = None, budget: Any = None, **options: Any) -> dp.Session:
    budget = dp.ZCDP(1.0) if budget is None else budget
    options = {"unit": dp.Unit.rows(), "name": "visits", **options}
    return dp.Session(data, budget=budget, ledger=ledger, moved=ledger is not None, **options)


def by_day(session: dp.Session, days: Any = DAYS) -> Any:
    return session.table.group_by("day", keys=days).agg(n=dp.count())


@pytest.mark.parametrize(
    "budget", [dp.ZCDP(1.0), dp.PureDP(2.0), dp.GDP(1.0), dp.ApproxDP(3.0, 1e-6)], ids=repr
)
@pytest.mark.parametrize("adjacency", [dp.ADD_REMOVE, dp.REPLACE_ONE], ids=str)
def test_one_charge_for_all_periods(budget: Any, adjacency: Any) -> None:
    """A miss of 7 standard errors has a chance below 1e-9, for Laplace tails below 1e-4 each: so 20 there."""
    session = opened(visits(30), budget=budget, adjacency=adjacency)
    half = {dp.PureDP: dp.PureDP(1.0), dp.ZCDP: dp.ZCDP(0.1)}.get(type(budget), dp.GDP(0.5))
    with seeded(5):
        feed = session.continual(by_day(session), half)
        left = session.remaining
        published = [feed.publish(DAYS[k]) for k in (0, 9, 29)]
    assert session.remaining == left
    assert [len(p) for p in published] == [1, 10, 30]
    table = published[-1].to_pandas()
    assert list(table["n"][:10]) == list(published[1].to_pandas()["n"])
    truth = 50 * np.arange(1, 31)
    assert np.all(np.abs(table["n_total"] - truth) <= 20 * table["n_total_error"])
    assert np.all(np.abs(table["n"] - 50) <= 20 * table["n_error"])
    assert np.all((table["n_total_low"] <= table["n_total"]) & (table["n_total"] <= table["n_total_high"]))


@pytest.mark.parametrize(
    "budget", [dp.ZCDP(1.0), dp.PureDP(9.0), dp.GDP(1.0), dp.ApproxDP(3.0, 1e-6)], ids=repr
)
def test_the_price_is_the_least_that_is_accurate_enough(budget: Any) -> None:
    session = opened(visits(2), budget=budget)
    feed, wide = by_day(session), []
    for column in (None, "n", "n_total"):
        price = session.price(feed, dp.within(40, 0.9, column=column), continual=True)
        assert price.affordable
        published = session.continual(feed, price).publish(DAYS[1])
        errors = published.counter.step_errors(), published.counter.standard_errors()
        of = {"n": errors[0], "n_total": errors[1]}.get(str(column), np.concatenate(errors))
        wide.append(continual.spread(published.counter, 0.9) * np.max(of))
    assert wide == pytest.approx([40] * 3, rel=1e-3)
    assert max(wide) <= 40
    assert session.price(feed, dp.within(0.5), continual=True).affordable is False
    if not isinstance(budget, dp.PureDP):  # geometric noise comes down to none
        with pytest.raises(CannotMeet, match="no budget makes this answer accurate"):
            session.price(feed, dp.within(1e-9), continual=True)
    for query, accuracy, words in (
        (feed, dp.within(5, column="m"), "publishes 'n' and 'n_total'"),
        (session.table.agg(n=dp.count()), dp.within(5), "a feed is a count"),
        (feed, None, "dp.within"),
    ):
        with pytest.raises(InvalidParameter, match=words):
            session.price(query, accuracy, continual=True)


def test_again_tomorrow_in_another_session(tmp_path: Path) -> None:
    ledger = tmp_path / "a.ledger"
    monday = opened(visits(10), ledger)
    first = monday.continual(by_day(monday), dp.ZCDP(0.5)).publish(DAYS[9])
    tuesday = opened(visits(11), ledger)
    feed = tuesday.continual(by_day(tuesday), dp.ZCDP(0.5))
    assert tuesday.remaining == monday.remaining
    assert np.array_equal(feed.publish().totals, first.totals)
    assert np.array_equal(feed.publish(DAYS[10]).totals[:10], first.totals)
    with pytest.raises(BudgetExceeded):
        tuesday.continual(by_day(tuesday), dp.ZCDP(0.6))


def test_one_period_is_measured_once_though_many_ask(tmp_path: Path) -> None:
    """Four sessions at the same time; whatever they see of a day is one number."""
    ledger, seen = tmp_path / "a.ledger", []
    data = visits(20)
    opened(data, ledger).continual(by_day(opened(data, ledger)), dp.ZCDP(0.5))

    def ask(k: int) -> None:
        session = opened(data, ledger)
        feed = session.continual(by_day(session), dp.ZCDP(0.5))
        seen.extend(feed.publish(DAYS[d]).totals[:5].tolist() for d in range(4 + k % 3, 20, 5))

    threads = [threading.Thread(target=ask, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == sum(len(range(4 + k % 3, 20, 5)) for k in range(4))
    assert all(one == seen[0] for one in seen)


class Counts:
    """What is measured of a feed before noise, by the number of periods that are known."""

    def __init__(self, data: pd.DataFrame, unit: dp.Unit) -> None:
        self.session = opened(data, unit=unit)
        self.feed = self.session.continual(by_day(self.session), dp.ZCDP(0.1))

    def of(self, periods: int) -> list[int]:
        (counts,) = self.feed.evaluate(self.feed.periods.first(periods)).values.values()
        return counts.tolist()


@pytest.mark.parametrize("max_rows", [1, 5])
@pytest.mark.parametrize("groups", [1, None])
def test_rows_that_are_kept_do_not_change_later(max_rows: int, groups: int | None) -> None:
    """Else a person could be in more measurements than was paid for."""
    unit = dp.Unit("who", max_rows=max_rows, **({} if groups is None else {"max_groups": groups}))
    counts = Counts(visits(12, units=True), unit)
    whole = counts.of(12)
    for periods in (1, 5, 11):
        assert counts.of(periods) == whole[:periods]
    assert sum(whole) <= 40 * max_rows
    assert Counts(visits(6, units=True), unit).of(6) == whole[:6]  # rows of later days play no part


def test_units_cost_by_their_rows() -> None:
    session = opened(visits(5, units=True), unit=dp.Unit("who", max_rows=4))
    feed = session.continual(by_day(session), dp.ZCDP(0.5))
    assert feed.counter.sensitivity == 4
    assert feed.counter.loss.zcdp() <= 0.5


def test_groups_beside_time() -> None:
    session = opened(visits(10))
    query = session.table.group_by("day", "region", keys={"day": DAYS, "region": ["N", "S"]}).agg(
        n=dp.count()
    )
    with seeded(4):
        table = session.continual(query, dp.ZCDP(0.5)).publish(DAYS[9]).to_pandas()
    assert len(table) == 20
    last = table[table["day"] == DAYS[9]].set_index("region")
    assert abs(last.loc["N", "n_total"] - 400) <= 7 * last.loc["N", "n_total_error"]
    assert abs(last.loc["S", "n_total"] - 100) <= 7 * last.loc["S", "n_total_error"]


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda t: t.agg(n=dp.count()), InvalidParameter),
        (lambda t: t.group_by("day", keys=dp.discover()).agg(n=dp.count()), InvalidParameter),
        (lambda t: t.group_by("day", keys=DAYS).agg(n=dp.count(), m=dp.sum("who", (0, 9))), QueryRefused),
        (lambda t: t.group_by("day", keys=DAYS).agg(m=dp.sum("who", (0, 9))), QueryRefused),
        (
            lambda t: t.group_by("day", "region", keys=[(DAYS[0], "N"), (DAYS[1], "S")]).agg(n=dp.count()),
            QueryRefused,
        ),
        (
            lambda t: t.group_by(
                "region", "day", keys=[("N", DAYS[0]), ("S", DAYS[0]), ("N", DAYS[1]), ("S", DAYS[1])]
            ).agg(n=dp.count()),
            QueryRefused,
        ),
        (lambda t: t.group_by("day", keys=DAYS[::-1]).agg(n=dp.count()), QueryRefused),
        (lambda t: t, InvalidParameter),
        (
            lambda t: t.with_columns(n_total="who").group_by("n_total", keys=[1, 2]).agg(n=dp.count()),
            QueryRefused,
        ),
    ],
)
def test_refused_before_the_charge(make: Any, error: Any) -> None:
    session = opened(visits(5, units=True))
    with pytest.raises(error):
        session.continual(make(session.table), dp.ZCDP(0.1))
    assert session.remaining == dp.ZCDP(1.0)


def test_periods_are_those_of_the_feed() -> None:
    session = opened(visits(5))
    feed = session.continual(by_day(session), dp.ZCDP(0.1))
    assert repr(feed) == "<Feed of n by day: 60 periods, 2026-01-01 to 2026-03-01>"
    assert len(feed.publish()) == 0
    assert feed.publish().to_pandas().empty
    with pytest.raises(InvalidParameter, match="not a period"):
        feed.publish(datetime.date(2030, 1, 1))
    for odd in (np.array([1, 2]), pd.NA, pd.Series([1, 2]), [], {}, math.nan, object()):
        with pytest.raises(InvalidParameter, match="not a period"):
            feed.publish(odd)


def test_a_counter_that_is_written_otherwise_is_refused() -> None:
    for record in ({}, {"kind": "cone"}, {"kind": "tree", "horizon": 3, "sensitivity": 1}):
        with pytest.raises(LedgerDamaged):
            read_counter(record, dp.ADD_REMOVE)


def test_plot() -> None:
    session = opened(visits(5))
    axes = session.continual(by_day(session), dp.ZCDP(0.1)).publish(DAYS[4]).plot()
    assert len(axes) == 2


def test_many_groups_are_recorded_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(continual, "AT_ONCE", 5)
    session = opened(visits(9))
    regions = {"day": DAYS[:9], "region": ["N", "S"]}
    query = session.table.group_by("day", "region", keys=regions).agg(n=dp.count())
    feed = session.continual(query, dp.ZCDP(0.5))
    assert feed.publish(DAYS[8]).totals.shape == (9, 2)
    pieces = [
        len(answers.read_periods(e)) for d in range(0, 9, 2) if (e := feed.account.recorded(feed._next(d)))
    ]
    assert pieces == [2, 2, 2, 2, 1]
    assert np.array_equal(feed.publish(DAYS[8]).totals, feed.publish().totals)
    monkeypatch.setattr(continual, "AT_ONCE", 1)
    with pytest.raises(QueryRefused, match="at most 1 groups"):
        session.continual(query, dp.ZCDP(0.1))


@pytest.mark.parametrize(
    "odd", [None, 5, "x", [5], [[5]], [[["x"]]], [[[10**30]]], [[[1, 2], [3]]], [[[1, 2, 3]]], [[]]], ids=repr
)
def test_periods_that_are_written_otherwise_are_refused(odd: Any) -> None:
    session = opened(visits(3))
    feed = session.continual(by_day(session), dp.ZCDP(0.1))
    feed.account.keep(feed._next(0), answers._written("continual periods", {"measured": odd}))
    with pytest.raises(LedgerDamaged):
        feed.publish(DAYS[1])


@pytest.mark.filterwarnings("error")
def test_what_goes_wrong_while_a_period_is_measured_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    session = opened(visits(3))
    feed, measured = session.continual(by_day(session), dp.ZCDP(0.1)), counter.Counter.measured

    def warned(self: Any, value: Any, done: int = 0) -> Any:
        warnings.warn(f"of {value.sum()} rows", RuntimeWarning, stacklevel=1)
        return measured(self, value, done)

    def failed(self: Any, value: Any, done: int = 0) -> Any:
        raise ValueError(f"of {value.sum()} rows")

    monkeypatch.setattr(counter.Counter, "measured", warned)
    assert len(feed.publish(DAYS[0])) == 1
    monkeypatch.setattr(counter.Counter, "measured", failed)
    with pytest.raises(EngineFailed) as told:
        feed.publish(DAYS[1])
    assert str(told.value) == FAILED
    assert told.value.__cause__ is told.value.__context__ is None
