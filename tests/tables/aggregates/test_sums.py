"""Counts and sums: what is released as it is."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

import pandas as pd

import dalenius as dp
from tests.tables.aggregate_contract import AggregateContract


class TestCount(AggregateContract):
    asked = dp.count()
    record: ClassVar = {"kind": "count", "column": None, "nulls": None}
    spelled = ("COUNT(*)", "count()")
    wrong = (lambda: dp.count("unknown"), lambda: dp.count("x +"), lambda: dp.count(5))  # type: ignore[arg-type]
    holed = None

    def truth(self, data: pd.DataFrame) -> list[Any]:
        return [len(data)]


class TestCountOfColumn(AggregateContract):
    asked = dp.count("hole", nulls="drop")
    record: ClassVar = {"kind": "count", "column": "hole", "nulls": "drop"}
    spelled = ()
    wrong = (lambda: dp.count("unknown", nulls="drop"), lambda: dp.count("x", nulls="keep"))  # type: ignore[arg-type]
    holed = dp.count("hole")

    def truth(self, data: pd.DataFrame) -> list[Any]:
        return [data["hole"].notna().sum()]

    def test_sql_asks_the_same(self) -> None:
        from dalenius.tables.sql import parse_aggregates

        assert parse_aggregates("r = count(hole)") == {"r": dp.count("hole")}


class TestCountDistinct(AggregateContract):
    asked = dp.count_distinct()
    record: ClassVar = {"kind": "count_distinct"}
    spelled = ("COUNT(DISTINCT id)", "count_distinct()")
    wrong = ()
    holed = None

    def truth(self, data: pd.DataFrame) -> list[Any]:
        return [len(data)]  # every row is a unit there


class TestSum(AggregateContract):
    asked = dp.sum("x", (0, 8))
    record: ClassVar = {
        "kind": "sum",
        "column": "x",
        "bounds": ["0.0", "8.0"],
        "nulls": None,
        "granularity": None,
    }
    spelled = ("SUM(x, 0, 8)", "sum(x, 0.0, 8.0)")
    wrong = (lambda: dp.sum("unknown", (0, 1)), lambda: dp.sum("k", (0, 1)), lambda: dp.sum("x", (1, 0)))
    holed = dp.sum("hole")

    def truth(self, data: pd.DataFrame) -> list[Any]:
        return [data["x"].clip(0, 8).sum()]

    def test_every_part_is_recorded(self) -> None:
        asked = dp.sum("x", (0.1, 1e300), nulls=dp.impute(3), granularity=Fraction(1, 4))
        assert asked.record() == {
            "kind": "sum",
            "column": "x",
            "bounds": ["0.1", "1e+300"],
            "nulls": {"impute": {"kind": "integer", "is": "3"}},
            "granularity": "1/4",
        }
        assert dp.tables.aggregates.from_record(asked.record()) == asked
