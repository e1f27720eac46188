"""Random losses that are mixtures of Gaussians, as plain data: groups, replaced records, several sensitivities, and
what tells which of two mixtures it is.

Point i of a draw depends on the draw's number and i alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import dalenius as dp
from dalenius import Loss, losses
from dalenius.calculus.engines.accountant import Direction
from dalenius.calculus.pairs.gaussian_mixtures import GaussianMixturesPair
from dalenius.calculus.pairs.pair import Pair
from dalenius.calculus.pairs.revealed import RevealedPair

SIGMA, RATE, DELTA, LONG = (0.3, 20.0), (1e-6, 0.9), (1e-30, 0.1), (10.0, 1e5)
EPSILON = (1e-6, 200.0)
GROUP, CASES = (2, 8), (2, 5)
FAMILIES = ("group", "replaced", "several", "several, replaced", "revealed")
Sides = tuple[tuple[tuple[float, float], ...], tuple[tuple[float, float], ...]]


@dataclass(frozen=True)
class Point:
    """One release of a family, how often it is made, in which direction, and the delta of the question."""

    family: str
    sigma: float
    rate: float
    delta: float
    times: int
    direction: str
    size: int = 0
    lengths: tuple[float, ...] = ()
    chances: tuple[float, ...] = ()

    def data(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, data: dict[str, Any]) -> Point:
        return cls(**{**data, "lengths": tuple(data["lengths"]), "chances": tuple(data["chances"])})


def points(seed: int, long: bool) -> Iterator[Point]:
    """Without end."""
    index = 0
    while True:
        yield _drawn(np.random.default_rng([seed, int(long), index]), long)
        index += 1


def _log_uniform(rng: np.random.Generator, ends: tuple[float, float]) -> float:
    low, high = (math.log(end) for end in ends)
    return math.exp(rng.uniform(low, high))


def _drawn(rng: np.random.Generator, long: bool) -> Point:
    family = str(rng.choice(FAMILIES, p=(0.3, 0.2, 0.25, 0.15, 0.1)))
    sigma, rate, delta = (_log_uniform(rng, ends) for ends in (SIGMA, RATE, DELTA))
    times = round(_log_uniform(rng, LONG)) if long else int(rng.integers(1, 3))
    direction = str(rng.choice(["add", "remove"]))
    size = int(rng.integers(GROUP[0], GROUP[1] + 1)) if family == "group" else 0
    lengths, chances = [], []
    if family.startswith("several"):
        count = int(rng.integers(CASES[0], CASES[1] + 1))
        lengths = [0.0, *rng.uniform(0.2, 3.0, count).tolist()]
        chances = (rng.dirichlet(np.ones(count)) * rate).tolist()
        chances = [1.0 - math.fsum(chances), *chances]
    if family == "revealed":
        lengths, chances = [1.0, 2.0], [1.0 - 2.0**-7, 2.0**-7]
    return Point(family, sigma, rate, delta, times, direction, size, tuple(lengths), tuple(chances))


def loss_of(point: Point) -> Loss:
    """All releases."""
    if point.family == "group":
        return losses.poisson_sampled_group(point.sigma, point.rate, point.size) * point.times
    if point.family == "replaced":
        base = losses.gaussian(point.sigma)
        return losses.poisson_sampled(base, point.rate, dp.REPLACE_ONE) * point.times
    if point.family.startswith("several"):
        relation = dp.REPLACE_ONE if point.family.endswith("replaced") else dp.ADD_REMOVE
        step = losses.mixture_of_gaussians(point.sigma, point.lengths, point.chances, relation)
        return step * point.times
    pairs = tuple(_pair(*sides) for _, sides in laws_of(point))
    pair = RevealedPair(point.chances, pairs)
    return Loss.symmetric(pair, dp.REPLACE_ONE, "revealed") * point.times


def _pair(up: Any, down: Any) -> Pair:
    return GaussianMixturesPair(up, down)


def direction_of(point: Point) -> Direction:
    found: Direction = getattr(loss_of(point), point.direction)
    return found


def laws_of(point: Point) -> list[tuple[float, Sides]]:
    """The mixtures that one release is one of, and how likely each is: exact doubles, shifts in units of sigma.

    Probabilities that do not sum to 1 in floats were rounded to either side; these are the upper ones.
    """
    if point.family == "revealed":
        sides = [((length / point.sigma, point.rate),) for length in point.lengths]
        return [(w, (side, side)) for w, side in zip(point.chances, sides, strict=True)]
    ((pair, _),) = direction_of(point).terms
    upper = pair.upper
    assert isinstance(upper, GaussianMixturesPair)
    return [(1.0, (upper.up, upper.down))]
