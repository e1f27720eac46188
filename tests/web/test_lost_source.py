"""A source whose server was started again is opened anew before anything is charged."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pandas as pd
import psycopg
import pytest

from dalenius.errors import SourceError
from dalenius.tables.compute.source import Source
from dalenius.web.datasets import opening
from tests.servers.postgres import PostgresServer
from tests.web.console import Console
from tests.web.test_datasets import whole


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


def test_who_waits_for_a_source_that_hangs_does_not_try_it_once_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried, hanging, everybody = [], threading.Event(), threading.Barrier(5)

    def hangs(*_: object) -> Source:
        tried.append(1)
        hanging.wait(20)
        raise SourceError("the server of the table is away.")

    with Console.made(tmp_path) as console:
        pd.DataFrame({"person": [1], "age": [2]}).to_parquet(console.data / "people.parquet")
        steward = console.api("Stella")
        assert steward.post("/api/v1/datasets", json=whole("people")).status_code == 201
        assert steward.post("/api/v1/datasets/people/open").status_code == 200
        assert steward.put("/api/v1/datasets/people/grants/Anna").status_code == 204
        had = opening._opened(console.store)
        had.sessions.clear()
        had.sources.clear()
        with monkeypatch.context() as patch:
            patch.setattr(opening, "looked_at", hangs)

            def ask(_: int) -> str:
                everybody.wait(20)
                try:
                    opening.open_session(console.store, console.settings, "people", "Anna")
                except SourceError as problem:
                    return str(problem)
                return ""

            with ThreadPoolExecutor(5) as pool:
                asking = [pool.submit(ask, number) for number in range(5)]
                threading.Timer(1.0, hanging.set).start()
                told = {each.result() for each in asking}
        assert len(tried) <= 2  # one may come late on a busy machine
        assert told == {"the data of 'people' cannot be opened at this moment; tell the steward."}
        assert opening.open_session(console.store, console.settings, "people", "Anna").remaining
