"""Tokens: what a person shows to be let in. The store has their SHA-256 alone, so nobody can read one back from it.

A token is 256 random bits, so that a plain hash is enough: there is nothing to guess, and no salt or slow hash would
make it harder. It is found by its hash: how long that takes says something about hashes, which nobody can steer.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass

from sqlalchemy import Column, Connection, ForeignKey, Table, Text, insert, select, update

from dalenius.web.store import clock
from dalenius.web.store.people import PEOPLE, Person
from dalenius.web.store.subject import METADATA, Subject

PREFIX = "dalenius_"
"""So that people, and programs that look for leaked secrets, know one when they see it."""

TOKENS = Table(
    "console_tokens",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("person", Text, ForeignKey("console_people.id"), nullable=False, index=True),
    Column("digest", Text, nullable=False, unique=True),
    Column("label", Text, nullable=False),
    Column("made", Text, nullable=False),
    Column("ends", Text, nullable=False),
    Column("revoked", Text, nullable=True),
)
SUBJECT = Subject("tokens", (TOKENS,))


@dataclass(frozen=True)
class Token:
    """What can be told of a token: everything but the token."""

    id: str
    person: str
    label: str
    made: str
    ends: str
    revoked: str | None

    @property
    def works(self) -> bool:
        """Whether it still opens the door."""
        return self.revoked is None and self.ends > clock.text(clock.now())


def digest(secret: str) -> str:
    """What the store keeps of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


def make(connection: Connection, person: str, label: str, days: float) -> tuple[Token, str]:
    """A new token, and its text, which is told this once."""
    text = PREFIX + secrets.token_urlsafe(32)
    moment = clock.text(clock.now())
    token = Token(secrets.token_hex(8), person, label.strip()[:80], moment, clock.after(days=days), None)
    connection.execute(
        insert(TOKENS).values(
            id=token.id, person=person, digest=digest(text), label=token.label, made=moment, ends=token.ends
        )
    )
    return token, text


def find(connection: Connection, text: str) -> tuple[Person, Token] | None:
    """Whose token this is: it must work, and its person be active."""
    asked = (
        select(PEOPLE.c.name, PEOPLE.c.role, TOKENS)
        .join(PEOPLE, PEOPLE.c.id == TOKENS.c.person)
        .where(TOKENS.c.digest == digest(text), PEOPLE.c.active)
    )
    row = connection.execute(asked).first()
    if row is None:
        return None
    token = Token(row.id, row.person, row.label, row.made, row.ends, row.revoked)
    return (Person(row.person, row.name, row.role), token) if token.works else None


def owner(connection: Connection, text: str) -> tuple[str, str] | None:
    """Of a token that may work no more: the name of its person, and its id."""
    asked = (
        select(PEOPLE.c.name, TOKENS.c.id)
        .join(PEOPLE, PEOPLE.c.id == TOKENS.c.person)
        .where(TOKENS.c.digest == digest(text))
    )
    row = connection.execute(asked).first()
    return None if row is None else (row.name, row.id)


def of_person(connection: Connection, person: str) -> list[Token]:
    """All tokens of a person, the newest first."""
    asked = select(TOKENS).where(TOKENS.c.person == person).order_by(TOKENS.c.made.desc(), TOKENS.c.id)
    return [
        Token(row.id, row.person, row.label, row.made, row.ends, row.revoked)
        for row in connection.execute(asked)
    ]


def get(connection: Connection, id: str) -> Token | None:
    """The token with this id."""
    row = connection.execute(select(TOKENS).where(TOKENS.c.id == id)).first()
    return None if row is None else Token(row.id, row.person, row.label, row.made, row.ends, row.revoked)


def revoke(connection: Connection, id: str) -> None:
    """This token opens nothing any more."""
    change = update(TOKENS).where(TOKENS.c.id == id, TOKENS.c.revoked.is_(None))
    connection.execute(change.values(revoked=clock.text(clock.now())))


def revoke_all(connection: Connection, person: str) -> None:
    """No token of this person opens anything any more."""
    change = update(TOKENS).where(TOKENS.c.person == person, TOKENS.c.revoked.is_(None))
    connection.execute(change.values(revoked=clock.text(clock.now())))
