"""The documentation as a reader meets it: built strictly, complete, opened page by page in Chromium."""

from __future__ import annotations

import os
import subprocess
import sys
import zlib
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from inspect import isclass, isfunction
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import nbformat
import pytest

import dalenius as dp
from tests.browser import browser  # noqa: F401
from tests.test_snippets import blocks

ROOT = Path(__file__).resolve().parents[2]
ROOMS = [
    "losses",
    "mechanisms",
    "queries",
    "learn",
    "infer",
    "local",
    "adaptive",
    "audit",
    "audit.attacks",
    "noise",
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, as `make docs` builds it."""
    built = tmp_path_factory.mktemp("docs") / "site"
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(built)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return built


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


class Links(HTMLParser):
    """What a page links to or loads, and the places in it that can be linked to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.anchors: set[str] = {""}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value is not None:
                self.targets.append(value)
            if name in ("id", "name") and value:
                self.anchors.add(value)


def pages(site: Path) -> list[Path]:
    return sorted(site.rglob("*.html"))


def where(site: Path, page: Path) -> str:
    """The path of a page in the address bar."""
    return page.relative_to(site).as_posix().removesuffix("index.html")


def test_no_link_leads_nowhere(site: Path) -> None:
    read = {where(site, page): Links(page.read_text()) for page in pages(site)}
    assert len(read) > 50
    missing = []
    for name, links in read.items():
        if name == "404.html":  # its links are absolute, for wherever it is shown
            continue
        for target in links.targets:
            if urlsplit(target).scheme in ("http", "https", "mailto", "data"):
                continue
            path, anchor = urldefrag(urljoin("/" + name, target))
            path, anchor = unquote(path).lstrip("/"), unquote(anchor)
            if path in read:
                if anchor not in read[path].anchors and not anchor.startswith("__"):
                    missing.append(f"{name}: {target}")
            elif not (site / path).is_file():
                missing.append(f"{name}: {target}")
    assert not missing


def test_reference_names_everything_public(site: Path) -> None:
    inventory = (site / "objects.inv").read_bytes().split(b"\n", 4)[4]
    known = {line.split(" ")[0] for line in zlib.decompress(inventory).decode().splitlines()}
    missing = [spelled for spelled, path in public() if path not in known]
    assert not missing


def test_tutorials_are_notebooks_too(site: Path) -> None:
    """Valid ones, that hold every line of Python of the page and nothing that a page alone can show."""
    tutorials = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
    assert len(tutorials) >= 5
    for page in tutorials:
        book = nbformat.read(site / "tutorials" / f"{page.stem}.ipynb", as_version=4)
        nbformat.validate(book)
        cells = [cell.source for cell in book.cells if cell.cell_type == "code"]
        python = [block.text.rstrip() for block in blocks(page) if block.language == "python"]
        assert [cell for cell in cells if not cell.startswith("!")] == python
        assert "```python" not in "".join(cell.source for cell in book.cells)


def public() -> Iterator[tuple[str, str]]:
    """Every function and class that a user may name, and where it is defined."""
    for room in ["", *ROOMS]:
        module = import_module(f"dalenius.{room}".rstrip("."))
        for name in module.__all__:
            value = getattr(module, name)
            if isclass(value) or isfunction(value):
                yield f"{module.__name__}.{name}", f"{value.__module__}.{value.__qualname__}"


def test_readme_and_first_page_lead_to_every_page() -> None:
    docs = ROOT / "docs"
    folders = ("*.md", "tutorials/*.md", "how-to/*.md")
    found = {page.relative_to(docs).as_posix() for folder in folders for page in docs.glob(folder)}
    found -= {"index.md", "mechanisms-on-a-grid.md", "references.md"}
    for text, folder in ((ROOT / "README.md", "docs/"), (docs / "index.md", "")):
        said = text.read_text()
        assert [page for page in found if f"({folder}{page})" not in said] == [], text


def test_public_is_not_empty() -> None:
    assert len(list(public())) > 250
    assert ("dalenius.Session", f"{dp.Session.__module__}.Session") in set(public())


def test_every_page_opens_without_an_error(site: Path, address: str, browser: Any) -> None:  # noqa: F811
    """Also in the dark on a phone: no script fails, nothing is fetched from elsewhere, nothing runs off the side."""
    problems: list[str] = []

    def note(what: object) -> None:
        problems.append(f"{phone.url}: {what}")

    def elsewhere(url: str) -> bool:
        return not url.startswith((address, "data:", "blob:"))

    phone = browser.new_page(viewport={"width": 390, "height": 844}, color_scheme="dark")
    # Every page would read the whole site into its search; that it works is a test of its own.
    phone.route("**/workers/search*.js", lambda route: route.fulfill(body="", content_type="text/javascript"))
    phone.on("pageerror", note)
    phone.on("console", lambda said: note(said.text) if said.type == "error" else None)
    phone.on("request", lambda asked: note(asked.url) if elsewhere(asked.url) else None)
    phone.on("response", lambda reply: note(f"{reply.status} {reply.url}") if reply.status >= 400 else None)
    for page in pages(site):
        phone.goto(address + where(site, page))
        if page.name != "404.html":
            assert phone.locator("h1").count() == 1, page
        wide = phone.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        if wide > 0:
            problems.append(f"{phone.url} is {wide} pixels too wide")
    phone.close()
    assert not problems


def test_search_finds_the_session(address: str, browser: Any) -> None:  # noqa: F811
    page = browser.new_page()
    page.goto(address)
    page.fill("input.md-search__input", "zcdp")
    page.wait_for_selector(".md-search-result__link", timeout=20_000)
    assert page.locator(".md-search-result__link").count() > 3
    page.close()
