"""What is done to people: each with its line in the audit log, for the page and the API alike."""

from __future__ import annotations

from dataclasses import dataclass

from dalenius.errors import InvalidParameter
from dalenius.web.problems import Problem
from dalenius.web.store import Store, audit, people, sign_ins, tokens
from dalenius.web.store.people import Person
from dalenius.web.store.tokens import Token

MOST_TOKENS = 50
"""Of one person at the same time."""


@dataclass(frozen=True)
class Known:
    """A person with their tokens."""

    person: Person
    active: bool
    made: str
    tokens: list[Token]


def known(store: Store, id: str | None = None) -> list[Known]:
    """Everyone, or one."""
    with store.reading() as connection:
        entries = people.everyone(connection) if id is None else [_entry(store, id)]
        return [
            Known(each.person, each.active, each.made, tokens.of_person(connection, each.person.id))
            for each in entries
        ]


def add(store: Store, by: Person | None, name: str, role: str, days: float) -> tuple[Person, Token, str]:
    """A new person with a first token; its text is told this once."""
    with store.writing() as connection:
        person = people.add(connection, name, role)
        token, text = tokens.make(connection, person.id, "first", days)
        audit.note(connection, by, "added a person", person.name, role=role, token=token.id)
    return person, token, text


def new_token(
    store: Store, by: Person | None, id: str, label: str, days: float, longest: int
) -> tuple[Token, str]:
    """One more token of a person."""
    if not 0 < days <= longest:
        raise InvalidParameter.of("days", f"a token works for 1 to {longest} days; ask for so many.")
    if not label.isprintable():
        raise InvalidParameter.of(
            "label", "the label holds a character that cannot be printed; leave it out."
        )
    entry = _entry(store, id)
    if not entry.active:
        raise InvalidParameter(f"{entry.person.name} is closed out; let them in again first.")
    with store.writing() as connection:
        if sum(each.works for each in tokens.of_person(connection, id)) >= MOST_TOKENS:
            raise InvalidParameter(
                f"{entry.person.name} has {MOST_TOKENS} tokens that work; revoke some first."
            )
        token, text = tokens.make(connection, id, label, days)
        audit.note(connection, by, "made a token", entry.person.name, token=token.id)
    return token, text


def revoke(store: Store, by: Person, token_id: str, owner: str | None = None) -> Token:
    """A token that opens nothing any more, nor do the sign-ins made with it. owner: it must be theirs."""
    with store.writing() as connection:
        token = tokens.get(connection, token_id)
        if token is None or owner not in (None, token.person):
            raise Problem(404, "there is no such token.")
        tokens.revoke(connection, token_id)
        found = people.get(connection, token.person)
        audit.note(connection, by, "revoked a token", found.person.name if found else "", token=token_id)
    return token


def sign_out_everywhere(store: Store, by: Person, id: str) -> None:
    """All browsers in which a person is signed in are signed out."""
    entry = _entry(store, id)
    with store.writing() as connection:
        sign_ins.end_all(connection, id)
        audit.note(connection, by, "signed out everywhere", entry.person.name)


def set_active(store: Store, by: Person, id: str, active: bool) -> None:
    """Close a person out: tokens and sign-ins end for good. Or let them in again, to be given a new token."""
    entry = _entry(store, id)
    with store.writing() as connection:
        people.set_active(connection, id, active)
        if not active:
            tokens.revoke_all(connection, id)
            sign_ins.end_all(connection, id)
        audit.note(connection, by, "let in again" if active else "closed out", entry.person.name)


def note_refusal(store: Store, text: str) -> None:
    """That somebody came with a token that does not work: whose it was, if it was anybody's, and never its text.

    The limit on failures is asked before, so a stranger cannot fill the log.
    """
    with store.writing() as connection:
        name, id = tokens.owner(connection, text) or ("", "")
        audit.note(
            connection,
            audit.SOMEBODY,
            "was refused: the token does not work",
            name,
            **({"token": id} if id else {}),
        )


def _entry(store: Store, id: str) -> people.Entry:
    with store.reading() as connection:
        entry = people.get(connection, id)
    if entry is None:
        raise Problem(404, "there is no such person.")
    return entry
