"""The most frequent category."""

from __future__ import annotations

import datetime
import math
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

import dalenius as dp
from dalenius.core.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dalenius.errors import QueryRefused
from dalenius.tables.plan.plan import plan
from dalenius.tables.sql import parse_sql
from tests.noise.seeded import seeded
from tests.tables.aggregate_contract import PRICES, UNIT, AggregateContract, large, opened


class TestMode(AggregateContract):
    asked = dp.mode("k")
    record: ClassVar = {"kind": "mode", "column": "k", "categories": None, "nulls": None}
    spelled = ("MODE(k)",)
    wrong = (
        lambda: dp.mode("unknown", ["a"]),
        lambda: dp.mode("n"),
        lambda: dp.mode("k", [1, 2]),
        lambda: dp.mode("x", [1, 2]),
        lambda: dp.mode("k", ["a", "a"]),
        lambda: dp.mode("k", ["a"], nulls=dp.impute(1)),
        lambda: dp.mode("n", range(300)),
    )
    holed = dp.mode("hole > 3", [True, False])

    def truth(self, data: pd.DataFrame) -> list[Any]:
        return ["q", 0.0]

    def test_every_part_is_recorded(self) -> None:
        day = datetime.date(2024, 2, 29)
        for categories, written in (
            (["a", "b'"], [{"kind": "text", "is": "a"}, {"kind": "text", "is": "b'"}]),
            ([1, 2**62], [{"kind": "integer", "is": "1"}, {"kind": "integer", "is": str(2**62)}]),
            ([True, False], [{"kind": "bool", "is": True}, {"kind": "bool", "is": False}]),
            ([day], [{"kind": "date", "is": "2024-02-29"}]),
        ):
            asked = dp.mode("k", categories, nulls="drop")
            assert asked.record() == {"kind": "mode", "column": "k", "categories": written, "nulls": "drop"}
            read = dp.tables.aggregates.from_record(asked.record())
            assert read == asked
            assert [type(value) for value in read.categories] == [type(value) for value in categories]  # type: ignore[attr-defined]

    def test_categories_in_sql(self) -> None:
        table = opened(large()[0][:10]).table()
        for text, asked in (
            ("MODE(k, 'p', 'it''s')", dp.mode("k", ["p", "it's"])),
            ("MODE(n, 1, -2, 4611686018427387905)", dp.mode("n", [1, -2, 2**62 + 1])),
            ("MODE(flag, TRUE, FALSE)", dp.mode("flag", [True, False])),
        ):
            assert parse_sql(f"SELECT {text} AS r FROM {table.name}", table) == table.agg(r=asked)
        with pytest.raises(QueryRefused):
            parse_sql(f"SELECT MODE() AS r FROM {table.name}", table)

    def test_a_missing_value_can_count_as_a_category(self) -> None:
        data = pd.DataFrame({"k": ["a"] * 40 + ["b"] * 60 + [None] * 50})
        for nulls, right in (("drop", "b"), (dp.impute("a"), "a")):
            s = dp.Session(data, unit=dp.Unit.rows(), budget=dp.PureDP(100.0))
            made = s.release(s.table.agg(r=dp.mode("k", ["a", "b"], nulls=nulls)), dp.PureDP(20.0))  # type: ignore[arg-type]
            assert made["r"].plain == [right]

    def test_it_falls_short_no_further_than_it_says(self) -> None:
        """The worst case: all other categories are just too far behind. At 80 %, and not much more often."""
        table = opened(large()[0][:10]).table()
        query = table.agg(r=dp.mode("n", list(range(8))))
        for price in PRICES:
            (noise,) = plan(query, UNIT, price).noises
            gap = noise.law.reach(0.2)[1]
            assert gap == noise.accuracy(0.8)
            scores = np.tile([math.floor(gap) + 1, *([0] * 7)], (4000, 1))
            with seeded(2):
                missed = float((noise.release(scores) != 0).mean())
            assert 0.1 < missed < 0.2 + 6 * math.sqrt(0.16 / 4000)

    @pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE])
    @pytest.mark.parametrize("price", PRICES, ids=repr)
    def test_the_loss_of_all_groups_together(self, price: dp.Guarantee, adjacency: Adjacency) -> None:
        """Two groups of two categories, of which the laws are known: however the rows of a unit are divided, no
        outcome is likelier by more than is charged; with half the noise one is."""
        table = opened(large()[0][:10]).table()
        query = table.group_by("g", keys=["a", "b"]).agg(r=dp.mode("flag", [True, False]))
        (noise,) = plan(query, UNIT, price, adjacency).noises
        mechanism = noise.mechanism

        def first(ahead: float, scale: float) -> float:
            """The chance of the first of two that is ahead by so many rows."""
            if mechanism.noise == "gumbel":
                return 1 / (1 + math.exp(-ahead / scale))
            behind = math.exp(-abs(ahead) / scale) / 2
            return 1 - behind if ahead > 0 else behind

        def losses(moves: tuple[int, int], scale: float) -> list[float]:
            found = []
            for start in np.linspace(-4 * scale, 4 * scale, 81):
                parts = []
                for move in moves:
                    p, q = first(start + move, scale), first(start, scale)
                    parts.append((math.log(p / q), math.log((1 - p) / (1 - q))))
                outcomes = [a + b for a in parts[0] for b in parts[1]]
                spread = max(outcomes) - min(outcomes)
                found.append(spread if mechanism.noise == "gumbel" else max(map(abs, outcomes)))
            return found

        rows = UNIT.max_rows * (1 if adjacency is ADD_REMOVE else 2)
        divided = [(one, rows - one) for one in range(rows + 1)] + [
            (one, one - rows) for one in range(rows + 1)
        ]
        worst = max(max(losses(moves, mechanism.scale)) for moves in divided)
        assert worst <= mechanism.epsilon * (1 + 1e-9)
        assert worst > 0.9 * mechanism.epsilon
        assert max(max(losses(moves, mechanism.scale / 2)) for moves in divided) > mechanism.epsilon

    def test_the_choice_has_the_law_it_is_charged_for(self) -> None:
        """20,000 groups of two categories, the second ahead by one scale: off by 15 % in the scale it is rejected."""
        query = opened(large()[0][:10]).table().agg(r=dp.mode("flag", [True, False]))
        for price in PRICES:
            (noise,) = plan(query, UNIT, price).noises
            behind = round(noise.mechanism.scale)
            with seeded(9):
                found = float((noise.release(np.tile([0, behind], (20_000, 1))) == 0).mean())

            def chance(
                scale: float, gumbel: bool = noise.mechanism.noise == "gumbel", gap: int = behind
            ) -> float:
                return 1 / (1 + math.exp(gap / scale)) if gumbel else math.exp(-gap / scale) / 2

            allowed = 5 * math.sqrt(0.25 / 20_000)
            assert abs(found - chance(noise.mechanism.scale)) < allowed
            assert abs(found - chance(noise.mechanism.scale * 1.15)) > allowed / 2
