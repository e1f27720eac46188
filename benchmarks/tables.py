"""Tables: the same questions with privacy, without it, and by the peers, each in its own process."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks import ledger
from benchmarks.ask import Peers
from benchmarks.cases import Check
from benchmarks.report import table

WORKER = Path(__file__).with_name("tables_peers.py")
ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "benchmarks"
TIMEOUT = 900.0

HEAD = """# Benchmarks: tables

Written by `make bench` (this part alone: `python -m benchmarks --only tables`); every ratio is between two
measurements of this one run. Rows are (g, id, x): 1,000 groups, about ten rows for each id (of which by_id keeps at
most four), x uniform on [0, 100], one Parquet file. Each measurement is a process of its own that opens the file, asks,
and has the answer in hand: medians of three calls after one to warm up (one call at 1e8 rows, and of a peer that takes
more than 8 s). Ours includes the ledger's durable charge. "plain" is DuckDB (or Spark) without privacy, its own
approximate quantiles included. Peaks of memory are of the whole process, imports included, but for Spark, which has a
process of its own that is not counted; after the plus is what came with the question, everything having been imported
and run once on a small file.
"""

LEDGER = """## Small releases through one SQLite ledger

A release is a charge and an answer, both durable; a repeat is answered from the record. Target: {target:.0f} a minute
from one process: {judged}.
"""


@dataclass
class TableRow:
    """One question at one size."""

    case: str
    rows: int
    seconds: float
    peak: float
    more: float
    others: dict[str, float] = field(default_factory=dict)
    peaks: dict[str, float] = field(default_factory=dict)
    mores: dict[str, float] = field(default_factory=dict)
    notes: str = ""
    checks: list[Check] = field(default_factory=list)


def run(
    peers: Peers | None, quick: bool, about: dict[str, str], out: Path, say: Callable[[str], None]
) -> None:
    """Every case; writes TABLES.md and tables.json."""
    sizes = (10**5, 10**6) if quick else (10**6, 10**7, 10**8)
    main = sizes[0] if quick else 10**7
    if peers is not None:
        peers = replace(peers, worker=WORKER, timeout=TIMEOUT)
    say("\nTables")
    rows = []
    for size in sizes:
        path = made(size)
        row = ours("grouped", path, size)
        add_plain(row, "plain_grouped", path, size)
        if size == main:
            row.checks.append(Check("times the plain query", 3.0, row.seconds / row.others["plain"]))
            ask(row, peers, "opendp", "grouped", path)
            faster(row, "opendp", 5.0)
            row.checks.append(
                Check("memory for the question, times the plain query's", 1.5, row.more / row.mores["plain"])
            )
        rows.append(row)
        say(f"   {line(row)}")
    path = made(main)
    found = ours("discovered", path, main)
    ask(found, peers, "opendp", "discovered", path)
    faster(found, "opendp", 5.0)
    rows.append(found)
    for case in ("median", "quantiles"):
        found = ours(case, path, main)
        add_plain(found, f"plain_{case}", path, main)
        for peer, least in (("opendp", 3.0), ("diffprivlib", 50.0)):
            ask(found, peers, peer, case, path)
            faster(found, peer, least)
        rows.append(found)
    by_id = ours("by_id", path, main)
    add_plain(by_id, "plain_by_id", path, main)
    times = by_id.seconds / by_id.others["plain"]
    by_id.checks.append(Check("times a plain query with the same bounding", 3.0, times))
    rows.append(by_id)
    rows.append(ours("spark", path, main))
    add_plain(rows[-1], "plain_spark", path, main)
    rows[-1].notes = "`grouped` on local Spark, already started; plain is Spark without privacy"
    for row in rows[len(sizes) :]:
        say(f"   {line(row)}")
    speeds = [ledger.measure(seconds=5.0 if quick else 60.0, processes=n) for n in (1, 8)]
    (out / "TABLES.md").write_text(markdown(rows, speeds, about), encoding="utf-8")
    told = [{**asdict(r), "checks": [{**asdict(c), "met": c.met} for c in r.checks]} for r in rows]
    data = {"about": about, "rows": told, "ledger": [asdict(speed) for speed in speeds]}
    (out / "tables.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    checks = [check for row in rows for check in row.checks]
    checks += [Check("releases a minute", ledger.TARGET, speeds[0].per_minute, at_least=True)]
    say(f"{sum(c.met for c in checks)} of {len(checks)} targets met; written to {out / 'TABLES.md'}")


def made(size: int) -> Path:
    """The Parquet file of so many rows, written once."""
    import duckdb

    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"rows-{size}-by-10.parquet"
    if not path.exists():
        ids = max(1, size // 10)
        duckdb.sql(
            f"COPY (SELECT (hash(i) % 1000)::BIGINT AS g, (hash(i + 7) % {ids})::BIGINT AS id, "
            f"(hash(i + 13) % 1000000007) / 1e7 AS x FROM range({size}) t(i)) TO '{path}' (FORMAT PARQUET)"
        )
    return path


def ours(case: str, path: Path, size: int) -> TableRow:
    return TableRow(case, size, *measured(case, path, size))


def add_plain(row: TableRow, case: str, path: Path, size: int) -> None:
    row.others["plain"], row.peaks["plain"], row.mores["plain"] = measured(case, path, size)


def measured(case: str, path: Path, size: int) -> tuple[float, float, float]:
    """Median seconds after a warm-up, peak memory of the process, and how much of it came with the question."""
    times = 1 if size >= 10**8 else 4
    command = [sys.executable, "-m", "benchmarks.tables_run", case, str(path), str(made(10**5)), str(times)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, env=os.environ)
    found = json.loads(done.stdout.strip().splitlines()[-1])
    seconds = found["seconds"]
    return statistics.median(seconds[1:] or seconds), float(found["peak"]), float(found["more"])


def ask(row: TableRow, peers: Peers | None, peer: str, task: str, path: Path) -> None:
    if peers is None:
        return
    reply = peers.ask(peer, task, path=str(path), groups=1000)
    if reply.error is not None:
        row.notes += f"{peer}: {reply.error[:80]} "
    elif reply.time is not None:
        row.others[peer] = reply.time.median


def faster(row: TableRow, peer: str, least: float) -> None:
    if peer in row.others:
        row.checks.append(
            Check(f"{peer} takes times ours", least, row.others[peer] / row.seconds, at_least=True)
        )


def line(row: TableRow) -> str:
    others = ", ".join(f"{name} {clock_of(value)}" for name, value in row.others.items())
    ours = f"{clock_of(row.seconds)}, {row.peak / 2**20:.0f} MiB"
    return f"{row.case} {row.rows:.0e}: {ours}; {others} {row.notes}"


def clock_of(seconds: float) -> str:
    return f"{seconds:.3g} s"


def memory(peak: float, more: float) -> str:
    return f"{(peak - more) / 2**20:.0f} + {more / 2**20:.0f} MiB"


def verdict(check: Check) -> str:
    return f"{check.what}: {check.measured:.3g} ({'met' if check.met else '**missed**'}, {check.target:g})"


def markdown(rows: list[TableRow], speeds: list[ledger.Speed], about: dict[str, Any]) -> str:
    head = ["question", "rows", "ours", "peak", "plain", "its peak", "OpenDP", "diffprivlib"]
    head.append("targets")
    body = []
    for row in rows:
        others = [row.others.get(name) for name in ("plain", "opendp", "diffprivlib")]
        times = ["" if seconds is None else clock_of(seconds) for seconds in others]
        peak = memory(row.peaks["plain"], row.mores["plain"]) if "plain" in row.peaks else ""
        own = memory(row.peak, row.more)
        told = "; ".join(verdict(check) for check in row.checks)
        first = [row.case, f"{row.rows:.0e}", clock_of(row.seconds), own, times[0], peak, *times[1:]]
        body.append([*first, f"{told} {row.notes}".strip()])
    told = ", ".join(f"{key} {value}" for key, value in about.items())
    small = [
        [
            str(s.processes),
            f"{s.releases:_}",
            f"{s.per_minute:.0f}",
            f"{s.repeats_per_minute:.0f}",
            f"{s.sync_ms:.2f} ms",
        ]
        for s in speeds
    ]
    columns = ["processes", "releases", "a minute", "repeats a minute", "one fsync"]
    judged = "met" if speeds[0].met else "**missed**"
    below = LEDGER.format(target=ledger.TARGET, judged=judged)
    return f"{HEAD}\n{told}.\n\n{table(head, body)}\n\n{below}\n{table(columns, small)}\n"
