"""Inference: regressions with intervals, beside statsmodels' without privacy.

Tables of 1e8 rows take a quiet hour and have a program of their own, `python -m benchmarks.inference_large`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from benchmarks.ask import Peers
from benchmarks.cases import Check
from benchmarks.inference_run import FEW
from benchmarks.report import table

WORKER = Path(__file__).with_name("inference_run.py")
ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "benchmarks" / "inference"

HEAD = """# Benchmarks: inference

Written by `make bench` (this part alone: `python -m benchmarks --only inference`); every ratio is between two
measurements of this one run. Rows are standard normal features, a response with errors of Student's law with three
degrees of freedom, and a class. Each measurement is a process of its own, after a warm-up on {few} rows. Ratios are of
processor seconds, all threads together: wall-clock times are of a machine that others may have used at the same time
(its load is below). Memory is the peak of the process, imports and data included; after the plus is what came with the
call. statsmodels gets arrays and gives no privacy; ours on arrays gets the same arrays; ours in a session opens a
Parquet file of single-precision numbers, charges a durable ledger, and holds a few blocks of rows at a time. Tables of
up to 1e8 rows are in INFERENCE_LARGE.md.
"""


@dataclass
class Measured:
    """One case."""

    case: str
    rows: int
    columns: int
    seconds: float
    cpu: float
    peak: float
    more: float
    checks: list[Check] = field(default_factory=list)


def run(
    peers: Peers | None, quick: bool, about: dict[str, str], out: Path, say: Callable[[str], None]
) -> None:
    """Every case; writes INFERENCE.md and inference.json."""
    say("\nInference")
    rows, columns = (10**5, 20) if quick else (10**6, 20)
    made(rows, columns)
    cases = ["linear on arrays", "linear in a session", "logistic on arrays", "logistic in a session"]
    found = {case: measured(sys.executable, case, rows, columns, say) for case in cases}
    if peers is not None:
        shown = "import statsmodels; print(statsmodels.__version__)"
        told = subprocess.run([str(peers.python), "-c", shown], capture_output=True, text=True, check=True)
        about = {**about, "statsmodels": told.stdout.strip()}
        for case in ("OLS", "RLM", "Logit"):
            found[case] = measured(str(peers.python), case, rows, columns, say)
        for ours, theirs, times in (("linear", "RLM", 1 / 5), ("logistic", "Logit", 3.0)):
            for where in ("on arrays", "in a session"):
                one, other = found[f"{ours} {where}"], found[theirs]
                one.checks = [
                    Check(f"times the processor seconds of {theirs}", times, one.cpu / other.cpu),
                    Check(f"times the memory of {theirs}'s call", 1 / 4, one.more / max(other.more, 1.0)),
                ]
    (out / "INFERENCE.md").write_text(markdown(list(found.values()), about), encoding="utf-8")
    everything = [asdict(m) for m in found.values()]
    (out / "inference.json").write_text(json.dumps(everything, indent=1) + "\n")
    say(f"written to {out / 'INFERENCE.md'}")


def made(rows: int, columns: int) -> None:
    """Arrays and Parquet files with so many rows; those of another size are replaced."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    names = ", ".join(f"x{j}" for j in range(columns))
    normal = "sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())"
    features = ", ".join(f"CAST({normal} AS FLOAT) AS x{j}" for j in range(columns))
    line = " + ".join(f"{(j % 3 - 1) * 0.3:.1f} * x{j}" for j in range(columns))
    error = f"({normal}) / sqrt((pow({normal}, 2) + pow({normal}, 2) + pow({normal}, 2)) / 3)"
    connection = duckdb.connect()
    connection.execute("SET preserve_insertion_order = false; SELECT setseed(0.5)")
    for name, size in ((f"few{columns}", FEW), (f"rows{columns}", rows)):
        connection.execute(
            f"COPY (SELECT {names}, CAST(line + {error} AS FLOAT) AS y, "
            f"CAST(random() < 1 / (1 + exp(-line)) AS TINYINT) AS c FROM "
            f"(SELECT *, 1 + {line} AS line FROM (SELECT {features} FROM range({size})))) "
            f"TO '{FOLDER / name}.parquet' (COMPRESSION zstd)"
        )
    if rows <= 10**6:
        frame = connection.execute(f"SELECT * FROM '{FOLDER}/rows{columns}.parquet'").fetchnumpy()
        np.save(
            FOLDER / f"X{columns}.npy",
            np.column_stack([frame[f"x{j}"] for j in range(columns)]).astype(float),
        )
        np.save(FOLDER / f"y{columns}.npy", np.asarray(frame["y"], dtype=float))
        np.save(FOLDER / f"c{columns}.npy", np.asarray(frame["c"], dtype=float))


def measured(python: str, case: str, rows: int, columns: int, say: Callable[[str], None]) -> Measured:
    told = subprocess.run(
        [python, str(WORKER), case, str(FOLDER), str(rows), str(columns)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    found: dict[str, Any] = json.loads(told.stdout.splitlines()[-1])
    say(
        f"   {case}, {rows:.0e} x {columns}: {found['seconds']:.1f} s, {found['cpu']:.1f} s of processors, "
        f"{found['peak']:.0f} + {found['more']:.0f} MB"
    )
    return Measured(case, rows, columns, **found)


def markdown(found: list[Measured], about: dict[str, str]) -> str:
    told = ", ".join(f"{key} {value}" for key, value in about.items())
    parts = [HEAD.format(few=FEW), told + "\n", f"## {found[0].rows:.0e} rows x {found[0].columns} columns\n"]
    head = ["case", "processor s", "wall s", "memory, MB", "targets"]
    parts.append(table(head, [line(m) for m in found]))
    return "\n".join(parts)


def line(m: Measured) -> list[str]:
    judged = "; ".join(
        f"{check.what}: {check.measured:.2g}, {'met' if check.met else '**not met**'} (at most {check.target:.2g})"
        for check in m.checks
    )
    return [m.case, f"{m.cpu:.2f}", f"{m.seconds:.2f}", f"{m.peak:.0f} + {m.more:.0f}", judged]
