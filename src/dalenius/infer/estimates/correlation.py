"""Pearson's correlation of two columns between public bounds.

Released are sums of x, y, x^2, y^2 and x y, each from the middle of its bounds in units of half their width, u and v.

Add/remove: a row adds (1, u, v, u^2, v^2, u v), longest at |u| = |v| = 1.

Replace-one: with d and s the difference and the sum of the two u, e and r those of the two v, the entries change by
(d, e, d s, e r, (s e + d r) / 2), where |d| + |s| and |e| + |r| are at most 2. Larger |s| and |r| with the signs of d
and e only lengthen it: the longest change has s = 2 - d and r = 2 - e, and is looked for on a grid of (d, e), with
what it can grow by between two points added.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dalenius.core.adjacency import adjacency as checked_adjacency
from dalenius.core.arrays import Ints, Reals
from dalenius.infer.estimates.bounded import Bounded, added, exact_sum, present, steps_of, up
from dalenius.infer.estimates.single import single
from dalenius.infer.estimates.stream import Stream, parts
from dalenius.infer.estimates.sums import Sums, public
from dalenius.infer.inputs import column, same_length
from dalenius.infer.promise import checked_guarantee, pure_epsilon
from dalenius.infer.result import Result
from dalenius.intervals import correlations
from dalenius.intervals.differences import Estimated
from dalenius.intervals.laws import Noisy
from dalenius.intervals.moments import Deviations


class Noise(NamedTuple):
    """Noisy sums of two columns."""

    rows: Noisy
    x: Noisy
    y: Noisy
    xx: Noisy
    yy: Noisy
    xy: Noisy


Pairs = tuple[Reals, Reals] | Stream[tuple[Reals, Reals]]
"""Two columns in memory, or in blocks, as `bounded_mean.Column`."""

COUNT, FIRST, SQUARE, PRODUCT = 18 / 64, 26 / 64, 40 / 64, 1.0
"""Weights of the count, of sums, of squares, and of products."""


@cache
def replaced(pure: bool) -> float:
    """What replacing a record changes at most, in l1 or l2 norm.

    The derivatives by d and by e are at most 2 a + 2 b + c (of the l1 norm), and 4 a^2 + 2 b^2 + 4 c^2 (of the square
    of the l2 norm), for weights a, b, c of sums, squares and products.
    """
    a, b, c = FIRST, SQUARE, PRODUCT
    step = 2.0**-9
    d = np.arange(0.0, 2.0 + step, step)[:, None]
    e = d.T
    both = ((2 - d) * e + d * (2 - e)) / 2
    if pure:
        size = a * (d + e) + b * (d * (2 - d) + e * (2 - e)) + c * both
        return float(size.max()) + step * (2 * a + 2 * b + c)
    square = a**2 * (d**2 + e**2) + b**2 * ((d * (2 - d)) ** 2 + (e * (2 - e)) ** 2) + (c * both) ** 2
    return math.sqrt(float(square.max()) + step * (4 * a**2 + 2 * b**2 + 4 * c**2))


@dataclass(frozen=True)
class Correlation:
    """The release and its interval."""

    guarantee: Guarantee
    x_bounds: Bounded
    y_bounds: Bounded
    adjacency: Adjacency = ADD_REMOVE

    @cached_property
    def sums(self) -> Sums:
        weights, digits = (COUNT, FIRST, FIRST, SQUARE, SQUARE, PRODUCT), (0, 20, 20, 40, 40, 40)
        pure = pure_epsilon(self.guarantee) is not None
        if self.adjacency is ADD_REMOVE:
            reach = sum(weights) if pure else math.hypot(*weights)
            return Sums(self.guarantee, self.adjacency, weights, digits, up(reach))
        return Sums(self.guarantee, self.adjacency, weights[1:], digits[1:], up(replaced(pure)))

    @property
    def loss(self) -> Loss:
        """What the release costs."""
        return self.sums.loss

    def noisy(self, samples: Sequence[Pairs]) -> Noise:
        """The noisy sums of each data set."""
        each = [added((self._totals(*block) for block in parts(sample)), 6) for sample in samples]
        totals = list(zip(*each, strict=True))
        if self.adjacency is ADD_REMOVE:
            return Noise(*self.sums.release(totals))
        return Noise(public(totals[0]), *self.sums.release(totals[1:]))

    def _totals(self, x: Reals, y: Reals) -> list[int]:
        x, y = present(self.adjacency, x, y)
        u, v = steps_of(self.x_bounds, x), steps_of(self.y_bounds, y)
        products: list[Ints] = [u, v, u * u, v * v, u * v]
        return [len(u), *map(exact_sum, products)]

    def estimate(self, noisy: Noise, alpha: float) -> Estimated:
        """Of every data set; limits fail with probability alpha."""
        xx = Deviations(noisy.rows, noisy.x, noisy.x, noisy.xx, True)
        yy = Deviations(noisy.rows, noisy.y, noisy.y, noisy.yy, True)
        xy = Deviations(noisy.rows, noisy.x, noisy.y, noisy.xy, False)
        return correlations.correlation(xx, yy, xy, alpha, sampling=True)

    def release(self, x: object, y: object) -> Result:
        """One correlation, with its interval."""
        (first, one), (second, two) = column(x, "x"), column(y, "y")
        same_length(first, second, "x and y")
        return self.result((first, second), one, two)

    def result(self, pairs: Pairs, one: str, two: str) -> Result:
        """The same, of rows in memory or in blocks."""
        noisy = self.noisy([pairs])
        return single(
            lambda alpha: self.estimate(noisy, alpha),
            f"{one}, {two}",
            self.loss,
            "Pearson's correlation from noisy sums of squares and products",
            noisy.rows,
            [
                "Values outside the public bounds count as the nearer bound"
                + (", missing ones as their middle." if self.adjacency is REPLACE_ONE else "."),
                "The interval takes the relation to be linear, with the same spread everywhere; where it is not, the "
                "interval is too short or too long, as Fisher's is.",
            ],
        )


def correlation(
    x: object,
    y: object,
    guarantee: Guarantee,
    *,
    x_bounds: Sequence[float],
    y_bounds: Sequence[float],
    adjacency: Adjacency = ADD_REMOVE,
) -> Result:
    """Pearson's correlation in the population that rows were drawn from.

    Released are the count, both sums, both sums of squares and the sum of products of columns brought from their bounds
    to [-1, 1], with Gaussian noise (Laplace noise for PureDP) for what one row moves all six by, weighted; under
    REPLACE_ONE the count is public, and has none.

    Parameters
    ----------
    x, y : arrays, series or frames of one column
        Two numbers a row. Rows that lack either are left out under ADD_REMOVE; under REPLACE_ONE what is missing counts
        as the middle of its bounds.
    guarantee : Guarantee
        The promise to keep: GDP, ZCDP, ApproxDP or RDP, with Gaussian noise, or PureDP, with Laplace noise.
    x_bounds, y_bounds : pairs of float
        (low, high) of each, from public knowledge. Values beyond are clamped.
    adjacency : Adjacency, optional
        ADD_REMOVE, or REPLACE_ONE, which makes the number of rows public.

    Returns
    -------
    Result
        One estimate. The interval inverts a likelihood ratio and stays within -1 and 1. It takes the relation to be
        linear, with the same spread everywhere, and allows for heavy tails of each column.

    Raises
    ------
    InvalidParameter
        If a parameter is out of range, or x and y differ in length.

    Examples
    --------
    >>> import numpy as np, dalenius as dp
    >>> x = np.linspace(0, 1, 5000)
    >>> fit = dp.infer.correlation(x, x**2, dp.GDP(1.0), x_bounds=(0, 1), y_bounds=(0, 1))
    >>> bool(fit.params[0] > 0.9)
    True
    """
    first, second = Bounded.of(x_bounds, "x_bounds"), Bounded.of(y_bounds, "y_bounds")
    made = Correlation(checked_guarantee(guarantee), first, second, checked_adjacency(adjacency))
    return made.release(x, y)
