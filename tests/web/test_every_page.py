"""Every page, for everyone who may come, on a phone and on a desk, by day and by night: it can be read and used.

The routes are read from the app: a new page fails here until it is listed, with who may see it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser import browser as browser
from tests.browser import playwright
from tests.web.furnished import Furnished, furnished

expect = playwright.expect
pytestmark = pytest.mark.slow
HERE = Path(__file__).parent
ACCESSIBLE, FOCUS = (HERE / "accessible.js").read_text(), (HERE / "focus.js").read_text()

EVERYONE = ("nobody", "Anna", "Boris", "Stella")
"""Boris is an analyst to whom nothing was granted."""
SIZES = {"phone": {"width": 360, "height": 740}, "desk": {"width": 1280, "height": 800}}

ANYONE = dict.fromkeys(EVERYONE, 200)
SIGNED_IN = ANYONE | {"nobody": 303}
GRANTED = SIGNED_IN | {"Boris": 404}
ANALYST = {"nobody": 303, "Anna": 200, "Boris": 404, "Stella": 403}
STEWARD = {"nobody": 303, "Anna": 403, "Boris": 403, "Stella": 200}

PAGES: dict[str, tuple[dict[str, int], tuple[str, ...]]] = {
    "/": (ANYONE, ("/",)),
    "/sign-in": (ANYONE, ("/sign-in",)),
    "/plan": (ANYONE, ("/plan?kind=answers", "/plan?kind=training&steps=100")),
    "/reports": (ANYONE, ("/reports",)),
    "/reports/{name}": (ANYONE, ("/reports/pay",)),
    "/promise": (ANYONE, ("/promise",)),
    "/promise/{name}": (ANYONE, ("/promise/people",)),
    "/me": (SIGNED_IN, ("/me",)),
    "/datasets": (SIGNED_IN, ("/datasets",)),
    "/datasets/{name}": (GRANTED, ("/datasets/people", "/datasets/pilot")),
    "/datasets/{dataset}/ask": (ANALYST, ("/datasets/people/ask",)),
    "/datasets/{dataset}/ask/model": (ANALYST, ("/datasets/people/ask/model",)),
    "/datasets/{dataset}/answers": (ANALYST, ("/datasets/people/answers",)),
    "/datasets/{dataset}/answers/{id}": (
        ANALYST,
        tuple(
            f"/datasets/people/answers/{{{name}}}"
            for name in ("groups", "count", "model", "running", "cancelled")
        ),
    ),
    "/people": (STEWARD, ("/people",)),
    "/audit": (STEWARD, ("/audit", "/audit?before=1")),
    "/datasets/new": (
        STEWARD,
        tuple(f"/datasets/new?kind={kind}" for kind in ("file", "database%20file", "postgres", "spark")),
    ),
    "/datasets/{name}/edit": (STEWARD, ("/datasets/people/edit", "/datasets/stays/edit")),
    "/datasets/{name}/open": (STEWARD, ("/datasets/stays/open",)),
    "/datasets/{name}/budget": (STEWARD, ("/datasets/people/budget", "/datasets/pilot/budget")),
    "/datasets/{name}/ledger": (STEWARD, ("/datasets/people/ledger",)),
    "/datasets/{name}/statement": (STEWARD, ("/datasets/people/statement",)),
    "/ledger": (STEWARD, ("/ledger",)),
}
"""By route: the status for each person, and the addresses that are looked at; answers by what they show."""

NO_PAGES = {
    "/healthz", "/readyz", "/metrics", "/report.js", "/ledger/export",
    "/datasets/{name}/ledger.csv", "/datasets/{name}/ledger/now",
}  # fmt: skip
"""Files, numbers for programs, and the part of a page that its script asks for."""

ALONE = ("/datasets/people/statement",)
"""To be saved and sent: a page without the bar at the top."""

SEEN = {
    person: [path for statuses, paths in PAGES.values() for path in paths if statuses[person] == 200]
    for person in ("nobody", "Anna", "Stella")
} | {"Boris": ["/datasets"]}
"""What is looked at as each; Boris sees what Anna sees, and an empty list."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Furnished]:
    with furnished(tmp_path_factory.mktemp("every-page")) as made:
        yield made


@pytest.fixture(scope="module")
def windows(site: Furnished, browser: Any) -> Iterator[dict[str, Any]]:
    """A window for each person, signed in; `problems` keeps what the browser complains about."""
    opened = {}
    for name in EVERYONE:
        context = browser.new_context(viewport=SIZES["desk"])
        if name != "nobody":
            went = context.request.post(f"{site.address}/sign-in", form={"token": site.console.tokens[name]})
            assert went.ok
        page = opened[name] = context.new_page()
        page.problems = []
        page.on("pageerror", lambda error, page=page: page.problems.append(str(error)))
        page.on(
            "console",
            lambda said, page=page: (
                page.problems.append(said.text) if said.type in ("error", "warning") else None
            ),
        )
    yield opened
    for page in opened.values():
        page.context.close()


def _at(site: Furnished, path: str) -> str:
    return site.address + re.sub(r"\{(\w+)\}", lambda found: site.answers[found[1]], path)


def _found(page: Any, path: str = "") -> list[str]:
    """What is wrong with the page as it is shown: at both sizes, by day and by night, and by the keyboard."""
    wrong = []
    for size, viewport in SIZES.items():
        page.set_viewport_size(viewport)
        for colours in ("light", "dark"):
            page.emulate_media(color_scheme=colours)
            told = page.evaluate(ACCESSIBLE, {"alone": path in ALONE})
            wrong += [f"{size}, {colours}: {each}" for each in told]
    page.emulate_media(color_scheme="light")
    return wrong


def _by_keyboard(page: Any) -> list[str]:
    """What Tab does not reach, and where the focus is not seen."""
    most = page.evaluate(FOCUS)
    for _ in range(most + 2):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break
    return list(page.evaluate("window.unreached()"))


def test_every_page_is_listed(site: Furnished) -> None:
    routes = {route.path for route in site.console.app.state.routes if "GET" in route.methods}
    pages = {path for path in routes if not path.startswith("/api/")}
    assert pages == PAGES.keys() | NO_PAGES
    assert not PAGES.keys() & NO_PAGES


def test_who_sees_which(site: Furnished, windows: dict[str, Any]) -> None:
    """Others are sent to the sign-in, or told on a page what they may not do."""
    for statuses, paths in PAGES.values():
        for path in paths:
            for name, status in statuses.items():
                answer = windows[name].context.request.get(
                    _at(site, path), max_redirects=0, headers={"Accept": "text/html"}
                )
                assert answer.status == status, (name, path)
                assert status == 303 or answer.headers["content-type"].startswith("text/html"), path
                if status == 303 and name == "nobody":
                    assert answer.headers["location"].startswith("/sign-in?next=")


@pytest.mark.parametrize("person", EVERYONE)
def test_every_page_can_be_read_and_used(site: Furnished, windows: dict[str, Any], person: str) -> None:
    page, wrong = windows[person], []
    for path in SEEN[person]:
        answer = page.goto(_at(site, path))
        assert answer.status == 200
        found = _found(page, path) + _by_keyboard(page)
        wrong += [f"{path}: {each}" for each in [*found, *page.problems]]
        page.problems.clear()
    assert not wrong, "\n".join(wrong)


PLANTED = {
    "no language": "document.documentElement.removeAttribute('lang')",
    "2 of h1, not one": "document.querySelector('main').insertAdjacentHTML('beforeend', '<h1>Again</h1>')",
    "after a heading of level 2": "document.querySelector('main').insertAdjacentHTML('beforeend', '<h4>Deep</h4>')",
    "does not skip": "document.querySelector('.skip').remove()",
    "has no name": "document.querySelector('label[for=f-label]').remove()",
    "which is not there": "document.querySelector('#f-days').setAttribute('aria-describedby', 'gone')",
    "wide in a window of 360": "document.querySelector('h1').style.cssText = 'width: 500px'",
    "contrast of 3.": "document.querySelector('main').style.color = '#888'",
    "what is typed": "document.querySelector('#f-days').style.color = '#999'",
    "is not reached": "document.querySelector('main button').inert = true",
    "a place of its own": "document.querySelector('#f-days').tabIndex = 1",
    "is not seen": "document.querySelector('#f-days').style.outline = 'none'",
}
"""What is done to a page that is well, and what must then be told of it."""


@pytest.mark.parametrize("told", PLANTED)
def test_a_page_that_cannot_be_used_is_noticed(site: Furnished, windows: dict[str, Any], told: str) -> None:
    page = windows["Anna"]
    page.goto(f"{site.address}/me")
    page.evaluate(PLANTED[told])
    found = _by_keyboard(page) if told in ("is not reached", "is not seen") else _found(page)
    assert any(told in each for each in found), found


def test_pages_that_refuse_can_be_read_too(site: Furnished, windows: dict[str, Any]) -> None:
    """What may not be seen, what is not there, and forms with something to put right."""
    wrong = []

    def looked(page: Any, what: str) -> None:
        refused = [each for each in page.problems if "the server responded with a status of 4" not in each]
        wrong.extend(f"{what}: {each}" for each in [*_found(page), *_by_keyboard(page), *refused])
        page.problems.clear()
        page.set_viewport_size(SIZES["desk"])

    for person, path, status in (
        ("nobody", "/plan?kind=answers&error=x", 422), ("nobody", "/promise/nothing", 404),
        ("Anna", "/people", 403), ("Stella", "/nothing", 404),
    ):  # fmt: skip
        assert windows[person].goto(site.address + path).status == status
        looked(windows[person], path)
    nobody, anna, stella = (windows[name] for name in ("nobody", "Anna", "Stella"))
    nobody.goto(f"{site.address}/sign-in")
    nobody.fill("[name=token]", "dalenius_wrong")
    nobody.keyboard.press("Enter")
    expect(nobody.get_by_role("alert")).to_contain_text("not a token that works")
    looked(nobody, "a wrong token")
    anna.goto(f"{site.address}/datasets/people/ask/model")
    anna.fill("#f-features", "age")
    expect(anna.locator("#problem")).to_contain_text("needs a column as its target")
    looked(anna, "a model without a target")
    stella.goto(f"{site.address}/datasets/stays/edit")
    stella.fill("[name='facts.0.1.lower']", "9")
    stella.fill("[name='facts.0.1.upper']", "1")
    stella.fill("[name='budget.amount']", "-1")
    stella.click("text=Save")
    assert "exchange them" in stella.inner_text("main")
    looked(stella, "facts with a fault")
    stella.goto(f"{site.address}/datasets/people/budget")
    stella.fill("#raise-amount", "7")
    stella.click("button:text('Raise')")
    assert "may be raised to" in stella.inner_text("main")
    looked(stella, "a budget raised too far")
    assert not wrong, "\n".join(wrong)


def test_by_the_keyboard_alone_from_the_sign_in_to_an_answer(site: Furnished, browser: Any) -> None:
    page = browser.new_page(viewport=SIZES["phone"], color_scheme="dark")

    def go_to(words: str, key: str = "Enter") -> None:
        """Tab until the control with this name has the focus, then press a key."""
        for _ in range(60):
            page.keyboard.press("Tab")
            name = page.evaluate(
                "(() => { const at = document.activeElement; return (at.labels?.[0] || at).textContent.trim() })()"
            )
            if name.startswith(words):
                page.keyboard.press(key)
                return
        raise AssertionError(f"the keyboard does not reach {words!r}")

    page.goto(site.address)
    go_to("Sign in")
    page.wait_for_url("**/sign-in")
    page.locator("input:focus").wait_for()  # the page puts the cursor there
    page.keyboard.type(site.console.tokens["Anna"])
    page.keyboard.press("Enter")
    page.wait_for_url(f"{site.address}/")
    go_to("Data sets")
    page.wait_for_url("**/datasets")
    go_to("People of four states")
    page.wait_for_url("**/datasets/people")
    go_to("Ask a question")
    page.wait_for_url("**/ask")
    go_to("Form", "ArrowRight")  # tabs are one stop, and arrows choose
    go_to("Question in SQL", "Control+A")
    page.keyboard.type("SELECT COUNT(*) AS n FROM people WHERE age >= 77")
    page.keyboard.press("Escape")  # the list of completions
    go_to("rho to pay", "Control+A")
    page.keyboard.type("0.03")
    expect(page.locator("#cost")).to_contain_text("0.03")
    go_to("Ask and pay")
    page.wait_for_url("**/answers/*")
    expect(page.locator("td.number").first).to_be_visible(timeout=90_000)
    assert "n" in page.inner_text("th >> nth=0")
    page.close()


def test_a_budget_is_renewed_and_shared_and_a_job_is_left(site: Furnished, windows: dict[str, Any]) -> None:
    stella, anna = windows["Stella"], windows["Anna"]
    stella.goto(f"{site.address}/datasets/people/budget")
    assert "0 of 2 renewals used" in stella.inner_text("main")
    seen = stella.locator("form[action$=renew] [name=seen]")
    old = seen.input_value()
    stella.fill("#note-renew", "a new year")
    stella.click("button:text-is('Renew')")
    assert "1 of 2 renewals used" in stella.inner_text("main")
    seen.evaluate("(field, old) => { field.value = old }", old)  # the same form once more, from an old window
    stella.click("button:text-is('Renew')")
    assert "1 of 2 renewals used" in stella.inner_text("main")
    assert stella.locator(".wrong[role=alert]").count() == 1
    stella.goto(f"{site.address}/datasets/people/budget")
    share = stella.locator("tr", has_text="Anna").locator("td").nth(1)
    had = float(share.inner_text().split()[-1])
    stella.select_option("#share-analyst", "Anna")
    stella.fill("#share-amount", "9")
    stella.click("button:text-is('Grant')")
    assert stella.locator(".wrong[role=alert]").count() == 1
    stella.fill("#share-amount", "0.05")
    stella.click("button:text-is('Grant')")
    assert float(share.inner_text().split()[-1]) == pytest.approx(had + 0.05)
    anna.goto(_at(site, "/datasets/people/answers/{running}"))
    expect(anna.locator("#where")).to_contain_text("It is under way")
    anna.click("text=Stop waiting")
    expect(anna.locator("#where")).to_contain_text("What was charged stays charged")
    assert anna.get_by_role("button", name="Stop waiting").count() == 0


ROLE = {"source.database": "d", "source.user": "u", "source.tables": "survey"}


def test_a_source_of_each_kind(site: Furnished, windows: dict[str, Any]) -> None:
    """DuckDB to the form of its facts; PostgreSQL and Spark to what the settings say about them."""
    page = windows["Stella"]
    for kind, fields, told in (
        ("postgres", dict(ROLE, **{"source.host": "other.example.org"}), "other.example.org"),
        ("spark", {"source.tables": "people ="}, "there is a name, and nothing after it"),
        ("database%20file", {"source.file": "nothing.duckdb", "source.tables": "survey"}, "nothing.duckdb"),
    ):  # fmt: skip
        page.goto(f"{site.address}/datasets/new?kind={kind}")
        page.fill("[name=name]", "survey")
        page.fill("[name=title]", "A survey")
        for name, text in fields.items():
            page.fill(f"[name='{name}']", text)
        page.click("text=Look at its columns")
        assert "/datasets/new" in page.url
        assert told in " ".join(page.locator("[role=alert], .wrong").all_inner_texts()), kind
        assert page.input_value("[name=title]") == "A survey"
    page.fill("[name='source.file']", "survey.duckdb")
    page.click("text=Look at its columns")
    page.wait_for_url("**/datasets/survey/edit")
    assert page.locator("fieldset.column legend b").all_inner_texts() == ["person", "score"]
    page.goto(f"{site.address}/datasets/survey")
    page.click("text=Remove the draft")
    page.wait_for_url("**/datasets")
    assert "A survey" not in page.inner_text("main")
