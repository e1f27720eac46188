"""Where work runs: a process of its own, or a thread.

A process can be ended when its time is over, and takes nothing with it when it runs out of memory or crashes. What an
engine writes to its output may quote the data, and goes nowhere. A thread is for trying out: one that hangs cannot be
ended, and its memory is the server's.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import queue
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from dalenius.web.jobs.carry_out import Opener, Result, Work, carry_out
from dalenius.web.jobs.kinds import MODULES

Note = Callable[[int], bool]

READY = "ready"
METHOD = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
"""Copies of a process that has read our modules and nothing else, and has no threads: quick to start, and they share
what they have read. Never a copy of the server, whose threads and connections are its own."""

READ_BEFORE = ("dalenius.web.datasets", "dalenius.tables.engines.duckdb", "ibis.backends.duckdb")
"""What most work needs; read once, and not by every process."""

STARTING = 60.0
"""Seconds that a process may take to start."""


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
        self.opener = opener
        self.opener_module = getattr(opener, "func", opener).__module__
        self.process: BaseProcess | None = None
        self.pipe: Connection[Any, Any] | None = None

    def run(self, work: Work, note: Note, deadline: float) -> Result:
        try:
            pipe = self._started()
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
            self._started()

    def close(self) -> None:
        if self.process is not None:
            with contextlib.suppress(OSError, ValueError):
                self.process.kill()
                self.process.join(5)
        if self.pipe is not None:
            self.pipe.close()
        self.process = self.pipe = None

    def _started(self) -> Connection[Any, Any]:
        pipe, process = self.pipe, self.process
        if pipe is None or process is None or not process.is_alive():
            self.close()
            context: Any = multiprocessing.get_context(METHOD)
            if METHOD == "forkserver":
                context.set_forkserver_preload([__name__, self.opener_module, *MODULES, *READ_BEFORE])
            pipe, theirs = context.Pipe()
            process = context.Process(
                target=_serve, args=(theirs, self.opener), name="dalenius works", daemon=True
            )
            process.start()
            theirs.close()  # so that the end of the process is the end of the pipe
            self.pipe, self.process = pipe, process
            if not pipe.poll(STARTING) or pipe.recv() != READY:
                self.close()
                raise EOFError
        return pipe


def _serve(pipe: Connection[Any, Any], opener: Opener) -> None:
    """The process of a lane: one piece of work after another, until whoever started it is gone."""
    _silent()
    inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def listen() -> None:
        try:
            while True:
                inbox.put(pipe.recv())
        except (EOFError, OSError):
            os._exit(0)  # even in the middle of work: what was charged stays charged

    threading.Thread(target=listen, name="dalenius listens", daemon=True).start()
    pipe.send(READY)

    def note(since: int) -> bool:
        pipe.send(since)
        return bool(inbox.get())

    while True:
        pipe.send(carry_out(inbox.get(), opener, note))


def _silent() -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    os.close(nowhere)


LANES: dict[str, Callable[[Opener], Lane]] = {"process": ProcessLane, "thread": ThreadLane}
"""The ways of running work, by their names in the settings."""
