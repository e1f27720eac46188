"""The score of a loss that somebody wrote, from a table of it: their function never meets the data.

A function that is called on rows may fail on one of them, or look at several at once, and nothing could be promised. So
it is called once, at public places, and looked up between them. What it does there is no secret: it may fail, and the
error may say so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.core.arrays import Reals
from dalenius.errors import InvalidParameter
from dalenius.infer.scores.score import Score

RESIDUALS: Reals = np.sinh(np.linspace(-12.0, 12.0, 48_001))
"""Places of residuals, in units of their scale: close together near 0, and up to 81 000 away."""
PREDICTORS: Reals = np.linspace(-30.0, 30.0, 60_001)
"""Places of linear predictors."""


@dataclass(frozen=True, eq=False)
class Table:
    """A slope at some places, and its own slope; straight lines between them, constant beyond."""

    places: Reals
    slopes: Reals
    bends: Reals

    @classmethod
    def of(cls, function: Callable[[Reals], Any], places: Reals) -> Table:
        """What a function says at the places: finite numbers that do not fall."""
        try:
            slopes = np.array(function(places.copy()), dtype=float)
        except Exception as error:
            raise InvalidParameter.of(
                "slope",
                f"slope failed on an array of numbers: {type(error).__name__}; it must take any finite numbers.",
            ) from None
        if slopes.shape != places.shape or not np.isfinite(slopes).all():
            raise InvalidParameter.of(
                "slope", "slope must return one finite number for each number it is given."
            )
        if (np.diff(slopes) < -1e-9 * np.abs(slopes).max()).any() or slopes[0] >= slopes[-1]:
            raise InvalidParameter.of(
                "slope",
                "slope must rise, as the derivative of a convex loss does: a loss with several minima has no estimate "
                "that steps could be sure to find.",
            )
        return cls(places, slopes, np.maximum(np.gradient(slopes, places), 0.0))


@dataclass(frozen=True, eq=False)
class ResidualScore(Score):
    """f'(factor (u - y))."""

    table: Table
    factor: float = 1.0

    @property
    def steepest(self) -> float:
        return float(np.abs(self.table.slopes).max())

    @property
    def sharpest(self) -> float:
        return self.factor * float(self.table.bends.max())

    def slopes(self, u: Reals, y: Reals) -> Reals:
        return np.interp(self.factor * (u - y), self.table.places, self.table.slopes)

    def roots(self, u: Reals, y: Reals) -> Reals:
        bends = np.interp(self.factor * (u - y), self.table.places, self.table.bends, left=0.0, right=0.0)
        return np.sqrt(self.factor * bends)


class Majorised(ResidualScore):
    """The same slope with the largest curvature there is, for steps from far away.

    Newton's steps from there can overshoot for ever: rows with large residuals have little curvature and lie on the
    straight parts of the loss. With a curvature that is nowhere too small every step descends (Bohning and Lindsay
    1988), and once residuals are small beside the scale, it is Newton's.
    """

    def roots(self, u: Reals, y: Reals) -> Reals:
        return np.full(len(u), math.sqrt(self.sharpest))


@dataclass(frozen=True, eq=False)
class OutcomeScore(Score):
    """f'(u; y) for each of a few outcomes, y being their number."""

    tables: tuple[Table, ...]

    @property
    def steepest(self) -> float:
        return max(float(np.abs(table.slopes).max()) for table in self.tables)

    @property
    def sharpest(self) -> float:
        return max(float(table.bends.max()) for table in self.tables)

    def slopes(self, u: Reals, y: Reals) -> Reals:
        return self._looked_up(u, y, [table.slopes for table in self.tables])

    def roots(self, u: Reals, y: Reals) -> Reals:
        return np.sqrt(self._looked_up(u, y, [table.bends for table in self.tables]))

    def _looked_up(self, u: Reals, y: Reals, columns: list[Reals]) -> Reals:
        found = np.zeros(len(u))
        for code, (table, values) in enumerate(zip(self.tables, columns, strict=True)):
            found = np.where(y == code, np.interp(u, table.places, values), found)
        return found


def log_cosh(residual: Reals) -> Reals:
    """The derivative of log cosh r, which is (2, 2)-self-concordant."""
    return np.tanh(residual)


def pseudo_huber(residual: Reals) -> Reals:
    """The derivative of sqrt(1 + r^2) - 1, which is (3/2, 2)-self-concordant."""
    return np.asarray(residual / np.hypot(1.0, residual))


NAMED: dict[str, Callable[[Reals], Reals]] = {"log_cosh": log_cosh, "pseudo_huber": pseudo_huber}


def bounded(slopes: Reals) -> bool:
    """Whether a slope levels off at both ends of its table: over the outer half of it, it hardly grows."""
    outer = len(slopes) // 4
    most = float(np.abs(slopes).max())
    grown = max(abs(slopes[-1] - slopes[-outer]), abs(slopes[outer] - slopes[0]))
    return math.isfinite(most) and grown <= 0.5 * most
