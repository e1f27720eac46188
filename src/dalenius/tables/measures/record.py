"""What was measured, on which grid and in which bins: an answer is shown by these, whatever the code chooses today."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from dalenius.core.record import JSON, exact, unknown
from dalenius.errors import LedgerError
from dalenius.tables.facts.constants import (
    bounds_record,
    constant_record,
    nulls_record,
    read_constant,
    read_nulls,
)
from dalenius.tables.measures.bins import Bins
from dalenius.tables.measures.gridding import Value
from dalenius.tables.measures.measure import KINDS, Measure


def measure_record(measure: Measure) -> dict[str, JSON]:
    """One integer per group, or one per bin."""
    return {
        "kind": measure.kind,
        "values": [_value_record(value) for value in measure.values],
        "given": list(measure.given),
        "origin": measure.origin,
        "bins": None if measure.bins is None else _bins_record(measure.bins),
        "labels": [constant_record(label) for label in measure.labels],
    }


def read_measure(record: Mapping[str, JSON]) -> Measure:
    """The measure that `measure_record` wrote."""
    kind = KINDS.get(record["kind"])
    if kind is None:
        raise unknown("a measure", record["kind"], LedgerError)
    return kind(
        tuple(_read_value(value) for value in record["values"]),
        tuple(record["given"]),
        record["origin"],
        None if record["bins"] is None else _read_bins(record["bins"]),
        tuple(read_constant(label) for label in record["labels"]),
    )


def _value_record(value: Value) -> dict[str, JSON]:
    return {
        "expression": value.text,
        "type": value.kind,
        "lower": exact(value.lower),
        "upper": exact(value.upper),
        "step": exact(value.granularity),
        "centre": value.centre,
        "nulls": nulls_record(value.nulls),
        "missing": value.nullable,
    }


def _read_value(record: Mapping[str, JSON]) -> Value:
    nulls = read_nulls(record["nulls"])
    assert nulls is not None
    return Value(
        text=record["expression"],
        kind=record["type"],
        lower=float(record["lower"]),
        upper=float(record["upper"]),
        granularity=Fraction(record["step"]),
        centre=record["centre"],
        nulls=nulls,
        nullable=record["missing"],
    )


def _bins_record(bins: Bins) -> dict[str, JSON]:
    return {
        "expression": bins.text,
        "lower": exact(bins.lower),
        "width": exact(bins.width),
        "size": bins.size,
        "edges": bounds_record(bins.listed),
        "nulls": nulls_record(bins.nulls),
        "missing": bins.nullable,
        "whole": bins.whole,
    }


def _read_bins(record: Mapping[str, JSON]) -> Bins:
    nulls = read_nulls(record["nulls"])
    assert nulls is not None
    return Bins(
        text=record["expression"],
        lower=float(record["lower"]),
        width=float(record["width"]),
        size=record["size"],
        listed=None if record["edges"] is None else tuple(float(edge) for edge in record["edges"]),
        nulls=nulls,
        nullable=record["missing"],
        whole=record["whole"],
    )
