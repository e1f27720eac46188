"""MWEM: a workload's worst questions, measured one after the other, and a hypothesis fitted to them."""

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
from dalenius.core.arrays import Ints, Reals
from dalenius.errors import InvalidParameter
from dalenius.mechanisms import DiscreteGaussian, Exponential, Geometric, Mechanism, Neighbours
from dalenius.queries.online.coefficients import answers, question, width
from dalenius.queries.online.counts import checked_domain, counts, neighbours, total
from dalenius.queries.online.distribution_release import DistributionRelease
from dalenius.queries.online.hypothesis import Hypothesis
from dalenius.queries.online.linear_query import LinearQuery, Marginals
from dalenius.queries.online.split import (
    Budget,
    checked_guarantee,
    count_noise,
    count_shares,
    deviation,
    fitted,
    total_loss,
)
from dalenius.queries.workload.choice import candidate
from dalenius.queries.workload.workload import Workload

MEASURE_SHARES = (0.1, 0.2, 0.35, 0.5)
"""Parts of the budget that may pay for measuring; the rest chooses what to measure."""
MOST_ROUNDS = 1 << 12
REUSED = 32
"""How many of the last answers the hypothesis is moved towards again."""
MOST_ANSWER = 1 << 52
"""Answers stay below this, so that they are doubles exactly."""


@dataclass(frozen=True)
class _Plan:
    pure: bool
    rounds: int
    choosing: float
    measuring: float
    counting: float
    error: float


@dataclass(frozen=True)
class _Parts:
    rounds: int
    choose: Exponential
    measure: Geometric | DiscreteGaussian
    counter: Geometric | DiscreteGaussian | None

    def losses(self) -> list[tuple[Mechanism, int]]:
        each: list[tuple[Mechanism, int]] = [(self.choose, self.rounds), (self.measure, self.rounds)]
        return each if self.counter is None else [*each, (self.counter, 1)]


@dataclass(frozen=True)
class MWEM(Mechanism):
    """Fits a distribution over all cells to a workload, by its worst questions (Hardt, Ligett and McSherry 2012).

    A public hypothesis, uniform at first, is scaled to the number of rows (`n` where `n_is_public`, else a count with
    noise). In each of `rounds` rounds

    1. the exponential mechanism (`Exponential`) picks a question; its score is the hypothesis' error, in whole rows;
    2. the true answer is measured with exact noise on whole numbers: geometric for a pure promise, else discrete
       Gaussian where that is better;
    3. the hypothesis moves towards it by multiplicative weights, and then, `passes` times, towards each of the last 32
       answers from which it is further away than noise explains.

    Released: the hypothesis, as a `DistributionRelease`; the average over the last rounds, `average` of them all.

    Loss: (choice + measurement) * rounds + count, composed exactly. Given what came before, the hypothesis is public,
    so that a unit moves every score, and the answer that is measured, by at most `rows_per_unit` times the width of
    the coefficients (1 for counts) under either adjacency. Scores are whole numbers and exact.

    See docs/proofs/adaptive-queries.md for the bound that `predicted_error` states.

    Parameters
    ----------
    workload
        The questions, with whole-numbered coefficients, over a domain of 2^24 cells at most.
    guarantee
        What the release must satisfy.
    n
        About how many rows there are: public, and used to choose the number of rounds.
    n_is_public
        Whether the data have exactly `n` rows in the domain and everybody may know; else they are counted with noise.
    rounds
        How many questions are measured; by default what makes `predicted_error` least.
    passes
        How often in each round the hypothesis is moved towards what was measured before; 0 for never.
    average
        The part of the rounds, the last ones, over which the hypothesis is averaged: 1 for all, 0 for the last alone
        (of which no bound is known).
    rows_per_unit
        How many rows one protected unit may have.
    adjacency
        The neighbouring relation: units are added or removed, or one is replaced.

    Examples
    --------
    >>> import dalenius as dp
    >>> domain = dp.queries.Domain({"sex": ["F", "M"], "age": 8})
    >>> w = dp.queries.Workload.marginals(domain, 2)
    >>> m = dp.queries.MWEM(w, dp.PureDP(1.0), n=10_000)
    >>> r = m.release({"sex": ["F", "F", "M", "F"] * 2500, "age": [5, 5, 5, 4] * 2500})
    >>> r.marginal(["sex"]).shape, m.loss.epsilon(delta=0.0) <= 1.0
    ((2,), True)
    """

    workload: Workload
    guarantee: Guarantee
    _: KW_ONLY
    n: int
    n_is_public: bool = False
    rounds: int | None = None
    passes: int = 5
    average: float = 0.5
    rows_per_unit: int = 1
    adjacency: Adjacency = ADD_REMOVE
    _parts: _Parts = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        if not isinstance(self.workload, Workload):
            raise InvalidParameter("workload must be a dalenius.queries.Workload.")
        checked_domain(self.workload.domain, "MWEM")
        checked_guarantee(self.guarantee)
        set_(self, "n", checks.count("n", self.n, least=1))
        set_(self, "n_is_public", checks.flag("n_is_public", self.n_is_public))
        set_(self, "passes", checks.count("passes", self.passes))
        set_(self, "average", checks.probability("average", self.average))
        set_(self, "rows_per_unit", checks.count("rows_per_unit", self.rows_per_unit, least=1))
        set_(self, "adjacency", checked_adjacency(self.adjacency))
        if self.rounds is not None:
            set_(self, "rounds", checks.count("rounds", self.rounds, least=1))
        plan = self._plan()
        set_(self, "_parts", fitted(lambda factor: self._made(plan, factor), self.guarantee, plan.pure))
        set_(self, "rounds", plan.rounds)

    @cached_property
    def _width(self) -> int:
        return width(self.workload)

    @property
    def _unit(self) -> int:
        """The most one unit changes a score or an answer."""
        return self._width * self.rows_per_unit

    # -- how the budget is split -------------------------------------------------------------------

    def _plan(self) -> _Plan:
        tries = np.unique(np.geomspace(1, MOST_ROUNDS, 49).round().astype(int)).tolist()
        rounds = tries if self.rounds is None else [self.rounds]
        plans = [
            self._planned(budget, count, share, counting)
            for budget in Budget.ways(self.guarantee)
            for count in rounds
            for share in MEASURE_SHARES
            for counting in count_shares(self.n_is_public)
        ]
        return min(plans, key=lambda plan: plan.error)

    def _planned(self, budget: Budget, rounds: int, share: float, counting: float) -> _Plan:
        epsilon = budget.epsilon(1 - share - counting, rounds, bounded_range=True)
        noise = budget.noise(share, rounds, self._unit)
        count_noise = budget.noise(counting, 1, self.rows_per_unit) if counting else 0.0
        counted = self._width * budget.deviation(count_noise)
        gap = 2 * self._unit / epsilon * math.log(max(2, self.workload.size))
        error = gap + counted + self._bound(self.n, rounds, budget.deviation(noise) + counted)
        return _Plan(budget.pure, rounds, epsilon, noise, count_noise, error)

    def _made(self, plan: _Plan, factor: float) -> _Parts:
        choose = Exponential(sensitivity=self._unit, epsilon=plan.choosing / factor, adjacency=self.adjacency)
        measure = count_noise(plan.pure, self._unit, plan.measuring * factor, self.adjacency)
        counter = None
        if plan.counting:
            counter = count_noise(plan.pure, self.rows_per_unit, plan.counting * factor, self.adjacency)
        return _Parts(plan.rounds, choose, measure, counter)

    @cached_property
    def loss(self) -> Loss:
        """The worst-case privacy loss of one release."""
        return total_loss(self._parts)

    # -- how far off the answers are -----------------------------------------------------------------

    def _bound(self, n: float, rounds: int, noise: float) -> float:
        """For a hypothesis averaged over the last rounds; the noise as root mean square."""
        kept = self._kept(rounds)
        worst = self._width * n * math.sqrt(math.log(self.workload.domain.cells) / (2 * kept))
        return math.hypot(worst, noise * math.sqrt(rounds / kept))

    def _kept(self, rounds: int) -> int:
        """Over how many of the last rounds the hypothesis is averaged."""
        return max(1, math.ceil(self.average * rounds))

    def predicted_error(self, n: int) -> float:
        """A bound on the expected error, in rows, of the worst answer; infinite where the last hypothesis is taken.

        sqrt(w^2 n^2 log |X| / (2 k) + s^2 rounds / k) + g + c, k the number of rounds over which the hypothesis is
        averaged, s^2 the variance of what is measured and counted, g the expected gap of the exponential mechanism, c
        the error of the count, w the width of the coefficients.

        Parameters
        ----------
        n
            The number of rows.

        Returns
        -------
        float
            The bound.

        Raises
        ------
        InvalidParameter
            If n is not a whole number above 0.
        """
        n = checks.count("n", n, least=1)
        if self.average == 0:
            return math.inf
        parts = self._parts
        counted = 0.0 if parts.counter is None else self._width * deviation(parts.counter)
        bound = self._bound(n, parts.rounds, deviation(parts.measure) + counted)
        gap = parts.choose.expected_gap(size=self.workload.size) + 1  # answers are rounded to whole rows
        return bound + gap + counted

    # -- the release ---------------------------------------------------------------------------------

    def release(self, value: Any) -> DistributionRelease:
        """A distribution fitted to the workload.

        Parameters
        ----------
        value
            A table (mapping of columns, DataFrame, codes), or a histogram in the domain's shape.

        Returns
        -------
        DistributionRelease
            Answers, marginals and synthetic rows.

        Raises
        ------
        InvalidParameter
            If the data are not of such a kind.
        """
        cells = counts(self.workload.domain, value, MOST_ANSWER // self._width)
        rows = total(cells, self._parts.counter, self.n)
        true = answers(self.workload, Marginals(cells))
        hypothesis, seen = Hypothesis(self.workload.domain.shape), list[tuple[LinearQuery, int]]()
        rounds, kept = self._parts.rounds, self._kept(self._parts.rounds)
        average = np.zeros(self.workload.domain.shape)
        for place in range(rounds):
            if place >= rounds - kept:
                average += hypothesis.probabilities / kept
            index = self._parts.choose.release(self._scores(true, hypothesis, rows))
            seen.append(
                (question(self.workload, index, self._width), self._parts.measure.release(int(true[index])))
            )
            self._moved(hypothesis, seen, rows)
        found = average if self.average else hypothesis.probabilities
        return DistributionRelease(self.workload, self.loss, found, rows)

    def _scores(self, true: Ints, hypothesis: Hypothesis, rows: int) -> Reals:
        """The errors of the hypothesis, in whole rows."""
        said = np.rint(answers(self.workload, Marginals(hypothesis.probabilities)) * rows)
        scores: Reals = np.abs(true - np.clip(said, -MOST_ANSWER, MOST_ANSWER))
        return scores

    def _moved(self, hypothesis: Hypothesis, seen: list[tuple[LinearQuery, int]], rows: int) -> None:
        """One step for the newest answer; then steps for all whose distance is more than their noise explains."""
        query, answer = seen[-1]
        hypothesis.step(query, self._distance(hypothesis, query, answer, rows))
        certain = self._certain / rows
        for _ in range(self.passes):
            for query, answer in seen[-REUSED:]:
                far = self._distance(hypothesis, query, answer, rows)
                if abs(far) > certain:
                    hypothesis.step(query, math.copysign(abs(far) - certain, far))

    @cached_property
    def _certain(self) -> float:
        """What noise alone makes of the distance from any answer, in rows, with a probability of 95 %."""
        parts = self._parts
        counted = 0.0 if parts.counter is None else parts.counter.accuracy(0.975)
        return parts.measure.accuracy(0.975, size=parts.rounds) / self._width + counted

    def _distance(self, hypothesis: Hypothesis, query: LinearQuery, answer: int, rows: int) -> float:
        return answer / (self._width * rows) - hypothesis.share(query)

    @property
    def worst_pair(self) -> Neighbours:
        """All rows of a small table in the first cell; those of one unit more there, or moved to the last."""
        return neighbours(self.workload.domain, self.rows_per_unit, self.adjacency)


def _least_error(workload: Workload, guarantee: Guarantee, n: int) -> float:
    """What `predicted_error` comes to without noise, after as many rounds as there can be."""
    checked_domain(workload.domain, "MWEM")
    checked_guarantee(guarantee)
    return width(workload) * n * math.sqrt(math.log(workload.domain.cells) / (2 * MOST_ROUNDS))


candidate(
    "MWEM",
    "a distribution fitted to the worst questions",
    MWEM,
    bound=True,
    takes_n=True,
    least=_least_error,
)
