"""The kinds of column a question can use, whatever the engine calls them, and what is promised of each.

Every source turns its columns into one clean form of their kind, inside the engine, for every value it can hold:

    integer     64 bits with a sign
    number      double precision, never NaN (which is null), never infinite: infinity is the largest double
    text        valid UTF-8; what is none is null, but in Parquet files, where DuckDB puts ? for each such byte:
                there an id with a ? in it counts as missing, since it may be another's; in PostgreSQL and SQLite also
                what is longer than 2^24 bytes (LONGEST_TEXT)
    bool
    date        0001-01-01 to 9999-12-31; what lies beyond, infinity included, is the nearer of the two
    timestamp   microseconds without a zone, within the midnights of those two days, likewise

Everything above sources relies on that and on nothing else. Columns travel under internal names, by position: `c0`,
`c1`, ... of the data, `p0_0`, ... of public tables, `q0_0`, ... of private tables joined to it, `x0`, ... computed.
So no engine ever sees a name that a person
chose, and capitals, quotes, blanks and reserved words cannot matter.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

Kind = Literal["integer", "number", "text", "bool", "date", "timestamp"]
KINDS: tuple[Kind, ...] = get_args(Kind)

NUMERIC: tuple[Kind, ...] = ("integer", "number")
KEYS: tuple[Kind, ...] = ("integer", "text", "bool", "date")
"""Kinds that can be compared for equality in the same way everywhere: what can be grouped by or joined on."""

CLEAN: Mapping[Kind, str] = {
    "integer": "int64",
    "number": "float64",
    "text": "string",
    "bool": "boolean",
    "date": "date",
    "timestamp": "timestamp(6)",
}
"""The clean form of each kind, as Ibis writes it."""

LONGEST_TEXT = 2**24
"""Bytes of a text, where an engine limits what it works on. SQLite fails where a record, which may hold a text several
times as rows are sorted, comes to a thousand million bytes; PostgreSQL where something takes 2^30, as `translate`
does of a text of 2^28."""

MOST_ITEMS = 4096
"""Of a list, the first so many items are read; the rest of it is left out."""

MOST = 1.7976931348623157e308
"""The largest double, for which infinity is read."""


@dataclass(frozen=True)
class Field:
    """A column as the engine describes it, before any row is read.

    name: as the user knows it; inside the engine the column goes by its position, see `column_name`.
    dtype: the engine's type as Ibis writes it, `float32` or `decimal(12, 2)`.
    kind: None when the type is of no use in a question; `dtype` then says what it is.
    nullable: whether the engine lets it hold null. nan: whether it can hold NaN, as floating point can, and
    PostgreSQL's numeric. mended: whether bytes that are not UTF-8 were replaced as it was read. items: of a list, whose
    kind is None, the kind of its items: such a column is of use once `explode` has made a row of each.
    """

    name: str
    dtype: str
    kind: Kind | None
    nullable: bool
    nan: bool = False
    mended: bool = False
    items: Kind | None = None

    @property
    def missing(self) -> bool:
        """Whether a row can lack a value."""
        return self.nullable or self.nan


def column_name(position: int) -> str:
    """What a column of the data is called inside the engine."""
    return f"c{position}"


def identity_name(position: int) -> str:
    """The same column as text that tells all its values apart, where its clean form does not."""
    return f"i{position}"


def public_name(number: int, position: int) -> str:
    """What a column of the public table joined as that number is called inside the engine."""
    return f"p{number}_{position}"


def private_name(number: int, position: int) -> str:
    """What a column of the private table joined as that number is called inside the engine."""
    return f"q{number}_{position}"


def computed_name(position: int) -> str:
    """What a computed column is called inside the engine."""
    return f"x{position}"


def clean_types(fields: tuple[Field, ...]) -> dict[str, str]:
    """The columns inside the engine and their types, as Ibis writes them."""
    types = {column_name(i): CLEAN[f.kind] for i, f in enumerate(fields) if f.kind is not None}
    types |= {column_name(i): f"array<{CLEAN[f.items]}>" for i, f in enumerate(fields) if f.items is not None}
    return types | {identity_name(i): "string" for i, f in enumerate(fields) if needs_identity(f)}


def needs_identity(field: Field) -> bool:
    """Whether units are told apart by a column of its own: whole numbers that 64 bits with a sign do not hold, and
    text that was mended, which must not be taken for another's."""
    return field.dtype == "uint64" or field.mended


def kind_of(dtype: Any) -> Kind | None:
    """The kind of an Ibis type; of a public table's column."""
    if dtype.is_boolean():
        return "bool"
    if dtype.is_integer() and not dtype.is_uint64():
        return "integer"
    if dtype.is_numeric():  # floating point, decimal, and the integers that do not fit 64 bits with a sign
        return "number"
    if dtype.is_string() or dtype.is_uuid():
        return "text"
    if dtype.is_date():
        return "date"
    if dtype.is_timestamp() and dtype.timezone is None:
        return "timestamp"
    return None


def kind_of_value(value: object) -> Kind | None:
    """The kind of a Python constant; None when it has none."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "text"
    if isinstance(value, datetime.datetime):
        return "timestamp"
    return "date" if isinstance(value, datetime.date) else None


def is_text(value: object) -> bool:
    """Whether something is text with anything in it."""
    return isinstance(value, str) and bool(value.strip())


def is_storable(text: str) -> bool:
    """Whether every engine can hold a text: it has no character 0, and can be written in UTF-8."""
    return "\x00" not in text and not any("\ud800" <= sign <= "\udfff" for sign in text)


def fits(value: object, kind: Kind) -> bool:
    """Whether a constant may stand for a value of that kind."""
    own = kind_of_value(value)
    return own == kind or (own == "integer" and kind == "number")
