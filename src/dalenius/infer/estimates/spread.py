"""The variance and the standard deviation of a population between public bounds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.adjacency import adjacency as checked_adjacency
from dalenius.core.arrays import Ints, Reals
from dalenius.infer.estimates.bounded import STEPS, Bounded, present, steps_of
from dalenius.infer.estimates.bounded_mean import Column
from dalenius.infer.estimates.powers import Powers, Released, weights_for
from dalenius.infer.estimates.single import single
from dalenius.infer.estimates.stream import parts
from dalenius.infer.inputs import column
from dalenius.infer.promise import checked_guarantee, part
from dalenius.infer.result import Result
from dalenius.intervals.differences import Estimated
from dalenius.intervals.means import squares
from dalenius.intervals.ratios import interval
from dalenius.intervals.spreads import error_of_root

UNIT = Bounded(0.0, 1.0)


FINDING = 0.15
"""The share of the budget that finds the mean."""

CAUTION = 0.8
"""Sample kurtoses are too small in small samples, the more the larger they are; chosen by simulation."""


class Squares(NamedTuple):
    """What was released: squared distances from the noisy mean over `most`, from -1 (0) to 1 (`most`), and the variance
    of the noise of that mean; each for every data set."""

    powers: Released
    most: Reals
    shift: Reals


@dataclass(frozen=True)
class Spread:
    """Releases a mean m, then count, sum and sum of squares of (x - m)^2, whose mean is the variance and a little more.

    So the fourth moment, by which a variance varies, is estimated, not assumed. root: the standard deviation.
    """

    guarantee: Guarantee
    bounds: Bounded
    adjacency: Adjacency = ADD_REMOVE
    root: bool = False

    @cached_property
    def first(self) -> Powers:
        """The mean."""
        promise = part(self.guarantee, FINDING)
        return Powers(promise, self.adjacency, weights_for(promise, self.adjacency, "share"))

    @cached_property
    def second(self) -> Powers:
        """Squared distances from it."""
        promise = part(self.guarantee, 1 - FINDING)
        return Powers(promise, self.adjacency, weights_for(promise, self.adjacency, "mean"))

    @property
    def loss(self) -> Loss:
        """What the release costs."""
        return self.first.loss + self.second.loss

    def noisy(self, samples: Sequence[Column]) -> Squares:
        """The noisy sums of each data set."""
        found = self.first.release([self._steps(sample) for sample in samples])
        rows = np.maximum(found.rows.values, max(1.0, 2 * found.rows.sigma))
        middle = np.rint(np.clip(found.sum.values / rows, -1.0, 1.0) * STEPS)
        most = (1 + np.abs(middle) / STEPS) ** 2
        shift = (found.sum.variance + (middle / STEPS) ** 2 * found.rows.variance) / rows**2
        squares = [
            _squares(self._steps(sample), centre, largest)
            for sample, centre, largest in zip(samples, middle, most, strict=True)
        ]
        return Squares(self.second.release(squares), most, shift)

    def _steps(self, sample: Column) -> Iterator[Ints]:
        return (steps_of(self.bounds, present(self.adjacency, block)[0]) for block in parts(sample))

    def estimate(self, noisy: Squares, alpha: float) -> Estimated:
        """Of every data set; limits fail with probability alpha."""
        bottom, top, _ = noisy.powers
        usable = bottom.values > max(2.0, 2 * bottom.sigma)
        n = np.where(usable, bottom.values, 2.0)
        ratio = np.clip(np.where(usable, top.values / n, 0.0), -1.0, 1.0)
        c = self._variances(noisy, n, ratio)

        def fourth(t: Reals) -> Reals:
            return np.asarray(top.fourth + t**4 * bottom.fourth)

        low, high = interval(top.values, bottom.values, c, fourth, alpha, (-1.0, 1.0))
        low, high = np.where(usable, low, -1.0), np.where(usable, high, 1.0)
        # At the end of the range nothing is known from above: the noisy mean may be right, and no distance in excess.
        high = np.where(high >= 1.0, 1.0 + 2 * noisy.shift / noisy.most, high)
        error = np.sqrt(c[0] + c[1] * ratio + c[2] * ratio**2) / n

        def variance(t: Reals, rounding: float = 0.0) -> Reals:
            found = (1 + t + rounding) / 2 * noisy.most - noisy.shift
            return np.asarray(np.clip(found * n / (n - 1), 0.0, 2.0))

        rounding = 4 / STEPS
        estimate, ends = variance(ratio), (variance(low, -rounding), variance(high, rounding))
        error = np.minimum(error * noisy.most / 2, 2.0)
        unit = self.bounds.half**2
        if self.root:
            error = error_of_root(estimate, error)
            estimate, ends = np.sqrt(estimate), (np.sqrt(ends[0]), np.sqrt(ends[1]))
            unit = self.bounds.half
        return estimate * unit, error * unit, ends[0] * unit, ends[1] * unit

    def _variances(self, noisy: Squares, n: Reals, ratio: Reals) -> tuple[Reals, Reals, Reals]:
        """Of S - t N if t is the truth, as a polynomial of t: noise, that of the mean included, and drawing of rows.

        The latter grows with the square of the variance, 1 + t, where this stands out of the noise.
        """
        bottom, top, square = noisy.powers
        drawn = squares(top, bottom, square, ratio)
        part = np.maximum(1 + ratio, 1e-9)
        kurtosis = drawn / (n * part**2)  # less 1
        drawn = drawn * (1 + np.minimum(CAUTION * kurtosis / np.sqrt(n), 2.0))
        scaled = np.clip(1 - 4 * top.variance / (n * part) ** 2, 0.0, 1.0) * drawn / part**2
        scaled = np.minimum(scaled, n**2 / 16)  # so that limits stay finite
        mean = 2 * (2 * n * noisy.shift / noisy.most) ** 2
        return (
            top.variance + mean + drawn - scaled * part**2 + scaled,
            2 * scaled,
            bottom.variance + scaled,
        )

    def release(self, x: object) -> Result:
        """One spread, with its interval."""
        return self.result(*column(x))

    def result(self, values: Column, name: str) -> Result:
        """The same, of rows in memory or in blocks."""
        noisy = self.noisy([values])
        word = "standard deviation" if self.root else "variance"
        notes = [self.bounds.note(self.adjacency)]
        method = f"{word} from noisy squared distances from a noisy mean"
        return single(
            lambda alpha: self.estimate(noisy, alpha), name, self.loss, method, noisy.powers.rows, notes
        )


def _squares(blocks: Iterable[Ints], centre: float, largest: float) -> Iterator[Ints]:
    """Of distances from a centre, as parts of the largest there can be."""
    return (UNIT.steps(((steps - centre) / STEPS) ** 2 / largest) for steps in blocks)


def variance(
    x: object, guarantee: Guarantee, *, bounds: Sequence[float], adjacency: Adjacency = ADD_REMOVE
) -> Result:
    """The variance of the population that rows were drawn from.

    Released are a mean, for 15 % of the promise, then count, sum and sum of squares of the squared distances from it,
    with Gaussian noise (Laplace noise for PureDP); under REPLACE_ONE the count is public, and has none.

    Parameters
    ----------
    x : array, series or frame of one column
        One number a row; missing values as for `mean`.
    guarantee : Guarantee
        The promise to keep: GDP, ZCDP, ApproxDP or RDP, with Gaussian noise, or PureDP, with Laplace noise.
    bounds : pair of float
        (low, high), from public knowledge. Values beyond are clamped.
    adjacency : Adjacency, optional
        ADD_REMOVE, or REPLACE_ONE, which makes the number of rows public.

    Returns
    -------
    Result
        One estimate.

    Raises
    ------
    InvalidParameter
        If a parameter is out of range.

    Examples
    --------
    >>> import numpy as np, dalenius as dp
    >>> fit = dp.infer.variance(np.linspace(0, 1, 5000), dp.GDP(1.0), bounds=(0, 1))
    >>> bool(abs(fit.params[0] - 1 / 12) < 0.02)
    True
    """
    return Spread(checked_guarantee(guarantee), Bounded.of(bounds), checked_adjacency(adjacency)).release(x)


def std(
    x: object, guarantee: Guarantee, *, bounds: Sequence[float], adjacency: Adjacency = ADD_REMOVE
) -> Result:
    """The standard deviation of the population that rows were drawn from.

    Released are a mean, for 15 % of the promise, then count, sum and sum of squares of the squared distances from it,
    with Gaussian noise (Laplace noise for PureDP); under REPLACE_ONE the count is public, and has none.

    Parameters
    ----------
    x : array, series or frame of one column
        One number a row; missing values as for `mean`.
    guarantee : Guarantee
        The promise to keep: GDP, ZCDP, ApproxDP or RDP, with Gaussian noise, or PureDP, with Laplace noise.
    bounds : pair of float
        (low, high), from public knowledge. Values beyond are clamped.
    adjacency : Adjacency, optional
        ADD_REMOVE, or REPLACE_ONE, which makes the number of rows public.

    Returns
    -------
    Result
        One estimate.

    Raises
    ------
    InvalidParameter
        If a parameter is out of range.

    Examples
    --------
    >>> import numpy as np, dalenius as dp
    >>> fit = dp.infer.std(np.linspace(0, 1, 5000), dp.GDP(1.0), bounds=(0, 1))
    >>> bool(abs(fit.params[0] - 0.2887) < 0.04)
    True
    """
    relation = checked_adjacency(adjacency)
    return Spread(checked_guarantee(guarantee), Bounded.of(bounds), relation, root=True).release(x)
