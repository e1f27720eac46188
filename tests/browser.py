"""Fixtures for what runs in a browser: Chromium, and an empty page that keeps what goes wrong and what it asks for."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

playwright = pytest.importorskip("playwright.sync_api")
playwright.expect.set_options(timeout=30_000)  # a machine that runs all tests may be busy


def found_chromium() -> str | None:
    """The program; None: Playwright's own."""
    names = ("chromium", "chromium-browser")
    return os.environ.get("DALENIUS_TEST_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium as the system has it (tests/servers/install.sh), or as Playwright installed it."""
    with playwright.sync_playwright() as running:
        quiet = [
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--disable-component-update",
        ]
        try:
            opened = running.chromium.launch(executable_path=found_chromium(), args=quiet)
        except playwright.Error as problem:
            pytest.skip(f"there is no Chromium to be started: {str(problem)[:200]}")
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    shown = browser.new_page()
    shown.problems, shown.fetched = [], []
    shown.on("pageerror", lambda error: shown.problems.append(str(error)))
    shown.on("console", lambda message: shown.problems.append(message.text))
    shown.on("request", lambda request: shown.fetched.append(request.url))
    yield shown
    shown.close()
