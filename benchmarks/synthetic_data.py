"""Synthetic data: ours beside dpmm and smartnoise-synth on Adult, at the same budget.

    python -m benchmarks.synthetic_data run --data FOLDER           every run that is not there yet, one at a time
    python -m benchmarks.synthetic_data run --data FOLDER --method dalenius --epsilon 1
    python -m benchmarks.synthetic_data page                        SYNTHETIC.md and synthetic.png from the runs
    python -m benchmarks.synthetic_data_limits --data FOLDER        what is in the way at a small budget

A run is one line of `synthetic_data.jsonl`; a run that is there is not made again, so that a queue of slow ones may be
stopped and started at any time. Each peer has an environment of its own, made from `requirements-dpmm.txt` or
`requirements-smartnoise.txt` in `.venv-dpmm` or `.venv-smartnoise`.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.synthetic_data_design import DELTA, EPSILONS, METHODS, adult
from benchmarks.synthetic_data_measures import of_table

ROOT = Path(__file__).resolve().parent.parent
RUNS = Path(__file__).with_name("synthetic_data.jsonl")
PYTHONS = {peer: ROOT / f".venv-{peer}" / "bin" / "python" for peer in ("dpmm", "smartnoise")}
WORKERS = {
    "dpmm": "synthetic_data_peers.py",
    "smartnoise": "synthetic_data_peers.py",
    "baseline": "synthetic_data_ours.py",
    "dalenius": "synthetic_data_ours.py",
}

Key = tuple[str, float, int]


def main() -> int:
    options = arguments()
    if options.command == "page":
        from benchmarks.synthetic_data_page import write

        write(runs(options.runs), options.out)
        return 0
    wanted = list(queue(options))
    for key in wanted:
        if key in {of(run) for run in runs(options.runs)}:
            continue
        found = one(key, options)
        with options.runs.open("a", encoding="utf-8") as lines:
            fcntl.flock(lines, fcntl.LOCK_EX)
            lines.write(json.dumps(found) + "\n")
        print(json.dumps(found), flush=True)
    return 0


def queue(options: argparse.Namespace) -> Iterator[Key]:
    """All first repetitions before any second one, and among them the quick methods first."""
    for repetition, method, epsilon in product(
        range(options.repetitions), options.method or METHODS, options.epsilon or EPSILONS
    ):
        yield method, epsilon, repetition


def of(run: dict[str, Any]) -> Key:
    return run["method"], run["epsilon"], run["repetition"]


def runs(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def one(key: Key, options: argparse.Namespace) -> dict[str, Any]:
    """One run in a process of its own, and what its table is worth; a failure is a result, too."""
    method, epsilon, repetition = key
    found: dict[str, Any] = {"method": method, "epsilon": epsilon, "delta": DELTA, "repetition": repetition}
    found["load"] = round(os.getloadavg()[0], 1)
    sizes, train, test = adult(options.data)
    peer = method.split()[0]
    python = PYTHONS.get(peer, Path(sys.executable))
    if not python.exists():
        return {**found, "error": f"no environment {python.parent.parent.name}"}
    with tempfile.TemporaryDirectory() as folder:
        codes, out = Path(folder, "train.npy"), Path(folder, "out.npy")
        np.save(codes, train)
        question = {**found, "sizes": sizes, "codes": str(codes), "out": str(out)}
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
        if peer in PYTHONS:
            del environment["PYTHONPATH"]
        try:
            done = subprocess.run(
                [str(python), str(Path(__file__).with_name(WORKERS[peer]))],
                input=json.dumps(question),
                capture_output=True,
                text=True,
                timeout=options.timeout,
                env=environment,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {**found, "error": f"stopped after {options.timeout:.0f} s"}
        if done.returncode != 0:
            last = done.stderr.strip().splitlines()[-1:] or [f"ended with {done.returncode}"]
            return {**found, "error": last[0][:300]}
        found |= json.loads(done.stdout.strip().splitlines()[-1])
        return found if "2-way mean" in found else {**found, **of_table(np.load(out), train, test, sizes)}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.synthetic_data", description=__doc__)
    parser.add_argument("command", choices=["run", "page"])
    parser.add_argument("--data", type=Path, help="the folder with adult.train.csv and adult.test.csv")
    parser.add_argument("--method", action="append", choices=METHODS, help="default: all")
    parser.add_argument("--epsilon", action="append", type=float, help=f"default: {EPSILONS}")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--timeout", type=float, default=3600.0, help="seconds after which a run is stopped")
    parser.add_argument("--runs", type=Path, default=RUNS)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    options = parser.parse_args()
    if options.command == "run" and options.data is None:
        parser.error("run needs --data FOLDER")
    return options


if __name__ == "__main__":
    sys.exit(main())
