"""What every command has: its exit codes, its --json, bad input that ends with one clear message, shared options."""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints

import typer

from dalenius.cli.show import harmless
from dalenius.errors import (
    BudgetExceeded,
    DaleniusError,
    EngineFailed,
    LedgerDamaged,
    LedgerError,
    NotALedger,
)

UNEXPECTED, REFUSED, DAMAGED, OVERSPENT, NO_LEDGER, FAILED, BROKEN = 1, 2, 3, 4, 5, 6, 7

CODES: tuple[tuple[type[DaleniusError], int], ...] = (
    (LedgerDamaged, DAMAGED),
    (NotALedger, REFUSED),
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
  6  the engine could not answer; the question was charged
  7  a promise that was asked about is not shown to be kept"""

AS_JSON = typer.Option(False, "--json", help="Print one JSON object with full precision.")

Command = Callable[..., None]


def command(app: typer.Typer, **settings: Any) -> Callable[[Command], Command]:
    """Put a function into a program, as typer reads it.

    A parameter that is a dataclass of options becomes its fields, and what goes wrong inside ends with one message and
    an exit code.
    """

    def add(function: Command) -> Command:
        app.command(**{"epilog": EXIT_CODES, **settings})(_with_shared_options(function))
        return function

    return add


def _with_shared_options(function: Command) -> Command:
    hints = get_type_hints(function)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    options: dict[str, tuple[Any, Any]] = {}  # the type and the description of each
    for name, parameter in inspect.signature(function).parameters.items():
        if name in groups:
            types = get_type_hints(groups[name])
            options |= {field.name: (types[field.name], field.default) for field in fields(groups[name])}
        else:
            options[name] = (hints[name], parameter.default)

    @functools.wraps(function)
    def run(**given: Any) -> None:
        with clear_errors():
            for name, group in groups.items():
                given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
            function(**given)

    # Typer reads both.
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=option, annotation=type)
            for name, (type, option) in options.items()
        ]
    )
    run.__annotations__ = {name: type for name, (type, _) in options.items()}
    return run


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
    typer.echo(f"{_red('Error:')} {harmless(message)}", err=True)
    raise typer.Exit(code)


def _red(word: str) -> str:
    """In colour where a person reads it on a terminal that has colours, and has not said NO_COLOR (no-color.org)."""
    coloured = sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return typer.style(word, fg="red", bold=True) if coloured else word
