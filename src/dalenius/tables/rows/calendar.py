"""Dates and moments: their parts, beginnings and differences, in whole numbers.

A part, or a difference, is made of whole numbers that every engine computes alike: of `Spelling.days`, and of what Ibis
extracts. A difference counts the boundaries between two moments, as DuckDB's date_diff does: from 23:59 to 0:01 it is
one day, and one hour. Moments have no zone, and no day has 23 or 25 hours; seconds are whole, their fraction cut off.

All numbers are small: days below 2^22, seconds below 2^39. The quotient n / 7 of such a number is at least 1/7 away
from the next whole number or equal to one, so that its floor is right in double precision.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import ibis

from dalenius.errors import QueryRefused
from dalenius.tables.facts.dates import SPANS, beginning
from dalenius.tables.rows.spelling import FIRST, Spelling
from dalenius.tables.rows.terms import Term, double, integer, literal, moment

TRUNCATED = (*(span.upper() for span in SPANS), "DAY")
CLOCK = ("HOUR", "MINUTE", "SECOND")
DIFFERENCES = (*TRUNCATED, *CLOCK)
SAME = {
    "DOW": "DAYOFWEEK",
    "WEEKDAY": "DAYOFWEEK",
    "DOY": "DAYOFYEAR",
    "WEEKOFYEAR": "WEEK",
    "DAYOFMONTH": "DAY",
    "DAYOFWEEKISO": "ISODOW",
}
"""Other words for parts, as DuckDB has them."""

DATES_AS_TEXT = (
    "text made of dates (TO_CHAR, STRFTIME) is not available; take a part, EXTRACT(YEAR FROM day), or the first day of "
    "its month, DATE_TRUNC('month', day)."
)
PARTED = ("DATE_PART", "DATEPART")
"""Functions that the parser has no name for."""

PARTS: Mapping[str, int] = {
    **{"YEAR": 14, "QUARTER": 3, "MONTH": 4, "WEEK": 6, "DAY": 5},
    **{"DAYOFWEEK": 3, "ISODOW": 3, "DAYOFYEAR": 9, "HOUR": 5, "MINUTE": 6, "SECOND": 6},
}
"""What can be extracted, and the bits of it."""

RANGES: Mapping[str, range] = {
    "QUARTER": range(1, 5),
    "MONTH": range(1, 13),
    "DAY": range(1, 32),
    "WEEK": range(1, 54),
    "DAYOFWEEK": range(7),
    "ISODOW": range(1, 8),
    "DAYOFYEAR": range(1, 367),
    "HOUR": range(24),
    "MINUTE": range(60),
    "SECOND": range(60),
}
"""The values that a part can have, whatever the data: public keys of it."""

MOMENT = re.compile(r"\d{4}-\d\d-\d\d([ T](?!24)\d\d:\d\d(:\d\d(\.\d{1,6})?)?)?", re.ASCII)


def date_of(text: str) -> Term:
    """A constant date."""
    try:
        day = datetime.date.fromisoformat(text)
    except ValueError:
        raise QueryRefused(f"{text!r} is not a date; write it like DATE '2024-12-31'.") from None
    return of_day(day)


def of_day(day: datetime.date) -> Term:
    return Term(ibis.literal(day), "date", constant=day)


def moment_of(text: str) -> Term:
    """A constant moment; a date is its midnight."""
    if MOMENT.fullmatch(text):
        try:
            at = datetime.datetime.fromisoformat(text)
            return Term(moment(at), "timestamp", constant=at)
        except ValueError:  # the 30th of February
            pass
    raise QueryRefused(
        f"{text!r} is not a moment; write it like TIMESTAMP '2024-12-31 23:59:59', in UTC and without a zone."
    )


def midnight(day: Term) -> Term:
    """A constant date as the moment it begins with."""
    at = datetime.datetime.combine(day.constant, datetime.time())
    return Term(moment(at), "timestamp", constant=at)


def date(x: Term) -> Term:
    """The day of a moment."""
    if x.kind == "date":
        return x
    if x.constant is not None:
        return of_day(x.constant.date())
    return Term(x.value.cast("date"), "date", x.nullable, x.undeclared, size=x.size)


def part(word: str, x: Term, spelling: Spelling) -> Term:
    """EXTRACT(word FROM x): weeks are those of ISO 8601, Sunday is 0 as DAYOFWEEK and 7 as ISODOW."""
    name = SAME.get(word, word)
    if name not in PARTS:
        raise QueryRefused(f"EXTRACT({word} ...) is not available; use {', '.join(PARTS)}.")
    if name in CLOCK and x.kind == "date":
        raise QueryRefused(f"a date has no {name.lower()}; it is for timestamps.")
    if x.constant is not None:
        return literal(_PARTS_OF[name](x.constant))
    return _whole(_extracted(name, x, spelling), x, bits=PARTS[name], times=2 if name == "DAYOFYEAR" else 1)


def _extracted(name: str, x: Term, spelling: Spelling) -> Any:
    if name in ("YEAR", "QUARTER", "MONTH", "DAY", *CLOCK):
        return getattr(x.value, name.lower())().cast("int64")
    day = date(x).value
    if name == "WEEK":
        return day.week_of_year().cast("int64")
    days = spelling.days(day)
    if name == "DAYOFYEAR":
        return days - spelling.days(spelling.beginning(day, "year")) + integer(1)
    return days % integer(7) + integer(1) if name == "ISODOW" else (days + integer(1)) % integer(7)


def truncated(word: str, x: Term, spelling: Spelling) -> Term:
    """DATE_TRUNC(word, x): always a date, which can be grouped by."""
    if word in CLOCK:
        raise QueryRefused(
            f"DATE_TRUNC('{word.lower()}', ...) is not available, since one groups by dates and not by moments; write "
            f"EXTRACT({word} FROM ...) beside DATE_TRUNC('day', ...)."
        )
    if word not in TRUNCATED:
        raise QueryRefused(
            f"DATE_TRUNC('{word.lower()}', ...) is not available; use {', '.join(TRUNCATED).lower()}."
        )
    day = date(x)
    if word == "DAY":
        return day
    (span,) = (span for span in SPANS if span.upper() == word)
    if day.constant is not None:
        return of_day(beginning(day.constant, span))
    return replace(day, value=spelling.beginning(day.value, span))


def difference(word: str, start: Term, end: Term, spelling: Spelling) -> Term:
    """DATE_DIFF(word, start, end): how many times a year, month, ... begins after start, up to end."""
    if word not in DIFFERENCES:
        raise QueryRefused(
            f"DATE_DIFF('{word.lower()}', ...) is not available; use {', '.join(DIFFERENCES).lower()}."
        )
    if word in CLOCK and "date" in (start.kind, end.kind):
        raise QueryRefused(
            f"a date has no {word.lower()}; DATE_DIFF('{word.lower()}', ...) is for timestamps."
        )
    if start.constant is not None and end.constant is not None:
        raise QueryRefused("DATE_DIFF of two constants; write the result.")
    begun, ended = (_number(word, x, spelling) for x in (start, end))
    both = replace(
        start,
        nullable=start.nullable or end.nullable,
        undeclared=start.undeclared | end.undeclared,
        size=start.size + end.size,
    )
    return _whole(ended - begun, both, bits=40 if word in CLOCK else 22, times=4)


def _number(word: str, x: Term, spelling: Spelling) -> Any:
    """The number of the year, month, ... that it is in, from any beginning."""
    if x.constant is not None:
        return integer(_numbered(word, x.constant))
    if word in ("YEAR", "QUARTER", "MONTH"):
        year = x.value.year().cast("int64")
        if word == "YEAR":
            return year
        within, parts = (x.value.quarter(), 4) if word == "QUARTER" else (x.value.month(), 12)
        return year * integer(parts) + within.cast("int64")
    days = spelling.days(date(x).value)
    if word == "WEEK":
        return (days.cast("float64") / double(7.0)).floor()
    if word == "DAY":
        return days
    number = days * integer(24) + x.value.hour().cast("int64")
    if word == "HOUR":
        return number
    number = number * integer(60) + x.value.minute().cast("int64")
    return number if word == "MINUTE" else number * integer(60) + x.value.second().cast("int64")


def _numbered(word: str, at: datetime.date) -> int:
    days = at.toordinal() - FIRST.toordinal()
    if word in CLOCK:
        assert isinstance(at, datetime.datetime)
        clock = (at.hour, at.minute, at.second)[: CLOCK.index(word) + 1]
        number = days * 24 + clock[0]
        for finer in clock[1:]:
            number = number * 60 + finer
        return number
    numbers = {
        "YEAR": at.year,
        "QUARTER": at.year * 4 + (at.month + 2) // 3,
        "MONTH": at.year * 12 + at.month,
    }
    return {**numbers, "WEEK": days // 7, "DAY": days}[word]


_PARTS_OF: Mapping[str, Callable[[Any], int]] = {
    "YEAR": lambda at: at.year,
    "QUARTER": lambda at: (at.month + 2) // 3,
    "MONTH": lambda at: at.month,
    "WEEK": lambda at: at.isocalendar()[1],
    "DAY": lambda at: at.day,
    "DAYOFWEEK": lambda at: at.isoweekday() % 7,
    "ISODOW": lambda at: at.isoweekday(),
    "DAYOFYEAR": lambda at: at.timetuple().tm_yday,
    "HOUR": lambda at: at.hour,
    "MINUTE": lambda at: at.minute,
    "SECOND": lambda at: at.second,
}


def _whole(value: Any, of: Term, bits: int, times: int) -> Term:
    size = of.size * times
    return Term(value, "integer", of.nullable, of.undeclared, top=bits, bottom=0, whole=True, size=size)
