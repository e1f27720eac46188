"""What every command has: its exit codes, its --json, and bad input that ends with one clear message."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from dalenius.cli.show import harmless
from dalenius.errors import BudgetExceeded, DaleniusError, EngineFailed, LedgerDamaged, LedgerError

UNEXPECTED, REFUSED, DAMAGED, OVERSPENT, NO_LEDGER, FAILED = 1, 2, 3, 4, 5, 6

CODES: tuple[tuple[type[DaleniusError], int], ...] = (
    (LedgerDamaged, DAMAGED),
    (LedgerError, NO_LEDGER),
    (BudgetExceeded, OVERSPENT),
    (EngineFailed, FAILED),
)
"""Every other error is a refusal."""

EXIT_CODES = """\b
Exit codes:
  0  done
  1  something unexpected went wrong (please report it)
  2  the input was refused; one message on stderr says why
  3  the ledger is damaged: it is not what was written
  4  not enough is left of the budget; nothing was charged
  5  the ledger could not be used; nothing was released
  6  the engine could not answer; the question was charged"""

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object with full precision.")]


@contextmanager
def clear_errors() -> Iterator[None]:
    """What goes wrong ends with one message and the exit code of its kind, never with a traceback."""
    code = REFUSED
    try:
        yield
    except DaleniusError as problem:
        message = str(problem)
        code = next((code for kind, code in CODES if isinstance(problem, kind)), REFUSED)
    except ImportError as problem:
        # The calculus raises a nameless one, with the fix in it, for an extra that is not installed.
        if problem.name is not None:
            raise
        message = str(problem)
    except (OverflowError, MemoryError, RecursionError):
        message = (
            "the numbers of this expression are too extreme to compute with; use larger or smaller units."
        )
    else:
        return
    typer.echo(f"Error: {harmless(message)}", err=True)
    raise typer.Exit(code)
