"""Principal components with noise for the gap between their eigenvalues and the others, of which a bound is released.

docs/proofs/principal-components.md has the proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtri

from dalenius.adaptive.ptr.calibrated_release import CalibratedRelease
from dalenius.adaptive.ptr.parts import Family, PrivateBound
from dalenius.adaptive.regression.promise import with_delta
from dalenius.calculus.guarantees import ApproxDP
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dalenius.core.adjacency import adjacency as checked_adjacency
from dalenius.core.arrays import Reals, unmasked
from dalenius.errors import CannotMeet, InvalidParameter
from dalenius.mechanisms import AnalyzeGauss, Gaussian
from dalenius.mechanisms.mechanism import Neighbours
from dalenius.sums.grids import MOST, TOGETHER

MOST_COLUMNS = 100
MOST_ROWS = 1 << 27
"""So many rows of so few columns leave an error of 1e-4 in an eigenvalue that LAPACK computes (64 d 2^-53 of the sum of
all), and sums of whole numbers within 64 bits."""
SLACK = 1e-3
"""What that can make of a gap, of the gap of a neighbour, and of their difference."""
INFLATION = 1.01
"""And of a projection, relative to how far one record moves it."""
GAP_SHARE = 0.2
"""The part of mu^2 that the bound on the gap costs."""


def rotation(gap: float, adjacency: Adjacency = ADD_REMOVE) -> float:
    """How far one record of norm 1 moves the projection to the first components, in Frobenius norm, for this gap.

    1/sqrt(2 g (g - 1)) for a record more or less, g > 1 being the gap of either of the two data sets; when one is
    replaced, by way of the data without it, whose gap is g - 1 at least.
    """
    if adjacency is REPLACE_ONE:
        return rotation(gap) + rotation(gap - 1)
    return 1 / math.sqrt(2 * gap * (gap - 1)) if gap > 1 else math.inf


@dataclass(frozen=True)
class Rows:
    """X^T X of rows of norm 1 at most, exact on a grid; in units of `norm`^2."""

    norm: float
    columns: int

    def gram(self, data: Any) -> Reals:
        """Rows are clipped, and rounded towards 0 to whole numbers of 2^-18; what is no number makes a row of zeros."""
        table = np.asarray(unmasked(data))
        if table.ndim != 2 or table.shape[1] != self.columns or table.dtype.kind not in "biuf":
            raise InvalidParameter.of(
                "value", f"the value must be a table of numbers with {self.columns} columns."
            )
        if len(table) > MOST_ROWS:
            raise InvalidParameter.of("value", f"the value has more than {MOST_ROWS} rows.")
        total = np.zeros((self.columns, self.columns), dtype=np.int64)
        for start in range(0, len(table), TOGETHER):
            part = np.ascontiguousarray(table[start : start + TOGETHER], dtype=np.float64)
            units = self._units(part)
            total += (units.T @ units).astype(np.int64)
        return np.asarray(total / MOST**2)

    def _units(self, rows: Reals) -> Reals:
        usable = np.isfinite(rows).all(axis=1, keepdims=True)
        rows = np.where(usable, rows, 0.0)
        largest = np.abs(rows).max(axis=1, initial=0.0)
        rows = rows / np.maximum(largest, 1e-300)[:, None]  # squares neither overflow nor vanish
        sizes = np.sqrt((rows * rows).sum(axis=1)) * (1 + 1e-12)
        with np.errstate(over="ignore"):
            shrink = np.minimum(1 / np.maximum(sizes, 1.0), largest / self.norm * (1 - 1e-12))
        return np.asarray(np.trunc(rows * (shrink * MOST)[:, None]))


@dataclass(frozen=True)
class GapBound(PrivateBound):
    """A lower bound on the gap between the k-th eigenvalue of X^T X and the next."""

    rows: Rows
    components: int
    sigma: float
    failure: float
    adjacency: Adjacency

    @cached_property
    def _noise(self) -> Gaussian:
        """The eigenvalues rise by |x|^2 in all for a record more: their gap by 1 at most, up or down."""
        moved = (1.0 if self.adjacency is ADD_REMOVE else 2.0) + SLACK
        return Gaussian(sensitivity=moved, sigma=moved * self.sigma, adjacency=self.adjacency)

    @property
    def loss(self) -> Loss:
        return self._noise.loss

    @cached_property
    def margin(self) -> float:
        """On its grid the noise is beyond it at most twice as often as off it."""
        return 1e-6 + self._noise.sigma * -float(ndtri(self.failure / 2)) * (1 + 1e-9)

    def release(self, data: Any) -> float:
        values = np.linalg.eigvalsh(self.rows.gram(data))[::-1]
        gap = float(values[self.components - 1] - values[self.components])
        return float(self._noise.release(gap)) - self.margin - SLACK


@dataclass(frozen=True)
class Components(Family):
    """The projection to the first components plus symmetric normal noise for its sensitivity; its own components."""

    rows: Rows
    components: int
    sigma: float
    adjacency: Adjacency

    def _noise(self, sensitivity: float) -> AnalyzeGauss:
        return AnalyzeGauss(sensitivity=sensitivity, sigma=self.sigma * sensitivity, adjacency=self.adjacency)

    @property
    def budget(self) -> Loss:
        return self._noise(1.0).loss

    def choose(self, statement: float) -> float | None:
        """The sensitivity for a gap; none for gaps of 1 (REPLACE_ONE: 2) and less, and where it would say nothing."""
        found = rotation(statement, self.adjacency) * INFLATION if statement > self._least else math.inf
        return found if found < math.sqrt(2 * self.components) else None

    @property
    def _least(self) -> float:
        return 1.0 if self.adjacency is ADD_REMOVE else 2.0

    def release(self, data: Any, phi: float) -> Reals:
        vectors = np.linalg.eigh(self.rows.gram(data))[1][:, -self.components :]
        return first_components(self._noise(phi).release(vectors @ vectors.T), self.components)

    @property
    def worst_pair(self) -> Neighbours:
        """Many records along the first k axes, and one more between the k-th and the next."""
        rows = np.zeros((200 * self.components, self.rows.columns))
        rows[np.arange(len(rows)), np.arange(len(rows)) % self.components] = self.rows.norm
        tilted = np.zeros((1, self.rows.columns))
        tilted[0, self.components - 1 : self.components + 1] = self.rows.norm * math.sqrt(0.5)
        start = 0 if self.adjacency is ADD_REMOVE else 1
        return Neighbours(rows, np.vstack((rows[start:], tilted)))


def first_components(matrix: Reals, components: int) -> Reals:
    """The eigenvectors of the largest eigenvalues, the first one first, in rows; the largest entry of each positive."""
    vectors = np.linalg.eigh(matrix)[1][:, ::-1][:, :components].T
    largest = np.abs(vectors).argmax(axis=1)
    return np.asarray(vectors * np.sign(vectors[np.arange(components), largest])[:, None])


def pca_ptr(
    promise: ApproxDP, *, columns: int, components: int, norm: float = 1.0, adjacency: Adjacency = ADD_REMOVE
) -> CalibratedRelease:
    """The first principal components of rows, about 0, with noise for the eigengap; or a refusal.

    A lower bound on the gap between the eigenvalues of X^T X of these components and the others is released with noise;
    what one record can turn the components by is at most 1/sqrt(2 g (g - 1)) for a gap of g squared norms, and so much
    noise goes on their projection (Redberg 2023, Theorem B.3.13, has a sketch of this with a larger bound and no
    constants; docs/proofs/principal-components.md). With a wide gap the components err a little less than those of a
    noisy X^T X (`dp.mechanisms.AnalyzeGauss`), by 5 to 15 % where we measured. Where it is too narrow, the answer is
    `Refusal()`.

    Parameters
    ----------
    promise
        What the whole release keeps; its delta must be above 0.
    columns
        How many columns a row has, 2 to 100.
    components
        How many components are released, fewer than there are columns.
    norm
        The largest norm of a row; public. Longer rows are clipped, and rows with what is no number count as zeros.
    adjacency
        The neighbouring relation.

    Returns
    -------
    CalibratedRelease
        `release(rows)` gives the components, one in each row, or `Refusal()`; `loss` is what that costs.

    Raises
    ------
    InvalidParameter
        If a parameter is out of range.
    CannotMeet
        If the promise has no delta.

    Examples
    --------
    >>> import numpy as np, dalenius as dp
    >>> X = np.random.default_rng(0).normal(size=(20_000, 3)) * [0.5, 0.1, 0.1]
    >>> m = dp.adaptive.pca_ptr(dp.ApproxDP(1.0, 1e-6), columns=3, components=1)
    >>> first = m.release(X)
    >>> bool(abs(first[0, 0]) > 0.99), m.loss.delta(1.0) <= 1e-6
    (True, True)
    """
    promise = with_delta(promise)
    columns = checks.count("columns", columns, least=2)
    components = checks.count("components", components, least=1)
    if columns > MOST_COLUMNS or components >= columns:
        raise InvalidParameter(
            f"there are {columns} columns and {components} components; there may be up to {MOST_COLUMNS} columns, and "
            "fewer components than columns."
        )
    rows, adjacency = Rows(checks.positive("norm", norm), columns), checked_adjacency(adjacency)
    half = promise.delta / 2 * (1 - 1e-6)
    mu = 1 / Gaussian.calibrated(ApproxDP(promise.epsilon, half), sensitivity=1.0, adjacency=adjacency).sigma
    for _ in range(20):
        bound = GapBound(rows, components, 1 / (mu * GAP_SHARE**0.5), half, adjacency)
        # The noise of `AnalyzeGauss` costs as much as Gaussian noise for a sensitivity of sqrt(1/2).
        family = Components(rows, components, math.sqrt(0.5) / (mu * (1 - GAP_SHARE) ** 0.5), adjacency)
        made = CalibratedRelease(bound=bound, family=family)
        if promise.holds(made.loss):
            return made
        mu *= 0.999
    raise CannotMeet(f"no noise was found that keeps {promise}; ask for a larger epsilon or delta.")
