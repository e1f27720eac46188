"""Who may come in, and in which role. A person is never removed: what they did stays theirs."""

from __future__ import annotations

import secrets
import unicodedata
from dataclasses import dataclass

from sqlalchemy import Boolean, Column, Connection, Index, Table, Text, func, insert, select, update

from dalenius.errors import InvalidParameter
from dalenius.web.store import clock
from dalenius.web.store.subject import METADATA, Subject

STEWARD, ANALYST = "steward", "analyst"
ROLES = (STEWARD, ANALYST)
LONGEST_NAME = 80

PEOPLE = Table(
    "console_people",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("role", Text, nullable=False),
    Column("active", Boolean, nullable=False),
    Column("made", Text, nullable=False),
)
Index("console_people_names", func.lower(PEOPLE.c.name), unique=True)
SUBJECT = Subject("people", (PEOPLE,))


@dataclass(frozen=True)
class Person:
    """Someone who may come in. The name is what the ledger calls an analyst, and never changes."""

    id: str
    name: str
    role: str


@dataclass(frozen=True)
class Entry:
    """A person as the steward sees them."""

    person: Person
    active: bool
    made: str


def add(connection: Connection, name: str, role: str) -> Person:
    """A new person; a name that is taken, even by someone who left, is refused."""
    name = _name(name)
    if role not in ROLES:
        raise InvalidParameter.of("role", f"role is {role!r}; it must be one of {', '.join(ROLES)}.")
    # Not by the database, whose lower() may know the letters of ASCII alone.
    if _alike(name) in {_alike(each) for each in connection.execute(select(PEOPLE.c.name)).scalars()}:
        raise InvalidParameter.of(
            "name",
            f"there is already somebody called {name!r}, and a ledger tells people apart by name; choose another.",
        )
    person = Person(secrets.token_hex(8), name, role)
    row = {"id": person.id, "name": name, "role": role, "active": True, "made": clock.text(clock.now())}
    connection.execute(insert(PEOPLE).values(row))
    return person


def get(connection: Connection, id: str) -> Entry | None:
    """The person with this id."""
    return next(iter(_entries(connection, PEOPLE.c.id == id)), None)


def named(connection: Connection, name: str) -> Entry | None:
    """The person with this name."""
    return next(iter(_entries(connection, PEOPLE.c.name == name)), None)


def everyone(connection: Connection) -> list[Entry]:
    """All people, by name."""
    return _entries(connection)


def set_active(connection: Connection, id: str, active: bool) -> None:
    """Let a person in again, or no longer. The last active steward stays."""
    if not active:
        stewards = select(PEOPLE.c.id).where(PEOPLE.c.role == STEWARD, PEOPLE.c.active)
        if [row.id for row in connection.execute(stewards.with_for_update())] == [id]:
            raise InvalidParameter("this is the only steward who can come in; add another one first.")
    connection.execute(update(PEOPLE).where(PEOPLE.c.id == id).values(active=active))


def _entries(connection: Connection, *where: object) -> list[Entry]:
    asked = select(PEOPLE).order_by(PEOPLE.c.name)
    for condition in where:
        asked = asked.where(condition)  # type: ignore[arg-type]
    return [
        Entry(Person(row.id, row.name, row.role), row.active, row.made) for row in connection.execute(asked)
    ]


def _alike(name: str) -> str:
    """The same for names that look the same, or nearly: of capitals, accents in two spellings, wide letters."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def _name(name: str) -> str:
    name = name.strip()
    # A spreadsheet takes what begins with = + - @ for a formula, and names stand in files that people open in one.
    if not name or len(name) > LONGEST_NAME or not name.isprintable() or not name[0].isalnum():
        raise InvalidParameter.of(
            "name",
            f"a name has 1 to {LONGEST_NAME} characters that can be printed, the first a letter or a digit; choose "
            "another.",
        )
    return name
