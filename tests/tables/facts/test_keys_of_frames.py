"""Keys from the frames people have: the distinct rows of the grouping columns."""

from __future__ import annotations

import datetime
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dalenius.errors import InvalidParameter
from dalenius.tables import Schema, Source

TABLE = Source.open(
    pa.table({"a": ["x"], "b": pa.array([1], pa.int32()), "d": pa.array([0], pa.date32())})
).table(Schema(nulls="drop"))
DAY = datetime.date(2024, 2, 29)
BOTH = (("x", 1), ("y", 2))


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"b": [1, 2, 1], "a": ["x", "y", "x"], "z": [1.5, 2, 3]}),
        pd.DataFrame({"b": [1.0, 2.0, None], "a": pd.Categorical(["x", "y", None])}),
        pl.DataFrame({"a": ["y", "x", "x"], "b": [2, 1, 1]}),
        pl.LazyFrame({"a": ["x", "y"], "b": [1, 2]}),
        pa.table({"a": ["x", "y"], "b": pa.array([1, 2], pa.uint8())}),
        pa.RecordBatch.from_pydict({"a": ["x", "y"], "b": [1, 2]}),
        pd.MultiIndex.from_tuples(BOTH),
    ],
    ids=lambda frame: f"{type(frame).__module__.partition('.')[0]}.{type(frame).__name__}",
)
def test_pairs(frame: Any) -> None:
    assert TABLE.group_by("a", "b", keys=frame).keys.rows == BOTH  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "keys",
    [
        pd.DataFrame({"d": pd.to_datetime(["2024-02-29"])}),
        pd.Series(pd.to_datetime(["2024-02-29"])),
        pd.date_range("2024-02-29", periods=1),
        pl.DataFrame({"d": [DAY]}),
        pa.table({"d": pa.array([DAY], pa.date64())}),
        pa.array([DAY]),
        {"d": pl.Series([DAY])},
    ],
    ids=lambda keys: f"{type(keys).__module__.partition('.')[0]}.{type(keys).__name__}",
)
def test_dates(keys: Any) -> None:
    assert TABLE.group_by("d", keys=keys).keys.rows == ((DAY,),)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        (pd.DataFrame({"d": pd.to_datetime(["2024-02-29 10:00"])}), "is not a whole number"),
        (pd.DataFrame({"e": [DAY]}), "has no column 'd'"),
        (pd.DataFrame({"d": [1.5]}), "is not a whole number"),
        (pd.DataFrame({"d": []}), "empty"),
    ],
)
def test_what_is_no_key(keys: Any, reason: str) -> None:
    with pytest.raises(InvalidParameter, match=reason):
        TABLE.group_by("d", keys=keys)
