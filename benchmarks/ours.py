"""The same questions, answered by dalenius. Every call starts from nothing: no loss is kept between calls."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable

import dalenius as dp
from benchmarks.parts import Part, training


def one(part: Part) -> dp.Loss:
    """The loss of one part."""
    kind = part["kind"]
    if kind == "laplace":
        return dp.losses.laplace(scale=part["scale"])
    if kind == "gaussian":
        return dp.losses.gaussian(sigma=part["sigma"])
    if kind == "sampled_gaussian":
        return dp.losses.poisson_sampled(dp.losses.gaussian(sigma=part["sigma"]), rate=part["rate"])
    if kind == "randomized_response":
        return dp.losses.randomized_response(part["epsilon"])
    if kind == "objective_perturbation":
        return dp.losses.objective_perturbation(
            sigma=part["sigma"], ridge=part["ridge"], gradient_bound=1.0, smoothness=1.0
        )
    raise ValueError(f"no such kind: {kind}")


def loss(parts: Iterable[Part]) -> dp.Loss:
    """The loss of all parts together."""
    return dp.losses.total(one(part) * part["times"] for part in parts)


def epsilon(parts: Iterable[Part], delta: float) -> tuple[float, float]:
    """Certified (lower, upper) epsilon; building the loss is part of the work."""
    found = loss(parts).epsilon_bounds(delta)
    return found.lower, found.upper


def log_delta_width(parts: Iterable[Part], at: float, delta: float) -> float:
    """Width of the certified bracket of log delta at epsilon = `at`, relative to |log delta|."""
    found = loss(parts).delta_bounds(at)
    if found.lower <= 0.0:
        return math.inf
    return (math.log(found.upper) - math.log(found.lower)) / abs(math.log(delta))


def noise(steps: int, guarantee_epsilon: float, delta: float) -> float:
    """The least sigma with which a training run keeps (epsilon, delta)."""
    return dp.calibrate(lambda sigma: loss(training(sigma, steps)), dp.ApproxDP(guarantee_epsilon, delta))


def forget() -> None:
    """Empty every `lru_cache` of the calculus, so that no repetition profits from the one before."""
    for name, module in list(sys.modules.items()):
        if not name.startswith("dalenius."):
            continue
        for owner in [module, *(x for x in vars(module).values() if isinstance(x, type))]:
            for thing in list(vars(owner).values()):
                clear = getattr(getattr(thing, "__func__", thing), "cache_clear", None)
                if callable(clear):
                    clear()
