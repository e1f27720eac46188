"""The database of the store: SQLite in one file, or PostgreSQL; opened, made, and brought up to date."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from select import POLLIN, poll
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    Integer,
    Table,
    Text,
    create_engine,
    event,
    insert,
    select,
    update,
)
from sqlalchemy.exc import DataError, DisconnectionError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from dalenius.errors import DaleniusError, InvalidParameter
from dalenius.session.address import is_address, read_address
from dalenius.web.store.subject import METADATA, Subject
from dalenius.web.store.subjects import subjects

PATIENCE = 30
"""Seconds to wait for a lock or a server."""

MAKING = 0x44414C32
"""The advisory lock under which PostgreSQL's tables are made: two workers start at the same time."""

VERSIONS = Table(
    "console_versions",
    METADATA,
    Column("subject", Text, primary_key=True),
    Column("version", Integer, nullable=False),
)


class StoreUnusable(DaleniusError, OSError):
    """The console's own record cannot be opened, read or written."""


class StoreBusy(StoreUnusable):
    """All connections of this process were in use for too long: of the store itself that says nothing."""


class Store:
    """The console's own record. Shared by threads; a worker process opens its own.

    Examples
    --------
    >>> from dalenius.web.store import Store
    >>> from dalenius.web.store import people
    >>> import tempfile
    >>> store = Store.open(tempfile.mkdtemp() + "/console.sqlite")
    >>> with store.writing() as connection:
    ...     someone = people.add(connection, "Ada", "steward")
    >>> someone.name, someone.role
    ('Ada', 'steward')
    """

    def __init__(self, engine: Engine, label: str) -> None:
        self.engine, self.label = engine, label

    @classmethod
    def open(cls, where: str | os.PathLike[str]) -> Store:
        """Open the store at a path or a postgresql:// URL; make it where there is none."""
        text = os.fspath(where)
        store = cls(*(_postgres(text) if is_address(text) else _sqlite(text)))
        with store.writing() as connection:
            if store.is_postgres:
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({MAKING})")
            _bring_up_to_date(connection, store.label)
        return store

    @property
    def is_postgres(self) -> bool:
        """Whether this is a server that several machines may share."""
        return self.engine.dialect.name == "postgresql"

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """A view to read from. On PostgreSQL each statement is a transaction: none has to be begun and ended."""
        with self._transaction(writes=False) as connection:
            yield connection

    @contextlib.contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that writes: committed when the block ends well, and undone when it does not.

        On SQLite it is the only one that writes, from its beginning; on PostgreSQL rows are locked as they are written.
        """
        with self._transaction(writes=True) as connection:
            yield connection

    @contextlib.contextmanager
    def _transaction(self, writes: bool) -> Iterator[Connection]:
        try:
            options: dict[str, Any] = {"dalenius_writes": writes}
            if self.is_postgres and not writes:
                options["isolation_level"] = "AUTOCOMMIT"
            with self.engine.connect().execution_options(**options) as connection, connection.begin():
                yield connection
        except (DataError, UnicodeEncodeError):
            kind = ""
        except SQLAlchemyError as problem:
            kind = type(problem).__name__
        else:
            return
        # Outside the handler: what a driver says may quote addresses and values.
        if not kind:
            raise InvalidParameter(
                "a text or a number is not one that can be kept: leave out characters that cannot be printed."
            ) from None
        raise (StoreBusy if kind == PoolTimeout.__name__ else StoreUnusable)(
            f"the console's store at {self.label} could not be used ({kind}). Try again in a moment."
        ) from None

    def close(self) -> None:
        """Give the connections back."""
        self.engine.dispose()


def _sqlite(text: str) -> tuple[Engine, str]:
    path = Path(text).absolute()
    if not path.parent.is_dir():
        raise InvalidParameter(f"the folder of the store, {path.parent}, does not exist; create it first.")
    if not path.exists():
        # For its owner alone from the first moment; SQLite gives the files beside it the same rights.
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    engine = create_engine(
        f"sqlite:///{path}", connect_args={"timeout": PATIENCE, "check_same_thread": False}
    )

    @event.listens_for(engine, "connect")
    def settings(connection: Any, _: object) -> None:
        connection.isolation_level = None  # BEGIN is said below, as what it is
        for pragma in (
            "journal_mode = WAL",
            "synchronous = FULL",
            "foreign_keys = ON",
            "trusted_schema = OFF",
        ):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("dalenius_writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine, repr(str(path))


def _postgres(text: str) -> tuple[Engine, str]:
    from dalenius.session import postgres

    postgres.needed()
    from dalenius.session.deadline import Patient, connect_as

    address = read_address(text)

    def connected() -> Patient:
        # By libpq itself: SQLAlchemy reads addresses in another way, and would hold the password in its URL.
        connection = connect_as(Patient, address.text, time.monotonic() + PATIENCE)
        connection.patience = PATIENCE
        # The server gives up first, and so lets go of what it waits for; one that hangs does not.
        limits = (f"{name}_timeout = {int(800 * PATIENCE)}" for name in ("lock", "statement"))
        connection.execute(f"SET {'; SET '.join(limits)}".encode())
        connection.commit()
        return connection

    engine = create_engine(
        "postgresql+psycopg://",
        creator=connected,
        # A server has a hundred connections by default, for all processes together: each of ours is content with a few.
        # They are kept: one that is opened for a moment of haste costs more than what is asked over it.
        pool_size=8,
        max_overflow=0,
        hide_parameters=True,
    )

    @event.listens_for(engine, "checkout")
    def is_there(connection: Any, *_: object) -> None:
        # A server that went away has said so, and one that is well says nothing unasked: no need to ask it each time.
        look = poll()  # select() knows the first 1024 files of a process only
        look.register(connection.fileno(), POLLIN)
        if look.poll(0):
            raise DisconnectionError

    return engine, address.label


def _bring_up_to_date(connection: Connection, label: str) -> None:
    """Make what is not there, and change what is older, subject by subject; a newer one is refused."""
    VERSIONS.create(connection, checkfirst=True)
    written = {row.subject: row.version for row in connection.execute(select(VERSIONS))}
    for subject in subjects():
        found = written.get(subject.name)
        if found is None:
            METADATA.create_all(connection, tables=list(subject.tables), checkfirst=True)
            connection.execute(insert(VERSIONS).values(subject=subject.name, version=subject.version))
            continue
        _check(subject, found, label)
        for step in subject.steps[found - 1 :]:
            step(connection)
        if found < subject.version:
            change = update(VERSIONS).where(VERSIONS.c.subject == subject.name)
            connection.execute(change.values(version=subject.version))


def _check(subject: Subject, found: int, label: str) -> None:
    if found > subject.version:
        raise StoreUnusable(
            f"the console's store at {label} was written by a newer dalenius ({subject.name} is version {found}, this "
            f"one knows {subject.version}). Install that version again, or restore a copy made before the upgrade."
        )
