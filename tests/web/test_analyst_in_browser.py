"""An analyst asks: by the form, in SQL, with a price before paying; reads, downloads, and asks without a script."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dalenius as dp
from dalenius.tables.ask.query import Query
from dalenius.tables.sql import parse_question
from dalenius.web.datasets import open_session
from tests.browser import browser as browser
from tests.browser import page as page
from tests.browser import playwright
from tests.web.console import Console, csrf
from tests.web.served import served

expect = playwright.expect
STATES = ["CA", "NY", "O'Neil"]


@pytest.fixture(scope="module")
def address(console: Console) -> Iterator[str]:
    rng = np.random.default_rng(0)
    ages, pay = rng.integers(18, 90, 600), rng.integers(0, 100_000, 600)
    rows = {"age": ages, "pay": pay, "state": rng.choice(STATES, 600), "we ird": ages / 2}
    pd.DataFrame(rows).to_parquet(console.data / "people.parquet")
    steward = console.api("Stella")
    facts: dict[str, Any] = {
        "age": {"bounds": [18, 90], "nulls": "drop"},
        "pay": {"bounds": [0, 100_000], "nulls": "drop"},
        "state": {"categories": STATES, "nulls": "drop"},
        "we ird": {"nulls": "drop"},
    }
    made = steward.post(
        "/api/v1/datasets",
        json={
            "name": "people",
            "title": "People <b>of</b> some states",
            "source": {"kind": "file", "files": str(console.data / "people.parquet")},
            "facts": {"people": facts},
            "unit": {"kind": "row"},
            "budget": {"kind": "zcdp", "rho": 1.0},
        },
    )
    assert made.status_code == 201, made.text
    assert steward.post("/api/v1/datasets/people/open", json={}).status_code == 200
    assert steward.put("/api/v1/datasets/people/grants/Anna").status_code == 204
    with served(console.app) as (host, port):
        yield f"http://{host}:{port}"


def python_question(console: Console) -> Query:
    table = open_session(console.store, console.settings, "people", "Anna").table
    older = table.filter("age >= 40").filter("state IN ('CA', 'O''Neil')")
    return older.group_by("state").agg(n=dp.count(), mean_pay=dp.mean("pay", bounds=(0, 50_000)))


FORM = {
    "where": [
        {"column": "age", "compares": ">=", "value": "40"},
        {"column": "state", "compares": "in", "value": "CA, O'Neil"},
    ],
    "by": ["state"],
    "ask": [{"what": "count"}, {"what": "mean", "column": "pay", "low": 0, "high": 50_000}],
}


def test_the_form_makes_the_question_that_python_makes(address: str, console: Console) -> None:
    anna = console.api("Anna")
    told = anna.post("/api/v1/datasets/people/questions", json=FORM).json()
    assert told["question"] == python_question(console).record()
    session = open_session(console.store, console.settings, "people", "Anna")
    in_sql = parse_question(
        "SELECT state, COUNT(*) AS n, AVG(pay, 0, 50000) AS mean_pay FROM people "
        "WHERE age >= 40 AND state IN ('CA', 'O''Neil') GROUP BY state",
        session.table,
    )
    assert isinstance(in_sql, Query)
    assert in_sql.record()["aggregates"] == told["question"]["aggregates"]
    refused = {
        "column": {"ask": [{"what": "mean"}]},
        "what": {"ask": [{"what": "max", "column": "pay"}]},
        "low": {"ask": [{"what": "mean", "column": "pay", "low": 3}]},
        "level": {"ask": [{"what": "quantile", "column": "pay"}]},
        "value": {**FORM, "where": [{"column": "age", "value": "1 OR TRUE"}]},
        "compares": {**FORM, "where": [{"column": "age", "compares": "LIKE", "value": "1"}]},
    }
    for parameter, form in refused.items():
        answer = anna.post("/api/v1/datasets/people/questions", json=form)
        assert (answer.status_code, answer.json().get("parameter")) == (422, parameter), answer.text
    # What is typed is a value, whatever it looks like.
    hostile = {**FORM, "where": [{"column": "state", "value": "x' OR 'a' = 'a"}]}
    steps = anna.post("/api/v1/datasets/people/questions", json=hostile).json()["question"]["table"]["steps"]
    assert steps == [{"kind": "filter", "condition": "\"state\" = 'x'' OR ''a'' = ''a'"}]
    assert console.api("Boris").post("/api/v1/datasets/people/questions", json=FORM).status_code == 404


def sign_in(page: Any, console: Console, address: str) -> None:
    page.goto(f"{address}/sign-in?next=%2Fdatasets%2Fpeople%2Fask")
    page.fill("input[name=token]", console.tokens["Anna"])
    page.click("main button")
    page.goto(f"{address}/datasets/people/ask")


def test_by_the_form_from_price_to_download(address: str, console: Console, page: Any) -> None:
    sign_in(page, console, address)
    assert "<b>of</b>" in page.inner_text("h1")
    expect(page.locator("#cost")).to_contain_text("ZCDP(rho=0.05)")
    page.click("#b-more")
    line = page.locator("#b-ask .line").nth(1)
    line.locator("[data-part=column]").select_option("pay")
    line.locator("[data-part=low]").fill("0")
    line.locator("[data-part=high]").fill("50000")
    for column, compares, value in (("age", ">=", "40"), ("state", "in", "CA, O'Neil")):
        page.click("#b-filter")
        condition = page.locator("#b-where .line").last
        condition.locator("[data-part=column]").select_option(column)
        condition.locator("[data-part=compares]").select_option(compares)
        condition.locator("[data-part=value]").fill(value)
    page.check("#b-by input[value=state]")
    page.fill("#rows", "100")
    expect(page.locator("#said")).to_contain_text("mean_pay = mean(pay)")
    expect(page.locator("#price")).to_contain_text("mean_pay: off by")
    # The slider, by the keyboard: more to pay, less error.
    before = page.inner_text("#price li >> nth=0")
    page.focus("#slider")
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    expect(page.locator("#price li").first).not_to_have_text(before)
    assert float(page.input_value("#amount")) > 0.05
    for wrong, said in (("1e999", "above 0"), ("0,01", "as 0.01")):
        page.fill("#amount", wrong)
        expect(page.locator("#problem")).to_contain_text(said)
    page.fill("#amount", "0.3")
    page.press("#amount", "Enter")  # it shows the price, and never pays
    expect(page.locator("#cost")).to_contain_text("ZCDP(rho=0.3)")
    assert page.url.endswith("/ask")
    page.fill("#error", "x")
    expect(page.locator("#problem")).to_contain_text("The error must be a number")
    page.fill("#error", "20")  # or an accuracy, and what it costs
    page.fill("#rows", "1000000")
    expect(page.locator("#problem")).to_be_hidden()
    page.fill("#error", "")
    page.fill("#amount", "0.2")
    expect(page.locator("#cost")).to_contain_text("ZCDP(rho=0.2)")
    page.click("#pay")
    page.wait_for_url("**/answers/*")
    expect(page.locator("table").first).to_contain_text("O'Neil")
    assert page.locator("figure svg .whisker").count() == 6
    page.set_viewport_size({"width": 390, "height": 800})  # names are whole on a phone, too
    cut = "all => all.filter((each) => each.getBBox().x < 0).map((each) => each.textContent)"
    assert page.eval_on_selector_all("figure svg text.name", cut) == []
    page.set_viewport_size({"width": 1280, "height": 720})
    id = page.url.rsplit("/", 1)[1]
    asked = json.loads(page.locator("details pre").text_content())
    assert asked == python_question(console).record()
    # Again from the history, free; and as files.
    page.goto(f"{address}/datasets/people/answers")
    page.click("table a >> nth=0")
    assert page.url.endswith(id)
    with page.expect_download() as download:
        page.click("text=CSV")
    csv = pd.read_csv(download.value.path())
    anna = console.api("Anna")
    parquet = pd.read_parquet(io.BytesIO(anna.get(f"/api/v1/datasets/people/releases/{id}.parquet").content))
    assert csv["n"].tolist() == parquet["n"].tolist()
    assert "| CA" in anna.get(f"/api/v1/datasets/people/releases/{id}.md").text
    # Two boundaries of a slot apart it is charged once: what is left is what was not paid.
    assert anna.get("/api/v1/datasets/people").json()["left"] == {"kind": "zcdp", "rho": "0.8"}
    assert page.problems == [] or all("Password" in each for each in page.problems)


def test_sql_is_completed_and_a_mistake_is_told(address: str, console: Console, page: Any) -> None:
    sign_in(page, console, address)
    page.click("#by-sql")
    page.fill("#sql", "")
    page.locator("#sql").press_sequentially("SELECT AV")
    expect(page.locator("#completions li")).to_contain_text(["AVG"])
    page.keyboard.press("Enter")
    page.keyboard.type("pa")
    page.keyboard.press("Tab")
    assert page.input_value("#sql") == "SELECT AVG(pay)"
    page.keyboard.press("End")
    page.keyboard.type(" AS m FROM people WHERE we")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Escape")
    expect(page.locator("#completions")).to_be_hidden()
    expect(page.locator("#problem")).to_contain_text("there is no column 'we'")
    page.fill("#sql", "SELECT AVG(pay) AS m FROM people WHERE age > 30")
    page.fill("#rows", "400")
    expect(page.locator("#price")).to_contain_text("m: off by")
    assert [each for each in page.problems if "422" not in each and "Password" not in each] == []


def test_without_a_script(address: str, console: Console, browser: Any) -> None:
    plain = browser.new_context(java_script_enabled=False).new_page()
    sign_in(plain, console, address)
    plain.fill("#sql", "SELECT COUNT(*) AS n FROM people WHERE age < 30")
    plain.fill("#amount", "0.01")
    plain.click("#look")
    assert "n: off by" in plain.inner_text("#price")
    plain.fill("#sql", "SELECT COUNT(*) AS n FROM persons")
    plain.click("#look")
    assert "persons" in plain.inner_text("#problem")
    assert plain.input_value("#sql").endswith("persons")
    plain.fill("#sql", "SELECT COUNT(*) AS n FROM people WHERE age < 30")
    plain.click("#pay")
    plain.wait_for_url("**/answers/*")
    expect(plain.locator("td.number").first).to_be_visible(timeout=90_000)  # the page loads itself again
    plain.context.close()


def test_a_regression_a_test_and_a_model(address: str, console: Console, page: Any) -> None:
    sign_in(page, console, address)
    page.click("text=Models and tests")
    expect(page.locator("#cost")).to_have_count(0)  # nothing is asked yet
    expect(page.locator("#look")).to_be_hidden()
    page.fill("#f-features", "age")
    expect(page.locator("#problem")).to_contain_text("needs a column as its target")
    page.fill("#f-target", "pay")
    page.fill("#amount", "0.05")
    expect(page.locator("#cost")).to_contain_text("ZCDP(rho=0.05), epsilon 1.4")
    expect(page.locator("#price")).to_contain_text("it promises ZCDP(rho=0.05)")
    expect(page.locator("#problem")).to_be_hidden()
    # The slider moves between cost and noise, and the price goes with it; nothing is asked.
    page.locator("#slider").focus()
    before = float(page.input_value("#amount"))
    for _ in range(30):
        page.keyboard.press("ArrowLeft")
    after = float(page.input_value("#amount"))
    assert 0.1 < after / before < 0.15  # 30 of 100 steps of a thousand to one
    expect(page.locator("#cost")).to_contain_text(f"ZCDP(rho={after:g})")
    told = re.search(r"about ([\d.]+) times the noise", page.inner_text("#price"))
    assert told is not None
    left = float(console.api("Anna").get("/api/v1/datasets/people/standing").json()["left"]["amount"])
    assert float(told[1]) == pytest.approx((0.05 * left / after) ** 0.5, rel=0.02)
    page.locator("#f-features").press("Enter")
    page.wait_for_timeout(300)
    assert page.url.endswith("/ask/model")
    assert page.locator("option", has_text="needs an ApproxDP budget").count() == 5
    for what, features, target, value, told in (
        ("linear", "age", "pay", "", "coef"),
        ("share test", "pay > 50000", "", "0.5", "binomial test"),
        ("fit logistic", "age", "pay > 50000", "", "LogisticRegression"),
    ):
        page.goto(f"{address}/datasets/people/ask/model")
        page.select_option("#what", what)
        for name, text in (("features", features), ("target", target), ("value", value)):
            page.fill(f"#f-{name}", text)
        page.fill("#amount", "0.05")
        page.click("#pay")
        page.wait_for_url("**/answers/*")
        expect(page.locator("pre").first).to_contain_text(told, timeout=90_000)
    assert [each for each in page.problems if "422" not in each and "Password" not in each] == []


def test_the_models_page_works_without_a_script(address: str, console: Console) -> None:
    client = console.browser("Anna")
    word = csrf(client, "/me")
    form = {"what": "mean", "features": "age", "amount": "0.01", "act": "price", "csrf": word}
    text = client.post("/datasets/people/ask/model", data=form).text
    assert "ZCDP(rho=0.01), epsilon" in text
    assert "it promises ZCDP(rho=0.01)" in text
    never = {**form, "what": "fit posterior_sample_regression", "target": "pay"}
    refused = client.post("/datasets/people/ask/model", data=never)
    assert refused.status_code == 422
    assert "ask the steward for a data set with an ApproxDP budget" in refused.text


def test_a_job_can_be_left_and_nothing_is_refunded(address: str, console: Console) -> None:
    anna = console.api("Anna")
    question = {
        "question": {"sql": "SELECT COUNT(*) AS n FROM people WHERE age = 77"},
        "budget": {"kind": "zcdp", "rho": "0.01"},
    }
    told = anna.post("/api/v1/datasets/people/releases", json=question).json()
    client = console.browser("Anna")
    where = f"/datasets/people/answers/{told['release']}"
    word = csrf(client, "/me")
    assert client.post(f"{where}/cancel", data={"csrf": word}).status_code == 303
    text = client.get(where).text
    assert "Cancelled" in text
    assert "What was charged stays charged" in text
    assert console.browser("Boris").get(where).status_code == 404


def test_where_nothing_is_left_nothing_is_paid(address: str, console: Console, page: Any) -> None:
    pd.DataFrame({"age": [30, 40]}).to_parquet(console.data / "gone.parquet")
    steward, anna = console.api("Stella"), console.api("Anna")
    gone = {
        "name": "gone",
        "title": "Gone",
        "source": {"kind": "file", "files": str(console.data / "gone.parquet")},
        "unit": {"kind": "row"},
        "budget": {"kind": "zcdp", "rho": 1.0},
    }
    assert steward.post("/api/v1/datasets", json=gone).status_code == 201
    assert steward.post("/api/v1/datasets/gone/open", json={}).status_code == 200
    assert steward.put("/api/v1/datasets/gone/grants/Anna").status_code == 204
    asked = {"question": {"sql": "SELECT COUNT(*) AS n FROM gone"}, "budget": {"kind": "zcdp", "rho": "1.0"}}
    job = anna.post("/api/v1/datasets/gone/releases", json=asked).json()["job"]
    assert anna.get(f"/api/v1/jobs/{job}", params={"wait": 30}).json()["state"] == "done"
    page.goto(f"{address}/sign-in")
    page.get_by_label("Your token").fill(console.tokens["Anna"])
    page.keyboard.press("Enter")
    page.wait_for_url(f"{address}/")
    page.goto(f"{address}/datasets/gone/ask")
    expect(page.locator("#nothing")).to_contain_text("Nothing is left to ask with")
    page.wait_for_timeout(300)
    expect(page.locator("#pay")).to_be_disabled()
    expect(page.locator("#problem")).to_be_hidden()
    expect(page.locator("#slider")).to_be_hidden()
    assert page.input_value("#amount") == ""
    page.fill("#amount", "0.5")
    page.wait_for_timeout(300)
    expect(page.locator("#pay")).to_be_disabled()
    assert "NaN" not in page.content()
    page.click("#by-sql")
    page.fill("#sql", "SELECT COUNT(*) AS n FROM gone")
    page.fill("#amount", "1.0")
    expect(page.locator("#cost")).to_have_text("Free: it is on record.")
    expect(page.locator("#pay")).to_be_enabled()
