"""Reading published tables of counts: CSV or Markdown, counts in one column or across several."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dalenius.audit.attacks.published_table import Key, PublishedTable
from dalenius.cli.problems import quoted
from dalenius.errors import InvalidParameter, SourceError

COUNTS = ("count", "counts", "n", "number", "people", "persons", "rows", "frequency", "freq", "value")
TOTALS = ("total", "totals", "all", "sum", "overall", "grand total")
HIDDEN = ("", "*", "**", "-", "--", ".", "..", "s", "x", "c", "n/a", "na", "nan", "suppressed", "hidden")
MOST_BYTES = 10_000_000


@dataclass(frozen=True)
class Reading:
    """What the counts of a table are."""

    count: str | None = None
    across: str | None = None
    rounded_to: int = 1
    random_rounding: bool = False
    hidden_below: int | None = None
    missing: str = "zero"


def read_table(path: Path, how: Reading) -> PublishedTable:
    """One file as a table."""
    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except OSError as problem:
        raise SourceError(f"{path} cannot be read ({problem.strerror}).") from None
    if len(raw) > MOST_BYTES:
        raise SourceError(
            f"{path} has more than {MOST_BYTES:,} bytes; it is not a published table of counts."
        )
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SourceError(f"{path} is not a text in UTF-8.") from None
    try:
        header, *lines = _markdown(text) or _csv(text) or [[]]
    except csv.Error as problem:
        raise SourceError(f"{path} is not a CSV file ({problem}).") from None
    if not lines or len(header) < 2:
        raise InvalidParameter(f"{path} has no table: a line of names, then lines of groups and counts.")
    if len(set(header)) < len(header) or "" in header:
        raise InvalidParameter(f"{path}: every column needs a name of its own.")
    for number, line in enumerate(lines, start=2):
        if len(line) != len(header):
            raise InvalidParameter(
                f"{path}: line {number} of the table has {len(line)} cells, not {len(header)}."
            )
    return _table(path, header, lines, how)


def _table(path: Path, header: list[str], lines: list[list[str]], how: Reading) -> PublishedTable:
    """The counts stand in one column, or across several whose names are values of a further one."""
    place = _count_place(path, header, how)
    counted = None if place is None else header[place]
    if counted is not None and {f"{counted}_error", f"{counted}_low", f"{counted}_high"} <= set(header):
        raise InvalidParameter(
            f"{path} was released with noise ({quoted(f'{counted}_error')} says how much): its counts are not exact, "
            "and no row can be rebuilt for certain. What such tables tell at most is said by their budget: dalenius "
            "explain."
        )
    places = [place] if place is not None else _wide_places(path, header, lines, how)
    groups = [k for k in range(len(header)) if k not in places]
    columns = [header[k] for k in groups]
    if place is None:
        if how.across in columns:
            raise InvalidParameter(
                f"{path} has a column {quoted(how.across)} already; name --across otherwise."
            )
        columns.append(how.across or "")
    keys: list[Key] = []
    low: list[int] = []
    high: list[float] = []
    for line in lines:
        group = tuple(_value(line[k]) for k in groups)
        for k in places:
            keys.append(group if place is not None else (*group, _value(header[k])))
            least, most = _bounds(path, line[k], how)
            low.append(least)
            high.append(most)
    try:
        return PublishedTable(tuple(columns), tuple(keys), tuple(low), tuple(high), how.missing == "zero")
    except InvalidParameter as problem:
        raise InvalidParameter(f"{path}: {problem}") from None


def _count_place(path: Path, header: list[str], how: Reading) -> int | None:
    """The column of counts; None where they stand across several."""
    if how.count is not None and how.count in header:
        return header.index(how.count)
    named = [place for place, name in enumerate(header) if name.lower() in COUNTS]
    if how.count is None and len(named) == 1:
        return named[0]
    if how.across is not None:
        return None
    columns = ", ".join(map(quoted, header))
    if how.count is not None:
        raise InvalidParameter(f"{path} has no column {quoted(how.count)}; its columns: {columns}.")
    raise InvalidParameter(
        f"{path} does not say which of its columns holds the counts ({columns}); name it with --count, or, if the "
        "counts stand in several columns, what these are with --across."
    )


def _wide_places(path: Path, header: list[str], lines: list[list[str]], how: Reading) -> list[int]:
    """The columns that hold counts, or hidden ones, and nothing else."""
    places = [
        place
        for place in range(len(header))
        if any(_stated(line[place], how) is not None for line in lines)
        and all(_stated(line[place], how) or _is_hidden(line[place]) for line in lines)
    ]
    if not places:
        raise InvalidParameter(f"{path} has no columns of counts.")
    # Ages and years look like counts, too: where all columns do, the first names groups.
    return places[1:] if len(places) == len(header) else places


def _bounds(path: Path, cell: str, how: Reading) -> tuple[int, float]:
    """The least and the most that a published count can stand for."""
    stated = _stated(cell, how)
    if stated is not None:
        return stated
    if _is_hidden(cell):
        return 0, math.inf if how.hidden_below is None else float(how.hidden_below - 1)
    raise InvalidParameter(
        f"{path}: {quoted(cell)} is no count; whole numbers, <5 and * (hidden) are understood."
    )


def _stated(cell: str, how: Reading) -> tuple[int, float] | None:
    """The same where the cell says something about the count."""
    below = re.fullmatch(r"(?:<|&lt;|fewer than|under)\s*(\d{1,15})", cell.lower())
    if below:
        return 0, float(max(0, int(below[1]) - 1))
    at_most = re.fullmatch(r"(?:<=|≤)\s*(\d{1,15})", cell)
    if at_most:
        return 0, float(at_most[1])
    count = _number(cell)
    if count is None:
        return None
    off = how.rounded_to - 1 if how.random_rounding else how.rounded_to // 2
    return max(0, count - off), float(count + off)


def _number(cell: str) -> int | None:
    plain = re.sub(r"(?<=\d)[,\u00a0\u202f' ](?=\d{3}\b)", "", cell)
    plain = re.sub(r"\.0+$", "", plain)
    return int(plain) if re.fullmatch(r"\d{1,15}", plain) else None


def _is_hidden(cell: str) -> bool:
    return cell.lower() in HIDDEN


def _value(cell: str) -> str | None:
    return None if cell.lower() in TOTALS else cell


def _csv(text: str) -> list[list[str]]:
    first = text.partition("\n")[0]
    separator = max(",;\t", key=first.count)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    return [[cell.strip() for cell in line] for line in lines if any(cell.strip() for cell in line)]


def _markdown(text: str) -> list[list[str]]:
    """The first table of a page whose lines look like | a | b |."""
    table: list[list[str]] = []
    for line in text.splitlines():
        if line.strip().startswith("|"):
            cells: Sequence[str] = re.split(r"(?<!\\)\|", line.strip().strip("|"))
            plain = [cell.replace("\\|", "|").strip().strip("*_`").strip() or cell.strip() for cell in cells]
            if not all(re.fullmatch(r":?-+:?", cell) for cell in plain) or not table:
                table.append(plain)
        elif table:
            break
    return table
