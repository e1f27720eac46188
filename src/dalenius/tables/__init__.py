"""Questions about tables: who is protected, what is asked, and the exact integers behind the answer."""

from dalenius.tables.aggregates import (
    Aggregate,
    bounds,
    correlation,
    count,
    count_distinct,
    covariance,
    histogram,
    mean,
    median,
    mode,
    proportion,
    quantile,
    quantiles,
    std,
    sum,
    variance,
)
from dalenius.tables.keys import discover
from dalenius.tables.kinds import Field
from dalenius.tables.query import Query, Table
from dalenius.tables.schema import Column, Schema, impute
from dalenius.tables.source import Source
from dalenius.tables.unit import Unit

__all__ = [
    "Aggregate",
    "Column",
    "Field",
    "Query",
    "Schema",
    "Source",
    "Table",
    "Unit",
    "bounds",
    "correlation",
    "count",
    "count_distinct",
    "covariance",
    "discover",
    "histogram",
    "impute",
    "mean",
    "median",
    "mode",
    "proportion",
    "quantile",
    "quantiles",
    "std",
    "sum",
    "variance",
]
