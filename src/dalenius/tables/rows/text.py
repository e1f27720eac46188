"""Text in expressions: its length, its letters, its ends and its parts; see `spelling` for what they mean."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dalenius.errors import QueryRefused
from dalenius.tables.rows.spelling import LARGE, SMALL, Ends, Spelling
from dalenius.tables.rows.terms import Term

LONGEST = 2**27
"""No place in a text that is asked for lies farther."""

LENGTH = 31
"""Bits of the length of a text: no engine holds one of 2^31 bytes."""


def length(x: Term, spelling: Spelling) -> Term:
    return Term(
        spelling.characters(x.value),
        "integer",
        x.nullable,
        x.undeclared,
        top=LENGTH,
        bottom=0,
        whole=True,
        size=x.size,
    )


def lower(x: Term, spelling: Spelling) -> Term:
    return replace(x, value=spelling.cased(x.value, LARGE, SMALL))


def upper(x: Term, spelling: Spelling) -> Term:
    return replace(x, value=spelling.cased(x.value, SMALL, LARGE))


def trimmed(x: Term, ends: Ends, spelling: Spelling) -> Term:
    return replace(x, value=spelling.trimmed(x.value, ends))


def cut(x: Term, start: Any, size: Any, spelling: Spelling) -> Term:
    """SUBSTRING(x, start, size). Engines differ in what comes before the first character, and fail for a size below 0:
    both are public, and refused."""
    if type(start) is not int or not 1 <= start <= LONGEST:
        raise QueryRefused("SUBSTRING begins at a place that is a whole number, 1 for the first character.")
    if type(size) is not int or not 0 <= size <= LONGEST:
        raise QueryRefused("SUBSTRING takes so many characters: a whole number that is not negative.")
    return replace(x, value=spelling.cut(x.value, start, size))
