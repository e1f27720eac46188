"""Aggregates in the words of a ledger."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from dalenius.core.record import JSON, exact
from dalenius.tables import aggregates as kinds
from dalenius.tables.record.constants import bounds_record, nulls_record


def _same(value: JSON) -> JSON:
    return value


def _whole(value: int | None) -> int | None:
    return None if value is None else int(value)


def _exact(value: float | Fraction | None) -> str | None:
    return None if value is None else exact(value)


Words = dict[str, Callable[[Any], JSON]]

ONE: Words = {"column": _same, "bounds": bounds_record, "nulls": nulls_record, "granularity": _exact}
TWO: Words = {
    "x": _same,
    "y": _same,
    "x_bounds": bounds_record,
    "y_bounds": bounds_record,
    "nulls": nulls_record,
}

AGGREGATES: dict[str, tuple[type[kinds.Aggregate], Words]] = {
    "count": (kinds.Count, {"column": _same, "nulls": nulls_record}),
    "count_distinct": (kinds.CountDistinct, {}),
    "sum": (kinds.Sum, ONE),
    "mean": (kinds.Mean, ONE),
    "variance": (kinds.Variance, ONE),
    "std": (kinds.Std, ONE),
    "covariance": (kinds.Covariance, TWO),
    "correlation": (kinds.Correlation, TWO),
    "proportion": (kinds.Proportion, {"condition": _same, "nulls": nulls_record}),
    "histogram": (
        kinds.Histogram,
        {
            "column": _same,
            "bins": _whole,
            "bounds": bounds_record,
            "edges": bounds_record,
            "nulls": nulls_record,
        },
    ),
    "quantiles": (
        kinds.Quantiles,
        {
            "column": _same,
            "levels": bounds_record,
            "bounds": bounds_record,
            "nulls": nulls_record,
            "bins": _whole,
        },
    ),
    "bounds": (kinds.FindBounds, {"column": _same, "share": _exact, "nulls": nulls_record}),
}
"""The tag of each aggregate, and how each of its parts is written."""


def aggregate_record(aggregate: kinds.Aggregate) -> dict[str, JSON]:
    """{"kind": "mean", "column": "age", "bounds": ["0.0", "120.0"], "nulls": null, "granularity": null}."""
    for tag, (kind, words) in AGGREGATES.items():
        if type(aggregate) is kind:
            return {
                "kind": tag,
                **{word: written(getattr(aggregate, word)) for word, written in words.items()},
            }
    raise TypeError(f"no record is written for {type(aggregate).__name__}; this is a defect")
