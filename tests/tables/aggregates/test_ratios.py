"""Means, proportions, variances and what is made of them."""

from __future__ import annotations

from typing import Any, ClassVar

import pandas as pd

import dalenius as dp
from tests.tables.aggregate_contract import AggregateContract


class TestMean(AggregateContract):
    asked = dp.mean("x", (0, 8), nulls="never")
    record: ClassVar = {
        "kind": "mean",
        "column": "x",
        "bounds": ["0.0", "8.0"],
        "nulls": "never",
        "granularity": None,
    }
    spelled = ()
    wrong = (
        lambda: dp.mean("unknown", (0, 1)),
        lambda: dp.mean("k", (0, 1)),
        lambda: dp.mean("n"),
        lambda: dp.mean("x", granularity=0.3),
    )
    holed = dp.mean("hole")

    def truth(self, data: pd.DataFrame) -> list[Any]:
        return [data["x"].clip(0, 8).mean()]


class TestMeanOfSchema(TestMean):
    """Bounds from the schema; two words for it in SQL."""

    asked = dp.mean("x")
    record: ClassVar = {
        "kind": "mean",
        "column": "x",
        "bounds": None,
        "nulls": None,
        "granularity": None,
    }
    spelled = ("AVG(x)", "mean(x)")

    def truth(self, data: pd.DataFrame) -> list[Any]:
        return [data["x"].mean()]


class TestVariance(AggregateContract):
    asked = dp.variance("x")
    record: ClassVar = {
        "kind": "variance",
        "column": "x",
        "bounds": None,
        "nulls": None,
        "granularity": None,
    }
    spelled = ("VARIANCE(x)", "VAR_SAMP(x)")
    wrong = (lambda: dp.variance("unknown", (0, 1)), lambda: dp.variance("k", (0, 1)))
    holed = dp.variance("hole")

    def truth(self, data: pd.DataFrame) -> list[Any]:
        return [data["x"].var()]


class TestStd(AggregateContract):
    asked = dp.std("x")
    record: ClassVar = {
        "kind": "std",
        "column": "x",
        "bounds": None,
        "nulls": None,
        "granularity": None,
    }
    spelled = ("STDDEV(x)", "STDDEV_SAMP(x)", "std(x)")
    wrong = (lambda: dp.std("unknown", (0, 1)), lambda: dp.std("k", (0, 1)))
    holed = dp.std("hole")

    def truth(self, data: pd.DataFrame) -> list[Any]:
        return [data["x"].std()]


class TestCovariance(AggregateContract):
    asked = dp.covariance("x", "y", y_bounds=(-1, 1))
    record: ClassVar = {
        "kind": "covariance",
        "x": "x",
        "y": "y",
        "x_bounds": None,
        "y_bounds": ["-1.0", "1.0"],
        "x_nulls": None,
        "y_nulls": None,
    }
    spelled = ()
    wrong = (
        lambda: dp.covariance("x", "unknown"),
        lambda: dp.covariance("x", "k"),
        lambda: dp.covariance("x", "x"),
    )
    holed = dp.covariance("hole", "x")
    close = 0.05

    def truth(self, data: pd.DataFrame) -> list[Any]:
        return [data["x"].cov(data["y"])]


class TestCovarianceOfSchema(TestCovariance):
    asked = dp.covariance("x", "y")
    record: ClassVar = {**TestCovariance.record, "y_bounds": None}
    spelled = ("COVARIANCE(x, y)", "COVAR_SAMP(x, y)")


class TestCorrelation(AggregateContract):
    asked = dp.correlation("x", "y", (0, 10), (-1, 1))
    record: ClassVar = {
        "kind": "correlation",
        "x": "x",
        "y": "y",
        "x_bounds": ["0.0", "10.0"],
        "y_bounds": ["-1.0", "1.0"],
        "x_nulls": None,
        "y_nulls": None,
    }
    spelled = ("CORR(x, y, 0, 10, -1, 1)", "correlation(x, y, 0, 10, -1, 1)")
    wrong = (lambda: dp.correlation("x", "unknown"), lambda: dp.correlation("x", "k"))
    holed = dp.correlation("x", "hole")
    close = 0.05

    def truth(self, data: pd.DataFrame) -> list[Any]:
        return [data["x"].corr(data["y"])]


class TestProportion(AggregateContract):
    asked = dp.proportion("flag")
    record: ClassVar = {"kind": "proportion", "condition": "flag", "nulls": None}
    spelled = ("PROPORTION(flag)",)
    wrong = (
        lambda: dp.proportion("unknown > 1"),
        lambda: dp.proportion("x"),
        lambda: dp.proportion("x > 'a'"),
    )
    holed = dp.proportion("hole > 3")

    def truth(self, data: pd.DataFrame) -> list[Any]:
        return [data["flag"].mean()]
