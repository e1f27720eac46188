"""A ledger in a PostgreSQL database, in a schema of its own named `dalenius`.

Why these settings:

- Every writing transaction first locks the one row of `head`. Under READ COMMITTED each later statement sees
  all that was committed before the lock was granted, so charges are made one by one, whoever makes them.
- synchronous_commit is switched on for every transaction (or left at something stronger), and a server with
  fsync off is refused: COMMIT returns only when the charge is on disk.
- A client that is killed loses its connection and the server rolls its transaction back. A client whose
  machine vanished is cut off after a while (idle_in_transaction_session_timeout), so that it cannot hold the
  lock for ever.
- COMMIT of a transaction that had failed answers ROLLBACK without an error; the answer is checked.
- If the connection breaks during COMMIT the outcome is unknown: that is reported as a failure, and nothing
  is released. The charge may be there, which wastes budget and never overspends it.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dalenius.errors import InvalidParameter, LedgerDamaged, LedgerError
from dalenius.session.address import WRITE, Address
from dalenius.session.entries import Entry
from dalenius.session.guards import GRANT, LATEST, NEW_KIND, TABLES, TRIGGERS, UPGRADE
from dalenius.session.rows import Rows
from dalenius.session.store import Store

if TYPE_CHECKING:
    import psycopg

    from dalenius.session.deadline import Timed

CREATING = 0x44414C31
"""Two processes that find no ledger create it one after the other, by this advisory lock."""

ADDING = "dalenius.append(bigint, text, bigint, text, text, text, text)"
MARGIN = 0.8
"""The server gives up after this part of the patience, so that it can say why before we hang up."""

WHY = {
    "53100": "the server's disk is full. Free some space on the server",
    "55P03": "another process kept it locked for too long. Try again",
    "57014": "the server took too long. Try again",
    "25006": "the server may not be written to (a standby, or read only). Name the primary server",
    "42501": "this user lacks a right. Have the owner of the ledger run `dalenius ledger grant`",
    "28P01": "the password is wrong. " + WRITE[0].upper() + WRITE[1:].rstrip("."),
    "28000": "the server does not let this user in. Check its user, its pg_hba.conf and the need for TLS",
    "3D000": "there is no such database. Check its name",
}


REFUSALS = {
    "password authentication failed": "28P01",
    "no password supplied": "28P01",
    "pg_hba.conf": "28000",
    "does not exist": "3D000",
}
"""What a server says that does not let us in, for which libpq has no code; by the codes it would have."""


class PostgresRows(Rows):
    place = "dalenius."
    mark = "%s"

    def __init__(self, connection: Timed, guarded: bool) -> None:
        super().__init__(connection)
        self.guarded = guarded

    def run(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        cursor = self.connection.execute(sql.encode(), tuple(parameters) or None)
        return cursor.fetchall() if cursor.description is not None else []

    def add(self, entry: Entry) -> None:
        if entry.kind in ("account", "steward"):
            self._teach(entry.kind)
        if self.guarded:
            self.run("SELECT dalenius.append(%s, %s, %s, %s, %s, %s, %s)", entry)
        else:  # a ledger of an earlier version
            super().add(entry)

    def _teach(self, kind: str) -> None:
        """On a ledger of an earlier version: what is guarded since, in the same transaction, by the owner."""
        ((knows, may),) = self.run(
            f"SELECT to_regprocedure('{LATEST}') IS NOT NULL, "
            "pg_has_role(tableowner, 'USAGE') FROM pg_tables WHERE schemaname = 'dalenius' AND tablename = 'entries'"
        )
        if knows or not may:
            return
        if self.guarded:
            self.run(UPGRADE)
        elif kind == "steward":  # a ledger of an earlier version, whose server checks no entries
            self.run(NEW_KIND)

    def set_version(self, version: int) -> None:
        self.run("ALTER TABLE dalenius.head DISABLE TRIGGER head_follows")
        self.run("UPDATE dalenius.head SET version = %s", (version,))
        self.run("ALTER TABLE dalenius.head ENABLE TRIGGER head_follows")


class PostgresStore(Store):
    """A database, any number of processes on any number of machines."""

    def __init__(self, address: Address, patience: float) -> None:
        super().__init__(address.label, address.place, patience)
        self.address = address
        self._guarded = False

    def exists(self) -> bool:
        """Whether the database holds a ledger."""
        with self._transaction("READ ONLY") as rows:
            return _has_ledger(rows)

    def check_room(self) -> None:
        with self._transaction("READ ONLY") as rows:
            ((allowed,),) = rows.run("SELECT has_database_privilege(current_database(), 'CREATE')")
        if not allowed:
            raise LedgerError(f"this user may not create a schema in {self.label}; have its owner do it.")

    def create(self, entries: Iterable[Entry], version: int) -> None:
        with self._transaction("READ WRITE") as rows:
            rows.run(f"SELECT pg_advisory_xact_lock({CREATING})")
            if not _has_ledger(rows):
                rows.run(TABLES)
                rows.fill(entries, version)
        self.close()  # what the server can do is asked again when it is connected again

    def grant(self, role: str) -> None:
        from psycopg import sql

        with self._transaction("READ WRITE") as rows:
            rows.run(sql.SQL(GRANT).format(role=sql.Identifier(role)).as_string(rows.connection))
        self.close()

    @contextlib.contextmanager
    def writing(self) -> Iterator[Rows]:
        with self._transaction("READ WRITE") as rows:
            rows.run("SELECT dalenius.turn()" if rows.guarded else "SELECT seq FROM dalenius.head FOR UPDATE")
            yield rows

    def reading(self) -> contextlib.AbstractContextManager[Rows]:
        return self._transaction("READ ONLY", "REPEATABLE READ")

    def complaints(self) -> list[str]:
        with self.reading() as rows:
            triggers = rows.run(
                "SELECT tgname::text FROM pg_trigger WHERE tgenabled IN ('O', 'A') AND tgrelid IN "
                "('dalenius.entries'::regclass, 'dalenius.head'::regclass)"
            )
        missing = sorted(set(TRIGGERS) - {name for (name,) in triggers})
        return [
            f"the trigger {name} is gone or switched off: the ledger is not append-only" for name in missing
        ]

    def _access(self, deadline: float) -> contextlib.AbstractContextManager[None]:
        return _clear(self.label)

    def _begun(self, deadline: float, *how: str) -> PostgresRows:
        """One that the server dropped meanwhile is made anew."""
        import psycopg

        from dalenius.session.deadline import TooLong

        if self._connection is not None:
            try:
                return self._begin(deadline, *how)
            except psycopg.Error as problem:
                self._undo(self._connection, problem)
                if isinstance(problem, TooLong):
                    raise
        self._connection = self._connected(deadline)
        return self._begin(deadline, *how)

    def _begin(self, deadline: float, access: str, isolation: str = "READ COMMITTED") -> PostgresRows:
        self._connection.deadline = deadline
        waiting = max(1, int(MARGIN * 1000 * (deadline - time.monotonic())))
        self._connection.execute(
            f"BEGIN ISOLATION LEVEL {isolation} {access}; SET LOCAL lock_timeout = {waiting}; "
            f"SET LOCAL statement_timeout = {waiting + waiting // 8}; "
            f"SET LOCAL idle_in_transaction_session_timeout = {2 * int(1000 * self.patience) + 1000}; "
            "SET LOCAL search_path = pg_catalog; "
            # A commit must be on disk when it returns, whatever the server's or the user's default is.
            "SELECT set_config('synchronous_commit', 'on', true) "
            "WHERE current_setting('synchronous_commit') NOT IN ('on', 'remote_apply')".encode()
        )
        return PostgresRows(self._connection, self._guarded)

    def _connected(self, deadline: float) -> Timed:
        from dalenius.session.deadline import connect

        connection = connect(
            self.address.text,
            deadline,
            autocommit=True,
            prepare_threshold=None,  # poolers between us and the server may not keep prepared statements
            keepalives_idle=30,
        )
        try:
            settings = connection.execute(
                f"SELECT current_setting('fsync'), to_regprocedure('{ADDING}') IS NOT NULL".encode()
            ).fetchone()
        except BaseException:
            connection.close()
            raise
        if settings is None or settings[0] != "on":
            connection.close()
            raise LedgerError(
                f"the server of {self.label} runs with fsync off: a power cut could lose charges. Set "
                "fsync = on in its postgresql.conf."
            )
        self._guarded = bool(settings[1])
        return connection

    def _commit(self, connection: Timed, deadline: float) -> None:
        connection.deadline = deadline
        if connection.execute("COMMIT").statusmessage != "COMMIT":
            raise LedgerError(f"the ledger {self.label} did not commit. Nothing was released.")

    def _rolled_back(self, connection: Timed, problem: BaseException) -> bool:
        import psycopg

        # Where we are in the middle of nothing, the server is well and waits for us. Closing rolls back, too.
        is_well = isinstance(problem, Exception) and not isinstance(problem, psycopg.Error)
        if is_well:
            connection.execute("ROLLBACK")
        return is_well

    def _let_go(self, connection: Timed) -> None:
        from dalenius.session.deadline import let_go

        let_go(connection)


def needed() -> None:
    """Say what to install where the driver is missing."""
    try:
        import psycopg  # noqa: F401
    except ImportError:
        raise ImportError("a ledger in PostgreSQL needs psycopg: pip install 'dalenius[postgres]'") from None


def _has_ledger(rows: Rows) -> bool:
    # The catalogue itself: to_regclass() may answer from a cache filled before another process created it.
    schema, tables = rows.run(
        "SELECT count(DISTINCT n.oid), count(c.oid) "
        "FROM pg_catalog.pg_namespace n LEFT JOIN pg_catalog.pg_class c "
        "ON c.relnamespace = n.oid AND c.relname IN ('entries', 'head') AND c.relkind = 'r' "
        "WHERE n.nspname = 'dalenius'"
    )[0]
    if schema and tables != 2:
        raise LedgerDamaged(
            "the database has a schema `dalenius` that is not a ledger, or lacks its tables. Restore the "
            "ledger, or name another database."
        )
    return bool(schema)


@contextlib.contextmanager
def _clear(label: str) -> Iterator[None]:
    """The driver's errors in our words. What libpq said may quote the address, and goes: also from the chain of errors,
    in which this one stays because it happened inside a `with`.
    """
    import psycopg

    try:
        yield
    except psycopg.Error as problem:
        worded = _worded(problem, label)
        problem.args = (type(problem).__name__,)
        problem.__cause__ = problem.__context__ = None
        raise worded from None


def _worded(problem: psycopg.Error, label: str) -> Exception:
    import psycopg

    from dalenius.session.deadline import TooLong

    state, said = problem.sqlstate or "", str(problem)
    why = WHY.get(state)
    if isinstance(problem, TooLong):
        why = "the server took too long to answer. Try again, or look what it is doing"
    elif why is None and state and problem.diag.message_primary:
        why = f"PostgreSQL says: {problem.diag.message_primary.splitlines()[0]}"
    elif why is None and isinstance(problem, psycopg.ProgrammingError):  # nothing was sent
        return InvalidParameter(f"the ledger's URL is not one that PostgreSQL understands; {WRITE}")
    elif why is None:
        refusals = (WHY[known] for words, known in REFUSALS.items() if words in said)
        why = next(
            refusals, "there is no connection, or it broke. Check that the server runs, and its host and port"
        )
    kind = LedgerDamaged if state.startswith("XX") else LedgerError
    return kind(f"the ledger {label} could not be used: {why}. Nothing was released.")
