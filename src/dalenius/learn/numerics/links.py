"""Losses of one record as functions of a few scores u = Theta x: convex, with bounded slopes and bends."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import log_softmax

from dalenius.calculus.pairs.pair import Reals
from dalenius.core import checks
from dalenius.errors import InvalidParameter
from dalenius.sums.curves import Curve


class Link(ABC):
    """Slopes and bends of records at their scores, one row each; `outputs` scores a record."""

    outputs: int

    @abstractmethod
    def slopes(self, scores: Reals, labels: Reals) -> Reals:
        """The gradients in the scores, n x outputs."""

    @abstractmethod
    def bends(self, scores: Reals, labels: Reals) -> Reals:
        """The Hessians in the scores, n x outputs x outputs."""

    @abstractmethod
    def least_bends(self, scores: Reals, labels: Reals, reach: Reals) -> Reals:
        """Matrices that the Hessians are nowhere below, for scores that move by at most `reach` in norm."""


@dataclass(frozen=True)
class OneScore(Link):
    """A curve of one score."""

    curve: Curve
    outputs = 1

    def slopes(self, scores: Reals, labels: Reals) -> Reals:
        return self.curve.slope(scores[:, 0], labels)[:, None]

    def bends(self, scores: Reals, labels: Reals) -> Reals:
        return self.curve.bend(scores[:, 0], labels)[:, None, None]

    def least_bends(self, scores: Reals, labels: Reals, reach: Reals) -> Reals:
        return self.curve.least_bend(scores[:, 0], labels, reach)[:, None, None]


@dataclass(frozen=True)
class Multinomial(Link):
    """The log-loss of K classes, -log p_y, its slope clipped where p_y < 1 - knee; labels are class numbers.

    With m = u_y - log(sum of e^u_k over the other k), -log p_y = log(1 + e^-m). The loss is g(m), where g is that curve
    with its slope clipped to -knee (`sums.curves.Logistic`): convex and falling, of a concave m, hence convex. As
    (1 - p_y) grad m = e_y - p, its gradient in u is c (p - e_y) with c = min(1, knee/(1 - p_y)), of norm sqrt(2) knee
    at most: |grad m|^2 = 1 + |q|^2 <= 2, q being p given that the class is not y. Its Hessian is diag p - p p^T where
    nothing is clipped, else knee (diag q - q q^T).

    Scores are the K class scores in an orthonormal basis of those that sum to 0, all that matters: K - 1 of them.
    Gradients and Hessians are times the weight of the label's class, where there are weights.
    """

    classes: int
    knee: float = 0.5
    weights: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        checks.count("the number of classes", self.classes, least=2)
        allowed = "at least 1/2 (less says nothing on the border) and at most 1 (no clipping)"
        knee = checks.within("knee", self.knee, allowed, lambda x: 0.5 <= x <= 1)
        object.__setattr__(self, "knee", knee)
        weights = self.weights or (1.0,) * self.classes
        if len(weights) != self.classes:
            raise InvalidParameter(f"{self.classes} classes have {len(weights)} weights; give one for each.")
        for weight in weights:
            checks.nonnegative("a weight", weight)
        object.__setattr__(self, "weights", weights)

    @property
    def outputs(self) -> int:  # type: ignore[override]
        return self.classes - 1

    @property
    def steepest(self) -> float:
        """The largest norm of a gradient."""
        return math.sqrt(2) * self.knee * (1 + 1e-15) * max(self.weights)

    @property
    def sharpest(self) -> float:
        """The largest mean of the K - 1 eigenvalues of a Hessian: its trace over K - 1.

        Let s = 1 - p_y and t = |q|^2 >= 1/(K - 1). Not clipped, the trace is 1 - |p|^2 = 1 - (1 - s)^2 - s^2 t, at most
        s (2 - s - s/(K - 1)), which rises up to s = (K - 1)/K: so at most its value at min(knee, (K - 1)/K). Clipped,
        it is knee (1 - t), which is at most knee (1 - 1/(K - 1)) and less than that value at s = knee; where knee is
        above (K - 1)/K, knee (1 - 1/(K - 1)) <= (K - 2)/(K - 1) <= (K - 1)/K, the value there.
        """
        others = self.classes - 1
        s = min(self.knee, others / self.classes)
        return s * (2 - s - s / others) / others * (1 + 1e-14) * max(self.weights)

    @cached_property
    def basis(self) -> Reals:
        """K x (K - 1): orthonormal columns that sum to 0 (Helmert's)."""
        made = np.zeros((self.classes - 1, self.classes))
        for j in range(1, self.classes):
            made[j - 1, :j], made[j - 1, j] = 1.0, -float(j)
            made[j - 1] /= math.sqrt(j * (j + 1))
        return made.T

    def logs(self, scores: Reals) -> Reals:
        """log p, n x K."""
        return np.asarray(log_softmax(scores @ self.basis.T, axis=1))

    def slopes(self, scores: Reals, labels: Reals) -> Reals:
        p, mine, rest, _ = self._parts(scores, labels)
        p[mine] -= 1.0
        p[mine] = -rest
        p *= (np.minimum(1.0, self.knee / np.maximum(rest, 1e-300)) * self._weight(labels))[:, None]
        return np.asarray(p @ self.basis)

    def bends(self, scores: Reals, labels: Reals) -> Reals:
        return self._bends(scores, labels, None)

    def least_bends(self, scores: Reals, labels: Reals, reach: Reals) -> Reals:
        """Along a direction w of scores d/dt of v^T H v is a third cumulant: (max w - min w) v^T H v at most.

        So within r the Hessian falls by no more than e^(-sqrt(2) r), on either side of the kink. A record that may
        cross it (p_y moves by r at most) counts as nothing.
        """
        found = self._bends(scores, labels, reach)
        return np.asarray(found * np.exp(-1.5 * reach)[:, None, None])

    def probabilities(self, scores: Reals) -> Reals:
        """P(y) of records whose mean loss is least at these K class scores: the shares at which the gradients cancel.

        Sum of P(y) c_y (p - e_y) = 0 means that P(y) is as p_y / c_y = p_y max(1, (1 - p_y)/knee).
        """
        p = np.exp(log_softmax(scores, axis=1))
        p *= np.maximum(1.0, (1 - p) / self.knee)
        return np.asarray(p / p.sum(axis=1, keepdims=True))

    def _weight(self, labels: Reals) -> Reals:
        return np.array(self.weights)[labels.astype(np.intp)]

    def _parts(self, scores: Reals, labels: Reals) -> tuple[Reals, tuple[Reals, Reals], Reals, Reals]:
        """p, where each label's is, 1 - p_y with all its digits, and q."""
        logs = self.logs(scores)
        mine = np.arange(len(logs)), labels.astype(np.intp)
        p = np.exp(logs)
        q = p.copy()
        q[mine] = 0.0
        rest = q.sum(axis=1)
        return p, mine, rest, q

    def _bends(self, scores: Reals, labels: Reals, reach: Reals | None) -> Reals:
        p, _, rest, q = self._parts(scores, labels)
        clipped = rest > self.knee
        weights = np.where(clipped[:, None], q / np.maximum(rest, 1e-300)[:, None], p)
        size = np.where(clipped, self.knee, 1.0) * self._weight(labels)
        if reach is not None:
            size = np.where(np.abs(rest - self.knee) <= reach, 0.0, size)
        inner = weights @ self.basis
        whole = np.einsum("nk,ka,kb->nab", weights * size[:, None], self.basis, self.basis, optimize=True)
        return np.asarray(whole - size[:, None, None] * inner[:, :, None] * inner[:, None, :])
