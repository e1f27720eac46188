"""Numbers with a normal law, cut off at bounds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalenius.core import checks
from dalenius.core.arrays import Array, Reals
from dalenius.errors import InvalidParameter
from dalenius.infer.simulation.model import Model, Space
from dalenius.infer.simulation.models.family import Family
from dalenius.infer.simulation.models.normal_seeds import NormalSeeds, normal_seeds
from dalenius.infer.simulation.models.priors import positive_pair


@dataclass(frozen=True)
class Normal(Model, Family):
    """Normal rows, cut off at `bounds`, of which the sum was released, and with an unknown sd the sum of squares too.

    The mean and sd are those before cutting off: what the bounds do to the sums is simulated, and so undone.

    Parameters
    ----------
    bounds
        Lowest and highest, to which rows were cut off before they were added up.
    sd
        The standard deviation, if it is public: then only the sum was released.
    space
        The lowest and highest mean and sd thought possible; if left out, means within three times the bounds and sds
        from 1/1000 of their distance to three times it.
    prior_rows
        How many rows the normal-inverse-gamma prior counts as: of the mean, and of the variance (for posteriors). The
        prior is centred in the middle of the bounds, with a standard deviation of a quarter of their distance.

    Examples
    --------
    >>> from dalenius.infer import models
    >>> models.Normal(bounds=(0, 10)).names
    ('mean', 'sd')
    >>> models.Normal(bounds=(0, 10), sd=2.0).names
    ('mean',)
    """

    bounds: tuple[float, float]
    sd: float | None = None
    space: Space | None = None  # type: ignore[assignment]
    prior_rows: tuple[float, float] = (0.1, 4.0)
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        low, high = checks.interval("bounds", self.bounds)
        wide = high - low
        usual: Space = ((low - wide, high + wide), (wide / 1000, 3 * wide))
        names: tuple[str, ...] = ("mean", "sd")
        if self.sd is not None:
            object.__setattr__(self, "sd", checks.positive("sd", self.sd))
            usual, names = usual[:1], names[:1]
        given = usual if self.space is None else tuple(self.space)
        if len(given) != len(names):
            raise InvalidParameter.of("space", f"space must have {len(names)} pairs (lowest, highest).")
        object.__setattr__(self, "bounds", (low, high))
        object.__setattr__(self, "prior_rows", positive_pair("prior_rows", self.prior_rows))
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "space", tuple(checks.interval("space", pair) for pair in given))
        if self.sd is None and not self.space[1][0] > 0:  # type: ignore[index]
            raise InvalidParameter.of("space", "the lowest sd must be above 0.")

    def seeds(self, rng: np.random.Generator, n: int, size: int) -> NormalSeeds:
        return normal_seeds(rng, n, size)

    def sample(self, theta: Reals, n: int, seeds: Any) -> Reals:
        """From what the seeds below either bound add up to, however many rows there are."""
        (low, high), m = self.bounds, theta[0]
        s = theta[1] if self.sd is None else self.sd
        first, last = (seeds.below((end - m) / s) for end in (low, high))
        inside, z = last.number - first.number, last.sums - first.sums
        total = low * first.number + high * (n - last.number) + m * inside + s * z
        if self.sd is not None:
            return np.asarray(total)[:, None]
        z2 = last.squares - first.squares
        ends = low**2 * first.number + high**2 * (n - last.number)
        return np.column_stack((total, ends + m**2 * inside + 2 * m * s * z + s**2 * z2))

    @property
    def _centre(self) -> tuple[float, float]:
        """The prior's mean and variance."""
        low, high = self.bounds
        return (low + high) / 2, ((high - low) / 4) ** 2

    def prior(self, rng: np.random.Generator, chains: int) -> Reals:
        return self.parameter(np.zeros((chains, 1 if self.sd else 2)), 0, rng)

    def rows(self, theta: Reals, size: int, rng: np.random.Generator) -> Array:
        s = theta[:, 1:] if self.sd is None else self.sd
        return np.asarray(theta[:, :1] + s * rng.standard_normal((len(theta), size)))

    def contributions(self, rows: Array) -> Reals:
        return self.sufficient(np.clip(rows, *self.bounds))

    def sufficient(self, rows: Array) -> Reals:
        return rows[..., None] if self.sd is not None else np.stack((rows, rows**2), axis=-1)

    def parameter(self, totals: Reals, n: int, rng: np.random.Generator) -> Reals:
        (m, v), (k, df) = self._centre, self.prior_rows
        mean = (k * m + totals[:, 0]) / (k + n)
        if self.sd is not None:
            drawn = mean + self.sd / np.sqrt(k + n) * rng.standard_normal(len(mean))
            return np.asarray(drawn)[:, None]
        squares = df * v + totals[:, 1] + k * m**2 - (k + n) * mean**2
        variance = np.maximum(squares, 1e-12 * v) / rng.chisquare(df + n, len(mean))
        return np.column_stack(
            (mean + np.sqrt(variance / (k + n)) * rng.standard_normal(len(mean)), np.sqrt(variance))
        )

    def moments(self, theta: Reals) -> tuple[Reals, Reals]:
        m, s = theta[:, 0], theta[:, 1] if self.sd is None else np.full(len(theta), self.sd)
        if self.sd is not None:
            return m[:, None], (s**2)[:, None, None]
        cross = 2 * m * s**2
        covariance = np.stack((s**2, cross, cross, 2 * s**4 + 4 * m**2 * s**2), axis=1).reshape(-1, 2, 2)
        return np.column_stack((m, m**2 + s**2)), covariance

    def possible(self, totals: Reals, n: int) -> Reals:
        if self.sd is not None:
            return totals
        least = totals[:, 0] ** 2 / max(n, 1)
        return np.column_stack((totals[:, 0], np.maximum(totals[:, 1], least)))
