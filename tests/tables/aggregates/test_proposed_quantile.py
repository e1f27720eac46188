"""A quantile with noise for a proposed local sensitivity."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.tables.plan.plan import plan
from tests.noise.seeded import seeded
from tests.tables.aggregate_contract import UNIT, AggregateContract, counted, large, opened

BUDGET = dp.ApproxDP(12.0, 1e-5)


def session(data: pd.DataFrame, **options: Any) -> dp.Session:
    options = {"unit": dp.Unit.rows(), "budget": BUDGET, "schema": dp.Schema({}, nulls="never"), **options}
    return dp.Session(data, **options)


class TestProposedQuantile(AggregateContract):
    asked = dp.median("x", adaptive="propose", sensitivity=0.25)
    record: ClassVar = {
        "kind": "proposed_quantile",
        "column": "x",
        "level": "0.5",
        "bounds": None,
        "nulls": None,
        "bins": 16384,
        "sensitivity": "0.25",
    }
    spelled = ("PROPOSED_MEDIAN(x, 0.25)", "PROPOSED_QUANTILE(x, 0.5, 0.25)")
    wrong = (
        lambda: dp.median("unknown", (0, 1), adaptive="propose", sensitivity=1.0),
        lambda: dp.median("n", adaptive="propose", sensitivity=1.0),
        lambda: dp.quantile("x", 1.0, adaptive="propose", sensitivity=1.0),
        lambda: dp.median("x", adaptive="propose"),
        lambda: dp.median("x", adaptive="propose", sensitivity=0.0),
        lambda: dp.median("x", sensitivity=1.0),
    )
    holed = dp.median("hole", adaptive="propose", sensitivity=0.25)
    delta = 1e-8
    budget = BUDGET

    def payment(self, rho: float) -> dp.Guarantee:
        return dp.GDP(math.sqrt(2 * rho))

    def truth(self, data: pd.DataFrame) -> list[Any]:
        return [float(data["x"].median()), "released"]

    @pytest.mark.parametrize("budget", [dp.PureDP(1.0), dp.ZCDP(1.0), dp.GDP(1.0)])
    def test_other_sessions_name_what_to_use(self, budget: dp.Guarantee) -> None:
        s = dp.Session(large()[1], unit=UNIT, budget=budget)
        with pytest.raises(InvalidParameter, match=r"ApproxDP budget.*adaptive='smooth'"):
            s.release(s.table.agg(r=self.asked), budget)
        assert s.remaining == budget

    def test_a_refusal_is_an_outcome(self) -> None:
        """Halves at both ends: nothing to release; it is charged, recorded and answered again for nothing."""
        data = pd.DataFrame({"x": [0.0, 10.0] * 500, "g": ["a"] * 1000})
        s = session(data)
        query = s.table.group_by("g", keys=["a", "b"]).agg(
            m=dp.median("x", (0, 10), adaptive="propose", sensitivity=1.0), n=dp.count()
        )
        price = dp.GDP(1.0)
        answer = s.release(query, price)
        assert answer["m_outcome"].plain == ["refused"] * 2
        assert np.isnan(answer["m"].estimate).all()
        assert np.isnan(answer["m"].low).all()
        assert "refused" in str(answer)
        assert list(answer.to_dict()) == ["g", "m", "m_error", "m_low", "m_high", "m_outcome", "n"] + [
            f"n_{word}" for word in ("error", "low", "high")
        ]
        assert s.remaining != BUDGET
        left = s.remaining
        again = s.release(query, price)
        assert again.free
        assert again["m_outcome"].plain == ["refused"] * 2
        assert s.remaining == left

    def test_delta_is_charged(self) -> None:
        s = session(pd.DataFrame({"x": np.linspace(0, 10, 1000)}))
        before = s.account.left()
        s.release(s.table.agg(n=dp.count()), dp.GDP(0.3))
        assert s.account.left().delta == before.delta
        asked = dp.median("x", (0, 10), adaptive="propose", sensitivity=1.0)
        s.release(s.table.agg(m=asked), dp.GDP(0.3))
        spent = before.delta - s.account.left().delta
        assert 0.99 * before.delta / 20 < spent <= before.delta / 20
        s.release_all({"a": s.table.agg(m=asked), "b": s.table.agg(n=dp.count())}, dp.GDP(0.3))
        assert before.delta - s.account.left().delta - spent <= before.delta / 40

    def test_the_interval_covers_what_it_says(self) -> None:
        """1000 draws: 90 % intervals that cover less than 85 %, or more than 95 %, are as rare as 1e-6."""
        data = pd.DataFrame({"x": np.linspace(0, 10, 2001)})
        s = session(data)
        query = s.table.agg(m=dp.median("x", (0, 10), adaptive="propose", sensitivity=0.5))
        (noise,) = s._plan(query, dp.GDP(1.0)).noises
        with seeded(5):
            values = noise.measure.in_units(noise.release(counted(noise, data["x"], 1000)))  # type: ignore[attr-defined]
        assert not np.isnan(values).any()
        reach = noise.law.reach(0.1)[1] * float(noise.measure.granularity)
        assert 0.85 < (np.abs(values - 5) <= reach).mean() < 0.95

    def test_a_population_has_no_interval(self) -> None:
        s = session(pd.DataFrame({"x": np.linspace(0, 10, 2001)}))
        asked = dp.median("x", (0, 10), adaptive="propose", sensitivity=0.5)
        answer = s.release(s.table.agg(m=asked), dp.GDP(1.0))
        assert answer["m"].has_interval
        assert not answer.at(sampling=True)["m"].has_interval

    def test_keys_may_be_discovered(self) -> None:
        data = pd.DataFrame({"x": np.linspace(0, 10, 3000), "g": ["a", "b", "a"] * 1000})
        s = session(data)
        asked = dp.median("x", (0, 10), adaptive="propose", sensitivity=1.0)
        answer = s.release(s.table.group_by("g", keys=dp.discover()).agg(m=asked), dp.GDP(1.0))
        assert answer.keys == [("a",), ("b",)]
        assert set(answer["m_outcome"].plain) == {"released"}

    def test_small_budgets_say_so(self) -> None:
        query = opened(large()[0][:10]).table().agg(r=self.asked)
        with pytest.raises(InvalidParameter, match="larger budget"):
            plan(query, UNIT, dp.GDP(1e-5), delta=1e-8)
