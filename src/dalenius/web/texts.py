"""Texts and numbers that come in from outside: what cannot be kept by every store, or shown on every page, is
refused at the door.

JSON can spell half a character ("\\ud800", a lone surrogate), which no encoding has: it can be read, and neither kept
in PostgreSQL nor sent to a browser. PostgreSQL does not keep the character 0, and a terminal obeys other control
characters. A text with one of these would be saved by one store, break another, and break every page that shows it.

So does a number that is not finite: Python reads Infinity, NaN and 1e999, and JSON has none of them; nor is a whole
number of 400 digits one that can be computed with.
"""

from __future__ import annotations

import sys
import unicodedata
from typing import Any

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.datastructures import FormData, UploadFile

from dalenius.errors import InvalidParameter

LINES = "\t\n\r"
"""Controls that several lines of text may have."""
TURNS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""They turn the direction of what follows, beyond the end of the text that has them."""
NEVER = frozenset({"Cc", "Cs"})
"""Control characters, and halves of characters."""
MOST_MEMBERS = 10_000
"""Of an object in a request: each word that is not known there is a complaint of its own, and costs memory."""
DEEPEST = 100
"""Levels of lists and objects within each other: what is deeper breaks whoever reads it level by level."""
MOST_FIELDS = 10_000
"""Of a form: that of a wide table's facts has six a column."""
NOT_IN_A_LINE = NEVER | {"Zl", "Zp"}


def is_a_line(text: str) -> bool:
    """Whether a text can be shown in one line, as it is: a value of a column, say, which may have any spaces.

    >>> is_a_line("São Paulo"), is_a_line("a\\nb"), is_a_line("\\ud800")
    (True, False, False)
    """
    return all(unicodedata.category(sign) not in NOT_IN_A_LINE and sign not in TURNS for sign in text)


def can_be_kept(text: str) -> bool:
    """Whether a text, of one line or of several, can be written down and shown at all."""
    return text.isprintable() or all(
        sign in LINES or unicodedata.category(sign) not in NEVER for sign in text
    )


async def form_of(request: Request) -> FormData:
    """The form of a request, which has more fields than Starlette reads by itself. Nobody reads one in another way:
    what cannot be kept is refused here, also by pages whose fields FastAPI does not know."""
    form = await request.form(max_fields=MOST_FIELDS)
    check(form)
    return form


async def checked(request: Request) -> None:
    """Refuse a request one of whose texts or numbers cannot be kept, the names of its fields included.

    It stands before every route that reads a body, which FastAPI has read by then.
    """
    route = request.scope.get("route")
    if not isinstance(route, APIRoute) or route.body_field is None:
        return
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind in ("application/x-www-form-urlencoded", "multipart/form-data"):
        await form_of(request)
    elif await request.body():
        try:
            content = await request.json()
        except (
            ValueError,
            RecursionError,
        ):  # nothing is read of it: FastAPI refuses it, as what it is no form of
            return
        check(content)


def check(content: Any) -> None:
    """Refuse a form, or what was read as JSON, one of whose texts or numbers cannot be kept."""
    if not _all_kept(content):
        raise InvalidParameter(
            "a text of the request holds a control character or half a character (a lone surrogate); leave it out."
        )


def _all_kept(content: Any) -> bool:
    level, deep = [content], 0
    while level:  # no recursion: a request may be as deep as it likes
        if deep > DEEPEST:
            raise InvalidParameter(
                f"the request has more than {DEEPEST} lists and objects within each other."
            )
        rest, level, deep = level, [], deep + 1
        for value in rest:
            if isinstance(value, str):
                if not can_be_kept(value):
                    return False
            elif isinstance(value, int | float):
                if not abs(value) <= sys.float_info.max:
                    raise InvalidParameter(
                        "a number of the request is not finite: Infinity, NaN and numbers like 1e999 cannot be kept."
                    )
            elif isinstance(value, FormData):
                level += [
                    part for pair in value.multi_items() for part in pair if not isinstance(part, UploadFile)
                ]
            elif isinstance(value, dict):
                if len(value) > MOST_MEMBERS:
                    raise InvalidParameter(f"an object of the request has more than {MOST_MEMBERS} members.")
                level += [part for pair in value.items() for part in pair]
            elif isinstance(value, list):
                level += value
    return True
