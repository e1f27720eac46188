"""Slope and bend of one record's loss, anywhere near a point: what its share in a fit depends on.

Every loss of `dp.learn` that objective perturbation fits is convex in u = x.theta with a slope that is clipped:

    logistic         expit(u) - y                  clipped to [-knee, knee]     y in {0, 1}
    huber            u - y                         clipped to [-knee, knee]
    clipped_poisson  exp(u) - y                    clipped to [-knee, knee]     y >= 0
    huber_hinge      (u - s)/(2 width) - s/2       clipped between -s and 0     s = 2 y - 1, y in {0, 1}

A loss may be times the weight of its label's class, 0 or 1: then slope and bend are, too.

The minimum is known up to a small distance only, so the extremes over an interval of u are what is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import expit

from dalenius.calculus.pairs.pair import Reals
from dalenius.core import checks
from dalenius.core.record import JSON, exact
from dalenius.errors import InvalidParameter

Kind = Literal["logistic", "huber", "clipped_poisson", "huber_hinge"]
KINDS = ("logistic", "huber", "clipped_poisson", "huber_hinge")
OF_CLASSES = ("logistic", "huber_hinge")
WEIGHTED = "weighted_"
"""Before the kind of a loss that has weights, in records: who does not know of them must not read it."""


@dataclass(frozen=True)
class Slope:
    """The slope of one record's loss; `size` is the knee, or the width of the hinge; `weights` of labels 0 and 1."""

    kind: Kind
    size: float
    weights: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InvalidParameter(f"a loss of kind {self.kind!r} is not one that this dalenius knows.")
        checks.positive("size", self.size)
        if self.weights is not None:
            if self.kind not in OF_CLASSES or len(self.weights) != 2:
                raise InvalidParameter("two weights are for a loss of two classes.")
            for weight in self.weights:
                checks.nonnegative("a weight", weight)

    def near(self, u: Reals, y: Reals, reach: Reals, off: float = 0.0) -> tuple[Reals, Reals, Reals]:
        """The least and the largest slope, and the largest bend, within `reach` of u, for labels within `off` of y."""
        low, high = u - reach, u + reach
        if self.kind == "huber_hinge":
            sign = 2 * y - 1
            ends = np.minimum(-sign, 0.0), np.maximum(-sign, 0.0)
            first, last = ((end - sign) / (2 * self.size) - sign / 2 for end in (low, high))
            bend = np.full_like(first, 0.5 / self.size)
        else:
            ends = np.full_like(u, -self.size), np.full_like(u, self.size)
            first, last = self._mean(low) - y - off, self._mean(high) - y + off
            bend = self._bend(low, high, y, off)
        touched = (last >= ends[0]) & (first <= ends[1])  # elsewhere the loss is a straight line
        found = np.clip(first, *ends), np.clip(last, *ends), np.where(touched, bend, 0.0)
        if self.weights is None:
            return found
        negative, positive = self.weights
        weight = np.where(y == 1, positive, negative)
        return found[0] * weight, found[1] * weight, found[2] * weight

    def record(self) -> dict[str, JSON]:
        if self.weights is None:
            return {"kind": self.kind, "size": exact(self.size)}
        weights = [exact(weight) for weight in self.weights]
        return {"kind": WEIGHTED + self.kind, "size": exact(self.size), "weights": weights}

    @classmethod
    def from_record(cls, record: Mapping[str, JSON]) -> Slope:
        kind = str(record["kind"])
        if not kind.startswith(WEIGHTED):
            return cls(record["kind"], float(record["size"]))
        negative, positive = (float(weight) for weight in record["weights"])
        return cls(kind.removeprefix(WEIGHTED), float(record["size"]), (negative, positive))  # type: ignore[arg-type]

    def _mean(self, u: Reals) -> Reals:
        if self.kind == "logistic":
            return np.asarray(expit(u))
        return u if self.kind == "huber" else np.asarray(np.exp(np.minimum(u, 700.0)))

    def _bend(self, low: Reals, high: Reals, y: Reals, off: float) -> Reals:
        if self.kind == "logistic":
            p = expit(np.clip(0.0, low, high))
            return np.asarray(p * (1 - p))
        return (
            np.ones_like(low) if self.kind == "huber" else np.minimum(self._mean(high), y + self.size + off)
        )
