"""The console under load: analysts who race for one budget, while workers and the database are killed.

`python -m benchmarks.console [--analysts 200] [--questions 5] [--workers 4] [--write]` starts PostgreSQL (for the store
and the ledger) and the console with that many worker processes, on this machine, and then

- lets all analysts ask at once, each QUESTIONS questions, one of them the same for all; what is left of the budget
  suffices for about two thirds;
- kills (SIGKILL) a worker process three times and the database once meanwhile, with all that belongs to it; the server
  starts workers again by itself, and the database is started again after a second;
- asks for one answer that is on record, again and again: while they race, and afterwards, alone and by 16 at a time;
- checks the ledger from its first entry, and every answer that anybody got against it.

`--write` puts the table into benchmarks/CONSOLE.md.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import platform
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pandas as pd
import psycopg
from tests.servers import postgres

from dalenius.session.ledger import Ledger
from dalenius.session.verify import verify
from dalenius.web.datasets import acts as dataset_acts
from dalenius.web.people import acts as people_acts
from dalenius.web.settings import ENVIRONMENT, Settings
from dalenius.web.store import Store

PAGE = Path(__file__).with_name("CONSOLE.md")
ROWS = 100_000
PRICE = 0.001
SLOT, LANES, LEASE = 0.5, 3, 5.0
ON_RECORD = {"question": {"sql": "SELECT COUNT(*) AS n FROM people WHERE age >= 18"}}
BUDGET = {"kind": "zcdp", "rho": str(PRICE)}
PATIENCE = 300.0
NUMBERS = 9


@dataclass
class Told:
    """What one analyst was told about one question."""

    analyst: str
    sql: str
    state: str
    answer: Any = None
    seconds: float = 0.0


@dataclass
class Race:
    """What was seen."""

    told: list[Told] = field(default_factory=list)
    seconds: float = 0.0
    kills: Counter[str] = field(default_factory=Counter)
    recorded: dict[str, list[float]] = field(default_factory=dict)
    retries: int = 0


# -- the machinery ----------------------------------------------------------------------------------------


class Database:
    """A PostgreSQL server that can be killed and started again, on the same port."""

    def __init__(self, server: postgres.PostgresServer) -> None:
        assert server.process is not None
        self.server, self.process = server, server.process

    def with_room(self) -> None:
        """Start it again with more connections than a server for tests has."""
        postgres._stop(self.process)
        assert isinstance(self.process.args, list)
        self.process.args = [
            str(word).replace("max_connections=60", "max_connections=120") for word in self.process.args
        ]
        self.start()

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)  # its children end when they find out
        self.process.wait()

    def start(self) -> None:
        owner = postgres._owner()
        self.process = subprocess.Popen(
            self.process.args, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            cwd="/", env=postgres._environment(), start_new_session=True, **postgres._as(owner),
        )  # fmt: skip
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with contextlib.suppress(psycopg.OperationalError):
                psycopg.connect(self.server.url, connect_timeout=5).close()
                return
            time.sleep(0.05)
        raise RuntimeError("the database did not come back")


class Server:
    """The console, with its workers."""

    def __init__(self, settings: Settings) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        program = (
            "from dalenius.web import serve; from dalenius.web.settings import Settings; import sys; "
            "serve.serve(Settings.from_environment(), '127.0.0.1', int(sys.argv[1]), None, None, '')"
        )
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, str(self.port)],
            env={**os.environ, ENVIRONMENT: settings.to_text()},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.url = f"http://127.0.0.1:{self.port}"

    def workers(self) -> list[int]:
        """The processes that answer requests."""
        found = subprocess.run(
            ["ps", "-o", "pid=,args=", "--ppid", str(self.process.pid)],
            capture_output=True,
            text=True,
            check=True,
        )
        lines = [line.split(None, 1) for line in found.stdout.splitlines()]
        return [int(pid) for pid, said in lines if "spawn_main" in said]

    async def ready(self) -> None:
        async with httpx.AsyncClient(base_url=self.url) as client:
            deadline = time.monotonic() + PATIENCE
            while time.monotonic() < deadline:
                with contextlib.suppress(httpx.HTTPError):
                    if (await client.get("/readyz", timeout=5)).status_code == 200:
                        return
                await asyncio.sleep(0.1)
        raise RuntimeError("the console did not become ready")

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@contextlib.contextmanager
def prepared(analysts: int, workers: int, budget: float, url: str) -> Iterator[tuple[Settings, list[str]]]:
    """A console with a data set and people; the settings, and the analysts' tokens."""
    with tempfile.TemporaryDirectory(prefix="dalenius-console-") as folder:
        data = Path(folder) / "data"
        data.mkdir()
        rng = np.random.default_rng(1977)
        pd.DataFrame({"age": rng.integers(0, 100, ROWS), "pay": rng.integers(0, 100_000, ROWS)}).to_parquet(
            data / "people.parquet"
        )
        settings = Settings(
            Path(folder) / "console", store=url, ledger=url, source_folders=(data,), workers=workers,
            slot_seconds=SLOT, slots=LANES, lease_seconds=LEASE, calls_per_minute=1_000_000,
        )  # fmt: skip
        settings.make_folder()
        store = Store.open(url)
        steward = people_acts.add(store, None, "Stella", "steward", 30)[0]
        registered(store, settings, steward, data / "people.parquet", budget)
        tokens = []
        for number in range(analysts):
            name = f"analyst {number}"
            tokens.append(people_acts.add(store, None, name, "analyst", 30)[2])
            dataset_acts.set_grant(store, steward, "people", name, True)
        store.close()
        yield settings, tokens


def registered(store: Store, settings: Settings, steward: Any, path: Path, budget: float) -> None:
    """The data set, and its account."""
    given = {
        "name": "people",
        "title": "People who were made up",
        "source": {"kind": "file", "files": {"people": path.name}},
        "facts": {
            "people": {
                "age": {"bounds": [0, 100], "nulls": "drop"},
                "pay": {"bounds": [0, 100_000], "nulls": "drop"},
            }
        },
        "unit": {"kind": "row"},
        "budget": {"kind": "zcdp", "rho": str(budget)},
    }
    dataset_acts.register(store, settings, steward, given)
    dataset_acts.open_account(store, settings, steward, "people")


# -- the race ---------------------------------------------------------------------------------------------


def sql_of(analyst: int, number: int) -> str:
    """One question that all ask, and others of each analyst's own."""
    if number == 0:
        return "SELECT COUNT(*) AS n FROM people WHERE age >= 30"
    return f"SELECT COUNT(*) AS n FROM people WHERE pay >= {10 * (NUMBERS * analyst + number)}"


async def asked(client: httpx.AsyncClient, race: Race, analyst: int, number: int) -> Told:
    """One question, until it is told what became of it: a server that is away is asked again."""
    sql, began = sql_of(analyst, number), time.perf_counter()
    body = {"question": {"sql": sql}, "budget": BUDGET}
    word = {"Idempotency-Key": f"{analyst} {number}"}
    told = Told(f"analyst {analyst}", sql, "unknown")
    job = None
    while told.state == "unknown":
        try:
            if job is None:
                answer = await client.post("/api/v1/datasets/people/releases", json=body, headers=word)
            else:
                answer = await client.get(f"/api/v1/jobs/{job}", params={"wait": 20})
        except httpx.HTTPError:
            race.retries += 1
            await asyncio.sleep(0.2)
            continue
        said = answer.json()
        if answer.status_code in (500, 503, 429) or (
            answer.status_code == 409 and "budget" not in said["type"]
        ):
            race.retries += 1
            await asyncio.sleep(0.5)
        elif answer.status_code == 201:
            told.state, told.answer = "on record", said["rows"]
        elif answer.status_code == 202:
            job = said["job"]
        elif answer.status_code == 200:
            if said["state"] == "done":
                told.state, told.answer = "done", said["answer"]["rows"]
            elif said["state"] in ("failed", "refused"):
                told.state = said["state"]
        else:
            told.state = f"refused ({answer.status_code})"
    told.seconds = time.perf_counter() - began
    return told


@contextlib.asynccontextmanager
async def client_of(server: Server, token: str) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(base_url=server.url, headers=headers, timeout=60.0) as client:
        yield client


async def analyst_asks(server: Server, token: str, race: Race, analyst: int, questions: int) -> None:
    async with client_of(server, token) as client:
        for number in range(questions):
            race.told.append(await asked(client, race, analyst, number))


async def reads(
    server: Server, token: str, times: list[float], count: int, until: asyncio.Event | None = None
) -> None:
    """Asks for the answer that is on record, one time after another."""
    async with client_of(server, token) as client:
        for _ in range(count):
            if until is not None and until.is_set():
                return
            began = time.perf_counter()
            with contextlib.suppress(httpx.HTTPError):
                answer = await client.post(
                    "/api/v1/datasets/people/releases", json=ON_RECORD | {"budget": BUDGET}
                )
                if answer.status_code == 201:
                    times.append(time.perf_counter() - began)
            if until is not None:
                await asyncio.sleep(0.05)


async def kills(server: Server, database: Database, race: Race, over: asyncio.Event) -> None:
    """Three workers and the database, one after another."""
    chance = random.Random(1977)
    for what in ("worker", "worker", "database", "worker"):
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(over.wait(), 4 + 4 * chance.random())
        if over.is_set():
            return
        if what == "worker":
            os.kill(chance.choice(server.workers()), signal.SIGKILL)
        else:
            await asyncio.to_thread(database.kill)
            await asyncio.sleep(1.0)
            await asyncio.to_thread(database.start)
        race.kills[what] += 1


async def raced(options: argparse.Namespace, server: Server, database: Database, tokens: list[str]) -> Race:
    """All of it."""
    race, over = Race(), asyncio.Event()
    await server.ready()
    async with client_of(server, tokens[0]) as client:  # one answer on record, for those who only read
        body = ON_RECORD | {"budget": BUDGET}
        job = (await client.post("/api/v1/datasets/people/releases", json=body)).json()["job"]
        assert (await client.get(f"/api/v1/jobs/{job}", params={"wait": 60})).json()["state"] == "done"
    for name, readers in (("alone, before", 1),):
        await reads_by(server, tokens, race, name, readers, options.reads)
    began = time.perf_counter()
    times = race.recorded.setdefault("in the race", [])
    reader = asyncio.create_task(reads(server, tokens[0], times, 10**9, over))
    killer = asyncio.create_task(kills(server, database, race, over))
    await asyncio.gather(
        *(
            analyst_asks(server, token, race, analyst, options.questions)
            for analyst, token in enumerate(tokens)
        )
    )
    race.seconds = time.perf_counter() - began
    over.set()
    await asyncio.gather(reader, killer)
    await server.ready()
    await asyncio.sleep(2.0)
    await reads_by(server, tokens, race, "alone", 1, options.reads)
    await reads_by(server, tokens, race, "16 at a time", 16, options.reads)
    return race


async def reads_by(
    server: Server, tokens: list[str], race: Race, name: str, readers: int, count: int
) -> None:
    """Several analysts read the same record; each has read it once before, so that every worker knows them."""
    times: list[float] = []
    await asyncio.gather(*(reads(server, token, [], 8) for token in tokens[:readers]))
    await asyncio.gather(*(reads(server, token, times, count // readers) for token in tokens[:readers]))
    race.recorded[name] = times


# -- what came of it ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Findings:
    """What must be, and what is."""

    asked: int
    states: Counter[str]
    charged: float
    budget: float
    overspent: bool
    answers_that_differ: int
    charges: int
    answered: int
    in_vain: int
    told_in_vain: int
    verified: bool


def found(race: Race, url: str, budget: float) -> Findings:
    """The ledger, read from its first entry, beside what everybody was told."""
    checked = verify(url)
    ledger = Ledger.open(url)
    account = ledger.existing("people")
    by_question: dict[str, set[str]] = {}
    for told in race.told:
        if told.state in ("done", "on record"):
            by_question.setdefault(told.sql, set()).add(str(told.answer))
    with ledger.reading() as rows:
        tally = rows.memory.accounts[account.seq]
        charges, answered = tally.charges, tally.answered - tally.failed
        in_vain = tally.charges - answered
    differ = sum(len(answers) != 1 for answers in by_question.values())
    amount = float(account.balance().total.amount)
    failed = len({told.sql for told in race.told if told.state == "failed"})
    states = Counter(told.state for told in race.told)
    return Findings(
        len(race.told), states, amount, budget, amount > budget, differ, charges, answered, in_vain, failed,
        checked.ok,
    )  # fmt: skip


def page(options: argparse.Namespace, race: Race, seen: Findings) -> str:
    """The table."""
    waits = np.array([told.seconds for told in race.told])
    lines = [
        "# The console under load",
        "",
        f"Written by `python -m benchmarks.console --analysts {options.analysts} --questions {options.questions} "
        f"--workers {options.workers} --write`, which says what is done. {os.cpu_count()} cores of "
        f"{platform.machine()}, shared by the server, its database and those who ask; load when it began "
        f"{options.load:.1f}.",
        "",
        f"{options.workers} worker processes with {LANES} lanes each, store and ledger in one PostgreSQL, a table of "
        f"{ROWS:,} rows; slots of {SLOT:g} s, leases of {LEASE:g} s. Killed while they raced: "
        f"{race.kills['worker']} workers and {race.kills['database']} database, with SIGKILL.",
        "",
        "| the race | |",
        "|---|---:|",
        f"| analysts | {options.analysts} |",
        f"| questions asked | {seen.asked} in {race.seconds:.0f} s |",
        *(f"| told: {state} | {number} |" for state, number in sorted(seen.states.items())),
        f"| requests sent again, since a server was away | {race.retries} |",
        f"| wait for an outcome, median and largest | {np.median(waits):.1f} s, {waits.max():.1f} s |",
        f"| charged, of {seen.budget:g} | {seen.charged:g} |",
        f"| **overspent** | **{'YES' if seen.overspent else 0}** |",
        f"| charges, and answers on record | {seen.charges}, {seen.answered} |",
        f"| charged in vain (killed between charge and record) | {seen.in_vain} |",
        f"| ... of which those who asked were told | {seen.told_in_vain} |",
        f"| questions with two different answers | {seen.answers_that_differ} |",
        f"| **lost** (charged in vain, and not told) | **{max(0, seen.in_vain - seen.told_in_vain)}** |",
        f"| the ledger, checked from its first entry | {'sound' if seen.verified else 'DAMAGED'} |",
        "",
        "| an answer that is on record | times | median | 99th percentile |",
        "|---|---:|---:|---:|",
    ]
    for name, times in race.recorded.items():
        if times:
            at = 1e3 * np.quantile(times, [0.5, 0.99])
            lines.append(f"| {name} | {len(times)} | {at[0]:.1f} ms | {at[1]:.1f} ms |")
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.console", description=__doc__.splitlines()[0])
    parser.add_argument("--analysts", type=int, default=200)
    parser.add_argument("--questions", type=int, default=5)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--reads", type=int, default=400)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    options.load = os.getloadavg()[0]
    different = options.analysts * (options.questions - 1) + 2
    budget = round(PRICE * max(2, 2 * different // 3), 6)
    with postgres.running() as server:
        database = Database(server)
        database.with_room()
        url = server.fresh()
        try:
            with prepared(options.analysts, options.workers, budget, url) as (settings, tokens):
                console = Server(settings)
                try:
                    race = asyncio.run(raced(options, console, database, tokens))
                finally:
                    console.stop()
                text = page(options, race, found(race, url, budget))
        finally:
            if database.process is not server.process:
                postgres._stop(database.process)
    print(text)
    if options.write:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
