"""The mean of values without bounds, of which a public bound on a central moment is known: clip, and pay for the bias.

If E|X - mean|^k <= M and the mean is within D of c, then clipping X to c -+ (D + r) moves the mean by at most

    E max(|X - mean| - r, 0) <= M (k - 1)^(k - 1) / (k^k r^(k - 1)),

as max(x - r, 0) <= x^k (k - 1)^(k - 1) / (k^k r^(k - 1)) for all x >= 0, with equality at x = k r / (k - 1). The
interval of the clipped mean is widened for this bias as for the worst of the populations allowed (Armstrong and Kolesar
2018, "Optimal inference in a class of regression models"): to the quantile of |N(t, 1)|, t the bias over the standard
error, which is less than adding it.

Where the mean may be far off, noisy means of widely clipped values come first, each with an interval that nearly
always holds: each makes the next one narrower (Biswas, Dong, Kamath and Ullman 2020, "CoinPress").
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr, ndtri

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss, total
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.arrays import Reals
from dalenius.errors import InvalidParameter
from dalenius.infer import magnitudes
from dalenius.infer.estimates.bounded import Bounded
from dalenius.infer.estimates.bounded_mean import BoundedMean, Column
from dalenius.infer.estimates.powers import Released
from dalenius.infer.estimates.single import single
from dalenius.infer.inputs import column
from dalenius.infer.promise import part
from dalenius.infer.result import Result
from dalenius.intervals.differences import Estimated
from dalenius.intervals.roots import halved

PILOT = 0.1
"""The share of the budget of each mean that comes first."""

FARTHEST = 1e4
"""Values are clipped within so many standard deviations of where the mean can be."""

RARE = 2e-5
"""How often the interval of a pilot fails; less than any alpha that is asked for."""


@dataclass(frozen=True)
class Moment:
    """E|X - mean|^power <= size, power at least 2."""

    power: float
    size: float

    @classmethod
    def of(cls, moment: object, sd_at_most: object) -> Moment:
        """From what a user gave: one of the two."""
        if (moment is None) == (sd_at_most is None):
            raise InvalidParameter("give moment=(k, M) or sd_at_most=s, one of them.")
        if sd_at_most is not None:
            return cls(2.0, magnitudes.scale("sd_at_most", sd_at_most) ** 2)
        if not isinstance(moment, Sequence | np.ndarray) or isinstance(moment, str) or len(moment) != 2:
            raise InvalidParameter.of(
                "moment", f"moment is {checks.shown(moment)}; it must be (k, M): E|X - mean|^k is at most M."
            )
        power = checks.within("moment[0]", moment[0], "a number from 2 to 64", lambda k: 2 <= k <= 64)
        return cls(power, checks.positive("moment[1]", moment[1]))

    @property
    def scale(self) -> float:
        """At least the standard deviation."""
        return float(self.size ** (1 / self.power))

    def bias(self, r: Reals | float) -> Reals:
        """What clipping at a distance of r from the mean can do to it."""
        k = self.power
        factor = math.exp((k - 1) * math.log(k - 1) - k * math.log(k))
        return np.asarray(self.scale * factor * (self.scale / np.asarray(r)) ** (k - 1))

    def clipped_at(self, rows: float, noise: float, reach: float) -> float:
        """The r that makes intervals shortest, for so many rows and noise of a mean of `noise` times the width."""
        r = self.scale * np.geomspace(0.5, FARTHEST, 400)
        error = np.sqrt(self.scale**2 / max(rows, 1.0) + (noise * (reach + r)) ** 2)
        return float(r[np.argmin(critical(self.bias(r) / error, 0.05) * error)])


@dataclass(frozen=True)
class ClippedMean:
    """Two or three noisy means, the last of values clipped where noise and bias together are least."""

    guarantee: Guarantee
    location: tuple[float, float]
    moment: Moment
    adjacency: Adjacency = ADD_REMOVE

    @property
    def farthest(self) -> tuple[float, float]:
        """Values beyond count as these, wherever they are clipped."""
        reach = 1.001 * FARTHEST * self.moment.scale
        return self.location[0] - reach, self.location[1] + reach

    @property
    def pilots(self) -> int:
        """From public facts: how far off the mean can be."""
        return 1 if self.location[1] - self.location[0] <= 40 * self.moment.scale else 2

    @cached_property
    def parts(self) -> list[Guarantee]:
        shares = [PILOT] * self.pilots + [1 - PILOT * self.pilots]
        return [part(self.guarantee, share) for share in shares]

    @property
    def loss(self) -> Loss:
        """What the release costs, wherever values are clipped."""
        anywhere = Bounded(-1.0, 1.0)
        return total([BoundedMean(part, anywhere, self.adjacency).loss for part in self.parts])

    def noisy(self, sample: Column) -> tuple[BoundedMean, Released, float, float]:
        """The last mean's release of one data set, how far its clipping is from the mean at least, and D."""
        low, high = self.location
        r = 4 * self.moment.scale
        for k, promise in enumerate(self.parts):
            middle, reach = low + (high - low) / 2, (high - low) / 2
            mean = BoundedMean(promise, Bounded(middle - reach - r, middle + reach + r), self.adjacency)
            noisy = mean.noisy([sample])
            if k == self.pilots:
                break
            _, _, first, last = mean.estimate(noisy, RARE)
            bias = float(self.moment.bias(r))
            low, high = max(low, float(first[0]) - bias), min(high, float(last[0]) + bias)
            low, high = (
                (low, high) if low < high else self.location
            )  # the pilot failed: known without its help
            rows = max(float(noisy.rows.values[0]), 1.0)
            unit = BoundedMean(self.parts[k + 1], Bounded(-1.0, 1.0), self.adjacency).powers.sums
            spread = unit.law(1.0).sigma / rows
            r = self.moment.clipped_at(rows, spread, (high - low) / 2)
        return mean, noisy, r, reach

    def widened(self, mean: BoundedMean, noisy: Released, r: float, alpha: float) -> Estimated:
        """The interval of the clipped mean, made wide enough for the mean."""
        alpha = max(alpha - self.pilots * RARE, alpha / 2)
        bias = float(self.moment.bias(r))
        estimate, error, low, high = mean.estimate(noisy, alpha)
        _, _, low2, high2 = mean.estimate(noisy, min(2 * alpha, 0.999))
        z, z2 = -ndtri(alpha / 2), -ndtri(min(2 * alpha, 0.999) / 2)
        se = np.maximum((high - low) / (2 * z), 1e-300)
        wanted = critical(bias / se, alpha) - bias / se  # between z2 and z: what is left of the quantile
        share = np.clip((z - wanted) / (z - z2), 0.0, 1.0)
        return (
            estimate,
            np.hypot(error, bias),
            low + share * (low2 - low) - bias,
            high + share * (high2 - high) + bias,
        )

    def release(self, x: object) -> Result:
        """One mean, with its interval."""
        return self.result(*column(x))

    def result(self, values: Column, name: str) -> Result:
        """The same, of rows in memory or in blocks."""
        mean, noisy, r, _ = self.noisy(values)
        known = f"E|X - mean|^{self.moment.power:g} is at most {self.moment.size:g}"
        notes = [
            f"Values were clipped to [{mean.bounds.low:.6g}, {mean.bounds.high:.6g}]. If {known}, and the mean is "
            f"within [{self.location[0]:g}, {self.location[1]:g}], this moves the mean by at most "
            f"{float(self.moment.bias(r)):.3g}; the interval allows for that.",
        ]
        method = "mean of clipped values, with the bias of clipping in the interval"
        return single(
            lambda alpha: self.widened(mean, noisy, r, alpha), name, self.loss, method, noisy.rows, notes
        )


def critical(t: Reals | float, alpha: float) -> Reals:
    """The quantile of |N(t, 1)|."""
    far = np.minimum(np.atleast_1d(np.asarray(t, dtype=float)), 1e6)
    top = far + 1 - float(ndtri(alpha / 2))
    return halved(lambda c: ndtr(c - far) - ndtr(-c - far) < 1 - alpha, np.zeros_like(far), top)
