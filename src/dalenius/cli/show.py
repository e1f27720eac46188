"""Numbers and tables for people: bounds are rounded outwards, and plain text goes where no terminal is."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any


def print_json(content: object, indent: int | None = 2) -> None:
    """One JSON object. JSON has no infinity and no NaN: the text "inf" stands for the one, null for the other."""
    print(json.dumps(_plain(content), indent=indent, allow_nan=False, default=str))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(float(value))
    return value


def is_terminal() -> bool:
    """Whether a person is looking: only then colours and frames are drawn."""
    return sys.stdout.isatty()


@contextmanager
def working(text: str) -> Iterator[None]:
    """Something that moves, and the seconds gone by, while a person waits at a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        progress.add_task(text, total=None)
        yield


def harmless(text: str) -> str:
    """Text from elsewhere, which may hold what a terminal obeys (ESC), or what turns it around: these as \\x1b."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def say(text: str = "") -> None:
    """One paragraph."""
    print(harmless(text))


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table: framed on a terminal, else columns separated by two spaces."""
    rows = [[harmless(cell).replace("\n", "\\n") for cell in row] for row in rows]
    if is_terminal():
        _framed(header, rows)
        return
    lines = [tuple(header), *map(tuple, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def _framed(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    frame = Table(header_style="bold")
    for title in header:
        frame.add_column(title)
    for row in rows:
        # Text, not str: rich would read square brackets in it as its own markup.
        frame.add_row(*(Text(cell) for cell in row))
    Console().print(frame)
