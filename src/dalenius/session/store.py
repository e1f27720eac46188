"""Where the entries live: what a ledger asks of a database."""

from __future__ import annotations

import contextlib
import os
import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from dalenius.errors import InvalidParameter, LedgerError
from dalenius.session import memory as memories
from dalenius.session.entries import Entry
from dalenius.session.rows import Rows


class Store(ABC):
    """A database that holds one ledger.

    Shared by threads, one transaction at a time. A forked child may keep it: it leaves the parent's connection alone
    and makes its own.
    """

    label: str
    """How to name it in messages: no password in it."""
    place: str
    """Which database this is, for the process to know it again; not for messages."""

    def __init__(self, label: str, place: str, patience: float) -> None:
        self.label, self.place, self.patience = label, place, patience
        self.lock = threading.RLock()
        self.taken = False
        """Whether a transaction is open."""
        self._connection: Any = None
        _stores.add(self)

    @abstractmethod
    def exists(self) -> bool:
        """Whether there is a ledger."""

    @abstractmethod
    def check_room(self) -> None:
        """Refuse a place where no ledger can be made: before another one is closed for it."""

    @abstractmethod
    def create(self, entries: Iterable[Entry], version: int) -> None:
        """Put a new ledger there, whole, with these entries; if there is one by then, leave that one."""

    @abstractmethod
    def writing(self) -> AbstractContextManager[Rows]:
        """The only transaction that writes at this moment, in any process.

        When the block ends well its entries are durable before control returns, through a crash of the
        process, the system or the power; when it does not, or the commit fails, LedgerError is raised and
        the entries are not there (or, if the answer to the commit itself was lost, may be).
        """

    @abstractmethod
    def reading(self) -> AbstractContextManager[Rows]:
        """A consistent view; keep it short."""

    def grant(self, role: str) -> None:
        """Let a role of the server spend: look, charge and answer, and nothing else."""
        raise InvalidParameter(
            "a ledger in a file has no roles: give rights to the file instead (chmod, chgrp)."
        )

    @abstractmethod
    def complaints(self) -> list[str]:
        """What is wrong with the tables themselves: damage, or a guard against change that is gone."""

    # -- transactions, for those who write a store -------------------------------------------------------

    @abstractmethod
    def _access(self, deadline: float) -> AbstractContextManager[object]:
        """Where the driver may be called; its errors come out in our words."""

    @abstractmethod
    def _begun(self, deadline: float, *how: str) -> Rows:
        """A transaction on the one connection, made if there is none."""

    @abstractmethod
    def _commit(self, connection: Any, deadline: float) -> None:
        """Make the transaction durable, or raise."""

    @abstractmethod
    def _rolled_back(self, connection: Any, problem: BaseException) -> bool:
        """Roll back after a problem; whether the connection can still be trusted."""

    @abstractmethod
    def _let_go(self, connection: Any) -> None:
        """In a child process: leave the parent's connection alone."""

    @contextlib.contextmanager
    def _transaction(self, *how: str) -> Iterator[Any]:
        with self._turn() as deadline, self._access(deadline):
            rows = self._begun(deadline, *how)
            connection = rows.connection
            try:
                yield rows
                if connection is not self._connection:
                    raise LedgerError(
                        "the process was forked inside a transaction of its ledger; the transaction stays with the "
                        "parent."
                    )
                # The time the ledger itself took before is not the server's or another's.
                self._commit(connection, max(deadline, time.monotonic() + self.patience / 2))
            except BaseException as problem:
                self._undo(connection, problem)
                raise

    def _undo(self, connection: Any, problem: BaseException) -> None:
        """Roll back; after a problem of the database itself, start from a fresh connection as well.

        After a failed sync nothing that is cached can be trusted. Closing rolls back, too.
        """
        if connection is not self._connection:  # a child: it is the parent's
            return
        with contextlib.suppress(Exception):  # it comes second to the first problem
            if self._rolled_back(connection, problem):
                return
        self._connection = None
        with contextlib.suppress(Exception):
            connection.close()

    @contextlib.contextmanager
    def _turn(self) -> Iterator[float]:
        """The only transaction of this process on this store; yields the moment at which patience ends."""
        deadline = time.monotonic() + self.patience
        lock = self.lock
        if not lock.acquire(timeout=self.patience):
            raise LedgerError(
                f"the ledger {self.label!r} could not be used: another thread kept it for too long. Nothing was "
                "released. Try again."
            )
        try:
            if self.taken:
                raise LedgerError("a transaction of this thread on this ledger is open; end it first.")
            self.taken = True
            try:
                yield deadline
            finally:
                self.taken = False
        finally:
            lock.release()

    def is_open_elsewhere(self) -> bool:
        """Whether another store of this process has the same database open."""
        return any(
            other is not self and other.place == self.place and other._connection is not None
            for other in list(_stores)
        )

    def close(self) -> None:
        """Let go of the database."""
        with self._turn() as deadline, self._access(deadline):
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def in_child(self) -> None:
        """After a fork: no thread is here to give the lock back, and the connection is the parent's."""
        self.lock = threading.RLock()
        self.taken = False
        if self._connection is not None:
            self._let_go(self._connection)
        self._connection = None


_stores: weakref.WeakSet[Store] = weakref.WeakSet()


def _in_child() -> None:
    for store in list(_stores):
        store.in_child()
    memories.in_child()


# Only in the child. Nothing is held across a fork, so threads that fork at the same time cannot wait for each other.
if hasattr(os, "register_at_fork"):  # not on Windows, where there is no fork
    os.register_at_fork(after_in_child=_in_child)
