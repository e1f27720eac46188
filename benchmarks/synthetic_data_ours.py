"""One run of ours, or of a baseline, in a process of its own; questions and answers as in `synthetic_data_peers.py`."""

from __future__ import annotations

import json
import resource
import sys
import time
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dalenius as dp
from benchmarks.synthetic_data_design import Codes
from benchmarks.synthetic_data_measures import Share, of_marginals, shares


def ours(question: dict[str, Any], train: Codes, sizes: dict[str, int]) -> Codes:
    domain = dp.queries.Domain(sizes)
    workload = dp.queries.Workload.marginals(domain, 2)  # what the peers' AIM is fitted to, too
    promise = dp.ApproxDP(question["epsilon"], question["delta"])
    return dp.queries.AdaptiveMarginals(workload, promise).release(train).codes(len(train))


def independent(train: Codes, sizes: dict[str, int]) -> Share:
    """Every column as it is, without noise, and no relation between any two."""
    real = shares(train, list(sizes.values()))

    def share(columns: tuple[int, ...]) -> NDArray[np.float64]:
        found = real(columns[:1])
        for column in columns[1:]:
            found = np.multiply.outer(found, real((column,)))
        return found

    return share


def gaussian(question: dict[str, Any], train: Codes, sizes: dict[str, int]) -> Share:
    """Gaussian noise on each 2-way marginal, each then the nearest distribution; a column is the mean of its pairs."""
    pairs = list(combinations(range(len(sizes)), 2))
    promise = dp.ApproxDP(question["epsilon"], question["delta"])
    sigma = dp.calibrate(lambda s: dp.losses.gaussian(sigma=s) * len(pairs), promise)
    draw = np.random.default_rng(question["repetition"])
    real = shares(train, list(sizes.values()))
    noisy = {pair: len(train) * real(pair) + draw.normal(0, sigma, real(pair).shape) for pair in pairs}
    rows = max(float(np.mean([table.sum() for table in noisy.values()])), 1.0)
    tables = {pair: nearest(table / rows) for pair, table in noisy.items()}

    def share(columns: tuple[int, ...]) -> NDArray[np.float64]:
        if len(columns) == 2:
            return tables[columns]
        (column,) = columns
        mine = [table.sum(1 - pair.index(column)) for pair, table in tables.items() if column in pair]
        return np.asarray(np.mean(mine, axis=0))

    return share


def nearest(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """The distribution nearest to these numbers (Euclid)."""
    falling = np.sort(table, axis=None)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, falling.size + 1)
    return np.maximum(table - excess[np.flatnonzero(falling > excess)[-1]], 0)


def main() -> None:
    question = json.load(sys.stdin)
    sizes, train = question["sizes"], np.load(question["codes"])
    wall, cpu = time.perf_counter(), time.process_time()
    found: dict[str, Any] = {}
    if question["method"].startswith("dalenius"):
        np.save(question["out"], ours(question, train, sizes))
    elif question["method"] == "baseline independent":
        found = of_marginals(independent(train, sizes), train, sizes)
    else:
        found = of_marginals(gaussian(question, train, sizes), train, sizes, ways=(2,))
    found |= {"seconds": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    found["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print("\n" + json.dumps(found))


if __name__ == "__main__":
    main()
