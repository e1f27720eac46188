"""Days of the calendar as public facts: first and last days of a column, and the days, weeks, months, ... between them.

The lists are keys for `group_by`: a month in which nobody was there is a group like any other.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from typing import Literal, TypeAlias, get_args

from dalenius.errors import InvalidParameter

Span = Literal["year", "quarter", "month", "week"]
SPANS: tuple[Span, ...] = get_args(Span)
Day: TypeAlias = datetime.date | str

MONTHS: dict[str, int] = {"year": 12, "quarter": 3, "month": 1}
MOST = 10_000_000
QUARTER = re.compile(r"(\d{4})-?[Qq]([1-4])", re.ASCII)
SHORT = re.compile(r"\d{4}(-\d\d)?", re.ASCII)
WHOLE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
"""Python also reads 2024-W02, as the Monday of that week."""


def beginning(day: datetime.date, span: Span) -> datetime.date:
    """The first day of the year, quarter, month or week (from Monday) that a date is in."""
    if span == "week":
        return day - datetime.timedelta(day.weekday())
    return day.replace(month=day.month - (day.month - 1) % MONTHS[span], day=1)


def listed(span: Span | Literal["day"], first: datetime.date, last: datetime.date) -> list[datetime.date]:
    """The first day of each year, month, ... that a day from `first` to `last` is in."""
    begun = first if span == "day" else beginning(first, span)
    if span in ("day", "week"):
        step = 1 if span == "day" else 7
        return [datetime.date.fromordinal(n) for n in range(begun.toordinal(), last.toordinal() + 1, step)]
    months = range(begun.year * 12 + begun.month - 1, last.year * 12 + last.month, MONTHS[span])
    return [datetime.date(n // 12, n % 12 + 1, 1) for n in months]


def days(first: Day, last: Day) -> list[datetime.date]:
    """Every day from the first to the last, as public keys.

    Parameters
    ----------
    first, last
        Dates, or text like "2024-12-31"; both are in the list.

    Returns
    -------
    list of datetime.date
        For `keys`.

    Examples
    --------
    >>> import dalenius as dp
    >>> [str(day) for day in dp.days("2024-02-28", "2024-03-01")]
    ['2024-02-28', '2024-02-29', '2024-03-01']
    """
    return listed("day", *_ends(first, last))


def weeks(first: Day, last: Day) -> list[datetime.date]:
    """Every week by its Monday: the keys of DATE_TRUNC('week', day).

    Parameters
    ----------
    first, last
        Any day of the first and of the last week.

    Returns
    -------
    list of datetime.date
        Mondays.

    Examples
    --------
    >>> import dalenius as dp
    >>> [str(day) for day in dp.weeks("2024-12-25", "2025-01-05")]
    ['2024-12-23', '2024-12-30']
    """
    return listed("week", *_ends(first, last))


def months(first: Day, last: Day) -> list[datetime.date]:
    """Every month by its first day: the keys of DATE_TRUNC('month', day).

    Parameters
    ----------
    first, last
        The first and the last month, like "2023-01", or a day of them.

    Returns
    -------
    list of datetime.date
        First days of months.

    Examples
    --------
    >>> import dalenius as dp, pandas as pd
    >>> visits = pd.DataFrame({"day": pd.to_datetime(["2024-01-05", "2024-01-20", "2024-03-01"])})
    >>> s = dp.Session(visits, unit=dp.Unit.rows(), budget=dp.ZCDP(1000), schema=dp.Schema(nulls="drop"))
    >>> by_month = s.table.with_columns(month="DATE_TRUNC('month', day)")
    >>> q = by_month.group_by("month", keys=dp.months("2024-01", "2024-03")).agg(n=dp.count())
    >>> [(str(month), round(n)) for (month,), n in zip(q.keys.rows, s.release(q, dp.ZCDP(900))["n"].estimate)]
    [('2024-01-01', 2), ('2024-02-01', 0), ('2024-03-01', 1)]
    """
    return listed("month", *_ends(first, last))


def quarters(first: Day, last: Day) -> list[datetime.date]:
    """Every quarter by its first day: the keys of DATE_TRUNC('quarter', day).

    Parameters
    ----------
    first, last
        The first and the last quarter, like "2024-Q1", or a month or a day of them.

    Returns
    -------
    list of datetime.date
        First days of January, April, July and October.

    Examples
    --------
    >>> import dalenius as dp
    >>> [str(day) for day in dp.quarters("2024-02", "2024-12")]
    ['2024-01-01', '2024-04-01', '2024-07-01', '2024-10-01']
    >>> dp.quarters("2024-Q1", "2024-Q4") == dp.quarters("2024-02", "2024-12")
    True
    """
    return listed("quarter", *_ends(first, last))


def years(first: Day | int, last: Day | int) -> list[datetime.date]:
    """Every year by its first day: the keys of DATE_TRUNC('year', day).

    Parameters
    ----------
    first, last
        Years like 2020, or a month or a day of them.

    Returns
    -------
    list of datetime.date
        First days of years.

    Examples
    --------
    >>> import dalenius as dp
    >>> [str(day) for day in dp.years(2023, 2024)]
    ['2023-01-01', '2024-01-01']
    """
    ends = (
        f"{end:04d}" if isinstance(end, int) and not isinstance(end, bool) else end for end in (first, last)
    )
    return listed("year", *_ends(*ends))


def day_of(given: object, last: bool = False) -> datetime.date | None:
    """A date as people write it; None for what is none. "2024-12" is the month's first day, or its last, "2024-Q1"
    those of a quarter."""
    if isinstance(given, datetime.datetime):
        return None
    if isinstance(given, datetime.date):
        return given
    try:
        if isinstance(given, str) and (found := QUARTER.fullmatch(given)):
            begun = datetime.date(int(found[1]), 3 * int(found[2]) - 2, 1)
            return _end(begun, "quarter") if last else begun
        if isinstance(given, str) and SHORT.fullmatch(given):
            begun = datetime.date.fromisoformat(f"{given}-01-01"[:10])
            whole: Span = "month" if "-" in given else "year"
            return _end(begun, whole) if last else begun
        whole_day = isinstance(given, str) and WHOLE.fullmatch(given)
        return datetime.date.fromisoformat(str(given)) if whole_day else None
    except ValueError:
        return None


def ends_of(given: Iterable[object], of: str) -> tuple[datetime.date, datetime.date]:
    """The first and the last day of a column, checked."""
    pair = list(given)
    ends = [day_of(end, last=bool(n)) for n, end in enumerate(pair)]
    if len(ends) != 2 or ends[0] is None or ends[1] is None:
        raise InvalidParameter(
            f"the bounds of {of} are {tuple(map(str, pair))}; of dates they are the first and the last day, like "
            "('2023-01-01', '2024-12-31')."
        )
    if ends[0] > ends[1]:
        raise InvalidParameter(f"the bounds of {of} end before they begin; exchange them.")
    return ends[0], ends[1]


def _end(day: datetime.date, span: Span) -> datetime.date:
    month = day.year * 12 + day.month - 1 + MONTHS[span]
    if month // 12 > datetime.MAXYEAR:
        return datetime.date.max
    return datetime.date(month // 12, month % 12 + 1, 1) - datetime.timedelta(1)


def _ends(first: object, last: object) -> tuple[datetime.date, datetime.date]:
    begun, ended = day_of(first), day_of(last, last=True)
    for given, day in ((first, begun), (last, ended)):
        if day is None:
            raise InvalidParameter(
                f"{given!r} is not a date; write it like '2024-12-31', a month like '2024-12', a quarter like "
                "'2024-Q4'."
            )
    assert begun is not None
    assert ended is not None
    if begun > ended:
        raise InvalidParameter(f"{first} is after {last}; give the first before the last.")
    return begun, ended
