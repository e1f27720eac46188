"""Where plans are worked on: by one clerk, the newest plan first, a little of each at a time, all of it bounded.

Who asks is answered at once with what divergences tell, or with what the accountant has found by the end of a short
wait; whoever asks again finds it finer. A slider that moves on leaves stale plans behind: they wait below the newer
ones, and what nobody asked about for a while is dropped. All of this is about public numbers: no data set is near.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field

from dalenius.web.planning.clerk import Clerk, Ended, State
from dalenius.web.planning.plans import Plan
from dalenius.web.planning.sketch import Known, rough

KEPT = 1000
"""Plans whose sketches are kept."""
WAITING = 50
"""Plans that may wait to be made finer; the oldest are dropped."""
STALE = 3.0
"""Seconds after which nobody is interested."""
LONGEST = 4.0
"""Seconds of work that one plan gets."""
WAITERS = 8
"""People who may wait at the desk at once; others are told what is known without a wait."""


@dataclass(frozen=True)
class View:
    """What was known of a plan at one moment, and whether more will be."""

    plan: Plan
    known: Known
    state: State


@dataclass(eq=False)
class _Work:
    plan: Plan
    asked: float
    rough: Known | None = None
    fine: Known | None = None
    state: State = "working"
    took: float = 0.0
    changed: threading.Condition = field(default_factory=threading.Condition)

    def view(self) -> View:
        state, found = self.state, self.fine  # in this order: what is called whole is
        if state == "whole" and found is not None:
            return View(self.plan, found, state)
        if self.rough is None:
            self.rough = rough(self.plan.made(), self.plan.delta)
        return View(self.plan, self.rough if found is None else self.rough.or_better(found), state)


class Desk:
    """See above. `look` may be called by any thread."""

    def __init__(self) -> None:
        self._known: OrderedDict[Plan, _Work] = OrderedDict()
        self._stack: list[_Work] = []
        self._lock = threading.Condition()
        self._waiters = threading.BoundedSemaphore(WAITERS)
        self._thread: threading.Thread | None = None
        self._clerk = Clerk()

    def look(self, plan: Plan, wait: float) -> View:
        """What is known of the plan, after at most so many seconds of waiting for all of it."""
        work = self._work(plan, wait)
        if work.state == "working" and wait > 0 and self._waiters.acquire(blocking=False):
            try:
                with work.changed:
                    work.changed.wait_for(lambda: work.state != "working", timeout=wait)
            finally:
                self._waiters.release()
        return work.view()

    def _work(self, plan: Plan, wait: float) -> _Work:
        with self._lock:
            work = self._known.get(plan)
            if work is None:
                work = self._known[plan] = _Work(plan, time.monotonic())
            self._known.move_to_end(plan)
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
            work.asked = max(work.asked, time.monotonic() + wait)  # not stale while somebody waits
            if work.state == "working":
                if work in self._stack:
                    self._stack.remove(work)
                self._stack.append(work)
                del self._stack[:-WAITING]
                if self._thread is None or not self._thread.is_alive():
                    self._thread = threading.Thread(target=self._serve, name="planner", daemon=True)
                    self._thread.start()
        return work

    def _serve(self) -> None:
        """Until there is nothing to do. A moment for the newest plan, then look again which is the newest."""
        while True:
            with self._lock:
                moment = time.monotonic()
                self._stack = [
                    work for work in self._stack if work.state == "working" and moment - work.asked < STALE
                ]
                if not self._stack:
                    self._thread = None
                    return
                work = self._stack[-1]
            with contextlib.suppress(OSError, EOFError):
                self._clerk.started()  # which takes a second the first time, and is nobody's plan's time
            started = time.monotonic()
            try:
                state, known = self._clerk.step(work.plan)
            except (Ended, OSError):
                state, known = "given up", None
            work.took += time.monotonic() - started
            with work.changed:
                work.fine = known or work.fine
                work.state = "given up" if state == "working" and work.took > LONGEST else state
                if work.state != "working":
                    work.changed.notify_all()
