"""Run by our Python or by that of the peers: one question about ranges as JSON on stdin, one answer out.

    {"who": "opendp", "cells": 1024, "epsilon": 1.0, "branching": 16, "repetitions": 100, "ranges": 2000}
    -> {"error": 17.3, "seconds": 0.01, "plan": 0.2, "memory": 0.1, "note": "16-ary tree"}

The error is the root mean square over random ranges of releases of an empty histogram: the error of none of these
methods depends on the data. `seconds` is processor time of one release with its answers, `plan` what came before,
`memory` the largest resident set in GiB. The ranges are the same for all.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

Release = Callable[[], Any]


def opendp(cells: int, epsilon: float, branching: int | None, **_: Any) -> tuple[Release, str]:
    """A b-ary tree of counts, equal noise at all levels, then consistency (Hay et al. 2010); returns the leaves."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    b = branching or dp.t.choose_branching_factor(cells)
    space = dp.vector_domain(dp.atom_domain(T="i64"), size=cells), dp.l1_distance(T="i64")
    tree = space >> dp.t.then_b_ary_tree(leaf_count=cells, branching_factor=b)
    make = lambda scale: tree >> dp.m.then_laplace(scale)  # noqa: E731
    scale = dp.binary_search_param(make, d_in=1, d_out=epsilon)
    measurement = make(scale) >> dp.t.make_consistent_b_ary_tree(branching_factor=b, TIA="i64")
    empty = [0] * cells
    return lambda: np.array(measurement(empty)), f"{b}-ary tree, scale {scale:.2f}"


def opendp_histogram(cells: int, epsilon: float, **_: Any) -> tuple[Release, str]:
    """Laplace noise on every cell."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64"), size=cells), dp.l1_distance(T="i64")
    measurement, empty = space >> dp.m.then_laplace(scale=1 / epsilon), [0] * cells
    return lambda: np.array(measurement(empty)), "noise on every cell"


def dalenius(cells: int, epsilon: float, rho: float | None = None, **_: Any) -> tuple[Release, str]:
    """`MatrixMechanism` for all ranges."""
    import dalenius as dp

    domain = dp.queries.Domain({"x": cells})
    promise = dp.ZCDP(rho) if rho else dp.PureDP(epsilon)
    mechanism = dp.queries.MatrixMechanism(dp.queries.Workload.ranges(domain), promise)
    empty = np.zeros(cells, dtype=np.int64)
    cut = "x".join(map(str, mechanism.strategy.trees[0].radices))
    if cut == "x".join("2" * len(mechanism.strategy.trees[0].radices)):
        cut = f"2^{len(mechanism.strategy.trees[0].radices)}"
    note = f"{cut} blocks, {len(mechanism.strategy.measurements)} levels, predicted {mechanism.predicted_error():.2f}"
    return lambda: mechanism.release(empty).marginal(["x"]), note


WHO = {"opendp": opendp, "opendp histogram": opendp_histogram, "dalenius": dalenius}


def main() -> None:
    asked = json.load(sys.stdin)
    rng = np.random.default_rng(13)
    cells = asked["cells"]
    ends = np.sort(rng.integers(0, cells, (asked["ranges"], 2)), axis=1)
    start = time.process_time()
    release, note = WHO[asked["who"]](**{key: value for key, value in asked.items() if key != "who"})
    plan = time.process_time() - start
    squares, start = [], time.process_time()
    for _ in range(asked["repetitions"]):
        sums = np.concatenate([[0.0], np.cumsum(release())])
        squares.append(float(np.mean((sums[ends[:, 1] + 1] - sums[ends[:, 0]]) ** 2)))
    seconds = (time.process_time() - start) / asked["repetitions"]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    spread = float(np.std(squares) / max(1, len(squares) - 1) ** 0.5)
    error = float(np.mean(squares)) ** 0.5
    found = {
        "error": error,
        "spread": spread / (2 * error),
        "seconds": seconds,
        "plan": plan,
        "memory": memory,
    }
    print(json.dumps(found | {"note": note}))


if __name__ == "__main__":
    main()
