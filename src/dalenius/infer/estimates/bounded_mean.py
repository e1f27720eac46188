"""The mean of a population between public bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.arrays import Reals
from dalenius.infer.estimates.bounded import STEPS, Bounded, present, steps_of
from dalenius.infer.estimates.powers import Powers, Released, weights_for
from dalenius.infer.estimates.single import single
from dalenius.infer.estimates.stream import Stream, parts
from dalenius.infer.inputs import column
from dalenius.infer.result import Result
from dalenius.intervals import means
from dalenius.intervals.differences import Estimated

Column = Reals | Stream[Reals]
"""Numbers in memory, or in blocks: then on a grid already, of steps of at most 2^-24 of the bounds' width."""


@dataclass(frozen=True)
class BoundedMean:
    """Releases count, sum and sum of squares around the middle of the bounds, with noise for all three together.

    Under add/remove the count matters little, as the sum is counted from the middle; the squares give the sampling
    variance. The interval inverts a test of each possible mean, with sampling and noise (`intervals.populations`).
    """

    guarantee: Guarantee
    bounds: Bounded
    adjacency: Adjacency = ADD_REMOVE
    what: str = "mean"

    @cached_property
    def powers(self) -> Powers:
        return Powers(self.guarantee, self.adjacency, weights_for(self.guarantee, self.adjacency, self.what))

    @property
    def loss(self) -> Loss:
        """What the release costs."""
        return self.powers.loss

    def noisy(self, samples: Sequence[Column]) -> Released:
        """The noisy sums of each data set."""
        return self.powers.release(
            [(steps_of(self.bounds, present(self.adjacency, x)[0]) for x in parts(one)) for one in samples]
        )

    def estimate(self, noisy: Released, alpha: float) -> Estimated:
        """Of every data set; limits fail with probability alpha."""
        ratio, error, low, high = means.mean(noisy.sum, noisy.rows, noisy.square, alpha, sampling=True)
        # Half a step, and what a grid beneath may have done (`Column`).
        rounding = 0.0 if noisy.square is None else 0.6 / STEPS
        half = self.bounds.half
        return (
            self.bounds.values(ratio),
            error * half,
            self.bounds.values(low - rounding),
            self.bounds.values(high + rounding),
        )

    def release(self, x: object) -> Result:
        """One mean, with its interval."""
        return self.result(*column(x))

    def result(self, values: Column, name: str) -> Result:
        """The same, of rows in memory or in blocks."""
        noisy = self.noisy([values])
        method = "mean from a noisy count, sum and sum of squares"
        return single(
            lambda alpha: self.estimate(noisy, alpha), name, self.loss, method, noisy.rows, self.notes
        )

    @property
    def notes(self) -> list[str]:
        return [self.bounds.note(self.adjacency)]
