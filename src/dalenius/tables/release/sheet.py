"""A table to look at and to publish: rows with keys, and columns of estimates with intervals.

Answers are such tables, and so is whatever is made of them. Everything here is post-processing: look as often as you
like.
"""

from __future__ import annotations

import csv
import html
import io
import math
import shutil
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import pyarrow as pa

from dalenius.core import checks
from dalenius.core.arrays import Reals
from dalenius.core.checks import is_one_of
from dalenius.core.printable import printable
from dalenius.errors import InvalidParameter
from dalenius.tables.facts.nearest import nearest
from dalenius.tables.release.cells import in_markdown, key_text, no_formula
from dalenius.tables.statistics.column import Column

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_SHOWN = 60
ADD_UP = "Margins add up."
ENDS = ("lower", "upper")
"""The last columns of keys where each row is a bin."""


class UnknownColumn(InvalidParameter, KeyError):
    """A column that the table does not have."""

    __str__ = InvalidParameter.__str__


class Sheet(ABC):
    """Rows with keys, and for each row and column an estimate, its standard error and an interval."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The columns of the keys."""

    @property
    @abstractmethod
    def keys(self) -> list[tuple[Any, ...]]:
        """The groups, one tuple each."""

    @property
    @abstractmethod
    def columns(self) -> list[Column]:
        """The columns of numbers."""

    @property
    @abstractmethod
    def note(self) -> str:
        """What a reader should know: what intervals cover, what it cost."""

    @property
    def alike(self) -> bool:
        """Whether all columns are of one thing, as after `wide`, and are drawn on one scale."""
        return False

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if is_one_of(name, column.name):
                return column
        known = [column.name for column in self.columns]
        parts = [column for column in known if column.startswith((f"{name}[", f"{name}_"))]
        if parts:
            raise UnknownColumn(
                f"{name!r} has a column for each part; ask for one of them: {', '.join(map(repr, parts))}."
            )
        raise UnknownColumn(f"there is no column {name!r} in the answer; {nearest(str(name), known)}.")

    # -- shapes people publish ------------------------------------------------------------------------

    def top(self, by: str, k: int = 10) -> Sheet:
        """The k rows with the largest estimates in a column, the largest first.

        The largest of noisy numbers tend to be somewhat too large: the intervals hold for each row of the whole table.
        """
        order = np.argsort(-_numbers(self[by]), kind="stable")[: checks.count("k", k, 1)]
        return self._rows_at(order, f"the {min(k, len(self))} largest by {by}")

    def sorted(self, by: str, *, descending: bool = True) -> Sheet:
        """The rows in the order of a column's estimates."""
        values = _numbers(self[by])
        order = np.argsort(-values if descending else values, kind="stable")
        return self._rows_at(order, f"sorted by {by}")

    def rounded(self, to: int = 5, columns: Iterable[str] | None = None) -> Sheet:
        """Counts (or the columns named) rounded to multiples of `to`, as many statistical offices publish them.

        Intervals are widened to multiples: they still hold what they held.
        """
        base = checks.count("to", to, 1)
        chosen = self._chosen(columns, [column.name for column in self.columns if column.whole])

        def coarser(column: Column) -> Column:
            if column.name not in chosen:
                return column
            return replace(
                column,
                estimate=np.rint(column.estimate / base) * base,
                low=np.floor(column.low / base) * base,
                high=np.ceil(column.high / base) * base,
            )

        return Shaped(
            self.names,
            self.keys,
            [coarser(c) for c in self.columns],
            f"{self.note.replace(ADD_UP, 'Margins added up before rounding.')} Rounded to multiples of {base}.",
            self.alike,
        )

    def suppressed(self, by: str | None = None, below: float = 10) -> Sheet:
        """Rows whose estimate in column `by` is smaller than `below` are shown without numbers.

        by: the one column of counts that is no bin of a histogram, if left out. This protects nobody further (the noise
        did that): it keeps readers from taking noise for news.
        """
        least = checks.number("below", below)
        if by is not None and not isinstance(by, str):
            raise InvalidParameter(
                f"by is {by!r}; it must be the name of a column: suppressed(below={by!r})."
            )
        if by is None:
            counts = [c.name for c in self.columns if c.whole and not c.name.endswith(("]", ")"))]
            if len(counts) != 1:
                listed = ", ".join(map(repr, counts)) or "none"
                raise InvalidParameter(
                    f"say by which column rows are suppressed, suppressed('n', below=5): there is not one of counts, "
                    f"but {listed}."
                )
            (by,) = counts
        hidden = _numbers(self[by]) < least

        def blank(column: Column) -> Column:
            if not column.is_number:
                values = column.estimate.copy()
                values[hidden] = None
                return replace(column, estimate=values)
            parts = (
                np.where(hidden, np.nan, x) for x in (column.estimate, column.error, column.low, column.high)
            )
            estimate, error, low, high = parts
            return replace(column, estimate=estimate, error=error, low=low, high=high, optional=True)

        columns = [blank(column) for column in self.columns]
        note = f"{self.note} Not shown where {by} is below {least:g}."
        return Shaped(self.names, self.keys, columns, note, self.alike)

    def wide(self, name: str | None = None, across: str | None = None) -> Sheet:
        """One column with a row for each value of the other keys and a column for each value of `across`.

        name: the only column there is, if left out. across: the last key column, if left out. A combination that is
        not there is shown without numbers.
        """
        if len(self.names) < 2:
            raise InvalidParameter(
                "a table can be made wide if it has at least two key columns; this one has not."
            )
        across = self.names[-1] if across is None else across
        if name is None:
            if len(self.columns) != 1:
                raise InvalidParameter(
                    f"say which column is made wide, wide({self.columns[0].name!r}): there are "
                    f"{', '.join(repr(column.name) for column in self.columns)}."
                )
            name = self.columns[0].name
        if across not in self.names:
            raise UnknownColumn(
                f"there is no key column {across!r}; {nearest(str(across), list(self.names))}."
            )
        place = self.names.index(across)
        column = self[name]
        rest = list(dict.fromkeys(key[:place] + key[place + 1 :] for key in self.keys))
        heads = list(dict.fromkeys(key[place] for key in self.keys))
        at = {key: k for k, key in enumerate(self.keys)}
        columns = []
        for head in heads:
            rows = np.array([at.get((*key[:place], head, *key[place:]), -1) for key in rest])
            columns.append(replace(_taken(column, rows), name=key_text(head)))
        names = self.names[:place] + self.names[place + 1 :]
        return Shaped(names, rest, columns, f"{name} by {across}. {self.note}", True)

    def _rows_at(self, order: Any, what: str) -> Sheet:
        keys = self.keys
        columns = [_taken(column, order) for column in self.columns]
        listed = [keys[k] for k in order]
        return Shaped(self.names, listed, columns, f"{self.note} Shown: {what}.", self.alike)

    def _chosen(self, columns: Iterable[str] | None, otherwise: list[str]) -> list[str]:
        if columns is None:
            return otherwise
        return [self[name].name for name in ([columns] if isinstance(columns, str) else columns)]

    # -- other shapes ---------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, list[Any]]:
        """Columns by name: keys, then for each aggregate its estimate, error, low and high."""
        table: dict[str, list[Any]] = {
            name: [key[k] for key in self.keys] for k, name in enumerate(self.names)
        }
        for column in self.columns:
            table[column.name] = column.plain
            if column.has_interval:
                table[f"{column.name}_error"] = column.error.tolist()
                table[f"{column.name}_low"] = column.low.tolist()
                table[f"{column.name}_high"] = column.high.tolist()
        return table

    def to_pandas(self) -> Any:
        """A pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame(self.to_dict())

    def to_polars(self) -> Any:
        """A Polars DataFrame."""
        import polars as pl

        return pl.DataFrame(self.to_dict())

    def to_arrow(self) -> Any:
        """An Arrow table."""
        return pa.table(self.to_dict())

    def to_parquet(self, path: str | Path) -> None:
        """A Parquet file of the table, as `to_dict` has it."""
        import pyarrow.parquet as pq

        pq.write_table(self.to_arrow(), path)

    def to_csv(self, path: str | Path | None = None, *, for_spreadsheets: bool = False) -> str:
        """The table as CSV text, as `to_dict` has it; also written to a file, if one is named.

        for_spreadsheets: whether a text that one would take for a formula gets an apostrophe before it.
        """
        table = self.to_dict()
        if for_spreadsheets:
            table = {
                no_formula(name): [no_formula(value) if isinstance(value, str) else value for value in values]
                for name, values in table.items()
            }
        lines = io.StringIO()
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(table)
        writer.writerows(
            ["" if value != value else value for value in row] for row in zip(*table.values(), strict=True)
        )
        return _written(lines.getvalue(), path)

    def to_markdown(self, path: str | Path | None = None, *, plain: bool = False) -> str:
        """A Markdown table: estimate [low, high]; also written to a file, if one is named.

        plain: for a spreadsheet, with all that `to_dict` has, in columns of its own: numbers as they are, and names
        without backslashes. A text that would be taken for a formula gets an apostrophe before it.
        """
        return _written(
            _plain_table(self.to_dict()) if checks.flag("plain", plain) else self._markdown(), path
        )

    def _markdown(self) -> str:
        head = [*self.names, *(column.name for column in self.columns)]
        lines = ["| " + " | ".join(map(in_markdown, head)) + " |", "|" + "---|" * len(head)]
        numbers = [*(False for _ in self.names), *(column.is_number for column in self.columns)]
        for row in self._rows():
            cells = (cell if number else in_markdown(cell) for cell, number in zip(row, numbers, strict=True))
            lines.append("| " + " | ".join(cells) + " |")
        return "\n".join(lines)

    def to_html(self, path: str | Path | None = None) -> str:
        """An HTML table with a bar for every estimate and a whisker for its interval; also written to a file, if one
        is named, as a page."""
        head = "".join(
            f"<th>{html.escape(name)}</th>"
            for name in (*self.names, *(column.name for column in self.columns))
        )
        body = []
        scales = _scales(self.columns, self.alike)
        for k, key in enumerate(self.keys):
            cells = [f'<td style="{_KEY}">{html.escape(key_text(part))}</td>' for part in key]
            cells += [_cell(column, k, scale) for column, scale in zip(self.columns, scales, strict=True)]
            body.append("<tr>" + "".join(cells) + "</tr>")
        note = html.escape(self.note)
        made = (
            f'<table class="dalenius" style="{_TABLE}"><thead><tr>{head}</tr></thead>'
            f'<tbody>{"".join(body)}</tbody></table><p style="{_NOTE}">{note}</p>'
        )
        _written(f"<!doctype html><meta charset=utf-8>{made}", path)
        return made

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return self.to_html()

    def __str__(self) -> str:
        head = [*self.names, *(column.name for column in self.columns)]
        rows = [head, *self._rows(MOST_SHOWN)]
        lines = _beside(rows, len(self.names), _room())
        if len(self) > MOST_SHOWN:
            lines.append(f"... and {len(self) - MOST_SHOWN} more groups")
        return "\n".join([*lines, self.note])

    def _rows(self, most: int | None = None) -> list[list[str]]:
        return [
            [*map(key_text, key), *(_text(column, k) for column in self.columns)]
            for k, key in enumerate(self.keys[:most])
        ]

    def plot(self, *columns: str, path: str | Path | None = None) -> Figure:
        """A picture of the columns named (all numbers, if none is): a bar for each row, and its interval.

        Needs the `plot` extra.
        """
        from dalenius.tables.release.picture import draw

        return draw(self, self._chosen(columns or None, [c.name for c in self.columns if c.is_number]), path)


@dataclass(frozen=True, eq=False)
class Shaped(Sheet):
    """A table made of an answer."""

    _names: tuple[str, ...]
    _keys: list[tuple[Any, ...]]
    _columns: list[Column]
    _note: str
    _alike: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return self._names

    @property
    def keys(self) -> list[tuple[Any, ...]]:
        return self._keys

    @property
    def columns(self) -> list[Column]:
        return self._columns

    @property
    def note(self) -> str:
        return self._note

    @property
    def alike(self) -> bool:
        return self._alike

    def __repr__(self) -> str:
        return f"<{len(self.keys)} rows, {len(self.columns)} columns>"

    def __getattr__(self, name: str) -> NoReturn:
        if name not in OF_ANSWERS:
            raise AttributeError(f"a table has no {name!r}.")
        raise NotAnAnswer(
            f"this table was made of an answer, and {name} needs the answer itself, with its noise: do that first, as "
            f"in answer.{name}(...).rounded(5)."
        )


class NotAnAnswer(InvalidParameter, AttributeError):
    """What answers can do, and tables made of them cannot."""


OF_ANSWERS = ("agreeing_with", "at", "bins", "cells", "consistent", "margin", "ratio", "shares")


def _written(text: str, path: str | Path | None) -> str:
    """The text, which is also written to the file."""
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


def _room() -> int | None:
    """How wide a line may be: as the terminal is that somebody looks at, and anything elsewhere."""
    return shutil.get_terminal_size().columns if sys.stdout is not None and sys.stdout.isatty() else None


def _beside(rows: list[list[str]], keys: int, room: int | None) -> list[str]:
    """Columns beside each other under their heads; those that there is no room for below, beside the keys again."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    groups: list[list[int]] = [[]]
    for k in range(keys, len(widths)):
        taken = sum(widths[i] + 2 for i in (*range(keys), *groups[-1]))
        if room is not None and groups[-1] and taken + widths[k] > room:
            groups.append([])
        groups[-1].append(k)
    lines: list[str] = []
    for group in groups:
        chosen = [*range(keys), *group]
        block = ["  ".join(row[k].ljust(widths[k]) for k in chosen).rstrip() for row in rows]
        block.insert(1, "  ".join("-" * widths[k] for k in chosen))
        lines += ["", *block] if lines else block
    return lines


def _plain_table(table: dict[str, list[Any]]) -> str:
    def cell(value: Any) -> str:
        if value is None or value != value:
            return ""
        return (
            no_formula(printable(" ".join(str(value).split())).replace("|", "/"))
            if isinstance(value, str)
            else str(value)
        )

    rows = [[*map(cell, table)], ["---"] * len(table)]
    rows += [[*map(cell, row)] for row in zip(*table.values(), strict=True)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _numbers(column: Column) -> Reals:
    if not column.is_number:
        raise InvalidParameter(f"column {column.name!r} holds categories; name a column of numbers.")
    return np.where(np.isnan(column.estimate), -np.inf, column.estimate)


def _taken(column: Column, rows: Any) -> Column:
    """The column at these rows; without a number at -1."""
    lacking = rows < 0

    def at(values: Any) -> Any:
        found = values[rows]
        return np.where(lacking, np.nan, found) if found.dtype != object else np.where(lacking, None, found)

    parts = {part: at(getattr(column, part)) for part in ("estimate", "error", "low", "high")}
    return replace(column, **parts, optional=column.optional or bool(lacking.any()))


def _number(value: float, error: float) -> str:
    """Digits down to a tenth of the standard error."""
    if math.isnan(value):
        return "-"
    if not 0 < error < math.inf:
        return f"{value:,.6g}"
    places = max(0, min(12, 1 - math.floor(math.log10(error))))
    return f"{value:,.{places}f}"


def _text(column: Column, k: int) -> str:
    if not column.is_number:
        return key_text(column.estimate[k])
    if math.isnan(column.estimate[k]):
        return "-"
    error = float(column.error[k])
    if column.whole:
        low, high = math.floor(column.low[k]), math.ceil(column.high[k])
        return f"{column.estimate[k]:,.0f} [{low:,}, {high:,}]"
    if math.isnan(column.low[k]):
        return _number(float(column.estimate[k]), 0.0)
    ends = (_number(float(x), error) for x in (column.estimate[k], column.low[k], column.high[k]))
    return "{} [{}, {}]".format(*ends)


def _scales(columns: list[Column], alike: bool) -> list[tuple[float, float]]:
    """Between which numbers the bars of each column are drawn; the same for all where the columns are alike."""
    if alike:
        return [_scale(columns)] * len(columns)
    return [_scale([column]) for column in columns]


def _scale(columns: list[Column]) -> tuple[float, float]:
    parts = [x for column in columns if column.is_number for x in (column.estimate, column.low, column.high)]
    ends = np.concatenate([np.zeros(0), *parts])
    ends = ends[np.isfinite(ends)]
    low, high = (float(ends.min()), float(ends.max())) if len(ends) else (0.0, 1.0)
    low, high = min(low, 0.0), max(high, 0.0)  # bars begin at zero
    return low, high if high > low else low + 1.0


def _cell(column: Column, k: int, scale: tuple[float, float]) -> str:
    if not column.is_number:
        return f'<td style="padding:2px 10px">{html.escape(_text(column, k))}</td>'
    low, high = scale

    def at(x: float) -> float:
        return 100 * min(max((x - low) / (high - low), 0.0), 1.0) if math.isfinite(x) else 0.0

    bar, left, right = at(column.estimate[k]), at(column.low[k]), at(column.high[k])
    width = max(right - left, 0.5)
    picture = (
        '<div style="position:relative;height:8px;width:120px;margin-left:auto;background:rgba(128,140,160,.2)">'
        f'<div style="position:absolute;height:8px;width:{bar:.1f}%;background:#7aa6c2"></div>'
        f'<div style="position:absolute;top:3px;height:2px;left:{left:.1f}%;width:{width:.1f}%;'
        'background:currentColor"></div></div>'
    )
    return f'<td style="{_NUMBER}">{html.escape(_text(column, k))}{picture}</td>'


_NUMBER = "text-align:right;padding:2px 10px;white-space:nowrap"
_KEY = "padding:2px 10px 2px 0"
_TABLE = "border-collapse:collapse;font:13px/1.4 system-ui,sans-serif"
_NOTE = "font:12px system-ui,sans-serif;opacity:.75"
