"""A console with something on every page: data sets in every state, answers of every kind, a report, an audit log.

`test_every_page` looks at all of it, and `pictures` takes the pictures of the documentation.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd

from dalenius.web.jobs import record
from tests.adaptive.personal.golden_reports import NAMES, reports
from tests.web.console import Console, csrf
from tests.web.served import served

STATES = ["CA", "NY", "TX", "WA"]
LONG = "income_of_the_whole_household_before_taxes_and_transfers_in_dollars"
SQL = {
    "groups": "SELECT state, COUNT(*) AS n, AVG(pay) AS mean_pay FROM people WHERE age >= 40 GROUP BY state",
    "count": "SELECT COUNT(*) AS n FROM people WHERE age < 30",
    "running": "SELECT COUNT(*) AS n FROM people WHERE age = 50",
    "cancelled": "SELECT COUNT(*) AS n FROM people WHERE age = 51",
}
MODEL = {
    "what": "linear",
    "features": "age",
    "target": "pay",
    "value": "",
    "where": "",
    "amount": "0.05",
    "act": "ask",
}


@dataclass
class Furnished:
    """The console, where it is served, and the answers of Anna by what they show."""

    console: Console
    address: str
    answers: dict[str, str]


@contextmanager
def furnished(folder: Path) -> Iterator[Furnished]:
    """One in a folder, on a port of this machine."""
    with Console.made(
        folder,
        source_schemes=("postgresql", "spark"),
        source_hosts=("db.example.org",),
        calls_per_minute=10**6,
    ) as console:
        _data(console.data)
        _registered(console)
        with served(console.app) as (host, port):
            yield Furnished(console, f"http://{host}:{port}", _asked(console))


def _data(folder: Path) -> None:
    rng = np.random.default_rng(1977)
    ages = rng.integers(18, 90, 3000)
    rows = {"age": ages, "pay": rng.integers(0, 100_000, 3000), "state": rng.choice(STATES, 3000)}
    frame = pd.DataFrame(rows)
    frame.to_parquet(folder / "people.parquet")
    pd.DataFrame({"patient": [1, 1, 2], LONG: [3, 4, 5], "ward": ["a", "b", "c"]}).to_csv(
        folder / "stays.csv", index=False
    )
    frame.head(10).to_parquet(folder / "pilot.parquet")
    with duckdb.connect(folder / "survey.duckdb") as database:
        database.execute("CREATE TABLE survey AS SELECT 1 AS person, 5 AS score")


def _registered(console: Console) -> None:
    """`people` is open, shared and published; `stays` a draft that could be opened; `pilot` closed."""
    steward = console.api("Stella")
    facts = {
        "age": {"bounds": [18, 90], "nulls": "drop"},
        "pay": {"bounds": [0, 100_000], "nulls": "drop"},
        "state": {"categories": STATES, "nulls": "drop"},
    }
    people = {
        "name": "people",
        "title": "People of four states",
        "about": "Made-up people with made-up incomes.",
        "source": {"kind": "file", "files": {"people": "people.parquet"}},
        "facts": {"people": facts},
        "unit": {"kind": "row"},
        "budget": {"kind": "zcdp", "rho": "0.5"},
        "ceiling": {"kind": "zcdp", "rho": "1"},
        "renewals": 2,
        "shares": {"Anna": "1/2", "Boris": "1/4"},
        "per_question": {"kind": "zcdp", "rho": "0.01"},
    }
    stays = {
        "name": "stays",
        "title": "Stays in the hospitals of a county with a long name",
        "source": {"kind": "file", "files": {"stays": "stays.csv"}},
        "facts": {"stays": {"patient": {"nulls": "never"}, LONG: {"bounds": [0, 30], "nulls": "never"}}},
        "unit": {"kind": "id", "column": "patient", "max_rows": 2},
        "budget": {"kind": "approx", "epsilon": 1, "delta": "1e-6"},
    }
    pilot = {
        **{word: people[word] for word in ("unit", "budget")},
        "name": "pilot",
        "title": "The pilot study",
        "source": {"kind": "file", "files": {"people": "pilot.parquet"}},
        "facts": {"people": facts},
    }
    for each in (people, stays, pilot):
        made = steward.post("/api/v1/datasets", json=each)
        assert made.status_code == 201, made.text
    for name in ("people", "pilot"):
        assert steward.post(f"/api/v1/datasets/{name}/open").status_code == 200
        assert steward.put(f"/api/v1/datasets/{name}/grants/Anna").status_code == 204
    assert steward.put("/api/v1/datasets/people/published", json={"published": True}).status_code < 300
    assert steward.post("/api/v1/datasets/pilot/close", json={"confirm": "pilot"}).status_code < 300
    assert steward.post("/api/v1/ledger/verify").status_code == 200
    report = json.loads(reports()["logistic"].to_json().replace(json.dumps(NAMES[2]), '"distance"'))
    body = {"title": "What did the pay model cost me?", "report": report}
    assert steward.put("/api/v1/reports/pay", json=body).status_code == 201


def _asked(console: Console) -> dict[str, str]:
    """Anna's answers: two tables, a model, one that is left and one that stays under way."""
    anna = console.api("Anna")
    answers = {name: _answered(console, anna, SQL[name]) for name in ("groups", "count")}
    answers["model"] = _model(console)
    workers = console.app.state.jobs.workers
    workers.stop()
    for name in ("cancelled", "running"):
        told = anna.post("/api/v1/datasets/people/releases", json=_priced(SQL[name])).json()
        answers[name] = told["release"]
        if name == "cancelled":
            assert anna.delete(f"/api/v1/jobs/{told['job']}").status_code < 300
        else:  # begun by a worker that is never done with it
            assert record.begin(console.store, lease=3600.0, tick=0.01, take_over=False) is not None
    workers.stopping.clear()
    workers.start()
    return answers


def _priced(sql: str) -> dict[str, Any]:
    return {"question": {"sql": sql}, "budget": {"kind": "zcdp", "rho": "0.02"}}


def _answered(console: Console, anna: Any, sql: str) -> str:
    told = anna.post("/api/v1/datasets/people/releases", json=_priced(sql)).json()
    assert anna.get(f"/api/v1/jobs/{told['job']}", params={"wait": 30}).json()["state"] == "done"
    return str(told["release"])


def _model(console: Console) -> str:
    """A regression, asked by the form of the page."""
    client = console.browser("Anna")
    word = csrf(client, "/me")
    went = client.post("/datasets/people/ask/model", data={**MODEL, "csrf": word})
    assert went.status_code == 303, went.text
    id = went.headers["location"].rsplit("/", 1)[1]
    anna = console.api("Anna")
    job = anna.get("/api/v1/jobs").json()[0]["job"]  # the newest
    assert anna.get(f"/api/v1/jobs/{job}", params={"wait": 30}).json()["state"] == "done"
    return id
