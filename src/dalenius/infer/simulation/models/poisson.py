"""Counts of events."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import gammaln, xlogy

from dalenius.core import checks
from dalenius.core.arrays import Array, Reals
from dalenius.infer.simulation.model import Model, Space
from dalenius.infer.simulation.models.family import Family
from dalenius.infer.simulation.models.priors import positive_pair


@dataclass(frozen=True)
class Poisson(Model, Family):
    """Counts with a Poisson law, of which the sum was released, each cut off at `upper`.

    Parameters
    ----------
    upper
        A whole number: what is larger counts as this.
    prior_gamma
        Shape and rate of the Gamma prior of the rate (for posteriors).
    largest_rate
        The largest rate thought possible; twice `upper` if left out.

    Examples
    --------
    >>> from dalenius.infer import models
    >>> models.Poisson(upper=10).space
    ((0.0, 20.0),)
    """

    upper: int
    prior_gamma: tuple[float, float] = (1.0, 0.1)
    largest_rate: float | None = None
    names: ClassVar[tuple[str, ...]] = ("rate",)  # type: ignore[misc]
    space: Space = field(init=False)

    def __post_init__(self) -> None:
        upper = checks.count("upper", self.upper, least=1)
        largest = (
            2 * upper if self.largest_rate is None else checks.positive("largest_rate", self.largest_rate)
        )
        object.__setattr__(self, "upper", upper)
        object.__setattr__(self, "prior_gamma", positive_pair("prior_gamma", self.prior_gamma))
        object.__setattr__(self, "space", ((0.0, float(largest)),))

    def seeds(self, rng: np.random.Generator, n: int, size: int) -> Any:
        return rng.random(size)

    def sample(self, theta: Reals, n: int, seeds: Any) -> Reals:
        """The quantiles of the sum, whose law is the n-fold convolution of one row's.

        It is found within twelve standard deviations and forty rows of its mean, beyond which is less than 1e-13 of it
        (Bernstein's inequality), as the law of the sum modulo the length of that window.
        """
        k = np.arange(self.upper)
        chance = np.exp(xlogy(k, theta[0]) - theta[0] - gammaln(k + 1))
        chance = np.append(chance, max(1 - chance.sum(), 0.0))
        mean = float(chance @ np.arange(self.upper + 1))
        variance = float(chance @ (np.arange(self.upper + 1) - mean) ** 2)
        reach = 12 * math.sqrt(n * variance) + 40 * self.upper
        first, last = max(0, int(n * mean - reach)), min(self.upper * n, int(n * mean + reach) + 1)
        length = next_fast_len(last - first + 1, real=True)
        law = np.roll(irfft(rfft(chance, length) ** n, length), -(first % length))
        below = np.cumsum(np.maximum(law, 0.0))
        places = np.searchsorted(below, seeds * below[-1]).clip(0, last - first)
        return np.asarray(first + places, dtype=float)[:, None]

    def prior(self, rng: np.random.Generator, chains: int) -> Reals:
        shape, rate = self.prior_gamma
        return rng.gamma(shape, 1 / rate, (chains, 1))

    def rows(self, theta: Reals, size: int, rng: np.random.Generator) -> Array:
        return rng.poisson(np.minimum(theta, 1e9), (len(theta), size))

    def contributions(self, rows: Array) -> Reals:
        return np.minimum(rows, self.upper)[..., None].astype(float)

    def sufficient(self, rows: Array) -> Reals:
        return rows[..., None].astype(float)

    def parameter(self, totals: Reals, n: int, rng: np.random.Generator) -> Reals:
        shape, rate = self.prior_gamma
        return rng.gamma(shape + totals) / (rate + n)

    def moments(self, theta: Reals) -> tuple[Reals, Reals]:
        return theta, theta[..., None]

    def possible(self, totals: Reals, n: int) -> Reals:
        return np.maximum(totals, 0.0)
