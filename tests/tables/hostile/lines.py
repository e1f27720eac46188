"""CSV files: ordinary lines, and lines that no program should have written.

Under records="lines" a nasty line may be any bytes. Under "quoted" its quotes are doubled and paired, as the owner of
such a file promises; everything else about it may be wrong. The id and the name of a unit stand first on the line and
are written well, so that whatever becomes of the rest, the line is nobody else's.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

from dalenius.tables import Schema
from tests.tables.hostile.objects import KINDS
from tests.tables.hostile.rows import ROLES, Row, World
from tests.tables.hostile.stores import Store, opened_anew, spelled

NASTY = (
    *(
        b"",
        b" ",
        b"\xff",
        b"\xed\xa0\x80",
        b"\xf0\x9d",
        b"\x00",
        b"a\x00b",
        b"a\rb",
        b"\r",
        b"NaN",
        b"nan",
        b"-inf",
    ),
    *(
        b"Infinity",
        b"1e400",
        b"-1e400",
        b"1e-400",
        b"0x10",
        b"1_000",
        b"9223372036854775808",
        b"1e5",
        b"007",
        b"+1",
    ),
    *(
        b"9" * 400,
        b"1." + b"3" * 400,
        b"x" * 70_000,
        b"TRUE",
        b"t",
        b"2020-02-30",
        b"10000-01-01",
        b"infinity",
    ),
    *(
        b"0000-00-00",
        b"2020-01-01 24:00:00",
        b"-4713-01-01",
        b"294247-01-10 04:00:54.775807",
        b"epoch",
        b"NULL",
    ),
    *(
        "\ufeff1".encode(),
        "é".encode(),
        "e\u0301".encode(),
        b"\\N",
        b"#",
        b"--",
        b"\x1a",
        b"\x85",
        b"\xe2\x80\xa8",
    ),
)
SEPARATING = (b",", b",,,,", b";", b"\t", b"|", b",\r", b"\r,")
QUOTING = (
    b'"',
    b'""',
    b'"a',
    b'a"',
    b'"a"b',
    b'"a""b"',
    b'"a,b"',
    b'"""',
    b'a""b',
    b'"a\r"',
    b'"\xff"',
    b'"a",',
)
LINES = (
    b"",
    b"\r",
    b",",
    b'"',
    b'""',
    b"\xef\xbb\xbf",
    b"\x00",
    b"\xff" * 3,
    b'","' * 9,
    b"," * (len(ROLES) - 1),
)
"""Whole lines, of nobody."""


def quoted(text: bytes) -> bytes:
    return b'"' + text.replace(b'"', b'""') + b'"'


def csv(folder: Path, records: str) -> Store:
    """records: the rule of the schema, see `dalenius.tables.engines.duckdb.records`."""

    def put(world: World, number: int | None) -> Any:
        path = written(world, number, records, folder / f"{records}.csv")
        return path, {"schema": schema(world, records)}

    return opened_anew(put)


def written(world: World, number: int | None, records: str, path: Path) -> Path:
    """The file, with or without the lines of a unit."""
    first, own, last = world.parts(number)
    listed = [b",".join(quoted(world.names[role].encode()) for role in ROLES)]
    listed += [_line(row) for row in first]
    listed += [nasty(world.random(number, at), row, records) for at, row in enumerate(own)]
    listed += [_line(row) for row in last]
    end = b"\r\n" if len(world.base) % 2 else b"\n"
    path.write_bytes(end.join(listed) + end)
    return path


def schema(world: World, records: str, **more: Any) -> Schema:
    kinds = {world.names[role]: {"type": kind} for role, kind in KINDS.items()}
    return Schema(kinds, records=records, **more)  # type: ignore[arg-type]


def _line(row: Row) -> bytes:
    return b",".join(_field(value, role) for role, value in zip(ROLES, row, strict=True))


def nasty(random: Random, row: Row, records: str) -> bytes:
    """The line of a row in which some fields are anything."""
    if random.random() < 0.1 and records == "lines":
        return random.choice(LINES)
    fields = [_field(value, role) for role, value in zip(ROLES, row, strict=True)]
    for position in range(2, len(fields)):
        drawn = random.random()
        if drawn < 0.3:
            fields[position] = random.choice(NASTY)
        elif drawn < 0.4:
            breaks = (b"\n", b"\r\n", b"\n\n") if records == "quoted" else (b",", b"\r", b"")
            inside = (random.choice(NASTY), random.choice(breaks), b'"', random.choice(breaks))
            fields[position] = quoted(b"".join(inside))
        elif drawn < 0.43 and (records == "lines" or b'"' not in fields[position]):
            fields[position] += random.choice(SEPARATING)
        elif drawn < 0.5 and records == "lines":
            fields[position] = random.choice(QUOTING)
    if random.random() < 0.2:
        fields = fields[: random.choice((random.randint(3, len(fields)), len(fields)))]
        if records == "lines" and random.random() < 0.5:
            fields[-1] = b'"cut off'
    return b",".join(fields)


def _field(value: Any, role: str) -> bytes:
    """A value as a program would write it."""
    try:
        text = value if isinstance(value, bytes) else (spelled(value, role) or "").encode()
    except (OverflowError, ValueError):  # beyond the calendar
        return str(value).encode()
    plain = not any(sign in text for sign in b'",\r\n')
    return text if plain else quoted(text)
