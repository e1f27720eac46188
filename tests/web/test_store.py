"""The store on SQLite and PostgreSQL: made once by many, counted together, changed forward, silent on passwords."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Column, Text, inspect, text

from dalenius.errors import InvalidParameter
from dalenius.web.people import acts
from dalenius.web.store import Store, people, rates, releases, store, tokens
from dalenius.web.store.store import StoreUnusable
from dalenius.web.store.subject import METADATA, Subject
from tests.servers.postgres import PostgresServer


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield str(tmp_path / "console.sqlite")
    else:
        yield request.getfixturevalue("postgres_server").fresh()


def test_many_workers_make_one_store_and_count_together(place: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        opened = list(pool.map(Store.open, [place] * 4))

        def use(number: int) -> int:
            with opened[number % 4].writing() as connection:
                return rates.add(connection, "somebody")

        assert sorted(pool.map(use, range(12))) == list(range(1, 13))

        def add(number: int) -> str:
            try:
                return acts.add(opened[number % 4], None, "Ada", "steward", 30)[2]
            except (InvalidParameter, StoreUnusable):
                return ""

        made = [secret for secret in pool.map(add, range(4)) if secret]
    assert len(made) == 1  # a name is one person's
    with opened[0].reading() as connection:
        found = tokens.find(connection, made[0])
        assert found is not None
        assert found[0].name == "Ada"
        assert tokens.find(connection, made[0] + "x") is None
        assert len(people.everyone(connection)) == 1
    odd = "a\x00b" if place.startswith("postgres") else "\ud800"  # what the database itself does not take
    with pytest.raises(InvalidParameter, match="cannot be printed"), opened[0].writing() as connection:
        tokens.make(connection, found[0].id, odd, 30)
    with contextlib.suppress(RuntimeError), opened[0].writing() as connection:
        people.add(connection, "Bo", "analyst")
        raise RuntimeError("all or nothing")
    with opened[1].reading() as connection:
        assert people.named(connection, "Bo") is None
    for each in opened:
        each.close()


def test_an_older_store_is_brought_forward(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from sqlalchemy import Table

    table = Table("console_example", METADATA, Column("id", Text, primary_key=True))
    first = Subject("example", (table,))
    before = store.subjects()
    try:
        monkeypatch.setattr(store, "subjects", lambda: (*before, first))
        with Store.open(place).writing() as connection:
            connection.execute(text("INSERT INTO console_example VALUES ('kept')"))
        step = lambda connection: connection.execute(text("ALTER TABLE console_example ADD COLUMN note TEXT"))  # noqa: E731
        monkeypatch.setattr(store, "subjects", lambda: (*before, Subject("example", (table,), (step,))))
        for _ in range(2):  # the step is taken once
            opened = Store.open(place)
        with opened.reading() as connection:
            names = [column["name"] for column in inspect(connection).get_columns("console_example")]
            assert names == ["id", "note"]
            assert connection.execute(text("SELECT id FROM console_example")).scalar_one() == "kept"
        monkeypatch.setattr(store, "subjects", lambda: (*before, first))
        with pytest.raises(StoreUnusable, match="example is version 2, this one knows 1"):
            Store.open(place)
    finally:
        METADATA.remove(table)


def test_a_history_with_a_number_that_is_not_finite_stays_readable(place: str) -> None:
    """Earlier versions kept such requests, and no database takes them for JSON."""
    opened = Store.open(place)
    budget = {"kind": "zcdp", "rho": "0.01"}
    requests = [
        '{"kind": "infer", "estimator": {"cdf": {"numbers": [0, Infinity]}}}',
        '{"confidence": NaN, "budget": ' + json.dumps(budget) + "}",
        "[",
    ]
    with opened.writing() as connection:  # as version 1 wrote them
        connection.execute(text("ALTER TABLE console_releases DROP COLUMN budget"))
        connection.execute(text("DROP INDEX console_claims_made"))
        connection.execute(text("UPDATE console_versions SET version = 1 WHERE subject = 'releases'"))
        for n, request in enumerate(requests):
            values = {"id": str(n), "request": request}
            connection.execute(
                text(
                    "INSERT INTO console_releases (id, person, dataset, key, kind, said, request, asked) "
                    "VALUES (:id, 'p', 'd', :id, 'k', 's', :request, 'now')"
                ),
                values,
            )
    opened.close()
    opened = Store.open(place)
    told = {"kind": "k", "said": "s", "job": None}
    with opened.writing() as connection:
        for id, request in (("3", requests[0]), ("4", json.dumps({"budget": budget}))):
            releases.keep(connection, id=id, person="p", dataset="d", key=id, request=request, **told)
    with opened.reading() as connection:
        assert [each["name"] for each in inspect(connection).get_indexes("console_claims")] == [
            "console_claims_made"
        ]
        listed = {each.id: json.loads(each.request) for each in releases.of_person(connection, "p", "d", 10)}
        assert [listed[str(n)]["budget"] for n in range(5)] == [None, budget, None, None, budget]
        for n, request in enumerate(requests):
            found = releases.get(connection, "p", "d", str(n))
            assert found is not None
            assert found.request == request
    opened.close()


@pytest.mark.parametrize(
    "address", ["postgresql://u:hidden%23@127.0.0.1:1/d", "host=127.0.0.1 port=1 password=hidden# dbname=d"]
)
def test_a_server_that_is_not_there_is_said_without_its_password(address: str) -> None:
    with pytest.raises(StoreUnusable) as caught:
        Store.open(address)
    assert "hidden" not in str(caught.value)
    assert "127.0.0.1" in str(caught.value)


def test_a_folder_of_data_must_not_hold_the_store(tmp_path: Path) -> None:
    from dalenius.web.settings import Settings

    with pytest.raises(InvalidParameter, match="are no data"):
        Settings(tmp_path / "data" / "console", source_folders=(tmp_path / "data",))
    with pytest.raises(InvalidParameter, match="does not exist"):
        Store.open(tmp_path / "nowhere" / "console.sqlite")


def test_nobody_waits_for_a_server_for_ever(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lock that somebody forgot, a server that was stopped: a worker that waits for it is not there for others."""
    where = postgres_server.fresh()
    opened = Store.open(where)
    monkeypatch.setattr(store, "PATIENCE", 1.5)
    opened.engine.dispose()  # whoever connects from now on has no more patience than that

    def waits() -> None:
        begun = time.monotonic()
        with pytest.raises(StoreUnusable), opened.writing() as connection:
            rates.add(connection, "somebody")
        assert time.monotonic() - begun < 15

    with psycopg.connect(where) as other:
        other.execute("LOCK TABLE console_rates")
        waits()
    with opened.reading() as connection:
        process = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()
    os.kill(process, signal.SIGSTOP)
    try:
        waits()
    finally:
        os.kill(process, signal.SIGCONT)
    with opened.writing() as connection:  # over a new connection; what was given up was never done
        assert rates.add(connection, "somebody") == 1
    opened.close()
