"""Background work as the rest of the console sees it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import Any
from weakref import WeakKeyDictionary

from dalenius.errors import InvalidParameter
from dalenius.session.entries import digest
from dalenius.session.session import Session
from dalenius.web.jobs import record
from dalenius.web.jobs.carry_out import Opener
from dalenius.web.jobs.kinds import Kind, kind_of
from dalenius.web.jobs.record import Job
from dalenius.web.jobs.slots import Slots
from dalenius.web.jobs.view import shown, state
from dalenius.web.jobs.watch import Watch
from dalenius.web.jobs.workers import Pace, Workers
from dalenius.web.problems import Problem
from dalenius.web.store import datasets
from dalenius.web.store.store import Store

MOST_OPEN = 50
"""Jobs of one person that wait or are under way."""

MOST_WAITING = 100
"""Requests of one person that wait for jobs, in one process."""

LONGEST_WAIT = 60.0
"""Seconds that one request may wait for a job."""

WEIGHTIEST = 1e4


async def _never() -> None:
    """Whoever waits stays."""
    await asyncio.Event().wait()


class Jobs:
    """Background work: ask for it, look at it, stop waiting for it.

    Parameters
    ----------
    store
        The console's own record.
    opener
        Gives the session of a data set for an analyst. Where work runs in processes it must be picklable.
    slot
        Seconds of the first slot of an ordinary question; of one data set where a function of its name is given. Longer
        than the work takes.
    limit
        Seconds after which work is given up.
    pace
        How many lanes, and how they are kept.
    """

    def __init__(
        self,
        store: Store,
        opener: Opener,
        *,
        slot: float | Callable[[str], float] = 2.0,
        limit: float = 3600.0,
        pace: Pace | None = None,
    ) -> None:
        self.store, self.opener, self.limit = store, opener, limit
        self.slot = slot
        self._watches: WeakKeyDictionary[asyncio.AbstractEventLoop, Watch] = WeakKeyDictionary()
        self._waiting: Counter[str] = Counter()
        """Requests that wait, by person: of the one event loop of a process."""
        self.workers = Workers(store, opener, pace or Pace())

    def slots(self, dataset: str, weight: float) -> Slots:
        """The slots of a question of a data set, from public facts."""
        if not 0 < weight <= WEIGHTIEST:
            raise InvalidParameter(
                f"the work is {weight:g} times that of an ordinary question; ask for less at a time."
            )
        first = (self.slot(dataset) if callable(self.slot) else self.slot) * max(1.0, weight)
        return Slots(first, max(self.limit, first))

    def submit(
        self,
        kind: Kind | str,
        dataset: str,
        person: str,
        payload: Mapping[str, Any],
        analyst: str | None = None,
        beside: record.Beside | None = None,
    ) -> Job:
        """Ask for work; it is refused here, with nothing charged, where public facts already say so.

        Parameters
        ----------
        kind
            What kind of work, or its tag.
        dataset
            Of which data set.
        person
            Whose job it is: the id of a person.
        payload
            What is asked, as JSON.
        analyst
            Who asks, in the ledger.
        beside
            Writes what belongs to the job, in its transaction: where that fails, there is no job.

        Returns
        -------
        Job
            It waits.

        Raises
        ------
        InvalidParameter
            If it cannot be asked, or this person has too many jobs under way.
        """
        kind = kind_of(kind) if isinstance(kind, str) else kind
        payload = json.loads(json.dumps(payload))
        session = self.opener(dataset, analyst)
        key = digest(kind.question(session, payload))
        slots = self.slots(dataset, kind.plan(session, payload))
        if record.count_open(self.store, person) >= MOST_OPEN:
            raise InvalidParameter(
                f"{MOST_OPEN} questions of yours wait or are under way; wait until some have left, or cancel some."
            )
        job = record.add(
            self.store,
            kind=kind.tag,
            dataset=dataset,
            person=person,
            analyst=analyst,
            payload=payload,
            key=key,
            slots=slots,
            beside=beside,
        )
        self.workers.wake.set()
        return job

    # -- what is on record, as far as anyone is told --------------------------------------------------

    def in_flight(self, dataset: str, question: str) -> bool:
        """Whether work on a question has begun and its outcome has not left: then nothing about it is told."""
        return record.is_held(self.store, dataset, digest(question))

    def held(self, dataset: str) -> frozenset[str]:
        """The keys of all such questions of a data set."""
        return record.held_keys(self.store, dataset)

    def recorded(self, session: Session, dataset: str, question: str) -> str | None:
        """The answer on record, if it may be told.

        The record is asked first. Work that records an answer between the two looks is then seen to be under way.
        """
        answer = session.account.recorded(question)
        return None if answer is None or self.in_flight(dataset, question) else answer

    # -- jobs -----------------------------------------------------------------------------------------

    def look(self, id: str, person: str) -> dict[str, Any] | None:
        """A job of a person, as it is shown; None where they have no such job."""
        found = record.look(self.store, id)
        return None if found is None or found[0].person != person else self._told(*found)

    def stands(self, id: str, person: str) -> dict[str, Any] | None:
        """The same without the answer: where it is."""
        found = record.look(self.store, id, whole=False)
        if found is None or found[0].person != person:
            return None
        return {word: value for word, value in shown(*found, answer="null").items() if word != "answer"}

    async def wait(
        self, id: str, person: str, seconds: float, gone: Callable[[], Coroutine[Any, Any, None]] = _never
    ) -> dict[str, Any] | None:
        """A job as it is shown, once it has left, or after so many seconds, or when whoever waits has gone.

        gone: comes back then. Nobody is told anything sooner by it.
        """
        if seconds > 0:
            with self._one_of_those_who_wait(person):
                await _first_of(self._left(id, person, seconds), gone())
        return await asyncio.to_thread(self.look, id, person)

    @contextlib.contextmanager
    def _one_of_those_who_wait(self, person: str) -> Iterator[None]:
        """Each keeps a connection, of which this process has some hundreds for everybody."""
        if self._waiting[person] >= MOST_WAITING:
            raise Problem(
                429,
                f"{MOST_WAITING} requests of yours wait for jobs already.",
                headers={"Retry-After": "5"},
            )
        self._waiting[person] += 1
        try:
            yield
        finally:
            self._waiting[person] -= 1
            if not self._waiting[person]:
                del self._waiting[person]

    async def _left(self, id: str, person: str, seconds: float) -> None:
        """Come back when a job has left, or after so many seconds."""
        deadline = time.monotonic() + min(seconds, LONGEST_WAIT)
        while True:
            found = await asyncio.to_thread(record.look, self.store, id, whole=False)
            if found is None or found[0].person != person:
                return
            job, now = found
            left = deadline - time.monotonic()
            if state(job, now) not in ("waiting", "running") or left <= 0:
                return
            if job.leaves is None:
                await self._watch().begun(id, left)
            else:  # to the boundary, not in steps: what is seen must not depend on when somebody looked
                await asyncio.sleep(min(left, max(job.leaves - now + 0.002, 0.002)))

    def _watch(self) -> Watch:
        loop = asyncio.get_running_loop()
        if loop not in self._watches:
            self._watches[loop] = Watch(self.store, self.workers.pace.poll)
        return self._watches[loop]

    def list(self, person: str, most: int = 100) -> list[dict[str, Any]]:
        """The last jobs of a person, the newest first, without their answers."""
        found, now = record.of_person(self.store, person, most)
        return [told for job in found if (told := self._told(job, now, listed=True)) is not None]

    def cancel(self, id: str, person: str) -> dict[str, Any] | None:
        """Stop waiting: what was charged stays charged, and whether work was done is not told."""
        found = record.look(self.store, id, whole=False)
        if found is None or found[0].person != person:
            return None
        record.cancel(self.store, id)
        return self.look(id, person)

    def _told(self, job: Job, now: float, listed: bool = False) -> dict[str, Any] | None:
        """As it is shown; None where it holds an answer, and whoever asked may no longer ask: nor may they look.

        listed: one of many, without its answer.
        """
        answer = job.answer
        if state(job, now) == "done":
            if job.analyst is not None:
                with self.store.reading() as connection:
                    if not datasets.may_ask(connection, job.dataset, job.analyst):
                        return None
            if listed:
                answer = "null"
            elif answer is None:
                answer = self._on_record(job)
        return shown(job, now, answer)

    def _on_record(self, job: Job) -> str | None:
        """The answer of a job that left without a lane, since somebody else had been told it."""
        session, kind, asked = self.opener(job.dataset, job.analyst), kind_of(job.kind), job.content
        same = digest(kind.question(session, asked)) == job.key  # what is public may have changed since
        return kind.on_record(session, asked) if same else None


async def _first_of(*ways: Coroutine[Any, Any, None]) -> None:
    """Come back with the first of them, and end the others."""
    tasks = [asyncio.ensure_future(way) for way in ways]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()
