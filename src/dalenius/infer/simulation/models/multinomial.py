"""One of several answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import binom

from dalenius.core import checks
from dalenius.core.arrays import Array, Reals
from dalenius.infer.simulation.model import Model, Space
from dalenius.infer.simulation.models.family import Family
from dalenius.infer.simulation.models.priors import positive_numbers


def counts(chance: Reals, n: int, seeds: Reals) -> Reals:
    """How many of n rows are of each kind, the last one left out: binomials given those before, by inversion."""
    seen, left, rest = np.empty(seeds.shape), np.full(len(seeds), float(n)), 1.0
    for k in range(seeds.shape[1]):
        share = min(max(chance[k] / rest, 0.0), 1.0) if rest > 1e-12 else 0.0
        seen[:, k] = binom.ppf(seeds[:, k], left, share)
        left, rest = left - seen[:, k], rest - chance[k]
    return seen


@dataclass(frozen=True)
class Multinomial(Model, Family):
    """Rows that have one of k answers, of which the k counts were released.

    The parameters are the shares of all answers but the last; where they add up to more than 1, they are taken in
    proportion. A posterior has the shares of all k.

    Parameters
    ----------
    k
        The number of answers, 2 or more.
    prior_counts
        Of each answer, of the Dirichlet prior (for posteriors); 1 each if left out.

    Examples
    --------
    >>> from dalenius.infer import models
    >>> models.Multinomial(3).names
    ('share 0', 'share 1')
    """

    k: int
    prior_counts: tuple[float, ...] | None = None
    names: tuple[str, ...] = field(init=False)
    space: Space = field(init=False)

    def __post_init__(self) -> None:
        k = checks.count("k", self.k, least=2)
        prior = (
            (1.0,) * k
            if self.prior_counts is None
            else positive_numbers("prior_counts", self.prior_counts, k)
        )
        object.__setattr__(self, "k", k)
        object.__setattr__(self, "prior_counts", prior)
        object.__setattr__(self, "names", tuple(f"share {j}" for j in range(k - 1)))
        object.__setattr__(self, "space", ((0.0, 1.0),) * (k - 1))

    def seeds(self, rng: np.random.Generator, n: int, size: int) -> Any:
        return rng.random((size, self.k - 1))

    def sample(self, theta: Reals, n: int, seeds: Any) -> Reals:
        seen = counts(theta / max(theta.sum(), 1.0), n, seeds)
        return np.column_stack((seen, n - seen.sum(axis=1)))

    def prior(self, rng: np.random.Generator, chains: int) -> Reals:
        return rng.dirichlet(np.array(self.prior_counts), chains)

    def rows(self, theta: Reals, size: int, rng: np.random.Generator) -> Array:
        below = np.cumsum(theta, axis=1)[:, None, :-1]
        return np.asarray((rng.random((len(theta), size))[..., None] >= below).sum(axis=2))

    def contributions(self, rows: Array) -> Reals:
        return np.asarray(rows[..., None] == np.arange(self.k), dtype=float)

    sufficient = contributions

    def parameter(self, totals: Reals, n: int, rng: np.random.Generator) -> Reals:
        drawn = rng.gamma(np.array(self.prior_counts) + totals)
        return np.asarray(drawn / drawn.sum(axis=1, keepdims=True))

    def moments(self, theta: Reals) -> tuple[Reals, Reals]:
        return theta, theta[:, :, None] * (np.eye(self.k) - theta[:, None, :])

    def possible(self, totals: Reals, n: int) -> Reals:
        positive = np.maximum(totals, 0.0) + 1e-9
        return np.asarray(n * positive / positive.sum(axis=1, keepdims=True))

    def reported(self, theta: Reals) -> Reals:
        return theta[:, :-1]
