"""The exact posterior of a private release: rows are filled in and redrawn (Ju, Awan, Gong and Rao 2022)."""

from __future__ import annotations

import numpy as np

from dalenius.core.arrays import Array, Bools, Reals
from dalenius.infer.simulation.models.family import Family
from dalenius.infer.simulation.noise_laws import Noise

WANTED = 0.35
"""The share of redrawn blocks that are kept, which the size of blocks is chosen for."""


class Augmentation:
    """One chain for each release, all at once: the rows nobody sees, and the parameter.

    A step draws the parameter given the rows, from its conjugate law; then each block of rows anew from the model, kept
    with probability min(1, ratio of the noise's densities): a Metropolis-Hastings step, which leaves the posterior of
    rows and parameter as it is. No bounds are approximated: clipped contributions are what the noise is compared with,
    and rows before clipping are what the parameter is drawn from.
    """

    def __init__(
        self, family: Family, released: Reals, noise: Noise, n: int, rng: np.random.Generator, start: Reals
    ) -> None:
        self.family, self.released, self.noise, self.n, self.rng = family, released, noise, n, rng
        self.theta = start
        self.rows = family.rows(start, n, rng)
        self.block = min(n, 16)
        self.sums, self.totals = self._summed()

    def run(self, steps: int, warm_up: int) -> Reals:
        """Parameters (steps x chains x p), after so many steps that are thrown away and fit the size of blocks."""
        for step in range(warm_up):
            kept = self.step()
            if step % 5 == 4:
                change = 1.5 if kept > WANTED else 1 / 1.5
                self.block = int(np.clip(round(self.block * change), 1, self.n))
        found = []
        for _ in range(steps):
            self.step()
            found.append(self.theta)
        return np.array(found)

    def step(self) -> float:
        """One sweep; the share of blocks that were kept."""
        self.theta = self.family.parameter(self.totals, self.n, self.rng)
        kept, blocks = 0.0, 0
        density = self.noise.log_density(self.released - self.sums)
        for first in range(0, self.n, self.block):
            part = slice(first, min(first + self.block, self.n))
            new = self.family.rows(self.theta, part.stop - part.start, self.rng)
            old = self.rows[:, part]
            sums = self.sums + (self.family.contributions(new) - self.family.contributions(old)).sum(axis=1)
            moved = self.noise.log_density(self.released - sums)
            yes = np.log(self.rng.random(len(moved))) < moved - density
            self._keep(yes, part, new, old, sums)
            density = np.where(yes, moved, density)
            kept, blocks = kept + float(yes.mean()), blocks + 1
        self.sums, self.totals = self._summed()  # no rounding adds up over steps
        return kept / blocks

    def _keep(self, yes: Bools, part: slice, new: Array, old: Array, sums: Reals) -> None:
        shape = (-1,) + (1,) * (new.ndim - 1)
        self.rows[:, part] = np.where(yes.reshape(shape), new, old)
        self.sums = np.where(yes[:, None], sums, self.sums)

    def _summed(self) -> tuple[Reals, Reals]:
        """Of the released statistics and of the sufficient ones."""
        contributions, sufficient = self.family.contributions(self.rows), self.family.sufficient(self.rows)
        return contributions.sum(axis=1), sufficient.sum(axis=1)
