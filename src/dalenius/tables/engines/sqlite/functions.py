"""What SQLite spells by functions of Python: see `dalenius.tables.rows.spelling`.

They are given clean text and clean dates, never null, and constants of the question. Clean text is valid UTF-8, which
Python's sqlite3 hands over whole, and dates are ISO's, within the years that Python knows.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

from dalenius.tables.facts.dates import Span, beginning
from dalenius.tables.rows.spelling import FIRST


def dalenius_characters(text: str) -> int:
    return len(text)


def dalenius_cased(text: str, of: str, to: str) -> str:
    return text.translate(str.maketrans(of, to))


def dalenius_trimmed(text: str, ends: str) -> str:
    front = text if ends == "back" else text.lstrip(" ")
    return front if ends == "front" else front.rstrip(" ")


def dalenius_cut(text: str, start: int, size: int) -> str:
    return text[start - 1 : start - 1 + size]


def dalenius_days(date: str) -> int:
    return datetime.date.fromisoformat(date).toordinal() - FIRST.toordinal()


def dalenius_week(date: str) -> int:
    return datetime.date.fromisoformat(date).isocalendar()[1]


def dalenius_beginning(date: str, span: Span) -> str:
    return beginning(datetime.date.fromisoformat(date), span).isoformat()


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    dalenius_characters,
    dalenius_cased,
    dalenius_trimmed,
    dalenius_cut,
    dalenius_days,
    dalenius_week,
    dalenius_beginning,
)
