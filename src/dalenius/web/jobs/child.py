"""A process that works for this one: started when it is needed, and again when it has ended.

It can be killed, and takes nothing with it when it runs out of memory or crashes. What is written to its output may
quote the data, and goes nowhere. It ends when whoever started it is gone, and gives way to whoever answers meanwhile.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import queue
import threading
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from dalenius.web.jobs.kinds import MODULES

READY = "ready"
METHOD = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
"""Copies of a process that has read our modules and nothing else, and has no threads: quick to start, and they share
what they have read. Never a copy of the server, whose threads and connections are its own."""

READ_BEFORE = (
    "dalenius.web.jobs.lanes",
    "dalenius.web.datasets",
    "dalenius.tables.engines.duckdb",
    "ibis.backends.duckdb",
)
"""What most work needs; read once, and not by every process."""

YIELDS = 5
"""By how much a process that works is nicer, as systems count that, than the server that answers."""

STARTING = 60.0
"""Seconds that a process may take to start."""


class Child:
    """One process, asked by one thread at a time. target: what it does, given an `Inbox` and these arguments."""

    def __init__(
        self, name: str, target: Callable[..., None], *given: Any, reads: Sequence[str] = ()
    ) -> None:
        self.name, self.target, self.given, self.reads = name, target, given, reads
        self.process: BaseProcess | None = None
        self.pipe: Connection[Any, Any] | None = None

    def started(self) -> Connection[Any, Any]:
        """The pipe to the process, which is started if it does not run. EOFError: it cannot be."""
        pipe, process = self.pipe, self.process
        if pipe is None or process is None or not process.is_alive():
            self.close()
            context: Any = multiprocessing.get_context(METHOD)
            if METHOD == "forkserver":
                context.set_forkserver_preload([__name__, *self.reads, *MODULES, *READ_BEFORE])
            pipe, theirs = context.Pipe()
            given = (theirs, self.target, *self.given)
            process = context.Process(target=_serve, args=given, name=self.name, daemon=True)
            process.start()
            theirs.close()  # so that the end of the process is the end of the pipe
            self.pipe, self.process = pipe, process
            if not pipe.poll(STARTING) or pipe.recv() != READY:
                self.close()
                raise EOFError
        return pipe

    def close(self) -> None:
        """End the process, whatever it does."""
        if self.process is not None:
            with contextlib.suppress(OSError, ValueError):
                self.process.kill()
                self.process.join(5)
        if self.pipe is not None:
            self.pipe.close()
        self.process = self.pipe = None


class Inbox:
    """What whoever started the process sends, and the way back."""

    def __init__(self, pipe: Connection[Any, Any]) -> None:
        self._pipe, self._came = pipe, queue.SimpleQueue[Any]()
        threading.Thread(target=self._listen, name="dalenius listens", daemon=True).start()
        self.send(READY)

    def _listen(self) -> None:
        try:
            while True:
                self._came.put(self._pipe.recv())
        except (EOFError, OSError):
            os._exit(0)  # even in the middle of work: what was charged stays charged

    def get(self) -> Any:
        """The next thing, once it is there."""
        return self._came.get()

    def send(self, what: Any) -> None:
        """To whoever started the process."""
        self._pipe.send(what)


def _serve(pipe: Connection[Any, Any], target: Callable[..., None], *given: Any) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    os.close(nowhere)
    if hasattr(os, "nice"):  # not on Windows
        with contextlib.suppress(OSError):
            os.nice(YIELDS)
    target(Inbox(pipe), *given)
