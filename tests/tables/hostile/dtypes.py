"""Frames of pandas with columns of nullable and extension types, and frames of Polars, lazy ones and mappings too.

Which type a column has is drawn for the world, and is the same for the table and its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from tests.tables.hostile.rows import ROLES, World
from tests.tables.hostile.stores import NotStorable, arrow, opened_anew

Make = Callable[[Any], Any]


def _as_arrow(column: Any) -> Any:
    return pd.Series(pd.arrays.ArrowExtensionArray(column))


def _masked(kind: Any) -> Make:
    """Values and a mask apart: a NaN in it is a value."""

    def make(column: Any) -> Any:
        mask = column.is_null().to_numpy(zero_copy_only=False)
        values = column.fill_null(False if pa.types.is_boolean(column.type) else 0)
        return pd.Series(kind(values.to_numpy(zero_copy_only=False).copy(), mask.astype(bool)))

    return make


def _texts(column: Any) -> list[Any]:
    held = column.view(pa.binary()).to_pylist()
    return [None if text is None else text.decode("utf-8", "surrogateescape") for text in held]


def _text(dtype: Any) -> Make:
    return lambda column: pd.Series(_texts(column), dtype=dtype)


def _categories(column: Any) -> Any:
    texts = _texts(column)
    known = pd.Index(list(dict.fromkeys(text for text in texts if text is not None)), dtype=object)
    # A list of texts alone would become Arrow's, which holds no bytes that are not text.
    return pd.Series(pd.Categorical(pd.Series(texts, dtype=object), categories=known))


def _moments(unit: str) -> Make:
    def make(column: Any) -> Any:
        whole = column.view(pa.int64())
        held = whole.fill_null(np.iinfo(np.int64).min).to_numpy(zero_copy_only=False)
        return pd.Series(held.astype(np.int64).view(f"datetime64[{unit}]"))

    return make


_INTEGERS, _DOUBLES = _masked(pd.arrays.IntegerArray), _masked(pd.arrays.FloatingArray)
_TEXTS = (
    _text("string[python]"),
    _text(object),
    _categories,
    _as_arrow,
    lambda column: _as_arrow(column.dictionary_encode()),
    lambda column: _as_arrow(column.view(pa.binary()).cast(pa.large_binary()).view(pa.large_string())),
)
MADE: Mapping[str, tuple[Make, ...]] = {
    **dict.fromkeys(("id", "i", "h", "g"), (_INTEGERS, _as_arrow)),
    **dict.fromkeys(("x", "y", "f", "num"), (_DOUBLES, _as_arrow)),
    **dict.fromkeys(("who", "k"), _TEXTS),
    "dec": (_as_arrow,),
    "day": (_as_arrow,),
    "moment": (_as_arrow, *map(_moments, ("s", "ms", "us", "ns"))),
    "flag": (_masked(pd.arrays.BooleanArray), _as_arrow),
}
"""By role: what makes a column of pandas of one of Arrow."""


def _pandas(world: World, number: int | None) -> Any:
    table = arrow(world, number)
    columns = {}
    for role, column in zip(ROLES, table.columns, strict=True):
        make = world.random("type", role).choice(MADE[role])
        columns[role] = make(column.combine_chunks())
    made = pd.DataFrame(columns)
    made.columns = [world.names[role] for role in ROLES]
    return made


def _utf8(column: Any) -> Any:
    """Polars takes text for UTF-8 without a look: bytes that are none are for others."""
    texts = [
        None if t is None else t.decode("utf-8", "backslashreplace")
        for t in column.view(pa.binary()).to_pylist()
    ]
    return pa.array(texts, pa.large_string())


def _polars(world: World, number: int | None) -> Any:
    table = arrow(world, number)
    columns = [
        _utf8(column.combine_chunks()) if role in ("who", "k") else column.combine_chunks()
        for role, column in zip(ROLES, table.columns, strict=True)
    ]
    try:
        frame = pl.DataFrame(pa.Table.from_arrays(columns, names=list(ROLES)))
    except (pl.exceptions.PolarsError, pa.ArrowException):
        raise NotStorable from None
    for role in ("who", "k"):
        if world.random("type", role).random() < 0.3:
            frame = frame.with_columns(pl.col(role).cast(pl.Categorical))
    unit = world.random("type", "moment").choice(("ns", "us", "ms"))
    if unit != "us":
        frame = frame.with_columns(pl.col("moment").to_physical().cast(pl.Datetime(unit)))
    frame.columns = [world.names[role] for role in ROLES]
    form = world.random("form").choice(("frame", "lazy", "mapping"))
    if form == "lazy":
        return frame.lazy()
    return frame if form == "frame" else dict(_lists(world, number))


def _lists(world: World, number: int | None) -> list[tuple[str, Any]]:
    """Columns as arrays of Arrow or NumPy, in a mapping."""
    table = arrow(world, number)
    made = []
    for role, column in zip(ROLES, table.columns, strict=True):
        plain = role in OF_NUMPY and world.random("type", role).random() < 0.5
        made.append((world.names[role], OF_NUMPY[role](column) if plain else column.combine_chunks()))
    return made


def _masked_texts(column: Any) -> Any:
    texts = _texts(column)
    return np.ma.array(np.array([text or "" for text in texts], dtype=str), mask=[t is None for t in texts])


def _days(column: Any) -> Any:
    whole = column.view(pa.int32()).cast(pa.int64()).to_pylist()
    far = [np.iinfo(np.int64).min if n is None else n << 20 if abs(n) > 2**30 else n for n in whole]
    return np.array(far, dtype=np.int64).view("datetime64[D]")


OF_NUMPY: Mapping[str, Make] = {
    **dict.fromkeys(("x", "y"), lambda column: column.fill_null(float("nan")).to_numpy()),
    **dict.fromkeys(("who", "k"), _masked_texts),
    "day": _days,
}
"""What a column of Arrow is in NumPy."""


nullable = opened_anew(_pandas)
"""Frames of pandas."""

polars = opened_anew(_polars)
"""Frames of Polars, lazy ones, and mappings of columns."""
