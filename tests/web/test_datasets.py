"""Data sets through the API: registered, opened, granted, raised, closed; and what must be refused."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import duckdb
import pandas as pd
import psycopg
import pytest

import dalenius as dp
from dalenius.errors import BudgetExceeded
from dalenius.web.datasets import NoSuchDataset, open_session
from dalenius.web.datasets.registration import read_registration
from dalenius.web.store import datasets
from tests.servers.postgres import PostgresServer
from tests.web.console import Console, csrf

SECRET = "h&nte/2"
ZCDP = {"kind": "zcdp", "rho": "0.5"}


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    with Console.made(
        Path(tmp_path_factory.mktemp("console")), source_schemes=("postgresql",), source_hosts=("db.example",)
    ) as made:
        frame = pd.DataFrame(
            {"person": [1, 1, 2, 3], "age": [20, 21, 987654, 40], "town": ["secret-town", "b", "b", "c"]}
        )
        frame.to_parquet(made.data / "people.parquet")
        frame.to_parquet(made.data.parent / "outside.parquet")
        frame.to_csv(made.data / "people.csv", index=False)
        os.symlink(made.data.parent / "outside.parquet", made.data / "link.parquet")
        (made.data / "sub").mkdir()
        (made.data / "own").symlink_to(made.settings.folder)
        os.symlink(made.data.parent, made.data / "sub" / "up")
        with closing(duckdb.connect(str(made.data / "d.duckdb"))) as database:
            database.execute("CREATE TABLE people AS SELECT 1 AS person, 30 AS age")
            database.execute(f"CREATE VIEW peek AS SELECT * FROM '{made.data.parent}/outside.parquet'")
        with closing(sqlite3.connect(made.data / "s.sqlite")) as database:
            database.execute("CREATE TABLE people (person INTEGER, age INTEGER)")
            database.execute("CREATE VIEW again AS SELECT * FROM people")
        yield made


def whole(name: str, file: str = "people.parquet", **more: Any) -> dict[str, Any]:
    """A registration with everything."""
    facts = {"person": {"nulls": "never"}, "age": {"bounds": [0, 120], "nulls": "drop"}}
    return {
        "name": name,
        "title": f"The {name}",
        "source": {"kind": "file", "files": {"people": file}},
        "facts": {"people": facts},
        "unit": {"kind": "id", "column": "person", "max_rows": 2},
        "budget": ZCDP,
        **more,
    }


def test_from_registration_to_the_end(console: Console) -> None:
    steward, anna = console.api("Stella"), console.api("Anna")
    more = {
        "ceiling": {"kind": "zcdp", "rho": 1},
        "renewals": 1,
        "per_question": {"kind": "zcdp", "rho": 0.01},
    }
    made = steward.post("/api/v1/datasets", json=whole("people", **more))
    assert made.status_code == 201, made.text
    shown = made.json()
    assert shown["state"] == "draft"
    assert [each["column"] for each in shown["tables"]["people"]] == [
        "person",
        "age",
        "town",
    ]
    assert anna.get("/api/v1/datasets").json() == []
    steward.put("/api/v1/datasets/people/grants/Anna")
    assert anna.get("/api/v1/datasets/people").status_code == 404  # a draft is nobody's but the stewards'
    assert steward.post("/api/v1/datasets/people/open").json()["state"] == "open"
    assert steward.patch("/api/v1/datasets/people", json={"budget": ZCDP}).json()["fields"].keys() == {
        "budget"
    }
    assert anna.get("/api/v1/datasets/people").json()["left"] == ZCDP
    assert "source" not in anna.get("/api/v1/datasets/people").json()
    assert console.api("Boris").get("/api/v1/datasets/people").status_code == 404

    session = open_session(console.store, console.settings, "people", "Anna")
    assert session is open_session(console.store, console.settings, "people", "Anna")
    session.release(session.table.agg(n=dp.count()), dp.ZCDP(0.3))
    for analyst in ("Boris", "Stella", "nobody"):
        with pytest.raises(NoSuchDataset):
            open_session(console.store, console.settings, "people", analyst)

    ledger = steward.get("/api/v1/datasets/people/ledger").json()
    assert [(line["act"], line["who"]) for line in ledger["lines"]] == [
        ("opened", "Stella"),
        ("asked", "Anna"),
    ]
    assert ledger["standing"]["percent_spent"] == 60
    assert [alert["text"] for alert in ledger["standing"]["alerts"]] == [
        "At least 50 % of the open budget is spent."
    ]
    refused = steward.post("/api/v1/datasets/people/raise", json={"budget": {"kind": "zcdp", "rho": 2}})
    assert refused.status_code == 422
    assert "may be raised to" in refused.json()["detail"]
    raised = steward.post(
        "/api/v1/datasets/people/raise", json={"budget": {"kind": "zcdp", "rho": 0.75}, "note": "more"}
    )
    assert raised.json() == {"left": {"kind": "zcdp", "rho": "0.45"}}
    assert steward.post("/api/v1/datasets/people/renew", json={}).json()["left"]["rho"] == "1.2"
    assert steward.post("/api/v1/datasets/people/renew", json={}).status_code == 422
    to_boris = {"analyst": "Boris", "share": {"kind": "zcdp", "rho": 0.1}}
    assert (
        "grant them the data set first"
        in steward.post("/api/v1/datasets/people/shares", json=to_boris).json()["detail"]
    )
    steward.put("/api/v1/datasets/people/grants/Boris")
    assert steward.post("/api/v1/datasets/people/shares", json=to_boris).json()["left"]["rho"] == "0.1"
    with pytest.raises(BudgetExceeded, match="'Anna' has no share"):  # who was let in before
        session.release(session.table.agg(n=dp.count()), dp.ZCDP(0.01))
    assert "Stella" in steward.get("/api/v1/datasets/people/statement").text
    assert steward.post("/api/v1/datasets/people/close", json={"confirm": "peopel"}).status_code == 422
    assert (
        steward.post("/api/v1/datasets/people/close", json={"confirm": "people", "note": "done"}).status_code
        == 204
    )
    assert anna.get("/api/v1/datasets/people").json()["closed"] is True
    lines = steward.get("/api/v1/datasets/people/ledger?after=4").json()["lines"]
    assert [line["who"] for line in lines] == ["Stella"] * 4
    assert lines[0]["what"].endswith("(more)")
    acts = [line["act"] for line in steward.get("/api/v1/audit").json()]
    assert {"opened the account", "raised the budget", "granted a share", "closed the account"} <= set(acts)


def test_everything_that_is_wrong_is_told_at_once(console: Console) -> None:
    facts = {
        "age": {"bounds": [9, 1], "nulls": "drop"},
        "town": {"bounds": [0, 1], "categories": ["x", "x"]},
        "person": {"impute": "nobody"},
        "agee": {},
    }
    wrong = whole(
        "wrong",
        facts={"people": facts},
        unit={"kind": "id", "column": "persn", "max_rows": 0},
        budget={"kind": "zcdp", "rho": -1},
        ceiling={"kind": "zcdp", "rho": "much"},
        shares={"Anna": "3/2", "Zoe": "1/4"},
    )
    told = console.api("Stella").post("/api/v1/datasets", json=wrong)
    assert told.status_code == 422
    at = "facts.people"
    assert set(told.json()["fields"]) == {
        f"{at}.age.bounds",
        f"{at}.town.categories",
        f"{at}.person.impute",
        f"{at}.agee",
        "unit.column",
        "budget.rho",
        "ceiling.rho",
        "shares.Anna",
        "shares.Zoe",
    }
    assert console.api("Stella").get("/api/v1/datasets/wrong").status_code == 404


@pytest.mark.parametrize(
    "source",
    [
        {"kind": "file", "files": "../outside.parquet"},
        {"kind": "file", "files": "sub/../../outside.parquet"},
        {"kind": "file", "files": "{outside}"},
        {"kind": "file", "files": "link.parquet"},
        {"kind": "file", "files": "sub/up/outside.parquet"},
        {"kind": "file", "files": "sub/up/*.parquet"},
        {"kind": "database file", "file": "own/console.sqlite", "tables": "console_tokens"},
        {"kind": "file", "files": "*.parquet"},  # one of them is a link to the outside
        {"kind": "file", "files": "https://example.org/people.parquet"},
        {"kind": "file", "files": "s3://bucket/people.parquet"},
        {"kind": "file", "files": "file:///etc/passwd.csv"},
        {"kind": "file", "files": "/etc/hostname"},
        {"kind": "database file", "file": "d.duckdb", "tables": "{outside}"},
        {"kind": "database file", "file": "d.duckdb", "tables": "peek"},
        {"kind": "database file", "file": "s.sqlite", "tables": "again"},
        {"kind": "database file", "file": "d.duckdb", "tables": "https://example.org/x.csv"},
        {"kind": "database file", "file": "postgresql://db.example/x.db", "tables": "people"},
        {"kind": "postgres", "host": "169.254.169.254", "database": "d", "user": "u", "tables": "people"},
        {
            "kind": "postgres",
            "host": "db.example",
            "port": 5433,
            "database": "d",
            "user": "u",
            "tables": "people",
        },
        {"kind": "postgres", "host": "db.example,10.0.0.1", "database": "d", "user": "u", "tables": "people"},
        {"kind": "postgres", "host": "/tmp", "database": "d", "user": "u", "tables": "people"},
        {"kind": "spark", "tables": "people"},
    ],
    ids=lambda source: str(source.get("files") or source.get("tables") or source.get("host")),
)
def test_what_the_settings_do_not_list_is_not_opened(console: Console, source: dict[str, Any]) -> None:
    outside = str(console.data.parent / "outside.parquet")
    source = {
        word: value.format(outside=outside) if isinstance(value, str) else value
        for word, value in source.items()
    }
    told = console.api("Stella").post(
        "/api/v1/datasets", json={"name": "out", "title": "Out", "source": source}
    )
    assert told.status_code == 422, told.text
    assert told.json()["fields"]
    assert "987654" not in told.text
    assert "secret-town" not in told.text


def test_a_link_that_is_put_there_later_is_not_followed(console: Console) -> None:
    moved = console.data / "moved.parquet"
    moved.write_bytes((console.data / "people.parquet").read_bytes())
    steward = console.api("Stella")
    assert steward.post("/api/v1/datasets", json=whole("moved", "moved.parquet")).status_code == 201
    steward.put("/api/v1/datasets/moved/grants/Anna")
    assert steward.post("/api/v1/datasets/moved/open").status_code == 200
    moved.unlink()
    moved.symlink_to(console.data.parent / "outside.parquet")
    told = steward.patch("/api/v1/datasets/moved", json={"title": "Another"})
    assert told.status_code == 422
    assert "is not in a folder" in told.text
    steward.put("/api/v1/datasets/moved/published", json={"published": True})  # and so it is opened anew
    for path in ("/api/v1/datasets/moved", "/datasets/moved", "/datasets"):
        seen = console.api("Anna").get(path, headers={"Accept": "text/html"}).text
        assert "cannot be opened at this moment" in seen
        assert str(console.data) not in seen  # where the data are is the stewards' affair


def test_a_password_is_kept_and_never_shown(console: Console) -> None:
    source = {
        "kind": "postgres",
        "host": "db.example",
        "database": "d",
        "user": "u",
        "tables": "people",
        "password": SECRET,
    }
    steward = console.api("Stella")
    told = steward.post("/api/v1/datasets", json={"name": "far", "title": "Far", "source": source})
    assert told.status_code == 422
    assert "db.example" in told.text
    browser = console.browser("Stella")
    form = {
        "name": "far",
        "title": "Far",
        "csrf": csrf(browser),
        "source.kind": "postgres",
        "source.host": "no.example",
    }
    page = browser.post("/datasets/new", data={**form, "source.password": SECRET})
    assert page.status_code == 422
    assert "no.example" in page.text
    for text in (told.text, page.text, steward.get("/api/v1/audit").text):
        assert "nte/2" not in text
        assert "nte%2F2" not in text


def test_all_of_it_in_postgresql(tmp_path: Path, postgres_server: PostgresServer) -> None:
    source = urlsplit(postgres_server.fresh())
    with psycopg.connect(source.geturl(), autocommit=True) as connection:
        connection.execute("CREATE TABLE people (person integer NOT NULL, age integer)")
        connection.execute("INSERT INTO people VALUES (1, 30), (2, 40)")
        connection.execute(f"CREATE ROLE {source.path[1:]} LOGIN PASSWORD '{SECRET}'")
        connection.execute(f"GRANT SELECT ON people TO {source.path[1:]}")
    settings = {
        "store": postgres_server.fresh(),
        "ledger": postgres_server.fresh(),
        "source_schemes": ("postgresql",),
        "source_hosts": (f"{source.hostname}:{source.port}",),
    }
    where = {"kind": "postgres", "host": source.hostname, "port": source.port, "database": source.path[1:]}
    where |= {"user": source.path[1:], "tables": "people", "password": SECRET}
    facts = {"people": {"age": {"bounds": [0, 120], "nulls": "drop"}}}
    with Console.made(tmp_path, **settings) as console:
        steward = console.api("Stella")
        shown = steward.post("/api/v1/datasets", json=whole("people", source=where, facts=facts))
        assert shown.status_code == 201, shown.text
        with console.store.reading() as connection:
            assert datasets.secret(connection, "people") == SECRET
        steward.put("/api/v1/datasets/people/grants/Anna")
        opened = steward.post("/api/v1/datasets/people/open")
        session = open_session(console.store, console.settings, "people", "Anna")
        session.release(session.table.agg(n=dp.count()), dp.ZCDP(0.45))
        seen = [shown.text, opened.text]
        for path in ("", "/edit", "/budget", "/ledger", "/statement"):
            page = console.browser("Stella").get(f"/datasets/people{path}")
            assert page.status_code == 200
            seen.append(page.text)
        for path in (
            "datasets/people",
            "datasets/people/ledger",
            "audit",
            "ledger/export",
            "ledger/export?readable=true",
        ):
            seen.append(steward.get(f"/api/v1/{path}").text)
        assert steward.post("/api/v1/ledger/verify").json()["sound"]
        told = steward.put("/api/v1/datasets/people/password", json={"password": f"{SECRET}2"})
        assert told.status_code == 204
        seen.append(console.browser("Stella").get("/datasets").text)
        assert "no connection to PostgreSQL" in seen[-1]  # it is another one only for the console so far
        with psycopg.connect(source.geturl(), autocommit=True) as connection:
            connection.execute(f"ALTER ROLE {source.path[1:]} PASSWORD '{SECRET}2'")
        assert "At least 80 %" in console.browser("Stella").get("/datasets").text
        seen.append(repr(console.settings) + repr(session) + repr(session.source))
        assert not any("nte/2" in text or "nte%2F2" in text for text in seen)
        assert source.hostname in seen[0]


def test_forms_show_columns_and_no_row(console: Console) -> None:
    browser = console.browser("Stella")
    token = csrf(browser)
    form = {
        "csrf": token,
        "name": "plain",
        "title": "Plain",
        "source.kind": "file",
        "source.files": "people.parquet",
    }
    assert browser.post("/datasets/new", data=form).headers["location"] == "/datasets/plain/edit"
    page = browser.get("/datasets/plain/edit").text
    assert "town" in page
    assert "secret-town" not in page
    assert "987654" not in page
    assert 'value="120"' not in page
    filled = {
        "csrf": token,
        "title": "Plain",
        "facts.0.1.lower": "0",
        "facts.0.1.upper": "120",
        "facts.0.1.nulls": "drop",
    }
    filled |= {"facts.0.2.nulls": "impute", "facts.0.2.categories": "north\nsouth", "unit.kind": "row"}
    filled |= {"budget.kind": "approx", "budget.amount": "1", "budget.delta": "2", "adjacency": "add_remove"}
    wrong = browser.post("/datasets/plain/edit", data=filled)
    assert wrong.status_code == 422
    assert "north" in wrong.text
    assert "write the constant that missing values become" in wrong.text
    assert "delta is 2" in wrong.text
    filled |= {"budget.delta": "1e-6", "facts.0.2.nulls": "never"}
    assert browser.post("/datasets/plain/edit", data=filled).headers["location"] == "/datasets/plain"
    shown = console.api("Stella").get("/api/v1/datasets/plain").json()
    assert shown["tables"]["people"][1]["bounds"] == [0, 120]
    assert shown["budget"]["delta"] == "1e-06"
    assert 'value="120"' in browser.get("/datasets/plain/edit").text


def test_a_promise_is_public_only_when_it_is_published(console: Console) -> None:
    steward = console.api("Stella")
    (console.data / "other.parquet").write_bytes((console.data / "people.parquet").read_bytes())
    steward.post("/api/v1/datasets", json=whole("other", "other.parquet", renewals=2))
    assert steward.put("/api/v1/datasets/other/published", json={"published": True}).status_code == 200
    hidden = console.client.get("/api/v1/promises/other")
    assert hidden.status_code == 404  # a draft promises nothing
    never = console.client.get("/api/v1/promises/never").json()
    assert hidden.json() == json.loads(json.dumps(never).replace("never", "other"))
    steward.post("/api/v1/datasets/other/open")
    told = console.client.get("/api/v1/promises/other")
    assert told.json()["promise"] == {
        "kind": "zcdp",
        "rho": "1.5",
    }  # renewals are promised from the first day
    page = console.client.get("/promise/other", headers={"Accept": "text/html"})
    assert page.status_code == 200
    assert "at most 2 rows" in page.text
    for text in (told.text, page.text):
        assert "secret-town" not in text
        assert str(console.data) not in text
    steward.put("/api/v1/datasets/other/published", json={"published": False})
    assert console.client.get("/promise/other").status_code == 404


def test_the_same_data_under_another_name_is_refused(console: Console) -> None:
    steward = console.api("Stella")
    steward.post("/api/v1/datasets", json=whole("again", "other.parquet"))
    told = steward.post("/api/v1/datasets/again/open")
    assert told.status_code == 422
    assert "has an account already" in told.json()["detail"]
    assert steward.get("/api/v1/datasets/again").json()["state"] == "draft"
    assert steward.delete("/api/v1/datasets/again").status_code == 204
    assert steward.delete("/api/v1/datasets/other").status_code == 422


def test_a_ledger_that_was_put_back_is_noticed(tmp_path: Path) -> None:
    with Console.made(tmp_path) as console:
        steward = console.api("Stella")
        pd.DataFrame({"person": [1], "age": [2]}).to_parquet(console.data / "people.parquet")
        steward.post("/api/v1/datasets", json=whole("people"))
        steward.post("/api/v1/datasets/people/open")
        file = Path(console.settings.ledger_address)
        copy = sqlite3.connect(":memory:")
        with closing(sqlite3.connect(file)) as ledger:
            ledger.backup(copy)
        steward.put("/api/v1/datasets/people/grants/Anna")
        session = open_session(console.store, console.settings, "people", "Anna")
        session.release(session.table.agg(n=dp.count()), dp.ZCDP(0.3))
        assert steward.post("/api/v1/ledger/verify").json()["sound"] is True
        export = steward.get("/api/v1/ledger/export").text.splitlines()
        assert len(export) == 6
        assert all(map(json.loads, export))
        with closing(sqlite3.connect(file)) as ledger:
            copy.backup(ledger)
        told = steward.post("/api/v1/ledger/verify").json()
        assert told["sound"] is False
        assert told["problems"]
        assert "not sound" in console.browser("Stella").get("/ledger").text.lower()


def test_where_the_ledger_and_the_store_are_is_told_to_the_log_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Console.made(tmp_path) as console:
        steward, anna = console.api("Stella"), console.api("Anna")
        pd.DataFrame({"person": [1], "age": [2]}).to_parquet(console.data / "people.parquet")
        steward.post("/api/v1/datasets", json=whole("people"))
        steward.post("/api/v1/datasets/people/open")
        steward.put("/api/v1/datasets/people/grants/Anna")
        assert anna.get("/api/v1/datasets/people/standing").status_code == 200
        pages = console.browser("Anna")
        ledger = Path(console.settings.ledger_address)
        ledger.rename(ledger.with_suffix(".gone"))
        told = anna.get("/api/v1/datasets/people/standing")
        assert (told.status_code, told.json()["type"]) == (503, "urn:dalenius:problem:ledger-damaged")
        seen = [told.text, pages.get("/datasets").text, pages.get("/datasets/people").text]
        assert str(ledger) in caplog.text
        console.store.engine.dispose()
        for file in console.settings.folder.glob("console.sqlite*"):
            file.unlink()
        Path(console.settings.store_address).write_text("no database")
        told = console.client.post("/sign-in", data={"token": "x"})
        assert (told.status_code, told.json()["type"]) == (503, "urn:dalenius:problem:store")
        seen.append(told.text)
    assert console.settings.store_address in caplog.text
    for text in seen:
        assert str(tmp_path) not in text
        assert "ledger" in text or "record" in text


def test_a_registration_reads_for_ever() -> None:
    text = (Path(__file__).parent / "golden" / "dataset-1.json").read_text(encoding="utf-8")
    assert json.loads(read_registration(text).text()) == json.loads(text)


def test_two_clicks_renew_once(console: Console) -> None:
    steward = console.api("Stella")
    pd.DataFrame({"person": [1], "age": [20]}).to_parquet(console.data / "clicks.parquet")
    asked = whole("clicks", "clicks.parquet", renewals=3)
    assert steward.post("/api/v1/datasets", json=asked).status_code == 201
    assert steward.post("/api/v1/datasets/clicks/open").status_code == 200
    steward.put("/api/v1/datasets/clicks/grants/Anna")
    browser = console.browser("Stella")
    for act, given in (
        ("renew", {}),
        ("shares", {"analyst": "Anna", "kind": "zcdp", "share.amount": "0.1"}),
    ):
        shown = browser.get("/datasets/clicks/budget").text
        found = re.search(r'name="seen" value="(\w+)"', shown)
        assert found is not None
        form = {**given, "seen": found[1], "csrf": csrf(browser)}
        assert browser.post(f"/datasets/clicks/{act}", data=form).status_code == 303
        again = browser.post(f"/datasets/clicks/{act}", data=form)
        assert (again.status_code, "was changed since" in again.text) == (422, True)
    standing = steward.get("/api/v1/datasets/clicks/ledger").json()["standing"]
    assert (standing["renewed"], standing["shares"][0]["allowed"]) == (1, "rho 0.1")


def test_the_facts_of_a_wide_table_fit_a_form(tmp_path: Path) -> None:
    with Console.made(tmp_path) as console:
        steward, columns = console.browser("Stella"), 400
        wide = pd.DataFrame({f"c{k}": [1.0, 2.0] for k in range(columns)})
        wide.to_parquet(console.data / "wide.parquet")
        token = csrf(steward)
        form = {
            "csrf": token,
            "name": "wide",
            "title": "Wide",
            "source.kind": "file",
            "source.files": "wide.parquet",
        }
        assert steward.post("/datasets/new", data=form).headers["location"] == "/datasets/wide/edit"
        filled = {"csrf": token, "title": "Wide", "unit.kind": "row", "adjacency": "add_remove"}
        filled |= {"budget.kind": "zcdp", "budget.amount": "1"}
        for k in range(columns):
            filled |= {f"facts.0.{k}.lower": "0", f"facts.0.{k}.upper": "9", f"facts.0.{k}.nulls": "drop"}
        assert steward.post("/datasets/wide/edit", data=filled).headers["location"] == "/datasets/wide"
        shown = console.api("Stella").get("/api/v1/datasets/wide").json()
        assert shown["tables"]["wide"][-1]["bounds"] == [0, 9]
