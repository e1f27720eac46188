"""The console's record of background work: one row a job. Each function here is a transaction of its own.

A job waits, is begun by a worker, and has an outcome. A worker holds what it has begun under a lease: a token, and a
moment until which others leave it alone. What a worker writes later counts only under its own token, so of two who both
believe that a job is theirs one is heard.

`leaves` is the boundary (`jobs.slots`) before which nobody is told the outcome. It only moves on: by whoever looks at a
job after its boundary and finds no outcome, and by whoever writes the outcome, each in one statement. So nobody is ever
shown an outcome between two boundaries, however long the writing took.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy import Connection

from dalenius.web.jobs.slots import Slots, on_the_tick
from dalenius.web.store.store import Store
from dalenius.web.store.subject import METADATA, Subject

Outcome = Literal["done", "failed", "refused"]

Beside = Callable[[Connection, str], object]

JOBS = sa.Table(
    "console_jobs",
    METADATA,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("dataset", sa.Text, nullable=False),
    sa.Column("person", sa.Text, nullable=False),
    sa.Column("analyst", sa.Text),
    sa.Column("payload", sa.Text, nullable=False),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("submitted", sa.Float(53), nullable=False),
    sa.Column("first", sa.Float(53), nullable=False),
    sa.Column("most", sa.Float(53), nullable=False),
    sa.Column("starts", sa.Float(53)),
    sa.Column("slot", sa.Integer, nullable=False, default=0),
    sa.Column("leaves", sa.Float(53)),
    sa.Column("token", sa.Text),
    sa.Column("lease", sa.Float(53)),
    sa.Column("since", sa.BigInteger),
    sa.Column("attempts", sa.Integer, nullable=False, default=0),
    sa.Column("cancelled", sa.Float(53)),
    sa.Column("outcome", sa.Text),
    sa.Column("answer", sa.Text),
    sa.Column("problem", sa.Text),
)
sa.Index("console_jobs_of_person", JOBS.c.person, JOBS.c.submitted)
sa.Index("console_jobs_by_question", JOBS.c.dataset, JOBS.c.key)
_open = JOBS.c.outcome.is_(None)
sa.Index("console_jobs_open", JOBS.c.submitted, sqlite_where=_open, postgresql_where=_open)

TURNS = sa.Table(
    "console_job_turns",
    METADATA,
    sa.Column("person", sa.Text, primary_key=True),
    sa.Column("served", sa.Float(53), nullable=False),
)
"""When each person's last job was begun: the one who was served longest ago is next."""

SUBJECT = Subject("jobs", (JOBS, TURNS))

WRITING = 0.05
"""Seconds before a boundary by which an outcome must be there, so that it is written when the boundary comes."""

AHEAD = 5.0
"""Seconds by which nothing that was written is later than now, unless the clock was set back."""

CLAIMING = 0x44414C4A
"""Workers begin jobs one after the other, by this advisory lock."""


@dataclass(frozen=True)
class Job:
    """One row. Only `jobs.view` decides what of it is shown."""

    id: str
    kind: str
    dataset: str
    person: str
    analyst: str | None
    payload: str
    key: str
    submitted: float
    first: float
    most: float
    starts: float | None
    slot: int
    leaves: float | None
    token: str | None
    lease: float | None
    since: int | None
    attempts: int
    cancelled: float | None
    outcome: Outcome | None
    answer: str | None
    problem: str | None

    @property
    def slots(self) -> Slots:
        return Slots(self.first, self.most)

    @property
    def content(self) -> Mapping[str, Any]:
        """What was asked."""
        return dict(json.loads(self.payload))

    @property
    def ends(self) -> float:
        """When work on it is given up."""
        assert self.starts is not None
        return self.starts + self.most


def clock(connection: Connection) -> float:
    """The store's own time, the same for all workers."""
    if connection.dialect.name == "postgresql":
        return float(connection.exec_driver_sql("SELECT extract(epoch FROM clock_timestamp())").scalar_one())
    return time.time()


def now(store: Store) -> float:
    """The same, of a store."""
    with store.reading() as connection:
        return clock(connection)


def set_right(store: Store, lease: float) -> None:
    """After the clock was set back: what started later than now, or is held until long after, would be told, or taken
    over, in an hour or a year. It starts now, and leaves as long after its start as it was to. To be done twice, by
    several workers, is the same as once."""
    with store.writing() as connection:
        now = clock(connection)
        later = JOBS.c.starts > now + AHEAD
        started = {"starts": now, "leaves": now + (JOBS.c.leaves - JOBS.c.starts)}
        connection.execute(JOBS.update().where(later).values(**started))
        held = sa.and_(_open, JOBS.c.lease > now + lease + AHEAD)
        connection.execute(JOBS.update().where(held).values(lease=now + lease))
        connection.execute(TURNS.update().where(TURNS.c.served > now).values(served=now))


# -- asking for work --------------------------------------------------------------------------------------


def add(
    store: Store,
    *,
    kind: str,
    dataset: str,
    person: str,
    analyst: str | None,
    payload: Mapping[str, Any],
    key: str,
    slots: Slots,
    beside: Beside | None = None,
) -> Job:
    """A new job, waiting. beside: what is written in the same transaction, given the job's id: both or neither."""
    with store.writing() as connection:
        id = secrets.token_hex(16)
        values = {
            "id": id,
            "kind": kind,
            "dataset": dataset,
            "person": person,
            "analyst": analyst,
            "payload": json.dumps(payload),
            "key": key,
            "submitted": clock(connection),
            "first": slots.first,
            "most": slots.limit,
        }
        if beside is not None:
            beside(connection, id)
        connection.execute(JOBS.insert().values(**values))
        return _got(connection, id)


def count_open(store: Store, person: str) -> int:
    """How many jobs of a person wait or have not left."""
    with store.reading() as connection:
        query = sa.select(sa.func.count()).where(JOBS.c.person == person, _unfinished(clock(connection)))
        return int(connection.execute(query).scalar_one())


def cancel(store: Store, id: str) -> bool:
    """Stop waiting for a job: one that has not begun never will, one that has goes on unseen. False: it had left."""
    with store.writing() as connection:
        now = clock(connection)
        changed = connection.execute(
            JOBS.update()
            .where(JOBS.c.id == id, JOBS.c.cancelled.is_(None), _unfinished(now))
            .values(cancelled=now)
        )
        return changed.rowcount == 1


# -- looking ----------------------------------------------------------------------------------------------


def look(store: Store, id: str, whole: bool = True) -> tuple[Job, float] | None:
    """A job and the time; where its boundary passed without an outcome, with the next boundary.

    whole: else without what was asked and answered, which may be long.
    """
    with store.reading() as connection:
        job, now = _found(connection, id, whole), clock(connection)
    if job is None or job.leaves is None or job.outcome is not None or now < job.leaves:
        return None if job is None else (job, now)
    with store.writing() as connection:
        now = clock(connection)
        _move_on(connection, job, now, JOBS.c.outcome.is_(None))
        return _got(connection, id, whole), now


def of_person(store: Store, person: str, most: int) -> tuple[list[Job], float]:
    """The last jobs of a person, and the time; without what was asked and answered, which may be long."""
    with store.reading() as connection:
        newest = JOBS.c.submitted.desc()
        query = sa.select(JOBS.c.id).where(JOBS.c.person == person).order_by(newest).limit(most)
        ids = list(connection.execute(query).scalars())
        now = clock(connection)
    seen: list[Job] = []
    for id in ids:
        if (found := look(store, id, whole=False)) is not None:
            job, now = found[0], max(now, found[1])
            seen.append(job)
    return seen, now


def still_waiting(store: Store, ids: list[str]) -> set[str]:
    """Those of some jobs that have not begun."""
    with store.reading() as connection:
        return set(connection.execute(sa.select(JOBS.c.id).where(JOBS.c.id.in_(ids), _waiting())).scalars())


def is_held(store: Store, dataset: str, key: str) -> bool:
    """Whether work on a question has begun and not left: its answer, if it is on record, must not be told yet. Once it
    was told it is told for ever."""
    given: dict[str, Any] = {"dataset": dataset, "key": key}
    with store.reading() as connection:
        if store.is_postgres:
            return connection.execute(_HELD_BY_ITS_CLOCK, given).first() is not None
        return connection.execute(_HELD, {**given, "now": clock(connection)}).first() is not None


def held_keys(store: Store, dataset: str) -> frozenset[str]:
    """The keys of all questions of a data set whose answers must not be told yet."""
    with store.reading() as connection:
        now = clock(connection)
        held = (_under_way(JOBS, now), ~_was_told(JOBS, now))
        query = sa.select(JOBS.c.key).where(JOBS.c.dataset == dataset, *held)
        return frozenset(connection.execute(query).scalars())


def census(store: Store) -> dict[str, int]:
    """How many jobs were asked for, wait, are between their start and their leaving, or have left: the schedule of the
    work, not the work.
    """
    with store.reading() as connection:
        now = clock(connection)
        under_way, waiting = _under_way(JOBS, now), _waiting()
        counted = sa.select(
            sa.func.count(),
            sa.func.coalesce(sa.func.sum(sa.case((waiting, 1), else_=0)), 0),
            sa.func.coalesce(sa.func.sum(sa.case((under_way, 1), else_=0)), 0),
        ).select_from(JOBS)
        submitted, waits, runs = (int(number) for number in connection.execute(counted).one())
    return {"submitted": submitted, "waiting": waits, "under_way": runs, "left": submitted - waits - runs}


# -- working ----------------------------------------------------------------------------------------------


def begin(store: Store, lease: float, tick: float, take_over: bool) -> Job | None:
    """The next job, under a lease of ours: one whose worker is gone, or the next that waits.

    Next is the first job of the person who was served longest ago. A question that is under way is not begun a second
    time: whoever asks the same waits until the first has left. Then all of them leave at once, without a lane: one
    after the other, a slot each, two hundred people with one question would keep everybody waiting.
    """
    with store.reading() as connection:  # most of the time there is nothing to do, and no need for the lock
        now = clock(connection)
        told = connection.execute(sa.select(JOBS.c.id).where(_may_leave(now)).limit(1)).first()
        if told is None and _next(connection, now, take_over) is None:
            return None
    with store.writing() as connection:
        if store.is_postgres:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({CLAIMING})")
        now = clock(connection)
        if told is not None:  # their answer is that of the record, and is made when they look
            leaving = {"starts": now, "leaves": now, "outcome": "done"}
            connection.execute(JOBS.update().where(_may_leave(now)).values(**leaving))
        job = _next(connection, now, take_over)
        if job is None:
            return None
        values: dict[str, Any] = {
            "token": secrets.token_hex(16),
            "lease": now + lease,
            "attempts": JOBS.c.attempts + 1,
        }
        if job.starts is None:
            starts = on_the_tick(now, tick)
            values |= {"starts": starts, "leaves": starts + job.first}
            _serve(connection, job.person, now)
        # Whoever cancelled it at this moment, before it began, was told that it never will.
        waits = sa.or_(JOBS.c.starts.is_not(None), JOBS.c.cancelled.is_(None))
        begun = connection.execute(JOBS.update().where(JOBS.c.id == job.id, waits).values(**values))
        return _got(connection, job.id) if begun.rowcount else None


def renew(store: Store, tokens: list[str], lease: float) -> None:
    """Keep leases for longer."""
    if tokens:
        with store.writing() as connection:
            until = clock(connection) + lease
            connection.execute(JOBS.update().where(JOBS.c.token.in_(tokens), _open).values(lease=until))


def note(store: Store, job: Job, since: int) -> bool:
    """Keep where the ledger stood before work on a job; False if the job is no longer ours."""
    with store.writing() as connection:
        changed = connection.execute(JOBS.update().where(_ours(job)).values(since=since))
        return changed.rowcount == 1


def give_back(store: Store, job: Job, wait: float) -> None:
    """Let anybody try again, a little later: nothing was found out, and nothing is held against the job."""
    with store.writing() as connection:
        values = {"token": None, "lease": clock(connection) + wait, "attempts": JOBS.c.attempts - 1}
        connection.execute(JOBS.update().where(_ours(job)).values(**values))


def finish(store: Store, job: Job, outcome: Outcome, answer: str | None, problem: str | None) -> float | None:
    """Keep the outcome, to leave at the next boundary: in so many seconds. None if the job is no longer ours."""
    with store.writing() as connection:
        now = clock(connection)
        values = {"outcome": outcome, "answer": answer, "problem": problem, "token": None, "lease": None}
        started = (
            sa.select(JOBS.c.starts).where(JOBS.c.id == job.id).with_for_update()
        )  # it may be set right by now
        job = replace(job, starts=connection.execute(started).scalar_one())
        changed = _move_on(connection, job, now + WRITING, _ours(job), **values)
        return (_got(connection, job.id, whole=False).leaves or now) - now if changed else None


# -- inside -----------------------------------------------------------------------------------------------


def _move_on(connection: Connection, job: Job, now: float, where: Any, **values: Any) -> bool:
    """The boundary that follows this moment, unless a later one was settled; in one statement."""
    assert job.starts is not None
    k = job.slots.index(now - job.starts)
    later = JOBS.c.slot > k
    values["slot"] = sa.case((later, JOBS.c.slot), else_=k)
    values["leaves"] = sa.case((later, JOBS.c.leaves), else_=job.starts + job.slots.boundary(k))
    return connection.execute(JOBS.update().where(JOBS.c.id == job.id, where).values(**values)).rowcount == 1


def _ours(job: Job) -> sa.ColumnElement[bool]:
    return sa.and_(JOBS.c.id == job.id, JOBS.c.token == job.token, _open)


def _under_way(table: Any, now: Any) -> sa.ColumnElement[bool]:
    return sa.and_(table.c.starts.is_not(None), sa.or_(table.c.outcome.is_(None), table.c.leaves > now))


def _was_told(table: Any, now: Any) -> sa.ColumnElement[bool]:
    """Whether an answer to the same question has left: it is on record for ever, and whoever asks has it at once."""
    told = JOBS.alias("told")
    return sa.exists().where(
        told.c.dataset == table.c.dataset,
        told.c.key == table.c.key,
        told.c.outcome == "done",
        told.c.leaves <= now,
    )


def _may_leave(now: Any) -> sa.ColumnElement[bool]:
    return sa.and_(_waiting(), _open, _was_told(JOBS, now))


def _unfinished(now: float) -> sa.ColumnElement[bool]:
    return sa.or_(_waiting(), _under_way(JOBS, now))


def _waiting() -> sa.ColumnElement[bool]:
    return sa.and_(JOBS.c.starts.is_(None), JOBS.c.cancelled.is_(None))


def _next(connection: Connection, now: float, take_over: bool) -> Job | None:
    gone = JOBS.select().where(JOBS.c.starts.is_not(None), _open, JOBS.c.lease < now)
    if not take_over:  # what was given back is nobody's, whoever may be taken for gone
        gone = gone.where(JOBS.c.token.is_(None))
    row = connection.execute(gone.order_by(JOBS.c.lease).limit(1)).first()
    if row is not None:
        return _read(row)
    first = JOBS.alias("first")
    same = sa.exists().where(
        first.c.dataset == JOBS.c.dataset,
        first.c.key == JOBS.c.key,
        first.c.id != JOBS.c.id,
        _under_way(first, now),
    )
    waiting = (
        sa.select(JOBS)
        .join(TURNS, TURNS.c.person == JOBS.c.person, isouter=True)
        .where(JOBS.c.starts.is_(None), _open, JOBS.c.cancelled.is_(None), ~same)
        .order_by(sa.func.coalesce(TURNS.c.served, 0.0), JOBS.c.submitted, JOBS.c.id)
        .limit(1)
    )
    row = connection.execute(waiting).first()
    return None if row is None else _read(row)


def _serve(connection: Connection, person: str, now: float) -> None:
    """Nobody else begins a job at this moment (`begin`), so this needs no upsert."""
    if connection.execute(TURNS.update().where(TURNS.c.person == person).values(served=now)).rowcount == 0:
        connection.execute(TURNS.insert().values(person=person, served=now))


def _read(row: Any) -> Job:
    return Job(**row._mapping)


def _found(connection: Connection, id: str, whole: bool = True) -> Job | None:
    row = connection.execute((JOBS.select() if whole else _BRIEF).where(JOBS.c.id == id)).first()
    return None if row is None else _read(row)


def _got(connection: Connection, id: str, whole: bool = True) -> Job:
    found = _found(connection, id, whole)
    assert found is not None
    return found


_SHORT: dict[str, sa.ColumnElement[Any]] = {
    "payload": sa.literal_column("'{}'").label("payload"),
    "answer": sa.case((JOBS.c.answer.is_not(None), sa.literal_column("'null'"))).label("answer"),
}
_BRIEF = sa.select(*(_SHORT.get(column.name, column) for column in JOBS.c))
"""A job as `look` has it that is not whole: something stands for an answer where there is one."""


def _held(now: Any) -> sa.Select[Any]:
    asked = (JOBS.c.dataset == sa.bindparam("dataset"), JOBS.c.key == sa.bindparam("key"))
    return sa.select(sa.literal(1)).where(*asked, _under_way(JOBS, now), ~_was_told(JOBS, now)).limit(1)


_HELD = _held(sa.bindparam("now", type_=sa.Float(53)))
_HELD_BY_ITS_CLOCK = _held(sa.extract("epoch", sa.func.clock_timestamp()).cast(sa.Float(53)))
"""Made once: every answer from the record asks them."""
