"""Frames of pandas whose columns hold Python objects, any one of them of any type."""

from __future__ import annotations

import datetime
import enum
import math
import uuid
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from dalenius.tables import Schema
from tests.tables.hostile.rows import COLUMNS, ROLES, World
from tests.tables.hostile.stores import opened_anew

KINDS = {
    **dict.fromkeys(("id", "i", "h", "g"), "integer"),
    **dict.fromkeys(("x", "y", "f", "dec", "num"), "number"),
    **dict.fromkeys(("who", "k"), "text"),
    "flag": "bool",
    "day": "date",
    "moment": "timestamp",
}


class Colour(enum.IntEnum):
    RED = 1


class Word(str):
    """A text of a class of its own."""

    def __str__(self) -> str:
        raise ValueError("it does not say")


class Name(str, enum.Enum):  # noqa: UP042 - it prints as Name.ANN
    ANN = "p"


def odd() -> list[Any]:
    """What a column may hold among values of its own kind."""
    import pandas as pd

    return [
        *(2**63, -(2**63) - 1, 2**64, 10**400, -(10**400), True, 0, 1.5, math.nan, math.inf, -0.0, 5e-324),
        *(Decimal("sNaN"), Decimal("NaN"), Decimal("Infinity"), Decimal("1e999999"), Decimal("1e-999999")),
        *(complex(1, 1), Fraction(1, 3), b"\xff", bytearray(b"a"), [1], {}, (), {1}, object(), Colour.RED),
        *("", "\ud800", "a\udfff", "x" * 70_000, "\x00", Word("p"), np.str_("p"), "1e5", "2020-01-01"),
        *(np.int8(3), np.uint64(2**64 - 1), np.float32(0.1), np.float16(65504), np.longdouble("1e4000")),
        *(
            np.complex64(1),
            np.bool_(True),
            np.array([1, 2]),
            np.array(1),
            np.void(b"ab"),
            np.timedelta64(1, "D"),
        ),
        *(
            np.datetime64("NaT"),
            np.datetime64("2020-01-01"),
            np.datetime64(10**17, "s"),
            np.datetime64(2**62, "ns"),
        ),
        *(
            np.datetime64(-(10**17), "s"),
            np.datetime64(10**9, "Y"),
            np.timedelta64("NaT"),
            np.datetime64(1, "as"),
        ),
        *(pd.NaT, pd.NA, pd.Timestamp.max, pd.Timestamp.min, pd.Timestamp("2020", tz="UTC"), pd.Timedelta(1)),
        *(pd.Timestamp("2020"), pd.Period("2020"), pd.Interval(0, 1), Name.ANN),
        *(pd.Timestamp(np.datetime64(f"{year}-02-29", "s")) for year in ("20000", "0000", "-0004")),
        *(
            datetime.datetime.max,
            datetime.datetime.min,
            datetime.date.max,
            datetime.date.min,
            datetime.time(),
        ),
        *(
            datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC),
            datetime.timedelta(1),
            uuid.UUID(int=5),
            int,
            len,
        ),
    ]


def _put(world: World, number: int | None) -> Any:
    import pandas as pd

    pool = odd()
    first, own, last = world.parts(number)
    columns = {}
    for position, role in enumerate(ROLES):
        values = [_object(row[position], role) for row in (*first, *own, *last)]
        for at in range(len(first), len(first) + len(own)):
            random = world.random(number, at, position)
            if position > 1 and random.random() < 0.4:
                values[at] = random.choice(pool)
        column = np.empty(len(values), dtype=object)
        for at, value in enumerate(values):
            column[at] = value
        columns[role] = pd.Series(column, dtype=object)
    frame = pd.DataFrame(columns)
    frame.columns = [world.names[role] for role in ROLES]
    return frame, {"schema": Schema({world.names[role]: {"type": kind} for role, kind in KINDS.items()})}


objects = opened_anew(_put)
"""Columns of dtype object, of kinds that the schema states."""


def _object(value: Any, role: str) -> Any:
    """A stored value as Python's own; what has no Python equal stays the number it is."""
    try:
        if isinstance(value, bytes):
            return value.decode("utf-8", "surrogateescape")
        if role == "day" and value is not None:
            return datetime.date(1970, 1, 1) + datetime.timedelta(days=value)
        if role == "moment" and value is not None:
            return datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=value)
    except OverflowError:
        return value
    return value


assert set(KINDS) == set(COLUMNS)
