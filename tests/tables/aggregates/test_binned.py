"""Histograms, quantiles and bounds: what is made of counts in bins."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pandas as pd

import dalenius as dp
from tests.tables.aggregate_contract import AggregateContract


class TestHistogram(AggregateContract):
    asked = dp.histogram("x", 4, (0, 8))
    record: ClassVar = {
        "kind": "histogram",
        "column": "x",
        "bins": 4,
        "bounds": ["0.0", "8.0"],
        "edges": None,
        "nulls": None,
    }
    spelled = ("HISTOGRAM(x, 4, 0, 8)",)
    wrong = (
        lambda: dp.histogram("unknown", 4, (0, 8)),
        lambda: dp.histogram("k", 4, (0, 8)),
        lambda: dp.histogram("x", 0, (0, 8)),
    )
    holed = dp.histogram("hole")

    def truth(self, data: pd.DataFrame) -> list[Any]:
        return np.histogram(data["x"].clip(0, 8), 4, (0, 8))[0].tolist()


class TestHistogramOfEdges(AggregateContract):
    asked = dp.histogram("x", edges=[0, 1, 10])
    record: ClassVar = {
        "kind": "histogram",
        "column": "x",
        "bins": None,
        "bounds": None,
        "edges": ["0.0", "1.0", "10.0"],
        "nulls": None,
    }
    spelled = ()
    wrong = (lambda: dp.histogram("x", edges=[3, 1]), lambda: dp.histogram("x", edges=[1]))
    holed = dp.histogram("hole", edges=[0, 5, 10])

    def truth(self, data: pd.DataFrame) -> list[Any]:
        return np.histogram(data["x"], [0, 1, 10])[0].tolist()


class TestQuantiles(AggregateContract):
    asked = dp.quantiles("x", [0.25, 0.75], (0, 10), bins=256)
    record: ClassVar = {
        "kind": "quantiles",
        "column": "x",
        "levels": ["0.25", "0.75"],
        "bounds": ["0.0", "10.0"],
        "nulls": None,
        "bins": 256,
    }
    spelled = ()
    wrong = (lambda: dp.quantiles("unknown", [0.5]), lambda: dp.quantiles("k", [0.5], (0, 1)))
    holed = dp.quantiles("hole", [0.5], bins=256)

    def truth(self, data: pd.DataFrame) -> list[Any]:
        return data["x"].quantile([0.25, 0.75]).tolist()


class TestMedian(AggregateContract):
    asked = dp.median("n", (0, 9))
    record: ClassVar = {
        **TestQuantiles.record,
        "column": "n",
        "levels": ["0.5"],
        "bounds": ["0.0", "9.0"],
        "bins": 16384,
    }
    spelled = ("MEDIAN(n, 0, 9)", "QUANTILE(n, 0.5, 0, 9)")
    wrong = (lambda: dp.median("unknown"), lambda: dp.median("k", (0, 1)))
    holed = dp.median("hole", (0, 10), bins=64)

    def truth(self, data: pd.DataFrame) -> list[Any]:
        return [data["n"].median()]


class TestPercentile(AggregateContract):
    asked = dp.quantile("x", 0.25)
    record: ClassVar = {
        **TestQuantiles.record,
        "levels": ["0.25"],
        "bounds": None,
        "bins": 16384,
    }
    spelled = (
        "PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY x)",
        "PERCENTILE_DISC(0.75) WITHIN GROUP (ORDER BY x DESC)",
    )
    wrong = (lambda: dp.quantile("x", 1.0), lambda: dp.quantile("n", 0.5))
    holed = dp.quantile("hole", 0.5, bins=64)

    def truth(self, data: pd.DataFrame) -> list[Any]:
        return [data["x"].quantile(0.25)]


class TestBounds(AggregateContract):
    asked = dp.bounds("x")
    record: ClassVar = {"kind": "bounds", "column": "x", "share": "0.99", "nulls": None}
    spelled = ("BOUNDS(x)",)
    wrong = (lambda: dp.bounds("unknown"), lambda: dp.bounds("k"), lambda: dp.bounds("x", share=0.1))
    holed = dp.bounds("hole")

    def truth(self, data: pd.DataFrame) -> list[Any]:
        least, most = data["x"].quantile([0.005, 0.995])
        return [2.0 ** np.floor(np.log2(least)), 2.0 ** np.ceil(np.log2(most))]
