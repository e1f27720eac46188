"""The most frequent categories, with their counts."""

from __future__ import annotations

from typing import Any, ClassVar

import pandas as pd
import pytest

import dalenius as dp
from dalenius.errors import InvalidParameter
from tests.tables.aggregate_contract import AggregateContract


class TestTopK(AggregateContract):
    asked = dp.top_k("k", 2)
    record: ClassVar = {"kind": "top_k", "column": "k", "categories": None, "nulls": None, "k": 2}
    spelled = ("TOP_K(k, 2)",)
    wrong = (
        lambda: dp.top_k("unknown", 1, ["a"]),
        lambda: dp.top_k("n"),
        lambda: dp.top_k("k", 4),
        lambda: dp.top_k("k", 21),
        lambda: dp.top_k("k", 1, [1, 2]),
        lambda: dp.top_k("k", 1, ["a", "a"]),
    )
    holed = dp.top_k("hole > 3", 1, [True, False])

    def truth(self, data: pd.DataFrame) -> list[Any]:
        counts = data["k"].value_counts()
        first, second = sorted(["p", "q", "r"], key=lambda name: -counts[name])[:2]
        return [first, counts[first], second, counts[second]]

    def test_the_most_frequent_come_first(self) -> None:
        data = pd.DataFrame({"k": ["a"] * 100 + ["b"] * 300 + ["c"] * 200 + ["d"] * 900})
        s = dp.Session(data, unit=dp.Unit.rows(), budget=dp.PureDP(100.0))
        asked = dp.top_k("k", 2, ["a", "b", "c"], nulls="drop")
        made = s.release(s.table.agg(most=asked), dp.PureDP(20.0))
        assert made.to_dict()["most_1"] == ["b"]
        assert made.to_dict()["most_2"] == ["c"]
        assert abs(made["most_1_n"].estimate[0] - 300) < 10  # P(|noise| >= 10) < 1e-80 at epsilon 20

    def test_names_of_its_columns_are_taken(self) -> None:
        s = dp.Session(pd.DataFrame({"k": ["a"]}), unit=dp.Unit.rows(), budget=dp.PureDP(1.0))
        with pytest.raises(InvalidParameter, match="rename"):
            s.table.agg(most=dp.top_k("k", 1, ["a"], nulls="drop"), most_1=dp.count())
