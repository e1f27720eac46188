"""Run by the Python of the peers' environment: one question about noise as JSON on stdin, one answer out.

    {"peer": "opendp", "task": "laplace", "scale": 10.0, "draws": 1000000}
    -> {"answer": 14.1, "seconds": [8.5], "error": null}

The answer is the standard deviation of what was drawn, to see that all draw the same. Only the draws are
timed: neither imports nor the making of the mechanism. This file imports nothing of this package.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import math
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

Draw = Callable[[], Any]


def opendp_laplace(scale: float, draws: int) -> Draw:
    """`then_laplace` on a vector of integers under the l1 distance: discrete Laplace noise."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    measurement, data = space >> dp.m.then_laplace(scale=scale), [0] * draws
    return lambda: measurement(data)


def opendp_gaussian(scale: float, draws: int) -> Draw:
    """`then_gaussian` on a vector of integers under the l2 distance: discrete Gaussian noise."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="i64")
    measurement, data = space >> dp.m.then_gaussian(scale=scale), [0] * draws
    return lambda: measurement(data)


def opendp_float_gaussian(scale: float, draws: int) -> Draw:
    """`then_gaussian` on a vector of floats."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="f64", nan=False)), dp.l2_distance(T="f64")
    measurement, data = space >> dp.m.then_gaussian(scale=scale), [0.0] * draws
    return lambda: measurement(data)


def diffprivlib_laplace(scale: float, draws: int) -> Draw:
    """`Geometric(epsilon=1/scale).randomise`, one call a draw: it knows no vectors."""
    from diffprivlib.mechanisms import Geometric

    mechanism = Geometric(epsilon=1 / scale)
    return lambda: [mechanism.randomise(0) for _ in range(draws)]


def diffprivlib_gaussian(scale: float, draws: int) -> Draw:
    """`GaussianDiscrete.randomise` with its scale set, one call a draw."""
    from diffprivlib.mechanisms import GaussianDiscrete

    mechanism = GaussianDiscrete(epsilon=0.5, delta=1e-5)
    mechanism._scale = scale
    return lambda: [mechanism.randomise(0) for _ in range(draws)]


def diffprivlib_float_gaussian(scale: float, draws: int) -> Draw:
    """`Gaussian.randomise` on floats with its scale set, one call a draw."""
    from diffprivlib.mechanisms import Gaussian

    mechanism = Gaussian(epsilon=0.5, delta=1e-5, sensitivity=1.0)
    mechanism._scale = scale
    return lambda: [mechanism.randomise(0.0) for _ in range(draws)]


TASKS: dict[tuple[str, str], Callable[[float, int], Draw]] = {
    ("opendp", "laplace"): opendp_laplace,
    ("opendp", "gaussian"): opendp_gaussian,
    ("opendp", "float gaussian"): opendp_float_gaussian,
    ("diffprivlib", "laplace"): diffprivlib_laplace,
    ("diffprivlib", "gaussian"): diffprivlib_gaussian,
    ("diffprivlib", "float gaussian"): diffprivlib_float_gaussian,
}


def repetitions(first: float) -> int:
    """How many more runs after a first one of this many seconds; none: the first one stands."""
    return 3 if first < 3.0 else 2 if first < 6.0 else 0


def answer(question: dict[str, Any]) -> dict[str, Any]:
    peer, task = question.pop("peer"), question.pop("task")
    if task == "versions":
        return {name: importlib.metadata.version(name) for name in ("opendp", "diffprivlib", "numpy")}
    try:
        draw = TASKS[peer, task](**question)
        seconds = [once(draw)]
        seconds = [once(draw) for _ in range(repetitions(seconds[0]))] or seconds
        spread = statistics.pstdev(float(x) for x in draw()[:20_000]) if seconds[0] < 3.0 else math.nan
    except Exception as failure:  # whatever a peer raises is its answer
        return {"answer": None, "error": f"{type(failure).__name__}: {failure}", "seconds": [0.0]}
    return {"answer": spread, "error": None, "seconds": seconds}


def once(draw: Draw) -> float:
    start = time.perf_counter()
    draw()
    return time.perf_counter() - start


def main() -> None:
    warnings.simplefilter("ignore")
    question = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):
        found = answer(question)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
