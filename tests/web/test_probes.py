"""What an attacker tries: each must fail, and tell nothing."""

from __future__ import annotations

import contextlib
import logging
import re
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from fastapi import APIRouter
from fastapi.testclient import TestClient
from sqlalchemy import event

from dalenius.web import app as whole
from dalenius.web.limits import Limit
from dalenius.web.logs import Line
from dalenius.web.people import access, home, sign_in
from dalenius.web.people.access import Anyone
from dalenius.web.problems import Problem
from dalenius.web.settings import Settings
from dalenius.web.store import clock, rates
from dalenius.web.store.sign_ins import SIGN_INS
from tests.web.console import Console, csrf

SECRET = "the value of a row: 4711"


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """With one more route, that fails as only a bug can."""
    router = APIRouter(include_in_schema=False)

    @router.get("/api/v1/broken")
    def broken(_: Anyone) -> None:
        raise RuntimeError(SECRET)

    router.routes.extend(home.router.routes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(home, "router", router)
        with Console.made(Path(tmp_path_factory.mktemp("probes")), body_bytes=5000, body_seconds=0.2) as made:
            yield made


# -- what every answer says --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/", 200),
        ("/people", 303),
        ("/nothing", 404),
        ("/api/v1/me", 401),
        ("/api/v1/broken", 500),
        ("/static/console.css", 200),
        ("/static/nothing.css", 404),
    ],
)
def test_headers_of_every_answer(console: Console, path: str, status: int) -> None:
    answer = console.client.get(path, headers={"Accept": "text/html"})
    assert answer.status_code == status
    policy = answer.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "same-origin"
    cached = path == "/static/console.css"
    assert answer.headers["cache-control"] == ("public, max-age=86400" if cached else "no-store")
    assert "server" not in answer.headers
    assert "strict-transport-security" not in answer.headers


def test_with_tls_the_cookie_is_bound_to_the_host_and_browsers_stay_with_it(tmp_path: Path) -> None:
    with Console.made(tmp_path, https=True, hosts=("console.example",)) as console:
        console.client.base_url = httpx.URL("https://console.example")
        answer = console.client.post("/sign-in", data={"token": console.tokens["Anna"]})
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith("__Host-dalenius=")
        assert {"HttpOnly", "Secure", "Path=/", "SameSite=lax"} <= set(cookie.split("; "))
        assert "Domain" not in cookie
        assert answer.headers["strict-transport-security"].startswith("max-age=31536000")
        assert console.client.get("/", headers={"Host": "evil.example"}).status_code == 421
        assert console.client.get("/people/", headers={"Host": "console.example:8000"}).status_code == 404


# -- injection and traversal -------------------------------------------------------------------------

NASTY = [
    "' OR '1'='1",
    "x'; DROP TABLE console_people; --",
    "..%2f..%2fetc%2fpasswd",
    "%00",
    "{{7*7}}",
    "<script>alert(1)</script>",
    "\u202egnp.exe",
    "a" * 5000,
]


@pytest.mark.parametrize("text", NASTY)
def test_injection(console: Console, text: str) -> None:
    steward, browser = console.api("Stella"), console.browser("Stella")
    for path in (f"/api/v1/people/{text}", f"/api/v1/tokens/{text}", f"/static/{text}"):
        for method in ("GET", "DELETE"):
            assert steward.request(method, path).status_code in (404, 405, 422), path
    assert steward.get("/api/v1/audit", params={"before": text}).status_code == 422
    assert console.client.post("/sign-in", data={"token": text}).status_code in (401, 413, 422)
    added = browser.post("/people", data={"name": text, "role": "analyst", "csrf": csrf(browser)})
    assert added.status_code in (200, 413, 422)
    page = browser.get("/people").text + added.text
    assert "<script>alert" not in page
    assert "49" not in page.partition("{{")[0][-5:]
    assert len(steward.get("/api/v1/people").json()) >= 3


@pytest.mark.parametrize(
    "address",
    [
        "https://evil.example/",
        "//evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "javascript:alert(1)",
        "/\t/evil.example",
        "/%0d%0aSet-Cookie:x=1\r\nX: y",
        "http:evil.example",
        "///evil.example",
        "",
    ],
)
def test_open_redirect(console: Console, address: str) -> None:
    console.client.cookies.clear()
    answer = console.client.post("/sign-in", data={"token": console.tokens["Anna"], "next": address})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert (
        f'value="{address}"' not in console.client.get("/sign-in", params={"next": address}).text
        or not address
    )
    assert sign_in.local("/datasets/pay?page=2") == "/datasets/pay?page=2"


# -- sign-ins ----------------------------------------------------------------------------------------


def test_session_fixation_and_replay(console: Console) -> None:
    """A cookie that somebody else planted becomes nobody's; after signing out the old one is worth nothing."""
    login = {"token": console.tokens["Anna"]}
    first = (
        _fresh(console)
        .post("/sign-in", data=login, headers={"Cookie": "dalenius=planted"})
        .cookies["dalenius"]
    )
    word = {"csrf": access.csrf_word(first)}
    again = {"Cookie": f"dalenius={first}"}
    assert _fresh(console).post("/sign-in", data=login, headers=again).status_code == 403
    second = _fresh(console).post("/sign-in", data=login | word, headers=again).cookies["dalenius"]
    assert len({"planted", first, second}) == 3
    for cookie, status in (("planted", 303), (first, 303), (second, 200)):
        headers = {"Cookie": f"dalenius={cookie}", "Accept": "text/html"}
        got = _fresh(console).get("/me", headers=headers)
        assert got.status_code == status
    word = {"csrf": access.csrf_word(second)}
    assert _fresh(console).post("/sign-out", headers=headers).status_code == 403
    assert _fresh(console).post("/sign-out", headers=headers, data=word).status_code == 303
    assert _fresh(console).get("/me", headers=headers).status_code == 303


def _fresh(console: Console) -> TestClient:
    """Nobody, without a cookie."""
    console.client.cookies.clear()
    return console.client


def test_a_word_of_another_sign_in_is_none(console: Console) -> None:
    stella, anna = console.browser("Stella"), console.browser("Anna")
    new = {"name": "Eve", "role": "steward"}
    for word in (csrf(anna), "", "x" * 64):
        assert stella.post("/people", data={**new, "csrf": word}).status_code == 403
    word = csrf(stella)
    for headers in ({"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "same-site"}):
        assert stella.post("/people", data={**new, "csrf": word}, headers=headers).status_code == 403
    login = {"token": console.tokens["Anna"]}
    assert (
        console.client.post("/sign-in", data=login, headers={"Origin": "https://evil.example"}).status_code
        == 403
    )


def test_sign_ins_end_by_time_and_when_idle(console: Console) -> None:
    for column, moment in (("ends", clock.after(seconds=-1)), ("seen", clock.after(minutes=-61))):
        browser = console.browser("Boris")
        assert browser.get("/me").status_code == 200
        with console.store.writing() as connection:
            mine = SIGN_INS.c.person == console.people["Boris"].id
            connection.execute(SIGN_INS.update().where(mine).values({column: moment}))
        assert browser.get("/me").status_code == 303


def test_sign_out_everywhere(console: Console) -> None:
    browsers = [console.browser("Boris") for _ in range(2)]
    assert console.api("Boris").delete("/api/v1/me/sign-ins").status_code == 204
    assert [browser.get("/me").status_code for browser in browsers] == [303, 303]


def test_a_token_never_reaches_a_statement(console: Console) -> None:
    """The store is asked for its hash: neither its log nor the time of a comparison can tell a token."""
    seen: list[str] = []

    def look(connection: Any, cursor: Any, statement: str, parameters: Any, *rest: Any) -> None:
        seen.append(f"{statement} {parameters}")

    event.listen(console.store.engine, "before_cursor_execute", look)
    try:
        assert console.api("Anna").get("/api/v1/me").status_code == 200
        cookie = console.browser("Anna").cookies["dalenius"]
    finally:
        event.remove(console.store.engine, "before_cursor_execute", look)
    assert len(seen) > 3
    assert not [line for line in seen if console.tokens["Anna"] in line or cookie in line]


# -- size, speed, number -----------------------------------------------------------------------------


def test_oversized_bodies(console: Console) -> None:
    long = {"name": "a" * 6000, "role": "analyst"}
    refused = console.api("Stella").post("/api/v1/people", json=long)
    assert (refused.status_code, refused.json()["type"]) == (413, "urn:dalenius:problem:too-large")

    def pieces() -> Iterator[bytes]:
        yield from (b"x" * 1000 for _ in range(7))

    chunked = console.api("Stella").post(
        "/api/v1/people", content=pieces(), headers={"Content-Type": "application/json"}
    )
    assert chunked.status_code == 413
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert console.client.post("/sign-in", content=pieces(), headers=form).status_code == 413
    assert (
        console.client.post("/sign-in", content=b"x", headers={"Content-Length": "9" * 5000}).status_code
        == 413
    )
    assert console.client.post("/sign-in", content=b"x", headers={"Content-Length": "-1"}).status_code == 400


def test_slow_bodies(console: Console) -> None:
    async def slow() -> httpx.Response:
        async def drops() -> AsyncIterator[bytes]:
            while True:
                yield b"t"
                await anyio.sleep(0.05)

        there = httpx.ASGITransport(console.app)
        async with httpx.AsyncClient(transport=there, base_url="http://testserver") as client:
            headers = {"Content-Type": "application/x-www-form-urlencoded"}
            return await client.post("/sign-in", content=drops(), headers=headers)

    assert anyio.run(slow).status_code == 408


def test_who_hangs_up_in_the_middle_is_no_failure(console: Console, caplog: pytest.LogCaptureFixture) -> None:
    """Else a stranger fills the log with errors that somebody has to look at."""
    scope = {"type": "http", "method": "POST", "path": "/sign-in", "query_string": b"", "headers": []}
    sent: list[Any] = []

    async def gone() -> dict[str, str]:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    with caplog.at_level(logging.INFO, "dalenius.web"):
        anyio.run(console.app, scope, gone, send)
    assert sent == []
    assert "request method=POST route=/sign-in status=-" in caplog.text
    assert "unexpected" not in caplog.text


def test_rates_are_counted_by_all_workers_together(tmp_path: Path) -> None:
    with Console.made(tmp_path, failures_per_minute=4, calls_per_minute=8) as console:
        other = TestClient(whole.create_app(console.settings))
        other.portal = console.client.portal
        both, wrong, mine = (
            [console.client, other] * 5,
            {"Authorization": "Bearer dalenius_wrong"},
            console.bearer("Anna"),
        )
        statuses = [client.get("/api/v1/me", headers=wrong).status_code for client in both]
        assert statuses == [401] * 4 + [429] * 6
        assert console.client.post("/sign-in", data={"token": "wrong"}).status_code == 429
        # Who has a token that works is not kept out by strangers at the same address.
        assert [client.get("/api/v1/me", headers=mine).status_code for client in both] == [200] * 8 + [
            429
        ] * 2
        refused = other.get("/api/v1/me", headers=mine)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "60")
        assert console.api("Stella").get("/api/v1/me").status_code == 200


def test_handfuls_never_let_more_through(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    workers = [Limit(console.store, "test", 80) for _ in range(3)]  # handfuls of two
    for minute in (1000, 1001):
        monkeypatch.setattr(rates, "window", lambda minute=minute: minute)
        passed = 0
        for turn in range(100):
            with contextlib.suppress(Problem):
                workers[turn % 7 % 3].take("somebody")
                passed += 1
        assert 75 <= passed <= 80


# -- what is told, and what is written ---------------------------------------------------------------


def test_what_fails_tells_a_number_and_the_log_has_no_message(
    console: Console, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "dalenius.web"):
        answer = console.client.get("/api/v1/broken")
    problem = answer.json()
    number = problem["detail"].split()[3]
    assert (answer.status_code, problem["type"]) == (500, "urn:dalenius:problem:unexpected")
    assert re.search(
        rf"unexpected number={number} type=RuntimeError at=\w+\.py:\d+$", caplog.text, re.MULTILINE
    )
    assert SECRET not in answer.text + caplog.text
    assert "Traceback" not in answer.text + caplog.text


def test_the_log_has_no_token_and_no_line_of_the_visitors(
    console: Console, caplog: pytest.LogCaptureFixture
) -> None:
    token = console.tokens["Anna"]
    with caplog.at_level(logging.DEBUG):
        console.api("Anna").get(f"/api/v1/me?token={token}")
        console.client.get(f"/{token}%0aERROR%20forged")
        console.client.get("/api/v1/me", headers={"Authorization": f"Basic {token}"})
        console.client.post("/sign-in", data={"token": token})
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("dalenius")]
    assert "request method=GET route=/api/v1/me status=200 person=" + console.people["Anna"].id in ours
    assert not [line for line in ours if token in line or "forged" in line]


def test_a_record_of_any_library_is_one_line_without_its_exception() -> None:
    try:
        raise ValueError(SECRET)
    except ValueError:
        record = logging.LogRecord(
            "uvicorn.error", 40, __file__, 1, "failed\nINFO forged", (), sys.exc_info()
        )
    line = Line("%(levelname)s %(message)s").format(record)
    assert line.startswith("ERROR failed INFO forged type=ValueError at=test_probes.py:")
    assert SECRET not in line
    assert "\n" not in line


def test_validation_does_not_repeat_what_was_sent(console: Console) -> None:
    refused = console.api("Stella").post("/api/v1/people", json={"name": 4711, "role": SECRET, "x": SECRET})
    assert refused.status_code == 422
    assert SECRET not in refused.text
    assert "4711" not in refused.text
    assert refused.headers["content-type"] == "application/problem+json"


def test_settings_hide_passwords_and_survive_the_environment() -> None:
    settings = Settings(
        Path("/x"), store="postgresql://u:hidden@h/d", source_folders=(Path("/a"),), hosts=("b",)
    )
    assert "hidden" not in repr(settings)
    assert Settings.from_text(settings.to_text()) == settings
