"""`make fuzz`: a campaign on each engine; its table goes to CAMPAIGN.md beside this file.

python -m tests.tables.hostile                                   all, 1e5 / 1e4 / 1e3 cases; goes on where it stopped
python -m tests.tables.hostile duckdb --cases 5000 --seed 7      one engine only
python -m tests.tables.hostile --write                           the table of what is done so far
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from tests.tables.hostile import batches, report
from tests.tables.hostile.campaign import SHARES
from tests.tables.hostile.judge import Tally
from tests.tables.hostile.leaks import LEAKS
from tests.tables.hostile.worker import part

CASES = {"spark": 1_000, "postgres": 10_000, "sqlite": 10_000, "duckdb": 100_000}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("engine", nargs="*", default=[], choices=[[], *CASES])
    parser.add_argument("--cases", type=int, help="so many on each engine")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument(
        "--batches", type=Path, default=batches.KEPT, help="the file that remembers what is done"
    )
    parser.add_argument("--write", action="store_true", help="write the table and try nothing")
    options = parser.parse_args()
    targets = {engine: options.cases or CASES[engine] for engine in SHARES}
    code = batches.commit()
    if not options.write:
        asked = options.engine or list(CASES)
        # Spark in one process only; who is done with one engine helps with another.
        orders = [
            [e for e in (asked if n == 0 else asked[::-1]) if n == 0 or e != "spark"]
            for n in range(options.processes)
        ]
        jobs = [
            (order, targets, options.seed, code, n, options.processes, options.batches)
            for n, order in enumerate(orders)
        ]
        with ProcessPoolExecutor(options.processes, mp_context=get_context("spawn")) as pool:
            list(pool.map(part, jobs))
    done = batches.read(options.batches, options.seed, code)
    if not options.engine:
        report.write(done, targets, options.seed, code, planted(options.seed))
    leaks = [b for b in done if b.leak is not None]
    for found in leaks:
        print(f"{found.engine}, {found.what}, batch {found.number}: {found.leak}", file=sys.stderr)
    sys.exit(1 if leaks else 0)


def planted(seed: int) -> dict[str, str]:
    """After how many cases each planted mistake is found."""
    found = {}
    for leak in LEAKS:
        tally = Tally()
        verdict = "after" if leak.sought(seed, tally) else "NOT in"
        found[leak.name] = f"{verdict} {tally.total} cases"
    return found


if __name__ == "__main__":
    main()
