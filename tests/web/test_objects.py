"""What is another's is not there: same status and same words as for a name that nobody has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from dalenius.web.people.access import rule_of
from tests.web.console import Console
from tests.web.test_datasets import whole

HOSTILE = [
    {"kind": "file", "files": {"people": path}}
    for path in (
        "../outside.parquet",
        "/etc/passwd.csv",
        "http://169.254.169.254/latest/meta-data.csv",
        "s3://bucket/key.parquet",
        "file:///etc/passwd.csv",
        "\\\\host\\share.csv",
        "../console/console.sqlite",
        "people.parquet'; ATTACH 'x.csv",
    )
] + [
    {"kind": "postgres", "host": host, "port": port, "database": "d", "user": "u", "tables": "t"}
    for host, port in (
        ("127.0.0.1", 5432),
        ("169.254.169.254", 80),
        ("db.example@evil.example", 5432),
        ("db.example?host=evil.example", 5432),
        ("db.example,evil.example", 5432),
        ("/var/run/postgresql", 5432),
        ("db.example", 22),
        ("localhost", 6379),
    )
]

ASKED = {"question": {"sql": "SELECT COUNT(*) AS n FROM people"}, "budget": {"kind": "zcdp", "rho": "0.01"}}


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """With a data set that Anna may ask of, and Boris may not."""
    folder = Path(tmp_path_factory.mktemp("objects"))
    with Console.made(folder, source_schemes=("postgresql",), source_hosts=("db.example",)) as made:
        frame = pd.DataFrame({"person": [1, 2], "age": [20, 30]})
        frame.to_parquet(made.data / "people.parquet")
        frame.to_parquet(made.data.parent / "outside.parquet")
        steward = made.api("Stella")
        assert steward.post("/api/v1/datasets", json=whole("people")).status_code == 201
        assert steward.post("/api/v1/datasets/people/open").status_code == 200
        assert steward.put("/api/v1/datasets/people/grants/Anna").status_code in (200, 201, 204)
        yield made


def test_a_data_set_that_is_not_granted_is_not_there(console: Console) -> None:
    anna, boris, seen = console.api("Anna"), console.api("Boris"), 0
    assert anna.get("/api/v1/datasets/people").status_code == 200
    for route in console.app.state.routes:
        if not re.search(r"/(datasets|promises?)/\{", route.path) or rule_of(route) == "steward":
            continue
        for method in route.methods:
            there, nowhere = (
                boris.request(
                    method, route.path.replace("{name}", name).replace("{id}", "1"), json={"question": {}}
                )
                for name in ("people", "nobody")
            )
            told = there.text.replace("people", "nobody"), nowhere.text
            assert (there.status_code, told[0]) == (nowhere.status_code, told[1]), (method, route.path)
            assert there.status_code in (404, 422), (method, route.path)
            seen += 1
    assert seen >= 15


def test_what_is_anothers_cannot_be_named(console: Console) -> None:
    """By id: tokens and people. (Jobs: tests/web/jobs.)"""
    token = console.api("Anna").get("/api/v1/me").json()["tokens"][0]["id"]
    mine, none = (console.api("Boris").delete(f"/api/v1/me/tokens/{id}") for id in (token, "0" * 16))
    assert (mine.status_code, mine.text) == (none.status_code, none.text) == (404, none.text)
    assert console.api("Anna").get("/api/v1/me").status_code == 200


def test_an_answer_is_its_analysts(console: Console) -> None:
    """Also where both may ask of the data set: by its id, as a file, in the history, and as a job."""
    anna, boris, there = console.api("Anna"), console.api("Boris"), "/api/v1/datasets/people/releases"
    console.api("Stella").put("/api/v1/datasets/people/grants/Boris")
    asked = anna.post(there, json=ASKED)
    assert asked.status_code in (201, 202), asked.text
    if asked.status_code == 202:
        job = asked.json()["job"]
        assert boris.get(f"/api/v1/jobs/{job}").text == boris.get("/api/v1/jobs/nothing").text
        assert boris.delete(f"/api/v1/jobs/{job}").status_code == 404
        assert anna.get(f"/api/v1/jobs/{job}", params={"wait": 20}).json()["state"] == "done"
    mine = anna.get(there).json()
    ids = re.findall(r'"id": ?"(\w+)"', anna.get(there).text)
    assert ids, mine
    assert not re.findall(r'"id": ?"(\w+)"', boris.get(there).text)
    for id in ids:
        for ending in ("", ".csv", ".md", ".parquet"):
            assert anna.get(f"{there}/{id}{ending}").status_code == 200, ending
            other, none = boris.get(f"{there}/{id}{ending}"), boris.get(f"{there}/{'0' * len(id)}{ending}")
            assert (other.status_code, other.text.replace(id, "")) == (
                404,
                none.text.replace("0" * len(id), ""),
            )
        assert boris.get(f"/datasets/people/answers/{id}").status_code == 404
    console.api("Stella").delete("/api/v1/datasets/people/grants/Boris")


def test_an_answer_is_that_of_its_question(console: Console) -> None:
    """When public facts change, the same words are another question: neither has the other's answer."""
    anna, stella, there = console.api("Anna"), console.api("Stella"), "/api/v1/datasets/people/releases"
    wide = whole("people")["facts"]["people"]
    narrow = {**wide, "age": {"bounds": [0, 10], "nulls": "drop"}}
    asked = {
        "question": {"sql": "SELECT SUM(age) AS n FROM people"},
        "budget": {"kind": "zcdp", "rho": "0.01"},
    }

    def told(word: str) -> str:
        first = anna.post(there, json=asked, headers={"Idempotency-Key": word}).json()
        assert anna.get(f"/api/v1/jobs/{first['job']}", params={"wait": 20}).json()["state"] == "done"
        return str(first["release"])

    def facts(given: dict[str, object]) -> None:
        assert stella.patch("/api/v1/datasets/people", json={"facts": {"people": given}}).status_code == 200

    one = told("one")
    rows = anna.get(f"{there}/{one}").json()["rows"]
    facts(narrow)
    for _ in range(2):  # before the other one is answered, and after
        for ending in ("", ".csv", ".md", ".parquet"):
            refused = anna.get(f"{there}/{one}{ending}")
            assert (refused.status_code, refused.json()["title"]) == (
                409,
                "It was asked of other public facts",
            )
        other = told("other")
    assert other != one
    facts(wide)
    assert anna.get(f"{there}/{one}").json()["rows"] == rows
    assert anna.get(f"{there}/{other}").status_code == 409


@pytest.mark.parametrize("source", HOSTILE, ids=lambda source: str(source.get("files") or source.get("host")))
def test_the_server_goes_nowhere_that_the_settings_do_not_list(
    console: Console, source: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refused from the text alone: no name is looked up, and nothing is connected to."""
    import socket

    def never(*_: object, **__: object) -> None:
        raise AssertionError("the server went out")

    for name in ("create_connection", "getaddrinfo"):
        monkeypatch.setattr(socket, name, never)
    refused = console.api("Stella").post("/api/v1/datasets", json=whole("other", source=source))
    assert refused.status_code == 422, refused.text
    assert console.api("Stella").get("/api/v1/datasets/other").status_code == 404
