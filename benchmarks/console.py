"""The console under load: analysts who race for one budget, while workers and the database are killed.

`python -m benchmarks.console [--analysts 200] [--questions 5] [--workers 4] [--write]` starts PostgreSQL (for the store
and the ledger) and the console with that many worker processes, on this machine, and then

- lets all analysts ask at once, each QUESTIONS questions, one of them the same for all; what is left of the budget
  suffices for about two thirds;
- kills (SIGKILL) a worker process three times and the database once, spread over the race; the server starts workers
  again by itself, and the database is started again after a second;
- for one of these kills the data are held back (they are a view of PostgreSQL behind a lock), so that the worker ends
  between charges and their records: what it was asked is charged in vain, and those who asked must be told so;
- asks for one answer that is on record, again and again: while they race (from a process of its own), and afterwards,
  alone and by 16 at a time;
- checks the ledger from its first entry, and every answer that anybody got against it.

`--write` puts the table into benchmarks/CONSOLE.md.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import multiprocessing
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
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import numpy as np
import psycopg
from tests.servers import postgres

from dalenius.session.ledger import Ledger
from dalenius.session.verify import verify
from dalenius.web.datasets import acts as dataset_acts
from dalenius.web.people import acts as people_acts
from dalenius.web.settings import ENVIRONMENT, Settings
from dalenius.web.store import Store

PAGE = Path(__file__).with_name("CONSOLE.md")
PRICE = 0.001
ON_RECORD = {"question": {"sql": "SELECT COUNT(*) AS n FROM people WHERE age >= 18"}}
BUDGET = {"kind": "zcdp", "rho": str(PRICE)}
PATIENCE = 300.0
NUMBERS = 9
WARM = 8
"""Requests of each reader before its times count."""
SPAWNED = multiprocessing.get_context("spawn")
PLAN = ((0.15, "worker"), (0.3, "worker at work"), (0.5, "database"), (0.7, "worker"))
"""What is killed, and how much of the race is over by then."""


@dataclass(frozen=True)
class Size:
    """How much of it there is."""

    analysts: int = 200
    questions: int = 5
    workers: int = 4
    reads: int = 400
    rows: int = 100_000
    slot: float = 0.5
    lanes: int = 3
    lease: float = 5.0
    isolation: str = "process"
    kills: tuple[tuple[float, str], ...] = PLAN

    @property
    def budget(self) -> float:
        """For about two thirds of the different questions, and for the one that is only read again."""
        different = self.analysts * (self.questions - 1) + 2
        return round(PRICE * max(2, 2 * different // 3), 6)


@dataclass
class Told:
    """What one analyst was told about one question."""

    analyst: str
    sql: str
    state: str
    answer: Any = None
    words: str = ""
    seconds: float = 0.0


@dataclass
class Race:
    """What was seen."""

    told: list[Told] = field(default_factory=list)
    seconds: float = 0.0
    kills: list[tuple[str, float]] = field(default_factory=list)
    """What was killed, and when."""
    recorded: dict[str, list[float]] = field(default_factory=dict)
    processor: dict[str, float] = field(default_factory=dict)
    """Seconds of the server's processors for each of these."""
    retries: int = 0
    go: asyncio.Event = field(default_factory=asyncio.Event)
    """Whether new questions are asked: not while a kill is prepared, which a quick race would be over before."""


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
            cwd="/", env=postgres._environment(), start_new_session=True,
            preexec_fn=postgres._end_with_us() if sys.platform == "linux" else None, **postgres._as(owner),
        )  # fmt: skip
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with contextlib.suppress(psycopg.OperationalError):
                psycopg.connect(self.server.url, connect_timeout=5).close()
                return
            time.sleep(0.05)
        raise RuntimeError("the database did not come back")


GATE = 1977
"""The lock that the data are behind."""


class Data:
    """The table, in a database of its own: a view that waits while somebody holds the lock."""

    def __init__(self, url: str, rows: int) -> None:
        self.url = url
        rng = np.random.default_rng(1977)
        columns = zip(
            rng.integers(0, 100, rows).tolist(), rng.integers(0, 100_000, rows).tolist(), strict=True
        )
        with psycopg.connect(url) as connection:
            connection.execute("CREATE TABLE made_up (age integer, pay integer)")
            with connection.cursor().copy("COPY made_up FROM STDIN") as copy:
                for row in columns:
                    copy.write_row(row)
            connection.execute(
                "CREATE VIEW people AS SELECT age, pay FROM made_up WHERE "
                f"(SELECT pg_advisory_xact_lock_shared({GATE}) IS NOT NULL)"  # once a question
            )

    @property
    def server(self) -> str:
        """As the settings list it."""
        return urlsplit(self.url).netloc.rpartition("@")[2]

    @property
    def source(self) -> dict[str, Any]:
        """As a steward registers it."""
        parts = urlsplit(self.url)
        return {
            "kind": "postgres", "host": parts.hostname, "port": parts.port, "database": parts.path[1:],
            "user": parts.username, "password": parts.password, "sslmode": "disable", "tables": "people",
        }  # fmt: skip

    @contextlib.contextmanager
    def held_back(self) -> Iterator[None]:
        """Whoever reads it waits."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"SELECT pg_advisory_lock({GATE})")
            yield

    def waiting(self) -> int:
        """How many wait."""
        with psycopg.connect(self.url) as connection:
            query = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid = %s"
            found = connection.execute(query, (GATE,)).fetchone()
        assert found is not None
        return int(found[0])


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

    def processor(self) -> float:
        """Seconds of a processor that those who answer requests have used so far."""
        used = 0
        for worker in self.workers():
            with contextlib.suppress(OSError):
                parts = Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()
                used += int(parts[11]) + int(parts[12])
        return used / os.sysconf("SC_CLK_TCK")

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
def prepared(size: Size, url: str, data: Data) -> Iterator[tuple[Settings, list[str]]]:
    """A console with a data set and people; the settings, and the analysts' tokens."""
    with tempfile.TemporaryDirectory(prefix="dalenius-console-") as folder:
        settings = Settings(
            Path(folder) / "console", store=url, ledger=url, source_schemes=("postgresql",),
            source_hosts=(data.server,), workers=size.workers, slot_seconds=size.slot, slots=size.lanes,
            lease_seconds=size.lease, isolation=size.isolation, calls_per_minute=1_000_000,
        )  # fmt: skip
        settings.make_folder()
        store = Store.open(url)
        steward = people_acts.add(store, None, "Stella", "steward", 30)[0]
        registered(store, settings, steward, data, size.budget)
        tokens = []
        for number in range(size.analysts):
            name = f"analyst {number}"
            tokens.append(people_acts.add(store, None, name, "analyst", 30)[2])
            dataset_acts.set_grant(store, steward, "people", name, True)
        store.close()
        yield settings, tokens


def registered(store: Store, settings: Settings, steward: Any, data: Data, budget: float) -> None:
    """The data set, and its account."""
    given = {
        "name": "people",
        "title": "People who were made up",
        "source": data.source,
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
                told.state, told.words = said["state"], said["detail"]
        else:
            told.state = f"refused ({answer.status_code})"
    told.seconds = time.perf_counter() - began
    return told


@contextlib.asynccontextmanager
async def client_of(url: str, token: str) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=60.0) as client:
        yield client


async def analyst_asks(server: Server, token: str, race: Race, analyst: int, questions: int) -> None:
    async with client_of(server.url, token) as client:
        for number in range(questions):
            await race.go.wait()
            race.told.append(await asked(client, race, analyst, number))


async def reads(
    url: str,
    token: str,
    times: list[float],
    count: int,
    until: Event | None = None,
    ready: asyncio.Barrier | None = None,
) -> None:
    """Asks for the answer that is on record, one time after another. ready: where all readers, each connected and
    known to its worker, wait for each other: what it costs to make the readers is no part of their times."""
    async with client_of(url, token) as client:
        for number in range(count if ready is None else WARM + count):
            if until is not None and until.is_set():
                return
            if ready is not None and number == WARM:
                await ready.wait()
            began = time.perf_counter()
            with contextlib.suppress(httpx.HTTPError):
                answer = await client.post(
                    "/api/v1/datasets/people/releases", json=ON_RECORD | {"budget": BUDGET}
                )
                if answer.status_code == 201 and (ready is None or number >= WARM):
                    times.append(time.perf_counter() - began)
            if until is not None:
                await asyncio.sleep(0.05)


def _reader(url: str, token: str, over: Event) -> tuple[BaseProcess, Connection]:
    """Reads while the others race, in a process of its own: how long this one takes for their clients is not its
    wait."""
    told, tells = SPAWNED.Pipe(duplex=False)
    process = SPAWNED.Process(target=_read, args=(url, token, over, tells), daemon=True)
    process.start()
    return process, told


def _read(url: str, token: str, over: Event, tells: Connection) -> None:
    times: list[float] = []
    asyncio.run(reads(url, token, times, 10**9, over))
    tells.send(times)


async def kills(size: Size, server: Server, database: Database, data: Data, race: Race) -> None:
    """One after another, as planned."""
    chance, began = random.Random(1977), time.perf_counter()
    for part, what in size.kills:
        async with asyncio.timeout(PATIENCE):
            while len(race.told) < part * size.analysts * size.questions:
                await asyncio.sleep(0.05)
        if what == "worker":
            os.kill(chance.choice(await _workers(server, 1)), signal.SIGKILL)
        elif what == "worker at work":
            race.go.clear()
            await _kill_at_work(size, await _workers(server, size.workers), data, race)
        else:
            database.kill()
            await asyncio.sleep(1.0)
            database.start()  # not in a thread: the system ends it with the thread that started it
        race.kills.append((what, time.perf_counter() - began))


async def _workers(server: Server, number: int) -> list[int]:
    """The workers, once there are so many: those that were killed are started again."""
    while len(found := server.workers()) < number:
        await asyncio.sleep(0.05)
    return found


async def _kill_at_work(size: Size, workers: list[int], data: Data, race: Race) -> None:
    """While so many questions wait for the data, which they read after the charge, that the worker has one of them."""
    async with asyncio.timeout(PATIENCE):
        with data.held_back():
            race.go.set()
            while data.waiting() <= (size.workers - 1) * size.lanes:
                await asyncio.sleep(0.05)
            os.kill(workers[0], signal.SIGKILL)
            await asyncio.sleep(0.3)  # its lanes end when they find out


async def raced(size: Size, server: Server, database: Database, data: Data, tokens: list[str]) -> Race:
    """All of it."""
    race, over = Race(), SPAWNED.Event()
    await server.ready()
    async with client_of(server.url, tokens[0]) as client:  # one answer on record, for those who only read
        body = ON_RECORD | {"budget": BUDGET}
        job = (await client.post("/api/v1/datasets/people/releases", json=body)).json()["job"]
        assert (await client.get(f"/api/v1/jobs/{job}", params={"wait": 60})).json()["state"] == "done"
    for name, readers in (("alone, before", 1),):
        await reads_by(server, tokens, race, name, readers, size.reads)
    began = time.perf_counter()
    race.go.set()
    reader, times = _reader(server.url, tokens[0], over)
    async with asyncio.TaskGroup() as group:  # where one fails, the others need not be waited for
        group.create_task(kills(size, server, database, data, race))
        for analyst, token in enumerate(tokens):
            group.create_task(analyst_asks(server, token, race, analyst, size.questions))
    race.seconds = time.perf_counter() - began
    over.set()
    race.recorded["in the race"] = await asyncio.to_thread(times.recv)
    reader.join()
    await server.ready()
    await asyncio.sleep(2.0)
    await reads_by(server, tokens, race, "alone", 1, size.reads)
    await reads_by(server, tokens, race, "16 at a time", 16, size.reads)
    return race


async def reads_by(
    server: Server, tokens: list[str], race: Race, name: str, readers: int, count: int
) -> None:
    """Several analysts read the same record, each over a connection of their own."""
    times: list[float] = []
    ready = asyncio.Barrier(readers)
    before, each = server.processor(), count // readers
    await asyncio.gather(*(reads(server.url, token, times, each, ready=ready) for token in tokens[:readers]))
    race.recorded[name] = times
    race.processor[name] = (server.processor() - before) / (readers * (each + WARM))


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


def found(race: Race, size: Size, url: str) -> Findings:
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
    failed = sum(told.state == "failed" for told in race.told)  # each has a charge of its own
    states = Counter(told.state for told in race.told)
    return Findings(
        len(race.told), states, amount, size.budget, amount > size.budget, differ, charges, answered, in_vain, failed,
        checked.ok,
    )  # fmt: skip


def page(size: Size, race: Race, seen: Findings, load: float) -> str:
    """The table."""
    waits = np.array([told.seconds for told in race.told])
    lines = [
        "# The console under load",
        "",
        f"Written by `python -m benchmarks.console --analysts {size.analysts} --questions {size.questions} "
        f"--workers {size.workers} --write`, which says what is done. {os.cpu_count()} cores of "
        f"{platform.machine()}, shared by the server, its database and those who ask; load when it began "
        f"{load:.1f}.",
        "",
        f"{size.workers} worker processes with {size.lanes} lanes each, store and ledger in one PostgreSQL, a table of "
        f"{size.rows:,} rows; slots of {size.slot:g} s, leases of {size.lease:g} s. Killed while they raced: "
        f"{', '.join(f'a {what} after {when:.0f} s' for what, when in race.kills)}, with SIGKILL.",
        "",
        "| the race | |",
        "|---|---:|",
        f"| analysts | {size.analysts} |",
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
        "The aim is a 99th percentile below 50 ms for an answer that is on record; here server, database and all "
        "who ask share these cores. Each takes 2 to 3 ms of a worker: sixteen who ask without a pause wait for one "
        "another.",
        "",
        "| an answer that is on record | times | median | 99th percentile | processor time of the server, each |",
        "|---|---:|---:|---:|---:|",
    ]
    for name, times in race.recorded.items():
        if times:
            at = 1e3 * np.quantile(times, [0.5, 0.99])
            used = f"{1e3 * race.processor[name]:.1f} ms" if name in race.processor else ""
            lines.append(f"| {name} | {len(times)} | {at[0]:.1f} ms | {at[1]:.1f} ms | {used} |")
    return "\n".join([*lines, ""])


def held(size: Size) -> tuple[Race, Findings]:
    """A race from the start to the end, on a PostgreSQL server of its own."""
    with postgres.running() as server:
        database = Database(server)
        database.with_room()
        url, data = server.fresh(), Data(server.fresh(), size.rows)
        try:
            with prepared(size, url, data) as (settings, tokens):
                console = Server(settings)
                try:
                    race = asyncio.run(raced(size, console, database, data, tokens))
                finally:
                    console.stop()
                return race, found(race, size, url)
        finally:
            if database.process is not server.process:
                postgres._stop(database.process)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.console", description=__doc__.splitlines()[0])
    for name in ("analysts", "questions", "workers", "reads"):
        parser.add_argument(f"--{name}", type=int, default=getattr(Size, name))
    parser.add_argument("--write", action="store_true")
    options = vars(parser.parse_args())
    write, load = options.pop("write"), os.getloadavg()[0]
    size = Size(**options)
    text = page(size, *held(size), load)
    print(text)
    if write:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
