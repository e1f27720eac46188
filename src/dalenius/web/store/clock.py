"""The time that the store writes: UTC, in whole seconds, as text that sorts."""

from __future__ import annotations

import datetime


def now() -> datetime.datetime:
    """This moment, in UTC."""
    return datetime.datetime.now(datetime.UTC)


def text(moment: datetime.datetime) -> str:
    """As it is written: 2026-01-31T09:30:00Z.

    Examples
    --------
    >>> import datetime
    >>> text(datetime.datetime(2026, 1, 31, 9, 30, tzinfo=datetime.UTC))
    '2026-01-31T09:30:00Z'
    """
    return moment.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def after(*, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0) -> str:
    """The moment that is so far from now (before now, where negative), as it is written."""
    return text(now() + datetime.timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds))
