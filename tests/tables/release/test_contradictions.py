"""Numbers that should add up, and do not, are told from those that noise keeps apart."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.intervals.laws import Law, Normal, TwoSidedExponential, TwoSidedGeometric
from dalenius.tables.release.contradictions import contradict, log_chances
from tests.noise.seeded import seeded


def drawn(law: Law, size: tuple[int, ...], rng: np.random.Generator) -> Any:
    if isinstance(law, Normal):
        return rng.normal(0, law.sigma, size)
    if isinstance(law, TwoSidedGeometric):
        q = math.exp(-1 / 4.0)
        return rng.geometric(1 - q, size) - rng.geometric(1 - q, size)
    return rng.laplace(0, law.sigma / math.sqrt(2), size)


LAWS: list[Law] = [Normal(3.0), TwoSidedExponential(3.0), TwoSidedGeometric.of_scale(4.0)]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.tag)
class TestChances:
    def test_they_are_not_below_how_often_it_happens(self, law: Law) -> None:
        """200 000 gaps of 3 parts: the share beyond each size, less five standard errors of it."""
        rng = np.random.default_rng(1)
        noise = drawn(law, (200_000, 4), rng)
        gaps = np.abs(noise[:, 0] - noise[:, 1:].sum(axis=1))
        sizes = law.sigma * np.array([0.0, 2.0, 4.0, 6.0, 8.0])
        share = (gaps[:, None] >= sizes).mean(axis=0)
        chance = np.exp(log_chances(sizes, 3, law, law))
        assert (chance >= share - 5 * np.sqrt(share / len(gaps)) - 1e-5).all()
        # And they are of use: a gap of 20 standard deviations is no noise.
        assert float(log_chances(np.array([40 * law.sigma]), 3, law, law)[0]) < math.log(1e-9)

    def test_same_rows_are_believed_and_others_not(self, law: Law) -> None:
        """False alarms at 1 % in 2 000 tables of 30 totals: at most 1 % (and 5 standard errors). One gap that is far
        too large is found among them, and so are many that are each within what one may be."""
        rng = np.random.default_rng(2)
        alarms = 0
        for _ in range(2000):
            noise = drawn(law, (30, 4), rng)
            gaps = noise[:, 0] - noise[:, 1:].sum(axis=1)
            alarms += contradict(log_chances(gaps, 3, law, law), 0.01)
        assert alarms <= 20 + 5 * math.sqrt(20)
        gaps[7] += 40 * law.sigma
        assert contradict(log_chances(gaps, 3, law, law))
        somewhat = np.full(1000, 8.0 * law.sigma)
        assert not contradict(log_chances(somewhat[:1], 3, law, law))
        assert contradict(log_chances(somewhat, 3, law, law))


def test_the_moments_of_whole_numbered_noise() -> None:
    """Against the sum over all whole numbers."""
    law, q = TwoSidedGeometric.of_scale(3.0), math.exp(-1 / 3)
    k = np.arange(-1000, 1001)
    weights = q ** np.abs(k) * (1 - q) / (1 + q)
    for s in (0.01, 0.1, 0.3):
        assert math.isclose(
            float(law.log_moment(np.array(s))), math.log((weights * np.exp(s * k)).sum()), rel_tol=1e-6
        )
    assert float(law.log_moment(np.array(0.34))) == math.inf


def abc() -> pd.DataFrame:
    return pd.DataFrame({"g": ["a"] * 1026 + ["b"] * 970 + ["c"] * 1004})


class TestAgreeing:
    @pytest.mark.parametrize("budget", [dp.ZCDP(0.1), dp.PureDP(0.5), dp.GDP(0.5)], ids=repr)
    def test_keys_that_leave_rows_out_are_refused(self, budget: dp.Guarantee) -> None:
        s = dp.Session(abc(), unit=dp.Unit.rows(), budget=type(budget)(10 * budget.size))
        some = s.release(s.table.group_by("g", keys=["a", "b"]).agg(n=dp.count()), budget)
        total = s.release(s.table.agg(n=dp.count()), budget)
        with pytest.raises(InvalidParameter, match=r"not of the same rows.*list all keys"):
            some.agreeing_with(total)
        listed = s.release(s.table.filter("COALESCE(g, '') IN ('a', 'b')").agg(n=dp.count()), budget)
        assert 1800 < sum(some.agreeing_with(listed)["n"].plain) < 2200
        every = s.release(s.table.group_by("g", keys=["a", "b", "c"]).agg(n=dp.count()), budget)
        assert 2800 < sum(every.agreeing_with(total)["n"].plain) < 3200
        # Adjusted once, an answer is still held against what was released.
        with pytest.raises(InvalidParameter, match="not of the same rows"):
            some.agreeing_with(listed).agreeing_with(total)

    def test_nulls_are_rows_that_no_key_lists(self) -> None:
        data = pd.DataFrame({"g": ["a"] * 500 + [None] * 500})
        s = dp.Session(data, unit=dp.Unit.rows(), budget=dp.ZCDP(1.0))
        groups = s.release(s.table.group_by("g", keys=["a"]).agg(n=dp.count()), dp.ZCDP(0.1))
        total = s.release(s.table.agg(n=dp.count()), dp.ZCDP(0.1))
        with pytest.raises(InvalidParameter, match="null"):
            groups.agreeing_with(total)

    def test_one_margin_of_many_is_enough(self) -> None:
        """Of 40 totals one has rows that no part lists."""
        data = pd.DataFrame({"a": list(range(40)) * 20, "b": [0, 1] * 400})
        data = pd.concat([data, pd.DataFrame({"a": [7] * 300, "b": [2] * 300})])
        s = dp.Session(data, unit=dp.Unit.rows(), budget=dp.ZCDP(10.0))
        parts = s.table.group_by("a", "b", keys={"a": range(40), "b": [0, 1]}).agg(n=dp.count())
        total = s.release(s.table.group_by("a", keys=range(40)).agg(n=dp.count()), dp.ZCDP(0.5))
        with pytest.raises(InvalidParameter, match="not of the same rows"):
            s.release(parts, dp.ZCDP(0.5)).agreeing_with(total)

    def test_what_max_rows_cuts_is_named(self) -> None:
        data = pd.DataFrame({"id": np.repeat(range(500), 4), "g": ["a", "b", "c", "d"] * 500})
        unit = dp.Unit("id", max_rows=4, max_groups=1)
        s = dp.Session(data, unit=unit, budget=dp.ZCDP(10.0))
        groups = s.release(s.table.group_by("g", keys=["a", "b", "c", "d"]).agg(n=dp.count()), dp.ZCDP(1.0))
        total = s.release(s.table.agg(n=dp.count()), dp.ZCDP(1.0))
        with pytest.raises(InvalidParameter, match=r"max_groups.*truncation"):
            groups.agreeing_with(total)

    def test_a_cross_table_agrees_already(self) -> None:
        s = dp.Session(abc(), unit=dp.Unit.rows(), budget=dp.ZCDP(1.0), schema=dp.Schema(nulls="drop"))
        table = s.cross_table(s.table.cube("g", keys=["a", "b"]).agg(n=dp.count()), dp.ZCDP(0.1))
        total = s.release(s.table.agg(n=dp.count()), dp.ZCDP(0.1))
        with pytest.raises(InvalidParameter, match=r"one table\.cube"):
            table.cells.agreeing_with(total)


class TestCrossTables:
    def test_margins_that_were_cut_otherwise_are_left_as_they_are(self) -> None:
        """Each person is in one cell at most, and in all with four rows: cells sum to a quarter of the total."""
        data = pd.DataFrame({"id": np.repeat(range(500), 4), "g": ["a", "b", "c", "d"] * 500})
        unit = dp.Unit("id", max_rows=4, max_groups=1)
        s = dp.Session(data, unit=unit, budget=dp.ZCDP(10.0), schema=dp.Schema(nulls="drop"))
        with seeded(3):
            table = s.cross_table(
                s.table.cube("g", keys=["a", "b", "c", "d"]).agg(n=dp.count()), dp.ZCDP(2.0)
            )
        assert not table.adds_up
        assert "Margins do not add up" in str(table)
        assert 1900 < table.margin()["n"].plain[0] < 2100
        assert 400 < sum(table.cells["n"].plain) < 600
        assert math.isclose(table.shares("n")["n_share"].estimate.sum(), 1.0, rel_tol=1e-9)

    def test_margins_of_the_same_rows_are_made_to_agree(self) -> None:
        s = dp.Session(abc(), unit=dp.Unit.rows(), budget=dp.PureDP(2.0), schema=dp.Schema(nulls="drop"))
        table = s.cross_table(s.table.cube("g", keys=["a", "b"]).agg(n=dp.count()), dp.PureDP(1.0))
        assert table.adds_up
        assert sum(table.cells["n"].plain) == table.margin()["n"].plain[0]
