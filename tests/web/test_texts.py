"""Texts that cannot be kept or shown: each is put into every text of every request that the API takes."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from dalenius.web import texts
from dalenius.web.pages.render import STATIC
from tests.web.console import Console, csrf

NEVER = {"half": "a\ud800", "null": "a\x00b", "escape": "a\x1b[2Jb", "delete": "a\x7f"}
ODD = {"line": "a\nb", "long": "a" * 50_000}

DRAFT: dict[str, Any] = {
    "name": "other",
    "title": "Other",
    "about": "Some.",
    "source": {"kind": "file", "files": {"people": "other.parquet"}, "records": "lines"},
    "facts": {"people": {"person": {"nulls": "never"}, "town": {"categories": ["a", "b"], "impute": "a"}}},
    "unit": {"kind": "id", "column": "person", "max_rows": 2},
    "budget": {"kind": "zcdp", "rho": "0.5"},
    "shares": {"Anna": "1/2"},
}
QUESTION = {
    "table": {"name": "people", "steps": [{"kind": "filter", "condition": "town = 'a'"}]},
    "group_by": ["town"],
    "keys": {"kind": "keys", "columns": ["town"], "rows": [["a"]]},
    "aggregates": [{"name": "n", "aggregate": {"kind": "count"}}],
}
FORM = {
    "table": "people",
    "where": [{"column": "town", "compares": "=", "value": "a"}],
    "by": ["town"],
    "ask": [{"what": "count", "name": "n"}],
}
ASKED = {"kind": "release", "question": QUESTION, "budget": {"kind": "zcdp", "rho": "0.01"}}
PLAN = {"kind": "release_all", "questions": {"one": QUESTION}, "public": []}
EVALUATION = {
    "kind": "evaluate",
    "model": {"features": {"kind": "a"}, "model": {"kind": "b"}, "released": {"coefficients": "c"}},
    "features": ["age"],
    "target": "age > 20",
    "budget": {"kind": "zcdp", "rho": "0.01"},
}
SYNTHESIS = {
    "kind": "synthesize",
    "columns": {"town": {"categories": ["a", "b"]}},
    "private_bins": ["age"],
    "budget": {"kind": "zcdp", "rho": "0.01"},
}
MODEL = {
    "kind": "fit",
    "model": {"kind": "linear regression", "promise": {"kind": "zcdp", "rho": "0.01"}},
    "features": {"age": None},
    "target": "age",
}
PEOPLE = "/api/v1/datasets/people"
REQUESTS: list[tuple[str, str, str, Any]] = [
    ("Stella", "POST", "/api/v1/datasets", DRAFT),
    (
        "Stella",
        "PATCH",
        "/api/v1/datasets/{name}",
        {word: DRAFT[word] for word in ("title", "about", "facts")},
    ),
    ("Stella", "POST", "/api/v1/datasets/{name}/raise", {"budget": DRAFT["budget"], "note": "Why."}),
    ("Stella", "POST", "/api/v1/datasets/{name}/renew", {"note": "Why."}),
    (
        "Stella",
        "POST",
        "/api/v1/datasets/{name}/shares",
        {"analyst": "Anna", "share": {"kind": "zcdp", "rho": "0.01"}, "note": "Why."},
    ),
    ("Stella", "POST", "/api/v1/datasets/{name}/close", {"confirm": "peopel", "note": "Why."}),
    ("Stella", "PUT", "/api/v1/datasets/{name}/published", {"published": "yes"}),
    ("Stella", "PUT", "/api/v1/datasets/{name}/password", {"password": "secret"}),
    ("Stella", "PUT", "/api/v1/datasets/{name}/alerts", {"thresholds": ["50"]}),
    ("Stella", "POST", "/api/v1/people", {"name": "Carla", "role": "analyst"}),
    ("Stella", "POST", "/api/v1/me/tokens", {"label": "mine"}),
    ("Stella", "POST", "/api/v1/people/{id}/tokens", {"label": "theirs"}),
    ("Stella", "PATCH", "/api/v1/people/{id}", {"active": "yes"}),
    ("Stella", "PUT", "/api/v1/reports/{name}", {"title": "A report", "report": {"kind": "no report"}}),
    ("Anna", "POST", "/api/v1/datasets/{dataset}/questions", FORM),
    (
        "Anna",
        "POST",
        "/api/v1/datasets/{dataset}/models",
        {"what": "linear", "features": "age", "target": "pay"},
    ),
    ("Anna", "POST", "/api/v1/datasets/{dataset}/price", ASKED),
    ("Anna", "POST", "/api/v1/datasets/{dataset}/releases", ASKED),
    ("Anna", "POST", "/api/v1/datasets/{dataset}/releases", PLAN),
    ("Anna", "POST", "/api/v1/datasets/{dataset}/releases", MODEL),
    ("Anna", "POST", "/api/v1/datasets/{dataset}/releases", EVALUATION),
    ("Anna", "POST", "/api/v1/datasets/{dataset}/releases", SYNTHESIS),
]
"""A request to each operation that takes texts, as it may be but for some that must not be carried out."""


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    with Console.made(Path(tmp_path_factory.mktemp("texts")), calls_per_minute=10**6) as made:
        frame = pd.DataFrame({"person": [1, 2], "age": [20, 30], "town": ["a", "b"]})
        for name in ("people", "other"):
            frame.to_parquet(made.data / f"{name}.parquet")
        steward = made.api("Stella")
        people = {
            **DRAFT,
            "name": "people",
            "source": {"kind": "file", "files": {"people": "people.parquet"}},
        }
        made_so = steward.post("/api/v1/datasets", json=people)
        assert made_so.status_code == 201, made_so.text
        assert steward.post(f"{PEOPLE}/open").status_code == 200
        assert steward.put(f"{PEOPLE}/grants/Anna").status_code == 204
        yield made


def planted(content: Any, text: Any) -> Iterator[tuple[str, Any]]:
    """The request with this text in the place of each text in it, and of each name, one after the other; a number is no
    name."""

    def places(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        if isinstance(value, dict):
            for key, part in value.items():
                if isinstance(text, str):
                    yield (*path, (key,))
                yield from places(part, (*path, key))
        elif isinstance(value, list):
            for index, part in enumerate(value):
                yield from places(part, (*path, index))
        elif isinstance(value, str):
            yield path

    for *path, last in places(content, ()):
        made = copy.deepcopy(content)
        inside = made
        for step in path:
            inside = inside[step]
        if isinstance(last, tuple):
            inside[text] = inside.pop(last[0])
        else:
            inside[last] = text
        yield "/".join(map(str, (*path, last))), made


def sent(api: Any, method: str, path: str, content: Any) -> Any:
    """As a program may write it: httpx itself would not send half a character."""
    headers = {"Content-Type": "application/json"}
    return api.request(method, path, content=json.dumps(content), headers=headers)


def shown(console: Console) -> None:
    """Everything that shows what was written still can."""
    for who, paths in {
        "Stella": ["/", "/datasets/people", "/datasets/people/ledger", "/people", "/audit", "/reports"],
        "Anna": ["/", "/datasets/people/ask", "/datasets/people/answers", f"{PEOPLE}/description", PEOPLE],
    }.items():
        client = console.browser(who)
        for path in paths:
            assert client.get(path).status_code == 200, path


@pytest.mark.parametrize("text", NEVER.values(), ids=NEVER)
def test_what_cannot_be_kept_is_refused_wherever_it_stands(console: Console, text: str) -> None:
    for who, method, path, content in REQUESTS:
        api, to = (
            console.api(who),
            path.format(name="people", dataset="people", id=console.people["Boris"].id),
        )
        for place, made in planted(content, text):
            told = sent(api, method, to, made)
            assert told.status_code == 422, (path, place, told.status_code)
            assert text not in told.text
    shown(console)


@pytest.mark.parametrize("number", [float("inf"), float("nan"), 10**400], ids=["inf", "nan", "long"])
def test_a_number_that_is_not_finite_is_refused_wherever_it_stands(console: Console, number: float) -> None:
    """Python writes and reads it as JSON, and PostgreSQL does not."""
    for who, method, path, content in REQUESTS:
        api, to = (
            console.api(who),
            path.format(name="people", dataset="people", id=console.people["Boris"].id),
        )
        for place, made in planted(content, number):
            told = sent(api, method, to, made)
            assert told.status_code == 422, (path, place, told.status_code)
            assert "is not finite" in told.text, (path, place, told.text)
    test = {"guarantee": {"guarantee": {"kind": "zcdp", "rho": "0.01"}}}
    test["cdf"] = {"law": "norm", "numbers": [0, number], "named": {}}
    asked = {"kind": "infer", "features": "age"}
    asked["estimator"] = {"kind": "kolmogorov_smirnov_test", "settings": test}
    for written in (json.dumps(asked), json.dumps(asked).replace("Infinity", "1e999")):
        headers = {"Content-Type": "application/json"}
        told = console.api("Anna").post(f"{PEOPLE}/releases", content=written, headers=headers)
        assert told.status_code == 422
        assert "is not finite" in told.json()["detail"]
    shown(console)


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_what_is_odd_is_refused_or_shown(console: Console, text: str) -> None:
    for who, method, path, content in REQUESTS:
        api, to = (
            console.api(who),
            path.format(name="people", dataset="people", id=console.people["Boris"].id),
        )
        for place, made in planted(content, text):
            told = sent(api, method, to, made)
            if "tokens" in path and told.status_code == 201:
                assert api.delete(f"/api/v1/tokens/{told.json()['id']}").status_code < 500
            assert told.status_code < 500, (path, place, told.status_code)
            if told.status_code == 201 and path == "/api/v1/datasets":
                assert api.delete("/api/v1/datasets/other").status_code == 204
    shown(console)


def test_every_operation_that_takes_a_text_is_tried(console: Console) -> None:
    """A new one fails here until a request is written down above."""
    document = console.client.get("/api/v1/openapi.json").json()
    tried = {(method, path) for _, method, path, _ in REQUESTS}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            if "requestBody" in operation:
                assert (method.upper(), path) in tried, (method, path)


def test_forms_too(console: Console) -> None:
    """All of them, also those that a page reads by itself, and what is in them is not what it asked for."""
    forms = [route.path for route in console.app.state.routes if "POST" in route.methods]
    forms = [re.sub(r"\{\w+\}", "people", path) for path in forms if not path.startswith("/api/")]
    assert len(forms) > 25
    browser = console.browser("Stella")
    word = csrf(browser)
    for path in forms:
        for form in ({"note": "a\x00b"}, {"a\x1bb": "note"}):
            told = browser.post(path, data={"csrf": word, **form})
            assert (told.status_code, "a control character" in told.text) == (422, True), path
    assert browser.get("/me").status_code == 200


@pytest.mark.parametrize(
    ("text", "line", "kept"),
    [
        ("São Paulo", True, True),
        ("a\u00a0b", True, True),
        ("a\nb", False, True),
        ("a\u2028b", False, True),
        ("a\u202eb", False, True),
        ("\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"), True, True),
        ("\ud83d", False, False),
        ("\x85", False, False),
        ("", True, True),
    ],
)
def test_what_a_text_may_have(text: str, line: bool, kept: bool) -> None:
    assert (texts.is_a_line(text), texts.can_be_kept(text)) == (line, kept)


def test_the_ledger_says_who_did_what_in_the_order_in_which_it_was(console: Console) -> None:
    """Signs that turn the direction of a line would let an analyst rewrite it, for those who look at it."""
    turned = "turned\u202ednuof eb\u2066 ot"
    asked = {**ASKED, "question": {"sql": f"SELECT COUNT(*) AS n FROM people WHERE town = '{turned}'"}}
    told = console.api("Anna").post(f"{PEOPLE}/releases", json=asked).json()
    done = console.api("Anna").get(f"/api/v1/jobs/{told['job']}", params={"wait": 30}).json()
    assert done["state"] == "done", done
    anna, stella = console.browser("Anna"), console.browser("Stella")
    for client, page in (
        (stella, "/datasets/people/ledger"),
        (stella, "/datasets/people/ledger/now"),
        (stella, "/datasets/people/ledger.csv"),
        (stella, "/datasets/people/statement"),
        (anna, "/datasets/people/answers"),
        (anna, f"/datasets/people/answers/{told['release']}"),
    ):
        text = client.get(page).text
        assert "turned" in text, page
        assert not set(text) & texts.TURNS, page


def test_the_ledger_page_is_not_defaced(console: Console) -> None:
    """By a question that says a lot. The export has all of it."""
    anna, steward = console.api("Anna"), console.api("Stella")
    condition = "town = '" + "w" * 10_000 + "'"
    asked = {
        "question": {"sql": f"SELECT COUNT(*) AS n FROM people WHERE {condition}"},
        "budget": ASKED["budget"],
    }
    answer = anna.post(f"{PEOPLE}/releases", json=asked)
    assert answer.status_code == 202, answer.text
    told = answer.json()
    assert len(told["said"]) <= 1000
    done = anna.get(f"/api/v1/jobs/{told['job']}", params={"wait": 30}).json()
    assert done["state"] == "done", done
    page = console.browser("Stella").get("/datasets/people/ledger").text
    assert "w" * 100 in page
    assert "w" * 500 not in page
    assert "w" * 10_000 in steward.get("/api/v1/ledger/export").text
    assert "w" * 10_000 not in anna.get(f"{PEOPLE}/releases").text
    lines = [(line["act"], line["subject"]) for line in steward.get("/api/v1/audit").json()]
    assert ("exported the ledger", "") in lines
    assert console.browser("Stella").get("/datasets/people/ledger.csv").status_code == 200
    lines = [(line["act"], line["subject"]) for line in steward.get("/api/v1/audit").json()]
    assert ("exported the ledger", "people") in lines
    style = (STATIC / "datasets.css").read_text()
    assert ".lines td { overflow-wrap: anywhere; }" in style
