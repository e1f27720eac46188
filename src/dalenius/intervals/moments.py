"""Variances, covariances and correlations from noisy sums.

With N the noisy count, S and T the noisy sums of x and y, P the noisy sum of x y (all from the centres),

    A = N P - S T + [x is y] var(S),    B = N^2 - N - var(N)

have expectations n^2 times the mean product of deviations, and n (n - 1): no bias at any size, and the covariance
is their ratio. A - c B is a polynomial of independent noises, so its variance if c is the covariance is known but
for n and the sums, for which the noisy ones are put. The interval is Fieller's (`ratios`).

The correlation is A_xy / sqrt(A_xx A_yy). Its interval inverts the likelihood ratio: all r for which some
A_xx, A_yy >= 0 and A_xy = r sqrt(A_xx A_yy) are within the noise of what was released.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dalenius.core.arrays import Reals
from dalenius.intervals.laws import Noisy, truncated_mean
from dalenius.intervals.smoothest import kurtosis


@dataclass(frozen=True, eq=False)
class Deviations:
    """A and B of two columns (or of one with itself), in units of the half-widths of their bounds."""

    n: Noisy
    x: Noisy
    y: Noisy
    product: Noisy
    same: bool

    @property
    def size(self) -> Reals:
        """The count where the noisy one is no use as such."""
        return np.maximum(self.n.values, 1.0)

    @property
    def top(self) -> Reals:
        crossed = self.n.values * self.product.values - self.x.values * self.y.values
        return np.asarray(crossed + self.x.variance if self.same else crossed)

    @property
    def bottom(self) -> Reals:
        return np.asarray(self.n.values**2 - self.n.values - self.n.variance)

    @property
    def drift(self) -> Reals:
        """S T / n: what the sums take off the sum of products."""
        crossed = self.x.values * self.y.values - (self.x.variance if self.same else 0.0)
        return np.asarray((np.maximum(crossed, 0.0) if self.same else crossed) / self.size)

    @property
    def own(self) -> Reals:
        """The variance of A but for what the noise of the count does through P.

        The square of the noisy count has the expectation n^2 + var(N), which is what the noise of P is multiplied by.
        """
        vx, vy = self.x.variance, self.y.variance
        first = np.maximum(self.size**2, self.n.variance) * self.product.variance
        if self.same:
            return np.asarray(first + 4 * np.maximum(self.x.values**2 - vx, 0.0) * vx + self.x.of_square)
        cross = self.x.values**2 * vy + self.y.values**2 * vx - vx * vy
        return np.asarray(first + np.maximum(cross, vx * vy))

    def variances(self) -> tuple[Reals, Reals, Reals]:
        """The variance of A - c B for a covariance c, as a polynomial of c.

        The noise of the count comes in through P - c (2 n - 1), which is S T / n - c n if c is the truth.
        """
        vn, n = self.n.variance, self.size
        return (
            self.own + vn * self.drift**2,
            -2 * vn * self.drift * n,
            vn * n**2 + self.n.of_square,
        )

    def moved(self, c: Reals, score: Reals) -> Deviations:
        """Where count and sums most likely were if c is the covariance; score: A - c B over its variance.

        A - c B moves with their noises by these factors, so that this much of each is expected.
        """
        factors = (self.drift - c * self.size, -self.y.values, -self.x.values, self.size)
        n, x, y, product = (
            replace(noisy, values=noisy.values - factor * noisy.variance * score)
            for noisy, factor in zip((self.n, self.x, self.y, self.product), factors, strict=True)
        )
        if self.same:
            x = y = replace(x, values=self.x.values + 2 * self.x.values * self.x.variance * score)
        return replace(self, n=replace(n, values=np.maximum(n.values, 2.0)), x=x, y=y, product=product)

    @property
    def mean(self) -> Reals:
        """Of x, within the bounds."""
        return np.asarray(np.clip(self.x.values / self.size, -1.0, 1.0))

    @property
    def spread(self) -> Reals:
        """The variance of x (where y is x), brought to where it can be."""
        noise = np.sqrt(self.variances()[0]) / self.size**2
        return truncated_mean(self.top / self.size**2, noise, 1 - self.mean**2)

    @property
    def bulge(self) -> Reals:
        """n times the variance of the variance of a sample of n, over the square of the population's."""
        return self.bulge_of(self.spread)

    def bulge_of(self, c: Reals) -> Reals:
        """The same if the population's variance is c: its mean is then at most sqrt(1 - c) from the middle."""
        n = np.maximum(self.size, 2.0)
        most = np.sqrt(np.clip(1 - c, 0.0, 1.0))
        return np.asarray(np.maximum(kurtosis(np.clip(self.mean, -most, most), c) - (n - 3) / (n - 1), 2 / n))

    def drawn(self, xx: Deviations | None = None, yy: Deviations | None = None) -> tuple[Reals, Reals]:
        """What drawing the rows from a population adds to the variance of A - c B: a constant and c^2 times.

        A variance varies with the population's kurtosis. A covariance with var(x) var(y) where the two are not
        related, and like a variance where one is a multiple of the other: in between as for normal populations.
        """
        n = self.size
        if xx is None or yy is None:
            return np.zeros_like(n), self.bottom**2 * self.bulge / n
        return (
            self.bottom**2 * xx.spread * yy.spread / n,
            self.bottom**2 * (np.sqrt(xx.bulge * yy.bulge) - 1) / n,
        )

    def third(self, c: Reals) -> Reals:
        """The third cumulant of A - c B where y is x: three times the mean of the square of the parts linear in the
        noises by those quadratic in them (noise by noise of N and P, squares of the others)."""
        through, n = self.drift - c * self.size, self.size
        both = 2 * n * through * self.product.variance * self.n.variance
        squares = 4 * self.x.values**2 * self.x.of_square + c * through**2 * self.n.of_square
        return np.asarray(3 * (both - squares))

    def fourth(self, c: Reals) -> Reals:
        """The fourth cumulant of A - c B, of the parts linear in the noises."""
        n = self.size
        if self.same:
            through = 16 * self.x.values**4 * self.x.fourth
        else:
            through = self.x.values**4 * self.y.fourth + self.y.values**4 * self.x.fourth
        count = (self.drift - c * n) ** 4 * self.n.fourth
        return np.asarray(n**4 * self.product.fourth + through + count)
