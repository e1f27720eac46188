"""Numbers and tables for people: bounds are rounded outwards, and plain text goes where no terminal is."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from dalenius.core.printable import printable


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
    return printable(text, keeping="\n")


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


LEAST = 24
"""Letters that a column which is folded must have, or nobody would read it."""


def _framed(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Nothing is cut: where lines are too long the widest column is folded, and where that does not do a row becomes
    a paragraph."""
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    widths = [max(map(cell_len, column)) for column in zip(header, *rows, strict=True)]
    widest = widths.index(max(widths))
    room = console.width - (sum(widths) - widths[widest] + 3 * len(widths) + 1)
    if room < min(LEAST, widths[widest]):
        _stacked(console, header, rows)
        return
    frame = Table(header_style="bold")
    for place, title in enumerate(header):
        frame.add_column(title, no_wrap=place != widest, overflow="fold")
    for row in rows:
        # Text, not str: rich would read square brackets in it as its own markup.
        frame.add_row(*(Text(cell) for cell in row))
    console.print(frame)


def _stacked(console: Any, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Each row as lines of a name and a value; what is empty is left out."""
    from rich.table import Table
    from rich.text import Text

    width = max(map(len, header))
    for number, row in enumerate(rows):
        if number:
            console.print()
        lines = Table.grid(padding=(0, 2))
        lines.add_column(no_wrap=True, min_width=width, style="bold")
        lines.add_column(overflow="fold")
        for title, cell in zip(header, row, strict=True):
            if cell:
                lines.add_row(Text(title), Text(cell))
        console.print(lines)
