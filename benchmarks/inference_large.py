"""`python -m benchmarks.inference_large [--rows 1e8]`: estimates of a large Parquet file through a session.

A file of so many rows and ten columns is made with DuckDB in --folder (1e8 rows: about 5 GB, and 15 GB in TMPDIR while
a regression runs), and each case runs in a process of its own. Measurements are kept in inference_large.json, one for
each case and number of rows, and INFERENCE_LARGE.md is written of all of them. 1e8 rows take some ten minutes of two
quiet processors.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks import inference
from benchmarks.report import table

HERE = Path(__file__).resolve().parent
CASES = ("mean in a session", "median in a session", "linear in a session")
COLUMNS = 10

HEAD = """# Benchmarks: inference from large files

Written by `python -m benchmarks.inference_large --rows 1e8`. A Parquet file of {columns} features, a response and a
class, through a session: charged to a durable ledger, released with intervals. A mean and a median of the response are
one look at one column; a robust linear regression reads rows once and keeps them, as they are and as rounded numbers,
in two files without a name ({kept:.0f} bytes a row), of which each of eleven steps reads the second. A measurement is
a process of its own, after a warm-up on few rows. Memory is the peak of the process, imports included; after the plus,
what came with the call. Target: memory that does not grow with the rows. Wall-clock times are of a machine that others
may have used at the same time: its load beforehand is beside them.

"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=float, default=1e8)
    parser.add_argument("--folder", type=Path, default=inference.FOLDER, help="for the file")
    parser.add_argument("--out", type=Path, default=HERE, help="for the page")
    parser.add_argument("--only", choices=CASES, action="append")
    options = parser.parse_args()
    rows = int(options.rows)
    options.folder.mkdir(parents=True, exist_ok=True)
    needed = rows * (45 + bytes_a_row()) / 1e9
    free = shutil.disk_usage(options.folder).free / 1e9
    if needed > free:
        sys.exit(
            f"{rows:.0e} rows need {needed:.0f} GB, and there are {free:.0f}; ask for fewer with --rows."
        )
    inference.FOLDER = options.folder
    marked = options.folder / "made.txt"
    if not marked.exists() or marked.read_text() != str(rows):
        marked.unlink(missing_ok=True)
        inference.made(rows, COLUMNS)
        marked.write_text(str(rows))
    kept = options.out / "inference_large.json"
    found: dict[str, Any] = json.loads(kept.read_text()) if kept.exists() else {}
    for case in options.only or CASES:
        load = f"{os.getloadavg()[0]:.1f}"
        one = inference.measured(sys.executable, case, rows, COLUMNS, lambda text: print(text, flush=True))
        found[f"{case}, {rows:.0e}"] = asdict(one) | {"load": load, "on": told()}
        kept.write_text(json.dumps(found, indent=1) + "\n")
        (options.out / "INFERENCE_LARGE.md").write_text(markdown(found))


def bytes_a_row() -> int:
    """Of what a regression keeps."""
    return 12 * (COLUMNS + 1) + 16


def told() -> str:
    words = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(words, cwd=HERE, capture_output=True, text=True, check=False).stdout.strip()
    return f"{date.today()}, {platform.machine()}, {os.cpu_count()} cores, commit {commit}"


def markdown(found: dict[str, Any]) -> str:
    order = sorted(found.values(), key=lambda one: (CASES.index(one["case"]), one["rows"]))
    lines = [
        [one["case"], f"{one['rows']:.0e}", f"{one['cpu']:.1f}", f"{one['seconds']:.1f}", one["load"],
         f"{one['peak']:.0f} + {one['more']:.0f}", one["on"]]
        for one in order
    ]  # fmt: skip
    head = ["case", "rows", "processor s", "wall s", "load", "memory, MB", "measured"]
    return HEAD.format(columns=COLUMNS, kept=bytes_a_row()) + table(head, lines)


if __name__ == "__main__":
    main()
