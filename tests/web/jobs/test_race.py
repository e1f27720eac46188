"""Analysts who race for one budget on PostgreSQL, and a worker that is killed: benchmarks/console.py in small."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

from dalenius.session.verify import verify
from tests.servers.postgres import PostgresServer
from tests.web.jobs.probe import Bench, opened

ANALYSTS, QUESTIONS, WORKERS = 6, 10, 3
FITTING = 50
"""The budget is 1, and a question costs 0.02; 55 different ones are asked."""


def work(folder: str, where: str) -> None:
    """A server process with workers in threads, until it is killed."""
    bench = Bench(Path(folder), where, where, lanes=2, lease=0.6)
    bench.jobs.workers.start()
    time.sleep(60)


def test_nothing_is_overspent_or_lost_in_a_race_with_a_kill(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    where = postgres_server.fresh()
    bench = Bench(tmp_path, where, where, slot=0.1, limit=5.0)
    bench.opener("people", None)
    touched = str(tmp_path / "touched")
    jobs = []
    for number in range(QUESTIONS):
        for analyst in range(ANALYSTS):
            text = "all ask" if number == 0 else f"{analyst} asks {number}"
            id = bench.submit(text, f"analyst {analyst}", touched=touched, seconds=0.02, cost="0.02")
            jobs.append((text, id))
    context: Any = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    processes = [
        context.Process(target=work, args=(str(tmp_path), where), daemon=True) for _ in range(WORKERS)
    ]
    try:
        for process in processes:
            process.start()
        while not Path(touched).exists() or len(Path(touched).read_text().split("\n")) < 10:
            time.sleep(0.01)
        os.kill(processes[0].pid, signal.SIGKILL)  # in the middle of two questions, or nearly
        ends = [(text, bench.after(id, 60.0)) for text, id in jobs]
    finally:
        for process in processes:
            process.kill()
            process.join()
    told = Counter(end["state"] for _, end in ends)
    account = opened(where, "people", None).account
    assert account.state().balance.total.amount <= 1
    assert verify(where).ok
    # Each question was computed once for each charge, and each answer that anybody has is the one on record.
    computed = Counter(Path(touched).read_text().splitlines())
    charged = int(account.state().balance.total.amount * 50)
    assert charged == FITTING
    assert sum(computed.values()) <= charged
    for text, end in ends:
        if end["state"] == "done":
            assert account.recorded(text) == str(end["answer"])
        else:
            assert account.recorded(text) is None or end["state"] == "failed"
    # All were told what became of theirs: no more failed than the killed process had under way.
    assert set(told) <= {"done", "failed", "refused"}
    assert told["failed"] <= 2
    assert told["refused"] > 0
    answered = {text for text, end in ends if end["state"] == "done"}
    assert len(answered) + told["failed"] == charged
