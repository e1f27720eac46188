"""The forms a table is printed in: for people, or as JSON, CSV or Markdown for what comes after."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import typer

from dalenius.cli.commands import AS_JSON
from dalenius.cli.show import harmless
from dalenius.errors import InvalidParameter


@dataclass(frozen=True, kw_only=True)
class Form:
    """How a table is printed: the options of every command that prints one."""

    as_json: bool = AS_JSON
    as_csv: bool = typer.Option(False, "--csv", help="Print lines of CSV with full precision.")
    as_markdown: bool = typer.Option(False, "--markdown", help="Print a Markdown table.")

    def __post_init__(self) -> None:
        if self.as_json + self.as_csv + self.as_markdown > 1:
            raise InvalidParameter("--json, --csv and --markdown are three ways to print it; choose one.")

    @property
    def is_table(self) -> bool:
        """Whether nothing but a table goes to standard output; what else is to be said goes to standard error."""
        return self.as_csv or self.as_markdown

    def print(self, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """The table, as CSV or Markdown."""
        if self.as_csv:
            lines = csv.writer(sys.stdout, lineterminator="\n")
            lines.writerows([[_cell(value) for value in row] for row in (header, *rows)])
            return
        cells = [
            [_cell(value).replace("|", "\\|").replace("\n", " ") for value in row] for row in (header, *rows)
        ]
        cells.insert(1, ["---"] * len(header))
        print("\n".join("| " + " | ".join(row) + " |" for row in cells))

    def aside(self, text: str) -> None:
        """What belongs to a table and is none of its rows."""
        typer.echo(harmless(text), err=True)


def _cell(value: Any) -> str:
    if value is None or value != value:  # NaN
        return ""
    return harmless("true" if value is True else "false" if value is False else str(value))
