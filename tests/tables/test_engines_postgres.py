"""One question, one set of integers: on DuckDB and on a PostgreSQL server, for the nastiest of tables.

Then whole sessions on the server: a release, keys discovered, a model. `engines` states their false alarms.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dalenius.tables import Query, Source, Table, Unit
from tests.servers.postgres import PostgresServer
from tests.tables import nasty
from tests.tables.engines import (
    check_discovery,
    check_fit,
    check_release,
    in_duckdb,
    in_postgres,
    integers,
)

CASES = nasty.cases()

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Ibis about its own engines


@pytest.fixture(scope="module")
def duckdb_source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    return in_duckdb(nasty.arrow(), tmp_path_factory.mktemp("duckdb"))


@pytest.fixture(scope="module")
def postgres_url(postgres_server: PostgresServer) -> str:
    return postgres_server.fresh()


@pytest.fixture(scope="module")
def postgres_source(postgres_url: str) -> Source:
    return in_postgres(nasty.arrow(), postgres_url)


@pytest.mark.parametrize(("name", "ask", "unit"), CASES, ids=[case[0] for case in CASES])
def test_postgres_agrees_with_duckdb(
    name: str, ask: Callable[[Table], Query], unit: Unit, duckdb_source: Source, postgres_source: Source
) -> None:
    assert integers(postgres_source, ask, unit) == integers(duckdb_source, ask, unit)


@pytest.mark.usefixtures("postgres_source")
class TestSession:
    def test_release(self, postgres_url: str) -> None:
        check_release(postgres_url, table="data")

    def test_discovery(self, postgres_url: str) -> None:
        check_discovery(postgres_url, table="data")

    def test_fit(self, postgres_url: str) -> None:
        check_fit(postgres_url, table="data")
