"""The share of a population for which something is true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dalenius.core.adjacency import adjacency as checked_adjacency
from dalenius.core.arrays import Ints, Reals
from dalenius.infer.estimates.bounded import STEPS, Bounded, present
from dalenius.infer.estimates.bounded_mean import Column
from dalenius.infer.estimates.powers import Powers, Released, weights_for
from dalenius.infer.estimates.single import single
from dalenius.infer.estimates.stream import parts
from dalenius.infer.inputs import column
from dalenius.infer.promise import checked_guarantee
from dalenius.infer.result import Result
from dalenius.intervals import means
from dalenius.intervals.differences import Estimated

UNIT = Bounded(0.0, 1.0)


@dataclass(frozen=True)
class Proportion:
    """Releases a count of rows and a sum of 1 (true) and -1 (false); squares would say nothing."""

    guarantee: Guarantee
    adjacency: Adjacency = ADD_REMOVE

    @cached_property
    def powers(self) -> Powers:
        return Powers(self.guarantee, self.adjacency, weights_for(self.guarantee, self.adjacency, "share"))

    @property
    def loss(self) -> Loss:
        """What the release costs."""
        return self.powers.loss

    def noisy(self, samples: Sequence[Column]) -> Released:
        """The noisy sums of each data set: what is not 0 is true; under replace-one what is missing is false."""
        return self.powers.release([(self._signs(x) for x in parts(sample)) for sample in samples])

    def _signs(self, x: Reals) -> Ints:
        (counted,) = present(self.adjacency, x)
        true = np.isfinite(counted) & (counted != 0)
        return np.where(true, STEPS, -STEPS).astype(np.int64)

    def estimate(self, noisy: Released, alpha: float) -> Estimated:
        """Of every data set; limits fail with probability alpha."""
        ratio, error, low, high = means.mean(noisy.sum, noisy.rows, None, alpha, sampling=True)
        return UNIT.values(ratio), error / 2, UNIT.values(low), UNIT.values(high)

    def release(self, x: object) -> Result:
        """One share, with its interval."""
        return self.result(*column(x))

    def result(self, values: Column, name: str) -> Result:
        """The same, of rows in memory or in blocks."""
        noisy = self.noisy([values])
        method = "proportion from two noisy counts"
        notes = ["Missing values count as false."] if self.adjacency is REPLACE_ONE else []
        return single(lambda alpha: self.estimate(noisy, alpha), name, self.loss, method, noisy.rows, notes)


def proportion(x: object, guarantee: Guarantee, *, adjacency: Adjacency = ADD_REMOVE) -> Result:
    """The share of the population that rows were drawn from for which a condition is true.

    Released are the number of rows, and that of the true less that of the false ones, with Gaussian noise (Laplace
    noise for PureDP) for what one row moves both by; under REPLACE_ONE the number of rows is public, and has none.

    Parameters
    ----------
    x : array, series or frame of one column
        True or False, or numbers, of which 0 is false. Missing values are left out under ADD_REMOVE, and count as
        false under REPLACE_ONE.
    guarantee : Guarantee
        The promise to keep: GDP, ZCDP, ApproxDP or RDP, with Gaussian noise, or PureDP, with Laplace noise.
    adjacency : Adjacency, optional
        ADD_REMOVE, or REPLACE_ONE, which makes the number of rows public.

    Returns
    -------
    Result
        One estimate. The interval inverts Clopper and Pearson's test, with the noise in the place of their caution.

    Raises
    ------
    InvalidParameter
        If a parameter is out of range.

    Examples
    --------
    >>> import numpy as np, dalenius as dp
    >>> smokes = np.arange(5000) % 4 == 0
    >>> bool(abs(dp.infer.proportion(smokes, dp.PureDP(1.0)).params[0] - 0.25) < 0.03)
    True
    """
    return Proportion(checked_guarantee(guarantee), checked_adjacency(adjacency)).release(x)
