"""`make fuzz`: a campaign on each engine; its table goes to CAMPAIGN.md beside this file.

python -m tests.tables.hostile                                   all, 1e5 / 1e4 / 1e3 cases
python -m tests.tables.hostile duckdb --cases 5000 --seed 7      one engine, no table written
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from tests.tables.hostile import campaign
from tests.tables.hostile.judge import Tally

CASES = {"duckdb": 100_000, "postgres": 10_000, "spark": 1_000}
TABLE = Path(__file__).with_name("CAMPAIGN.md")
HEAD = """# What the last campaign found

`make fuzz` writes this table. A case is a random question asked of a random table and of a neighbour with one more
unit, whose rows hold whatever their types allow: the outcome must be of the same kind to the letter, and the exact
integers before noise may differ by no more than the sensitivity that is planned for. Pairs of such neighbours are
compared as replacements of one unit. Agreement: the same rows in two engines give the same integers.

| engine | what | cases | replacements | refused before a charge | seconds | leaks |
|---|---|---|---|---|---|---|
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine", nargs="?", choices=list(CASES))
    parser.add_argument("--cases", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    rows, leaks = [], []
    for engine in [options.engine] if options.engine else CASES:
        processes = options.processes if engine != "spark" else 1
        cases = -(-(options.cases or CASES[engine]) // processes)
        with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
            parts = list(
                pool.map(campaign.part, [(engine, cases, options.seed + n) for n in range(processes)])
            )
        for what in parts[0]:
            tallies = [part[what] for part in parts]
            rows.append(_row(engine, what, tallies))
            leaks += [leak for _, found, _ in tallies for leak in found]
            print(rows[-1], flush=True)
    for leak in leaks:
        print(leak, file=sys.stderr)
    if options.engine is None:
        TABLE.write_text(HEAD + "\n".join(rows) + "\n", encoding="utf-8")
    sys.exit(1 if leaks else 0)


def _row(engine: str, what: str, tallies: list[tuple[Tally, list[str], float]]) -> str:
    cases = sum(t.cases + t.engines for t, _, _ in tallies)
    replaced, refused = sum(t.replaced for t, _, _ in tallies), sum(t.refused for t, _, _ in tallies)
    leaks, seconds = sum(len(found) for _, found, _ in tallies), max(s for _, _, s in tallies)
    return f"| {engine} | {what} | {cases} | {replaced} | {refused} | {seconds:.0f} | {leaks} |"


if __name__ == "__main__":
    main()
