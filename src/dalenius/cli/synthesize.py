"""`dalenius synthesize`: a synthetic table in a file, paid from a ledger."""

from __future__ import annotations

from pathlib import Path

import typer

from dalenius.cli.commands import command
from dalenius.cli.forms import Form
from dalenius.cli.promises import read_promise
from dalenius.cli.show import print_json, working
from dalenius.cli.tables import BUDGET, Opened, names
from dalenius.errors import InvalidParameter


def synthesize(
    opened: Opened,
    form: Form,
    columns: str = typer.Option(metavar="COLUMNS", help="Columns, separated by commas; the schema says how."),
    out: Path = typer.Option(
        metavar="FILE", help="Where to write: a .parquet or .csv file that is not there."
    ),
    budget: str | None = BUDGET,
    rows: int | None = typer.Option(
        None, help="How many rows to make. [default: about as many as the data, 1000000 at most]"
    ),
    bins: int = typer.Option(32, help="Of each numeric column."),
    private_bins: str | None = typer.Option(
        None, metavar="COLUMNS", help="Columns whose bins are found privately, for a tenth of the price."
    ),
    marginals: int = typer.Option(2, help="All sets of this many columns are to be accurate."),
    where: str | None = typer.Option(None, metavar="CONDITION", help="Only rows that satisfy this."),
) -> None:
    """Made-up rows whose marginals are close to those of the data.

    Bounds and categories of the columns come from the schema. The same command at the same price is answered
    from the ledger for nothing, whatever number of rows it asks for.

    \b
    JSON keys: file, rows, columns, error, cost, free, given, remaining. CSV and Markdown have the errors: for each set
    of columns, which share of the rows its counts are off at most.
    """
    _check(out)
    session = opened.session(budget)
    table = session.table if where is None else session.table.filter(where)
    with working(f"Synthesizing {opened.data}"):
        made = session.synthesize(
            names(columns),
            None if budget is None else read_promise(budget),
            rows=rows,
            bins=bins,
            private_bins=names(private_bins or ""),
            marginals=marginals,
            table=table,
        )
    try:
        (made.to_csv if out.suffix == ".csv" else made.to_parquet)(out)
    except OSError as problem:
        raise InvalidParameter(
            f"{out} could not be written ({problem.strerror}). The answer is in the ledger: the same command again "
            "costs nothing."
        ) from None
    on_record = f"From the ledger, given {made.given}, at no cost now. " if made.free else ""
    left = f"{on_record}Left: {session.left_in_words()}"
    if form.is_table:
        form.print(("columns", "at_most"), [(", ".join(of), error) for of, error in made.error.items()])
        form.aside(f"Written: {out}, {made.rows} rows. {left}")
        return
    if form.as_json:
        content = {
            "file": str(out),
            "rows": made.rows,
            "columns": list(made.columns),
            "error": [{"columns": list(names), "at_most": error} for names, error in made.error.items()],
            "cost": made.cost,
            "free": made.free,
            "given": made.given,
            "remaining": repr(session.remaining),
        }
        print_json(content, indent=None)
        return
    print(f"{made.summary()}\nWritten: {out}\n{left}")


def _check(out: Path) -> None:
    """Say before anything is paid that the file cannot be written."""
    if out.suffix not in (".parquet", ".csv"):
        raise InvalidParameter(f"--out is {str(out)!r}; it must end in .parquet or .csv.")
    if out.exists():
        raise InvalidParameter(f"{out} is there already, and is not written over; name another file.")
    if not out.absolute().parent.is_dir():
        raise InvalidParameter(f"{out} cannot be written: its folder is not there; name another file.")


def add_to(app: typer.Typer) -> None:
    """Put the command into the program."""
    command(app)(synthesize)
