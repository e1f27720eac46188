"""The steward's pages in a browser: from the registration of a data set to its end, and what anybody may read of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dalenius as dp
from dalenius.web.datasets import open_session
from tests.browser import browser, page  # noqa: F401  # fixtures
from tests.web.console import Console
from tests.web.served import served


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    with Console.made(Path(tmp_path_factory.mktemp("console"))) as made:
        rows = {
            "patient": [7, 7, 8, 9],
            "age": [20, 21, 77, 40],
            "ward": ["north-of-secret", "south", "south", "east"],
        }
        pd.DataFrame(rows).to_parquet(made.data / "stays.parquet")
        yield made


@pytest.fixture(scope="module")
def address(console: Console) -> Iterator[str]:
    with served(console.app) as (host, port):
        yield f"http://{host}:{port}"


def test_a_steward_from_registration_to_the_end(console: Console, address: str, page: Any) -> None:  # noqa: F811
    page.goto(f"{address}/sign-in")
    page.fill("[name=token]", console.tokens["Stella"])
    page.click("main button")
    page.click("text=Data sets")
    page.click("text=Register a data set")
    page.fill("[name=name]", "stays")
    page.fill("[name=title]", "Stays <b>2025</b>")
    page.fill("[name='source.files']", "../stays.parquet")
    page.click("text=Look at its columns")
    assert "is not in a folder" in page.inner_text("main")
    assert page.input_value("[name=title]") == "Stays <b>2025</b>"
    page.fill("[name='source.files']", "stays.parquet")
    page.click("text=Look at its columns")

    assert page.url.endswith("/datasets/stays/edit")
    assert "north-of-secret" not in page.content()
    empty = page.eval_on_selector_all(
        "fieldset.column input, fieldset.column textarea", "all => all.every(each => each.value === '')"
    )
    assert empty
    assert not page.is_visible("[name='unit.max_rows']")
    page.check("#unit-id")
    page.select_option("[name='unit.column']", "patient")
    page.fill("[name='facts.0.1.lower']", "120")
    page.fill("[name='facts.0.1.upper']", "0")
    page.select_option("[name='facts.0.0.nulls']", "never")
    page.select_option("[name='facts.0.1.nulls']", "impute")
    page.select_option("[name='budget.kind']", "zcdp")
    page.click("text=Save")
    told = page.inner_text("main")
    for words in (
        "4 things to put right",
        "write the constant",
        "exchange them",
        "how many rows of one",
        "rho is needed",
    ):
        assert words in told, words
    page.select_option("[name='facts.0.1.nulls']", "drop")
    page.fill("[name='facts.0.1.lower']", "0")
    page.fill("[name='facts.0.1.upper']", "120")
    page.fill("[name='unit.max_rows']", "2")
    page.fill("[name='budget.amount']", "0.5")
    page.fill("[name='ceiling.amount']", "1")
    page.click("text=Save")
    page.click("text=Open the account")
    assert "rho 1" in page.inner_text("main")  # the ceiling is promised from the first day
    page.click("text=Open the account")
    page.select_option("#f-analyst", "Anna")
    page.click("text=Let them ask")
    page.click("text=Publish it")

    page.click(".tabs >> text=Ledger")
    assert "account opened" in page.inner_text("#now")
    page.evaluate("document.getElementById('fresh').dataset.mark = 'same page'")
    session = open_session(console.store, console.settings, "stays", "Anna")
    session.release(session.table.agg(n=dp.count()), dp.ZCDP(0.45))
    page.evaluate(
        "document.dispatchEvent(new Event('visibilitychange'))"
    )  # it would look by itself in 5 seconds
    page.wait_for_selector("#now >> text=rho 0.45")
    assert page.get_attribute("#fresh", "data-mark") == "same page"
    assert "At least 80 % of the open budget is spent" in page.inner_text("#now")
    assert page.locator("#now svg.wide path.line").count() == 1

    page.click(".tabs >> text=Budget")
    page.fill("#raise-amount", "2")
    page.click("button:text('Raise')")
    assert "may be raised to" in page.inner_text("[role=alert] >> text=above")
    page.fill("#raise-amount", "0.75")
    page.fill("#note-raise", "one more survey")
    page.click("button:text('Raise')")
    assert "rho 0.3" in page.inner_text(".cards")
    page.fill("#close-confirm", "stay")
    page.click("button:text('Close for ever')")
    assert "write its name" in page.inner_text("main")
    page.fill("#close-confirm", "stays")
    page.click("button:text('Close for ever')")
    assert "The account is closed, for ever" in page.inner_text("main")

    page.click("nav >> text=Ledger >> nth=0")
    page.click("text=Verify now")
    assert "Sound when Stella verified it" in page.inner_text("main")
    page.goto(f"{address}/datasets/stays/statement")
    assert "one more survey" in page.inner_text("main")
    assert (
        page.evaluate("getComputedStyle(document.querySelector('.card')).borderRadius") != "0px"
    )  # its own style
    quiet = [said for said in page.problems if "422" not in said and "[DOM]" not in said]
    assert quiet == []
    assert all(each.startswith((address, "data:")) for each in page.fetched)


def test_anybody_reads_what_is_promised(address: str, page: Any) -> None:  # noqa: F811
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{address}/promise")
    page.click("text=Stays <b>2025</b>")
    told = page.inner_text("main")
    for words in ("What does this promise me?", "at most 2 rows of each", "is right half the time", "rho 1"):
        assert words in told, words
    assert "north-of-secret" not in page.content()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.problems == []
