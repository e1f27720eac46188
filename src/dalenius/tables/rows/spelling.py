"""What of the language each engine spells in its own way: text, and the days of the calendar.

One meaning for all of them, which no locale, collation, zone or version of Unicode enters:

    characters      code points: "é" is one or two, as it is written
    cased           the letters A to Z and a to z; every other sign stays as it is
    trimmed         blanks (U+0020) and nothing else, at the front, at the back or at both ends
    cut             code points, by a public place and a public number: the place 1 is the first
    days            from 0001-01-01, which is 0, a Monday
    beginning       the first day of the year, quarter, month or week (from Monday) that a date is in; weeks are whole,
                    since the calendar here begins with a Monday

All are total on clean columns (`facts.kinds`): text is valid UTF-8, which the first four take as it comes, the
character with code 0 included, and a date is within the years 1 to 9999, so its `beginning` is, too.
"""

from __future__ import annotations

import datetime
import string
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, Protocol

import ibis
import ibis.expr.datatypes as dt

from dalenius.tables.facts.dates import Span

Ends = Literal["both", "front", "back"]

SMALL, LARGE = string.ascii_lowercase, string.ascii_uppercase
FIRST = datetime.date(1, 1, 1)


class Spelling(Protocol):
    """Spells them; `functions` and `casts` are those it does it by, as in `rows.total`."""

    @property
    def functions(self) -> Mapping[str, str]: ...

    @property
    def casts(self) -> frozenset[str]: ...

    def characters(self, text: Any) -> Any:
        """How many code points, as int64."""

    def cased(self, text: Any, of: str, to: str) -> Any:
        """Each of the letters `of` as the one at its place in `to`."""

    def trimmed(self, text: Any, ends: Ends) -> Any:
        """Without blanks."""

    def cut(self, text: Any, start: int, size: int) -> Any:
        """At most so many code points from a place on."""

    def days(self, date: Any) -> Any:
        """Since the first of January of the year 1, as int64."""

    def beginning(self, date: Any, span: Span) -> Any:
        """The first day of its year, quarter, month or week."""


@cache
def builtin(name: str, *arguments: str, returns: str) -> Any:
    """A function the engine has and Ibis does not."""
    # Ibis reads the names of the parameters, so there must be as many as there are arguments.
    shapes: tuple[Any, ...] = (lambda x: None, lambda x, y: None, lambda x, y, z: None)
    types = tuple(dt.dtype(argument) for argument in arguments)
    declared = shapes[len(arguments) - 1]
    return ibis.udf.scalar.builtin(declared, name=name, signature=(types, dt.dtype(returns)))


class Unspelled:
    """Of no engine: what is asked has the right types, and cannot be run."""

    functions: Mapping[str, str] = {
        "characters": "s",
        "cased": "s",
        "trimmed": "s",
        "cut": "si",
        "days": "d",
        "beginning": "ds",
    }
    casts: frozenset[str] = frozenset()

    def characters(self, text: Any) -> Any:
        return builtin("characters", "string", returns="int64")(text)

    def cased(self, text: Any, of: str, to: str) -> Any:
        return builtin("cased", "string", "string", "string", returns="string")(text, of, to)

    def trimmed(self, text: Any, ends: Ends) -> Any:
        return builtin("trimmed", "string", "string", returns="string")(text, ends)

    def cut(self, text: Any, start: int, size: int) -> Any:
        return builtin("cut", "string", "int64", "int64", returns="string")(text, start, size)

    def days(self, date: Any) -> Any:
        return builtin("days", "date", returns="int64")(date)

    def beginning(self, date: Any, span: Span) -> Any:
        return builtin("beginning", "date", "string", returns="date")(date, span)
