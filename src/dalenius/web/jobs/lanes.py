"""Where work runs: a process of its own (`jobs.child`), or a thread.

A thread is for trying out: one that hangs cannot be ended, and its memory is the server's.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable

from dalenius.web.jobs.carry_out import Opener, Result, Work, carry_out
from dalenius.web.jobs.child import Child, Inbox

Note = Callable[[int], bool]


class Ended(Exception):
    """The lane ended before the work did: it was killed, it crashed, or time was over."""


class Lane(ABC):
    """A place for one piece of work at a time."""

    @abstractmethod
    def run(self, work: Work, note: Note, deadline: float) -> Result:
        """The outcome, or Ended; the deadline is on the monotonic clock."""

    @abstractmethod
    def warm(self) -> None:
        """Get ready, so that the first piece of work need not wait."""

    @abstractmethod
    def close(self) -> None:
        """Let go of it, whatever it does."""


class ThreadLane(Lane):
    """In this process."""

    def __init__(self, opener: Opener) -> None:
        self.opener = opener

    def warm(self) -> None:
        return

    def close(self) -> None:
        return  # a thread that hangs goes on

    def run(self, work: Work, note: Note, deadline: float) -> Result:
        results: queue.SimpleQueue[Result | None] = queue.SimpleQueue()

        def carry() -> None:
            try:
                results.put(carry_out(work, self.opener, note))
            except BaseException:
                results.put(None)

        threading.Thread(target=carry, name="dalenius works", daemon=True).start()
        try:
            result = results.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise Ended from None
        if result is None:
            raise Ended
        return result


class ProcessLane(Lane):
    """In a process that is started when it is needed, and again when it has ended."""

    def __init__(self, opener: Opener) -> None:
        module = getattr(opener, "func", opener).__module__
        self.child = Child("dalenius works", _work, opener, reads=[module])

    def run(self, work: Work, note: Note, deadline: float) -> Result:
        try:
            pipe = self.child.started()
            pipe.send(work)
            while pipe.poll(max(0.0, deadline - time.monotonic())):
                said = pipe.recv()
                if isinstance(said, Result):
                    return said
                pipe.send(note(said))
        except (EOFError, OSError):
            pass
        except BaseException:
            self.close()
            raise
        self.close()
        raise Ended

    def warm(self) -> None:
        with contextlib.suppress(EOFError, OSError):  # then it is tried again when it is needed
            self.child.started()

    def close(self) -> None:
        self.child.close()


def _work(inbox: Inbox, opener: Opener) -> None:
    """The process of a lane: one piece of work after another."""

    def note(since: int) -> bool:
        inbox.send(since)
        return bool(inbox.get())

    while True:
        inbox.send(carry_out(inbox.get(), opener, note))


LANES: dict[str, Callable[[Opener], Lane]] = {"process": ProcessLane, "thread": ThreadLane}
"""The ways of running work, by their names in the settings."""
