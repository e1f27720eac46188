"""What goes wrong, as people are told: RFC 9457's problem, with the fix.

The words are those of our own exceptions, which are made of public facts. Of anything else nothing is told but a
number, under which the log has the exception's type and its place in the code: never its message, which may quote data.
"""

from __future__ import annotations

import secrets
import traceback
from pathlib import Path
from typing import Any

from fastapi import HTTPException
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException as StarletteHTTPException

from dalenius.errors import (
    BudgetExceeded,
    DaleniusError,
    EngineFailed,
    FunctionFailed,
    InvalidParameter,
    LedgerDamaged,
    LedgerError,
    QueryRefused,
    Refused,
    SourceError,
)
from dalenius.web.store.store import StoreUnusable

MEDIA_TYPE = "application/problem+json"

KINDS: tuple[tuple[type[DaleniusError], str, int, str, str], ...] = (
    (
        BudgetExceeded,
        "budget-exceeded",
        409,
        "Not enough is left of the budget",
        "Ask for less, or see the steward.",
    ),
    (
        LedgerDamaged,
        "ledger-damaged",
        503,
        "The ledger is not what was written",
        "Tell the steward; nothing is released.",
    ),
    (
        LedgerError,
        "ledger",
        503,
        "The ledger could not be used",
        "Try again; if it stays so, tell the steward.",
    ),
    (StoreUnusable, "store", 503, "The console's record could not be used", "Try again in a moment."),
    (
        EngineFailed,
        "engine-failed",
        500,
        "The engine could not answer",
        "Tell the steward; what was charged stays charged.",
    ),
    (FunctionFailed, "function-failed", 500, "A function failed on the data", "Tell the steward."),
    (SourceError, "source", 422, "The data cannot be opened", "Tell the steward."),
    (
        QueryRefused,
        "question-refused",
        422,
        "This question cannot be asked",
        "Change the question as the message says.",
    ),
    (InvalidParameter, "invalid", 422, "A value is not allowed", "Change the value as the message says."),
    (Refused, "refused", 422, "Refused", "Change what was asked for as the message says."),
    (DaleniusError, "failed", 500, "It could not be done", "Tell the steward."),
)
"""Which problem each of our errors is, the special ones first."""

WITHHELD: tuple[tuple[type[DaleniusError], str], ...] = (
    (LedgerDamaged, "the ledger is not what was written. Nothing is released until it is put right."),
    (LedgerError, "the ledger could not be used, and nothing was released. The console's log says why."),
    (StoreUnusable, "the console's own record could not be used. The console's log says why."),
)
"""What is told of errors whose own words say where ledger and store are: that is for the log."""

STATUSES = {
    400: ("bad-request", "The request cannot be read", "Send what the documentation of the API says."),
    401: (
        "sign-in-needed",
        "Nobody is signed in",
        "Sign in, or send a token that works: Authorization: Bearer ...",
    ),
    403: ("not-allowed", "This is not for your role", "Sign in as somebody who may, or ask a steward."),
    404: ("not-found", "There is nothing here", "Check the address, or that it was granted to you."),
    405: (
        "method",
        "This cannot be done here",
        "Use one of the methods that the documentation of the API lists.",
    ),
    408: ("too-slow", "The request took too long to arrive", "Try again on a better line."),
    409: ("conflict", "It was changed meanwhile", "Load it again."),
    413: ("too-large", "The request is too large", "Send less at once."),
    415: ("media-type", "This form of request is not understood", "Send JSON, or the form of the page."),
    421: (
        "wrong-host",
        "The console is not known by this name",
        "Use the address that the steward gave you.",
    ),
    422: ("invalid", "A value is not allowed", "Change the value as the message says."),
    429: ("too-many", "Too many requests", "Wait a minute."),
    431: ("head-too-large", "The headers of the request are too large", "Send fewer and shorter ones."),
}
FAILED = ("unexpected", "Something failed", "Tell the steward the number; the log has it.")


class ProblemShown(BaseModel):
    """RFC 9457's problem document."""

    type: str = Field(
        description="Which problem it is: urn:dalenius:problem:NAME.",
        examples=["urn:dalenius:problem:invalid"],
    )
    title: str = Field(description="The problem in a few words.")
    status: int = Field(description="The HTTP status.")
    detail: str = Field(description="What went wrong here; public facts only.")
    fix: str = Field(description="What to do about it.")
    parameter: str | None = Field(None, description="The name of the value that is to blame, where one is.")
    fields: dict[str, str] | None = Field(None, description="What is wrong, by field, where several may be.")


class Problem(HTTPException):
    """Something to be told, with its HTTP status. Raise it anywhere in a request.

    Examples
    --------
    >>> Problem(404, "there is no data set 'pay'.").document()["title"]
    'There is nothing here'
    """

    def __init__(
        self,
        status: int,
        detail: str = "",
        *,
        kind: str | None = None,
        title: str | None = None,
        fix: str | None = None,
        parameter: str | None = None,
        headers: dict[str, str] | None = None,
        **more: Any,
    ) -> None:
        usual = STATUSES.get(status, FAILED)
        self.kind, self.title, self.fix = kind or usual[0], title or usual[1], fix or usual[2]
        self.parameter, self.more = parameter, more
        super().__init__(status, detail or f"{self.title}.", headers)

    def document(self) -> dict[str, Any]:
        """As JSON says it."""
        named = {} if self.parameter is None else {"parameter": self.parameter}
        return {
            "type": f"urn:dalenius:problem:{self.kind}",
            "title": self.title,
            "status": self.status_code,
            "detail": self.detail,
            "fix": self.fix,
            **named,
            **self.more,
        }


def problem_of(error: Exception) -> tuple[Problem, str | None]:
    """What is told of an exception, and the line for the log where that is to have more."""
    if isinstance(error, Problem):
        return error, None
    if hasattr(error, "problem"):  # an error of a room that knows what is to be told of it
        return error.problem(), None
    if isinstance(error, DaleniusError):
        _, kind, status, title, fix = next(each for each in KINDS if isinstance(error, each[0]))
        more: dict[str, Any] = {}
        if isinstance(error, BudgetExceeded):
            more = {
                name: str(value) for name in ("asked", "left") if (value := getattr(error, name)) is not None
            }
        if isinstance(fields := getattr(error, "fields", None), dict):  # everything that is wrong with a form
            more["fields"] = fields
        blamed, said = getattr(error, "parameter", None), words_of(error)
        line = None if said == str(error) else f"{kind}: {error}"
        return Problem(status, said, kind=kind, title=title, fix=fix, parameter=blamed, **more), line
    if isinstance(error, RequestValidationError):
        return Problem(422, _sentence(error), parameter=_where(error.errors()[0])), None
    if isinstance(error, StarletteHTTPException):
        status = error.status_code
        return Problem(status, headers=dict(error.headers or {})), None
    number = secrets.token_hex(4)
    title = FAILED[1]
    return (
        Problem(500, f"{title}; number {number} in the log."),
        f"unexpected number={number} type={type(error).__name__} at={_place(error)}",
    )


def words_of(error: DaleniusError) -> str:
    """What an error of ours says, to whoever it may concern: of where ledger and store are, nothing."""
    return next((words for kind, words in WITHHELD if isinstance(error, kind)), str(error))


def _where(error: dict[str, Any]) -> str:
    """The path to the value: from its place (query, path, body) on."""
    if error.get("type") == "json_invalid":  # its place is a number of characters
        return "the request"
    parts = [str(part) for part in error.get("loc", ()) if part not in ("body", "query", "path", "header")]
    return ".".join(parts)[:100] or "the request"


def _sentence(error: RequestValidationError) -> str:
    """What is wrong with which value. What was given is not repeated."""
    if any(each.get("type") == "json_invalid" for each in error.errors()):
        return "the request is not JSON."
    said = [f"{_where(each)}: {each.get('msg', 'not allowed')}" for each in error.errors()[:5]]
    return "; ".join(said) + "."


def _place(error: Exception) -> str:
    """File and line of the innermost code of ours that the exception passed through."""
    root = str(Path(__file__).resolve().parents[1])
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if frame.filename.startswith(root)] or frames
    return f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else "?"
