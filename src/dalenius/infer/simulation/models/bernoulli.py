"""Yes or no."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaln

from dalenius.core.arrays import Array, Reals
from dalenius.infer.simulation.model import Model, Space
from dalenius.infer.simulation.models.family import Family
from dalenius.infer.simulation.models.priors import positive_pair


def binomial_quantile(u: Reals, n: int, p: float) -> Reals:
    """The least k with P(Binomial(n, p) <= k) >= u, from the law summed within twelve standard deviations."""
    if not 0 < p < 1:
        return np.full(len(u), float(n) * (p >= 1))
    reach = 12 * np.sqrt(n * p * (1 - p)) + 40
    first, last = max(0, int(n * p - reach)), min(n, int(n * p + reach) + 1)
    k = np.arange(first, last + 1.0)
    log_chance = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1) + k * np.log(p) + (n - k) * np.log1p(-p)
    below = np.cumsum(np.exp(log_chance))
    return np.asarray(k[np.searchsorted(below, u).clip(0, len(k) - 1)])


@dataclass(frozen=True)
class Bernoulli(Model, Family):
    """Rows of 0 and 1, of which the number of ones was released.

    Parameters
    ----------
    prior_counts
        Of ones and zeros, of the Beta prior of the share (for posteriors).

    Examples
    --------
    >>> from dalenius.infer import models
    >>> models.Bernoulli().names
    ('share',)
    """

    prior_counts: tuple[float, float] = (1.0, 1.0)
    names: ClassVar[tuple[str, ...]] = ("share",)  # type: ignore[misc]
    space: ClassVar[Space] = ((0.0, 1.0),)  # type: ignore[misc]

    def __post_init__(self) -> None:
        object.__setattr__(self, "prior_counts", positive_pair("prior_counts", self.prior_counts))

    def seeds(self, rng: np.random.Generator, n: int, size: int) -> Any:
        return rng.random(size)

    def sample(self, theta: Reals, n: int, seeds: Any) -> Reals:
        return binomial_quantile(np.asarray(seeds), n, float(theta[0]))[:, None]

    def prior(self, rng: np.random.Generator, chains: int) -> Reals:
        return rng.beta(*self.prior_counts, (chains, 1))

    def rows(self, theta: Reals, size: int, rng: np.random.Generator) -> Array:
        return rng.random((len(theta), size)) < theta

    def contributions(self, rows: Array) -> Reals:
        return rows[..., None].astype(float)

    sufficient = contributions

    def parameter(self, totals: Reals, n: int, rng: np.random.Generator) -> Reals:
        ones, zeros = self.prior_counts
        return rng.beta(ones + totals, zeros + n - totals)

    def moments(self, theta: Reals) -> tuple[Reals, Reals]:
        return theta, (theta * (1 - theta))[..., None]

    def possible(self, totals: Reals, n: int) -> Reals:
        return np.clip(totals, 0.0, n)
