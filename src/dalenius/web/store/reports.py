"""Privacy reports that a steward published: what a release cost one person, for that person to compute themselves.

A report holds released and public numbers only. It is published as it is, under a name, and can be taken down; another
of the same name is a new edition.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Column, Connection, Table, Text, delete, insert, select

from dalenius.web.store import clock
from dalenius.web.store.subject import METADATA, Subject

REPORTS = Table(
    "console_reports",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("title", Text, nullable=False),
    Column("report", Text, nullable=False),
    Column("time", Text, nullable=False),
    Column("person", Text, nullable=False),
)
SUBJECT = Subject("reports", (REPORTS,))


@dataclass(frozen=True)
class Published:
    """A report, and what it is called. report: the text that `PrivacyReport.to_json` wrote."""

    name: str
    title: str
    report: str
    time: str
    person: str


def publish(connection: Connection, name: str, title: str, report: str, person: str) -> Published:
    """Publish a report under a name; an older one of that name goes."""
    made = Published(name, title, report, clock.text(clock.now()), person)
    withdraw(connection, name)
    connection.execute(insert(REPORTS).values(**vars(made)))
    return made


def withdraw(connection: Connection, name: str) -> bool:
    """Take a report down; whether there was one."""
    return connection.execute(delete(REPORTS).where(REPORTS.c.name == name)).rowcount > 0


def find(connection: Connection, name: str) -> Published | None:
    """The report of a name."""
    row = connection.execute(select(REPORTS).where(REPORTS.c.name == name)).one_or_none()
    return None if row is None else Published(**row._mapping)


def listed(connection: Connection) -> list[tuple[str, str]]:
    """Names and titles of all, by name."""
    rows = connection.execute(select(REPORTS.c.name, REPORTS.c.title).order_by(REPORTS.c.name))
    return [(row.name, row.title) for row in rows]
