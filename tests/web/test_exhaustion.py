"""What one visitor sends to make the console work for long, or take much memory: it is refused before that."""

from __future__ import annotations

import http.cookies
import json
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from fastapi.testclient import TestClient

from dalenius.errors import InvalidParameter
from dalenius.session.explain import Explanation
from dalenius.tables.facts.public import PublicTable
from dalenius.tables.sql import qualified
from dalenius.web.jobs import record
from dalenius.web.jobs.jobs import MOST_WAITING
from dalenius.web.jobs.slots import Slots
from dalenius.web.people.access import address_of
from dalenius.web.store import Store, releases
from dalenius.web.texts import DEEPEST, MOST_FIELDS, MOST_MEMBERS
from tests.web.console import Console
from tests.web.served import served
from tests.web.test_datasets import whole


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """With a data set that Anna may ask of."""
    made = Console.made(
        Path(tmp_path_factory.mktemp("much")), calls_per_minute=10**6, body_bytes=2**20, metrics_local=True
    )
    with made as console:
        pd.DataFrame({"person": range(9), "age": range(20, 29)}).to_parquet(console.data / "people.parquet")
        steward = console.api("Stella")
        assert steward.post("/api/v1/datasets", json=whole("people")).status_code == 201
        assert steward.post("/api/v1/datasets/people/open").status_code == 200
        assert steward.put("/api/v1/datasets/people/grants/Anna").status_code == 204
        yield console


def document(console: Console) -> Any:
    """Of the API."""
    return console.client.get("/api/v1/openapi.json").json()


def operations(console: Console) -> Iterator[tuple[str, str, TestClient]]:
    """All that read JSON: the method, the address and somebody who may."""
    found = 0
    for path, methods in document(console)["paths"].items():
        for method, operation in methods.items():
            if "requestBody" in operation:
                found += 1
                who = "Stella" if "steward" in operation["x-roles"] else "Anna"
                yield (
                    method,
                    path.replace("{dataset}", "people").replace("{name}", "people"),
                    console.api(who),
                )
    assert found > 15


@pytest.mark.parametrize("kind", ["text/plain", "", "application/json", "application/x-www-form-urlencoded"])
@pytest.mark.parametrize("body", [b"abc", b'{"a":', b"\xff\xfe", b"[" * 5000, b"9" * 5000])
def test_what_is_no_json_is_refused_by_every_operation(console: Console, kind: str, body: bytes) -> None:
    for method, path, client in operations(console):
        told = client.request(method, path, content=body, headers={"content-type": kind})
        assert 400 <= told.status_code < 500, (method, path, told.text)


def test_words_that_nobody_knows_are_not_counted_one_by_one(console: Console) -> None:
    """Each would be a complaint of its own: 85 000 of them, in a request of 1 MiB, took a second and 100 MB."""
    many = json.dumps({f"{n:x}": 0 for n in range(MOST_MEMBERS + 1)})
    for method, path, client in operations(console):
        told = client.request(method, path, content=many, headers={"content-type": "application/json"})
        assert "more than 10000 members" in told.json()["detail"], (method, path, told.text)


@pytest.mark.parametrize("level", [("[", "]"), ('{"a":', "}")])
def test_a_request_has_so_many_levels(console: Console, level: tuple[str, str]) -> None:
    """Of 400 Python reads and writes what another process cannot be sent."""
    for levels in (DEEPEST + 1, 400, 900):
        deep = f'{{"question": {level[0] * levels}1{level[1] * levels}, "kind": "fit"}}'
        for method, path, client in operations(console):
            told = client.request(method, path, content=deep, headers={"content-type": "application/json"})
            assert 400 <= told.status_code < 500, (method, path, told.text)
            assert levels > 400 or "within each other" in told.json()["detail"], (method, path, told.text)


def test_every_list_of_a_request_has_an_end(console: Console) -> None:
    """Of a list whose items have a type each item that lacks it is a complaint: 500 000 of them took 5 s and 600 MB."""
    whole_document = document(console)
    seen, lists = set(), 0

    def look(schema: Any, where: str) -> None:
        nonlocal lists
        if isinstance(schema, list):
            for each in schema:
                look(each, where)
        if not isinstance(schema, dict):
            return
        if (named := schema.get("$ref")) is not None:
            if named not in seen:
                seen.add(named)
                look(whole_document["components"]["schemas"][named.rpartition("/")[2]], named)
            return
        if schema.get("type") == "array" and schema.get("items"):
            lists += 1
            assert schema.get("maxItems", 10**9) <= 10_000, f"{where} has a list without an end: {schema}"
        for word, part in schema.items():
            look(part, f"{where}.{word}")

    for path, methods in whole_document["paths"].items():
        for method, operation in methods.items():
            look(operation.get("requestBody", {}), f"{method} {path}")
    assert lists > 5


def test_fields_of_forms_are_counted_before_they_are_read(console: Console) -> None:
    """Those that are empty, too: a MiB of them took longer to read than 50 requests."""
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert console.client.post("/sign-in", content=b"&" * (MOST_FIELDS + 1), headers=form).status_code == 413
    assert console.client.post("/sign-in", content=b"&" * MOST_FIELDS, headers=form).status_code == 401


@pytest.mark.parametrize("codec", ["punycode", "unicode_escape", "undefined", "nobody knows it", "utf-8"])
def test_a_form_in_parts_says_no_charset(console: Console, codec: str) -> None:
    """It would be read by any codec of Python, before it is known who sent it: a MiB of Punycode for a minute, in which
    nobody else is answered."""
    body = b'--X\r\nContent-Disposition: form-data; name="token"\r\n\r\nx-' + b"a" * 9999 + b"\r\n--X--\r\n"
    for path in ("/sign-in", "/people", "/datasets/people/renew"):
        for kind in (
            f"multipart/form-data; boundary=X; charset={codec}",
            f' Multipart/Form-Data;CHARSET="{codec}"',
        ):
            told = console.client.post(path, content=body, headers={"content-type": kind})
            assert (told.status_code, "says no charset" in told.text) == (415, True), (path, kind)
    plain = {"content-type": "multipart/form-data; boundary=X"}
    assert console.client.post("/people", content=body, headers=plain).status_code == 401


def test_of_cookies_ours_alone_are_read(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python reads one of 50 kB of backslashes in ten seconds, in which nobody else is answered."""
    cookie, seen = console.browser("Anna").cookies["dalenius"], []
    monkeypatch.setattr(http.cookies, "_unquote", lambda text: seen.append(text) or text)
    odd = '"' + "\\" * 30_000 + '"'
    for sent, status in (
        (f"theirs={odd}; dalenius={cookie}; dalenius2=x", 200),
        (f"dalenius={odd}", 401),
        ("dalenius=" + "a" * 300, 401),
    ):
        assert console.client.get("/api/v1/me", headers={"Cookie": sent}).status_code == status
    assert set(seen) <= {cookie, ""}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-Anything", "a" * 70_000),
        ("Content-Type", "application/json; a=" + '"' + ";" * 400),
        ("Accept", "b" * 66_000),
    ],
    ids=lambda text: text[:12],
)
def test_a_head_has_an_end(console: Console, name: str, value: str) -> None:
    """Also one that arrives in one piece. The library that reads content types takes a second for one of 60 kB."""
    told = console.client.post("/sign-in", headers={name: value}, content=b"x")
    assert (told.status_code, told.json()["type"]) == (431, "urn:dalenius:problem:head-too-large")
    told = console.client.get("/plan?" + "a" * 60_000, headers={"X-Anything": "a" * 6_000})
    assert told.status_code == 431


def test_one_person_does_not_wait_on_all_connections(console: Console) -> None:
    anna, jobs = console.api("Anna"), console.app.state.jobs
    id = console.people["Anna"].id
    where = "/api/v1/jobs/none"
    jobs._waiting[id] = MOST_WAITING
    told = anna.get(where, params={"wait": 1})
    assert (told.status_code, told.headers["retry-after"]) == (429, "5")
    assert console.api("Boris").get(where).status_code == 404
    jobs._waiting[id] = MOST_WAITING - 1
    assert anna.get(where).status_code == 404
    assert jobs._waiting == {id: MOST_WAITING - 1}
    jobs._waiting.clear()
    assert anna.get(where).status_code == 404
    assert not jobs._waiting


def test_who_has_hung_up_waits_no_longer(tmp_path: Path) -> None:
    """Else whoever comes back a hundred times in a minute could not even look."""
    with Console.made(tmp_path) as console, served(console.app) as address:
        anna, jobs = console.people["Anna"], console.app.state.jobs
        jobs.workers.stop()
        given: dict[str, Any] = {"kind": "release", "dataset": "d", "person": anna.id, "analyst": "Anna"}
        ids = [
            record.add(console.store, **given, payload={}, key=key, slots=Slots(50.0, 60.0)).id
            for key in "ab"
        ]
        assert record.begin(console.store, lease=3600.0, tick=0.01, take_over=False) is not None
        lines = []
        for id in ids:  # one is under way, the other waits
            line = socket.create_connection(address)
            head = f"GET /api/v1/jobs/{id}?wait=60 HTTP/1.1\r\nHost: {address[0]}\r\n"
            line.sendall(f"{head}Authorization: Bearer {console.tokens['Anna']}\r\n\r\n".encode())
            lines.append(line)
        assert until(lambda: jobs._waiting == {anna.id: 2})
        jobs._waiting[anna.id] += MOST_WAITING - 2
        api = console.api("Anna")
        assert api.get(f"/api/v1/jobs/{ids[0]}", params={"wait": 1}).status_code == 429
        assert api.get(f"/api/v1/jobs/{ids[0]}").json()["state"] == "running"  # who only looks does not wait
        for line in lines:
            line.close()
        assert until(lambda: jobs._waiting == {anna.id: MOST_WAITING - 2})
        told = api.get(f"/api/v1/jobs/{ids[1]}", params={"wait": 0.1}).json()
        assert told["state"] == "waiting"  # who stays is told when the time is over


def until(holds: Callable[[], bool], seconds: float = 20.0) -> bool:
    """Whether something holds soon."""
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.02)
    return holds()


@pytest.mark.parametrize("rows", [10**9, 10**11, 10**18, 10**400])
def test_a_public_table_is_no_larger_than_what_is_sent(rows: int) -> None:
    """Of a column that cannot be used only the number of rows is sent: 10^11 took 12 GB."""
    with pytest.raises(InvalidParameter, match="is not written as we write them"):
        PublicTable.from_record({"rows": rows, "columns": [{"name": "x", "type": None}]})
    columns = [{"name": str(n), "type": None} for n in range(1000)]
    with pytest.raises(InvalidParameter, match="is not written as we write them"):
        PublicTable.from_record({"rows": 10**6, "columns": columns})
    assert len(PublicTable.from_record({"rows": 10**4, "columns": columns})) == 10**4


def test_errors_of_many_numbers_are_computed_once(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once for each number, a price of 1000 of them took a minute."""
    computed = Explanation._computed
    calls = []

    def counted(self: Explanation, confidence: float, rows: float | None) -> Any:
        calls.append(confidence)
        return computed(self, confidence, rows)

    monkeypatch.setattr(Explanation, "_computed", counted)
    sql = f"SELECT {', '.join(f'COUNT(*) AS n{n}' for n in range(50))} FROM people"
    asked = {"question": {"sql": sql}, "budget": {"kind": "zcdp", "rho": "0.01"}}
    told = console.api("Anna").post("/api/v1/datasets/people/price", json=asked)
    assert len(told.json()["errors"]) == 50
    assert len(calls) == 1


def test_of_a_thousand_wrong_names_fifty_are_looked_at(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To say what is wrong with one, all of the expression is written: 4000 characters took ten seconds."""
    calls, written = [], qualified.written
    monkeypatch.setattr(qualified, "written", lambda tree: calls.append(1) or written(tree))
    sql = f"SELECT SUM({'+'.join(f'z{n}' for n in range(200))}, 0, 1) AS n FROM people"
    told = console.api("Anna").post("/api/v1/datasets/people/price", json={"question": {"sql": sql}})
    assert (told.status_code, len(calls)) == (422, 50)


@pytest.mark.parametrize("place", ["sqlite", "postgres"])
def test_a_list_of_requests_has_their_budgets_alone(
    place: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """A request may be a MiB, and a list has a thousand."""
    fresh = tmp_path / "x.sqlite" if place == "sqlite" else request.getfixturevalue("postgres_server").fresh()
    store = Store.open(fresh)
    budget = {"kind": "zcdp", "rho": "0.01"}
    asked = [
        {"kind": "release", "budget": budget, "question": {"sql": "x" * 10**5}},
        {"kind": "fit", "model": {"é": "\u2028'\""}},
    ]
    with store.writing() as connection:
        for n, one in enumerate(asked):
            told = {"kind": "k", "said": "s", "request": json.dumps(one), "job": None}
            releases.keep(connection, id=str(n), person="p", dataset="d", key=str(n), **told)
    with store.reading() as connection:
        found = releases.of_person(connection, "p", "d", 10)
        assert [json.loads(each.request).get("budget") for each in found] == [budget, None]
        assert all(len(each.request) < 100 for each in found)
        kept = releases.get(connection, "p", "d", "0")
        assert kept is not None
        assert json.loads(kept.request) == asked[0]
    store.close()


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8::1", "2001:db8::ffff:2", True),
        ("2001:db8:0:1::1", "2001:db8:0:2::1", False),
        ("fe80::1%eth0", "fe80::2%eth0", True),
        ("10.0.0.1", "10.0.0.2", False),
        ("::ffff:10.0.0.1", "::ffff:10.0.0.2", False),
    ],
)
def test_a_household_is_one_visitor(one: str, other: str, same: bool) -> None:
    a, b = (address_of(SimpleNamespace(client=SimpleNamespace(host=host))) for host in (one, other))  # type: ignore[arg-type]
    assert (a == b) is same


def test_what_was_cancelled_as_it_was_begun_does_not_begin(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On PostgreSQL a worker may have read that a job waits, when it is cancelled."""
    workers, seen = console.app.state.jobs.workers, record._next
    workers.stop()
    asked = {
        "question": {"sql": "SELECT COUNT(*) AS n FROM people"},
        "budget": {"kind": "zcdp", "rho": "0.01"},
    }
    job = console.api("Anna").post("/api/v1/datasets/people/releases", json=asked).json()["job"]

    def cancelled(connection: Any, now: float, take_over: bool) -> Any:
        found = seen(connection, now, take_over)
        connection.execute(record.JOBS.update().where(record.JOBS.c.id == job).values(cancelled=now))
        return found

    monkeypatch.setattr(record, "_next", cancelled)
    assert record.begin(console.store, 10.0, 0.1, False) is None
    found = record.look(console.store, job)
    assert found is not None
    assert (found[0].starts, found[0].token) == (None, None)
    workers.stopping.clear()
    workers.start()


def test_a_page_whose_name_leads_here_sees_no_numbers(console: Console) -> None:
    """A name of another site may be made to stand for 127.0.0.1; a browser still sends that name."""
    client = TestClient(console.app, client=("127.0.0.1", 5))
    for host in ("localhost:8000", "127.0.0.1", "[::1]:8000"):
        assert client.get("/metrics", headers={"host": host}).status_code == 200, host
    for host in ("rebound.example:8000", "127.0.0.1.example"):
        assert client.get("/metrics", headers={"host": host}).status_code == 401, host


def test_a_list_of_jobs_has_no_answers(console: Console) -> None:
    """An answer may have many groups, and the list has a hundred."""
    anna = console.api("Anna")
    asked = {
        "question": {"sql": "SELECT SUM(age) AS n FROM people"},
        "budget": {"kind": "zcdp", "rho": "0.01"},
    }
    job = anna.post("/api/v1/datasets/people/releases", json=asked).json()["job"]
    done = anna.get(f"/api/v1/jobs/{job}", params={"wait": 30}).json()
    assert (done["state"], done["answer"]["columns"][0]["name"]) == ("done", "n")
    listed = {each["job"]: each for each in anna.get("/api/v1/jobs").json()}
    assert listed[job] == {word: told for word, told in done.items() if word != "answer"}
