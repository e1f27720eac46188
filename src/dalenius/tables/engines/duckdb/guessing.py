"""The types of a CSV file's columns, guessed from its first records where the schema does not state them.

A column is what nine in ten of its values read as, among the first 10 000 records: whole numbers (if no more than one
number in a hundred has a fraction, or one in all), numbers, true and false, dates like 2024-12-31, timestamps; else
text. So a few odd values do not decide, wherever they stand; they are missing, as any value is that does not read as
its column's type.

A guess tells what it is: that most values are numbers, say. It is made before anything is asked or charged, and it is
taken to be public, as the types of a database are. Where it is not, state the types.
"""

from __future__ import annotations

from typing import Any

from dalenius.tables.engines.duckdb import connection
from dalenius.tables.engines.duckdb.cleaning import clean
from dalenius.tables.engines.opened import Clean
from dalenius.tables.engines.sqltext import text
from dalenius.tables.facts.kinds import Kind

SAMPLE = 10_000
FEW = 20

FORMS: dict[Kind, str] = {
    "text": "VARCHAR",
    "integer": "BIGINT",
    "number": "DOUBLE",
    "bool": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
}
SHAPES: dict[Kind, str] = {
    "integer": r"\s*[-+]?\d+\s*",
    "bool": r"\s*(?i:true|false)\s*",
    "date": r"\s*\d{4}-\d{2}-\d{2}\s*",
    "timestamp": r"\s*\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}.*",
}


def read_as(kind: Kind, x: str) -> str:
    """Text as a value of a kind; null where it does not read as one."""
    read = f"TRY_CAST({x} AS {FORMS[kind]})"
    if kind == "integer":  # the cast alone would round 6.7, and read 7_0 as 70
        return f"CASE WHEN regexp_full_match({x}, '{SHAPES[kind]}') THEN {read} END"
    return read


def clean_as(kind: Kind, x: str) -> Clean:
    """The clean form of what `read_as` gives."""
    return clean(FORMS[kind], x)


def guessed(backend: Any, sample: Any, size: int) -> list[Kind]:
    """A kind for each column of a sample of text, named r0, r1, ...; None: there is no record."""
    if sample is None or sample.num_rows == 0:
        return ["text"] * size
    backend.con.register("sample", sample)
    kinds = [_guess(backend, f"nullif(r{i}, '')") for i in range(size)]
    backend.con.unregister("sample")
    return kinds


def mostly_whole(whole: int, broken: int) -> bool:
    """Whether so many numbers are a column of whole ones. One that is not does not decide, unless there are few."""
    return broken <= max((whole + broken) // 100, int(whole + broken >= FEW))


def _guess(backend: Any, x: str) -> Kind:
    parts = [f"count({x})"]
    for kind, form in list(FORMS.items())[1:]:
        fits = f"TRY_CAST({x} AS {form}) IS NOT NULL"
        if kind in SHAPES:
            fits = f"regexp_full_match({x}, {text(SHAPES[kind])}) AND {fits}"
        parts.append(f"count(CASE WHEN {fits} THEN 1 END)")
    ((there, whole, number, *others),) = connection.run(backend, f"SELECT {', '.join(parts)} FROM sample")
    if there == 0:
        return "text"
    if 10 * number >= 9 * there:
        return "integer" if mostly_whole(whole, number - whole) else "number"
    likely: list[tuple[Kind, int]] = list(zip(("bool", "date", "timestamp"), others, strict=True))
    return next((kind for kind, fit in likely if 10 * fit >= 9 * there), "text")
