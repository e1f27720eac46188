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
- A new ledger is built under another name and linked into place whole. So an empty or half-made file at the
  ledger's name is never one of ours: it is refused, not taken for a ledger in which nothing was spent.
- Files are made for their owner alone (0600); SQLite gives the journal the same rights.

Never opened here by any other means than SQLite: closing a second descriptor of the file would drop the locks
of this process.

Threads and forks. In a child SQLite believes that it holds the locks which threads of the parent held at that moment,
and its own mutexes may be taken for ever. So a fork waits until no thread of ours is in a transaction (`_Gate`); should
that take too long, the fork goes ahead and the child refuses to use ledgers in files.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from dalenius.errors import LedgerDamaged, LedgerError
from dalenius.session.entries import SCHEMA, START, Entry
from dalenius.session.store import Rows, Store

APPLICATION = 0x44414C31
"""Marks the file as a ledger of ours ("DAL1"), for SQLite and for file(1)."""

TABLES = (
    """CREATE TABLE entries (
        seq INTEGER PRIMARY KEY,
        kind TEXT NOT NULL CHECK (kind IN ('open', 'account', 'charge', 'answer', 'close')),
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

FORK_PATIENCE = 10.0
"""Seconds a fork waits for transactions of other threads; they take a few milliseconds each."""

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
    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__()
        self.connection = connection

    def run(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        return self.connection.execute(sql, tuple(parameters)).fetchall()

    def set_version(self, version: int) -> None:
        ((guard,),) = self.run(
            "SELECT sql FROM sqlite_master WHERE type = 'trigger' AND name = 'head_follows'"
        )
        self.run("DROP TRIGGER head_follows")
        self.run("UPDATE head SET version = ?", (version,))
        self.run(guard)

    def confirm(self) -> None:
        head, found = self.tail(self.added[0].seq, len(self.added) + 1)
        if found != self.added or (head.seq, head.hash) != (found[-1].seq, found[-1].hash):
            raise LedgerDamaged(
                "what was written to the ledger is not what is there. Nothing was released; run `dalenius ledger "
                "verify`, and restore a copy that verifies and is at least as recent."
            )


class SqliteStore(Store):
    """One file, any number of processes on one machine."""

    def __init__(self, path: Path, patience: float) -> None:
        super().__init__(str(path), str(path), patience)
        self.path = path
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None

    def exists(self) -> bool:
        # Not `Path.exists`: a link that leads nowhere is not a place for a new ledger.
        return os.path.lexists(self.path)

    def check_room(self) -> None:
        folder = self.path.parent
        if not folder.is_dir():
            raise LedgerError(f"the ledger's folder {str(folder)!r} does not exist; create it first.")
        if not os.access(folder, os.W_OK):
            raise LedgerError(f"the ledger's folder {str(folder)!r} may not be written; name another place.")

    def create(self, entries: Iterable[Entry], version: int) -> None:
        path = self.path
        self.check_room()
        draft = path.with_name(f".{path.name}.new-{os.getpid()}-{secrets.token_hex(4)}")
        try:
            with _clear(str(path)), _gate.inside(time.monotonic() + self.patience):
                os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
                connection = _connected(draft, "rw")
                try:
                    connection.execute("BEGIN IMMEDIATE")
                    for statement in TABLES:
                        connection.execute(statement)
                    rows = SqliteRows(connection)
                    for entry in entries:
                        rows.add(entry)
                    if version != SCHEMA:
                        rows.set_version(version)
                    connection.execute("COMMIT")
                finally:
                    connection.close()
            _placed(draft, path)
        finally:
            for name in (draft, draft.with_name(draft.name + "-journal")):
                name.unlink(missing_ok=True)
        _sync_folder(path.parent)

    def writing(self) -> contextlib.AbstractContextManager[Rows]:
        return self._transaction("BEGIN IMMEDIATE")

    def reading(self) -> contextlib.AbstractContextManager[Rows]:
        return self._transaction("BEGIN")

    @contextlib.contextmanager
    def _transaction(self, begin: str) -> Iterator[Rows]:
        with self.turn() as deadline, _clear(self.label), _gate.inside(deadline):
            connection = self._begun(begin, deadline)
            try:
                self._check_file()
                rows = SqliteRows(connection)
                yield rows
                self._in_its_process(connection)
                _patiently(connection, "COMMIT", self.for_commit(deadline))
            except BaseException as problem:
                self._undo(connection, problem)
                raise

    def _begun(self, begin: str, deadline: float) -> sqlite3.Connection:
        """A connection with a transaction begun, and its lock held."""
        pause = 0.001
        while True:
            connection = None
            try:
                connection = self._connected()
                self._check_file()  # for a clear message; once more when it is locked, for certain
                connection.execute("PRAGMA shrink_memory")
                connection.execute(begin)
                connection.execute("SELECT seq FROM head").fetchall()  # a reader has no lock before it reads
                return connection
            except BaseException as problem:
                if connection is not None:
                    self._undo(connection, problem)
                if not _is_busy(problem) or time.monotonic() >= deadline:
                    raise
            with _gate.outside(deadline):  # a fork need not wait for those who wait
                time.sleep(pause)
            pause = min(2 * pause, 0.02)

    def _in_its_process(self, connection: sqlite3.Connection) -> None:
        if connection is not self._connection:
            raise LedgerError(
                "the process was forked inside a transaction of its ledger; the transaction stays with the parent."
            )

    def _undo(self, connection: sqlite3.Connection, problem: BaseException) -> None:
        """Roll back; after a problem of the database itself, start from a fresh connection as well.

        After a failed sync nothing that is cached can be trusted. Closing rolls back, too.
        """
        if connection is not self._connection:  # a child: it is the parent's
            return
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            if not isinstance(problem, sqlite3.Error) or _is_busy(problem):
                return
        except sqlite3.Error:
            pass  # it comes second to the first problem
        self._connection = None
        with contextlib.suppress(sqlite3.Error):
            connection.close()

    def complaints(self) -> list[str]:
        with self.reading() as rows:
            damage = [str(line) for (line,) in rows.run("PRAGMA integrity_check") if line != "ok"]
            found = {sql for (sql,) in rows.run("SELECT sql FROM sqlite_master WHERE type = 'trigger'")}
        for statement in TABLES:
            if statement.startswith("CREATE TRIGGER") and statement not in found:
                name = statement.split()[2]
                damage.append(f"the trigger {name} is gone or was changed: the ledger is not append-only")
        return damage

    def close(self) -> None:
        with self.turn() as deadline, _gate.inside(deadline):
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def forget(self) -> None:
        if self._connection is not None:
            # For ever: to close it, even when the process ends, would end the parent's transaction in the file.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._connection))
        self._connection = None

    def _connected(self) -> sqlite3.Connection:
        if self._connection is not None:
            return self._connection
        status = _looked_at(self.path)
        connection = _connected(self.path, "rw" if os.access(self.path, os.W_OK) else "ro")
        try:
            if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
                raise LedgerError(f"{self.label!r} is an SQLite file, but not a ledger. Name another file.")
        except BaseException:
            connection.close()
            raise
        self._connection, self._file = connection, (status.st_dev, status.st_ino)
        return connection

    def _check_file(self) -> None:
        """Whether the name still leads to the file we have open: else two ledgers would be charged apart."""
        status = _looked_at(self.path)
        if (status.st_dev, status.st_ino) != self._file:
            raise LedgerDamaged(
                f"the file {self.label!r} was replaced by another one while it was in use. Nothing is "
                "released; find out who replaced it, verify both, and open the ledger again."
            )


class _Gate:
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


_gate = _Gate()

if hasattr(os, "register_at_fork"):  # not on Windows, where there is no fork
    os.register_at_fork(
        before=_gate.before_fork, after_in_parent=_gate.after_fork, after_in_child=_gate.in_child
    )


def _is_busy(problem: BaseException) -> bool:
    return getattr(problem, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY


def _patiently(connection: sqlite3.Connection, sql: str, deadline: float) -> None:
    """Run it, again and again as long as others have the file locked."""
    pause = 0.0005
    while True:
        try:
            connection.execute(sql)
            return
        except sqlite3.OperationalError as problem:
            if not _is_busy(problem) or time.monotonic() >= deadline:
                raise
        time.sleep(pause)
        pause = min(2 * pause, 0.01)


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
            found = connection.execute("PRAGMA journal_mode = PERSIST").fetchone()[0]
            if found != "persist":
                raise LedgerError(f"{str(path)!r} cannot be given a rollback journal: it says {found!r}.")
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute("PRAGMA fullfsync = ON")
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        connection.execute(
            "PRAGMA cache_spill = OFF"
        )  # else a long answer needs the last lock before its commit
    except BaseException:
        connection.close()
        raise
    return connection


def _looked_at(path: Path) -> os.stat_result:
    try:
        status = path.stat()
    except FileNotFoundError:
        raise LedgerDamaged(
            f"the ledger {str(path)!r} is gone. Nothing is released; put the file back."
        ) from None
    except OSError as problem:
        raise LedgerError(f"the ledger {str(path)!r} cannot be looked at: {problem.strerror}.") from None
    if path.is_dir():
        raise LedgerError(f"{str(path)!r} is a folder; name a file for the ledger.")
    if status.st_size == 0:
        raise LedgerDamaged(
            f"{str(path)!r} is an empty file, and a ledger never is. If charges were made in it, restore a "
            "copy; if you are sure that none were, remove the file and open the ledger anew."
        )
    if status.st_nlink > 1:
        _remove_drafts(path, status)
    return status


def _remove_drafts(path: Path, status: os.stat_result) -> None:
    """Remove what a process killed while creating this ledger left; refuse any other second name.

    SQLite finds an unfinished transaction by the name of the file: with two names it would miss one.
    """
    for draft in path.parent.iterdir():
        if draft.name.startswith(f".{path.name}.new-"):
            with contextlib.suppress(FileNotFoundError):
                if draft.stat().st_ino == status.st_ino:
                    draft.unlink()
    if path.stat().st_nlink > 1:
        raise LedgerError(
            f"the ledger {str(path)!r} has a second name (a hard link), and must have one only. Remove the "
            "link; to keep a copy, copy the file or use `dalenius ledger export`."
        )


def _placed(draft: Path, path: Path) -> None:
    """Give the finished draft its name, unless the name is taken."""
    try:
        os.link(draft, path)
    except FileExistsError:
        return
    except OSError:
        # No hard links on this file system. Reserve the name, so that two creators cannot both win.
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            return
        os.replace(draft, path)


def _sync_folder(folder: Path) -> None:
    """Make the new name durable (where folders can be opened: not on Windows)."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def _clear(label: str) -> Iterator[None]:
    """SQLite's errors in our words."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as problem:
        name = getattr(problem, "sqlite_errorname", "") or ""
        # What is no text in the file, or in SQLite's complaint about it, the driver cannot decode: then it raises one
        # of these two, and SQLite itself has no code for it.
        if not name and isinstance(problem, UnicodeDecodeError | sqlite3.OperationalError):
            name = "SQLITE_CORRUPT"
        known = next((why for start, why in WHY.items() if name.startswith(start)), None)
        why = known or f"SQLite says: {problem}"
        kind = LedgerDamaged if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")) else LedgerError
        raise kind(f"the ledger {label!r} could not be used: {why}. Nothing was released.") from None
