"""A PostgreSQL server."""

from __future__ import annotations

import psycopg
import pytest

from dalenius.tables import Source
from dalenius.tables.compute.exact import Evaluation
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

    def roots(self, source: Source, asked: Evaluation) -> int:
        with source._backend.con.cursor() as cursor:
            cursor.execute(COUNTING)
            asked.run()
            ((calls,),) = cursor.execute("SELECT last_value FROM counting.calls").fetchall()
        return int(calls)


COUNTING = """
    CREATE SCHEMA counting;
    CREATE SEQUENCE counting.calls;
    CREATE FUNCTION counting.sqrt(x double precision) RETURNS double precision LANGUAGE plpgsql IMMUTABLE AS $$
        BEGIN PERFORM nextval('counting.calls'); RETURN pg_catalog.sqrt(x); END
    $$;
    SET search_path = counting, pg_catalog, public
"""
"""IMMUTABLE is not true: what says that it is volatile would be fenced by the planner itself."""
