"""Who may do what: every route, by everyone who may come.

The routes are read from the app, so that a new one fails here until somebody has written down who may use it.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fastapi import APIRouter, Depends
from fastapi.testclient import TestClient

from dalenius.web import app as whole
from dalenius.web.people import access, acts, home
from dalenius.web.people.access import rule_of
from dalenius.web.settings import Settings
from tests.web.console import Console, csrf
from tests.web.expected_routes import EXPECTED

ROUTES = [
    (rule, *line.split())
    for rule, lines in EXPECTED.items()
    for line in lines.strip().splitlines()
    if line.strip()
]
MAY = {
    "anyone": {"nobody", "Anna", "Stella"},
    "signed_in": {"Anna", "Stella"},
    "analyst": {"Anna"},
    "steward": {"Stella"},
}
STRICTER = {"/metrics": {"Stella"}}
"""Open routes that look at the person themselves: /metrics may be opened to programs on the server."""


def _may(rule: str, path: str) -> set[str]:
    return STRICTER.get(path, MAY[rule])


def test_every_route_is_expected_and_declares_what_is_expected(console: Console) -> None:
    found = {
        (rule_of(route), method, route.path) for route in console.app.state.routes for method in route.methods
    }
    assert found == set(ROUTES)
    assert len(ROUTES) == len({(method, path) for _, method, path in ROUTES})


def test_nothing_is_served_beside_the_routes(console: Console) -> None:
    """FastAPI's own pages load scripts from elsewhere, and a mounted app would have rules of its own."""
    for path in (
        "/docs",
        "/redoc",
        "/openapi.json",
        "/static/",
        "/static/..%2frender.py",
        "/static/../render.py",
    ):
        assert console.client.get(path).status_code == 404, path


def _tried(client: TestClient, method: str, path: str, **headers: str) -> int:
    filled = re.sub(r"\{\w+(:\w+)?\}", "nothing", path)
    return client.request(method, filled, headers=headers).status_code


@pytest.mark.parametrize(("rule", "method", "path"), ROUTES)
def test_matrix_with_tokens(console: Console, rule: str, method: str, path: str) -> None:
    """What goes in is refused for what it is (404, 422, ...) only after it was clear that this person may ask."""
    people = {"nobody": {}, "Anna": console.bearer("Anna"), "Stella": console.bearer("Stella")}
    for name, headers in people.items():
        status = _tried(console.client, method, path, **headers)
        if name in _may(rule, path):
            assert status not in ((403, 405, 500) if path == "/sign-in" else (401, 403, 405, 500)), name
        else:
            assert status == (401 if name == "nobody" else 403), name
    assert _tried(console.client, method, path, Authorization="Bearer dalenius_wrong") == 401


def test_matrix_with_cookies(console: Console) -> None:
    """By cookie: the same, and what changes something is refused without the page's word, even to those who may."""
    browsers = {name: console.browser(name) for name in ("Anna", "Stella")}
    words = {name: csrf(browser) for name, browser in browsers.items()}
    for rule, method, path in ROUTES:
        if path in ("/sign-out", "/me/sign-out", "/api/v1/me/sign-ins") or (path, method) == (
            "/sign-in",
            "POST",
        ):
            continue  # these end the sign-in; test_probes has them
        for name in ("Anna", "Stella"):
            client = browsers[name]
            word = words[name]
            without = _tried(client, method, path)
            if method == "GET":
                assert (without in (401, 403)) == (name not in _may(rule, path)), (name, method, path)
            else:
                with_it = _tried(client, method, path, **{"X-CSRF-Token": word})
                elsewhere = _tried(
                    client, method, path, **{"X-CSRF-Token": word, "Sec-Fetch-Site": "cross-site"}
                )
                assert (without, elsewhere) == (403, 403), (name, method, path)
                assert (with_it in (401, 403)) == (name not in _may(rule, path)), (name, method, path)


def test_who_was_closed_out_may_do_nothing(console: Console) -> None:
    person, _, text = acts.add(console.store, None, "Gone", "steward", 30)
    console.tokens["Gone"] = text
    browser, word = console.browser("Gone"), ""
    word = csrf(browser)
    acts.set_active(console.store, console.people["Stella"], person.id, False)
    for rule, method, path in ROUTES:
        if rule == "anyone":
            continue
        assert _tried(console.client, method, path, **console.bearer("Gone")) == 401
        assert _tried(browser, method, path, **{"X-CSRF-Token": word}) in (303, 401), (method, path)


@pytest.mark.parametrize("rules", [(), (access.anyone, access.steward)])
def test_a_route_without_one_rule_stops_the_start(
    rules: tuple[access.Dependency, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    router = APIRouter()
    router.add_api_route("/new", lambda: 1, dependencies=[Depends(rule) for rule in rules])
    monkeypatch.setattr(home, "router", router)
    with pytest.raises(whole.RouteWithoutRule, match="/new"):
        whole.create_app(Settings(tmp_path))


def test_a_route_behind_another_stops_the_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The first one that fits answers, with its own rule."""
    router = APIRouter()
    router.add_api_route("/new/{name}", lambda: 1, dependencies=[Depends(access.anyone)])
    router.add_api_route("/new/secret", lambda: 1, dependencies=[Depends(access.steward)])
    monkeypatch.setattr(home, "router", router)
    with pytest.raises(whole.RouteWithoutRule, match="/new/secret would never be reached"):
        whole.create_app(Settings(tmp_path))


def test_a_router_inside_a_room_stops_the_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What is in it would not be checked."""
    router = APIRouter()
    router.include_router(home.router)
    monkeypatch.setattr(home, "router", router)
    with pytest.raises(whole.RouteWithoutRule):
        whole.create_app(Settings(tmp_path))
