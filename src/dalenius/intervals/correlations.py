"""The correlation of two columns from noisy sums: likelihood-ratio inversion; see `moments`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalenius.core.arrays import Reals
from dalenius.intervals.laws import multiple
from dalenius.intervals.moments import Deviations

STEPS = 8
"""Of Gauss and Newton, from the last point."""

HALVINGS = 13
"""The ends of an interval are found to 2^-13 of the way from the estimate to 1."""


@dataclass(frozen=True, eq=False)
class Products:
    """A_xx, A_yy and A_xy of every group, with the covariances of their noise."""

    a: Reals
    b: Reals
    c: Reals
    cov: Reals

    def distance(
        self, weights: Reals, r: Reals, s: Reals, t: Reals, steps: int = STEPS
    ) -> tuple[Reals, Reals, Reals]:
        """The least squared distance, in standard deviations, of the released to s^2, t^2, r s t with s, t >= 0;
        and where it is. Damped Gauss-Newton steps from s and t."""
        best = self._away(weights, r, s, t)
        damp, zero = np.full(len(r), 1e-3), np.zeros(len(r))
        for _ in range(steps):
            slopes = np.array(((-2 * s, zero, -r * t), (zero, -2 * t, -r * s)))
            weighted = np.einsum("jig,ikg->jkg", slopes, weights)
            first, second = np.einsum("jkg,kg->jg", weighted, self._gaps(r, s, t))
            (xx, xy), (_, yy) = np.einsum("jkg,ikg->jig", weighted, slopes)
            xx, yy = xx * (1 + damp) + 1e-12, yy * (1 + damp) + 1e-12
            det = np.maximum(xx * yy - xy**2, 1e-300)
            s1 = np.maximum(s - (yy * first - xy * second) / det, 0.0)
            t1 = np.maximum(t - (xx * second - xy * first) / det, 0.0)
            away = self._away(weights, r, s1, t1)
            better = away < best
            s, t, best = np.where(better, s1, s), np.where(better, t1, t), np.where(better, away, best)
            damp = np.where(better, damp / 3, damp * 10)
        return best, s, t

    @property
    def weights(self) -> Reals:
        """The inverse of the covariances (3 x 3 x groups); where they are singular, of a matrix next to them."""
        scale = 1 / np.sqrt(np.maximum(np.einsum("gii->gi", self.cov), 1e-300))
        m = self.cov * scale[:, :, None] * scale[:, None, :] + 1e-9 * np.eye(3)
        adjugate = np.cross(m[:, [1, 2, 0]], m[:, [2, 0, 1]])
        det = np.maximum((m[:, 0] * adjugate[:, 0]).sum(axis=1), 1e-27)
        inverse = adjugate / det[:, None, None] * scale[:, :, None] * scale[:, None, :]
        return np.moveaxis(inverse, 0, -1)

    def _gaps(self, r: Reals, s: Reals, t: Reals) -> Reals:
        return np.array((self.a - s * s, self.b - t * t, self.c - r * s * t))

    def _away(self, weights: Reals, r: Reals, s: Reals, t: Reals) -> Reals:
        gaps = self._gaps(r, s, t)
        return np.asarray(np.einsum("ig,ikg,kg->g", gaps, weights, gaps))


def correlation(
    xx: Deviations, yy: Deviations, xy: Deviations, failure: float, sampling: bool
) -> tuple[Reals, Reals, Reals, Reals]:
    """Estimate, standard error and the ends of the interval."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return _correlation(xx, yy, xy, failure, sampling)


def _correlation(
    xx: Deviations, yy: Deviations, xy: Deviations, failure: float, sampling: bool
) -> tuple[Reals, Reals, Reals, Reals]:
    made = _products(xx, yy, xy)
    # Not less than its own noise: an estimate near the middle where the spread of a column is not seen.
    s = np.maximum(made.a, np.sqrt(made.cov[:, 0, 0])) ** 0.5
    t = np.maximum(made.b, np.sqrt(made.cov[:, 1, 1])) ** 0.5
    estimate = np.clip(made.c / (s * t), -1.0, 1.0)
    variance, fourth = _along(xx, yy, xy, estimate, t / s)
    drawn = _Drawn.of(xx, yy) if sampling else _Drawn(np.zeros(len(s)), np.ones(len(s)))
    variance = variance + drawn.at(estimate)
    error = np.minimum(np.sqrt(variance) / (s * t), 2.0)
    limit = multiple(fourth / np.maximum(variance, 1e-300) ** 2, failure) ** 2

    weights = made.weights
    up, down = (made.distance(weights, np.full(len(s), r), s, t)[0] for r in (1.0, -1.0))
    possible = (made.a > 0) & (made.b > 0) & (made.c**2 <= made.a * made.b)
    near = np.where(possible, estimate, np.where(up <= down, 1.0, -1.0))
    # A likelihood ratio, against spreads that can be; and against the nearest r where no r is near.
    limit = limit + _impossible(made)
    nearest = np.where(possible, 0.0, np.minimum(up, down))
    limit = np.where(nearest > limit, nearest + limit, limit)
    ends = [
        np.where(beyond <= limit, side, _end(made, weights, drawn, near, side, limit, s, t))
        for side, beyond in ((-1.0, down), (1.0, up))
    ]
    low, high = np.minimum(ends[0], estimate), np.maximum(ends[1], estimate)
    whole = ~np.isfinite(low) | ~np.isfinite(high) | ~np.isfinite(error) | (xy.n.values < 2)
    estimate, error = np.where(whole, 0.0, estimate), np.where(whole, 2.0, error)
    return estimate, error, np.where(whole, -1.0, low), np.where(whole, 1.0, high)


def _impossible(made: Products) -> Reals:
    """The squared distance of A_xx and A_yy from what is not negative."""
    x, y = np.minimum(made.a, 0.0), np.minimum(made.b, 0.0)
    vx, vy, vxy = made.cov[:, 0, 0], made.cov[:, 1, 1], made.cov[:, 0, 1]
    both = (x * x * vy - 2 * x * y * vxy + y * y * vx) / np.maximum(vx * vy - vxy**2, 1e-300)
    return np.where((x < 0) & (y < 0), both, x * x / vx + y * y / vy)


def _end(
    made: Products, weights: Reals, drawn: _Drawn, near: Reals, side: float, limit: Reals, s: Reals, t: Reals
) -> Reals:
    """Where the likelihood ratio passes the limit, on the way from `near` to `side`."""
    inside, outside = np.zeros(len(near)), np.ones(len(near))
    for _ in range(HALVINGS):
        middle = (inside + outside) / 2
        r = near + middle * (side - near)
        away, s1, t1 = made.distance(drawn.added(weights, r), r, s, t)
        passes = away <= limit
        # Go on from within: far outside the nearest spread may be 0, from where no step leads back.
        s, t = np.where(passes, s1, s), np.where(passes, t1, t)
        inside, outside = np.where(passes, middle, inside), np.where(passes, outside, middle)
    return np.asarray(near + outside * (side - near))


def _products(xx: Deviations, yy: Deviations, xy: Deviations) -> Products:
    vn, n = xy.n.variance, xy.size
    qx, qy, p = np.maximum(xx.product.values, 0.0), np.maximum(yy.product.values, 0.0), xy.product.values
    drift = xy.x.values * xy.y.values
    cov = np.empty((len(n), 3, 3))
    cov[:, 0, 0], cov[:, 1, 1], cov[:, 2, 2] = xx.own + vn * qx**2, yy.own + vn * qy**2, xy.own + vn * p**2
    cov[:, 0, 1] = cov[:, 1, 0] = vn * qx * qy
    cov[:, 0, 2] = cov[:, 2, 0] = vn * qx * p + 2 * drift * xx.x.variance
    cov[:, 1, 2] = cov[:, 2, 1] = vn * qy * p + 2 * drift * yy.x.variance
    size = n**2  # so that all is near 1
    return Products(xx.top / size, yy.top / size, xy.top / size, cov / size[:, None, None] ** 2)


@dataclass(frozen=True, eq=False)
class _Drawn:
    """What drawing the rows from a population does to A_xy - r sqrt(A_xx A_yy): size times the variance of r, which is

        (1 - r^2)^2 (1 - r^2 + r^2 tails) / n

    for a linear relation, with tails the mean of (kurtosis - 1) / 2 of what moves it: 1 for normal populations.
    """

    size: Reals
    tails: Reals

    @classmethod
    def of(cls, xx: Deviations, yy: Deviations) -> _Drawn:
        return cls(xx.spread * yy.spread / np.maximum(xx.size - 3, 1.0), (xx.bulge + yy.bulge) / 4)

    def at(self, r: Reals) -> Reals:
        square = r * r
        return np.asarray(self.size * (1 - square) ** 2 * (1 - square + square * self.tails))

    def added(self, weights: Reals, r: Reals) -> Reals:
        """The inverse of the covariances with this added to that of A_xy."""
        extra = self.at(r)
        return np.asarray(weights - extra / (1 + extra * weights[2, 2]) * weights[:, 2, None] * weights[2])


def _along(xx: Deviations, yy: Deviations, xy: Deviations, r: Reals, slope: Reals) -> tuple[Reals, Reals]:
    """The variance and the fourth cumulant of A_xy - r sqrt(A_xx A_yy), linear in the noises, over n^4 and n^8."""
    n = xy.size
    x, y = r * slope, r / slope
    parts = (
        (np.ones_like(n), xy.product),
        (x / 2, xx.product),
        (y / 2, yy.product),
        ((xy.y.values - x * xy.x.values) / n, xy.x),
        ((xy.x.values - y * xy.y.values) / n, xy.y),
        ((xy.product.values - (x * xx.product.values + y * yy.product.values) / 2) / n, xy.n),
    )
    variance = sum(part**2 * noisy.variance for part, noisy in parts)
    fourth = sum(part**4 * noisy.fourth for part, noisy in parts)
    return np.asarray(variance / n**2), np.asarray(fourth / n**4)
