"""What dates, moments and text mean in an expression, in plain Python: one meaning for all engines."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from dalenius.tables import Schema, Source
from dalenius.tables.rows.scope import Scope

Row = dict[str, Any]

DAYS = [
    *(
        (1, 1, 1),
        (1, 12, 31),
        (4, 2, 29),
        (100, 3, 1),
        (1582, 10, 4),
        (1582, 10, 10),
        (1583, 1, 1),
        (1899, 12, 31),
    ),
    *((1900, 2, 28), (1900, 3, 1), (1969, 12, 31), (1970, 1, 1), (2000, 2, 29), (2004, 12, 31), (2005, 1, 1)),
    *(
        (2008, 12, 29),
        (2010, 1, 3),
        (2015, 12, 31),
        (2016, 1, 3),
        (2020, 2, 29),
        (2020, 12, 31),
        (2021, 1, 3),
    ),
    *((2024, 3, 31), (2024, 10, 27), (9998, 12, 31), (9999, 1, 1), (9999, 12, 30), (9999, 12, 31)),
]
CLOCKS = [(0, 0, 0, 0), (23, 59, 59, 999999), (1, 59, 59, 500000), (2, 30, 0, 1), (12, 0, 0, 999)]
"""With those of days in spring and autumn that zones leave out, or have twice."""

TEXTS = [
    *(
        "",
        " ",
        "  ",
        "a",
        " A ",
        "\ta ",
        "a\n",
        "\u00a0a\u00a0",
        "\u2003a",
        "AbC xYz",
        "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    ),
    *(
        "É",
        "e\u0301X",
        "E\u0301",
        "ß",
        "ẞ",
        "İ",
        "I",
        "ı",
        "i",
        "ΣΑΣ",
        "ς",
        "ǅ",
        "ﬁ",
        "ÅSA",
        "Ж",
        "𝄞A𝄞",
        "𐐀",
        "\U0010ffff",
    ),
    *("👨‍👩‍👧", "🇳🇴x", "\u200fA\u200e", "o'B\"\\", "%", "_", "NaN", "\ufffd", "\u0001A", "x" * 5000 + "Y  "),
]
ZERO = ["\x00", "a\x00B", " \x00 "]
"""Text that PostgreSQL has no place for."""


def nasty(zero: bool) -> pa.Table:
    """The rows: every day beside every other sooner or later, and every text."""
    days = [datetime.date(*day) for day in DAYS]
    texts = TEXTS + (ZERO if zero else [])
    rows = []
    for n in range(3 * max(len(days), len(texts))):
        day, other = days[n % len(days)], days[(n * 5 + 3) % len(days)]
        at = datetime.datetime.combine(day, datetime.time(*CLOCKS[n % len(CLOCKS)]))
        then = datetime.datetime.combine(other, datetime.time(*CLOCKS[(n // 3) % len(CLOCKS)]))
        last = datetime.datetime(9999, 12, 31)
        rows.append(
            {"d": day, "e": other, "t": min(at, last), "u": min(then, last), "s": texts[n % len(texts)]}
            if n % 11
            else {"d": None, "e": other, "t": None, "u": then if n % 2 else None, "s": None}
        )
    types = {"n": pa.int64(), "d": pa.date32(), "e": pa.date32(), "s": pa.string()}
    types |= dict.fromkeys("tu", pa.timestamp("us"))
    return pa.Table.from_pylist(
        [{"n": n, **row} for n, row in enumerate(rows)], pa.schema(list(types.items()))
    )


FIRST = datetime.datetime(1, 1, 1)
CUTS = {"SECOND": 1, "MINUTE": 60, "HOUR": 3600, "DAY": 86400, "WEEK": 7 * 86400}


def beginning(span: str, at: datetime.date) -> datetime.date:
    day = at.date() if isinstance(at, datetime.datetime) else at
    if span == "week":
        return datetime.date.fromisocalendar(*day.isocalendar()[:2], 1)
    months = {"day": 0, "month": 1, "quarter": 3, "year": 12}[span]
    while months and (day.day > 1 or (day.month - 1) % months):
        day -= datetime.timedelta(1)
    return day


def boundaries(unit: str, start: datetime.date, end: datetime.date) -> int:
    """By seconds from the first midnight of all, or by months from its month."""
    one, two = (
        x if isinstance(x, datetime.datetime) else datetime.datetime(x.year, x.month, x.day)
        for x in (start, end)
    )
    if unit in CUTS:
        first, last = ((x - FIRST) // datetime.timedelta(seconds=CUTS[unit]) for x in (one, two))
        return last - first
    months = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}[unit]
    first, last = ((x.year * 12 + x.month - 1) // months for x in (one, two))
    return last - first


def ascii_lower(text: str) -> str:
    return "".join(chr(ord(sign) + 32) if "A" <= sign <= "Z" else sign for sign in text)


def ascii_upper(text: str) -> str:
    return "".join(chr(ord(sign) - 32) if "a" <= sign <= "z" else sign for sign in text)


def of(name: str, compute: Callable[[Any], Any]) -> Callable[[Row], Any]:
    return lambda row: None if row[name] is None else compute(row[name])


def both(a: str, b: str, compute: Callable[[Any, Any], Any]) -> Callable[[Row], Any]:
    return lambda row: None if row[a] is None or row[b] is None else compute(row[a], row[b])


PARTS: dict[str, Callable[[Any], int]] = {
    "YEAR": lambda x: int(x.isoformat()[:4]),
    "QUARTER": lambda x: (int(x.isoformat()[5:7]) + 2) // 3,
    "MONTH": lambda x: int(x.isoformat()[5:7]),
    "DAY": lambda x: int(x.isoformat()[8:10]),
    "WEEK": lambda x: int(x.strftime("%V")),
    "DOW": lambda x: int(x.strftime("%w")),
    "ISODOW": lambda x: int(x.strftime("%u")),
    "DOY": lambda x: int(x.strftime("%j")),
}
CLOCK: dict[str, Callable[[Any], int]] = {
    "HOUR": lambda x: int(x.strftime("%H")),
    "MINUTE": lambda x: int(x.strftime("%M")),
    "SECOND": lambda x: int(x.strftime("%S")),
}
NOON = datetime.datetime(2024, 10, 27, 2, 30, 0, 1)

MEANINGS: dict[str, Callable[[Row], Any]] = {
    **{f"EXTRACT({part} FROM {x})": of(x, value) for part, value in PARTS.items() for x in "dt"},
    **{f"EXTRACT({part} FROM t)": of("t", value) for part, value in CLOCK.items()},
    "DATE_PART('month', t)": of("t", PARTS["MONTH"]),
    **{
        f"DATE_TRUNC('{span}', {x})": of(x, lambda x, span=span: beginning(span, x))
        for span in ("day", "week", "month", "quarter", "year")
        for x in "dt"
    },
    **{
        f"DATE_DIFF('{unit}', d, e)": both("d", "e", lambda a, b, unit=unit: boundaries(unit, a, b))
        for unit in ("DAY", "WEEK", "MONTH", "QUARTER", "YEAR")
    },
    **{
        f"DATE_DIFF('{unit}', t, u)": both("t", "u", lambda a, b, unit=unit: boundaries(unit, a, b))
        for unit in ("DAY", "WEEK", "MONTH", "YEAR", "HOUR", "MINUTE", "SECOND")
    },
    "DATE_DIFF('second', TIMESTAMP '2024-10-27 02:30:00.000001', t)": of(
        "t", lambda t: boundaries("SECOND", NOON, t)
    ),
    "DATE_DIFF('week', d, DATE '2024-10-27')": of("d", lambda d: boundaries("WEEK", d, NOON)),
    "d - e": both("d", "e", lambda a, b: (a - b).days),
    "DATE '2020-02-29' - d": of("d", lambda d: (datetime.date(2020, 2, 29) - d).days),
    **{
        f"t {sign} TIMESTAMP '2024-10-27 02:30:00.000001'": of("t", lambda t, holds=holds: holds(t, NOON))
        for sign, holds in {
            "<": lambda a, b: a < b,
            ">=": lambda a, b: a >= b,
            "=": lambda a, b: a == b,
        }.items()
    },
    "t < u": both("t", "u", lambda a, b: a < b),
    "t = u": both("t", "u", lambda a, b: a == b),
    "t <= '2024-03-31'": of("t", lambda t: t <= datetime.datetime(2024, 3, 31)),
    "t > DATE '9998-12-31'": of("t", lambda t: t > datetime.datetime(9998, 12, 31)),
    "NULLIF(t, TIMESTAMP '0001-01-01 00:00:00') IS NULL": lambda row: row["t"] in (None, FIRST),
    "LENGTH(s)": of("s", len),
    "LOWER(s)": of("s", ascii_lower),
    "UPPER(s)": of("s", ascii_upper),
    "TRIM(s)": of("s", lambda s: re.sub("^[ ]*|[ ]*$", "", s)),
    "LTRIM(s)": of("s", lambda s: re.sub("^[ ]*", "", s)),
    "RTRIM(s)": of("s", lambda s: re.sub("[ ]*\\Z", "", s)),
    "SUBSTRING(s, 1, 2)": of("s", lambda s: s[:2]),
    "SUBSTRING(s, 2)": of("s", lambda s: s[1:]),
    "SUBSTRING(s, 3, 0)": of("s", lambda s: ""),
    "SUBSTRING(s, 100000000, 100000000)": of("s", lambda s: ""),
    "LEFT(s, 1)": of("s", lambda s: s[:1]),
    "LENGTH(TRIM(LOWER(SUBSTRING(s, 1, 4))))": of("s", lambda s: len(ascii_lower(s[:4]).strip(" "))),
    "LOWER(s) = 'a'": of("s", lambda s: s in ("a", "A")),
    "s LIKE 'a%'": of("s", lambda s: s.startswith("a")),
    "LOWER(TRIM(s)) LIKE '%x%'": of("s", lambda s: "x" in s.lower()),
}


def computed(source: Source) -> dict[str, list[Any]]:
    """Each expression for each row, in the order of `n`, as the engine computes it."""
    scope = Scope(source.rows, source.fields, Schema(nulls="drop"), source.engine)
    asked = {f"y{n}": scope.declared(text, None, text) for n, text in enumerate(MEANINGS)}
    columns = {}
    for name, term in asked.items():
        value = term.value
        if term.kind == "date":  # dates travel in as many ways as there are engines
            value = source.engine.integer("date", value)
        elif term.kind == "text":
            value = source.engine.hexadecimal(value)
        elif term.kind == "bool":
            value = value.cast("int32").cast("int64")
        columns[name] = value
    statement = source.rows.select(n=source.rows["c0"], **columns)
    source.engine.check(statement, source.rows)
    table = source.fetch(statement).to_pylist()
    table.sort(key=lambda row: row["n"])
    return {text: [_read(row[f"y{n}"]) for row in table] for n, text in enumerate(MEANINGS)}


def expected(text: str, row: Row) -> Any:
    value = MEANINGS[text](row)
    if isinstance(value, str):
        return value.encode().hex()
    return value.year * 10_000 + value.month * 100 + value.day if isinstance(value, datetime.date) else value


def _read(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


def check(source: Source, table: pa.Table) -> None:
    rows, found = table.to_pylist(), computed(source)
    wrong = [
        (text, row, value, expected(text, row))
        for text, values in found.items()
        for row, value in zip(rows, values, strict=True)
        if value != expected(text, row)
    ]
    assert not wrong, (len(wrong), {text for text, *_ in wrong}, wrong[0])
