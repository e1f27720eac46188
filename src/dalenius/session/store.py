"""Where the entries live: what a ledger asks of a database, in the SQL both of ours understand."""

from __future__ import annotations

import contextlib
import os
import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from dalenius.errors import InvalidParameter, LedgerDamaged, LedgerError
from dalenius.session import memory as memories
from dalenius.session.entries import SCHEMA, Entry, digest
from dalenius.session.memory import Memory

COLUMNS = "seq, kind, account, key, body, previous, hash"


@dataclass(frozen=True)
class Head:
    """The last entry, kept apart from the entries so that a missing tail shows."""

    version: Any
    """A whole number, unless the file is damaged."""
    seq: int
    hash: str


class Rows(ABC):
    """The entries as one transaction sees them.

    Which entries there are is known from the memory of the chain, never from an index of the database; an entry that is
    read must be the one that was checked there.
    """

    place = ""
    """What stands before the names of the tables."""
    mark = "?"
    """How the database writes a parameter."""

    memory: Memory
    """The chain; set by the ledger, which has checked it up to the end of this view."""
    end = 0
    """The last entry of this view: another thread may have added to the memory since it was taken."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.added: list[Entry] = []
        """What this transaction has added; in the memory once it is durable."""

    @abstractmethod
    def run(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """The rows of a statement."""

    # -- as the database has it -----------------------------------------------------------------------

    def head(self) -> Head:
        return self.tail(1, 1)[0]

    def tail(self, seq: int, limit: int) -> tuple[Head, list[Entry]]:
        """The head, and entries from this one on, in their order; not checked."""
        columns = ", ".join(f"e.{name}" for name in COLUMNS.split(", "))
        m = self.mark
        lines = self.run(
            f"SELECT h.version, h.seq, h.hash, {columns} FROM {self.place}head h "
            f"LEFT JOIN {self.place}entries e ON e.seq >= {m} ORDER BY e.seq LIMIT {m}",
            (seq, limit),
        )
        if not lines:
            raise LedgerDamaged("the ledger has lost its head. Nothing is released; restore it from a copy.")
        return Head(*lines[0][:3]), [Entry._make(line[3:]) for line in lines if line[3] is not None]

    def fill(self, entries: Iterable[Entry], version: int) -> None:
        """Put the entries of a new ledger into its tables, and the version into its head."""
        for entry in entries:
            self.add(entry)
        if version != SCHEMA:
            self.set_version(version)

    def add(self, entry: Entry) -> None:
        """Append; a trigger in the database checks the chain and moves the head."""
        marks = ", ".join([self.mark] * 7)
        self.run(f"INSERT INTO {self.place}entries ({COLUMNS}) VALUES ({marks})", entry)

    @abstractmethod
    def set_version(self, version: int) -> None:
        """Give the head another version, which a trigger refuses otherwise: for conversions alone."""

    def confirm(self) -> None:
        """Before a commit: that what was added is there, where the database may be damaged and not say so."""
        return

    # -- as it was checked ----------------------------------------------------------------------------

    def last(self) -> tuple[int, str]:
        """Number and hash of the last entry, with what this transaction has added."""
        if self.added:
            return self.added[-1].seq, self.added[-1].hash
        return self.memory.seq, self.memory.hash

    def get(self, seq: int) -> Entry | None:
        """An entry of the chain."""
        if seq > self.end or self.memory.hash_of(seq) is None:
            return None
        lines = self.run(f"SELECT {COLUMNS} FROM {self.place}entries WHERE seq = {self.mark}", (seq,))
        if len(lines) != 1:
            raise _changed(seq)
        return self.same(Entry._make(lines[0]), seq)

    def same(self, entry: Entry, seq: int | None = None) -> Entry:
        """An entry that was read, if it is the one of the chain: an error if not."""
        if (
            self.memory.hash_of(entry.seq) != entry.hash
            or not entry.is_intact
            or seq not in (None, entry.seq)
        ):
            raise _changed(entry.seq if seq is None else seq)
        return entry

    def accounts(self) -> list[Entry]:
        """All entries that opened an account, in order."""
        return self._each(list(self.memory.datasets.values()))  # a copy: another thread may add

    def opening(self, dataset: str) -> Entry | None:
        """The entry that opened the account of a dataset, if there is one."""
        return self.get(self.memory.datasets.get(digest(dataset), 0))

    def answers(self, account: int, key: str) -> list[Entry]:
        """All answers to a question in an account, in order."""
        tally = self.memory.accounts.get(account)
        return self._each(() if tally is None else tally.answers.get(key, ()))

    def _each(self, seqs: Iterable[int]) -> list[Entry]:
        return [entry for seq in seqs if (entry := self.get(seq)) is not None]


def _changed(seq: object) -> LedgerDamaged:
    return LedgerDamaged(
        f"entry {seq!r} of the ledger is gone or was changed. Nothing is released; run `dalenius ledger verify`, and "
        "restore a copy that verifies and is at least as recent."
    )


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
