"""The server tests start: it is found, or it says what to do."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.servers import postgres
from tests.servers.postgres import PostgresServer

HERE = Path(__file__).resolve().parent


def test_a_fresh_database_is_empty_and_durable(postgres_server: PostgresServer) -> None:
    import psycopg

    urls = {postgres_server.fresh(), postgres_server.fresh()}
    assert len(urls) == 2
    for url in urls:
        with psycopg.connect(url) as connection:
            assert connection.execute("SHOW fsync").fetchone() == ("on",)
            tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
            assert connection.execute(tables).fetchone() == (0,)


def test_without_the_programs_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(postgres, "PLACES", ())
    with pytest.raises(postgres.NoServer, match="apt-get install postgresql"):
        postgres.find()


def test_the_newest_version_comes_first() -> None:
    folders = [Path(f"/usr/lib/postgresql/{version}/bin") for version in (9, 17, 15)]
    assert sorted(folders, key=postgres._newest, reverse=True)[0] == folders[1]


def test_installing_is_not_needed_where_it_is_there() -> None:
    env = os.environ | {"DALENIUS_TEST_POSTGRES": "postgresql://somewhere/x"}
    done = subprocess.run([HERE / "install.sh"], env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
