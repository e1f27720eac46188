"""`dp.connect` gives the session: every public name works from afar or says the way; and files of every outcome."""

from __future__ import annotations

import io
import json
from typing import Any

import pandas as pd
import pytest

import dalenius as dp
from dalenius.errors import BudgetExceeded, ConsoleError, DaleniusError, InvalidParameter, QueryRefused
from dalenius.session.account import Account
from dalenius.session.ledger import Ledger
from dalenius.session.session import Session
from dalenius.web.asking.tabled import tabled
from tests.web.console import Console
from tests.web.test_asking import address as address
from tests.web.test_asking import console as console
from tests.web.test_asking import near
from tests.web.test_asking import s as s

COLUMNS = {"age": dp.queries.Bins(18, 90, 4), "town": ["a", "b"], "pay": (0.0, 100.0)}


def test_a_model_is_evaluated_and_data_are_synthesized_from_afar(console: Console, s: Any) -> None:
    here = near(console)
    fitted = s.fit(dp.learn.LogisticRegression(dp.GDP(0.2)), {"age": None, "town": None}, "pay >= 50")
    given: dict[str, Any] = {"budget": dp.GDP(0.2), "bins": 4}
    far = s.evaluate(fitted, ["age", "town"], "pay >= 50", **given, table=s.table.filter("age > 20"))
    left = s.remaining
    own = here.evaluate(fitted, ["age", "town"], "pay >= 50", **given, table=here.table.filter("age > 20"))
    assert far.summary() == own.summary()
    assert (far.counts == own.counts).all()
    assert s.remaining == left == here.remaining  # the second was on record
    assert s.evaluate(dp.learn.from_json(dp.learn.to_json(fitted)), ["age", "town"], "pay >= 50").counts.any()

    near_enough = dp.within(0.2, rows=200)
    far = s.evaluate(fitted, ["age", "town"], "pay >= 50", accuracy=near_enough)
    left = s.remaining
    own = here.evaluate(fitted, ["age", "town"], "pay >= 50", accuracy=near_enough)
    assert (far.counts == own.counts).all()  # the same price, here and there
    assert s.remaining == left

    wanted: dict[str, Any] = {"bins": 5, "private_bins": iter(["pay"]), "marginals": [["age", "town"], "pay"]}
    made = s.synthesize(COLUMNS, dp.GDP(0.2), rows=50, **wanted)
    left = s.remaining
    wanted["private_bins"] = "pay"
    again = here.synthesize(COLUMNS, dp.GDP(0.2), rows=50, **wanted)
    assert again.free
    assert made.to_pandas().equals(again.to_pandas())
    assert len(s.synthesize(COLUMNS, dp.GDP(0.2), rows=7, **wanted)) == 7  # other rows of the same: free
    assert s.remaining == left
    assert {"synthesize", "evaluate"} <= {one["kind"] for one in s.ledger.log().to_dicts()}


def test_what_is_wrong_with_a_model_is_told_before_it_is_charged(console: Console, s: Any) -> None:
    fitted = s.fit(dp.learn.LogisticRegression(dp.GDP(0.2)), {"age": None, "town": None}, "pay >= 50")
    before = near(console).account.balance().total
    for ask, kind, words in (
        (lambda: s.evaluate(fitted, ["age"], "pay >= 50"), InvalidParameter, "features names 1"),
        (lambda: s.evaluate(fitted[-1], ["age"], "pay >= 50"), InvalidParameter, "fitted classifier"),
        (lambda: s.evaluate(fitted, ["age", "town"], "pay >= 50", dp.GDP(90.0)), BudgetExceeded, "left"),
        (lambda: s.synthesize(5), InvalidParameter, "columns is 5"),
        (lambda: s.synthesize(["nothing"]), QueryRefused, "nothing"),
        (lambda: s.synthesize(["age"], private_bins=5), InvalidParameter, "private_bins is 5"),
    ):
        with pytest.raises(kind, match=words):
            ask()
    from dalenius.learn.saved import told_model

    told = told_model(fitted)
    where = "/api/v1/datasets/people/releases"
    asked = {"kind": "evaluate", "features": ["age", "town"], "target": "pay >= 50"}
    code = {"kind": "estimator", "class": "sklearn.svm.SVC", "parameters": {}}
    infinite = json.loads(json.dumps(told))
    infinite["released"]["coefficients"]["values"][0] = "inf"
    long = {**told, "released": {**told["released"], "padding": "x" * 1_000_000}}
    for model in ({}, {**told, "loss": {}}, {**told, "model": code}, infinite, long, 5):
        answer = console.api("Anna").post(where, json={**asked, "model": model})
        assert answer.status_code in (413, 422), answer.text
    assert near(console).account.balance().total == before


def test_a_question_can_be_submitted_and_fetched_later(console: Console, s: Any) -> None:
    question = s.table.filter("age > 61").agg(n=dp.count())
    job = s.submit(s.release, question, accuracy=dp.within(60), confidence=0.9)
    assert job.id in repr(job)
    assert 0.0 <= job.progress <= 1.0
    assert job.state in ("waiting", "running", "done")
    # Others spend meanwhile: a price by accuracy may be another one now, and the answer is that of the question sent.
    s.release(s.table.filter("age > 62").agg(n=dp.count()), dp.GDP(0.1))
    answer = job.result(timeout=30)
    assert not answer.free
    assert answer.wanted.confidence == 0.9
    assert job.result() is answer
    assert (job.state, job.progress) == ("done", 1.0)
    again = s.submit("release", question, accuracy=dp.within(60), confidence=0.9)
    assert (again.id, again.state) == (None, "done")
    assert again.result().free
    assert again.result().to_dict() == answer.to_dict()
    fit = s.submit(s.fit, dp.learn.HuberRegression(dp.GDP(0.11)), ["age"], "pay")
    assert fit.result().predict([[30.0]]).shape == (1,)
    with pytest.raises(BudgetExceeded):
        s.submit(s.release, question, dp.GDP(50.0))
    for wrong in ("price", "renew", s.price, near(console).release, 5):
        with pytest.raises(InvalidParameter, match="ways to ask"):
            s.submit(wrong, question)


def test_nobody_has_to_wait(console: Console, s: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console.app.state.jobs, "slot", 3.0)
    job = s.submit(s.release, s.table.filter("age > 63").agg(n=dp.count()), dp.GDP(0.06))
    with pytest.raises(TimeoutError, match="has not left"):
        job.result(timeout=0.2)
    job.cancel()
    assert job.state == "cancelled"
    with pytest.raises(ConsoleError, match="stays charged"):
        job.result()


PROPERTIES = {name for name in dir(Account) if isinstance(getattr(Account, name), property)}


def test_every_public_name_works_from_afar_or_says_the_way(s: Any) -> None:
    """Of a session, its account and its ledger: never an AttributeError, nor something about None."""
    works, refused = set(), set()

    def tried(what: str, use: Any) -> None:
        said = ""
        try:
            use()
        except DaleniusError as problem:
            said = str(problem)
        (refused if said else works).add(what)
        assert not said or len(said.partition("cannot be had through a console: ")[2]) > 10, (what, said)

    question = s.table.agg(n=dp.count())
    features = {"features": ["age"], "target": "pay"}
    arguments: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
        "continual": ((question,), {}),
        "cross_table": ((s.table.cube("town").agg(n=dp.count()),), {}),
        "evaluate": (
            (s.fit(dp.learn.LogisticRegression(dp.GDP(0.2)), ["age"], "pay >= 50"), ["age"], "pay >= 50"),
            {},
        ),
        "explain": ((question,), {}),
        "fit": ((dp.learn.HuberRegression(dp.GDP(0.1)),), features),
        "infer": ((dp.infer.Mean(dp.GDP(0.1)), "pay"), {}),
        "left_in_words": ((), {}),
        "price": ((question, dp.within(90)), {}),
        "release": ((question,), {}),
        "release_all": (({"n": question},), {}),
        "sql": (("SELECT COUNT(*) AS n FROM people",), {}),
        "submit": ((s.release, question), {}),
        "synthesize": (({"town": None},), {}),
        "truncation": ((), {}),
    }
    for name in (n for n in dir(Session) if not n.startswith("_")):
        if name in arguments:
            given, named = arguments[name]
            tried(name, lambda name=name, given=given, named=named: getattr(s, name)(*given, **named))
        else:
            tried(name, lambda name=name: getattr(s, name))
    for show in (str, repr, Session._repr_html_):
        assert "people" in show(s)
    account: dict[str, tuple[Any, ...]] = {
        "allowance": ("Anna",),
        "check_room": (s.account.filter.nothing,),
        "own_filter": ({"kind": "x"},),
        "recorded": ("{}",),
    }
    for name in (n for n in dir(Account) if not n.startswith("_")):
        if name in ("ask", "own_filter"):  # what the session itself calls, with what the ledger wrote
            continue
        given = account.get(name, () if name not in ("charge", "record", "keep") else ("a", "b"))
        read = lambda name=name, given=given: (  # noqa: E731
            getattr(s.account, name) if name in PROPERTIES else getattr(s.account, name)(*given)
        )
        tried(f"account.{name}", read)
    for name in (n for n in dir(Ledger) if not n.startswith("_")):
        tried(f"ledger.{name}", lambda name=name: getattr(s.ledger, name)())
    with pytest.raises(AttributeError, match="no 'verfy'"):
        _ = s.ledger.verfy
    assert {"evaluate", "synthesize", "cross_table", "truncation", "ledger.log", "account.left"} <= works
    assert {"continual", "privacy_report", "account.renew", "ledger.verify", "ledger.statement"} <= refused
    assert "ledger.checkpoint" in refused


KINDS: dict[str, dict[str, Any]] = {
    "several": {"kind": "release_all", "budget": {"kind": "gdp", "mu": "0.1"}},
    "inference": {"kind": "infer", "features": ["age"], "target": "pay"},
    "fit": {
        "kind": "fit",
        "features": {"age": None, "town": {"categories": ["a", "b"]}},
        "target": "pay >= 50",
    },
    "evaluation": {"kind": "evaluate", "features": ["age", "town"], "target": "pay >= 50", "bins": 2},
    "synthetic": {"kind": "synthesize", "columns": ["town"], "budget": {"kind": "gdp", "mu": "0.3"}},
}


def requests(console: Console, s: Any) -> dict[str, dict[str, Any]]:
    from dalenius.learn.saved import model_record, told_model
    from dalenius.session.record.estimators import estimator_record

    table, model = near(console).table, dp.learn.LogisticRegression(dp.GDP(0.2))
    fitted = s.fit(model, {"age": None, "town": ["a", "b"]}, "pay >= 50")
    by_town = table.group_by("town").agg(n=dp.count(), m=dp.mean("pay"))
    by_age = table.group_by("age", keys=[30, 40]).agg(n=dp.count())
    more: dict[str, dict[str, Any]] = {
        "several": {"questions": {"by town": by_town.record(), "=by age": by_age.record()}},
        "inference": {"estimator": estimator_record(dp.infer.LinearRegression(guarantee=dp.GDP(0.3)))},
        "fit": {"model": model_record(model)},
        "evaluation": {"model": told_model(fitted)},
        "synthetic": {},
    }
    return {name: {**KINDS[name], **more[name]} for name in KINDS}


def test_every_kind_of_answer_can_be_downloaded_and_says_its_cost(console: Console, s: Any) -> None:
    anna, where = console.api("Anna"), "/api/v1/datasets/people/releases"
    browser = console.browser("Anna")
    found: dict[str, pd.DataFrame] = {}
    for name, content in requests(console, s).items():
        told = anna.post(where, json=content).json()
        if "job" in told:
            done = anna.get(f"/api/v1/jobs/{told['job']}", params={"wait": 30}).json()
            assert done["state"] == "done", done
        id = told.get("release", told.get("id"))
        shown = anna.get(f"{where}/{id}").json()
        assert "key" in shown, (name, shown, told)
        assert shown["cost_in_words"].startswith("GDP(mu="), (name, shown["cost_in_words"])
        page = browser.get(f"/datasets/people/answers/{id}")
        assert shown["cost_in_words"] in page.text
        for ending in ("csv", "md", "parquet"):
            answer = anna.get(f"{where}/{id}.{ending}")
            assert answer.status_code == 200, (name, ending, answer.text)
            assert f"releases/{id}.{ending}" in page.text
            if ending == "csv":
                found[name] = pd.read_csv(io.StringIO(answer.text))
            elif ending == "md":
                assert "|---|" in answer.text
            else:
                assert list(pd.read_parquet(io.BytesIO(answer.content)).columns) == list(found[name].columns)
        model = anna.get(f"{where}/{id}.model.json")
        if name == "fit":
            assert dp.learn.from_json(model.text)[-1].coef_.shape[-1] == 3
            assert "array(" not in shown["summary"] + page.text
            assert "promise: GDP(mu=0.2)" in shown["summary"]
        else:
            told = model.json()
            assert (model.status_code, told["title"]) == (409, "It has no model")
            assert "changed meanwhile" not in json.dumps(told)
    assert found["several"]["answer"].tolist() == ["by town"] * 2 + ["'=by age"] * 2
    assert found["several"]["n"].notna().all()
    assert found["several"]["m"].isna().tolist() == [False, False, True, True]
    assert found["inference"]["term"].tolist() == ["age", "const"]
    assert (found["inference"]["low"] <= found["inference"]["high"]).all()
    tested = tabled(dp.infer.TestResult("a test", "x", 3.5, 0.25, estimates={"share": 0.4}))
    assert tested is not None
    assert tested.held == {"number": ["statistic", "p_value", "share"], "value": [3.5, 0.25, 0.4]}
    assert found["fit"]["term"].tolist() == ["age", "town = a", "town = b", "intercept"]
    assert found["evaluation"]["measure"].tolist()[:3] == ["rows", "accuracy", "AUC"]
    assert set(found["synthetic"]["town"].dropna()) == {"a", "b"}
