"""The workers of one server process: they begin jobs, keep their leases, and take over those of workers that are gone.

A lane is occupied from the start of a job to the boundary at which it leaves, however soon the work was done. So when
the next job begins depends on the schedule, not on how long the last one took.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from dalenius.core import checks
from dalenius.errors import InvalidParameter
from dalenius.web.jobs import record
from dalenius.web.jobs.carry_out import Opener, Result, Work
from dalenius.web.jobs.lanes import LANES, Ended, Lane
from dalenius.web.jobs.record import Job
from dalenius.web.store.store import Store, StoreBusy, StoreUnusable

T = TypeVar("T")

log = logging.getLogger("dalenius.web.jobs")

TRIES = 3
"""How often work is begun that ends its worker before anything is charged."""

SETTLING = 60.0
"""Seconds to find out what became of work whose time is over."""

LATER = 2.0
"""Seconds until work is tried again that found no ledger."""


@dataclass(frozen=True)
class Pace:
    """How the workers of a process go about it.

    Parameters
    ----------
    lanes
        How many jobs are under way at a time, in this process.
    lease
        Seconds after which others take over from a worker that is not heard of.
    tick
        Jobs start at multiples of so many seconds.
    poll
        Seconds between looks into the store for jobs that other processes were given.
    isolation
        "process" or "thread".
    """

    lanes: int = 2
    lease: float = 15.0
    tick: float = 0.1
    poll: float = 0.2
    isolation: str = "process"

    def __post_init__(self) -> None:
        checks.count("lanes", self.lanes, 0)
        for name in ("lease", "tick", "poll"):
            checks.positive(name, getattr(self, name))
        if self.isolation not in LANES:
            raise InvalidParameter(f"isolation is {self.isolation!r}; it must be one of {', '.join(LANES)}.")


class Workers:
    """Threads that work, each with a lane of its own."""

    def __init__(self, store: Store, opener: Opener, pace: Pace) -> None:
        self.store, self.pace = store, pace
        self.lanes: list[Lane] = [LANES[pace.isolation](opener) for _ in range(pace.lanes)]
        self.threads: list[threading.Thread] = []
        self.tokens: set[str] = set()
        self.stopping, self.wake, self.turn = threading.Event(), threading.Event(), threading.Lock()
        self.steady_since = time.monotonic()
        """Since when the store answered whenever it was asked, soon, and by a steady clock. After anything else
        everybody's lease is over, also that of workers who are well: they get the time of one lease to renew it."""
        self.ahead: float | None = None
        """How far the store's clock was ahead of this machine's monotonic one, which nobody sets."""

    def start(self) -> None:
        """Begin to work."""
        self.threads = [
            threading.Thread(target=self._lane, args=(lane,), name="dalenius lane", daemon=True)
            for lane in self.lanes
        ]
        self.threads.append(threading.Thread(target=self._renew, name="dalenius leases", daemon=True))
        for thread in self.threads:
            thread.start()

    def stop(self, patience: float = 30.0) -> None:
        """End what is done or waits; what is computed may go on for a while, and is then ended."""
        self.stopping.set()
        self.wake.set()
        deadline = time.monotonic() + patience
        for thread in self.threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        for lane in self.lanes:
            lane.close()

    @property
    def alive(self) -> bool:
        """Whether all threads are there."""
        return all(thread.is_alive() for thread in self.threads)

    # -- inside ---------------------------------------------------------------------------------------

    def _renew(self) -> None:
        pause = self.pace.lease / 5
        while not self.stopping.wait(pause) or self.tokens:
            self._stored(lambda: record.renew(self.store, sorted(self.tokens), self.pace.lease))
            if self.stopping.is_set():  # what is computed may go on for a while
                time.sleep(min(0.2, pause))

    def _lane(self, lane: Lane) -> None:
        while not self.stopping.is_set():
            try:
                lane.warm()  # before a job is begun: a start is no part of its time
                with self.turn:  # one looks for all: an idle server asks the store rarely
                    job = self._next()
                if job is not None:
                    self._work(lane, job)
            except Exception as problem:  # a worker must not end; what it says may be of the data
                log.error("a worker met %s", type(problem).__name__)
                self.stopping.wait(1.0)

    def _next(self) -> Job | None:
        while not self.stopping.is_set():
            self.wake.clear()
            job = self._stored(self._begun)
            if isinstance(job, Job):
                return job
            self.wake.wait(self.pace.poll)
        return None

    def _begun(self) -> Job | None:
        self._look_at_clock()
        take_over = time.monotonic() - self.steady_since > self.pace.lease
        return record.begin(self.store, self.pace.lease, self.pace.tick, take_over)

    def _look_at_clock(self) -> None:
        before, ahead = self.ahead, record.now(self.store) - time.monotonic()
        if before is not None and abs(ahead - before) > self.pace.lease / 2:
            self.steady_since = time.monotonic()
        # It may also have been set back before we came. Where the store cannot be written now, it is done next time.
        if before is None or ahead < before - record.AHEAD:
            record.set_right(self.store, self.pace.lease)
        self.ahead = ahead

    def _work(self, lane: Lane, job: Job) -> None:
        assert job.token is not None
        assert job.lease is not None
        token, begun = job.token, job.lease - self.pace.lease
        self.tokens.add(token)
        try:
            assert job.starts is not None
            starts = time.monotonic() + job.starts - begun
            result = self._result(lane, job, starts)
            seconds = self._finished(job, result)
        finally:
            self.tokens.discard(token)
        if seconds is not None:
            worked = time.monotonic() - starts
            most = (
                job.slots.boundary(job.slots.index(worked) + 2) - worked
            )  # unless the clock was set meanwhile
            self.stopping.wait(max(0.0, min(seconds, most)))

    def _result(self, lane: Lane, job: Job, starts: float) -> Result:
        """The outcome; work that ended its lane is settled, or, where nothing was charged, tried once more."""
        asked = dict(job.content)
        work = Work(job.kind, job.dataset, job.analyst, asked, job.key, job.since, job.slots, starts)
        since, deadline = job.since, starts + job.most

        def note(seq: int) -> bool:
            nonlocal since
            kept = self._stored(lambda: record.note(self.store, job, seq)) is True
            since = seq if kept else since
            return kept

        for attempt in range(job.attempts, job.attempts + TRIES + 1):
            over = attempt > TRIES or time.monotonic() >= deadline
            with contextlib.suppress(Ended):
                now = replace(work, since=since, settle=over)
                return lane.run(now, note, time.monotonic() + SETTLING if over else deadline)
        return Result("again")

    def _finished(self, job: Job, result: Result) -> float | None:
        """Keep the outcome, as soon as the store is there: in how many seconds it leaves, if it is ours."""

        def keep() -> float | None:
            if result.outcome == "again":
                record.give_back(self.store, job, LATER)
                return None
            return record.finish(self.store, job, result.outcome, result.answer, result.problem)

        while isinstance(left := self._stored(keep), Away):
            if self.stopping.wait(0.2):
                return None  # somebody takes over, and finds what the ledger has
        return left

    def _stored(self, action: Callable[[], T]) -> T | Away:
        """What an action in the store gives; while that is away, Away, and nobody is taken for gone."""
        asked = time.monotonic()
        try:
            found = action()
            if time.monotonic() - asked > self.pace.lease / 2:  # nor when it hung: perhaps it did so for all
                self.steady_since = time.monotonic()
            return found
        except StoreUnusable as problem:
            if time.monotonic() - self.steady_since > self.pace.lease:
                log.warning("the store could not be used (%s)", type(problem).__name__)
            if not isinstance(
                problem, StoreBusy
            ):  # others could renew while this process was busy with itself
                self.steady_since = time.monotonic()
            return Away()


class Away:
    """The store could not be used."""
