"""Analysts race for one budget over HTTP, and a worker is killed between a charge and its record: in a few seconds what
benchmarks/console.py does at length. Every wait has an end."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from benchmarks.console import Data

from dalenius.session.ledger import Ledger
from dalenius.session.verify import verify
from dalenius.web.datasets import acts
from dalenius.web.jobs.api import jobs_for
from dalenius.web.people import acts as people
from dalenius.web.settings import Settings
from dalenius.web.store import Store
from tests.servers.postgres import PostgresServer
from tests.web.console import Console
from tests.web.served import served

PRICE, FITTING = 0.01, 7
"""Ten different questions are asked."""
QUESTIONS = 4
PATIENCE = 90.0
"""Seconds for all of it, on a machine that has much else to do; it takes three."""


def work(settings: str) -> None:
    """A worker process, until it is killed."""
    chosen = Settings.from_text(settings)
    jobs_for(chosen, Store.open(chosen.store_address)).workers.start()
    time.sleep(2 * PATIENCE)


@contextmanager
def another_worker(settings: Settings) -> Iterator[Any]:
    context: Any = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    process = context.Process(target=work, args=(settings.to_text(),), daemon=True)
    process.start()
    try:
        yield process
    finally:
        process.kill()
        process.join()


def test_nothing_is_overspent_or_lost_and_what_was_charged_in_vain_is_told(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    where = postgres_server.fresh()
    data = Data(postgres_server.fresh(), 200)
    made = Console.made(
        tmp_path, store=where, ledger=where, slot_seconds=0.1, slots=1, lease_seconds=1.0, calls_per_minute=10**6,
        source_schemes=("postgresql",), source_hosts=(data.server,),
    )  # fmt: skip
    with made as console, another_worker(console.settings) as process, served(console.app) as (host, port):
        _registered(console, data)
        race = _raced(console, data, process, f"http://{host}:{port}")
        told = asyncio.run(asyncio.wait_for(race, PATIENCE))
    states = Counter(state for _, state, _ in told)
    assert verify(where).ok
    spent = Ledger.open(where).existing("people").balance().total.amount
    # Everybody was told what became of everything; what was killed had charged, and whoever asked was told the cost.
    assert len(told) == 3 * QUESTIONS
    assert states["failed"] == 1
    assert set(states) == {"done", "failed", "refused"}
    assert all("it was charged" in said for _, state, said in told if state == "failed")
    assert float(spent) == pytest.approx(PRICE * FITTING)
    answers: dict[str, set[str]] = {}
    for sql, state, said in told:
        if state == "done":
            answers.setdefault(sql, set()).add(said)
    assert len(answers) == FITTING - 1
    assert all(len(each) == 1 for each in answers.values())


def _registered(console: Console, data: Data) -> None:
    given = {
        "name": "people",
        "title": "People who were made up",
        "source": data.source,
        "facts": {
            "people": {name: {"bounds": [0, 100_000], "nulls": "drop"} for name in ("age", "pay")},
        },
        "unit": {"kind": "row"},
        "budget": {"kind": "zcdp", "rho": str(PRICE * FITTING)},
    }
    steward = console.people["Stella"]
    acts.register(console.store, console.settings, steward, given)
    acts.open_account(console.store, console.settings, steward, "people")
    console.tokens["Clara"] = people.add(console.store, None, "Clara", "analyst", 30)[2]
    for name in ("Anna", "Boris", "Clara"):
        acts.set_grant(console.store, steward, "people", name, True)


async def _raced(console: Console, data: Data, process: Any, url: str) -> list[tuple[str, str, str]]:
    """What everybody was told. While two questions, one of each worker, wait for the data, a worker is killed."""
    analysts = [
        _asks(url, console.tokens[name], number) for number, name in enumerate(("Anna", "Boris", "Clara"))
    ]
    with data.held_back():
        racing = asyncio.gather(*analysts)
        while data.waiting() < 2:
            assert not racing.done()
            await asyncio.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
        process.join()
    return [told for each in await racing for told in each]


async def _asks(url: str, token: str, analyst: int) -> list[tuple[str, str, str]]:
    """One question of one's own, one that all ask, and others of one's own: (SQL, state, what was said)."""
    headers = {"Authorization": f"Bearer {token}"}
    found = []
    async with httpx.AsyncClient(base_url=url + "/api/v1", headers=headers, timeout=PATIENCE) as client:
        for number in range(QUESTIONS):
            least = 1 if number == 1 else 100 * analyst + number + 2
            sql = f"SELECT COUNT(*) AS n FROM people WHERE pay >= {least}"
            body = {"question": {"sql": sql}, "budget": {"kind": "zcdp", "rho": str(PRICE)}}
            answer = await client.post("/datasets/people/releases", json=body)
            said = answer.json()
            if answer.status_code == 202:
                job = said["job"]
                while said.get("state") in ("waiting", "running"):
                    said = (await client.get(f"/jobs/{job}", params={"wait": 20})).json()
                found.append((sql, said["state"], said.get("detail") or str(said["answer"]["rows"])))
            elif answer.status_code == 201:
                found.append((sql, "done", str(said["rows"])))
            else:
                assert answer.status_code == 409, said
                assert "budget" in said["type"], said
                found.append((sql, "refused", said["detail"]))
    return found
