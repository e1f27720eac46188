"""A place for a ledger on each kind of store."""

from __future__ import annotations

from pathlib import Path

import pytest

from dalenius.session.memory import _memories
from tests.servers.postgres import PostgresServer

STORES = ("sqlite", "postgres")


@pytest.fixture(scope="session")
def _database(postgres_server: PostgresServer) -> str:
    return postgres_server.fresh()


@pytest.fixture
def postgres_place(_database: str) -> str:
    """The URL of a database without a ledger in it. One database for all: making one takes a while."""
    import psycopg

    with psycopg.connect(_database, autocommit=True) as connection:
        # Whatever an earlier test left open.
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        connection.execute("DROP SCHEMA IF EXISTS dalenius CASCADE")
    _memories.clear()  # a process refuses a new ledger where it has one open: an earlier test may have
    return _database


@pytest.fixture(params=STORES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A path or a URL where there is no ledger yet."""
    if request.param == "sqlite":
        return str(tmp_path / "people.ledger")
    url: str = request.getfixturevalue("postgres_place")
    return url
