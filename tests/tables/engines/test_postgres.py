"""A PostgreSQL server."""

from __future__ import annotations

import psycopg
import pytest

from dalenius.tables import Source
from tests.servers.postgres import PostgresServer
from tests.tables.engine_contract import EngineContract
from tests.tables.engines.holds import Hold, postgres

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Ibis about its own engines


class TestPostgres(EngineContract):
    name = "postgres"

    @pytest.fixture(scope="class")
    @classmethod
    def hold(cls, postgres_server: PostgresServer) -> Hold:
        return postgres(postgres_server.fresh())

    @pytest.fixture
    def collating(self, postgres_server: PostgresServer) -> Source:
        url = postgres_server.fresh()
        icu = "CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(
                f"{icu}; CREATE TABLE t (s text COLLATE ci); INSERT INTO t VALUES ('a'), ('A')"
            )
        return Source.open(url, table="t")
