"""Mechanisms simulated from their definition with NumPy: an independent route to the law of a privacy loss.

Each knows how to draw an outcome with or without the record and the log ratio of the two densities. Nothing
here is taken from the library.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import stats

Draws = np.ndarray


class Mechanism(Protocol):
    def draw(self, rng: np.random.Generator, size: int, present: bool) -> Draws: ...

    def log_ratio(self, outcomes: Draws) -> Draws: ...


@dataclass(frozen=True)
class Table:
    """A finite mechanism given by its two output distributions."""

    present: tuple[float, ...]
    absent: tuple[float, ...]

    def draw(self, rng: np.random.Generator, size: int, present: bool) -> Draws:
        law = np.array(self.present if present else self.absent)
        return rng.choice(len(law), size, p=law / law.sum())

    def log_ratio(self, outcomes: Draws) -> Draws:
        with np.errstate(divide="ignore"):
            return (np.log(self.present) - np.log(self.absent))[outcomes]

    def cells(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array(self.present), np.array(self.absent)


def randomized_response(epsilon: float, k: int = 2) -> Table:
    """The truth with probability e^epsilon / (e^epsilon + k - 1), any other answer alike."""
    each = 1 / (math.exp(epsilon) + k - 1)
    truth = math.exp(epsilon) * each
    return Table((truth, each) + (each,) * (k - 2), (each, truth) + (each,) * (k - 2))


def leaky_response(epsilon: float, delta: float) -> Table:
    """With probability delta say who, else randomized response: the worst (epsilon, delta)-DP mechanism."""
    truth = (1 - delta) / (1 + math.exp(-epsilon))
    lie = (1 - delta) - truth
    return Table((delta, truth, lie, 0.0), (0.0, lie, truth, delta))


def truncated_geometric(epsilon: float, steps: int) -> Table:
    """Counts 0..steps with geometric noise moved back into the range: ends of the chain of neighbours."""
    k = np.arange(steps + 1)
    law = np.exp(-epsilon * k) * (1 - math.exp(-epsilon)) / (1 + math.exp(-epsilon))
    law[0] = 1 / (1 + math.exp(-epsilon))
    law[-1] = math.exp(-epsilon * steps) / (1 + math.exp(-epsilon))
    return Table(tuple(law), tuple(law[::-1]))


@dataclass(frozen=True)
class Gaussian:
    sigma: float
    shift: float = 1.0

    def draw(self, rng: np.random.Generator, size: int, present: bool) -> Draws:
        return self.shift * present + self.sigma * rng.standard_normal(size)

    def log_ratio(self, outcomes: Draws) -> Draws:
        return (outcomes**2 - (outcomes - self.shift) ** 2) / (2 * self.sigma**2)

    def cells(self, bins: int = 4000) -> tuple[np.ndarray, np.ndarray]:
        edges = np.linspace(-8 * self.sigma, self.shift + 8 * self.sigma, bins)
        without = stats.norm.cdf(edges, 0.0, self.sigma)
        having = stats.norm.cdf(edges, self.shift, self.sigma)
        return np.diff(having, prepend=0.0, append=1.0), np.diff(without, prepend=0.0, append=1.0)


@dataclass(frozen=True)
class Laplace:
    scale: float
    shift: float = 1.0

    def draw(self, rng: np.random.Generator, size: int, present: bool) -> Draws:
        return self.shift * present + rng.laplace(0.0, self.scale, size)

    def log_ratio(self, outcomes: Draws) -> Draws:
        return (np.abs(outcomes) - np.abs(outcomes - self.shift)) / self.scale

    def cells(self, bins: int = 4000) -> tuple[np.ndarray, np.ndarray]:
        edges = np.linspace(0.0, self.shift, bins)
        without = stats.laplace.cdf(edges, 0.0, self.scale)
        having = stats.laplace.cdf(edges, self.shift, self.scale)
        return np.diff(having, prepend=0.0, append=1.0), np.diff(without, prepend=0.0, append=1.0)


@dataclass(frozen=True)
class Geometric:
    """Whole counts with two-sided geometric noise, the difference of two geometric waiting times."""

    scale: float
    shift: int = 1

    def draw(self, rng: np.random.Generator, size: int, present: bool) -> Draws:
        stop = 1 - math.exp(-1 / self.scale)
        return self.shift * present + rng.geometric(stop, size) - rng.geometric(stop, size)

    def log_ratio(self, outcomes: Draws) -> Draws:
        return (np.abs(outcomes) - np.abs(outcomes - self.shift)) / self.scale


@dataclass(frozen=True)
class DiscreteGaussian:
    """Rejection from two-sided geometric noise (Canonne, Kamath and Steinke 2020, Algorithm 3)."""

    sigma: float
    shift: int = 1

    def draw(self, rng: np.random.Generator, size: int, present: bool) -> Draws:
        width = math.floor(self.sigma) + 1
        kept = np.empty(0, dtype=int)
        while len(kept) < size:
            y = Geometric(width).draw(rng, 2 * size, False)
            accept = np.exp(-((np.abs(y) - self.sigma**2 / width) ** 2) / (2 * self.sigma**2))
            kept = np.append(kept, y[rng.random(2 * size) < accept])
        return self.shift * present + kept[:size]

    def log_ratio(self, outcomes: Draws) -> Draws:
        return (outcomes**2 - (outcomes - self.shift) ** 2) / (2 * self.sigma**2)


@dataclass(frozen=True)
class ExponentialMechanism:
    """Two candidates whose log odds move from `odds` to odds - eta between the neighbours."""

    odds: float
    eta: float

    def draw(self, rng: np.random.Generator, size: int, present: bool) -> Draws:
        first = self.odds if present else self.odds - self.eta
        return (first + rng.logistic(size=size) > 0).astype(int)  # Gumbel differences are logistic

    def log_ratio(self, outcomes: Draws) -> Draws:
        with_one = np.where(outcomes == 1, self.odds, -self.odds)
        without = np.where(outcomes == 1, self.odds - self.eta, self.eta - self.odds)
        return np.log1p(np.exp(-without)) - np.log1p(np.exp(-with_one))


@dataclass(frozen=True)
class PoissonSampled:
    """The record takes part with probability `rate`, unseen."""

    base: Mechanism
    rate: float

    def draw(self, rng: np.random.Generator, size: int, present: bool) -> Draws:
        without = self.base.draw(rng, size, False)
        if not present:
            return without
        return np.where(rng.random(size) < self.rate, self.base.draw(rng, size, True), without)

    def log_ratio(self, outcomes: Draws) -> Draws:
        with np.errstate(over="ignore"):
            return np.log1p(self.rate * np.expm1(self.base.log_ratio(outcomes)))

    def cells(self) -> tuple[np.ndarray, np.ndarray]:
        with_one, without = self.base.cells()  # type: ignore[attr-defined]
        return (1 - self.rate) * without + self.rate * with_one, without


@dataclass(frozen=True)
class NoisyMinimiser:
    """The dominating pair of objective perturbation (Redberg 2023, Lemma C.4.6, with its sign corrected).

    P is the norm r of N(0, sigma^2 I_d), Q has density (1 - smoothness/ridge)^d exp(-(r + L)^2/(2 sigma^2))
    where P has exp(-r^2/(2 sigma^2)), and the rest of its mass where P has none.
    """

    sigma: float
    ridge: float
    gradient: float
    smoothness: float
    dimension: int = 1

    def draw(self, rng: np.random.Generator, size: int, present: bool) -> Draws:
        return self.sigma * np.linalg.norm(rng.standard_normal((size, self.dimension)), axis=1)

    def log_ratio(self, outcomes: Draws) -> Draws:
        moved = ((outcomes + self.gradient) ** 2 - outcomes**2) / (2 * self.sigma**2)
        return moved - self.dimension * math.log(1 - self.smoothness / self.ridge)
