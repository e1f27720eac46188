"""Where the entries live: what a ledger asks of a database, in the SQL both of ours understand."""

from __future__ import annotations

import os
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from dalenius.calculus.errors import LedgerDamaged
from dalenius.session.entries import Entry

COLUMNS = "seq, kind, account, key, body, previous, hash"


@dataclass(frozen=True)
class Head:
    """The last entry, kept apart from the entries so that a missing tail shows."""

    version: int
    seq: int
    hash: str


class Rows(ABC):
    """The entries as one transaction sees them."""

    place = ""
    """What stands before the names of the tables."""
    mark = "?"
    """How the database writes a parameter."""

    last_seen: Head | None = None
    """The head, once `tip` has read it; kept up to date by `add`."""

    @abstractmethod
    def run(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """The rows of a statement."""

    def head(self) -> Head:
        return self._head(self.run(f"SELECT version, seq, hash FROM {self.place}head"))

    def tip(self) -> tuple[Head, list[Entry]]:
        """The head, and the entries from there on: exactly one, the head's own, if all is well."""
        columns = ", ".join(f"e.{name}" for name in COLUMNS.split(", "))
        found = self.run(
            f"SELECT h.version, h.seq, h.hash, {columns} FROM {self.place}head h "
            f"LEFT JOIN {self.place}entries e ON e.seq >= h.seq ORDER BY e.seq LIMIT 2"
        )
        head = self.last_seen = self._head(found)
        return head, [Entry(*row[3:]) for row in found if row[3] is not None]

    def get(self, seq: int) -> Entry | None:
        return self._one(f"WHERE seq = {self.mark}", seq)

    def first(self, kind: str, account: int, key: str) -> Entry | None:
        """The earliest entry of a kind under a key."""
        m = self.mark
        where = f"WHERE key = {m} AND kind = {m} AND account = {m} ORDER BY seq LIMIT 1"
        return self._one(where, key, kind, account)

    def every(self, kind: str, account: int, key: str | None = None) -> list[Entry]:
        """All entries of a kind in an account (under a key), in order."""
        m = self.mark
        if key is None:
            return self._all(f"WHERE account = {m} AND kind = {m} ORDER BY seq", account, kind)
        where = f"WHERE key = {m} AND kind = {m} AND account = {m} ORDER BY seq"
        return self._all(where, key, kind, account)

    def count(self, kind: str, account: int) -> int:
        """How many entries of a kind an account has."""
        m = self.mark
        sql = f"SELECT count(*) FROM {self.place}entries WHERE account = {m} AND kind = {m}"
        return int(self.run(sql, (account, kind))[0][0])

    def latest(self, kind: str, account: int) -> Entry | None:
        """The latest entry of a kind in an account."""
        m = self.mark
        where = f"WHERE account = {m} AND kind = {m} ORDER BY seq DESC LIMIT 1"
        return self._one(where, account, kind)

    def after(self, seq: int, limit: int) -> list[Entry]:
        """The entries that follow, in order."""
        return self._all(f"WHERE seq > {self.mark} ORDER BY seq LIMIT {self.mark}", seq, limit)

    def add(self, entry: Entry) -> None:
        """Append; a trigger in the database checks the chain and moves the head."""
        marks = ", ".join([self.mark] * 7)
        sql = f"INSERT INTO {self.place}entries ({COLUMNS}) VALUES ({marks})"
        self.run(
            sql,
            (entry.seq, entry.kind, entry.account, entry.key, entry.body, entry.previous, entry.hash),
        )
        if self.last_seen is not None:
            self.last_seen = Head(self.last_seen.version, entry.seq, entry.hash)

    def _head(self, found: list[tuple[Any, ...]]) -> Head:
        if not found:
            raise LedgerDamaged("the ledger has lost its head. Nothing is released; restore it from a copy.")
        return Head(*found[0][:3])

    def _all(self, where: str, *parameters: object) -> list[Entry]:
        found = self.run(f"SELECT {COLUMNS} FROM {self.place}entries {where}", parameters)
        return [Entry(*row) for row in found]

    def _one(self, where: str, *parameters: object) -> Entry | None:
        found = self._all(where, *parameters)
        return found[0] if found else None


class Store(ABC):
    """A database that holds one ledger.

    Shared by threads, one transaction at a time, and safe to carry across a fork: no fork happens inside a
    transaction, and the child connects anew.
    """

    label: str
    """How to name it in messages: no password in it."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.lock = threading.RLock()
        _stores.add(self)

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

    @abstractmethod
    def close(self) -> None:
        """Let go of the database."""

    @abstractmethod
    def complaints(self) -> list[str]:
        """What is wrong with the tables themselves: damage, or a guard against change that is gone."""

    @abstractmethod
    def forget(self) -> None:
        """In a child process: leave the parent's connection alone."""


_stores: weakref.WeakSet[Store] = weakref.WeakSet()
_held: list[Store] = []


def _before_fork() -> None:
    _held[:] = sorted(_stores, key=id)
    for store in _held:
        store.lock.acquire()


def _after_fork() -> None:
    for store in reversed(_held):
        store.lock.release()
    _held.clear()


def _in_child() -> None:
    for store in _held:
        store.lock = threading.RLock()
        store.forget()
    _held.clear()


if hasattr(os, "register_at_fork"):  # not on Windows, where there is no fork
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_in_child)
