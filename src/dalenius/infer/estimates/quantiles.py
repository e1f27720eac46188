"""Quantiles of a population, from noisy counts of rows up to each of many edges.

Of the q-quantile all edges are ruled out at which the share of rows is, beyond sampling and noise, below or above q;
the interval reaches from the last edge ruled out below to the first one above. The counts are made to climb first
(isotonic regression), which brings them nearer to what they are of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import ndtri

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dalenius.core.adjacency import adjacency as checked_adjacency
from dalenius.core.arrays import Ints, Reals
from dalenius.core.decimals import told_apart
from dalenius.errors import InvalidParameter
from dalenius.infer.estimates.bounded import Bounded, present
from dalenius.infer.estimates.bounded_mean import Column
from dalenius.infer.estimates.prefixes import Prefixes
from dalenius.infer.estimates.stream import half_step, parts
from dalenius.infer.inputs import column
from dalenius.infer.promise import checked_guarantee
from dalenius.infer.result import Result
from dalenius.intervals.differences import Estimated

BINS = 2**13
"""Of equal width, between bounds."""

FINE = 16
"""Without bounds: edges between two powers of two."""

GEOMETRIC = np.ldexp((1 + np.arange(FINE) / FINE)[None, :], np.arange(-40, 60)[:, None]).ravel()


@dataclass(frozen=True)
class Quantiles:
    """The release; bounds: None for edges at every magnitude from 2^-40 to 2^60, each 1/16 of a power apart."""

    guarantee: Guarantee
    levels: tuple[float, ...]
    bounds: Bounded | None
    adjacency: Adjacency = ADD_REMOVE
    bins: int = BINS

    @cached_property
    def edges(self) -> Reals:
        if self.bounds is None:
            return np.concatenate((-GEOMETRIC[::-1], [0.0], GEOMETRIC))
        return self.bounds.low + (self.bounds.high - self.bounds.low) * np.arange(self.bins + 1) / self.bins

    @cached_property
    def prefixes(self) -> Prefixes:
        return Prefixes(self.guarantee, self.adjacency, len(self.edges) - 1)

    @property
    def loss(self) -> Loss:
        """What the release costs."""
        return self.prefixes.loss

    def noisy(self, samples: Sequence[Column]) -> tuple[Reals, Reals]:
        """Climbing counts (data sets x bins), and numbers of rows."""
        counts = [self._counts(sample) for sample in samples]
        climbing = self.prefixes.release(counts)
        rows = climbing[:, -1].copy()
        if self.adjacency is not ADD_REMOVE:
            rows = np.array([float(one.sum()) for one in counts])
        return np.array([isotonic_regression(row).x for row in climbing]), rows

    def _counts(self, sample: Column) -> Ints:
        counts = np.zeros(len(self.edges) - 1, dtype=np.int64)
        for block in parts(sample):
            counts += self._counted(present(self.adjacency, block)[0])
        return counts

    def _counted(self, values: Reals) -> Ints:
        middle = self.edges[len(self.edges) // 2]
        values = np.where(np.isfinite(values), values, middle)
        places = np.clip(np.searchsorted(self.edges, values, side="right") - 1, 0, len(self.edges) - 2)
        return np.bincount(places, minlength=len(self.edges) - 1)

    def estimate(self, noisy: tuple[Reals, Reals], level: float, alpha: float) -> Estimated:
        """Of every data set; limits fail with probability alpha."""
        climbing, rows = noisy
        rows = np.maximum(rows, 1.0)
        z = -float(ndtri(alpha / 2))
        noise = self.prefixes.variances(level, known=self.adjacency is not ADD_REMOVE)
        drawn = rows[:, None] * level * (1 - level)
        variance = noise + drawn
        # Cornish and Fisher: a binomial count leans to one side.
        lean = drawn * (1 - 2 * level) / variance * (z**2 - 1) / 6
        gap, reach = climbing - level * rows[:, None], z * np.sqrt(variance)
        last = climbing.shape[1] - 1
        below, above = gap < -reach + lean, gap > reach + lean
        first = np.where(below.all(axis=1), last, (~below).argmax(axis=1))
        after = np.where(above.any(axis=1), above.argmax(axis=1), last)
        low, high = self.edges[first], self.edges[np.maximum(after, first) + 1]
        if self.bounds is None:  # the outermost bins have no end
            low, high = np.where(first == 0, -np.inf, low), np.where(after >= last, np.inf, high)
        best = self._crossing(climbing, level * rows)
        best = np.clip(best, low, high)
        return best, (high - low) / (2 * z), low, high

    def _crossing(self, climbing: Reals, ranks: Reals) -> Reals:
        """Where counts reach a rank, evenly within a bin; in the middle of those at which they equal it."""
        found = []
        for row, rank in zip(climbing, ranks, strict=True):
            up_to = np.concatenate(([min(0.0, row[0])], row))
            left, right = np.searchsorted(up_to, rank, "left"), np.searchsorted(up_to, rank, "right")
            if left == right and 0 < left < len(up_to):
                share = (rank - up_to[left - 1]) / (up_to[left] - up_to[left - 1])
                found.append(self.edges[left - 1] + share * (self.edges[left] - self.edges[left - 1]))
            else:
                ends = np.clip((left, right - 1), 0, len(self.edges) - 1)
                found.append(float(self.edges[ends].mean()))
        return np.array(found)

    def release(self, x: object) -> Result:
        """All quantiles, with their intervals."""
        return self.result(*column(x))

    def result(self, values: Column, name: str) -> Result:
        """The same, of rows in memory or in blocks."""
        noisy, moved = self.noisy([values]), half_step(values)

        def columns(alpha: float) -> list[Reals]:
            each = [self.estimate(noisy, level, alpha) for level in self.levels]
            best, error, low, high = (np.concatenate(part) for part in zip(*each, strict=True))
            return [best, error, low - moved, high + moved]

        estimate, error, _, _ = columns(0.05)
        names = [f"{name} {level}" for level in told_apart(self.levels)]
        ends = (
            f"within the public bounds [{self.bounds.low:g}, {self.bounds.high:g}]"
            if self.bounds
            else "without bounds; limits are on a grid of 16 steps from each power of two to the next"
        )
        notes = []
        if self.bounds is None:
            notes.append("Estimates are interpolated between steps of the grid; public bounds make it finer.")
        if self.adjacency is REPLACE_ONE:
            notes.append(f"Missing values count as {self.bounds.middle if self.bounds else 0:g}.")
        return Result(
            names,
            estimate,
            loss=self.loss,
            method=f"quantiles from noisy prefix sums, {ends}",
            limits=lambda alpha: np.column_stack(columns(alpha)[2:]),
            bse=error,
            nobs=float(max(noisy[1][0], 0.0)),
            nobs_noisy=self.adjacency is ADD_REMOVE,
            notes=notes,
        )


def quantiles(
    x: object,
    guarantee: Guarantee,
    *,
    levels: Sequence[float] | Reals,
    bounds: Sequence[float] | None = None,
    adjacency: Adjacency = ADD_REMOVE,
    bins: int = BINS,
) -> Result:
    """Quantiles of the population that rows were drawn from, any number of them for the price of one.

    Released are the counts of all bins, multiplied by the square root of the matrix of prefix sums, with Gaussian noise
    for what one row moves them by; so the number of rows below every edge is known with noise that grows with the
    logarithm of `bins` alone (Fichtenberger, Henzinger and Upadhyay 2023, "Constant matters").

    Parameters
    ----------
    x : array, series or frame of one column
        One number a row. Missing values are left out under ADD_REMOVE, and count as the middle of the bounds (0 without
        any) under REPLACE_ONE.
    guarantee : Guarantee
        The promise to keep: GDP, ZCDP, ApproxDP or RDP. (For PureDP use dp.mechanisms.Quantile, without an interval.)
    levels : sequence of float
        Increasing numbers above 0 and below 1.
    bounds : pair of float, optional
        (low, high), from public knowledge. Without any, limits are between powers of two, 1/16 of one apart.
    adjacency : Adjacency, optional
        ADD_REMOVE, or REPLACE_ONE, which makes the number of rows public.
    bins : int, optional
        The bounds are divided into so many bins, and limits are their edges.

    Returns
    -------
    Result
        One estimate for each level.

    Raises
    ------
    InvalidParameter
        If a parameter is out of range.

    Examples
    --------
    >>> import numpy as np, dalenius as dp
    >>> fit = dp.infer.quantiles(np.linspace(0, 1, 5000), dp.GDP(1.0), levels=[0.25, 0.5], bounds=(0, 1))
    >>> bool(abs(fit.params - [0.25, 0.5]).max() < 0.02)
    True
    """
    given = checked_levels(levels)
    between = None if bounds is None else Bounded.of(bounds)
    size, relation = checked_bins(bins), checked_adjacency(adjacency)
    return Quantiles(checked_guarantee(guarantee), given, between, relation, size).release(x)


def checked_levels(levels: object) -> tuple[float, ...]:
    """Increasing numbers above 0 and below 1; one of them may stand alone."""
    given = (levels,) if isinstance(levels, float) else levels
    if not isinstance(given, list | tuple | np.ndarray) or len(given) == 0:
        raise InvalidParameter.of(
            "levels", f"levels is {checks.shown(levels)}; it must be a list such as [0.25, 0.5, 0.75]."
        )
    found = tuple(checks.open_probability("a quantile's level", level) for level in given)
    if list(found) != sorted(set(found)):
        raise InvalidParameter.of("levels", "the levels of quantiles must increase.")
    return found


def checked_bins(bins: object) -> int:
    """From 2 to 65 536."""
    size = checks.count("bins", bins, 2)
    if size > 2**16:
        raise InvalidParameter.of("bins", f"bins is {size}; it must be at most 65536.")
    return size


def median(
    x: object,
    guarantee: Guarantee,
    *,
    bounds: Sequence[float] | None = None,
    adjacency: Adjacency = ADD_REMOVE,
    bins: int = BINS,
) -> Result:
    """The median of the population that rows were drawn from.

    Parameters
    ----------
    x : array, series or frame of one column
        One number a row; missing values as for `quantiles`.
    guarantee : Guarantee
        The promise to keep: GDP, ZCDP, ApproxDP or RDP.
    bounds : pair of float, optional
        (low, high), from public knowledge. Without any, limits are between powers of two, 1/16 of one apart.
    adjacency : Adjacency, optional
        ADD_REMOVE, or REPLACE_ONE, which makes the number of rows public.
    bins : int, optional
        The bounds are divided into so many bins, and limits are their edges.

    Returns
    -------
    Result
        One estimate.

    Raises
    ------
    InvalidParameter
        If a parameter is out of range.

    Examples
    --------
    >>> import numpy as np, dalenius as dp
    >>> fit = dp.infer.median(np.linspace(0, 1, 5000), dp.ZCDP(0.5), bounds=(0, 1))
    >>> bool(abs(fit.params[0] - 0.5) < 0.02)
    True
    """
    return quantiles(x, guarantee, levels=(0.5,), bounds=bounds, adjacency=adjacency, bins=bins)
