"""Count, sum and sum of squares of one bounded column: what means and variances are made of.

Add/remove: a row adds (1, u, u^2) with |u| <= 1, which after weighting is longest at |u| = 1.

Replace-one: the count is public, and a row changes (u, u^2) by (u - v, u^2 - v^2). With d = |u - v| and
|u + v| <= 2 - d, the change weighted by (a, b) is at most d (a, b (2 - d)), 0 <= d <= 2, in both norms:
in l1 norm d (a + b (2 - d)), largest at d = 2 or, if a < 2 b, at d = (a + 2 b) / (2 b);
in l2 norm the square d^2 (a^2 + b^2 (2 - d)^2), of derivative 2 d (a^2 + 2 b^2 (2 - d)(1 - d)): largest at d = 2 or
at d = (3 - sqrt(1 - 2 a^2/b^2)) / 2. So under replace-one with Gaussian noise squares weighted by 1.5 come at no cost.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.arrays import Ints
from dalenius.infer.estimates.bounded import power_sums, up
from dalenius.infer.estimates.sums import Sums, public
from dalenius.infer.promise import pure_epsilon
from dalenius.intervals.laws import Noisy
from dalenius.intervals.moments import Deviations


class Released(NamedTuple):
    """Noisy sums of one column, u from -1 to 1; no squares where u is nothing but -1 and 1."""

    rows: Noisy
    sum: Noisy
    square: Noisy | None

    @property
    def deviations(self) -> Deviations:
        assert self.square is not None
        return Deviations(self.rows, self.sum, self.sum, self.square, True)


@dataclass(frozen=True)
class Powers:
    """The release, with weights of count, sum and squares (None: they are not needed)."""

    guarantee: Guarantee
    adjacency: Adjacency
    weights: tuple[float, float, float | None]

    @cached_property
    def sums(self) -> Sums:
        first = 0 if self.adjacency is ADD_REMOVE else 1
        weights = [weight for weight in self.weights[first:] if weight is not None]
        digits = (0, 20, 40)[first : first + len(weights)]
        return Sums(self.guarantee, self.adjacency, tuple(weights), digits, up(self._reach()))

    def _reach(self) -> float:
        pure = pure_epsilon(self.guarantee) is not None
        count, a, b = self.weights[0], self.weights[1], self.weights[2] or 0.0
        if self.adjacency is ADD_REMOVE:
            return count + a + b if pure else math.hypot(count, a, b)
        return _l1(a, b) if pure else _l2(a, b)

    @property
    def loss(self) -> Loss:
        """What the release costs."""
        return self.sums.loss

    def release(self, columns: Sequence[Ints | Iterable[Ints]]) -> Released:
        """Of one or more columns on their grids, whole or in blocks, as if each were the data."""
        totals = list(zip(*(power_sums(steps) for steps in columns), strict=True))
        if self.weights[2] is None:
            totals = totals[:2]
        if self.adjacency is ADD_REMOVE:
            noisy = self.sums.release(totals)
        else:
            noisy = [public(totals[0]), *self.sums.release(totals[1:])]
        return Released(noisy[0], noisy[1], noisy[2] if self.weights[2] is not None else None)


def _l1(a: float, b: float) -> float:
    return 2 * a if a >= 2 * b else (a + 2 * b) ** 2 / (4 * b)


def _l2(a: float, b: float) -> float:
    most = 2 * a
    if b > 0 and 2 * a**2 <= b**2:
        d = (3 - math.sqrt(1 - 2 * a**2 / b**2)) / 2
        most = max(most, d * math.hypot(a, b * (2 - d)))
    return most


def weights_for(guarantee: Guarantee, adjacency: Adjacency, what: str) -> tuple[float, float, float | None]:
    """How precisely count, sum and squares are needed, for a mean, a spread or a share; chosen by simulation."""
    pure = pure_epsilon(guarantee) is not None
    return WEIGHTS[what, adjacency is ADD_REMOVE, pure]


WEIGHTS: dict[tuple[str, bool, bool], tuple[float, float, float | None]] = {
    ("mean", True, False): (29 / 64, 1.0, 26 / 64),
    ("mean", True, True): (20 / 64, 1.0, 13 / 64),
    ("mean", False, False): (1.0, 1.0, 1.5),
    ("mean", False, True): (1.0, 1.0, 0.5),
    ("spread", True, False): (22 / 64, 38 / 64, 1.0),
    ("spread", True, True): (20 / 64, 20 / 64, 1.0),
    ("spread", False, False): (1.0, 1.0, 1.5),
    ("spread", False, True): (1.0, 0.5, 1.0),
    ("share", True, False): (45 / 64, 1.0, None),
    ("share", True, True): (0.5, 1.0, None),
    ("share", False, False): (1.0, 1.0, None),
    ("share", False, True): (1.0, 1.0, None),
}
