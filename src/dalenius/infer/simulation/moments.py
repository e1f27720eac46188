"""Means, covariances and slopes of simulated statistics, with the same seeds for every parameter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalenius.core.arrays import Reals
from dalenius.infer.simulation.model import Model
from dalenius.infer.simulation.noise_laws import Noise

CRUDE = 0.01
"""The first step of a slope, as a share of the parameter's range."""
FINER = 0.5
"""The second one, in standard errors of the parameter: over which the slope matters."""


@dataclass(frozen=True, eq=False)
class Local:
    """What released statistics tell of parameters near theta, to first order."""

    theta: Reals
    mean: Reals
    """Of the statistics."""
    weights: Reals
    """p x d: the change of the parameter for a change of the statistics, by generalized least squares."""
    covariance: Reals
    """p x p: of parameters estimated so."""
    spread_slopes: Reals
    """p x p: how the logarithm of the standard error of parameter j (column) moves with parameter k (row)."""


class Moments:
    """Simulated statistics as a function of the parameter."""

    def __init__(self, model: Model, n: int, noise: Noise, rng: np.random.Generator, size: int) -> None:
        self.model, self.n, self.noise = model, n, noise
        self.seeds = model.seeds(rng, n, size)
        self.low, self.high = np.array(model.space).T

    def statistics(self, theta: Reals) -> Reals:
        """Before noise."""
        return self.model.sample(theta, self.n, self.seeds)

    def local(self, theta: Reals) -> Local:
        """Slopes over a small step first, to learn the standard errors, then over those."""
        here = self.statistics(theta)
        covariance = covariance_of(here) + np.diag(self.noise.variance)
        steps = CRUDE * (self.high - self.low)
        slopes, _, _ = self._slopes(theta, steps)
        _, errors = _solved(slopes, covariance)
        wanted = FINER * np.sqrt(np.diag(errors))
        # Few rows may give the same counts a step apart: then the step is wider.
        steps = np.where(wanted > 0, np.clip(wanted, 1e-4 * steps, 20 * steps), 10 * steps)
        slopes, below, above = self._slopes(theta, steps)
        weights, errors = _solved(slopes, covariance)
        spread = np.empty((len(theta), len(theta)))
        for k in range(len(theta)):
            variances = [_variances(weights, each[1], self.noise.variance) for each in (below[k], above[k])]
            apart = above[k][0] - below[k][0]
            spread[k] = (np.log(variances[1]) - np.log(variances[0])) / (2 * apart)
        return Local(theta, here.mean(axis=0), weights, errors, spread)

    def _slopes(
        self, theta: Reals, steps: Reals
    ) -> tuple[Reals, list[tuple[float, Reals]], list[tuple[float, Reals]]]:
        """d x p, and the statistics below and above in every direction."""
        sides: list[list[tuple[float, Reals]]] = [[], []]
        columns = []
        for k, step in enumerate(steps):
            for side, sign in zip(sides, (-1, 1), strict=True):
                moved = theta.copy()
                moved[k] = np.clip(theta[k] + sign * step, self.low[k], self.high[k])
                side.append((float(moved[k]), self.statistics(moved)))
            (a, first), (b, second) = sides[0][k], sides[1][k]
            columns.append((second - first).mean(axis=0) / (b - a))
        return np.column_stack(columns), sides[0], sides[1]


def covariance_of(statistics: Reals) -> Reals:
    """Of the columns. (numpy.cov checks for a fifth of the time that all of this takes.)"""
    centred = statistics - np.add.reduce(statistics, axis=0) / len(statistics)
    return np.asarray(centred.T @ centred / (len(statistics) - 1))


def _variances(weights: Reals, statistics: Reals, noise: Reals) -> Reals:
    """Of the parameters, as the statistics would give them."""
    found = (statistics @ weights.T).var(axis=0, ddof=1) + (weights**2) @ noise
    return np.asarray(np.maximum(found, 1e-300))


def _solved(slopes: Reals, covariance: Reals) -> tuple[Reals, Reals]:
    """(J' C^-1 J)^-1 J' C^-1, and the covariance of what it gives; what the statistics do not tell has slope 0."""
    values, vectors = np.linalg.eigh(covariance)
    root = vectors / np.sqrt(np.maximum(values, 1e-12 * max(values.max(), 1e-300)))
    weights = np.linalg.pinv(root.T @ slopes, rcond=1e-8) @ root.T
    return weights, weights @ covariance @ weights.T
