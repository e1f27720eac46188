"""A connection to PostgreSQL on which nothing waits longer than it was told to.

The server's own limits (lock_timeout, statement_timeout) are kept by the process at the other end. When that one is
stopped, or its machine is gone, only a clock on this side helps.
"""

from __future__ import annotations

import contextlib
import math
import os
import selectors
import threading
import time
from collections.abc import Generator
from concurrent.futures import Future
from typing import Any, TypeVar

import psycopg
from psycopg.waiting import Ready, Wait

Row = tuple[Any, ...]
T = TypeVar("T", bound="Timed")


class TooLong(psycopg.OperationalError):
    """The server did not answer in time; the connection is of no use any more."""


class Timed(psycopg.Connection[Row]):
    """A connection with a moment after which waiting ends in TooLong."""

    deadline = math.inf

    def wait(self, gen: Generator[Any, Any, Any], *_: Any, **__: Any) -> Any:
        try:
            wanted = next(gen)
            while True:
                wanted = gen.send(self._ready(wanted))
        except StopIteration as done:
            return done.value

    def _ready(self, wanted: Wait) -> Ready:
        left = min(self.deadline - time.monotonic(), 1e6)
        with selectors.DefaultSelector() as selector:
            selector.register(self.pgconn.socket, wanted)
            events = selector.select(left) if left > 0 else []
        if not events:
            raise TooLong("the server did not answer in time")
        return Ready(events[0][1])


class Patient(Timed):
    """The same for whoever has no deadline: no single wait is longer than its patience. It is closed then: what the
    server still says would be taken for the answer to something else."""

    patience = math.inf

    def wait(self, gen: Generator[Any, Any, Any], *_: Any, **__: Any) -> Any:
        self.deadline = time.monotonic() + self.patience
        try:
            return super().wait(gen)
        except TooLong:
            self.close()
            raise


def connect(conninfo: str, deadline: float, **options: Any) -> Timed:
    """A connection, or an error, before the deadline."""
    return connect_as(Timed, conninfo, deadline, **options)


def connect_as(kind: type[T], conninfo: str, deadline: float, **options: Any) -> T:
    """The same, of a kind of connection.

    Names of hosts are looked up by the system, which cannot be told when to stop: hence a thread.
    """
    left, attempt = max(0.0, deadline - time.monotonic()), Future[T]()
    options["connect_timeout"] = max(2, math.ceil(left))

    def run() -> None:
        try:
            attempt.set_result(kind.connect(conninfo, **options))
        except BaseException as problem:
            attempt.set_exception(problem)

    threading.Thread(target=run, name="dalenius connects", daemon=True).start()
    try:
        connection = attempt.result(left)
    except TimeoutError:
        attempt.add_done_callback(_unwanted)  # now, if it came at the last moment
        raise TooLong("the server did not answer in time") from None
    connection.deadline = deadline
    return connection


def _unwanted(attempt: Future[T]) -> None:
    if attempt.exception() is None:
        attempt.result().close()


def let_go(connection: Timed) -> None:
    """In a child process: nothing may pass between it and the parent's server, not even a farewell.

    The descriptor is made to lead nowhere, and not closed: its number would be given to another file, and libpq would
    take that for its own.
    """
    with contextlib.suppress(OSError, psycopg.Error):
        nowhere = os.open(os.devnull, os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
        try:
            os.dup2(nowhere, connection.pgconn.socket, inheritable=False)
        finally:
            os.close(nowhere)
    _inherited.append(connection)


_inherited: list[Timed] = []
