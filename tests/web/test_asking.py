"""Asking through the console, the whole way: a Parquet file, a ledger, a server on a port, and `dp.connect`."""

from __future__ import annotations

import gzip
import io
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import numpy as np
import pandas as pd
import pytest
from sqlalchemy.exc import DataError

import dalenius as dp
from dalenius.errors import (
    BudgetExceeded,
    ConsoleError,
    DaleniusError,
    InvalidParameter,
)
from dalenius.session.travel.description import description, read_description
from dalenius.session.travel.outcomes import named
from dalenius.session.travel.requests import read_request
from dalenius.web.asking import asked
from dalenius.web.datasets import open_session
from dalenius.web.store import clock, releases
from tests.web.console import Console
from tests.web.served import served

BUDGET = {"kind": "approx", "epsilon": 8.0, "delta": 1e-6}


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    with Console.made(Path(tmp_path_factory.mktemp("console"))) as made:
        rng = np.random.default_rng(1)
        frame = pd.DataFrame(
            {
                "person": np.arange(3000) % 1500,
                "age": rng.integers(18, 90, 3000),
                "pay": rng.uniform(0, 100, 3000),
                "town": rng.choice(["a", "b"], 3000),
            }
        )
        frame.to_parquet(made.data / "people.parquet")
        stella = made.api("Stella")
        facts = {
            "person": {"nulls": "never"},
            "age": {"bounds": [18, 90], "nulls": "drop"},
            "pay": {"bounds": [0, 100], "nulls": "drop"},
            "town": {"categories": ["a", "b"], "nulls": "drop"},
        }
        told = stella.post(
            "/api/v1/datasets",
            json={
                "name": "people",
                "title": "People",
                "source": {"kind": "file", "files": {"people": "people.parquet"}},
                "facts": {"people": facts},
                "unit": {"kind": "id", "column": "person", "max_rows": 2},
                "budget": BUDGET,
                "per_question": {"kind": "gdp", "mu": 0.05},
            },
        )
        assert told.status_code == 201, told.text
        assert stella.post("/api/v1/datasets/people/open").status_code == 200
        for who in ("Anna", "Boris"):
            assert stella.put(f"/api/v1/datasets/people/grants/{who}").status_code == 204
        yield made


@pytest.fixture(scope="module")
def address(console: Console) -> Iterator[str]:
    with served(console.app) as (host, port):
        yield f"http://{host}:{port}"


@pytest.fixture(scope="module")
def s(console: Console, address: str) -> Iterator[Any]:
    with dp.connect(address, token=console.tokens["Anna"]) as connection:
        assert connection.datasets == ("people",)
        yield connection.session("people")


def near(console: Console, who: str = "Anna") -> dp.Session:
    """The session that the console itself has."""
    return open_session(console.store, console.settings, "people", who)


def test_an_answer_from_afar_is_the_one_on_record(console: Console, s: Any) -> None:
    question = s.table.filter("age >= 30").group_by("town").agg(n=dp.count(), pay=dp.mean("pay"))
    before = s.remaining
    far = s.release(question, dp.GDP(0.1), confidence=0.9)
    assert not far.free
    assert s.remaining != before
    here = near(console)
    assert here.remaining == s.remaining
    own = here.table.filter("age >= 30").group_by("town").agg(n=dp.count(), pay=dp.mean("pay"))
    again = here.release(own, dp.GDP(0.1), confidence=0.9)
    assert again.free
    assert far.to_dict() == again.to_dict()
    assert far.at(0.5, sampling=True).to_dict() == again.at(0.5, sampling=True).to_dict()
    assert (far.cost, far.left_out) == (again.cost, again.left_out)
    left = s.remaining
    twice = s.release(question, dp.GDP(0.1))
    assert twice.free
    assert twice.at(0.9).to_dict() == far.to_dict()
    assert s.remaining == left


def test_what_can_be_known_before_is_the_same_from_afar(console: Console, s: Any) -> None:
    here = near(console)
    for session in (s, here):
        session.asked = session.table.group_by("town").agg(n=dp.count())
    assert s.price(s.asked, dp.within(40)) == here.price(here.asked, dp.within(40))
    assert str(s.explain(s.asked, dp.GDP(0.1))) == str(here.explain(here.asked, dp.GDP(0.1)))
    assert s.asked.canonical() == here.asked.canonical()
    assert s.per_question == here.per_question
    assert s.unit == here.unit
    assert read_description(json.loads(json.dumps(description(here)))).filter == here.account.filter
    assert "RemoteSession" in repr(s)
    assert console.tokens["Anna"] not in repr(s) + repr(s.account.line) + str(vars(s))


def test_every_way_of_asking(console: Console, s: Any) -> None:
    regions = pd.DataFrame({"town": ["a", "b"], "region": ["north", "south"], "weight": [1.5, 2.5]})
    joined = s.table.join_public(regions, on="town").group_by("region", keys=["north", "south"])
    assert len(s.release(joined.agg(w=dp.sum("weight", bounds=(0, 3))))) == 2
    assert s.sql("SELECT town, COUNT(*) AS n FROM people GROUP BY town", accuracy=dp.within(90)).keys == [
        ("a",),
        ("b",),
    ]
    cube = s.sql("SELECT town, COUNT(*) AS n FROM people GROUP BY CUBE(town)", dp.GDP(0.2))
    assert cube["n"].plain[2] == sum(cube["n"].plain[:2])
    both = {"all": s.table.agg(n=dp.count()), "old": s.table.filter("age > 60").agg(n=dp.count())}
    assert sorted(s.release_all(both, dp.GDP(0.1))) == ["all", "old"]
    found = s.table.group_by("town", keys=dp.discover()).agg(n=dp.count())
    assert sorted(s.release(found, dp.GDP(0.3)).keys) == [("a",), ("b",)]
    assert s.truncation(dp.GDP(0.1)).max_rows == 2

    model = dp.learn.LogisticRegression(dp.GDP(0.3))
    arguments: dict[str, Any] = {"features": ["age"], "target": "pay >= 50"}
    assert s.price(model, **arguments) == near(console).price(model, **arguments)
    far = s.fit(model, **arguments, table=s.table.filter("town = 'a'"))
    in_order = s.fit(dp.learn.HuberRegression(dp.GDP(0.1)), {"person": (0, 2000), "age": (18, 90)}, "pay")
    assert in_order.predict([[1.0, 30.0]]).shape == (1,)
    coded = {"town": ["a", "b"], "age": dp.tables.Column(bounds=(18, 90))}
    far_coded, own_coded = (x.fit(model, coded, "pay >= 50") for x in (s, near(console)))
    assert (far_coded[-1].coef_ == own_coded[-1].coef_).all()
    here = near(console)
    own = here.fit(model, **arguments, table=here.table.filter("town = 'a'"))
    assert (far[-1].coef_ == own[-1].coef_).all()
    assert far[-1].loss_ == own[-1].loss_
    two: dict[str, Any] = {"pay": (0, 100), "age * 2": (36, 180)}
    far_two, own_two = (
        x.fit(dp.learn.LinearRegression(dp.GDP(0.2)), ["age"], two) for x in (s, near(console))
    )
    assert list(far_two) == list(own_two) == list(two)
    assert all((far_two[name][-1].coef_ == own_two[name][-1].coef_).all() for name in two)
    by_class = s.fit(dp.learn.HuberRegression, ["age"], "pay", budget=dp.GDP(0.2))
    assert by_class.predict([[30.0]]).shape == (1,)

    how = dp.infer.LinearRegression(guarantee=dp.GDP(0.3))
    far_result, own_result = s.infer(how, ["age"], "pay"), near(console).infer(how, ["age"], "pay")
    assert str(far_result.summary()) == str(own_result.summary())
    mean = dp.infer.Mean(dp.GDP(0.2))
    assert s.infer(mean, {"pay": (0, 100)}).params == near(console).infer(mean, {"pay": (0, 100)}).params
    log = s.ledger.log()
    assert len(log) >= 8
    assert {line["state"] for line in log.to_dicts()} == {"done"}
    assert "HuberRegression" in str(log)


def test_errors_have_the_class_and_the_words_of_a_session(console: Console, s: Any, address: str) -> None:
    here = near(console)

    def told(session: Any, ask: Any) -> tuple[type, str]:
        with pytest.raises(DaleniusError) as caught:
            ask(session)
        return caught.type, str(caught.value)

    for ask in (
        lambda x: x.table.filter("agee > 3"),
        lambda x: x.release(x.table.agg(n=dp.count()), dp.ZCDP(0.1)),
        lambda x: x.release(x.table.agg(n=dp.count()), dp.GDP(50.0)),
        lambda x: x.release(x.table.agg(m=dp.mean("pay / age")), dp.GDP(0.1)),
        lambda x: x.sql("SELECT age FROM people", dp.GDP(0.1)),
        lambda x: x.fit(dp.learn.LogisticRegression(dp.GDP(90.0)), ["age"], "pay > 3"),
    ):
        assert told(s, ask) == told(here, ask)
    with pytest.raises(BudgetExceeded) as caught:
        s.release(s.table.agg(n=dp.count()), dp.GDP(50.0))
    assert isinstance(caught.value.left, dp.Guarantee)
    with pytest.raises(ConsoleError, match="token"):
        _ = dp.connect(address, token="dalenius_nobody").datasets
    with pytest.raises(ConsoleError, match="no data set"):
        dp.connect(address, token=console.tokens["Anna"], dataset="nothing")


def test_the_console_itself_refuses(console: Console) -> None:
    """What a client of ours would not send."""
    anna = console.api("Anna")
    where = "/api/v1/datasets/people"
    gdp = {"kind": "gdp", "mu": "0.05"}
    count = {"table": {"name": "people"}, "aggregates": [{"name": "n", "aggregate": {"kind": "count"}}]}
    told = anna.get(f"{where}/standing").json()
    for content, words in (
        ({"question": {"sql": "SELECT age FROM people"}, "budget": gdp}, "aggregate"),
        ({"question": count, "budget": {"kind": "gdp", "mu": "50"}}, "is left"),
        ({"question": count, "budget": {"kind": "zcdp", "rho": "0.1"}}, "GDP"),
        ({"question": count, "budget": {"kind": "magic"}}, "budget is"),
        ({"question": {**count, "x": 1}, "budget": gdp}, "says 'x'"),
        ({"question": count, "accuracy": {"error": -1}}, "error is"),
        ({"question": count, "accuracy": {"error": 9}, "budget": gdp}, "one of budget and accuracy"),
        ({"kind": "dance"}, "must be an object"),
        ({"kind": "fit", "features": ["age"], "target": "pay"}, "a model is an object"),
        (
            {
                "kind": "fit",
                "features": ["age"],
                "target": "pay",
                "model": {"kind": "estimator", "class": "os.system", "parameters": {}},
            },
            "only models of dp.learn travel",
        ),
        (
            {
                "kind": "fit",
                "features": ["age"],
                "target": "pay > 3",
                "model": {"kind": "logistic_regression", "parameters": {"guarantee": {"text": "much"}}},
            },
            "",
        ),
        (
            {"kind": "infer", "features": ["age"], "estimator": {"kind": "mean", "settings": {"x": 1}}},
            "no setting",
        ),
        ({"question": count, "surprise": 1}, "surprise"),
    ):
        answer = anna.post(f"{where}/releases", json=content)
        assert answer.status_code in (409, 422), (content, answer.text)
        assert words in answer.json()["detail"], answer.json()
    assert anna.get(f"{where}/standing").json() == told
    assert console.api("Stella").post(f"{where}/releases", json={"question": count}).status_code == 403
    assert console.client.get(f"{where}/description").status_code == 401


def test_a_request_that_comes_twice_is_carried_out_once(console: Console) -> None:
    anna = console.api("Anna")
    where = "/api/v1/datasets/people/releases"
    question = {"question": {"sql": "SELECT COUNT(*) AS n FROM people WHERE age > 71"}}
    word = {"Idempotency-Key": "once"}
    first, second = (anna.post(where, json=question, headers=word) for _ in range(2))
    assert (first.status_code, second.status_code) == (202, 202)
    assert first.json()["job"] == second.json()["job"]
    done = anna.get(f"/api/v1/jobs/{first.json()['job']}", params={"wait": 30}).json()
    assert done["state"] == "done", done
    charged = anna.get("/api/v1/datasets/people/standing").json()
    third = anna.post(where, json=question, headers=word)
    assert third.json()["job"] == first.json()["job"]
    on_record = anna.post(where, json=question)
    assert on_record.status_code == 201
    assert on_record.json()["free"] is True
    assert on_record.json()["rows"] == done["answer"]["rows"]
    assert on_record.json()["charged"] == done["answer"]["charged"]
    assert anna.get("/api/v1/datasets/people/standing").json() == charged
    other = {"question": {"sql": "SELECT COUNT(*) AS n FROM people WHERE age > 72"}}
    assert anna.post(where, json=other, headers=word).status_code == 422
    table = near(console).table
    one, two = (table.filter(f"age > {age}").agg(n=dp.count()).record() for age in (33, 34))
    several = {"kind": "release_all", "questions": {"a": one, "b": two}}
    turned = {"kind": "release_all", "questions": {"b": two, "a": one}}
    for content, status in ((several, 202), (several, 202), (turned, 422)):  # what is asked has an order
        assert anna.post(where, json=content, headers={"Idempotency-Key": "both"}).status_code == status
    refused = {"question": {"sql": "SELECT"}}
    assert anna.post(where, json=refused, headers={"Idempotency-Key": "again"}).status_code == 422
    broken = anna.post(where, content='{"question": ', headers={"Content-Type": "application/json"})
    assert (broken.status_code, broken.json()["detail"]) == (422, "the request is not JSON.")
    with console.store.reading() as connection:
        held = connection.execute(releases.CLAIMS.select().where(releases.CLAIMS.c.word == "again")).all()
    assert held == []  # nothing was charged: the word is free again
    mine, grant = f"/api/v1/jobs/{first.json()['job']}", "/api/v1/datasets/people/grants/Anna"
    stella = console.api("Stella")
    assert stella.delete(grant).status_code == 204  # who may not ask any longer may not look either
    assert [anna.get(path).status_code for path in (mine, f"{mine}?wait=1", where)] == [404, 404, 404]
    assert not [each for each in anna.get("/api/v1/jobs").json() if each["state"] == "done"]
    assert stella.put(grant).status_code == 204
    assert anna.get(mine).json()["state"] == "done"


def test_a_word_is_never_left_by_somebody_who_was_killed(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever is killed while a request is read leaves nothing: the same, sent again, is carried out at once."""
    anna, where = console.api("Anna"), "/api/v1/datasets/people/releases"
    question = {"question": {"sql": "SELECT COUNT(*) AS n FROM people WHERE age > 63"}}
    word = {"Idempotency-Key": "killed"}

    def killed(*_: Any, **__: Any) -> None:
        raise SystemExit

    for part in ("read_request", "looked_up"):
        with monkeypatch.context() as patch:
            patch.setattr(asked, part, killed)
            patch.setattr(releases, "let_go", lambda *_: None, raising=False)
            with pytest.raises(SystemExit):
                desk(console).ask(question, "killed")
    with monkeypatch.context() as patch:  # between the job and its history
        patch.setattr(releases, "claim", killed)
        before = len(anna.get("/api/v1/jobs").json())
        with pytest.raises(SystemExit):
            desk(console).ask(question, "killed")
        assert len(anna.get("/api/v1/jobs").json()) == before
    assert anna.post(where, json=question, headers=word).status_code == 202
    # An earlier version left words without a request.
    with console.store.writing() as connection:
        mine = {"person": console.people["Anna"].id, "dataset": "people", "word": "old"}
        connection.execute(releases.CLAIMS.insert().values(**mine, digest="", made=clock.text(clock.now())))
    assert anna.post(where, json=question, headers={"Idempotency-Key": "old"}).status_code in (201, 202)


def desk(console: Console, who: str = "Anna") -> asked.Desk:
    """Where the console itself asks."""
    return asked.Desk(console.store, console.settings, console.app.state.jobs, console.people[who], "people")


def test_two_who_send_the_same_at_once_are_given_one_job(console: Console) -> None:
    """All come to the store at the same moment."""
    question = {"question": {"sql": "SELECT COUNT(*) AS n FROM people WHERE age > 64"}}
    together = threading.Barrier(6)

    def send(_: int) -> str:
        together.wait()
        return str(desk(console).ask(question, "at once")[1]["job"])

    with ThreadPoolExecutor(6) as pool:
        assert len(set(pool.map(send, range(6)))) == 1


def listed(client: Any) -> Any:
    """Somebody's jobs, those that left with another's answer among them; none of them holds an answer."""
    told = client.get("/api/v1/jobs")
    assert told.status_code == 200, told.text
    assert not any(job.get("answer") for job in told.json())
    return told.json()


NAMES = {"null": "a\u0000b", "escape": "a\u001bb", "line": "a\nb", "turned": "a\u202eb", "long": "a" * 50_000}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_name_that_nobody_can_read_is_refused_before_the_charge(console: Console, name: str) -> None:
    """PostgreSQL does not keep some of them: the history was lost, and the charge was not. Others deface pages."""
    anna, where = console.api("Anna"), "/api/v1/datasets/people"
    people = near(console).table
    count = {"kind": "count"}
    plain = people.agg(n=dp.count()).record()
    computed = {"kind": "compute", "name": name, "expression": "age / 2"}
    requests = {
        "aggregate": {"question": {**plain, "aggregates": [{"name": name, "aggregate": count}]}},
        "question": {"kind": "release_all", "questions": {name: plain}},
        "column": {"question": {**plain, "table": {**plain["table"], "steps": [computed]}}},
        "sql": {"question": {"sql": f'SELECT COUNT(*) AS "{name}" FROM people'}},
    }
    jobs = {job["job"] for job in listed(anna)}
    for what, content in requests.items():
        for path in ("price", "releases"):
            told = anna.post(f"{where}/{path}", json=content)
            assert told.status_code == 422, (what, told.text)
            assert len(told.text) < 1000
    assert {job["job"] for job in listed(anna)} == jobs


def test_a_request_that_cannot_be_kept_is_no_job(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    """History and job are written together: where one cannot be, the other is not."""
    anna, where = console.api("Anna"), "/api/v1/datasets/people"
    question = {"question": {"sql": "SELECT COUNT(*) AS n FROM people WHERE age > 65"}}
    jobs = len(anna.get("/api/v1/jobs").json())

    def unkept(*_: Any, **__: Any) -> None:
        raise DataError("", None, Exception())

    with monkeypatch.context() as patch:
        patch.setattr(releases, "keep", unkept)
        assert anna.post(f"{where}/releases", json=question).status_code == 422
    assert len(anna.get("/api/v1/jobs").json()) == jobs
    assert anna.post(f"{where}/releases", json=question).status_code == 202


def test_prices_history_and_downloads(console: Console) -> None:
    anna, boris = console.api("Anna"), console.api("Boris")
    where = "/api/v1/datasets/people"
    question = {"sql": "SELECT town, COUNT(*) AS n FROM people WHERE age > 33 GROUP BY town"}
    told = anna.post(f"{where}/price", json={"question": question, "accuracy": {"error": 60}}).json()
    assert told["affordable"]
    assert not told["free"]
    assert told["errors"][0]["column"] == "n"
    assert told["errors"][0]["error"] <= 60
    asked = anna.post(f"{where}/releases", json={"question": question, "budget": told["budget"]}).json()
    done = anna.get(f"/api/v1/jobs/{asked['job']}", params={"wait": 30}).json()["answer"]
    assert [column["role"] for column in done["columns"]] == ["key", "estimate", "error", "low", "high"]
    assert anna.post(f"{where}/price", json={"question": question, "budget": told["budget"]}).json()["free"]
    mine = f"{where}/releases/{asked['release']}"
    assert anna.get(mine).json()["rows"] == done["rows"]
    assert anna.get(f"{mine}.md").text.startswith("| town | n |")
    sheet = pd.read_csv(io.StringIO(anna.get(f"{mine}.csv").text))
    assert sheet["n"].tolist() == [row[1] for row in done["rows"]]
    assert pd.read_parquet(io.BytesIO(anna.get(f"{mine}.parquet").content)).equals(sheet)
    assert asked["release"] in [line["id"] for line in anna.get(f"{where}/releases").json()]
    # Nobody else's: neither the list, nor the answer, nor the job.
    assert boris.get(f"{where}/releases").json() == []
    for path in (mine, f"{mine}.csv", f"{mine}.md", f"{mine}.parquet", f"/api/v1/jobs/{asked['job']}"):
        assert boris.get(path).status_code == 404
    # The same question of another analyst is on the one record, and then in their own history.
    free = boris.post(f"{where}/releases", json={"question": question, "budget": told["budget"]})
    assert (free.status_code, free.json()["free"]) == (201, True)
    assert len(boris.get(f"{where}/releases").json()) == 1
    console.api("Stella").delete(f"{where}/grants/Boris")
    assert boris.get(f"{where}/releases").status_code == 404
    console.api("Stella").put(f"{where}/grants/Boris")


def test_a_price_does_not_tell_when_an_answer_was_recorded(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A price is made to fit what is left unless the answer is on record: which must not show while it is held.

    The question costs 0.3074, or 0.30732 where its price is not rounded; once it is charged, 0.30735 is left.
    """
    anna, stella = console.api("Anna"), console.api("Stella")
    pd.DataFrame({"person": [1, 2]}).to_parquet(console.data / "few.parquet")
    few = {
        "name": "few",
        "title": "Few",
        "source": {"kind": "file", "files": {"few": "few.parquet"}},
        "unit": {"kind": "row"},
        "budget": {"kind": "zcdp", "rho": "0.61475"},
    }
    assert stella.post("/api/v1/datasets", json=few).status_code == 201
    assert stella.post("/api/v1/datasets/few/open").status_code == 200
    assert stella.put("/api/v1/datasets/few/grants/Anna").status_code == 204
    session = open_session(console.store, console.settings, "few", "Anna")
    asked = {"question": {"sql": "SELECT COUNT(*) AS n FROM few"}, "accuracy": {"error": 2.4}}
    request = read_request(asked, session)
    settled = read_request({"kind": "release", **asked, **request.settled(session)}, session)
    found = named(session, settled)
    seen = []

    def look() -> str:
        for where in ("price", "releases"):
            told = anna.post(f"/api/v1/datasets/few/{where}", json=asked)
            fields = ("detail", "affordable", "free", "budget", "said")
            seen.append((told.status_code, *(told.json().get(word) for word in fields)))
        return "{}"

    jobs = console.app.state.jobs
    monkeypatch.setattr(jobs, "in_flight", lambda dataset, question: True)

    def submit(*given: Any) -> SimpleNamespace:
        with console.store.writing() as connection:
            given[-1](connection, "a job")
        return SimpleNamespace(id="a job")

    monkeypatch.setattr(jobs, "submit", submit)
    session.account.ask(found.question, found.cost, look)  # before it is recorded, and after
    look()
    assert seen[:2] == seen[2:]
    assert [status for status, *_ in seen[:2]] == [200, 202]
    assert seen[0][4] == {"kind": "zcdp", "rho": "0.3074"}


class Breaking(httpx.BaseTransport):
    """A line that breaks after each request has arrived, and before its answer is back, so many times."""

    def __init__(self, times: int) -> None:
        self.inner, self.times = httpx.HTTPTransport(), times

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = self.inner.handle_request(request)
        if request.method == "POST" and self.times:
            self.times -= 1
            answer.read()
            raise httpx.ReadError("the line broke")
        return answer


def test_a_broken_line_costs_nothing_twice(console: Console, address: str) -> None:
    token = console.tokens["Anna"]
    broken = dp.connect(address, token=token, dataset="people", transport=Breaking(2))
    before = near(console).account.balance().total
    question = broken.table.filter("age > 44").agg(n=dp.count())
    answer = broken.release(question, dp.GDP(0.07))
    after = near(console).account.balance().total
    assert answer.free is False
    assert near(console).release(near(console).table.filter("age > 44").agg(n=dp.count()), dp.GDP(0.07)).free
    assert float(after.amount - before.amount) == pytest.approx(0.07**2)
    with pytest.raises(ConsoleError, match=r"could not be reached for 0\.5 s.*ask the identical question"):
        dp.connect(address, token=token, dataset="people", transport=Breaking(99), patience=0.5).release(
            question, dp.GDP(0.071)
        )


def test_waiting_is_told(console: Console, address: str) -> None:
    seen: list[str] = []
    token = console.tokens["Anna"]
    s = dp.connect(address, token=token, dataset="people", progress=lambda job: seen.append(job["state"]))
    s.release(s.table.filter("age > 55").agg(n=dp.count()))
    assert seen[-1] == "done"


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://console.example.org", "https"),
        ("ftp://console.example.org", "address of a console"),
        (5, "address of a console"),
        ("https://me:secret@console.example.org", "address alone"),
    ],
)
def test_addresses_that_would_tell_the_token(url: Any, words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        dp.connect(url, token="dalenius_x")


def test_the_certificate_is_always_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidParameter, match="may be anybody"):
        dp.connect("https://localhost", token="dalenius_x", verify=False)
    monkeypatch.delenv("DALENIUS_TOKEN", raising=False)
    with pytest.raises(InvalidParameter, match="no token"):
        dp.connect("https://localhost")


def test_the_token_goes_to_no_proxy_in_the_clear(
    console: Console, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with dp.connect(address, token=console.tokens["Anna"]) as connection:
        assert "people" in connection.datasets


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((200, b"[" * 100_000, {}), "did not send JSON"),
        ((500, b"[" * 100_000, {}), "nothing that says why"),
        ((200, gzip.compress(bytes(2**21)), {"Content-Encoding": "gzip"}), "more than"),
        ((200, b"no gzip", {"Content-Encoding": "gzip"}), "could not be reached"),
        ((503, b'{"title": "", "detail": "later"}', {"Retry-After": "\xb2".encode("latin-1")}), "later"),
        ((400, b'{"title": "x", "detail": "\\u001b]0;you\\u0007\\u009b2J"}', {}), r"x: \?]0;you\?\?2J$"),
        ((302, b"", {"Location": "https://elsewhere.example/"}), "the status 302"),
    ],
)
def test_a_console_that_means_no_good(answer: Any, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dalenius.remote.line.LONGEST", 2**20)
    sent = []

    def handle(request: httpx.Request) -> httpx.Response:
        sent.append(request.url.host)
        status, content, headers = answer
        return httpx.Response(status, stream=httpx.ByteStream(content), headers=headers)

    with (
        dp.connect(
            "https://localhost", token="dalenius_x", transport=httpx.MockTransport(handle), patience=0.3
        ) as connection,
        pytest.raises(ConsoleError, match=words),
    ):
        _ = connection.datasets
    assert set(sent) == {"localhost"}


def test_words_of_the_data_are_no_formulas_and_no_markup() -> None:
    data = pd.DataFrame({"town": ["=1+1"] * 50 + ["<b>|[x](y)"] * 50})
    s = dp.Session(data, unit=dp.Unit.rows(), budget=dp.ApproxDP(50.0, 1e-3), schema=dp.Schema(nulls="drop"))
    answer = s.release(
        s.table.group_by("town", keys=dp.discover()).agg(n=dp.count()), dp.ApproxDP(40.0, 1e-4)
    )
    lines = answer.to_csv(for_spreadsheets=True).splitlines()
    assert sorted(line.split(",")[0] for line in lines[1:]) == ["'=1+1", "<b>|[x](y)"]
    assert "\n=1+1," in answer.to_csv()  # for programs, as it is
    assert "| &lt;b&gt;\\|\\[x\\](y) |" in answer.to_markdown()
