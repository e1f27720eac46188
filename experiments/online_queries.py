"""Linear queries answered from a hypothesis: private multiplicative weights, MWEM and SmallDB, beside plain noise.

Each query counts a random half of the cells; n rows are drawn from a skewed distribution over |X| cells (Dirichlet,
0.1). The largest error over all k queries is given in percent of n, the mean over the runs; beside it what the theorem
of the method has for n, k and |X| (docs/proofs/adaptive-queries.md). Promises are 1-DP and (1, 1e-9)-DP; rows are
added or removed, and n is not public.

- no data: a uniform guess with the right n, to see whether anything was learned;
- per query: noise on each of the k answers;
- histogram: noise on every cell, added up for each query;
- PMW: one query at a time, nothing known of the later ones; updates and threshold by its theorem. "PMW, 3 n/100":
  measured from an error of 3 % on, up to 50 updates, a choice that only luck or public knowledge justifies;
- MWEM: all queries known beforehand;
- SmallDB: all queries known beforehand, up to 32 cells (beyond, no more than a few rows can be listed).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import dalenius as dp
from dalenius.queries import (
    MWEM,
    Domain,
    HistogramNoise,
    PerQuery,
    PrivateMultiplicativeWeights,
    SmallDB,
    Workload,
)
from experiments.tables import table

RUNS = 3
LISTED = 32
"""SmallDB lists databases of two rows at most for more cells than that."""
PROMISES = {"1-DP": dp.PureDP(1.0), "(1, 1e-9)-DP": dp.ApproxDP(1.0, 1e-9)}
METHODS = ("no data", "per query", "histogram", "PMW", "PMW, 3 n/100", "MWEM", "SmallDB")
ROWS, CELLS, QUERIES = 10**5, 2**10, 10**3
AXES: dict[str, dict[str, list[tuple[int, int, int]]]] = {
    "1-DP": {
        "k": [(ROWS, CELLS, k) for k in (10, 100, 1000, 5000)],
        "n": [(n, CELLS, QUERIES) for n in (10**3, 10**4, 10**5, 10**6)],
        "|X|": [(ROWS, cells, QUERIES) for cells in (4, 8, 32, 2**8, 2**10, 2**12)],
    },
    "(1, 1e-9)-DP": {
        "k": [(ROWS, CELLS, k) for k in (10, 100, 1000)],
        "n": [(n, CELLS, QUERIES) for n in (10**3, 10**4, 10**5)],
        "|X|": [(ROWS, cells, QUERIES) for cells in (4, 32, 2**10)],
    },
}


def interactive(domain: Domain, guarantee: Any, n: int, k: int, **options: Any) -> Any:
    """Private multiplicative weights as a release of k answers; those after its end from the hypothesis."""
    m = PrivateMultiplicativeWeights(domain, guarantee, n=n, queries=k, **options)

    def answers(cells: Any, masks: Any) -> Any:
        curator = m.open(cells)
        found = [answer.value for answer in curator.ask_many(masks)]
        rest = masks[len(found) :] @ curator.histogram().reshape(-1)
        return np.concatenate([found, rest])

    return m, answers


def fixed(make: Callable[..., Any], workload: Workload, guarantee: Any, **options: Any) -> Any:
    m = make(workload, guarantee, **options)
    return m, lambda cells, masks: m.release(cells).answers()


def method(name: str, workload: Workload, guarantee: Any, n: int) -> Any:
    k = len(workload)
    match name:
        case "per query":
            return fixed(PerQuery, workload, guarantee)
        case "histogram":
            return fixed(HistogramNoise, workload, guarantee)
        case "PMW":
            return interactive(workload.domain, guarantee, n, k)
        case "PMW, 3 n/100":
            return interactive(workload.domain, guarantee, n, k, updates=50, threshold=0.03 * n)
        case "MWEM":
            return fixed(MWEM, workload, guarantee, n=n)
        case _:
            return fixed(SmallDB, workload, guarantee, n=n)


def drawn(n: int, cells: int, k: int) -> tuple[Any, Any]:
    """A table and the queries about it, the same for every method."""
    rng = np.random.default_rng(n + cells + k)
    masks = rng.random((k, cells)) < 0.5
    return rng.multinomial(n, rng.dirichlet(np.full(cells, 0.1))), masks


def no_data(n: int, cells: int, k: int) -> float:
    counts, masks = drawn(n, cells, k)
    return float(np.abs(masks @ (counts - n / cells)).max() / n)


def measured(n: int, cells: int, k: int, guarantee: Any) -> dict[str, tuple[float, float]]:
    """For each method the largest error and its theory, as shares of n; NaN where it cannot."""
    counts, masks = drawn(n, cells, k)
    workload = Workload.matrix(Domain({"cell": cells}), masks)
    true = masks @ counts
    found = {"no data": (no_data(n, cells, k), math.nan)}
    for name in METHODS[1:]:
        if name == "SmallDB" and cells > LISTED:
            found[name] = (math.nan, math.nan)
            continue
        m, answers = method(name, workload, guarantee, n)
        errors = [np.abs(answers(counts, masks) - true).max() / n for _ in range(RUNS)]
        found[name] = (float(np.mean(errors)), largest(name, guarantee, k) * m.predicted_error(n) / n)
        print(n, cells, k, guarantee, name, *found[name], flush=True)
    return found


def largest(name: str, guarantee: Any, k: int) -> float:
    """From the root mean square error to the expected largest of k: of Laplace noise, or of what is nearly normal."""
    if name == "per query" and guarantee.as_pure() is not None:
        return (math.log(k) + 0.58) / math.sqrt(2)
    return math.sqrt(2 * math.log(2 * k)) if name in ("per query", "histogram") else 1.0


def shown(pair: tuple[float, float]) -> str:
    value, theory = pair
    if math.isnan(value):
        return "-"
    if math.isnan(theory):
        return f"{100 * value:.3g}"
    bound = "none" if math.isinf(theory) else f"{100 * theory:.3g}"
    return f"{100 * value:.3g} ({bound})"


def main(here: Path, data: Path | None, seeds: int) -> None:
    """Write ONLINE_QUERIES.md and online_queries.png."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 7.5), layout="constrained")
    panels = figure.subplots(2, 3)
    pages = []
    for row, (promise, guarantee) in enumerate(PROMISES.items()):
        for column, (axis, settings) in enumerate(AXES[promise].items()):
            results = [measured(*setting, guarantee) for setting in settings]
            x = [dict(zip(("n", "|X|", "k"), setting, strict=True))[axis] for setting in settings]
            lines = [
                [f"{value:g}", *(shown(r[name]) for name in METHODS)]
                for value, r in zip(x, results, strict=True)
            ]
            others = ", ".join(
                f"{name} = {value:g}"
                for name, value in {"n": ROWS, "|X|": CELLS, "k": QUERIES}.items()
                if name != axis
            )
            pages.append(
                f"### {promise}, {others}\n\n{table([axis.replace('|', '&#124;'), *METHODS], lines)}"
            )
            panel = panels[row, column]
            for place, name in enumerate(METHODS):
                panel.plot(
                    x, [100 * r[name][0] for r in results], "o-", color=f"C{place}", label=name, markersize=4
                )
                panel.plot(x, [100 * r[name][1] for r in results], ":", color=f"C{place}")
            panel.set(xscale="log", yscale="log", xlabel=axis, title=f"{promise}, {others}", ylim=(1e-3, 1e3))
            if column == 0:
                panel.set(ylabel="largest error, % of n")
    panels[0, 0].legend(fontsize=8)
    figure.savefig(here / "online_queries.png", dpi=110)
    text = f"""# Queries answered from a hypothesis

Written by `python -m experiments online_queries`; {RUNS} runs each. {__doc__.split(chr(10), 2)[2]}
Largest error in percent of n, and in brackets the theory. Below it: measured solid, theory dotted.

{(chr(10) * 2).join(pages)}

![errors](online_queries.png)

{SEEN}
"""
    (here / "ONLINE_QUERIES.md").write_text(text)


SEEN = """## What we see

- The bounds hold, with room: those for MWEM are 4 to 90 times what is measured, those for private multiplicative
  weights up to 7 times. (What stands beside "per query" and "histogram" is what to expect, and no bound; for
  "PMW, 3 n/100" there is a bound only where its 50 updates are as many as the queries.)
- Noise on the histogram wins under 1-DP from 100 queries on: these domains are small enough to hold it. Noise per query
  wins for a handful of queries, and under (1, 1e-9)-DP is on a par with the histogram at 1000 queries on 1024 cells.
- Private multiplicative weights by its theorem measures every query while there are few, which is noise per query with
  overhead. Under 1-DP with 1000 queries on 1024 cells and up to 100 000 rows its threshold is so large a part of n that
  it says what it would say without data.
- MWEM is the best of the three. Under 1-DP it overtakes noise per query at about a thousand queries and then hardly
  depends on their number.
- With 1000 rows on 1024 cells no method beats the guess that looks at no data, but for the histogram under 1-DP. That
  private multiplicative weights and MWEM err less than plain noise there, under (1, 1e-9)-DP, means that they stay
  close to that guess, and no more.
- SmallDB beats noise per query on 4 or 8 cells under 1-DP, and never the histogram or MWEM."""


if __name__ == "__main__":
    main(Path(__file__).resolve().parent, None, RUNS)
