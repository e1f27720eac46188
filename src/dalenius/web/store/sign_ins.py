"""Sign-ins: a browser that showed a token once. What the cookie holds is kept as its SHA-256 alone.

A sign-in ends with its time, when it was idle for too long, when its token is revoked or runs out, or when it is ended.
"""

from __future__ import annotations

import secrets

from sqlalchemy import Column, Connection, ForeignKey, Table, Text, delete, insert, select, update

from dalenius.web.store import clock
from dalenius.web.store.people import PEOPLE, Person
from dalenius.web.store.subject import METADATA, Subject
from dalenius.web.store.tokens import TOKENS, Token, digest

SIGN_INS = Table(
    "console_sign_ins",
    METADATA,
    Column("digest", Text, primary_key=True),
    Column("person", Text, ForeignKey("console_people.id"), nullable=False, index=True),
    Column("token", Text, ForeignKey("console_tokens.id"), nullable=False, index=True),
    Column("made", Text, nullable=False),
    Column("ends", Text, nullable=False),
    Column("seen", Text, nullable=False),
)
SUBJECT = Subject("sign_ins", (SIGN_INS,))

FRESH = 60
"""Seconds after which a use is written down again."""


def start(connection: Connection, token: Token, hours: float) -> str:
    """A new sign-in; what its cookie holds. Those that are over are swept out."""
    moment = clock.text(clock.now())
    connection.execute(delete(SIGN_INS).where(SIGN_INS.c.ends <= moment))
    secret = secrets.token_urlsafe(32)
    row = {"digest": digest(secret), "person": token.person, "token": token.id, "made": moment}
    ends = min(clock.after(hours=hours), token.ends)
    connection.execute(insert(SIGN_INS).values(**row, ends=ends, seen=moment))
    return secret


def find(connection: Connection, secret: str, idle_minutes: float) -> tuple[Person, bool] | None:
    """Who is signed in by this cookie, and whether the use is to be written down (`see`)."""
    moment = clock.text(clock.now())
    asked = (
        select(PEOPLE.c.id, PEOPLE.c.name, PEOPLE.c.role, SIGN_INS.c.seen)
        .join(PEOPLE, PEOPLE.c.id == SIGN_INS.c.person)
        .join(TOKENS, TOKENS.c.id == SIGN_INS.c.token)
        .where(
            SIGN_INS.c.digest == digest(secret),
            SIGN_INS.c.ends > moment,
            SIGN_INS.c.seen > clock.after(minutes=-idle_minutes),
            TOKENS.c.revoked.is_(None),
            PEOPLE.c.active,
        )
    )
    row = connection.execute(asked).first()
    if row is None:
        return None
    return Person(row.id, row.name, row.role), row.seen < clock.after(seconds=-FRESH)


def see(connection: Connection, secret: str) -> None:
    """It was used now."""
    change = update(SIGN_INS).where(SIGN_INS.c.digest == digest(secret))
    connection.execute(change.values(seen=clock.text(clock.now())))


def end(connection: Connection, secret: str) -> None:
    """This one is over."""
    connection.execute(delete(SIGN_INS).where(SIGN_INS.c.digest == digest(secret)))


def end_all(connection: Connection, person: str) -> None:
    """All of a person are over."""
    connection.execute(delete(SIGN_INS).where(SIGN_INS.c.person == person))
