"""The exact posterior of a private release: rows are filled in and redrawn (Ju, Awan, Gong and Rao 2022)."""

from __future__ import annotations

import numpy as np

from dalenius.core.arrays import Array, Reals
from dalenius.infer.simulation.models.family import Family
from dalenius.infer.simulation.noise_laws import Noise

WANTED = 0.35
"""The share of redrawn blocks that are kept, which the size of blocks is chosen for."""
AT_ONCE = 200_000
"""Rows that are drawn together, of all chains: enough to be quick, few enough for a processor's cache."""


class Augmentation:
    """One chain for each release, all at once: the rows nobody sees, and the parameter.

    A step draws the parameter given the rows, from its conjugate law; then each block of rows anew from the model, kept
    with probability min(1, ratio of the noise's densities): a Metropolis-Hastings step, which leaves the posterior of
    rows and parameter as it is. No bounds are approximated: clipped contributions are what the noise is compared with,
    and rows before clipping are what the parameter is drawn from. Of a block, its two sums are all that is kept.
    """

    def __init__(
        self, family: Family, released: Reals, noise: Noise, n: int, rng: np.random.Generator, start: Reals
    ) -> None:
        self.family, self.released, self.noise, self.n, self.rng = family, released, noise, n, rng
        self.theta = start
        self.rows: Array | None = family.rows(start, n, rng)
        """Only while the size of blocks may change."""
        self._cut(min(n, 16))

    def run(self, steps: int, warm_up: int) -> Reals:
        """Parameters (steps x chains x p), after so many steps that are thrown away and fit the size of blocks."""
        for step in range(warm_up):
            kept = self.step()
            if step % 5 == 4:
                change = 1.5 if kept > WANTED else 1 / 1.5
                self._cut(int(np.clip(round(self.block * change), 1, self.n)))
        self.rows = None
        found = []
        for _ in range(steps):
            self.step()
            found.append(self.theta)
        return np.array(found)

    def step(self) -> float:
        """One sweep; the share of blocks that were kept."""
        self.theta = self.family.parameter(self.totals.sum(axis=0), self.n, self.rng)
        chains = len(self.theta)
        together = self.block * max(1, AT_ONCE // (self.block * chains))
        kept, sums = 0.0, self.sums.sum(axis=0)
        density = self.noise.log_density(self.released - sums)
        for first in range(0, self.n, together):
            new = self.family.rows(self.theta, min(together, self.n - first), self.rng)
            added, totals = self._of_blocks(new)
            before = first // self.block
            part = slice(before, before + len(added))
            change = added - self.sums[part]
            chance = np.log(self.rng.random(change.shape[:2]))
            yes = np.empty(chance.shape, bool)
            for k, each in enumerate(change):
                moved = self.noise.log_density(self.released - (sums + each))
                np.less(chance[k], moved - density, out=yes[k])
                density = np.where(yes[k], moved, density)
                sums = sums + each * yes[k, :, None]
            self.sums[part] = np.where(yes[:, :, None], added, self.sums[part])
            self.totals[part] = np.where(yes[:, :, None], totals, self.totals[part])
            if self.rows is not None:
                of_row = np.repeat(yes.T, self.block, axis=1)[:, : new.shape[1]]
                old = self.rows[:, first : first + new.shape[1]]
                old[of_row] = new[of_row]
            kept += float(yes.sum())
        return kept / self.sums[..., 0].size

    def _cut(self, block: int) -> None:
        """Into blocks of another size."""
        assert self.rows is not None
        self.block = block
        self.sums, self.totals = self._of_blocks(self.rows)

    def _of_blocks(self, rows: Array) -> tuple[Reals, Reals]:
        """Sums of the released statistics and of the sufficient ones: blocks x chains x columns."""
        return self._summed(self.family.contributions(rows)), self._summed(self.family.sufficient(rows))

    def _summed(self, values: Reals) -> Reals:
        whole = values.shape[1] // self.block
        of_whole = values[:, : whole * self.block].reshape(len(values), whole, self.block, values.shape[-1])
        parts: Reals = np.einsum("cbrd->bcd", of_whole)
        if whole * self.block < values.shape[1]:
            rest = values[:, whole * self.block :].sum(axis=1)[None]
            parts = np.concatenate((parts, rest))
        return parts
