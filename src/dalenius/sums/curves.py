"""Scalar losses f(u; y) of generalized linear models: convex in u = x.theta, with bounded slope and bend."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from dalenius.core import checks
from dalenius.core.arrays import Reals


class Curve(ABC):
    """f, f' and f'' at many points; `steepest` bounds |f'| and `sharpest` f'', for every u and allowed y.

    f'' must rise and then fall in u (either may be missing), as `least_bend` takes for granted.
    """

    @property
    @abstractmethod
    def steepest(self) -> float:
        """The largest |f'|."""

    @property
    @abstractmethod
    def sharpest(self) -> float:
        """The largest f''."""

    @abstractmethod
    def value(self, u: Reals, y: Reals) -> Reals: ...

    @abstractmethod
    def slope(self, u: Reals, y: Reals) -> Reals: ...

    @abstractmethod
    def bend(self, u: Reals, y: Reals) -> Reals: ...

    def least_bend(self, u: Reals, y: Reals, reach: Reals) -> Reals:
        """The least f'' within `reach` of u."""
        return np.minimum(self.bend(u - reach, y), self.bend(u + reach, y))


@dataclass(frozen=True)
class Logistic(Curve):
    """log(1 + e^u) - y u, y in {0, 1}, its slope clipped to [-knee, knee]: a straight line where p(y) < 1 - knee.

    With knee 1/2 a record on the wrong side pulls as hard as one on the border, and no harder.
    """

    knee: float = 1.0
    sharpest = 0.25

    def __post_init__(self) -> None:
        allowed = "at least 1/2 (less says nothing on the border) and at most 1 (no clipping)"
        knee = checks.within("knee", self.knee, allowed, lambda x: 0.5 <= x <= 1)
        object.__setattr__(self, "knee", knee)

    @property
    def steepest(self) -> float:
        return self.knee

    def value(self, u: Reals, y: Reals) -> Reals:
        margin = (2 * y - 1) * u
        bent = np.maximum(margin, logit(1 - self.knee))
        return np.asarray(
            np.logaddexp(0.0, -bent) + np.where(bent > margin, self.knee * (bent - margin), 0.0)
        )

    def slope(self, u: Reals, y: Reals) -> Reals:
        slope = expit(u)
        slope -= y
        return np.asarray(slope if self.knee == 1 else np.clip(slope, -self.knee, self.knee, out=slope))

    def bend(self, u: Reals, y: Reals) -> Reals:
        p = expit(u)
        return np.asarray(p * (1 - p) * (np.abs(p - y) <= self.knee))

    def probability(self, u: Reals) -> Reals:
        """P(y = 1) of records whose mean loss is least at u: the share at which the slopes cancel."""
        for_one, for_zero = np.minimum(expit(u), self.knee), np.minimum(expit(-u), self.knee)
        return np.asarray(for_one / (for_one + for_zero))


@dataclass(frozen=True)
class HuberHinge(Curve):
    """The hinge (1 - z)_+ of z = (2y - 1) u, its corner rounded over |1 - z| <= width.

    (Chaudhuri, Monteleoni and Sarwate 2011.)
    """

    width: float = 0.5
    steepest = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", checks.positive("width", self.width))

    @property
    def sharpest(self) -> float:
        return 0.5 / self.width

    def value(self, u: Reals, y: Reals) -> Reals:
        gap = 1 - (2 * y - 1) * u
        return np.asarray(
            np.where(
                gap > self.width,
                gap,
                np.where(gap < -self.width, 0.0, (gap + self.width) ** 2 / (4 * self.width)),
            )
        )

    def slope(self, u: Reals, y: Reals) -> Reals:
        sign = 2 * y - 1
        return np.asarray(-sign * np.clip((1 - sign * u + self.width) / (2 * self.width), 0.0, 1.0))

    def bend(self, u: Reals, y: Reals) -> Reals:
        inside = np.abs(1 - (2 * y - 1) * u) <= self.width
        return np.asarray(inside * (0.5 / self.width))


@dataclass(frozen=True)
class Weighted(Curve):
    """A curve of two classes times the weight of a row's own class.

    Labels are class numbers 0, 1, ..., each with its weight; class `positive` is 1 to the curve, and the others 0.
    Slopes and bends are those of the curve times the weight, so the largest are times the largest weight.
    """

    curve: Curve
    weights: tuple[float, ...]
    positive: int = 1

    def __post_init__(self) -> None:
        for weight in self.weights:
            checks.nonnegative("a weight", weight)

    @property
    def steepest(self) -> float:
        return self.curve.steepest * max(self.weights)

    @property
    def sharpest(self) -> float:
        return self.curve.sharpest * max(self.weights)

    def value(self, u: Reals, y: Reals) -> Reals:
        return np.asarray(self.curve.value(u, self._label(y)) * self._weight(y))

    def slope(self, u: Reals, y: Reals) -> Reals:
        return np.asarray(self.curve.slope(u, self._label(y)) * self._weight(y))

    def bend(self, u: Reals, y: Reals) -> Reals:
        return np.asarray(self.curve.bend(u, self._label(y)) * self._weight(y))

    def least_bend(self, u: Reals, y: Reals, reach: Reals) -> Reals:
        return np.asarray(self.curve.least_bend(u, self._label(y), reach) * self._weight(y))

    def _label(self, y: Reals) -> Reals:
        return np.asarray(y == self.positive, dtype=np.float64)

    def _weight(self, y: Reals) -> Reals:
        return np.array(self.weights)[y.astype(np.intp)]


@dataclass(frozen=True)
class Huber(Curve):
    """(u - y)^2/2 for |u - y| <= knee, then straight lines: the squared loss with its gradient clipped."""

    knee: float = 1.0
    sharpest = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "knee", checks.positive("knee", self.knee))

    @property
    def steepest(self) -> float:
        return self.knee

    def value(self, u: Reals, y: Reals) -> Reals:
        away = np.abs(u - y)
        return np.asarray(np.where(away <= self.knee, away**2 / 2, self.knee * (away - self.knee / 2)))

    def slope(self, u: Reals, y: Reals) -> Reals:
        return np.asarray(np.clip(u - y, -self.knee, self.knee))

    def bend(self, u: Reals, y: Reals) -> Reals:
        return np.asarray((np.abs(u - y) <= self.knee) * 1.0)


@dataclass(frozen=True)
class PseudoHuber(Curve):
    """knee^2 (sqrt(1 + ((u - y)/knee)^2) - 1): between the squared loss and straight lines, smooth throughout.

    It is (3/2, 2)-self-concordant in units of its knee (Avella-Medina, Bradshaw and Loh 2023).
    """

    knee: float = 1.0
    sharpest = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "knee", checks.positive("knee", self.knee))

    @property
    def steepest(self) -> float:
        return self.knee

    def value(self, u: Reals, y: Reals) -> Reals:
        return np.asarray(self.knee**2 * (np.hypot(1.0, (u - y) / self.knee) - 1))

    def slope(self, u: Reals, y: Reals) -> Reals:
        # 1e100 is as steep as infinity, whose quotient would be NaN
        away = np.clip((u - y) / self.knee, -1e100, 1e100)
        return np.asarray(self.knee * (away / np.hypot(1.0, away)))

    def bend(self, u: Reals, y: Reals) -> Reals:
        away = np.minimum(np.abs(u - y) / self.knee, 1e100)
        return np.asarray(np.hypot(1.0, away) ** -3.0)


@dataclass(frozen=True)
class ClippedPoisson(Curve):
    """e^u - y u, y in [0, most], its slope clipped to [-knee, knee]."""

    most: float
    knee: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "most", checks.positive("most", self.most))
        object.__setattr__(self, "knee", checks.positive("knee", self.knee))

    @property
    def steepest(self) -> float:
        return self.knee

    @property
    def sharpest(self) -> float:
        return self.most + self.knee  # e^u where |e^u - y| <= knee

    def _ends(self, y: Reals) -> tuple[Reals, Reals]:
        with np.errstate(divide="ignore"):
            low = np.where(y > self.knee, np.log(np.maximum(y - self.knee, 1e-300)), -np.inf)
        return low, np.log(y + self.knee)

    def value(self, u: Reals, y: Reals) -> Reals:
        low, high = self._ends(y)
        inner = np.clip(u, low, high)
        beyond = np.where(u > high, self.knee, -self.knee)
        return np.asarray(np.exp(inner) - y * inner + np.where(inner == u, 0.0, beyond * (u - inner)))

    def slope(self, u: Reals, y: Reals) -> Reals:
        return np.asarray(np.clip(np.exp(np.minimum(u, 700.0)) - y, -self.knee, self.knee))

    def bend(self, u: Reals, y: Reals) -> Reals:
        low, high = self._ends(y)
        return np.asarray(np.where((u >= low) & (u <= high), np.exp(np.clip(u, -700.0, 700.0)), 0.0))
