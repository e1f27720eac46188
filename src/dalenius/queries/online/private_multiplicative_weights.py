"""Private multiplicative weights: any number of linear queries, each chosen after the answers before it."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.adjacency import adjacency as checked_adjacency
from dalenius.mechanisms import DiscreteGaussian, Gaussian, Geometric, Laplace, Mechanism, SparseVector
from dalenius.queries.domain import Domain
from dalenius.queries.online.counts import checked_domain, counts, total
from dalenius.queries.online.curator import Curator
from dalenius.queries.online.linear_query import RESOLUTION
from dalenius.queries.online.split import (
    Budget,
    checked_guarantee,
    count_noise,
    count_shares,
    fitted,
    number_noise,
    total_loss,
)

NUMBER_SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.35)
"""Parts of the budget that may pay for the answers that are measured; the best is taken."""
MOST_UPDATES = 1 << 16


@dataclass(frozen=True)
class _Plan:
    """How the budget is split; before the noise is fitted to the promise."""

    pure: bool
    updates: int
    comparing: float
    measuring: float
    counting: float
    error: float


@dataclass(frozen=True)
class _Parts:
    comparer: SparseVector
    measure: Laplace | Gaussian
    counter: Geometric | DiscreteGaussian | None

    def losses(self) -> list[tuple[Mechanism, int]]:
        each: list[tuple[Mechanism, int]] = [(self.comparer, 1), (self.measure, self.comparer.count)]
        return each if self.counter is None else [*each, (self.counter, 1)]


@dataclass(frozen=True)
class PrivateMultiplicativeWeights:
    """Answers linear queries about one table, one at a time, each chosen after the answers before it.

    A public hypothesis about the distribution of the rows, uniform at first, answers what it can. For each query:

    1. the difference between the true count and the hypothesis' count, without its sign, is compared with a
       threshold by the sparse vector technique (`SparseVector`; noise on both);
    2. below: the hypothesis' count is the answer, and costs nothing;
    3. above: the difference is released with fresh noise (Laplace for a pure promise, else Gaussian), corrects the
       answer and moves the hypothesis by multiplicative weights. After `updates` of these it ends.

    The hypothesis is scaled to the number of rows: `n` where `n_is_public`, else a count with noise for
    a small part of the budget.

    Loss: the sparse vector's with `updates` positives, that of `updates` numbers, and that of the count. Given what
    was said before, the hypothesis and the query are fixed, so one unit moves the difference by at most
    `rows_per_unit` under either adjacency (weights are between 0 and 1, and a row outside the domain counts for
    nothing); the difference is a whole multiple of 1/1024 rows and exact. Queries that the hypothesis answers are free
    however many they are; those that are measured are paid for twice, by the comparison and by the number. See
    docs/proofs/adaptive-queries.md (Hardt and Rothblum 2010; constants are derived there).

    Parameters
    ----------
    domain
        The columns and their values; 2^24 cells at most.
    guarantee
        What everything a curator ever says must satisfy.
    n
        About how many rows there are: public, and used to choose the number of updates and the threshold.
    n_is_public
        Whether the data have exactly `n` rows in the domain and everybody may know; else they are counted with noise.
    queries
        How many queries are expected, for updates and threshold; more may be asked. For few of them it may be best
        to measure all: then there are as many updates as queries, and the threshold is 0.
    updates
        How many queries may be measured; by default what makes `predicted_error` least.
    threshold
        The error from which on a query is measured, in rows; by default what keeps `updates` from running out.
    confidence
        The probability with which `predicted_error` holds.
    rows_per_unit
        How many rows one protected unit may have.
    adjacency
        The neighbouring relation: units are added or removed, or one is replaced.

    Examples
    --------
    >>> import dalenius as dp
    >>> domain = dp.queries.Domain({"sex": ["F", "M"], "age": 8})
    >>> pmw = dp.queries.PrivateMultiplicativeWeights(domain, dp.PureDP(1.0), n=100_000)
    >>> curator = pmw.open({"sex": ["F"] * 70_000 + ["M"] * 30_000, "age": [5] * 100_000})
    >>> [answer.measured for answer in curator.ask_many([{"sex": "F", "age": 5}, {"sex": "F"}])]
    [True, False]
    >>> pmw.loss.epsilon(delta=0.0) <= 1.0
    True
    """

    domain: Domain
    guarantee: Guarantee
    _: KW_ONLY
    n: int
    n_is_public: bool = False
    queries: int = 100_000
    updates: int | None = None
    threshold: float | None = None
    confidence: float = 0.95
    rows_per_unit: int = 1
    adjacency: Adjacency = ADD_REMOVE
    _parts: _Parts = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "domain", checked_domain(self.domain, "multiplicative weights"))
        set_(self, "guarantee", checked_guarantee(self.guarantee))
        set_(self, "n", checks.count("n", self.n, least=1))
        set_(self, "n_is_public", checks.flag("n_is_public", self.n_is_public))
        set_(self, "queries", checks.count("queries", self.queries, least=1))
        set_(self, "confidence", checks.confidence(self.confidence))
        set_(self, "rows_per_unit", checks.count("rows_per_unit", self.rows_per_unit, least=1))
        set_(self, "adjacency", checked_adjacency(self.adjacency))
        if self.updates is not None:
            set_(self, "updates", checks.count("updates", self.updates, least=1))
        if self.threshold is not None:
            set_(self, "threshold", checks.nonnegative("threshold", self.threshold))
        plan = self._plan()
        set_(self, "_parts", fitted(lambda factor: self._made(plan, factor), self.guarantee, plan.pure))
        set_(self, "updates", plan.updates)
        if self.threshold is None:
            set_(self, "threshold", self._safe_threshold())

    # -- how the budget is split -------------------------------------------------------------------

    @property
    def _failure(self) -> float:
        """Comparisons, numbers and the count may each go wrong with this probability."""
        return (1 - self.confidence) / 3

    def _plan(self) -> _Plan:
        """The number of updates and the split with the least error, by tails of the noise without the grid."""
        most = min(MOST_UPDATES, self.queries)
        tries = np.unique(np.geomspace(1, most, 65).round().astype(int)).tolist()
        updates = tries if self.updates is None else [self.updates]
        plans = [
            self._planned(budget, count, share, counting)
            for budget in Budget.ways(self.guarantee)
            for count in updates
            for share in NUMBER_SHARES
            for counting in count_shares(self.n_is_public)
        ]
        return min(plans, key=lambda plan: plan.error)

    def _planned(self, budget: Budget, updates: int, share: float, counting: float) -> _Plan:
        unit, failure = self.rows_per_unit, self._failure
        runs = 1 if budget.pure else updates
        epsilon = budget.epsilon(1 - share - counting, runs)
        moves = 2 * updates // runs
        threshold_part = 1 / (1 + moves ** (2 / 3))
        gap = unit * (
            moves / (epsilon * (1 - threshold_part)) * math.log(self.queries / failure)
            + math.log(runs / failure) / (epsilon * threshold_part)
        )
        noise = budget.noise(share, updates, unit)
        count_noise = budget.noise(counting, 1, unit) if counting else 0.0
        counted = budget.tail(count_noise, 1, failure) if counting else 0.0
        off = budget.tail(noise, updates, failure)
        worst = self.n * math.sqrt(math.log(self.domain.cells) / (2 * updates))
        error = (
            max(gap, off) if updates >= self.queries else 2 * gap + counted + math.hypot(worst, off + counted)
        )
        # The sparse vector counts its whole run: with one threshold for each update its epsilon is their sum.
        return _Plan(budget.pure, updates, epsilon * runs, noise, count_noise, error)

    def _made(self, plan: _Plan, factor: float) -> _Parts:
        pure, unit = plan.pure, self.rows_per_unit
        comparer = SparseVector(
            sensitivity=unit,
            epsilon=plan.comparing / factor,
            count=plan.updates,
            fresh_threshold=not pure,
            adjacency=self.adjacency,
        )
        counter = count_noise(pure, unit, plan.counting * factor, self.adjacency) if plan.counting else None
        return _Parts(comparer, number_noise(pure, unit, plan.measuring * factor, self.adjacency), counter)

    @cached_property
    def loss(self) -> Loss:
        """The worst-case privacy loss of everything one curator says."""
        return total_loss(self._parts)

    # -- how far off the answers are -----------------------------------------------------------------

    @cached_property
    def _gaps(self) -> tuple[float, float, float]:
        """What comparisons, numbers and the count are off by at most, each but for a third of the failures."""
        parts, sure = self._parts, 1 - self._failure
        return (
            parts.comparer.accuracy(sure, size=self.queries) + 1 / RESOLUTION,
            parts.measure.accuracy(sure, size=parts.comparer.count),
            0.0 if parts.counter is None else parts.counter.accuracy(sure),
        )

    def _needed(self, n: float) -> float:
        """The least error of a measured query, in rows, with which the updates cannot run out."""
        if self._parts.comparer.count >= self.queries:
            return 0.0
        _, measured, counted = self._gaps
        off = (measured + counted) * n / (n - counted) if n > counted else math.inf
        worst = n * math.sqrt(math.log(self.domain.cells) / (2 * self._parts.comparer.count))
        return math.hypot(worst, off) * (1 + 1e-9) + counted

    def _safe_threshold(self) -> float:
        needed = min(self._needed(self.n), self.n + self._gaps[2])  # no query is off by more than all rows
        return (self._gaps[0] + needed) * (1 + 1e-9) if needed else 0.0

    def predicted_error(self, n: int) -> float:
        """The error, in rows, that all answers stay within with probability `confidence`.

        threshold + G, where the comparisons are right to within G for `queries` queries. Measured queries are off by
        noise alone. It holds if the updates cannot run out: every measured query was off by at least threshold - G, and
        multiplicative weights allow `updates` of these only while n sqrt(log |X| / (2 updates)), together with the
        noise of numbers and count, is above that. With as many updates as queries they cannot run out at all.

        Parameters
        ----------
        n
            The number of rows.

        Returns
        -------
        float
            The error; infinite if for this many rows the updates may run out before the queries.

        Raises
        ------
        InvalidParameter
            If n is not a whole number above 0.
        """
        n = checks.count("n", n, least=1)
        compared, measured, counted = self._gaps
        assert self.threshold is not None
        least = self.threshold - compared  # a query that is measured is off by this much
        if self._needed(n) > 0 and least < min(self._needed(n), n + counted):
            return math.inf
        return max(self.threshold + compared, measured)

    # -- answers ---------------------------------------------------------------------------------------

    def open(self, data: Any) -> Curator:
        """Start to answer; everything the curator ever says costs `loss`.

        Parameters
        ----------
        data
            A table (mapping of columns, DataFrame, codes), or a histogram in the domain's shape.

        Returns
        -------
        Curator
            Takes one query at a time.

        Raises
        ------
        InvalidParameter
            If the data are not of such a kind.
        """
        cells = counts(self.domain, data, (1 << 62) // RESOLUTION)
        parts = self._parts
        rows = total(cells, parts.counter, self.n)
        assert self.threshold is not None
        return Curator(self.domain, cells, rows, parts.comparer.start(self.threshold), parts.measure)
