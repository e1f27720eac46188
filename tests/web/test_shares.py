"""Where only some have a share of the budget, the others read what was answered, and pay for nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dalenius as dp
from dalenius.errors import BudgetExceeded
from dalenius.web.datasets import opening
from tests.web.console import Console
from tests.web.served import served

WHERE = "/api/v1/datasets/people"
ASKED = {
    "question": {"sql": "SELECT COUNT(*) AS n FROM people"},
    "budget": {"kind": "zcdp", "rho": "0.01"},
}
OTHER = {**ASKED, "question": {"sql": "SELECT COUNT(*) AS m FROM people"}}


def answered(console: Console, who: str, asked: dict[str, Any]) -> str:
    """The id of an answer that was paid for."""
    api = console.api(who)
    told = api.post(f"{WHERE}/releases", json=asked)
    assert told.status_code == 202, told.text
    assert api.get(f"/api/v1/jobs/{told.json()['job']}", params={"wait": 30}).json()["state"] == "done"
    return str(told.json()["release"])


def test_who_has_no_share_reads_and_pays_for_nothing(tmp_path: Path) -> None:
    with Console.made(tmp_path) as console, served(console.app) as (host, port):
        pd.DataFrame({"age": [30, 40] * 50}).to_parquet(console.data / "people.parquet")
        stella, boris = console.api("Stella"), console.api("Boris")
        draft = {
            "name": "people",
            "title": "People",
            "source": {"kind": "file", "files": "people.parquet"},
            "unit": {"kind": "row"},
            "budget": {"kind": "zcdp", "rho": "0.5"},
        }
        assert stella.post("/api/v1/datasets", json=draft).status_code == 201
        assert stella.post(f"{WHERE}/open").status_code == 200
        for who in ("Anna", "Boris"):
            assert stella.put(f"{WHERE}/grants/{who}").status_code == 204
        mine = answered(console, "Boris", ASKED)
        before = boris.get(f"{WHERE}/releases/{mine}").json()
        share = {"analyst": "Anna", "share": {"kind": "zcdp", "rho": "0.1"}}
        assert stella.post(f"{WHERE}/shares", json=share).status_code == 200
        opening._OPENED.pop(console.store)  # as another worker has it, which never let Boris in before

        assert boris.get(f"{WHERE}/releases/{mine}").json() == before
        read = [
            f"releases/{mine}.csv",
            f"releases/{mine}.md",
            "releases",
            "description",
            "standing",
            "ledger",
        ]
        for path in (*(f"{WHERE}/{each}" for each in read[:-1]), WHERE, "/api/v1/datasets"):
            got = boris.get(path)
            assert got.status_code == 200, (path, got.text)
            assert "Anna" not in got.text, path
        standing = boris.get(f"{WHERE}/standing").json()
        assert set(standing["left"].values()) == set(standing["allowance"].values()) == {"0"}
        assert standing["left_in_words"] == "ZCDP(rho=0.0)"
        pages = console.browser("Boris")
        for path in ("/", "/datasets/people/ask", "/datasets/people/answers"):
            page = pages.get(path)
            assert page.status_code == 200, path
            assert "Anna" not in page.text, path
        again = boris.post(f"{WHERE}/releases", json=ASKED)
        assert (again.status_code, again.json()["free"]) == (201, True)
        price = boris.post(f"{WHERE}/price", json=OTHER).json()
        assert (price["affordable"], price["free"], price["times"]) == (False, False, 0)

        jobs = len(boris.get("/api/v1/jobs").json())
        refused = boris.post(f"{WHERE}/releases", json=OTHER)
        assert refused.status_code == 409
        assert "'Boris' has no share of the budget of 'people'" in refused.json()["detail"]
        assert "Anna" not in refused.text
        assert len(boris.get("/api/v1/jobs").json()) == jobs
        with dp.connect(f"http://{host}:{port}", token=console.tokens["Boris"]) as connection:
            session = connection.session("people")
            assert session.release(session.table.agg(n=dp.count()), dp.ZCDP(0.01)).free
            with pytest.raises(BudgetExceeded, match="0 % is left") as told:
                session.release(session.table.agg(m=dp.count()), dp.ZCDP(0.01))
            assert "Anna" not in str(told.value)
        answered(console, "Anna", OTHER)
        assert (
            boris.post(f"{WHERE}/releases", json=OTHER).status_code == 201
        )  # on the one record: free to all
        spent = stella.get(f"{WHERE}/ledger").json()["standing"]["spent"]
        assert spent == {"kind": "zcdp", "rho": "0.02"}


def test_a_session_of_ones_own_still_wants_a_share(tmp_path: Path) -> None:
    """There a name without a share is a name that was mistyped."""
    data = pd.DataFrame({"age": [30, 40] * 50})
    given = {"unit": dp.Unit.rows(), "budget": dp.ZCDP(0.5), "name": "people", "shares": {"ana": 1}}
    for _ in range(2):
        with pytest.raises(dp.errors.InvalidParameter, match="'eve' has no share"):
            dp.Session(data, ledger=tmp_path / "ledger", analyst="eve", **given)
        dp.Session(data, ledger=tmp_path / "ledger", analyst="ana", **given).release(
            dp.Session(data, ledger=tmp_path / "ledger", analyst="ana", **given).table.agg(n=dp.count()),
            dp.ZCDP(0.1),
        )
