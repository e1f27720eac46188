"""A PostgreSQL server."""

from __future__ import annotations

import re
from dataclasses import replace

import ibis
import psycopg
import pytest

import dalenius as dp
from dalenius.errors import SourceError
from dalenius.tables import Source, Unit, count
from dalenius.tables.compute import exact
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

    @pytest.mark.parametrize("there", [True, False])
    def test_columns_of_different_collations_are_compared(
        self, postgres_server: PostgresServer, there: bool
    ) -> None:
        """The server refuses to, once there is a row: whether a question fails would then tell of one person."""
        url = postgres_server.fresh()
        with psycopg.connect(url, autocommit=True) as connection:
            for name, collation in (("a", "C"), ("b", "POSIX")):
                columns = f'id text COLLATE "{collation}" NOT NULL, s text COLLATE "{collation}" NOT NULL'
                connection.execute(f"CREATE TABLE {name} ({columns}, t text NOT NULL)")
                if there:
                    connection.execute(f"INSERT INTO {name} VALUES ('bob', 's', 's')")
        source = Source.open_together({"a": (url, "a"), "b": (url, "b")})
        unit, family = Unit("id", max_rows=2), object()
        a, b = (replace(one.table(), unit=unit, family=family) for one in source.together.values())
        joined = a.join(b, on=["id", "s"])
        for table in (
            joined,
            joined.filter('s = "b.s"'),
            a.join(b, on="id").filter('s = "b.s" AND s = "b.t"'),
        ):
            query = table.agg(n=count())
            found = exact.evaluate(source, query, table.bounded(unit))
            assert found[query.measures[0]].tolist() == [int(there)]
        source.close()

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


@pytest.mark.parametrize("text", ["\\' OR income > 50 --", "\\", "\\'", "a\\'||'b"])
def test_text_is_never_read_as_sql(postgres_server: PostgresServer, text: str) -> None:
    """Where a database says so, a backslash keeps a quote from ending a constant."""
    address = postgres_server.fresh()
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CREATE TABLE people (name text, income int)")
        connection.execute("INSERT INTO people VALUES (%s, 10), ('eve', 99)", (text,))
        connection.execute(f'ALTER DATABASE "{connection.info.dbname}" SET standard_conforming_strings = off')
    source = Source.open(address, table="people")
    quoted = "'" + text.replace("'", "''") + "'"
    query = source.table(dp.Schema(nulls="drop")).filter(f"name = {quoted}").agg(n=count())
    assert exact.evaluate(source, query, Unit.rows())[query.measures[0]].tolist() == [1]
    source.close()


def test_text_that_is_too_long_is_missing(postgres_server: PostgresServer) -> None:
    """Of 2^28 bytes, `translate` would ask for memory of 2^30 and fail."""
    address = postgres_server.fresh()
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CREATE TABLE people AS SELECT 'a' AS name UNION ALL SELECT repeat('x', 16777217)")
    source = Source.open(address, table="people")
    query = source.table(dp.Schema(nulls="drop")).agg(n=count("LOWER(name)"), all=count())
    found = exact.evaluate(source, query, Unit.rows())
    assert [found[measure].tolist() for measure in query.measures] == [[1], [2]]
    source.close()


def test_functions_of_others_are_never_called(postgres_server: PostgresServer) -> None:
    """Whoever may make a function in a schema of the search path could have it called with the rights of a session: one
    whose arguments fit better than those of PostgreSQL's own."""
    address = postgres_server.fresh()
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE people AS SELECT k::text AS id, k AS pay FROM generate_series(1, 9) k"
        )
        connection.execute("CREATE TABLE loot AS SELECT * FROM people LIMIT 0")
        connection.execute(
            "CREATE FUNCTION convert_to(a text, b text) RETURNS bytea LANGUAGE plpgsql AS $$ BEGIN "
            "INSERT INTO public.loot SELECT * FROM public.people; RETURN decode('00', 'hex'); END $$"
        )
    for called in ("people", "public.people"):
        asked = dp.Session(
            address,
            table=called,
            unit=dp.Unit("id", max_rows=1),
            budget=dp.ZCDP(1.0),
            schema=dp.Schema(nulls="drop"),
        )
        asked.release(asked.table.agg(n=dp.count(), pay=dp.sum("pay", bounds=(0, 9))), dp.ZCDP(0.1))
        asked.source.close()
    with psycopg.connect(address) as connection:
        assert connection.execute("SELECT COUNT(*) FROM loot").fetchall() == [(0,)]


HIDDEN = {
    "public.convert_to": "CREATE FUNCTION convert_to(a text, b text) RETURNS bytea LANGUAGE sql AS 'SELECT a::bytea'",
    "public.abs": (
        "CREATE DOMAIN short AS integer; CREATE FUNCTION abs(a short) RETURNS integer LANGUAGE sql AS 'SELECT 1'"
    ),
    "public.=": (
        "CREATE FUNCTION same(a bigint, b text) RETURNS boolean LANGUAGE sql AS 'SELECT true'; "
        "CREATE OPERATOR = (LEFTARG = bigint, RIGHTARG = text, FUNCTION = same)"
    ),
    '"Her own".lower': (
        'CREATE SCHEMA "Her own"; '
        "CREATE FUNCTION \"Her own\".lower(a varchar) RETURNS text LANGUAGE sql AS 'SELECT a::text'"
    ),
    "public.upper": (
        "CREATE FUNCTION upper(a varchar) RETURNS text LANGUAGE sql AS 'SELECT a::text'; "
        "ALTER EXTENSION plpgsql ADD FUNCTION upper(varchar); ALTER FUNCTION upper(varchar) OWNER TO pg_monitor"
    ),
}
NOT_HIDDEN = (
    "CREATE TYPE pair AS (a int, b int); CREATE FUNCTION abs(a pair) RETURNS integer LANGUAGE sql AS 'SELECT 1'",
    "CREATE FUNCTION mine(a text) RETURNS integer LANGUAGE sql AS 'SELECT 1'",
    (
        "CREATE FUNCTION upper(a varchar) RETURNS text LANGUAGE sql AS 'SELECT a::text'; "
        "ALTER EXTENSION plpgsql ADD FUNCTION upper(varchar)"
    ),
)


def test_a_given_connection_has_no_functions_under_names_of_the_servers(
    postgres_server: PostgresServer,
) -> None:
    """Its search path is left alone: nobody else may have put anything there that would be called."""

    def opened(made: str, path: str = 'public, "Her own"') -> None:
        with psycopg.connect(postgres_server.fresh(), autocommit=True) as connection:
            connection.execute("CREATE TABLE public.people AS SELECT '1' AS id, 2 AS pay")
            if made:
                connection.execute(made)
            connection.execute(f"SET search_path = {path}")
            given = ibis.postgres.from_connection(connection)
            try:
                Source.open(given.table("people", database="public"))
            finally:
                assert connection.execute("SHOW search_path").fetchall() == [(path,)]

    for called, made in HIDDEN.items():
        with pytest.raises(SourceError, match=f"has '{re.escape(called)}', .*search_path=pg_catalog"):
            opened(made)
        opened(made, "pg_catalog")
    for made in NOT_HIDDEN:
        opened(made)
    with pytest.raises(SourceError, match="has 'public' before pg_catalog: open"):
        opened("", "public, pg_catalog")


def test_a_table_elsewhere_on_the_search_path_is_named_with_its_schema(
    postgres_server: PostgresServer,
) -> None:
    """Without it, its place would be that of a table in the schema public: two tables with one account, or two accounts
    for one table."""
    address = postgres_server.fresh()
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA hers")
        connection.execute("CREATE TABLE hers.visits AS SELECT 1 AS who, 2 AS day")
        connection.execute('CREATE TABLE public."Odd ""name" AS SELECT 1 AS who, 3 AS paid')
        connection.execute("CREATE TABLE public.towns AS SELECT 1 AS who")
    plain, address = address, address + "?options=-csearch_path%3Dhers,public"
    with pytest.raises(SourceError, match=r"in the schema 'hers'; name both: table='hers\.visits'"):
        Source.open(address, table="visits")
    both = Source.open_together({"visits": (address, "hers.visits"), "paid": (address, 'Odd "name')})
    assert [[field.name for field in one.fields] for one in both.together.values()] == [
        ["who", "day"],
        ["who", "paid"],
    ]
    both.close()
    for url, name, place in ((address, "visits", "hers.visits"), (plain, "towns", "towns")):
        given = ibis.postgres.from_connection(psycopg.connect(url, autocommit=True))
        assert Source.open(given.table(name)).place.table == place
        given.disconnect()
