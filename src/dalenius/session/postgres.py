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
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from dalenius.calculus.errors import InvalidParameter, LedgerDamaged, LedgerError
from dalenius.session.entries import SCHEMA, START, Entry
from dalenius.session.store import Rows, Store

if TYPE_CHECKING:
    import psycopg

CREATING = 0x44414C31
"""Two processes that find no ledger create it one after the other, by this advisory lock."""

TABLES = f"""
CREATE SCHEMA dalenius;
CREATE TABLE dalenius.entries (
    seq bigint PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('open', 'account', 'charge', 'answer')),
    account bigint NOT NULL,
    key text NOT NULL,
    body text NOT NULL,
    previous text NOT NULL,
    hash text NOT NULL);
CREATE INDEX entries_by_key ON dalenius.entries (key, kind, account, seq);
CREATE INDEX entries_by_account ON dalenius.entries (account, kind, seq);
CREATE TABLE dalenius.head (
    one integer PRIMARY KEY CHECK (one = 1),
    version integer NOT NULL,
    seq bigint NOT NULL,
    hash text NOT NULL);
INSERT INTO dalenius.head VALUES (1, {SCHEMA}, 0, '{START}');

CREATE FUNCTION dalenius.follow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM dalenius.head WHERE NEW.seq = seq + 1 AND NEW.previous = hash FOR UPDATE;
    IF NOT FOUND THEN RAISE EXCEPTION 'an entry must follow the last one'; END IF;
    UPDATE dalenius.head SET seq = NEW.seq, hash = NEW.hash;
    RETURN NEW;
END $$;
CREATE FUNCTION dalenius.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the ledger is only ever added to';
END $$;
CREATE FUNCTION dalenius.only_by_entries() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF pg_trigger_depth() < 2 OR NEW.one <> 1 OR NEW.version <> OLD.version OR NEW.seq <> OLD.seq + 1 THEN
        RAISE EXCEPTION 'the head follows the entries';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER entries_follow BEFORE INSERT ON dalenius.entries
    FOR EACH ROW EXECUTE FUNCTION dalenius.follow();
CREATE TRIGGER entries_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON dalenius.entries
    FOR EACH STATEMENT EXECUTE FUNCTION dalenius.refuse();
CREATE TRIGGER head_follows BEFORE UPDATE ON dalenius.head
    FOR EACH ROW EXECUTE FUNCTION dalenius.only_by_entries();
CREATE TRIGGER head_stays BEFORE INSERT OR DELETE OR TRUNCATE ON dalenius.head
    FOR EACH STATEMENT EXECUTE FUNCTION dalenius.refuse();
"""

TRIGGERS = ("entries_follow", "entries_stay", "head_follows", "head_stays")

WHY = {
    "53100": "the server's disk is full. Free some space on the server",
    "55P03": "another process kept it locked for too long. Try again",
    "57014": "the server gave up waiting. Try again",
    "25006": "the server may not be written to (a standby, or read only). Name the primary server",
    "42501": "this user lacks a right. Grant USAGE on schema dalenius, SELECT and INSERT on "
    "dalenius.entries, SELECT and UPDATE on dalenius.head",
}


class PostgresRows(Rows):
    place = "dalenius."
    mark = "%s"

    def __init__(self, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        self.connection = connection

    def run(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        cursor = self.connection.execute(sql.encode(), parameters or None)
        return cursor.fetchall() if cursor.description is not None else []


class PostgresStore(Store):
    """A database, any number of processes on any number of machines."""

    def __init__(self, url: str, patience: float) -> None:
        super().__init__(without_password(url))
        self.url, self.patience = url, patience
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None

    def exists(self) -> bool:
        """Whether the database holds a ledger."""
        with self._transaction("READ ONLY") as rows:
            return _has_ledger(rows)

    def create(self, first: Entry) -> None:
        """Create the tables and the first entry; if there is a ledger by then, leave that one."""
        with self._transaction("READ WRITE") as rows:
            rows.run(f"SELECT pg_advisory_xact_lock({CREATING})")
            if not _has_ledger(rows):
                rows.run(TABLES)
                rows.add(first)

    @contextlib.contextmanager
    def writing(self) -> Iterator[Rows]:
        with self._transaction("READ WRITE") as rows:
            rows.run("SELECT seq FROM dalenius.head FOR UPDATE")
            yield rows

    def reading(self) -> contextlib.AbstractContextManager[Rows]:
        return self._transaction("READ ONLY", "REPEATABLE READ")

    def complaints(self) -> list[str]:
        with self.reading() as rows:
            found = rows.run(
                "SELECT tgname::text FROM pg_trigger WHERE tgenabled IN ('O', 'A') AND tgrelid IN "
                "('dalenius.entries'::regclass, 'dalenius.head'::regclass)"
            )
        missing = sorted(set(TRIGGERS) - {name for (name,) in found})
        return [
            f"the trigger {name} is gone or switched off: the ledger is not append-only" for name in missing
        ]

    def close(self) -> None:
        with self.lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def forget(self) -> None:
        # psycopg itself never closes a connection in another process than the one that made it.
        self._connection = None

    @contextlib.contextmanager
    def _transaction(self, access: str, isolation: str = "READ COMMITTED") -> Iterator[Rows]:
        with self.lock, _clear(self.label):
            import psycopg

            waiting = int(self.patience * 1000)
            begin = (
                f"BEGIN ISOLATION LEVEL {isolation} {access}; SET LOCAL lock_timeout = {waiting}; "
                f"SET LOCAL statement_timeout = {2 * waiting}; "
                f"SET LOCAL idle_in_transaction_session_timeout = {2 * waiting}; "
                "SET LOCAL search_path = pg_catalog; "
                # A commit must be on disk when it returns, whatever the server's or the user's default is.
                "SELECT set_config('synchronous_commit', 'on', true) "
                "WHERE current_setting('synchronous_commit') NOT IN ('on', 'remote_apply')"
            )
            connection = self._begun(begin)
            try:
                yield PostgresRows(connection)
                if connection.execute("COMMIT").statusmessage != "COMMIT":
                    raise LedgerError(f"the ledger {self.label} did not commit. Nothing was released.")
            except BaseException as problem:
                self._undo(connection, isinstance(problem, psycopg.Error))
                raise

    def _begun(self, begin: str) -> psycopg.Connection[tuple[Any, ...]]:
        """A connection with a transaction begun; one that the server dropped meanwhile is made anew."""
        import psycopg

        if self._connection is not None:
            try:
                self._connection.execute(begin.encode())
                return self._connection
            except psycopg.Error:
                self._undo(self._connection, True)
        connection = self._connected()
        try:
            connection.execute(begin.encode())
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        return connection

    def _connected(self) -> psycopg.Connection[tuple[Any, ...]]:
        import psycopg

        connection = psycopg.connect(
            self.url,
            autocommit=True,
            prepare_threshold=None,  # poolers between us and the server may not keep prepared statements
            connect_timeout=max(2, int(self.patience)),
            keepalives_idle=30,
        )
        if connection.execute("SHOW fsync").fetchone() != ("on",):
            connection.close()
            raise LedgerError(
                f"the server of {self.label} runs with fsync off: a power cut could lose charges. Set "
                "fsync = on in its postgresql.conf."
            )
        return connection

    def _undo(self, connection: psycopg.Connection[tuple[Any, ...]], broken: bool) -> None:
        import psycopg

        try:
            if not broken:
                connection.execute("ROLLBACK")
                return
        except psycopg.Error:
            pass  # it comes second to the first problem
        self._connection = None
        with contextlib.suppress(psycopg.Error):
            connection.close()  # the server rolls back


def without_password(url: str) -> str:
    """The URL as it may be shown."""
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    kept = "&".join(word for word in parts.query.split("&") if word and not word.startswith("password="))
    return urlunsplit(parts._replace(netloc=user.partition(":")[0] + at + host, query=kept))


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
    """The driver's errors in our words."""
    import psycopg

    try:
        yield
    except psycopg.ProgrammingError as problem:
        if problem.sqlstate is None:  # the URL was not understood: nothing was sent
            raise InvalidParameter(
                f"the ledger's URL is not one that PostgreSQL understands: {problem}".rstrip()
            ) from None
        raise _worded(problem, label) from problem
    except psycopg.Error as problem:
        raise _worded(problem, label) from problem


def _worded(problem: psycopg.Error, label: str) -> LedgerError:
    why = WHY.get(problem.sqlstate or "")
    if why is None:
        first = (problem.diag.message_primary or str(problem) or "the connection broke").strip()
        why = f"PostgreSQL says: {first.splitlines()[0]}"
    kind = LedgerDamaged if (problem.sqlstate or "").startswith("XX") else LedgerError
    return kind(f"the ledger {label} could not be used: {why}. Nothing was released.")
