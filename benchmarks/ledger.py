"""Small releases through one ledger: how many a minute, one process or several, on either store.

`python -m benchmarks.ledger [LEDGER] [--seconds 10] [--processes 1]` on its own (LEDGER: a new file in the
system's temporary folder unless a path or a postgresql:// URL is given); `measure` for a report.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import dalenius as dp
from dalenius.session.ledger import Ledger
from dalenius.session.verify import verify

TARGET = 1000.0
"""Releases a minute to reach through one SQLite ledger."""


@dataclass(frozen=True)
class Speed:
    """What was measured. A release is a charge and an answer, both durable."""

    store: str
    processes: int
    releases: int
    seconds: float
    per_minute: float
    repeats_per_minute: float
    """The same questions again: answered from the record."""
    verify_seconds: float
    sync_ms: float
    """One fsync of a small file on the same disk, for comparison."""

    @property
    def met(self) -> bool:
        return self.per_minute >= TARGET


def measure(where: str | None = None, seconds: float = 10.0, processes: int = 1) -> Speed:
    """Release for so many seconds, then ask everything again, then verify."""
    with tempfile.TemporaryDirectory(prefix="dalenius-bench-") as folder:
        place = where or str(Path(folder) / "bench.ledger")
        sync = _sync_ms(Path(folder))
        Ledger.open(place).account("bench", dp.ZCDP(1000.0))
        context = multiprocessing.get_context("spawn")
        start = time.perf_counter()
        with context.Pool(processes) as pool:
            found = pool.starmap(_work, [(place, worker, seconds) for worker in range(processes)])
        releases = sum(count for count, _, _ in found)
        elapsed = max(spent for _, spent, _ in found)
        again = sum(repeats for _, _, repeats in found)
        start = time.perf_counter()
        checked = verify(place)
        assert checked.ok, checked.problems
        return Speed(
            store="PostgreSQL" if "://" in place else "SQLite",
            processes=processes,
            releases=releases,
            seconds=elapsed,
            per_minute=60 * releases / elapsed,
            repeats_per_minute=again,
            verify_seconds=time.perf_counter() - start,
            sync_ms=sync,
        )


def _work(place: str, worker: int, seconds: float) -> tuple[int, float, float]:
    """How many releases, in how many seconds, and how many repeats a minute."""
    account = Ledger.open(place).account("bench", dp.ZCDP(1000.0))
    cost = account.filter.cost(dp.losses.gaussian(sigma=100.0))
    start = time.perf_counter()
    count = 0
    while time.perf_counter() - start < seconds:
        account.ask(f"{worker} {count}", cost, lambda: '{"n": [41]}')
        count += 1
    elapsed = time.perf_counter() - start
    again = time.perf_counter()
    for number in range(count):
        assert account.ask(f"{worker} {number}", cost, lambda: "null").is_free
    return count, elapsed, 60 * count / (time.perf_counter() - again)


def _sync_ms(folder: Path, times: int = 50) -> float:
    with (folder / "sync").open("wb") as file:
        start = time.perf_counter()
        for _ in range(times):
            file.write(b"x" * 100)
            file.flush()
            os.fsync(file.fileno())
        return (time.perf_counter() - start) / times * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ledger", description=__doc__.splitlines()[0])
    parser.add_argument("ledger", nargs="?", help="a new file, or a postgresql:// URL")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    found = measure(options.ledger, options.seconds, options.processes)
    for name, value in asdict(found).items():
        print(f"{name:20} {value if not isinstance(value, float) else f'{value:.4g}'}")
    print(f"{'target':20} {TARGET:g} a minute: {'met' if found.met else 'NOT met'}")


if __name__ == "__main__":
    main()
