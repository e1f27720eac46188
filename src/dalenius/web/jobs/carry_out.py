"""One piece of work, from what the ledger knows of it to its outcome."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from dalenius.errors import DaleniusError, EngineFailed, LedgerError
from dalenius.session.entries import digest
from dalenius.session.session import Session
from dalenius.web.jobs import charged
from dalenius.web.jobs.kinds import kind_of
from dalenius.web.jobs.slots import Slots
from dalenius.web.store.store import StoreUnusable

Opener = Callable[[str, str | None], Session]
"""The session of a data set, for an analyst."""

TOO_LONG = "it could not be carried out in the time it has; nothing was charged. Ask for less at a time."

CHANGED = (
    "what is public about the data was changed since this was asked, which makes it another question; nothing was "
    "charged. Ask again."
)


@dataclass(frozen=True)
class Work:
    """What a worker needs to know of a job."""

    kind: str
    dataset: str
    analyst: str | None
    payload: dict[str, Any]
    key: str
    since: int | None
    """Where the ledger stood before anyone worked on it; None: nobody has."""
    slots: Slots
    starts: float
    """When it started, on this machine's monotonic clock, which all processes share."""
    settle: bool = False
    """Whether its time is over: it is only settled what became of it."""

    def wait_to_charge(self) -> None:
        """Until the next moment for a charge: how long it took to open the data does not show in it."""
        now = time.monotonic()
        moment = self.starts + self.slots.charge(max(0.0, now - self.starts))
        time.sleep(max(0.0, moment - now))


@dataclass(frozen=True)
class Result:
    """`again`: nothing is known, since the ledger could not be asked; try later."""

    outcome: Literal["done", "failed", "refused", "again"]
    answer: str | None = None
    problem: str | None = None


def carry_out(work: Work, opener: Opener, note: Callable[[int], bool]) -> Result:
    """The outcome of a piece of work.

    A charge is made at most once for it. If the ledger has one that came after `since` and no answer, noise was drawn
    for it, or may have been: it is never drawn again under that charge, so the work has failed.

    note: keeps where the ledger stands, for those who may have to take over; False if somebody did already.
    """
    since = work.since
    try:
        session = opener(work.dataset, work.analyst)
        if since is None:
            since = charged.head(session.account)
            if not note(since):
                return Result("again")
        before = charged.standing(session.account, work.key, since)
    except (LedgerError, StoreUnusable):
        return Result("again")
    except Exception as problem:
        # The data cannot be opened, or no longer by this analyst.
        refused = Result("refused", problem=words(problem))
        return refused if since is None else _settled(work, opener, since, refused)
    if before == "charged":
        return Result("failed")
    if work.settle and before == "nothing":
        return Result("refused", problem=TOO_LONG)
    try:
        kind = kind_of(work.kind)
        if digest(kind.question(session, work.payload)) != work.key:
            # It would be charged under a key that nobody holds back, and by which nobody finds it again.
            return Result("refused", problem=CHANGED) if before == "nothing" else Result("failed")
        if before == "nothing":
            work.wait_to_charge()
        return Result("done", answer=kind.run(session, work.payload))
    except (LedgerError, StoreUnusable):
        unless_charged = Result("again")
    except Exception as problem:
        unless_charged = Result("refused", problem=words(problem))
    try:
        after = charged.standing(session.account, work.key, since)
    except Exception:
        return Result("again")
    return unless_charged if after == "nothing" else Result("failed")


def _settled(work: Work, opener: Opener, since: int, unless_charged: Result) -> Result:
    """Failed if it was charged, as anybody sees who may look at the account."""
    try:
        found = charged.standing(opener(work.dataset, None).account, work.key, since)
    except Exception:
        return Result("again")
    return Result("failed") if found == "charged" else unless_charged


def words(problem: Exception) -> str | None:
    """What may be told of a problem that came before the charge: our own words, which are of public facts."""
    ours = isinstance(problem, DaleniusError) and not isinstance(problem, EngineFailed)
    return str(problem) if ours else None
