"""Who did what in the console, and when: written in the transaction that does it, never changed, never removed.

It holds names, acts and public facts: no token, no row, no answer. What was charged is in the ledger.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, Column, Connection, Integer, Table, Text, insert, select

from dalenius.web.store import clock
from dalenius.web.store.people import Person
from dalenius.web.store.subject import METADATA, Subject

AUDIT = Table(
    "console_audit",
    METADATA,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("time", Text, nullable=False),
    Column("person", Text, nullable=False),
    Column("act", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("facts", Text, nullable=False),
    sqlite_autoincrement=True,
)
SUBJECT = Subject("audit", (AUDIT,))

SOMEBODY = Person("", "?", "")
"""One who did not show who they are; nobody can be called so."""


@dataclass(frozen=True)
class Act:
    """One line of the log."""

    id: int
    time: str
    person: str
    act: str
    subject: str
    facts: dict[str, Any]


def note(connection: Connection, person: Person | None, act: str, subject: str = "", **facts: Any) -> None:
    """Write down that a person (nobody: the one at the server's command line) did this to a subject."""
    connection.execute(
        insert(AUDIT).values(
            time=clock.text(clock.now()),
            person=person.name if person else "",
            act=act,
            subject=subject,
            facts=json.dumps(facts, sort_keys=True),
        )
    )


def latest(connection: Connection, most: int = 100, before: int | None = None) -> list[Act]:
    """The newest acts first; `before` is the id of the last one that was seen."""
    asked = select(AUDIT).order_by(AUDIT.c.id.desc()).limit(most)
    if before is not None:
        asked = asked.where(AUDIT.c.id < before)
    return [
        Act(row.id, row.time, row.person, row.act, row.subject, json.loads(row.facts))
        for row in connection.execute(asked)
    ]
