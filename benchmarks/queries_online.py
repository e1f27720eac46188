"""Private multiplicative weights: very many queries, each chosen after the answer before it.

python -m benchmarks.queries_online        prints the section that QUERIES.md has about it
"""

from __future__ import annotations

import resource
import time

import numpy as np

import dalenius as dp

CELLS, ROWS, QUERIES, TARGET = 2**16, 1_000_000, 100_000, 60.0
TEXT = """## {queries} queries, one after the other

`PrivateMultiplicativeWeights` on a column of {cells} values and {rows} rows, ZCDP(0.5): ranges that are asked one at a
time (`Curator.ask`), where each begins depending on the answer before it. Processor seconds of the asking alone.

| s | queries | measured | largest error, share of the rows | promised | GiB |
|---|---|---|---|---|---|
| {seconds:.1f} | {asked} | {measured} | {error:.4f} | {promised:.4f} | {memory:.2f} |

Target: below {target:.0f} s: {verdict}.
"""


def section(queries: int = QUERIES) -> str:
    """Asks, and says in Markdown how it went."""
    rng = np.random.default_rng(13)
    counts = np.bincount((CELLS * rng.beta(2, 5, ROWS)).astype(np.int64), minlength=CELLS)
    below = np.concatenate([[0], np.cumsum(counts)])
    lengths = rng.integers(1, CELLS, queries).tolist()
    pmw = dp.queries.PrivateMultiplicativeWeights(
        dp.queries.Domain({"x": CELLS}), dp.ZCDP(0.5), n=ROWS, queries=queries
    )
    curator, last, worst = pmw.open(counts), 0, 0.0
    start = time.process_time()
    for length in lengths:
        first = (last * 40503 + length) % CELLS
        end = min(first + length, CELLS)
        answer = curator.ask({"x": range(first, end)})
        worst = max(worst, abs(answer.value - int(below[end] - below[first])))
        last = round(answer.value)
    seconds = time.process_time() - start
    return TEXT.format(
        queries=queries,
        cells=CELLS,
        rows=ROWS,
        seconds=seconds,
        asked=curator.asked,
        measured=curator.updates,
        error=worst / ROWS,
        promised=pmw.predicted_error(ROWS) / ROWS,
        memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        target=TARGET,
        verdict="met" if seconds < TARGET else "missed",
    )


if __name__ == "__main__":
    print(section())
