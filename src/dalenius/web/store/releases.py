"""What each person asked of each data set: the request as it was settled, and the job that carried it out.

The answers are in the ledger; here stands who may read them again, and which request came twice.
"""

from __future__ import annotations

import datetime
import json
import secrets
from dataclasses import asdict, dataclass

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Index,
    Table,
    Text,
    UniqueConstraint,
    delete,
    func,
    insert,
    literal,
    select,
    text,
    update,
)
from sqlalchemy.exc import IntegrityError

from dalenius.web.store import clock
from dalenius.web.store.subject import METADATA, Subject

RELEASES = Table(
    "console_releases",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("person", Text, nullable=False, index=True),
    Column("dataset", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("said", Text, nullable=False),
    Column("request", Text, nullable=False),
    Column("job", Text),
    Column("asked", Text, nullable=False),
    Column("budget", Text),
    UniqueConstraint("person", "dataset", "key"),
)
"""budget: that of the request once more, so that a list need not look for it in the request."""
CLAIMS = Table(
    "console_claims",
    METADATA,
    Column("person", Text, primary_key=True),
    Column("dataset", Text, primary_key=True),
    Column("word", Text, primary_key=True),
    Column("digest", Text, nullable=False),
    Column("release", Text),
    Column("made", Text, nullable=False),
)
Index("console_claims_made", CLAIMS.c.made)


def _budget_of(request: str) -> str | None:
    """The budget in the text of a request, if it has one."""
    try:
        found = json.loads(request).get("budget")
    except (ValueError, AttributeError, RecursionError):
        return None
    return None if found is None else json.dumps(found)


def _with_budgets(connection: Connection) -> None:
    """Version 2: budgets have a column. Databases refuse to look for one in a text that has Infinity in it."""
    connection.execute(text("ALTER TABLE console_releases ADD COLUMN budget TEXT"))
    one = text("SELECT request FROM console_releases WHERE id = :id")
    kept = text("UPDATE console_releases SET budget = :budget WHERE id = :id")
    for id in connection.execute(text("SELECT id FROM console_releases")).scalars().all():
        budget = _budget_of(connection.execute(one, {"id": id}).scalar_one())
        connection.execute(kept, {"id": id, "budget": budget})


def _found_by_age(connection: Connection) -> None:
    """Version 3: old words are found without a look at all of a week, which every question would take."""
    connection.execute(text("CREATE INDEX IF NOT EXISTS console_claims_made ON console_claims (made)"))


SUBJECT = Subject("releases", (RELEASES, CLAIMS), (_with_budgets, _found_by_age))


KEPT = datetime.timedelta(days=7)
"""So long is a word remembered; nobody repeats a request for longer."""


@dataclass(frozen=True)
class Asked:
    """A request of a person. key: the digest of the ledger's question. job: the last that was given to it, if any."""

    id: str
    person: str
    dataset: str
    key: str
    kind: str
    said: str
    request: str
    job: str | None
    asked: str


@dataclass(frozen=True)
class Claim:
    """A word by which a program knows its own request again."""

    digest: str
    release: str


def new_id() -> str:
    """A name for a request."""
    return secrets.token_hex(12)


def named(connection: Connection, person: str, dataset: str, key: str) -> Asked | None:
    """The person's request of that question, if they asked it before."""
    row = connection.execute(select(*_WHOLE).where(_asked(person, dataset, key))).one_or_none()
    return None if row is None else Asked(**row._mapping)


def keep(
    connection: Connection,
    *,
    id: str,
    person: str,
    dataset: str,
    key: str,
    kind: str,
    said: str,
    request: str,
    job: str | None,
) -> Asked:
    """The person's request of that question: as it stands, or from now on. job: what carries it out now; None where the
    answer is on record."""
    made = Asked(id, person, dataset, key, kind, said, request, job, clock.text(clock.now()))
    if named(connection, person, dataset, key) is None:
        try:
            with connection.begin_nested():
                connection.execute(insert(RELEASES).values(**asdict(made), budget=_budget_of(request)))
        except IntegrityError:  # the same person asked the same at the same time
            pass
        else:
            return made
    connection.execute(update(RELEASES).where(_asked(person, dataset, key)).values(job=job))
    found = named(connection, person, dataset, key)
    assert found is not None
    return found


def get(connection: Connection, person: str, dataset: str, id: str) -> Asked | None:
    """One request of a person; nobody else's."""
    where = (RELEASES.c.id == id) & (RELEASES.c.person == person) & (RELEASES.c.dataset == dataset)
    row = connection.execute(select(*_WHOLE).where(where)).one_or_none()
    return None if row is None else Asked(**row._mapping)


def of_person(connection: Connection, person: str, dataset: str, most: int, skip: int = 0) -> list[Asked]:
    """What a person asked of a data set, the newest first, after so many that are skipped. Of each request only its
    budget: a request may be as long as one may be sent, and a list has a thousand."""
    asked = (
        select(*(_BUDGET if column is RELEASES.c.request else column for column in _WHOLE))
        .where((RELEASES.c.person == person) & (RELEASES.c.dataset == dataset))
        .order_by(RELEASES.c.asked.desc(), RELEASES.c.id)
        .limit(most)
        .offset(skip)
    )
    return [Asked(**row._mapping) for row in connection.execute(asked)]


def claimed(connection: Connection, person: str, dataset: str, word: str) -> Claim | None:
    """What a word stands for, if it was taken before."""
    row = connection.execute(
        select(CLAIMS).where(_own(person, dataset, word), CLAIMS.c.release.is_not(None))
    ).one_or_none()
    return None if row is None else Claim(row.digest, row.release)


def claim(
    connection: Connection, person: str, dataset: str, word: str, digest: str, release: str
) -> Claim | None:
    """Take a word for a request, in the transaction that writes the request; if it was taken before, what for.

    Who comes second with the same word waits here until the first has committed, or was undone: there is no word whose
    request is not there.
    """
    now = clock.now()
    mine = {"person": person, "dataset": dataset, "word": word}
    values = {"digest": digest, "release": release, "made": clock.text(now)}
    connection.execute(delete(CLAIMS).where(CLAIMS.c.made < clock.text(now - KEPT)))
    try:
        with connection.begin_nested():
            connection.execute(insert(CLAIMS).values(**mine, **values))
    except IntegrityError:
        # An earlier version took a word before it read the request, and may have been killed in between.
        unread = _own(person, dataset, word) & CLAIMS.c.release.is_(None)
        if connection.execute(update(CLAIMS).where(unread).values(**values)).rowcount == 1:
            return None
        return claimed(connection, person, dataset, word)
    return None


_WHOLE = [column for column in RELEASES.c if column is not RELEASES.c.budget]
_BUDGET: ColumnElement[str] = (
    literal('{"budget": ') + func.coalesce(RELEASES.c.budget, "null") + literal("}")
).label("request")
"""A request with nothing but its budget."""


def _own(person: str, dataset: str, word: str) -> ColumnElement[bool]:
    return (CLAIMS.c.person == person) & (CLAIMS.c.dataset == dataset) & (CLAIMS.c.word == word)


def _asked(person: str, dataset: str, key: str) -> ColumnElement[bool]:
    return (RELEASES.c.person == person) & (RELEASES.c.dataset == dataset) & (RELEASES.c.key == key)
