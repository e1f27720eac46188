"""Tables: ordinary rows, and units whose rows hold whatever the types allow.

A value is what is stored: dates are days and timestamps microseconds since 1970, text is bytes, so that what has no
Python equal (the year 200000, half a character) can be written down. `Raw` is text for PostgreSQL to read.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from random import Random
from typing import Any

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Raw:
    """A value in the spelling of PostgreSQL."""

    text: str


@dataclass(frozen=True)
class Column:
    """A column: what Arrow and PostgreSQL call its type, ordinary values, and values that are trouble.

    everywhere: trouble all engines can hold and must agree on; duckdb, postgres: trouble only one of them can hold.
    """

    arrow: str
    postgres: str
    ordinary: tuple[Any, ...]
    everywhere: tuple[Any, ...]
    duckdb: tuple[Any, ...] = ()
    postgres_only: tuple[Any, ...] = ()


def _single(x: float) -> float:
    return float(struct.unpack("f", struct.pack("f", x))[0])


DOUBLES = (
    *(
        math.nan,
        math.inf,
        -math.inf,
        0.0,
        -0.0,
        5e-324,
        -5e-324,
        2.2e-308,
        1e-310,
        1.7976931348623157e308,
        -1e308,
    ),
    *(
        1e150,
        -1e160,
        1e-200,
        2.0**53 + 2,
        2.0**62,
        2.0**63,
        -(2.0**63),
        2.0**64,
        9007199254740995.0,
        4503599627370495.5,
    ),
    *(
        0.1,
        0.30000000000000004,
        0.5,
        1.0,
        math.nextafter(1.0, 0.0),
        math.nextafter(1.0, 2.0),
        4194304.0,
        4194303.9,
    ),
)
WHOLE = (2**63 - 1, -(2**63), 2**53 + 1, -(2**53) - 1, 2**31, -(2**31), 2**24 + 1, 0, -1)
TEXT = (
    "",
    " ",
    "a",
    "A",
    "a ",
    "é",
    "e\u0301",
    "ß",
    "SS",
    "İ",
    "𝄞",
    "o'b\"\\",
    "%",
    "_",
    "1e5",
    "NaN",
    "2020-01-01",
    "\ufffd",
)
ODD_TEXT = (b"\xff", b"a\xff", b"\xed\xa0\x80", b"\xf0\x9d", b"\x00", b"a\x00b", b"x" * 70_000)

COLUMNS: Mapping[str, Column] = {
    "id": Column("int64", "bigint", tuple(range(8)), (2**63 - 1, -(2**63), -1), (), ()),
    "who": Column(
        "string",
        "text",
        tuple(t.encode() for t in ("ann", "bob", "cyn", ",dee", "\ufffd", "?", "a?")),
        tuple(t.encode() for t in TEXT),
        ODD_TEXT,
    ),
    "x": Column("float64", "double precision", (0.0, 0.5, 1.0, 2.5, -3.25, 7.0, 0.1), DOUBLES),
    "y": Column("float64", "double precision", (0.0, 1.0, -1.0, 10.0, 3.5), DOUBLES),
    "f": Column(
        "float32",
        "real",
        (0.5, 1.0, -2.0, _single(0.1)),
        (math.nan, math.inf, -math.inf, _single(3.4e38), _single(1e-45), -0.0, _single(0.3)),
    ),
    "i": Column("int64", "bigint", (0, 1, 2, 7, -3, 100), WHOLE),
    "h": Column("int16", "smallint", (0, 1, 5, 39, -3), (2**15 - 1, -(2**15))),
    "dec": Column(
        "decimal128(18, 4)",
        "numeric(18,4)",
        (Decimal("1.25"), Decimal("-7.5"), Decimal("0.07")),
        (Decimal("99999999999999.9999"), Decimal("-99999999999999.9999"), Decimal("0.0001")),
        (),
        (Raw("NaN"),),
    ),
    "num": Column(
        "float64",  # a decimal without limit exists in PostgreSQL alone
        "numeric",
        (0.5, 2.0, -1.0),
        (),
        (math.nan, 1e308, -math.inf),
        tuple(
            Raw(t)
            for t in ("NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1e-400", "1e-16000", "9" * 900)
        ),
    ),
    "day": Column(
        "date32",
        "date",
        (0, 18262, 18321, 18322, 18628),
        (2932896, -719162, -800, 11016),
        (2**31 - 1, -(2**31), -(2**31) + 1, 2932897, -719163, 10**7, -(10**6)),
        tuple(Raw(t) for t in ("infinity", "-infinity", "4713-01-01 BC", "5874897-12-31", "10000-01-01")),
    ),
    "moment": Column(
        "timestamp[us]",
        "timestamp",
        (0, 1577836800000000, 1582934399999999, 951782400000000),
        (253402300799999999, -62135596800000000, -1),
        (2**63 - 1, -(2**63) + 1, -(2**63), 253402300800000000, -62135596800000001, 9 * 10**18),
        tuple(Raw(t) for t in ("infinity", "-infinity", "294276-12-31 23:59:59", "4713-01-01 00:00:00 BC")),
    ),
    "k": Column(
        "string",
        "text",
        tuple(t.encode() for t in ("p", "q", "é", ",p", "\np", "\ufffd", "?")),
        tuple(t.encode() for t in TEXT),
        ODD_TEXT,
    ),
    "g": Column("int32", "integer", (1, 2, 3), (2**31 - 1, -(2**31), 0)),
    "flag": Column("bool", "boolean", (True, False), ()),
}
ROLES = tuple(COLUMNS)

NAMES: tuple[Mapping[str, str], ...] = (
    {role: role for role in ROLES},
    # Capitals only: one name to DuckDB and Spark.
    {role: role for role in ROLES}
    | {"x": "v", "y": "V", "k": "town", "g": "TOWN", "day": "Day", "moment": "dAY"},
    # Words of SQL, names an engine or this package might use itself, quotes and blanks.
    {role: role for role in ROLES}
    | {
        "x": "select",
        "y": "n",
        "f": "s0",
        "i": 'a"b',
        "h": "a b",
        "k": "group",
        "g": "c0",
        "who": "x0",
        "id": "p0",
    },
    {role: role for role in ROLES}
    | {
        "x": "größe",
        "y": "GRÖSSE",
        "i": "a'b",
        "h": "a.b",
        "flag": "true",
        "dec": "c1",
        "num": "count",
        "id": "ID ",
    },
)
"""What the columns are called, by role."""


FORMS: Mapping[str, tuple[str, ...]] = {
    "moment": ("timestamp[ns]", "timestamp[ms]", "timestamp[s]"),
    "day": ("date64",),
    "i": ("uint64", "int32"),
    "dec": ("decimal128(38, 4)", "decimal256(50, 4)"),
    "k": ("large_string", "dictionary"),
    "who": ("large_string", "dictionary"),
    "f": ("float16",),
}
"""Other types that a column may be stored as in Arrow; its values are then what fits them best."""

SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def fitted(value: Any, form: str) -> Any:
    """A value as what is stored under another type; one that has no place there is taken for raw units."""
    if value is None:
        return None
    if form == "date64":
        return value * 86_400_000
    if form.startswith("timestamp"):
        second = SECOND[form.removeprefix("timestamp[").removesuffix("]")]
        scaled = value * second // 10**6
        return scaled if abs(value) < 2**60 and -(2**63) <= scaled < 2**63 else value
    if form == "uint64":
        return value % 2**64
    if form == "int32":
        return (value + 2**31) % 2**32 - 2**31
    return value


@dataclass(frozen=True)
class World:
    """A table and units that are not in it; `neighbours[i]` holds the rows of one unit.

    types: the type of each column in Arrow, by role. equal: how often the first row of the table is repeated, so that
    what an engine knows about whole columns (statistics, dictionaries) is decided by one odd row.
    """

    names: Mapping[str, str]
    types: Mapping[str, str]
    base: tuple[Row, ...]
    neighbours: tuple[tuple[Row, ...], ...]
    equal: int
    seed: int

    def parts(self, number: int | None) -> tuple[Sequence[Row], Sequence[Row], Sequence[Row]]:
        """The first rows of the table, the rows of a neighbour's additional unit (None: there is none), the rest."""
        some = () if number is None else self.neighbours[number]
        half = max(len(self.base) // 2, 1)
        return (*self.base[:1] * self.equal, *self.base[1:half]), some, self.base[half:]

    def table(self, number: int | None) -> Sequence[Row]:
        """The table, or one of its neighbours, whose own rows stand in the middle."""
        return [row for part in self.parts(number) for row in part]

    def shared(self, random: Random) -> World:
        """The same, in which the id of every neighbour's unit is also that of ordinary rows; their `who` is not."""
        ids = COLUMNS["id"].ordinary
        return replace(
            self,
            neighbours=tuple(
                tuple((some, *row[1:]) for row in rows)
                for rows, some in ((rows, random.choice(ids)) for rows in self.neighbours)
            ),
        )

    def random(self, *place: object) -> Random:
        """The same for the same place in the same world."""
        return Random(f"{self.seed} {place}")


def worlds(
    random: Random,
    engine: str,
    names: int | None = None,
    units: int = 32,
    equal: int = 1,
    forms: bool = True,
    several: tuple[int, int] = (1, 4),
) -> World:
    """engine: whose trouble the nasty rows may hold; "all" for what every engine can hold.

    Every third neighbour has `several` rows, from so many to so many, the others one. forms: whether columns may be
    stored as other types.
    """
    roles = list(COLUMNS.values())
    trouble = [_trouble(c, engine) for c in roles]
    count = random.choice((0, 1, 3, 8, 12)) if equal == 1 else random.choice((1, 2, 3))
    base = tuple(_base_row(random, roles, trouble, odd=0.6 if equal > 1 else 0.2) for _ in range(count))
    neighbours = []
    for number in range(units):
        count = random.randint(*several) if number % 3 == 2 else 1
        rows = [
            tuple(_value(random, *pools) for pools in zip(roles, trouble, strict=True)) for _ in range(count)
        ]
        known = set(COLUMNS["who"].ordinary)
        called = random.choice([t for t in (*trouble[1], b"new") if t not in known])
        unit = (random.choice([*COLUMNS["id"].everywhere, 100, 101]), called)
        neighbours.append(tuple((*unit, *row[2:]) for row in rows))
    types = {role: c.arrow for role, c in COLUMNS.items()}
    if forms and engine == "duckdb":
        types |= {role: random.choice(some) for role, some in FORMS.items() if random.random() < 0.2}
    position = random.randrange(len(NAMES)) if names is None else names
    return World(NAMES[position], types, base, tuple(neighbours), equal, random.getrandbits(32))


def _base_row(random: Random, roles: Sequence[Column], trouble: Sequence[tuple[Any, ...]], odd: float) -> Row:
    """A row of the table itself: ordinary but for some values now and then, and of somebody ordinary."""
    nasty = random.random() < odd
    who = tuple(random.choice((*column.ordinary, None)) for column in roles[:2])
    pools = list(zip(roles, trouble, strict=True))[2:]
    return (*who, *(_value(random, column, some if nasty else ()) for column, some in pools))


def _value(random: Random, column: Column, trouble: tuple[Any, ...]) -> Any:
    """Trouble half of the time, where there is any; now and then nothing."""
    drawn = random.random()
    if drawn < 0.1:
        return None
    return random.choice(trouble if trouble and drawn < 0.6 else column.ordinary)


def _trouble(column: Column, engine: str) -> tuple[Any, ...]:
    own = {"duckdb": column.duckdb, "postgres": column.postgres_only}.get(engine, ())
    return (*column.everywhere, *own)
