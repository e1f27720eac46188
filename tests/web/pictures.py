"""The pictures of the console in docs/images, taken anew: `python -m tests.web.pictures [name ...]`.

The people, their questions and the noise are made up, so that two runs differ in numbers. Look at each before it is
kept.
"""

from __future__ import annotations

import datetime
import io
import itertools
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from PIL import Image
from playwright.sync_api import Page, sync_playwright

import dalenius as dp
from dalenius.session import account, acts, ledger
from dalenius.web.datasets import open_session
from tests.browser import found_chromium
from tests.web.furnished import Furnished, furnished

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
MOST = 150_000
"""Bytes of one picture."""
DESK, PHONE = {"width": 1000, "height": 640}, {"width": 390, "height": 780}


@dataclass(frozen=True)
class Picture:
    """One of them: whose page, where, and what is done there before it is taken."""

    person: str
    path: str
    before: Callable[[Any], None] = lambda page: None
    size: dict[str, int] | None = None
    dark: bool = False
    whole: bool = False
    """Whether all of the page is taken, and not what a window shows."""


def _form(page: Page) -> None:
    page.click("#b-more")
    line = page.locator("#b-ask .line").nth(1)
    line.locator("[data-part=column]").select_option("pay")
    page.check("#b-by input[value=state]")
    page.fill("#rows", "500")
    page.wait_for_selector("#price li")


def _model(page: Page) -> None:
    page.select_option("#what", "linear")
    for name, text in (("f-features", "age"), ("f-target", "pay"), ("amount", "0.02")):
        page.fill(f"#{name}", text)
    page.wait_for_selector("#cost")


def _record(page: Page) -> None:
    for n, value in enumerate((40, 12, 0.5)):
        page.fill(f"#field{n}", str(value))
    page.select_option("#field3", label="yes")


ASK, LEDGER = "/datasets/people/ask", "/datasets/people/ledger"
PICTURES = {
    "audit": Picture("Stella", "/audit"),
    "sign-in": Picture("nobody", "/sign-in", size={"width": 1000, "height": 420}),
    "datasets": Picture("Stella", "/datasets"),
    "facts": Picture("Stella", "/datasets/visits/edit", size={"width": 1000, "height": 1150}),
    "budget": Picture("Stella", "/datasets/people/budget", whole=True),
    "ledger": Picture("Stella", LEDGER, whole=True),
    "ledger-dark": Picture("Stella", LEDGER, dark=True),
    "ledger-phone": Picture("Stella", LEDGER, size=PHONE),
    "people": Picture("Stella", "/people"),
    "promise": Picture("nobody", "/promise/people", whole=True),
    "report": Picture("nobody", "/reports/pay", _record, whole=True),
    "ask": Picture("Anna", ASK, _form, whole=True),
    "ask-dark": Picture("Anna", ASK, _form, dark=True),
    "ask-phone": Picture("Anna", ASK, _form, size=PHONE),
    "answer": Picture("Anna", "/datasets/people/answers/{groups}", whole=True),
    "models": Picture("Anna", "/datasets/people/ask/model", _model, size={"width": 1000, "height": 1230}),
}


@contextmanager
def spread() -> Iterator[None]:
    """Entries of the ledger are some days apart, so that its chart has a shape."""
    start = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=60)
    moments = (start + datetime.timedelta(days=4.6 * step) for step in itertools.count())
    with ExitStack() as stack:
        for module in (account, acts, ledger):
            stack.enter_context(
                patch.object(module, "now", lambda: next(moments).isoformat(timespec="seconds"))
            )
        yield


def _more(site: Furnished) -> None:
    """A draft without facts, and questions of both analysts for the ledger."""
    console = site.console
    where = {"kind": "file", "files": {"visits": "people.parquet"}}
    draft = {"name": "visits", "title": "Visits to doctors", "source": where}
    assert console.api("Stella").post("/api/v1/datasets", json=draft).status_code == 201
    assert console.api("Stella").put("/api/v1/datasets/people/grants/Boris").status_code == 204
    for name, column, rho in (("Boris", "pay", 0.03), ("Anna", "age", 0.04), ("Boris", "age", 0.05)):
        session = open_session(console.store, console.settings, "people", name)
        session.release(session.table.agg(mean=dp.mean(column)), dp.ZCDP(rho))


def take(browser: Any, site: Furnished, name: str) -> None:
    """One picture, with as many colours as it needs and no more."""
    wanted = PICTURES[name]
    context = browser.new_context(
        viewport=wanted.size or DESK,
        color_scheme="dark" if wanted.dark else "light",
        device_scale_factor=2 if wanted.size is PHONE else 1,
    )
    if wanted.person != "nobody":
        token = site.console.tokens[wanted.person]
        assert context.request.post(f"{site.address}/sign-in", form={"token": token}).ok
    page = context.new_page()
    page.goto(site.address + wanted.path.format(**site.answers))
    wanted.before(page)
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    taken = Image.open(io.BytesIO(page.screenshot(full_page=wanted.whole)))
    path = IMAGES / f"console-{name}.png"
    taken.convert("RGB").quantize(96, dither=Image.Dither.NONE).save(path, optimize=True)
    assert path.stat().st_size < MOST, path
    context.close()


def main() -> None:
    """Those that are named, or all."""
    names = sys.argv[1:] or list(PICTURES)
    with tempfile.TemporaryDirectory() as folder, spread(), furnished(Path(folder)) as site:
        _more(site)
        with sync_playwright() as running:
            quiet = ["--no-sandbox", "--disable-gpu"]
            browser = running.chromium.launch(executable_path=found_chromium(), args=quiet)
            for name in names:
                take(browser, site, name)
            browser.close()


if __name__ == "__main__":
    main()
