"""Data sets that stewards registered, who may ask of them, and what verifications of the ledger found.

A registration is kept whole as JSON (`datasets.registration` reads it). What opens its source (a password) is kept in a
column of its own, which one function reads: the one that opens the source. Nothing shows it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    ForeignKey,
    Integer,
    Select,
    Table,
    Text,
    delete,
    insert,
    select,
    update,
)

from dalenius.errors import InvalidParameter
from dalenius.web.store import clock
from dalenius.web.store.people import PEOPLE, Person
from dalenius.web.store.subject import METADATA, Subject

DRAFT, OPEN = "draft", "open"

DATASETS = Table(
    "console_datasets",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("registration", Text, nullable=False),
    Column("secret", Text, nullable=True),
    Column("state", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("made", Text, nullable=False),
    Column("changed", Text, nullable=False),
)
GRANTS = Table(
    "console_grants",
    METADATA,
    Column("dataset", Text, ForeignKey("console_datasets.name"), primary_key=True),
    Column("person", Text, ForeignKey("console_people.id"), primary_key=True),
    Column("made", Text, nullable=False),
)
VERIFICATIONS = Table(
    "console_verifications",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("time", Text, nullable=False),
    Column("person", Text, nullable=False),
    Column("sound", Boolean, nullable=False),
    Column("checkpoint", Text, nullable=False),
    Column("problems", Text, nullable=False),
)
SUBJECT = Subject("datasets", (DATASETS, GRANTS, VERIFICATIONS))


@dataclass(frozen=True)
class Kept:
    """A data set as the store has it."""

    name: str
    registration: str
    state: str
    version: int
    """One more with every change: what was opened from an older one is opened anew."""
    changed: str

    @property
    def is_open(self) -> bool:
        """Whether its account was opened; until then it is a draft that only stewards see."""
        return self.state == OPEN


@dataclass(frozen=True)
class Verified:
    """What a verification of the ledger found."""

    time: str
    person: str
    sound: bool
    checkpoint: str
    problems: list[str]


def add(connection: Connection, name: str, registration: str, secret: str | None) -> None:
    """A new draft."""
    if get(connection, name) is not None:
        raise InvalidParameter.of("name", f"there is a data set {name!r} already; choose another name.")
    moment = clock.text(clock.now())
    connection.execute(
        insert(DATASETS).values(
            name=name,
            registration=registration,
            secret=secret,
            state=DRAFT,
            version=1,
            made=moment,
            changed=moment,
        )
    )


def change(connection: Connection, known: Kept, registration: str, state: str | None = None) -> None:
    """Write what is registered now, if it is still what the caller has seen."""
    done = connection.execute(
        update(DATASETS)
        .where(DATASETS.c.name == known.name, DATASETS.c.version == known.version)
        .values(
            registration=registration,
            state=state or known.state,
            version=known.version + 1,
            changed=clock.text(clock.now()),
        )
    )
    if done.rowcount != 1:
        raise InvalidParameter(
            f"somebody else changed {known.name!r} at this moment; look at it, and try again."
        )


def set_secret(connection: Connection, name: str, secret: str | None) -> None:
    """Keep another password."""
    connection.execute(update(DATASETS).where(DATASETS.c.name == name).values(secret=secret))


def secret(connection: Connection, name: str) -> str | None:
    """For the one who opens the source, and nobody else."""
    return connection.execute(select(DATASETS.c.secret).where(DATASETS.c.name == name)).scalar_one_or_none()


def remove_draft(connection: Connection, name: str) -> bool:
    """Forget a draft, which promised nothing to anybody; what was opened stays for ever."""
    connection.execute(
        delete(GRANTS).where(
            GRANTS.c.dataset == name,
            select(DATASETS.c.name).where(DATASETS.c.name == name, DATASETS.c.state == DRAFT).exists(),
        )
    )
    done = connection.execute(delete(DATASETS).where(DATASETS.c.name == name, DATASETS.c.state == DRAFT))
    return bool(done.rowcount)


def get(connection: Connection, name: str) -> Kept | None:
    """The data set of that name."""
    if not name.isprintable():  # PostgreSQL cannot even be asked for some of these
        return None
    row = connection.execute(_kept().where(DATASETS.c.name == name)).first()
    return None if row is None else Kept(*row)


def granted(connection: Connection, name: str, person_name: str) -> Kept | None:
    """The same, if somebody of that name may ask of it: granted, and still let in."""
    if not name.isprintable():
        return None
    asked = (
        _kept()
        .join(GRANTS, GRANTS.c.dataset == DATASETS.c.name)
        .join(PEOPLE, PEOPLE.c.id == GRANTS.c.person)
        .where(DATASETS.c.name == name, PEOPLE.c.name == person_name, PEOPLE.c.active)
    )
    row = connection.execute(asked).first()
    return None if row is None else Kept(*row)


def everything(connection: Connection) -> list[Kept]:
    """All of them, by name."""
    return [Kept(*row) for row in connection.execute(_kept().order_by(DATASETS.c.name))]


def _kept() -> Select[Any]:
    columns = DATASETS.c
    return select(columns.name, columns.registration, columns.state, columns.version, columns.changed)


# -- who may ask ------------------------------------------------------------------------------------------


def grant(connection: Connection, name: str, person: str) -> None:
    """Let a person ask of a data set; once is enough."""
    known = select(GRANTS.c.person).where(GRANTS.c.dataset == name, GRANTS.c.person == person)
    if connection.execute(known).first() is None:
        connection.execute(insert(GRANTS).values(dataset=name, person=person, made=clock.text(clock.now())))


def withdraw(connection: Connection, name: str, person: str) -> None:
    """No longer; what was answered stays on record."""
    connection.execute(delete(GRANTS).where(GRANTS.c.dataset == name, GRANTS.c.person == person))


def may_ask(connection: Connection, name: str, person_name: str) -> bool:
    """Whether somebody of that name may ask of a data set: granted, and still let in."""
    asked = (
        select(GRANTS.c.person)
        .join(PEOPLE, PEOPLE.c.id == GRANTS.c.person)
        .where(GRANTS.c.dataset == name, PEOPLE.c.name == person_name, PEOPLE.c.active)
    )
    return connection.execute(asked).first() is not None


def granted_to(connection: Connection, person: str) -> list[str]:
    """The data sets that a person may ask of."""
    asked = select(GRANTS.c.dataset).where(GRANTS.c.person == person).order_by(GRANTS.c.dataset)
    return [row.dataset for row in connection.execute(asked)]


def who_may_ask(connection: Connection, name: str) -> list[Person]:
    """Those who may ask of a data set."""
    asked = (
        select(PEOPLE.c.id, PEOPLE.c.name, PEOPLE.c.role)
        .join(GRANTS, PEOPLE.c.id == GRANTS.c.person)
        .where(GRANTS.c.dataset == name)
        .order_by(PEOPLE.c.name)
    )
    return [Person(*row) for row in connection.execute(asked)]


# -- verifications ----------------------------------------------------------------------------------------


def note_verification(
    connection: Connection, person: str, sound: bool, checkpoint: str, problems: list[str]
) -> None:
    """Keep what was found, and the head of the chain: a ledger that lacks it later was put back or cut."""
    connection.execute(
        insert(VERIFICATIONS).values(
            time=clock.text(clock.now()),
            person=person,
            sound=sound,
            checkpoint=checkpoint,
            problems=json.dumps(problems),
        )
    )


def last_verification(connection: Connection, sound: bool | None = None) -> Verified | None:
    """The newest; of those that found the ledger sound, or not, where that is said."""
    asked = select(VERIFICATIONS).order_by(VERIFICATIONS.c.id.desc()).limit(1)
    if sound is not None:
        asked = asked.where(VERIFICATIONS.c.sound == sound)
    row = connection.execute(asked).first()
    if row is None:
        return None
    return Verified(row.time, row.person, row.sound, row.checkpoint, json.loads(row.problems))
