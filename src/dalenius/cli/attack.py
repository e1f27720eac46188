"""`dalenius attack reconstruct`: what published tables of counts give away today."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from dalenius.cli import show
from dalenius.cli.commands import command
from dalenius.cli.forms import Form
from dalenius.errors import InvalidParameter

if TYPE_CHECKING:
    from dalenius.audit.attacks import PublishedCounts

SHOWN = 10
"""Rows that are alone of their kind, at most, that are printed."""

app = typer.Typer(
    help="What an attacker makes of what was published.", rich_markup_mode=None, no_args_is_help=True
)


@app.callback()
def _top() -> None:
    """Options that belong to no attack."""


@command(app)
def reconstruct(
    form: Form,
    tables: list[Path] = typer.Argument(
        metavar="TABLE...", help="Tables of counts by groups, of the same rows: CSV or Markdown."
    ),
    count: str | None = typer.Option(
        None, metavar="COLUMN", help="The column that holds the counts. [default: count, n, people, ...]"
    ),
    across: str | None = typer.Option(
        None, metavar="NAME", help="Counts stand in several columns, whose names are values of this."
    ),
    rounded_to: int = typer.Option(
        1, metavar="BASE", help="Counts were rounded to multiples of this.", min=1
    ),
    random_rounding: bool = typer.Option(
        False, "--random-rounding", help="They were rounded up or down at random, not to the nearest."
    ),
    hidden_below: int | None = typer.Option(
        None, metavar="K", help="Hidden counts (*, -, blank) are below this.", min=1
    ),
    missing: str = typer.Option(
        "zero", metavar="zero|unknown", help="What a group that is not in a table has."
    ),
    certainty: float = typer.Option(
        0.75, help="How sure anybody may become that a row is there, unsure before."
    ),
    seconds: float = typer.Option(60.0, help="How long to search at most."),
    plot: Path | None = typer.Option(None, metavar="FILE", help="Draw it: .png, .svg or .pdf."),
) -> None:
    """How many rows could be rebuilt from tables that are published, and what budget would have stopped it.

    Every combination of the values of all columns occurs some number of times, and each published count is a
    sum of such numbers. What they must be is found by integer programming. Rows called "total" or "all" are totals.

    \b
    Example:
      dalenius attack reconstruct by-age.csv by-illness.csv --hidden-below 5

    \b
    JSON keys:
      columns, tables, settled (false: time ran out, more may be known)
      rows: {at_least, at_most}
      combinations: that can occur; exact: of known count; unique: one row
      rebuilt: rows known for certain; share: of all rows, at least
      records: list of {values: {column: value}, at_least, at_most}
      budget: {certainty, epsilon, pure_noise, mu, gaussian_noise}
    """
    from dalenius.audit.attacks.published_counts import published_counts
    from dalenius.cli.main import PICTURES
    from dalenius.cli.published import Reading, read_table

    if missing not in ("zero", "unknown"):
        raise InvalidParameter(f'--missing is "{missing}"; it must be zero or unknown.')
    if plot is not None and plot.suffix.lower() not in PICTURES:
        raise InvalidParameter(f"--plot is {plot}; its name must end in {', '.join(PICTURES)}.")
    how = Reading(count, across, rounded_to, random_rounding, hidden_below, missing)
    read = [read_table(path, how) for path in tables]
    with show.working("searching"):
        found = published_counts(read, seconds)
    if form.as_json:
        _print_json(found, certainty)
    elif form.is_table:
        cells = zip(found.cells, found.low.tolist(), found.high.tolist(), strict=True)
        rows = [(*cell, _whole(low), _whole(high)) for cell, low, high in cells if low > 0]
        form.print((*found.columns, "at_least", "at_most"), rows)
        form.aside(found.explain(certainty))
    else:
        show.say(found.explain(certainty))
        _print_alone(found)
    if plot is not None:
        try:
            found.plot(str(plot))
        except OSError as problem:
            raise InvalidParameter(f"{plot} cannot be written ({problem.strerror}).") from None


def _print_json(found: PublishedCounts, certainty: float) -> None:
    budget = found.budget(certainty)
    cells = zip(found.cells, found.low.tolist(), found.high.tolist(), strict=True)
    show.print_json(
        {
            "columns": found.columns,
            "tables": found.tables,
            "settled": found.settled,
            "rows": {"at_least": _whole(found.rows[0]), "at_most": _whole(found.rows[1])},
            "combinations": len(found.cells),
            "exact": found.exact,
            "unique": found.unique,
            "rebuilt": found.rebuilt,
            "share": found.share,
            "records": [
                {
                    "values": dict(zip(found.columns, cell, strict=True)),
                    "at_least": _whole(low),
                    "at_most": _whole(high),
                }
                for cell, low, high in cells
                if low > 0
            ],
            "budget": {
                "certainty": certainty,
                "epsilon": budget.epsilon,
                "pure_noise": budget.pure_noise,
                "mu": budget.mu,
                "gaussian_noise": budget.gaussian_noise,
            },
        }
    )


def _whole(count: float) -> float:
    """A count as JSON has it: a whole number, or infinity where nothing bounds it."""
    return int(count) if math.isfinite(count) else count


def _print_alone(found: PublishedCounts) -> None:
    """Some of those who are alone of their kind, as anybody could find them."""
    alone = [
        cell
        for cell, low, high in zip(found.cells, found.low, found.high, strict=True)
        if low == 1 and high == 1
    ]
    if alone:
        show.say(f"\nAlone of their kind{f' (the first {SHOWN})' if len(alone) > SHOWN else ''}:")
        show.table(found.columns, alone[:SHOWN])
