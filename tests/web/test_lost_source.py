"""A source whose server was started again is opened anew before anything is charged."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import psycopg

from tests.servers.postgres import PostgresServer
from tests.web.console import Console


def test_no_question_is_charged_in_vain_after_a_source_was_away(
    tmp_path: Path, postgres_server: PostgresServer
) -> None:
    url = postgres_server.fresh()
    parts = urlsplit(url)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE people (age integer NOT NULL)")
        connection.execute("INSERT INTO people VALUES (30), (40)")
    where = {
        "kind": "postgres", "host": parts.hostname, "port": parts.port, "database": parts.path[1:],
        "user": parts.username, "password": parts.password, "sslmode": "disable", "tables": "people",
    }  # fmt: skip
    hosts = (f"{parts.hostname}:{parts.port}",)
    with Console.made(tmp_path, source_schemes=("postgresql",), source_hosts=hosts) as console:
        steward, anna = console.api("Stella"), console.api("Anna")
        given = {
            "name": "people",
            "title": "People",
            "source": where,
            "facts": {"people": {"age": {"bounds": [0, 100]}}},
            "unit": {"kind": "row"},
            "budget": {"kind": "zcdp", "rho": "1"},
        }
        assert steward.post("/api/v1/datasets", json=given).status_code == 201
        assert steward.post("/api/v1/datasets/people/open").status_code == 200
        assert steward.put("/api/v1/datasets/people/grants/Anna").status_code == 204
        for age in (1, 2):
            question = {"sql": f"SELECT COUNT(*) AS n FROM people WHERE age > {age}"}
            body = {"question": question, "budget": {"kind": "zcdp", "rho": "0.1"}}
            job = anna.post("/api/v1/datasets/people/releases", json=body).json()["job"]
            assert anna.get(f"/api/v1/jobs/{job}", params={"wait": 20}).json()["state"] == "done", age
            ended = (
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                "WHERE datname = %s AND pid <> pg_backend_pid()"
            )
            with psycopg.connect(url) as connection:
                found = connection.execute(ended, (parts.path[1:],)).fetchone()
            assert found is not None
            assert found[0] > 0
