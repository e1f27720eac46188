"""`python -m tests.session.stress WHERE FOLDER SEED`: processes that race for a budget, and get killed.

WORKERS processes ask RELEASES questions each. Now and then one of them is killed (SIGKILL) and another takes
its place, starting with the question the dead one was at: if the answer was on record it comes for nothing,
else it is charged again. What a worker does it first writes to its own file in FOLDER, a line at a time:

    begin N, touch N (the data was looked at), deliver N ANSWER, refuse N

Writes to a file are not lost when a process is killed, so the files tell what got out.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

import psycopg  # noqa: F401  here once, and not in every worker

import dalenius as dp
from dalenius.errors import BudgetExceeded
from dalenius.session.ledger import Ledger
from tests.session.helpers import rho

WORKERS, RELEASES = 8, 500
BUDGET = 6.5
PRICES = ("0.005", "0.01", "0.02", "0.04")
"""About 350 of the 4000 releases fit, and all processes are at it when the budget runs out."""
SHARED = 10
"""Every tenth question is one that all workers ask."""


def question(worker: int, number: int) -> tuple[str, str]:
    """The text of a question and its price."""
    who = "all" if number % SHARED == 0 else f"worker {worker}"
    text = f"{who} asks {number}"
    return text, random.Random(text).choice(PRICES)


def work(where: str, folder: Path, worker: int, start: int) -> None:
    log = os.open(folder / f"{worker}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def say(text: str) -> None:
        os.write(log, f"{text}\n".encode())

    account = Ledger.open(where, patience=120).account("people", dp.ZCDP(BUDGET))
    for number in range(start, RELEASES):
        text, price = question(worker, number)
        say(f"begin {number}")

        def compute(number: int = number) -> str:
            say(f"touch {number}")
            return f"[{random.getrandbits(62)}]"

        try:
            say(f"deliver {number} {account.ask(text, rho(price), compute).answer}")
        except BudgetExceeded:
            say(f"refuse {number}")


def next_number(folder: Path, worker: int) -> int:
    """Where the worker's successor starts: at the question it was at, unless that is done."""
    path = folder / f"{worker}.log"
    lines = path.read_text().splitlines() if path.exists() else []
    if not lines:
        return 0
    word, number, *_ = lines[-1].split()
    return int(number) + (word in ("deliver", "refuse"))


def started(where: str, folder: Path, worker: int) -> int:
    process = os.fork()
    if process == 0:
        try:
            random.seed()
            work(where, folder, worker, next_number(folder, worker))
        except BaseException:
            import traceback

            (folder / f"{worker}.error").write_text(traceback.format_exc())
            os._exit(1)
        os._exit(0)
    return process


def main(where: str, folder: Path, seed: int) -> None:
    chance = random.Random(seed)
    living = {started(where, folder, worker): worker for worker in range(WORKERS)}
    kills = 0
    start = time.monotonic()
    strike = start + 0.2
    while living:
        process, status = os.waitpid(-1, os.WNOHANG)
        if process:
            worker = living.pop(process)
            if os.WIFSIGNALED(status):
                living[started(where, folder, worker)] = worker
            elif status:
                raise SystemExit((folder / f"{worker}.error").read_text())
            continue
        if time.monotonic() >= strike:
            os.kill(chance.choice(sorted(living)), signal.SIGKILL)
            kills += 1
            # About 20 kills in the first second or two, and ever fewer on a slow machine: it must get on.
            now = time.monotonic()
            strike = now + chance.expovariate(1.0) * (0.05 + (now - start) / 50)
        time.sleep(0.002)
    print(kills)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
