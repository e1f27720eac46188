"""The parts of a test's release: numbers with noise that takes its share of the promise, and the law of that noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from dalenius.calculus.guarantees import Guarantee
from dalenius.core.adjacency import REPLACE_ONE, Adjacency
from dalenius.core.arrays import Reals
from dalenius.errors import InvalidParameter
from dalenius.infer.promise import gaussian_mu, pure_epsilon
from dalenius.intervals.laws import Law, Normal, TwoSidedExponential, TwoSidedGeometric
from dalenius.mechanisms.gaussian import Gaussian
from dalenius.mechanisms.geometric import Geometric
from dalenius.mechanisms.laplace import Laplace

ROOM = 1 + 1e-11
"""Noise is so much wider than its share needs: rounding in the parts never takes more than was promised."""


@dataclass(frozen=True)
class Moved:
    """How far one record moves a vector: in l1 norm (a whole number where the vector is) and in l2 norm."""

    l1: float
    l2: float


@dataclass(frozen=True)
class Part:
    """One vector of a release: the mechanism that releases it, and the law of the noise in each entry."""

    mechanism: Gaussian | Geometric | Laplace
    law: Law

    def release(self, value: Any) -> Any:
        """The vector with noise."""
        return self.mechanism.release(value)


def part(guarantee: Guarantee, share: float, moved: Moved, adjacency: Adjacency, whole: bool = False) -> Part:
    """Laplace noise (geometric on whole numbers) for PureDP, else Gaussian noise, for a share of the promise.

    Shares of epsilon add up under PureDP, shares of mu^2 otherwise.
    """
    epsilon = pure_epsilon(guarantee)
    if epsilon is None:
        sigma = moved.l2 * ROOM / (gaussian_mu(guarantee) * math.sqrt(share))
        return Part(Gaussian(sensitivity=moved.l2, sigma=sigma, adjacency=adjacency), Normal(sigma))
    if epsilon == 0.0:
        raise InvalidParameter.of(
            "guarantee", f"no noise keeps {guarantee}; a test needs an epsilon above 0."
        )
    scale = moved.l1 * ROOM / (epsilon * share)
    if whole:
        mechanism = Geometric(sensitivity=int(moved.l1), scale=scale, adjacency=adjacency)
        return Part(mechanism, TwoSidedGeometric.of_scale(scale))
    return Part(
        Laplace(sensitivity=moved.l1, scale=scale, adjacency=adjacency),
        TwoSidedExponential(scale * math.sqrt(2)),
    )


def cell_counts(guarantee: Guarantee, share: float, adjacency: Adjacency) -> Part:
    """Noise for counts of disjoint cells: a record is in one of them, and replacing it moves two."""
    moved = Moved(2, math.sqrt(2)) if adjacency is REPLACE_ONE else Moved(1, 1.0)
    return part(guarantee, share, moved, adjacency, whole=True)


def stretched(unit: Part, factor: float) -> Part:
    """The part for numbers that move `factor` times as far: noise in proportion, at the same loss or less."""
    one = unit.mechanism
    if isinstance(one, Gaussian):
        sigma = one.sigma * factor * ROOM
        moved = Gaussian(sensitivity=one.sensitivity * factor, sigma=sigma, adjacency=one.adjacency)
        return Part(moved, Normal(sigma))
    scale = one.scale * factor * ROOM
    law = TwoSidedExponential(scale * math.sqrt(2))
    return Part(Laplace(sensitivity=one.sensitivity * factor, scale=scale, adjacency=one.adjacency), law)


def drawn(law: Law, generator: Generator, shape: tuple[int, ...]) -> Reals:
    """Draws of noise for a reference law. They protect nothing: what is released comes from `dalenius.noise`."""
    return _DRAWS[law.tag](law, generator, shape)


def _normal(law: Law, generator: Generator, shape: tuple[int, ...]) -> Reals:
    return law.sigma * generator.standard_normal(shape)


def _laplace(law: Law, generator: Generator, shape: tuple[int, ...]) -> Reals:
    return generator.laplace(0.0, law.sigma / math.sqrt(2), shape)


def _geometric(law: Law, generator: Generator, shape: tuple[int, ...]) -> Reals:
    q = ratio(law)
    first, second = generator.geometric(1 - q, (2, *shape))
    return np.asarray(first - second, dtype=np.float64)


_DRAWS = {Normal.tag: _normal, TwoSidedExponential.tag: _laplace, TwoSidedGeometric.tag: _geometric}


def ratio(law: Law) -> float:
    """The q of two-sided geometric noise, P(k) proportional to q^|k|, from its variance 2 q / (1 - q)^2."""
    square = law.sigma**2
    return square / (square + 1 + math.sqrt(2 * square + 1))


def density(law: Law, points: int = 2001) -> tuple[Reals, Reals]:
    """Places and weights that stand for the noise in an integral; what is left out is below 1e-15."""
    if law.tag == Normal.tag:
        x = np.linspace(-9.0, 9.0, points) * law.sigma
        weights = np.exp(-((x / law.sigma) ** 2) / 2)
    else:
        scale = law.sigma / math.sqrt(2)
        x = np.linspace(-36.0, 36.0, points) * scale
        weights = np.exp(-np.abs(x) / scale)
    return x, weights / weights.sum()
