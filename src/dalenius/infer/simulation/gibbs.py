"""The posterior of a private release with normal sums: fast, and right for many rows (Bernstein and Sheldon 2018)."""

from __future__ import annotations

import numpy as np

from dalenius.core.arrays import Reals
from dalenius.infer.simulation.models.family import Family
from dalenius.infer.simulation.noise_laws import LaplaceLaw, Noise

TRIED, ROWS = 400, 1000
"""Parameters at which rows are drawn, and how many at each, to see what bounds do to them."""


class SufficientStatisticsGibbs:
    """One chain for each release: the sums nobody sees, taken to be normal given the parameter, and the parameter.

    Laplace noise is normal noise whose variance is exponential (Park and Casella 2008), and redrawn too. Bounds are
    taken to bind no row.
    """

    def __init__(
        self, family: Family, released: Reals, noise: Noise, n: int, rng: np.random.Generator, start: Reals
    ) -> None:
        self.family, self.released, self.noise, self.n, self.rng = family, released, noise, n, rng
        self.theta = start
        self.variance = np.tile(noise.variance, (len(released), 1))
        self.scale = np.array([law.scale if isinstance(law, LaplaceLaw) else np.nan for law in noise.laws])

    def run(self, steps: int, warm_up: int) -> Reals:
        """Parameters (steps x chains x p), after so many steps that are thrown away."""
        for _ in range(warm_up):
            self.step()
        found = []
        for _ in range(steps):
            self.step()
            found.append(self.theta)
        return np.array(found)

    def step(self) -> None:
        """Sums given parameter and release, then the parameter given sums, then the variances of Laplace noise."""
        mean, covariance = self.family.moments(self.theta)
        mean, covariance = self.n * mean, self.n * covariance
        together = covariance + self.variance[:, :, None] * np.eye(len(self.noise.laws))
        gain = np.linalg.solve(together, covariance).transpose(0, 2, 1)
        # A draw of both, moved to agree with the release.
        sums = mean + _normal(covariance, self.rng)
        seen = sums + np.sqrt(self.variance) * self.rng.standard_normal(sums.shape)
        sums = sums + (gain @ (self.released - seen)[..., None])[..., 0]
        self.theta = self.family.parameter(self.family.possible(sums, self.n), self.n, self.rng)
        laplace = ~np.isnan(self.scale)
        if laplace.any():
            gap = np.maximum(np.abs(self.released - sums)[:, laplace], 1e-12)
            scale = np.broadcast_to(self.scale[laplace], gap.shape)
            self.variance[:, laplace] = 1 / self.rng.wald(1 / (scale * gap), 1 / scale**2)


def _normal(covariance: Reals, rng: np.random.Generator) -> Reals:
    values, vectors = np.linalg.eigh(covariance)
    z = np.sqrt(np.maximum(values, 0.0)) * rng.standard_normal(values.shape)
    return np.asarray((vectors @ z[..., None])[..., 0])


def moved_by_bounds(family: Family, thetas: Reals, noise: Noise, n: int, rng: np.random.Generator) -> float:
    """How far bounds move the released sums at these parameters, in the sums' standard deviations: the mean, at most.

    Zero where no row that the model draws is beyond a bound. The posterior above knows of no bounds, and is off by
    about as much of its own standard deviation.
    """
    kept = thetas[np.linspace(0, len(thetas) - 1, TRIED).astype(int)]
    rows = family.rows(kept, ROWS, rng)
    moved = n * (family.contributions(rows) - family.sufficient(rows)).mean(axis=1)
    _, covariance = family.moments(kept)
    spread = np.sqrt(n * np.einsum("cii->ci", covariance) + noise.variance)
    return float(np.abs(moved / np.maximum(spread, 1e-300)).mean(axis=0).max())
