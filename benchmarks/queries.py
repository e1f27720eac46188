"""Ranges over histograms: the matrix mechanism beside OpenDP's trees, and many queries one by one: QUERIES.md."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import queries_online
from benchmarks.ask import Peers

WORKER = Path(__file__).with_name("queries_run.py")
TARGETS = {1024: 17.3, 65536: 28.7}
"""OpenDP's best tree with consistency, as first measured."""
TEXT = """# Ranges over histograms

Root mean square error of random ranges (both ends uniform), of a release that is 1-differentially private when one row
is added or removed; processor seconds of one release with its answers, the seconds before it (planning, calibration),
and the largest resident memory of the process, Python and its libraries included. The error of none of these
depends on the data. OpenDP's trees have equal noise at every level and are made consistent by least squares
(`make_b_ary_tree`, `make_consistent_b_ary_tree`); ours choose how to cut the column and how to divide the promise
between levels from the workload. "±" is one standard error of the measurement. Measured on a machine with
other work (see the load): processor seconds, and only as a rough guide.
"""


def run(
    peers: Peers | None, quick: bool, about: dict[str, str], out: Path, say: Callable[[str], None]
) -> None:
    lines = [TEXT, ", ".join(f"{key} {value}" for key, value in about.items()), ""]
    for cells, repetitions in ((1024, 40), (65536, 2)) if quick else ((1024, 200), (65536, 8), (2**20, 2)):
        lines += [
            f"## {cells} cells",
            "",
            "| | error | ± | s | s before | GiB | |",
            "|---|---|---|---|---|---|---|",
        ]
        asked = {"cells": cells, "epsilon": 1.0, "repetitions": repetitions, "ranges": 5000}
        best = None
        if peers is not None:
            for b in (2, 4, 8, 16, 32, None):
                if cells <= 65536 or b == 16:
                    found = ask(peers.python, {**asked, "who": "opendp", "branching": b})
                    lines.append(line("OpenDP, its own choice" if b is None else "OpenDP", found))
                    best = min(best or found["error"], found["error"])
                    say(lines[-1])
            lines.append(line("OpenDP", ask(peers.python, {**asked, "who": "opendp histogram"})))
        # Ours take a hundredth of the time: more of them, for a smaller standard error.
        asked["repetitions"] *= 20 if cells <= 65536 else 5
        ours = ask(Path(sys.executable), {**asked, "who": "dalenius"})
        lines.append(line("**dalenius**", ours))
        say(lines[-1])
        gaussian = ask(Path(sys.executable), {**asked, "who": "dalenius", "rho": 0.5})
        lines += [line("dalenius, Gaussian noise, 0.5-zCDP (which 1-DP implies)", gaussian), ""]
        say(lines[-2])
        target = TARGETS.get(cells)
        if target:
            lines += [f"Target: below {target}: {'met' if ours['error'] < target else 'missed'}.", ""]
        if best:
            lines += [f"OpenDP's best has {best / ours['error']:.2f} times the error.", ""]
    lines.append(queries_online.section(2_000 if quick else queries_online.QUERIES))
    say(lines[-1])
    (out / "QUERIES.md").write_text("\n".join(lines), encoding="utf-8")


def ask(python: Path, question: dict[str, Any]) -> dict[str, Any]:
    done = subprocess.run(
        [str(python), str(WORKER)],
        input=json.dumps(question),
        capture_output=True,
        text=True,
        check=True,
        timeout=900,
        env=dict(os.environ),
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def line(who: str, found: dict[str, Any]) -> str:
    numbers = f"{found['error']:.2f} | {found['spread']:.2f} | {found['seconds']:.3f} | {found['plan']:.2f}"
    return f"| {who} | {numbers} | {found['memory']:.2f} | {found['note']} |"
