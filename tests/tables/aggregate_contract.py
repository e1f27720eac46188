"""What every aggregate must keep. A test class inherits `AggregateContract` and says what is asked and what is true.

Neighbours in the tests of sensitivity are random tables of a few rows with one unit more, or another one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

import dalenius as dp
from dalenius.calculus.guarantees import filter_of
from dalenius.core.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dalenius.errors import LedgerError, QueryRefused, Refused
from dalenius.session.explain import Explanation
from dalenius.tables.aggregates import KINDS, Aggregate, from_record
from dalenius.tables.ask.query import Query
from dalenius.tables.compute import exact
from dalenius.tables.compute.source import Source
from dalenius.tables.plan.noise import Noise
from dalenius.tables.plan.plan import Plan, groups, plan
from dalenius.tables.plan.sensitivity import sensitivity
from dalenius.tables.release.estimates import Wanted, columns
from dalenius.tables.release.record import answer_record, read_answer
from dalenius.tables.release.released import release
from dalenius.tables.sql import parse_aggregates
from dalenius.tables.statistics.column import Column
from tests.noise.seeded import seeded

KEYS = ["a", "b"]
UNIT = dp.Unit("id", max_rows=3)
PRICES: list[dp.Guarantee] = [dp.PureDP(0.5), dp.ZCDP(0.05), dp.GDP(0.3)]
SCHEMA = dp.Schema({"k": {"categories": ["p", "q", "r"]}, "x": {"bounds": (0, 10)}, "y": {"bounds": (-1, 1)}})


def frame(rows: int, units: int, rng: np.random.Generator) -> pd.DataFrame:
    """Rows with numbers, text, conditions, and `hole`: a number that is missing now and then."""
    x = rng.uniform(0, 10, rows)
    return pd.DataFrame(
        {
            "id": rng.integers(0, units, rows),
            "g": rng.choice(KEYS, rows),
            "x": x,
            "y": np.clip(x / 10 - 0.5 + rng.normal(0, 0.2, rows), -1, 1),
            "n": rng.integers(0, 10, rows),
            "flag": rng.random(rows) < 0.3,
            "k": rng.choice(["p", "q", "r", "other"], rows, p=[0.2, 0.5, 0.2, 0.1]),
            "hole": np.where(rng.random(rows) < 0.3, np.nan, x),
        }
    )


@lru_cache(maxsize=1)
def large() -> tuple[pd.DataFrame, Source]:
    """A table of which one row is little, and every row a unit."""
    data = frame(20_000, 20_000, np.random.default_rng(3))
    return data, opened(data)


def opened(data: pd.DataFrame) -> Source:
    schema = dp.Schema(dict(SCHEMA.columns) | {"hole": {"bounds": (0, 10)}}, nulls=None)
    for name in ("id", "g", "x", "y", "n", "flag"):
        schema = dp.Schema(dict(schema.columns) | {name: _never(schema[name])})
    schema = dp.Schema(
        dict(schema.columns) | {"k": dp.tables.Column(categories=["p", "q", "r"], nulls="drop")}
    )
    return Source.open(data, schema=schema)


def counted(noise: Noise, values: Any, groups: int) -> Any:
    """The same values in so many groups, counted into the bins of a measure."""
    bins = noise.measure.bins
    assert bins is not None
    at = np.clip(np.searchsorted(bins.edges, np.asarray(values), side="right") - 1, 0, bins.size - 1)
    return np.tile(np.bincount(at, minlength=bins.size), (groups, 1))


@lru_cache
def neighbours(adjacency: Adjacency) -> list[tuple[Source, Source]]:
    """Three small tables and a neighbour of each, opened once for all aggregates."""
    rng, pairs = np.random.default_rng(7), []
    for _ in range(3):
        own = frame(6, 3, rng).assign(id=lambda d: d["id"] + 10)
        one, other = (frame(4, 1, rng) for _ in range(2))
        here = pd.concat([own, other]) if adjacency is REPLACE_ONE else own
        pairs.append((opened(here), opened(pd.concat([own, one]))))
    return pairs


def _never(facts: Any) -> Any:
    return dp.tables.Column(bounds=facts.bounds, categories=facts.categories, nulls="never")


class AggregateContract:
    """asked: the aggregate. record: what the ledger holds of it, for ever. spelled: calls in SQL, or on the command
    line, that ask the same. wrong: aggregates that no table of these columns answers."""

    asked: ClassVar[Aggregate]
    record: ClassVar[dict[str, Any]]
    spelled: ClassVar[tuple[str, ...]]
    wrong: ClassVar[tuple[Callable[[], Aggregate], ...]]
    holed: ClassVar[Aggregate | None]
    """Of the column `hole`, without a policy for missing values; None for an aggregate that has no argument."""
    close: ClassVar[float] = 0.02
    """How near the estimate of a large table is to the truth."""
    delta: ClassVar[float] = 0.0
    """The probability with which it may do worse than its price; above 0 where nothing but GDP can pay for it."""
    budget: ClassVar[dp.Guarantee] = dp.ZCDP(1.0)
    """Of a session that it can be asked in."""

    def payment(self, rho: float) -> dp.Guarantee:
        """What it is paid with there."""
        return dp.ZCDP(rho)

    def planned(self, query: Query, price: dp.Guarantee, adjacency: Adjacency = ADD_REMOVE) -> Plan:
        return plan(query, UNIT, price, adjacency, self.delta)

    def unpayable(self, price: dp.Guarantee) -> bool:
        """Whether it is refused for this price, as it then must be."""
        if not self.delta or isinstance(price, dp.GDP):
            return False
        with pytest.raises(Refused, match="delta"):
            plan(self.query(large()[1]), UNIT, price)
        return True

    def truth(self, data: pd.DataFrame) -> list[Any]:
        """The estimates of each column for all rows of a table."""
        raise NotImplementedError

    def query(self, source: Source) -> Query:
        return source.table().group_by("g", keys=KEYS).agg(r=self.asked)

    # -- what it is made of --------------------------------------------------------------------------

    def test_roles_are_the_same_each_time_and_hashable(self) -> None:
        _, source = large()
        first, second = self.query(source), self.query(source)
        assert first == second
        assert hash(first.measures) == hash(second.measures)
        assert first.canonical() == second.canonical()
        assert all(self.asked.weight(role) > 0 for role, _ in first.roles[0])

    def test_it_has_one_spelling(self) -> None:
        scope = large()[1].table().scope()
        normal = self.asked.normal(scope)
        assert normal.normal(scope) == normal
        assert normal.roles(scope) == self.asked.roles(scope)
        assert from_record(normal.record()) == normal

    @pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE])
    def test_no_neighbour_moves_a_measure_further_than_is_claimed(self, adjacency: Adjacency) -> None:
        for here, there in neighbours(adjacency):
            query = self.query(here)
            a, b = (exact.evaluate(source, query, UNIT) for source in (here, there))
            for measure in query.measures:
                claimed = sensitivity(measure, UNIT, adjacency, groups(query) * measure.size)
                moved = [int(d) for d in np.ravel(a[measure] - b[measure])]
                assert sum(map(abs, moved)) <= claimed.l1, measure
                assert sum(d * d for d in moved) <= claimed.l2_squared, measure

    @pytest.mark.parametrize("price", PRICES, ids=repr)
    @pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE])
    def test_the_noise_costs_what_it_may(self, price: dp.Guarantee, adjacency: Adjacency) -> None:
        if self.unpayable(price):
            return
        made = self.planned(self.query(large()[1]), price, adjacency)
        limit = filter_of(price, adjacency).limit
        payer = filter_of(dp.ApproxDP(9.0, 1e-5), adjacency) if self.delta else filter_of(price, adjacency)
        cost = payer.cost(made.loss)
        assert cost.delta <= self.delta
        assert 0.98 * limit.amount <= cost.amount <= limit.amount

    # -- what comes of it ----------------------------------------------------------------------------

    def estimated(self, sampling: bool = False) -> tuple[list[Column], list[Any]]:
        data, source = large()
        query = source.table().agg(r=self.asked)
        with seeded(1):
            noisy = release(self.planned(query, dp.GDP(30.0)), exact.evaluate(source, query, dp.Unit.rows()))
        return columns(query, noisy, Wanted(0.999, sampling=sampling)), self.truth(data)

    @pytest.mark.parametrize("sampling", [False, True])
    def test_a_large_table_has_the_right_estimate(self, sampling: bool) -> None:
        found, true = self.estimated(sampling)
        assert len(found) == len(true)
        for column, right in zip(found, true, strict=True):
            if not column.is_number:
                assert column.estimate[0] == right
                continue
            assert column.estimate[0] == pytest.approx(right, rel=self.close, abs=1e-3)
            if column.has_interval:
                assert column.low[0] <= column.estimate[0] <= column.high[0]
                assert column.low[0] - 1e-9 <= right <= column.high[0] + 1e-9
                assert math.isfinite(column.high[0] - column.low[0])
                assert column.error[0] > 0

    def test_an_empty_table_has_an_answer(self) -> None:
        source = opened(large()[0][:0])
        query = self.query(source)
        for price in PRICES:
            if self.unpayable(price):
                continue
            noisy = release(self.planned(query, price), exact.evaluate(source, query, UNIT))
            for sampling in (False, True):
                for column in columns(query, noisy, Wanted(sampling=sampling)):
                    assert len(column.plain) == len(KEYS)

    @pytest.mark.parametrize("price", PRICES, ids=repr)
    def test_the_ledger_gives_the_same_answer(self, price: dp.Guarantee) -> None:
        _, source = large()
        query = self.query(source)
        if self.unpayable(price):
            return
        made = self.planned(query, price)
        noisy = release(made, exact.evaluate(source, query, UNIT))
        known, again = read_answer(json.loads(json.dumps(answer_record(query, noisy))), query)
        for first, second in zip(
            columns(query, noisy, Wanted()), columns(known, again, Wanted()), strict=True
        ):
            for part in ("estimate", "error", "low", "high"):
                a, b = getattr(first, part), getattr(second, part)
                assert (a == b).all() if a.dtype == object else np.array_equal(a, b, equal_nan=True)

    def test_an_answer_can_be_looked_at_in_every_way(self) -> None:
        # No unit has so many rows: where rows are cut, groups and total may not agree, and say so.
        s = dp.Session(large()[1], unit=dp.Unit("id", max_rows=12), budget=self.budget)
        answer = s.release(self.query(s.source), self.payment(0.5))
        for shown in (answer, answer.consistent(), answer.at(0.8, simultaneous=True, sampling=True)):
            assert len(shown.to_pandas()) == len(KEYS)
            assert shown.to_arrow().num_rows == shown.to_polars().height == len(KEYS)
            assert all((str(shown), shown.to_markdown(), shown.to_html()))
            assert json.dumps(shown.to_dict(), default=str)
        total = s.release(s.table.agg(r=self.asked), self.payment(0.1))
        assert len(answer.agreeing_with(total)) == len(KEYS)

    # -- before paying -------------------------------------------------------------------------------

    def test_it_is_explained(self) -> None:
        s = dp.Session(large()[1], unit=UNIT, budget=self.budget)
        query = self.query(s.source)
        told = str(s.explain(query, self.payment(0.1)))
        assert self.asked.explanation in told
        assert str(self.asked) in repr(query)

        def error(rho: float) -> float | None:
            made = Explanation(self.planned(query, self.payment(rho)))
            return made._errors(0.95, 1000.0)["r"]

        least, most = error(1.0), error(0.01)
        if least is None or most is None:
            with pytest.raises(Refused, match="the error of 'r' depends"):
                s.price(query, dp.within(1.0))
            return
        assert 0 < least < most
        assert (
            s.price(query, dp.within(math.sqrt(least * most), rows=1000)).budget.size
            > self.payment(0.01).size
        )

    def test_what_is_wrong_is_refused_before_a_charge(self) -> None:
        s = dp.Session(large()[1], unit=UNIT, budget=self.budget)
        for wrong in self.wrong:
            with pytest.raises(Refused):
                s.release(s.table.agg(r=wrong()), self.payment(0.1))
        assert s.remaining == self.budget

    def test_missing_values_need_a_policy(self) -> None:
        if self.holed is None:
            return
        data = large()[0][:500]
        table = opened(data).table()
        with pytest.raises(QueryRefused, match="null"):
            table.agg(r=self.holed)
        dropped = table.agg(r=self.holed.dropping())
        whole = opened(data.dropna()).table().agg(r=self.holed.dropping())
        here = exact.evaluate(opened(data), dropped, dp.Unit.rows())
        there = exact.evaluate(opened(data.dropna()), whole, dp.Unit.rows())
        for (role, a), (_, b) in zip(dropped.roles[0], whole.roles[0], strict=True):
            assert np.array_equal(here[a], there[b]), role

    # -- how it is written ---------------------------------------------------------------------------

    def test_it_is_listed_under_its_own_words(self) -> None:
        kind = type(self.asked)
        assert kind in KINDS
        assert [other.tag for other in KINDS].count(kind.tag) == 1
        names = [name for other in KINDS for name in other.sql_names]
        assert all(names.count(name) == 1 for name in kind.sql_names)

    def test_the_record_never_changes(self) -> None:
        assert self.asked.record() == self.record
        assert self.record["kind"] == type(self.asked).tag
        read = from_record(json.loads(json.dumps(self.record)))
        assert read == self.asked
        assert type(read) is type(self.asked)
        assert hash(read) == hash(self.asked)

    def test_another_record_is_refused(self) -> None:
        for wrong in (
            {**self.record, "kind": "no such kind"},
            {**self.record, "more": None},
            *({k: v for k, v in self.record.items() if k != gone} for gone in self.record),
        ):
            with pytest.raises(LedgerError):
                from_record(wrong)

    def test_sql_asks_the_same(self) -> None:
        for text in self.spelled:
            assert parse_aggregates(f"{text} AS r", unit=("id",)) == {"r": self.asked}, text
