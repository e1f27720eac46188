"""What every command has: its exit codes, its --json, and bad input that ends with one clear message."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from dalenius.calculus.errors import InvalidParameter
from dalenius.cli.show import harmless

UNEXPECTED, BAD_INPUT = 1, 2

EXIT_CODES = """\b
Exit codes:
  0  done
  1  something unexpected went wrong (please report it)
  2  the input was refused; one message on stderr says why"""

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object with full precision.")]


@contextmanager
def clear_errors() -> Iterator[None]:
    """Bad input ends with one message and exit code 2, never with a traceback."""
    try:
        yield
    except InvalidParameter as problem:
        message = str(problem)
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
    raise typer.Exit(BAD_INPUT)
