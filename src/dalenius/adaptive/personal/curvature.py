"""A Hessian released with symmetric Gaussian noise, and what it says about the leverage x.A^-1 x of any record.

Released is S = H + sigma Z, Z as in `goe`, H >= ridge. But for the failure probability Z <= tau, so H >= S - tau
sigma; and H >= ridge. So H is at least every mixture (1 - a)(S - tau sigma) + a ridge, and x.H^-1 x at most x.M^-1 x
for every such M that is positive: the least of them over a is the bound. The estimators of Redberg 2023 (Algorithms 2
and 9, corrected) are two of them: a = tau sigma/(ridge + tau sigma), and twice tau sigma in both places. So this
bound is never larger than either, and needs no release of the least eigenvalue.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.adaptive.personal import quantiles
from dalenius.adaptive.personal.goe import goe_quantile
from dalenius.adaptive.personal.release import Statement
from dalenius.calculus.pairs.pair import Reals
from dalenius.core import checks
from dalenius.core.record import JSON, exact
from dalenius.errors import InvalidParameter

MIXTURES = 1 - np.append(0.0, np.geomspace(1e-6, 1.0, 60))
"""a from 1, which is |x|^2/ridge, to 0. Any choice is valid; more of them are tighter."""


@dataclass(frozen=True)
class Curvature:
    """The upper triangle of the released Hessian (ridge included), row by row, and its noise off the diagonal."""

    matrix: tuple[float, ...]
    sigma: float

    def __post_init__(self) -> None:
        checks.positive("sigma", self.sigma)
        size = self._size
        if size * (size + 1) // 2 != len(self.matrix) or not np.isfinite(self.matrix).all():
            raise InvalidParameter("a released Hessian must be the finite numbers of an upper triangle.")

    @property
    def _size(self) -> int:
        return (math.isqrt(8 * len(self.matrix) + 1) - 1) // 2

    @classmethod
    def of(cls, released: Reals, sigma: float) -> Curvature:
        """From the released matrix."""
        return cls(tuple(released[np.triu_indices(len(released))].tolist()), sigma)

    @property
    def square(self) -> Reals:
        """The whole matrix."""
        size = self._size
        whole = np.zeros((size, size))
        whole[np.triu_indices(size)] = self.matrix
        return np.asarray(whole + np.triu(whole, 1).T)

    def constants(self, ridge: float, statement: Statement) -> dict[str, Any]:
        """Eigenvectors, 1/eigenvalues of every mixture, and what bounds the cost of the release itself.

        For everybody the cost is bounded by both ends of the spectrum of the noise; else by a normal number.
        """
        values, vectors = np.linalg.eigh(self.square)
        size, everyone = len(values), statement.is_for_everyone
        tau = goe_quantile(size, statement.failure / (2 if everyone else 1))
        # eigh is off by a few units in the last place of the largest eigenvalue.
        slack = 1e-13 * size * float(np.abs(values).max())
        mixed = (1 - MIXTURES) * (values - tau * self.sigma - slack)[:, None] + MIXTURES * ridge
        good = (mixed > 0).all(axis=0)
        each = tau / 2 if everyone else quantiles.along(statement.each) / math.sqrt(2)
        return {
            "vectors": vectors.tolist(),
            "inverses": (1 / mixed[:, good]).tolist(),
            "linear": each / self.sigma,
            "square": 0.25 / self.sigma**2,
        }

    @staticmethod
    def leverage(constants: Mapping[str, Any], rows: Reals) -> Reals:
        """The bound on x.H^-1 x, row by row."""
        squares = np.square(rows @ np.array(constants["vectors"]))
        return np.asarray((squares @ np.array(constants["inverses"])).min(axis=1))

    @staticmethod
    def cost(constants: Mapping[str, Any], moved: Reals) -> Reals:
        """The loss of the release for a person who moves H by so much in Frobenius norm."""
        return np.asarray(constants["linear"] * moved + constants["square"] * moved**2)

    def record(self) -> dict[str, JSON]:
        return {"matrix": [exact(value) for value in self.matrix], "sigma": exact(self.sigma)}

    @classmethod
    def from_record(cls, record: Mapping[str, JSON]) -> Curvature:
        return cls(tuple(float(value) for value in record["matrix"]), float(record["sigma"]))
