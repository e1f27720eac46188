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
    top_k,
    variance,
)
from dalenius.tables.ask.query import Query, Table
from dalenius.tables.compute.source import Source
from dalenius.tables.facts.dates import days, months, quarters, weeks, years
from dalenius.tables.facts.keys import discover
from dalenius.tables.facts.kinds import Field
from dalenius.tables.facts.schema import Column, Schema, impute
from dalenius.tables.facts.unit import Unit

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
    "days",
    "discover",
    "histogram",
    "impute",
    "mean",
    "median",
    "mode",
    "months",
    "proportion",
    "quantile",
    "quantiles",
    "quarters",
    "std",
    "sum",
    "top_k",
    "variance",
    "weeks",
    "years",
]
