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

from benchmarks.ask import Peers
from benchmarks.cases import Check
from benchmarks.report import table

WORKER = Path(__file__).with_name("tables_peers.py")
ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "benchmarks"
TIMEOUT = 900.0

HEAD = """# Benchmarks: tables

Written by `make bench` (this part alone: `python -m benchmarks --only tables`); every ratio is between two
measurements of this one run. Rows are (g, id, x): 1,000 groups, about 2.5 rows for each id, x uniform on [0,
100], one Parquet file. Each measurement is a process of its own that opens the file, asks, and has the answer
in hand: medians of three calls after one to warm up (one call at 1e8 rows). Ours includes the ledger's
durable charge. "plain" is DuckDB without privacy.
"""


@dataclass
class TableRow:
    """One question at one size."""

    case: str
    rows: int
    seconds: float
    peak: float
    others: dict[str, float] = field(default_factory=dict)
    peaks: dict[str, float] = field(default_factory=dict)
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
            if "opendp" in row.others:
                row.checks.append(
                    Check("OpenDP takes times ours", 5.0, row.others["opendp"] / row.seconds, at_least=True)
                )
            row.checks.append(
                Check("peak memory, times the plain query's", 1.5, row.peak / row.peaks["plain"])
            )
        rows.append(row)
        say(f"   {line(row)}")
    path = made(main)
    single = ours("median", path, main)
    ask(single, peers, "opendp", "median", path)
    ask(single, peers, "diffprivlib", "median", path)
    five = ours("quantiles", path, main)
    add_plain(five, "plain_quantiles", path, main)
    for name, least in (("opendp", 3.0), ("diffprivlib", 50.0)):
        if name in single.others:
            times = single.others[name] / single.seconds
            single.checks.append(Check(f"{name} takes times ours", least, times, at_least=True))
    rows += [single, five]
    by_id = ours("by_id", path, main)
    add_plain(by_id, "plain_by_id", path, main)
    times = by_id.seconds / by_id.others["plain"]
    by_id.checks.append(Check("times a plain query with the same bounding", 3.0, times))
    rows.append(by_id)
    rows.append(ours("spark", path, main))
    rows[-1].notes = "the same question on local Spark, already started"
    for row in rows[len(sizes) :]:
        say(f"   {line(row)}")
    (out / "TABLES.md").write_text(markdown(rows, about), encoding="utf-8")
    told = [{**asdict(r), "checks": [{**asdict(c), "met": c.met} for c in r.checks]} for r in rows]
    data = {"about": about, "rows": told}
    (out / "tables.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    checks = [check for row in rows for check in row.checks]
    say(f"{sum(c.met for c in checks)} of {len(checks)} targets met; written to {out / 'TABLES.md'}")


def made(size: int) -> Path:
    """The Parquet file of so many rows, written once."""
    import duckdb

    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"rows-{size}.parquet"
    if not path.exists():
        ids = max(1, int(size / 2.5))
        duckdb.sql(
            f"COPY (SELECT (hash(i) % 1000)::BIGINT AS g, (hash(i + 7) % {ids})::BIGINT AS id, "
            f"(hash(i + 13) % 1000000007) / 1e7 AS x FROM range({size}) t(i)) TO '{path}' (FORMAT PARQUET)"
        )
    return path


def ours(case: str, path: Path, size: int) -> TableRow:
    seconds, peak = measured(case, path, size)
    return TableRow(case, size, seconds, peak)


def add_plain(row: TableRow, case: str, path: Path, size: int) -> None:
    row.others["plain"], row.peaks["plain"] = measured(case, path, size)


def measured(case: str, path: Path, size: int) -> tuple[float, float]:
    """Median seconds after a warm-up, and peak memory of the process."""
    times = 1 if size >= 10**8 else 4
    command = [sys.executable, "-m", "benchmarks.tables_run", case, str(path), str(times)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, env=os.environ)
    found = json.loads(done.stdout.strip().splitlines()[-1])
    seconds = found["seconds"]
    return statistics.median(seconds[1:] or seconds), float(found["peak"])


def ask(row: TableRow, peers: Peers | None, peer: str, task: str, path: Path) -> None:
    if peers is None:
        return
    reply = peers.ask(peer, task, path=str(path), groups=1000)
    if reply.error is not None:
        row.notes += f"{peer}: {reply.error[:80]} "
    elif reply.time is not None:
        row.others[peer] = reply.time.median


def line(row: TableRow) -> str:
    others = ", ".join(f"{name} {clock_of(value)}" for name, value in row.others.items())
    ours = f"{clock_of(row.seconds)}, {row.peak / 2**20:.0f} MiB"
    return f"{row.case} {row.rows:.0e}: {ours}; {others} {row.notes}"


def clock_of(seconds: float) -> str:
    return f"{seconds:.3g} s"


def verdict(check: Check) -> str:
    return f"{check.what}: {check.measured:.3g} ({'met' if check.met else '**missed**'}, {check.target:g})"


def markdown(rows: list[TableRow], about: dict[str, Any]) -> str:
    head = ["question", "rows", "ours", "peak", "plain DuckDB", "its peak", "OpenDP", "diffprivlib"]
    head.append("targets")
    body = []
    for row in rows:
        others = [row.others.get(name) for name in ("plain", "opendp", "diffprivlib")]
        times = ["" if seconds is None else clock_of(seconds) for seconds in others]
        peak = f"{row.peaks['plain'] / 2**20:.0f} MiB" if "plain" in row.peaks else ""
        own = f"{row.peak / 2**20:.0f} MiB"
        told = "; ".join(verdict(check) for check in row.checks)
        first = [row.case, f"{row.rows:.0e}", clock_of(row.seconds), own, times[0], peak, *times[1:]]
        body.append([*first, f"{told} {row.notes}".strip()])
    told = ", ".join(f"{key} {value}" for key, value in about.items())
    return f"{HEAD}\n{told}.\n\n{table(head, body)}\n"
