"""Forks and SQLite.

In a child SQLite believes that it holds the locks which threads of the parent held at that moment, and its own mutexes
may be taken for ever. So a fork waits until no thread of ours is in a transaction; should that take too long, the fork
goes ahead and the child refuses to use ledgers in files.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator

from dalenius.errors import LedgerError

FORK_PATIENCE = 10.0
"""Seconds a fork waits for transactions of other threads; they take a few milliseconds each."""


class Gate:
    """Where threads go in and out of SQLite, and where a fork waits until they are all out.

    Nothing is held across the fork: two threads that fork at once both wait for the others, and not for each other.
    """

    def __init__(self) -> None:
        self.moved = threading.Condition(threading.Lock())
        self.threads: dict[int, int] = {}
        """Who is inside, and how often."""
        self.forks = 0
        self.broken = False

    @contextlib.contextmanager
    def inside(self, deadline: float) -> Iterator[None]:
        self._enter(deadline)
        try:
            yield
        finally:
            self._leave()

    @contextlib.contextmanager
    def outside(self, deadline: float) -> Iterator[None]:
        self._leave()
        try:
            yield
        finally:
            self._enter(deadline, always=True)

    def _enter(self, deadline: float, always: bool = False) -> None:
        if self.broken:
            raise LedgerError(
                "this process was forked while another thread was using a ledger, so it cannot use one safely. Start "
                "processes with the method 'spawn' or 'forkserver', or fork when no thread asks."
            )
        me = threading.get_ident()
        with self.moved:
            # One who is inside already may go in again: a fork waits for them.
            while self.forks and me not in self.threads:
                self.moved.wait(max(0.01, deadline - time.monotonic()))
                if time.monotonic() > deadline and not always:
                    raise LedgerError(
                        "the ledger could not be used: the process was being forked for too long."
                    )
            self.threads[me] = self.threads.get(me, 0) + 1

    def _leave(self) -> None:
        me = threading.get_ident()
        with self.moved:
            left = self.threads.pop(me, 0) - 1  # none, where a child leaves what its parent entered
            if left > 0:
                self.threads[me] = left
            self.moved.notify_all()

    def before_fork(self) -> None:
        with self.moved:
            self.forks += 1
            self.moved.wait_for(lambda: not self.threads.keys() - {threading.get_ident()}, FORK_PATIENCE)

    def after_fork(self) -> None:
        with self.moved:
            self.forks -= 1
            self.moved.notify_all()

    def in_child(self) -> None:
        self.moved = threading.Condition(threading.Lock())
        self.broken = self.broken or bool(self.threads)
        self.threads.clear()
        self.forks = 0


gate = Gate()

if hasattr(os, "register_at_fork"):  # not on Windows, where there is no fork
    os.register_at_fork(
        before=gate.before_fork, after_in_parent=gate.after_fork, after_in_child=gate.in_child
    )
