"""Alerts at percents that the steward sets, what metrics tell of budgets, and reports published by a page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from dalenius.web.datasets import open_session
from tests.adaptive.personal.golden_reports import NAMES, reports
from tests.web.console import Console, csrf


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    with Console.made(Path(tmp_path_factory.mktemp("alerts"))) as made:
        pd.DataFrame({"age": [30, 40]}).to_parquet(made.data / "people.parquet")
        stella = made.api("Stella")
        draft = {
            "name": "people",
            "title": "People",
            "source": {"kind": "file", "files": {"people": "people.parquet"}},
            "facts": {"people": {"age": {"bounds": [0, 120], "nulls": "drop"}}},
            "unit": {"kind": "row"},
            "budget": {"kind": "zcdp", "rho": "1.0"},
        }
        assert stella.post("/api/v1/datasets", json=draft).status_code == 201
        assert stella.post("/api/v1/datasets/people/open").status_code == 200
        assert stella.put("/api/v1/datasets/people/grants/Anna").status_code == 204
        yield made


def told(console: Console) -> list[str]:
    found = console.api("Stella").get("/api/v1/datasets/people").json()["standing"]["alerts"]
    return [each["text"] for each in found]


def gauge(console: Console, name: str = "budget_spent_ratio") -> float:
    text = console.api("Stella").get("/metrics").text
    found = re.search(rf'^dalenius_{name}\{{dataset="people"\}} (\S+)$', text, re.M)
    assert found is not None, text
    return float(found[1])


def test_a_steward_is_told_at_the_percents_they_set(console: Console) -> None:
    stella, anna, where = console.api("Stella"), console.api("Anna"), "/api/v1/datasets/people"
    assert gauge(console) == 0.0
    asked = {
        "question": {"sql": "SELECT COUNT(*) AS n FROM people"},
        "budget": {"kind": "zcdp", "rho": "0.3"},
    }
    job = anna.post(f"{where}/releases", json=asked).json()["job"]
    assert anna.get(f"/api/v1/jobs/{job}", params={"wait": 30}).json()["state"] == "done"
    assert gauge(console) == 0.3
    assert told(console) == []
    assert gauge(console, "alerts") == 0.0
    answer = stella.put(f"{where}/alerts", json={"thresholds": [60, 20, 25, 25]})
    assert answer.json() == {"thresholds": [20, 25, 60]}
    assert told(console) == ["At least 25 % of the open budget is spent."]
    assert gauge(console, "alerts") == 1.0  # so that a monitor tells people by whatever means it has
    assert stella.get(f"{where}/alerts").json() == {"thresholds": [20, 25, 60]}
    browser = console.browser("Stella")
    page = browser.get("/datasets/people/budget").text
    assert "At least 25 % of the open budget is spent." in page
    assert 'value="20, 25, 60"' in page
    sent = {"csrf": csrf(browser), "thresholds": "10 %, 30"}
    assert browser.post("/datasets/people/alerts", data=sent).status_code == 303
    assert told(console) == ["At least 30 % of the open budget is spent."]
    for wrong in ("a lot", "0", "100", "1.5", ", ".join(map(str, range(1, 13)))):
        refused = browser.post("/datasets/people/alerts", data={**sent, "thresholds": wrong})
        assert refused.status_code == 422
        assert "whole percents from 1 to 99" in refused.text
    assert stella.put(f"{where}/alerts", json={"thresholds": [True]}).status_code == 422
    assert browser.post("/datasets/people/alerts", data={**sent, "thresholds": ""}).status_code == 303
    assert told(console) == []
    assert anna.put(f"{where}/alerts", json={"thresholds": []}).status_code == 403
    assert "changed the alerts" in browser.get("/audit").text


def test_the_gauge_moves_with_the_charge_and_not_with_the_answer(console: Console) -> None:
    """What is charged is public by the plan, at the start of the work; nothing moves when it ends."""
    session = open_session(console.store, console.settings, "people", "Anna")
    before, seen = gauge(console), []

    def compute() -> str:
        seen.append(gauge(console))  # charged, and not yet answered
        return "{}"

    session.account.ask('{"a": "question"}', session.account.filter.cost(_loss()), compute)
    assert before < seen[0] == gauge(console)
    for who in ("Anna", "Boris"):
        assert console.api(who).get("/metrics").status_code == 403


def _loss() -> object:
    import dalenius as dp

    return dp.losses.gaussian(sigma=5.0)


def test_a_steward_publishes_a_report_by_a_page(console: Console) -> None:
    written = reports()["logistic"].to_json()
    browser, analyst = console.browser("Stella"), console.browser("Anna")
    assert 'name="report"' in browser.get("/reports").text
    assert 'name="report"' not in analyst.get("/reports").text
    sent = {"csrf": csrf(browser), "name": "pay", "title": "What did <pay> cost me?"}
    file = {"report": ("report.json", written.encode(), "application/json")}
    assert analyst.post("/reports", data={**sent, "csrf": csrf(analyst)}, files=file).status_code == 403
    for name, content, words in (
        ("pay", b"{}", "not"),
        ("pay", b"\xff", "JSON"),
        ("Pay!", written.encode(), "name is"),
        ("pay", b"[" * 100_000, "JSON"),
        ("pay", written.replace(json.dumps(NAMES[2]), '"half \\ud800"').encode(), "half a character"),
    ):
        bad = {"report": ("report.json", content, "application/json")}
        answer = browser.post("/reports", data={**sent, "name": name}, files=bad)
        assert answer.status_code == 422, (name, answer.status_code)
        assert words in answer.text
        assert "What did &lt;pay&gt; cost me?" in answer.text  # what was typed is there again
    assert console.client.get("/api/v1/reports").json() == []
    assert browser.post("/reports", data=sent, files=file).status_code == 303
    assert console.client.get("/api/v1/reports/pay").json()["report"] == json.loads(written)
    assert console.client.get("/reports/pay").status_code == 200
    taken = browser.post("/reports/pay/withdraw", data={"csrf": csrf(browser)})
    assert taken.status_code == 303
    assert console.client.get("/reports/pay").status_code == 404
