"""Random points of the box in which the accountant's promise holds, as plain data.

A point is a list of parts (one mechanism and how often it runs), a direction and a delta. Rate, sigma (or scale),
steps and delta are drawn log-uniformly; point i of a draw depends on the draw's number and i alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import dalenius as dp
from dalenius.calculus.engines.accountant import Direction
from dalenius.calculus.pairs.pair import Bounds

RATE, NOISE, STEPS, DELTA = (1e-7, 1.0), (0.3, 50.0), (1.0, 1e7), (1e-30, 0.1)
EPSILON = (1e-6, 200.0)
"""A point counts when its epsilon lies here."""
OUTCOMES, SPREAD, TIMES = (2.0, 1000.0), (1e-3, 2.0), (1.0, 1e6)
"""Of discrete pairs: how many outcomes, the standard deviation of their losses, how often they are repeated."""
RECORDS = 10**9
"""Sampling without replacement is of so many records."""

FAMILIES = {
    "Gaussian": 0.24,
    "Gaussian, remove": 0.08,
    "Gaussian, add": 0.08,
    "Laplace": 0.16,
    "Laplace, remove": 0.06,
    "Laplace, add": 0.06,
    "sums of 2 to 5": 0.2,
    "without replacement, Gaussian": 0.06,
    "without replacement, Laplace": 0.06,
}
"""Which share of the points each has. Gaussian and Laplace are Poisson-sampled, both directions unless one is named."""
DISCRETE = "discrete pairs"


@dataclass(frozen=True)
class Point:
    """One question: what is the epsilon of all parts together at this delta?"""

    index: int
    family: str
    parts: list[dict[str, Any]]
    delta: float
    direction: str = "both"

    def data(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def rate(self) -> float:
        """The least rate of a part; 1 for those that are not sampled."""
        return min(part.get("rate", 1.0) for part in self.parts)

    def __str__(self) -> str:
        told = " + ".join(told_part(part) for part in self.parts)
        return f"{told}, delta {self.delta:.2g}" + ("" if self.direction == "both" else f", {self.direction}")


def told_part(part: dict[str, Any]) -> str:
    if part["kind"] == "discrete":
        return f"{part['outcomes']} outcomes of spread {part['spread']:.3g}, {part['times']:_} times"
    return f"{part['kind']} {part['noise']:.4g} at rate {part['rate']:.3g}, {part['times']:_} times"


def points(seed: int, discrete: bool = False) -> Iterator[Point]:
    """The points of a draw, without end."""
    index = 0
    while True:
        rng = np.random.default_rng([seed, int(discrete), index])
        yield _pair(rng, index) if discrete else _sampled(rng, index)
        index += 1


def _log_uniform(rng: np.random.Generator, ends: tuple[float, float]) -> float:
    low, high = (math.log(end) for end in ends)
    return math.exp(rng.uniform(low, high))


def _sampled(rng: np.random.Generator, index: int) -> Point:
    family = str(rng.choice(list(FAMILIES), p=list(FAMILIES.values())))
    delta = _log_uniform(rng, DELTA)
    count = int(rng.integers(2, 6)) if family.startswith("sums") else 1
    parts = []
    for _ in range(count):
        kind = str(rng.choice(["gaussian", "laplace"])) if count > 1 else family.split(",")[0].lower()
        if kind == "without replacement":
            kind = f"{kind}, {family.split(', ')[1]}"
        rate, noise, steps = (_log_uniform(rng, ends) for ends in (RATE, NOISE, STEPS))
        parts.append({"kind": kind, "rate": rate, "noise": noise, "times": max(1, round(steps))})
    direction = next((x for x in ("remove", "add") if family.endswith(f", {x}")), "both")
    return Point(index, family, parts, delta, direction)


def _pair(rng: np.random.Generator, index: int) -> Point:
    outcomes, spread, times, delta = (_log_uniform(rng, x) for x in (OUTCOMES, SPREAD, TIMES, DELTA))
    part = {
        "kind": "discrete",
        "outcomes": round(outcomes),
        "spread": spread,
        "times": round(times),
        "draw": int(rng.integers(2**32)),
    }
    return Point(index, DISCRETE, [part], delta)


def outcomes(part: dict[str, Any]) -> tuple[list[float], list[float]]:
    """The two laws of a discrete part: exponential weights, and the same times log-normal ones."""
    rng = np.random.default_rng(part["draw"])
    p = rng.exponential(size=part["outcomes"])
    q = p * np.exp(part["spread"] * rng.standard_normal(part["outcomes"]))
    return [float(x) for x in p / p.sum()], [float(x) for x in q / q.sum()]


def one(part: dict[str, Any]) -> dp.Loss:
    """The loss of one run of a part."""
    kind = part["kind"]
    if kind == "gaussian":
        return dp.losses.poisson_sampled(dp.losses.gaussian(sigma=part["noise"]), part["rate"])
    if kind == "laplace":
        return dp.losses.poisson_sampled(dp.losses.laplace(scale=part["noise"]), part["rate"])
    if kind == "discrete":
        return dp.losses.from_pair(*(part.get("pair") or outcomes(part)))
    chosen = max(1, round(part["rate"] * RECORDS))
    base = (
        dp.losses.gaussian(sigma=part["noise"], adjacency=dp.REPLACE_ONE)
        if kind.endswith("Gaussian")
        else dp.losses.laplace(scale=part["noise"], adjacency=dp.REPLACE_ONE)
    )
    return dp.losses.sampled_without_replacement(base, chosen, RECORDS)


def loss(point: Point) -> dp.Loss:
    """The loss of all parts."""
    return dp.losses.total([one(part) * part["times"] for part in point.parts])


def epsilon(point: Point) -> Bounds:
    """Our answer, from the description of the point."""
    found = loss(point)
    if point.direction == "both":
        return found.epsilon_bounds(point.delta)
    direction: Direction = getattr(found, point.direction)
    return direction.epsilon(point.delta)


def counts(bounds: Bounds) -> bool:
    """Whether the epsilon may lie in the box."""
    return bounds.upper >= EPSILON[0] and bounds.lower <= EPSILON[1]
