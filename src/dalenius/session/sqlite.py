"""A ledger in one SQLite file.

Why these settings:

- A rollback journal, not a write-ahead log. Everything committed is in the one file people know about. With
  a log, recent charges are in a second file, and moving or restoring the first one alone would silently take
  them back. The price is four or five syncs for a commit in place of one.
- journal_mode=PERSIST: a commit is the moment the journal's header is overwritten with zeros *and synced*. It
  does not hang on a directory entry, as the removal of a journal does, and is the fastest rollback mode.
- synchronous=EXTRA: the journal, the file and the zeroed header are each synced before COMMIT returns (in
  DELETE mode, should another program have set it, the directory too). fullfsync: on macOS, to the platters.
- BEGIN IMMEDIATE: the write lock is taken before anything is read, so what a charge reads stays true until it
  commits. Locks belong to the process and die with it: after kill -9 the next process finds the journal,
  rolls the unfinished transaction back, and goes on.
- Waiting for a lock is done here, and not by SQLite, so that a thread that waits is not inside SQLite.
- What SQLite has cached is dropped before each transaction (shrink_memory). It takes its cache for valid if a counter
  in the file has not moved; another file copied over this one may well have the same counter.
- No index: what a ledger holds is known from the chain (`session.memory`). Ledgers of earlier versions have two, which
  are kept up and never asked.
- A new ledger is built under another name and linked into place whole (`session.ledger_file`).
- Files are made for their owner alone (0600); SQLite gives the journal the same rights.

Never opened here by any other means than SQLite: closing a second descriptor of the file would drop the locks
of this process.

Threads and forks: `session.fork_gate`.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from dalenius.errors import LedgerDamaged, LedgerError, NotALedger
from dalenius.session.entries import SCHEMA, START, Entry
from dalenius.session.fork_gate import gate
from dalenius.session.ledger_file import looked_at, new_file
from dalenius.session.rows import Rows
from dalenius.session.store import Store

APPLICATION = 0x44414C31
"""Marks the file as a ledger of ours ("DAL1"), for SQLite and for file(1)."""

TABLES = (
    """CREATE TABLE entries (
        seq INTEGER PRIMARY KEY,
        kind TEXT NOT NULL CHECK (kind IN ('open', 'account', 'charge', 'answer', 'steward', 'close')),
        account INTEGER NOT NULL,
        key TEXT NOT NULL,
        body TEXT NOT NULL,
        previous TEXT NOT NULL,
        hash TEXT NOT NULL)""",
    """CREATE TABLE head (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        version INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        hash TEXT NOT NULL)""",
    f"INSERT INTO head VALUES (1, {SCHEMA}, 0, '{START}')",
    """CREATE TRIGGER entries_follow BEFORE INSERT ON entries
        WHEN NEW.seq IS NOT (SELECT seq + 1 FROM head) OR NEW.previous IS NOT (SELECT hash FROM head)
        BEGIN SELECT RAISE(ABORT, 'an entry must follow the last one'); END""",
    """CREATE TRIGGER entries_move_head AFTER INSERT ON entries
        BEGIN UPDATE head SET seq = NEW.seq, hash = NEW.hash; END""",
    """CREATE TRIGGER entries_stay BEFORE UPDATE ON entries
        BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END""",
    """CREATE TRIGGER entries_remain BEFORE DELETE ON entries
        BEGIN SELECT RAISE(ABORT, 'entries are never removed'); END""",
    """CREATE TRIGGER head_follows BEFORE UPDATE ON head
        WHEN NEW.one IS NOT 1 OR NEW.version IS NOT OLD.version OR NEW.seq IS NOT OLD.seq + 1
            OR NOT EXISTS (SELECT 1 FROM entries WHERE seq = NEW.seq AND hash = NEW.hash)
        BEGIN SELECT RAISE(ABORT, 'the head follows the entries'); END""",
    """CREATE TRIGGER head_remains BEFORE DELETE ON head
        BEGIN SELECT RAISE(ABORT, 'the head is never removed'); END""",
    """CREATE TRIGGER head_is_one BEFORE INSERT ON head
        BEGIN SELECT RAISE(ABORT, 'there is one head'); END""",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {SCHEMA}",
)

SNIFFED = 1 << 16
SIGNS = (b"entries_follow", b"head_follows", b"SQLite format 3")
"""What a ledger's file has near its beginning, whatever else was damaged."""

SETTINGS = (
    "synchronous = EXTRA",
    "fullfsync = ON",
    "trusted_schema = OFF",
    "cell_size_check = ON",
    # The tables of earlier versions list the kinds of entries of their day. What kind an entry is of is checked when it
    # is written and whenever it is read (`session.memory`), so a ledger need not be made anew for a new kind.
    "ignore_check_constraints = ON",
    "cache_spill = OFF",  # else a long answer needs the last lock before its commit
)

WHY = {
    "SQLITE_FULL": "the disk is full. Free some space",
    "SQLITE_BUSY": "another process kept it locked for too long. Try again, or look for a program that has "
    "the file open",
    "SQLITE_READONLY": "it may not be written. Give this user the right to write the file, the journal beside it "
    "and its folder",
    "SQLITE_IOERR": "the system could not read or write it. Check the disk, its free space and any quota",
    "SQLITE_CANTOPEN": "it, or the journal beside it, cannot be opened. Check the rights on the file and its "
    "folder",
    "SQLITE_NOTADB": "it is not a ledger. Name another file",
    "SQLITE_CORRUPT": "its structure is damaged. Restore a copy that verifies and is at least as recent",
}


class SqliteRows(Rows):
    def run(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = self.connection.execute(sql, tuple(parameters)).fetchall()
        return rows

    def set_version(self, version: int) -> None:
        ((guard,),) = self.run(
            "SELECT sql FROM sqlite_master WHERE type = 'trigger' AND name = 'head_follows'"
        )
        self.run("DROP TRIGGER head_follows")
        self.run("UPDATE head SET version = ?", (version,))
        self.run(guard)

    def confirm(self) -> None:
        head, written = self.tail(self.added[0].seq, len(self.added) + 1)
        if written != self.added or (head.seq, head.hash) != self.last():
            raise LedgerDamaged(
                "what was written to the ledger is not what is there. Nothing was released; run `dalenius ledger "
                "verify`, and restore a copy that verifies and is at least as recent."
            )


class SqliteStore(Store):
    """One file, any number of processes on one machine."""

    def __init__(self, path: Path, patience: float) -> None:
        super().__init__(str(path), str(path), patience)
        self.path = path
        self._file: tuple[int, int] | None = None
        self._was_ledger = False

    def exists(self) -> bool:
        # Not `Path.exists`: a link that leads nowhere is not a place for a new ledger.
        return os.path.lexists(self.path)

    def check_room(self) -> None:
        folder = self.path.parent
        if not folder.is_dir():
            raise LedgerError(
                f"there is no folder for the ledger: {str(folder)!r} does not exist; create it first."
            )
        if not os.access(folder, os.W_OK):
            raise LedgerError(f"the ledger's folder {str(folder)!r} may not be written; name another place.")

    def create(self, entries: Iterable[Entry], version: int) -> None:
        self.check_room()
        with new_file(self.path) as draft, self._access(time.monotonic() + self.patience):
            connection = _connected(draft, "rw")
            try:
                connection.execute("BEGIN IMMEDIATE")
                for statement in TABLES:
                    connection.execute(statement)
                SqliteRows(connection).fill(entries, version)
                connection.execute("COMMIT")
            finally:
                connection.close()

    def writing(self) -> contextlib.AbstractContextManager[Rows]:
        return self._transaction("BEGIN IMMEDIATE")

    def reading(self) -> contextlib.AbstractContextManager[Rows]:
        return self._transaction("BEGIN")

    @contextlib.contextmanager
    def _access(self, deadline: float) -> Iterator[None]:
        with _clear(self), gate.inside(deadline):
            yield

    def _begun(self, deadline: float, *how: str) -> SqliteRows:
        """With its lock held."""
        pause = 0.001
        while True:
            connection = None
            try:
                connection = self._connected()
                self._check_file()  # for a clear message; once more when it is locked, for certain
                connection.execute("PRAGMA shrink_memory")
                connection.execute(how[0])
                connection.execute("SELECT seq FROM head").fetchall()  # a reader has no lock before it reads
                self._check_file()
                return SqliteRows(connection)
            except BaseException as problem:
                if connection is not None:
                    self._undo(connection, problem)
                if not _is_busy(problem) or time.monotonic() >= deadline:
                    raise
            with gate.outside(deadline):  # a fork need not wait for those who wait
                time.sleep(pause)
            pause = min(2 * pause, 0.02)

    def _commit(self, connection: sqlite3.Connection, deadline: float) -> None:
        """Again and again, as long as others have the file locked."""
        pause = 0.0005
        while True:
            try:
                connection.execute("COMMIT")
                return
            except sqlite3.OperationalError as problem:
                if not _is_busy(problem) or time.monotonic() >= deadline:
                    raise
            time.sleep(pause)
            pause = min(2 * pause, 0.01)

    def _rolled_back(self, connection: sqlite3.Connection, problem: BaseException) -> bool:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        return not isinstance(problem, sqlite3.Error) or _is_busy(problem)

    def _let_go(self, connection: sqlite3.Connection) -> None:
        # For ever: to close it, even when the process ends, would end the parent's transaction in the file.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))

    def complaints(self) -> list[str]:
        with self.reading() as rows:
            damage = [str(line) for (line,) in rows.run("PRAGMA integrity_check") if line != "ok"]
            kept = {sql for (sql,) in rows.run("SELECT sql FROM sqlite_master WHERE type = 'trigger'")}
        for statement in TABLES:
            if statement.startswith("CREATE TRIGGER") and statement not in kept:
                name = statement.split()[2]
                damage.append(f"the trigger {name} is gone or was changed: the ledger is not append-only")
        return damage

    def looks_foreign(self) -> bool:
        """Whether the file, which SQLite cannot read, has nothing of a ledger in it.

        Asked only after that failed. Closing the descriptor would drop the locks of this process on the file, so where
        another part of the process is at work on it, it is taken for a ledger that was damaged.
        """
        if self._was_ledger or self.is_open_elsewhere():
            return False
        with contextlib.suppress(OSError), open(self.path, "rb") as file:
            start = file.read(SNIFFED)
            return not any(sign in start for sign in SIGNS)
        return False

    def _connected(self) -> sqlite3.Connection:
        if self._connection is not None:
            kept: sqlite3.Connection = self._connection
            return kept
        self._file = looked_at(self.path)
        connection = _connected(self.path, "rw" if os.access(self.path, os.W_OK) else "ro")
        try:
            if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
                raise _unmarked(connection, self.label)
        except BaseException:
            connection.close()
            raise
        self._connection, self._was_ledger = connection, True
        return connection

    def _check_file(self) -> None:
        """Whether the name still leads to the file we have open: else two ledgers would be charged apart."""
        if looked_at(self.path) != self._file:
            raise LedgerDamaged(
                f"the file {self.label!r} was replaced by another one while it was in use. Nothing is "
                "released; find out who replaced it, verify both, and open the ledger again."
            )


def _is_busy(problem: BaseException) -> bool:
    return getattr(problem, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY


def _connected(path: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=0,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        if mode != "ro":
            journal = connection.execute("PRAGMA journal_mode = PERSIST").fetchone()[0]
            if journal != "persist":
                raise LedgerError(f"{str(path)!r} cannot be given a rollback journal: it says {journal!r}.")
        for setting in SETTINGS:
            connection.execute(f"PRAGMA {setting}")
    except BaseException:
        connection.close()
        raise
    return connection


def _unmarked(connection: sqlite3.Connection, label: str) -> LedgerError:
    """What to say of an SQLite file without the mark of a ledger."""
    names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    if {"entries", "head"} <= names:
        return LedgerDamaged(f"the ledger {label!r} has lost its mark: it was changed. Nothing was released.")
    return NotALedger(f"{label!r} is not a ledger. Name another file.")


@contextlib.contextmanager
def _clear(store: SqliteStore) -> Iterator[None]:
    """SQLite's errors in our words."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as problem:
        name = getattr(problem, "sqlite_errorname", "") or ""
        # What is no text in the file, or in SQLite's complaint about it, the driver cannot decode: then it raises one
        # of these two, and SQLite itself has no code for it.
        if not name and isinstance(problem, UnicodeDecodeError | sqlite3.OperationalError):
            name = "SQLITE_CORRUPT"
        if name.startswith("SQLITE_NOTADB") and store.looks_foreign():
            raise NotALedger(f"{store.label!r} is not a ledger. Name another file.") from None
        known = next((why for start, why in WHY.items() if name.startswith(start)), None)
        why = known or f"SQLite says: {problem}"
        kind = LedgerDamaged if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")) else LedgerError
        raise kind(f"the ledger {store.label!r} could not be used: {why}. Nothing was released.") from None
