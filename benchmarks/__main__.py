"""`python -m benchmarks`: every case, ours and the peers' in one run.

The accounting goes to RESULTS.md, the noise to NOISE.md, the tables to TABLES.md, the learning to LEARNING.md,
inference to INFERENCE.md, the local model to LOCAL.md, workloads of queries to QUERIES.md, and random points of the
accountant's box to BOX.md; `--only` chooses one.
Synthetic data take hours and have a program of their own, `python -m benchmarks.synthetic_data`; so have estimates of
files with 1e8 rows, `python -m benchmarks.inference_large`, and the console, `python -m benchmarks.console` and
`python -m benchmarks.planner`.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import sys
import time
from importlib.metadata import version
from pathlib import Path

from benchmarks import box, inference, learning, local, noise, queries, tables
from benchmarks.ask import Peers
from benchmarks.cases import Case, Row, all_cases
from benchmarks.picture import draw
from benchmarks.report import clock, machine_readable, markdown, shown, verdict

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent


def main() -> int:
    options = arguments()
    peers = None if options.no_peers else Peers(options.peers.absolute(), options.timeout)
    if peers is not None and not peers.python.is_file():
        print(
            f"There is no Python at {options.peers}: `make bench` makes the peers' environment there; "
            "or name another with --peers, or leave the peers out with --no-peers.",
            file=sys.stderr,
        )
        return 2
    out: Path = options.out or (ROOT / "build" / "benchmarks" if options.quick or peers is None else HERE)
    out.mkdir(parents=True, exist_ok=True)
    about = machine(peers)
    say(", ".join(f"{key} {value}" for key, value in about.items()))
    if options.only in (None, "accounting"):
        accounting(peers, options, about, out)
    if options.only in (None, "noise"):
        noise.run(peers, options.quick, about, out, say)
    if options.only in (None, "tables"):
        tables.run(peers, options.quick, about, out, say)
    if options.only in (None, "learning"):
        learning.run(peers, options.quick, about, out, say)
    if options.only in (None, "inference"):
        inference.run(peers, options.quick, about, out, say)
    if options.only in (None, "local"):
        local.run(peers, options.quick, about, out, say)
    if options.only in (None, "queries"):
        queries.run(peers, options.quick, about, out, say)
    if options.only in (None, "box"):
        box.run(peers, options.quick, about, out, say)
    return 0


def accounting(peers: Peers | None, options: argparse.Namespace, about: dict[str, str], out: Path) -> None:
    start = time.perf_counter()
    cases: list[Case] = []
    for case, found in all_cases(peers, options.quick):
        say(f"\n{case.key}. {case.title}")
        for row in found:
            case.rows.append(row)
            say(f"   {line(row)}   [{time.perf_counter() - start:.0f} s]")
        cases.append(case)

    (out / "RESULTS.md").write_text(markdown(cases, about, options.timeout), encoding="utf-8")
    (out / "results.json").write_text(machine_readable(cases, about), encoding="utf-8")
    draw(cases[0], out / "results.png")
    checks = [check for case in cases for row in case.rows for check in row.checks]
    missed = sum(not check.met for check in checks)
    say(f"\n{len(checks) - missed} of {len(checks)} targets met; written to {out / 'RESULTS.md'}")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Ours against the peers, in one run."
    )
    parser.add_argument(
        "--only",
        choices=["accounting", "noise", "tables", "learning", "inference", "local", "queries", "box"],
        help="one part (default: all)",
    )
    parser.add_argument("--quick", action="store_true", help="a reduced set, written to build/benchmarks")
    parser.add_argument("--no-peers", action="store_true", help="only ours, written to build/benchmarks")
    parser.add_argument(
        "--peers",
        type=Path,
        default=ROOT / ".venv-bench" / "bin" / "python",
        help="the Python of the peers' environment (default: .venv-bench/bin/python)",
    )
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds after which a peer is stopped")
    parser.add_argument("--out", type=Path, help="folder for what is written")
    return parser.parse_args()


def machine(peers: Peers | None) -> dict[str, str]:
    """What one must know to read the numbers."""
    about = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": f"{platform.system()} {platform.machine()}",
        "cores": str(os.cpu_count()),
        "load before": f"{os.getloadavg()[0]:.2f}" if hasattr(os, "getloadavg") else "unknown",
        "Python": platform.python_version(),
    }
    about |= {name: version(name) for name in ("dalenius", "numpy", "scipy")}
    if peers is not None:
        about |= {
            name if "account" in name else f"{name} (peers)": found
            for name, found in peers.versions().items()
        }
    return about


def line(row: Row) -> str:
    """A row on the screen."""
    told = ", ".join(f"{key} {shown(value)}" for key, value in row.question.items())
    parts = [f"{told}: {row.upper:.9g} in {clock(row.time)}"]
    for reply in row.replies:
        ratio = row.ratio(reply)
        times = "" if ratio is None else f" ({ratio:.3g}x)"
        said = reply.error[:40] if reply.error else f"{reply.value:.6g}"
        parts.append(f"{reply.peer} {said} in {clock(reply.time)}{times}")
    judged = verdict(row)
    return "; ".join(parts) + (f"; met: {judged.replace('*', '')}" if judged else "")


def say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
