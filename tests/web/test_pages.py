"""Sign in, people, tokens and the audit log in a browser: by mouse, by keyboard, on a phone, in the dark."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.web.console import Console
from tests.web.served import served

pytest_plugins = ("tests.browser",)
SHOTS = os.environ.get("DALENIUS_SHOTS")
"""A folder for pictures of the pages, for those who want to look at them."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Console, str]]:
    with Console.made(Path(tmp_path_factory.mktemp("pages"))) as console, served(console.app) as (host, port):
        yield console, f"http://{host}:{port}"


def _shot(page: Any, name: str) -> None:
    if SHOTS:
        page.screenshot(path=f"{SHOTS}/{name}.png", full_page=True)


def _fits(page: Any) -> bool:
    """Nothing is wider than the window: what is wide scrolls inside itself."""
    return bool(page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))


def test_a_stewards_first_day(site: tuple[Console, str], page: Any) -> None:
    console, there = site
    page.goto(f"{there}/people")
    assert page.url.endswith("/sign-in?next=%2Fpeople")
    _shot(page, "sign-in")
    page.locator("input:focus").wait_for()  # the page puts the cursor there
    page.keyboard.type("wrong")
    page.keyboard.press("Enter")
    assert "not a token that works" in page.get_by_role("alert").inner_text()
    page.get_by_label("Your token").fill(console.tokens["Stella"])
    page.keyboard.press("Enter")
    page.wait_for_url(f"{there}/people")
    page.get_by_text("Let somebody in").click()
    page.get_by_label("Name").fill("Zoë Müller")
    page.get_by_label("Role").select_option("analyst")
    _shot(page, "people")
    page.get_by_role("button", name="Add, and show the token").click()
    token = page.get_by_label("The token").inner_text()
    assert token.startswith("dalenius_")
    _shot(page, "token")
    page.get_by_role("link", name="I have copied it").click()
    assert token not in page.content()
    zoe = page.get_by_role("region", name="Zoë Müller analyst")
    zoe.get_by_role("button", name="Revoke").click()
    assert "revoked" in zoe.inner_text()
    assert console.client.get("/api/v1/me", headers={"Authorization": f"Bearer {token}"}).status_code == 401
    page.get_by_role("link", name="Audit log").click()
    assert "revoked a token" in page.content()
    _shot(page, "audit")
    page.set_viewport_size({"width": 390, "height": 800})
    page.emulate_media(color_scheme="dark")
    for path in ("/", "/people", "/audit", "/me", "/nothing"):
        page.goto(f"{there}{path}")
        assert _fits(page), path
        _shot(page, f"phone{path.replace('/', '-')}")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.get_by_role("button", name="Sign out").click()
    page.goto(f"{there}/me")
    assert "/sign-in" in page.url
    assert {url.split("/")[2] for url in page.fetched} == {
        there.removeprefix("http://")
    }  # nothing from elsewhere
    assert [text for text in page.problems if "401" not in text and "404" not in text] == []


def test_what_a_page_of_another_site_sends_does_nothing(site: tuple[Console, str], browser: Any) -> None:
    """A form on another site, with the steward signed in in the same browser."""
    console, there = site
    page = browser.new_page()
    page.goto(f"{there}/sign-in")
    page.get_by_label("Your token").fill(console.tokens["Stella"])
    page.keyboard.press("Enter")
    page.wait_for_url(f"{there}/")
    before = len(console.api("Stella").get("/api/v1/people").json())
    other = there.replace("127.0.0.1", "localhost")  # another site, to the browser
    page.goto(f"{other}/static/icon.svg")
    page.goto("about:blank")
    page.set_content(
        f'<form method="post" action="{there}/people"><input name="name" value="Eve">'
        '<input name="role" value="steward">'
        "<button>Win a prize</button></form>"
    )
    page.get_by_role("button").click()
    page.wait_for_load_state()
    assert "Eve" not in {each["name"] for each in console.api("Stella").get("/api/v1/people").json()}
    assert len(console.api("Stella").get("/api/v1/people").json()) == before
    page.close()
