"""The analyst's pages without a browser: all models, a long history, and data sets of which nothing is left."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.session.record.estimators import KNOWN
from dalenius.session.travel.requests import read_request
from dalenius.tables.facts.schema import Column
from dalenius.web.analyst import models
from dalenius.web.datasets import open_session
from dalenius.web.store import releases
from tests.web.console import Console, csrf


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    with Console.made(Path(tmp_path_factory.mktemp("pages"))) as made:
        n = np.arange(400)
        pd.DataFrame({"age": 18 + n % 72, "pay": n % 100, "work": n % 3}).to_parquet(
            made.data / "people.parquet"
        )
        for name, copy in (("people", "people"), ("closed", "other"), ("spent", "third")):
            if copy != "people":
                pd.DataFrame({"age": [30, 40]}).to_parquet(made.data / f"{copy}.parquet")
            facts: dict[str, Any] = {"age": {"bounds": [18, 90], "nulls": "drop"}}
            if name == "people":
                facts |= {
                    "pay": {"bounds": [0, 100], "nulls": "drop"},
                    "work": {"bounds": [0, 2], "nulls": "drop"},
                }
            opened(made, name, copy, facts)
        yield made


def opened(made: Console, name: str, file: str, facts: dict[str, Any]) -> None:
    stella = made.api("Stella")
    told = stella.post(
        "/api/v1/datasets",
        json={
            "name": name,
            "title": name.title(),
            "source": {"kind": "file", "files": {"t": f"{file}.parquet"}},
            "facts": {"t": facts},
            "unit": {"kind": "row"},
            "budget": {"kind": "zcdp", "rho": "5.0"},
        },
    )
    assert told.status_code == 201, told.text
    assert stella.post(f"/api/v1/datasets/{name}/open").status_code == 200
    assert stella.put(f"/api/v1/datasets/{name}/grants/Anna").status_code == 204


SETTINGS = {
    "poisson_regression": "most = 2",
    "multinomial_regression": "classes = [0, 1, 2]",
    "goodness_of_fit_test": "levels = [0, 1, 2]",
    "independence_test": "x_levels = [0, 1, 2]; y_levels = [7, 8]",
    "anova": "levels = [0, 1, 2]; bounds = [0, 100]",
    "kruskal_wallis_test": "levels = [0, 1, 2]",
    "quantiles": "levels = [0.25, 0.75]",
    "contingency": "x_levels = [0, 1, 2]; y_levels = [7, 8]",
    "mann_whitney_test": "alternative = greater",
    "huber_location": "c = 15; size = 100000",
    "fit multinomial_regression": "classes = [0, 1, 2]",
    "fit one_vs_rest": "classes = [0, 1, 2]",
    "fit poisson_regression": "most = 2",
}
OF = {
    "goodness_of_fit_test": ("work", ""),
    "independence_test": ("work", "pay"),
    "contingency": ("work", "pay"),
    "anova": ("work", "pay"),
    "kruskal_wallis_test": ("work", "pay"),
    "mann_whitney_test": ("age >= 40", "pay"),
    "two_sample_kolmogorov_smirnov_test": ("age >= 40", "pay"),
    "poisson_regression": ("age", "work"),
    "multinomial_regression": ("age", "work"),
    "fit multinomial_regression": ("age", "work"),
    "fit one_vs_rest": ("age", "work"),
    "fit poisson_regression": ("age", "work"),
    "difference": ("age >= 40", "pay"),
    "two means": ("age >= 40", "pay"),
    "proportion": ("age >= 40", ""),
    "share test": ("age >= 40", ""),
    "logistic": ("age", "pay >= 50"),
}


def test_every_estimator_and_model_of_a_session_is_in_the_form_and_has_a_price(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = models.whats()
    names = {each.name for each in found.values() if not each.fit}
    assert names == {name for tag, (name, _) in KNOWN.items() if tag not in models.NOT_IN_A_FORM}
    assert len(found) >= 38
    browser = console.browser("Anna")
    page = browser.get("/datasets/people/ask/model").text
    assert page.count("<option value=") >= len(found)
    session = open_session(console.store, console.settings, "people", "Anna")
    unpriced = []
    for word, what in found.items():
        classifies = what.fit and ("logistic" in word or "svc" in word)
        alone = what.group != models.MODELS and what.features != models.COLUMNS
        features, target = OF.get(word, ("pay" if alone else "age", "" if alone else "pay"))
        target = "pay >= 50" if classifies else target
        if word == "correlation":
            target = "age"
        given = {"what": word, "table": "", "features": features, "target": target, "where": ""}
        given |= {"value": "0.5" if what.value else "", "settings": SETTINGS.get(word, "")}
        try:
            content = models.request(session, given, dp.ZCDP(0.05))
        except InvalidParameter as refused:
            unpriced.append((word, str(refused)))
            continue
        told = console.api("Anna").post("/api/v1/datasets/people/price", json=content)
        if told.status_code != 200:
            unpriced.append((word, told.json()["detail"]))
    # Models that keep ApproxDP alone cannot be paid for in rho: the list has them greyed, and the form says what to do.
    alone = {word for word, what in found.items() if not what.is_paid_by(dp.ZCDP(5.0))}
    assert {word for word, said in unpriced if "a data set with an ApproxDP budget" in said} == alone
    assert len(unpriced) == len(alone) == 5, unpriced
    assert page.count("needs an ApproxDP budget") == len(alone)
    for word in alone:  # and there they have a price; else they have none, which is why they are greyed
        frame = pd.DataFrame({"age": [20.0, 30.0] * 50, "pay": [1.0, 2.0] * 50})
        facts = dp.Schema({name: Column(bounds=(0, 100), nulls="never") for name in frame})
        for budget in (dp.ApproxDP(2.0, 1e-5), dp.ZCDP(1.0), dp.GDP(1.0), dp.PureDP(1.0)):
            own = dp.Session(frame, unit=dp.Unit.rows(), budget=budget, schema=facts)
            given = {"what": word, "table": "", "features": "age", "where": "", "value": ""}
            given["settings"] = SETTINGS.get(word, "")
            given["target"] = "pay >= 2" if "logistic" in word else "pay" if found[word].fit else ""
            paid = isinstance(budget, dp.ApproxDP)
            refusing: Any = nullcontext() if paid else pytest.raises(InvalidParameter)
            with refusing:
                monkeypatch.setattr(models, "APPROXIMATE", frozenset())
                content = models.request(own, given, own.remaining)
                assert read_request(content, own).price(own).affordable
    for wrong, words in (("power = 9", "no setting 'power'"), ("levels = 5", "levels is")):
        given = {"what": "anova", "table": "", "features": "work", "target": "pay", "where": "", "value": ""}
        with pytest.raises(InvalidParameter, match=words):
            models.request(session, {**given, "settings": wrong}, dp.ZCDP(0.1))


def test_an_old_answer_is_found_and_the_history_has_pages(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    anna, where = console.api("Anna"), "/api/v1/datasets/people/releases"
    question = {"question": {"sql": "SELECT COUNT(*) AS n FROM t"}, "budget": {"kind": "zcdp", "rho": "0.01"}}
    first = anna.post(where, json=question).json()
    assert anna.get(f"/api/v1/jobs/{first['job']}", params={"wait": 30}).json()["state"] == "done"
    with console.store.writing() as connection:
        row = releases.get(connection, console.people["Anna"].id, "people", first["release"])
        assert row is not None
        values = [
            {**vars(row), "id": f"made{n}", "key": f"k{n}", "job": None, "asked": f"2099-01-01T00:00:{n:05d}"}
            for n in range(1100)
        ]
        connection.execute(releases.RELEASES.insert(), values)
    try:
        looked: list[str] = []
        jobs = console.app.state.jobs
        look = jobs.look
        monkeypatch.setattr(jobs, "look", lambda job, person: (looked.append(job), look(job, person))[1])
        browser = console.browser("Anna")
        page = browser.get(f"/datasets/people/answers/{first['release']}")
        assert page.status_code == 200
        assert "ZCDP(rho=0.01)" in page.text
        assert len(looked) <= 2
        one, two, last = (browser.get(f"/datasets/people/answers?page={n}").text for n in (1, 2, 23))
        assert (one.count('class="when"'), two.count('class="when"'), last.count('class="when"')) == (
            50,
            50,
            1,
        )
        assert "?page=2" in one
        assert "Newer" not in one
        assert "?page=1" in two
        assert first["release"] in last
        assert "Older" not in last
        assert not set(re.findall(r"made\d+", one)) & set(re.findall(r"made\d+", two))
        assert [each["id"] for each in anna.get(where, params={"most": 1, "skip": 1}).json()] == ["made1098"]
        assert browser.get("/datasets/people/answers/nothing").status_code == 404
        asked = {"csrf": csrf(browser)}
        assert browser.post("/datasets/people/answers/nothing/cancel", data=asked).status_code == 404
    finally:
        with console.store.writing() as connection:
            connection.execute(releases.RELEASES.delete().where(releases.RELEASES.c.id.startswith("made")))


def test_nothing_can_be_paid_where_nothing_is_left(console: Console) -> None:
    stella, anna, browser = console.api("Stella"), console.api("Anna"), console.browser("Anna")
    whole = {"question": {"sql": "SELECT COUNT(*) AS n FROM t"}, "budget": {"kind": "zcdp", "rho": "5.0"}}
    told = anna.post("/api/v1/datasets/spent/releases", json=whole).json()
    assert anna.get(f"/api/v1/jobs/{told['job']}", params={"wait": 30}).json()["state"] == "done"
    closed = stella.post("/api/v1/datasets/closed/close", json={"confirm": "closed"})
    assert closed.status_code in (200, 204), closed.text
    for name, words in (("spent", "Nothing is left to ask with"), ("closed", "was closed by its steward")):
        for path in ("ask", "ask/model"):
            page = browser.get(f"/datasets/{name}/{path}").text
            assert words in page
            assert re.search(r'id="pay" disabled', page)
            assert "NaN" not in page
    assert 'id="nothing"' not in browser.get("/datasets/people/ask").text
