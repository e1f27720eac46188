"""What a console says went wrong, as the exceptions that a session raises."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dalenius import errors
from dalenius.errors import ConsoleError, DaleniusError

PREFIX = "urn:dalenius:problem:"

CLASSES: Mapping[str, type[DaleniusError]] = {
    "budget-exceeded": errors.BudgetExceeded,
    "ledger-damaged": errors.LedgerDamaged,
    "ledger": errors.LedgerError,
    "engine-failed": errors.EngineFailed,
    "function-failed": errors.FunctionFailed,
    "source": errors.SourceError,
    "question-refused": errors.QueryRefused,
    "invalid": errors.InvalidParameter,
    "refused": errors.Refused,
}
"""By the name of the problem."""


def plain(text: str) -> str:
    """What a console said, for a terminal: what would move its cursor or change its title is shown as ?.

    >>> plain("it is \\x1b[2Jgone")
    'it is ?[2Jgone'
    """
    return "".join(sign if sign.isprintable() or sign == "\n" else "?" for sign in text)


def error_of(status: int, document: Any) -> DaleniusError:
    """The exception for a problem document; one of its own for what only a console has: a token that does not work."""
    if not isinstance(document, Mapping) or not isinstance(document.get("detail"), str):
        return ConsoleError(
            f"the console answered with the status {status} and nothing that says why; check that the address is that "
            "of a dalenius console."
        )
    detail, kind = plain(document["detail"]), str(document.get("type", "")).removeprefix(PREFIX)
    if kind in CLASSES:
        error = CLASSES[kind](detail)
        if isinstance(error, errors.InvalidParameter) and isinstance(document.get("parameter"), str):
            error.parameter = document["parameter"]
        return error
    fix = document.get("fix")
    title = plain(str(document.get("title", "")))
    said = detail if detail.rstrip(".") == title else f"{title}: {detail}"
    return ConsoleError(f"{said} {plain(fix)}" if isinstance(fix, str) else said)


def not_here(what: str, way: str) -> errors.InvalidParameter:
    """What an analyst cannot have from a console, and the way to it."""
    return errors.InvalidParameter(f"{what} cannot be had through a console: {way}.")
