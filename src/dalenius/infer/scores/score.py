"""What a loss says about a row: a bounded slope and a bounded curvature in the linear predictor."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from dalenius.core.arrays import Reals
from dalenius.sums.curves import Curve


class Score(ABC):
    """Slope and curvature of a loss f(u; y) in u = x.theta, for many rows at once.

    The score of a row is slope(u, y) v z and its curvature bend(u, y) z z^T, where z = v x is the row brought to a
    bounded length by its weight v^2 (see `Standard`). With `outcomes` = k > 1, u and the slope are vectors of k
    numbers, theta is the (k, p) table of coefficients, flattened row by row, and the curvature is that of a
    (k p) x (k p) matrix.
    """

    outcomes: int = 1

    @property
    @abstractmethod
    def steepest(self) -> float:
        """The largest Euclidean norm of the slope, whatever u and y are."""

    @property
    @abstractmethod
    def sharpest(self) -> float:
        """The largest trace of the curvature in u, whatever u and y are."""

    @abstractmethod
    def slopes(self, u: Reals, y: Reals) -> Reals:
        """f' of every row: (m,), or (m, k) for several outcomes."""

    @abstractmethod
    def roots(self, u: Reals, y: Reals) -> Reals:
        """A square root of f'' of every row.

        (m,) for one outcome. For several, (m, r, k): f'' is the sum over r of root root^T.
        """

    def bounded_slopes(self, u: Reals, y: Reals) -> Reals:
        """Slopes over `steepest`, of norm 1 at most whatever `slopes` returns: what sums are made of."""
        return _within_one(self.slopes(u, y) / self.steepest)

    def bounded_roots(self, u: Reals, y: Reals) -> Reals:
        """Roots over sqrt(sharpest), with squares that add up to 1 at most whatever `roots` returns."""
        return _within_one(self.roots(u, y) / math.sqrt(self.sharpest))


def _within_one(values: Reals) -> Reals:
    """Each row alone; what is not a number is 0."""
    values = np.nan_to_num(values, copy=False, posinf=1e100, neginf=-1e100)
    if values.ndim == 1:
        return np.asarray(np.clip(values, -1.0, 1.0, out=values))
    flat = values.reshape(len(values), -1)
    flat = flat / np.maximum(1.0, np.sqrt(np.einsum("ij,ij->i", flat, flat)))[:, None]
    return np.asarray(flat.reshape(values.shape))


@dataclass(frozen=True)
class CurveScore(Score):
    """The score of a scalar loss.

    Examples
    --------
    >>> import numpy as np
    >>> from dalenius.infer.scores import CurveScore
    >>> from dalenius.sums.curves import Huber
    >>> CurveScore(Huber(knee=1.0)).slopes(np.array([3.0, 0.5]), np.array([0.0, 0.0]))
    array([1. , 0.5])
    """

    curve: Curve

    @property
    def steepest(self) -> float:
        return self.curve.steepest

    @property
    def sharpest(self) -> float:
        return self.curve.sharpest

    def slopes(self, u: Reals, y: Reals) -> Reals:
        return self.curve.slope(u, y)

    def roots(self, u: Reals, y: Reals) -> Reals:
        return np.sqrt(self.curve.bend(u, y))
