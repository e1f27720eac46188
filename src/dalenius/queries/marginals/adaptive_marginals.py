"""Noisy marginals chosen round by round, and the distribution fitted to them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.adjacency import adjacency as checked_adjacency
from dalenius.core.arrays import Ints
from dalenius.errors import InvalidParameter
from dalenius.mechanisms.mechanism import Mechanism, Neighbours
from dalenius.queries.domain import Domain
from dalenius.queries.marginals.fit import Fitted, Target, fit
from dalenius.queries.marginals.groups import Groups, even_groups, merged
from dalenius.queries.marginals.junction_tree import JunctionTree, Room, Scope
from dalenius.queries.marginals.marginals_release import MarginalsRelease
from dalenius.queries.marginals.measurement import Measurement
from dalenius.queries.marginals.plan import TOTAL_SHARE, Plan
from dalenius.queries.marginals.posterior import denoised
from dalenius.queries.marginals.shrinkage import shrunk
from dalenius.queries.marginals.spending import Prices, Purse
from dalenius.queries.rows import Rows
from dalenius.queries.workload.choice import candidate
from dalenius.queries.workload.workload import Workload

ROUND_STEPS, FINAL_STEPS = 60, 400
"""Steps of the fit in each round, and at the end."""
SINGLE_RIDGE, JOINT_RIDGE = 0.03, 0.1
"""How much entropy counts against the fit, in units of the noise, for single columns and for several together."""
NOISY_THRESHOLD = 0.5
"""What a cell must be off by to count in a score, in units of the noise to come, where noise is large; else 1."""
MOST_GROUPS = 8
"""The groups that the values of a column are put in, where a pair is measured in groups."""
MOST_CANDIDATE_CELLS = 2**20
LARGEST = 2**42
"""Counts beyond this count as this in scores."""
CROWDED_CELLS = 2**13
"""The limit on the model where every marginal is measured: most are then met by moving rows, not by the model."""


@dataclass(frozen=True)
class AdaptiveMarginals(Mechanism):
    """Synthetic data for wide tables: measures the marginals that a model of the table gets most wrong.

    In the way of AIM (McKenna, Mullins, Sheldon and Miklau 2022, "AIM: An Adaptive and Iterative Mechanism for
    Differentially Private Synthetic Data"):

    1. the number of rows and the histogram of every column are released with noise;
    2. round by round, the exponential mechanism chooses one of the workload's marginals (or a part of one) by how far
       the model is from the data, and its counts are released with noise;
    3. after each round the model, the distribution of largest entropy that fits what was released, is computed
       again, exactly, on a junction tree. Marginals for which the tree has no room are met by moving synthetic rows.
       Where noise is large, single columns enter the fit as posterior means of their counts.

    Where the budget allows for it, every marginal of the workload is measured and nothing is chosen. Where it is small
    (the table has fewer rows than 2000 times the noise of one count that had it all), a pair may also be chosen and
    measured in groups: neighbouring values, up to 8 groups a column with about equally many rows by the released counts
    of single columns. What such a round tells beyond the margins enters the fit shrunk to what noise could not have
    said; the margins enter it beside the histograms.

    The score of a marginal is the sum over its cells (of values or of groups) of max(|count - model count| - t, 0),
    the model's counts and the threshold t, about the noise that the counts would get, rounded to whole numbers: what
    noise would bury does not count. Every term is 1-Lipschitz in its count, and a row is in one cell, so that it moves
    a score by 1 where it is added or removed and by 2 where it is replaced.

    Privacy: counts get discrete Gaussian noise (geometric noise for PureDP) and the choice is the exponential
    mechanism, all drawn exactly. Which rounds follow, and what each may cost, depends on what was released before; the
    filter of the guarantee (`PureDP`: epsilons add; `ZCDP`: rhos; `GDP`: mu^2; `ApproxDP` by the largest GDP that
    implies it) makes the whole release keep the promise, whatever path it takes. `loss` is that promise.

    A row with a value outside the domain is left out.

    Parameters
    ----------
    workload
        The questions; the marginals over the columns of its parts are what is measured and fitted.
    guarantee
        What the release must keep: PureDP, ApproxDP, ZCDP or GDP.
    adjacency
        Whether a unit's rows are added and removed, or replaced.
    rows_per_unit
        The most rows of one person.
    model_size
        The most numbers, in mebibytes, that the graphical model may hold.

    Raises
    ------
    InvalidParameter
        If a parameter is out of range.

    Examples
    --------
    >>> import dalenius as dp
    >>> domain = dp.queries.Domain({"sex": 2, "smoker": 2, "age": 8})
    >>> m = dp.queries.AdaptiveMarginals(dp.queries.Workload.marginals(domain, 2), dp.ApproxDP(1.0, 1e-9))
    >>> m.loss.epsilon(1e-9) <= 1.0
    True
    """

    workload: Workload
    guarantee: Guarantee
    adjacency: Adjacency = ADD_REMOVE
    rows_per_unit: int = 1
    model_size: float = 0.5

    def __post_init__(self) -> None:
        if not isinstance(self.workload, Workload):
            raise InvalidParameter.of(
                "workload", f"workload is {checks.shown(self.workload)}; it must be a Workload."
            )
        checked_adjacency(self.adjacency)
        units = checks.count("rows_per_unit", self.rows_per_unit, least=1)
        object.__setattr__(self, "rows_per_unit", units)
        object.__setattr__(self, "model_size", checks.positive("model_size", self.model_size))
        _ = self.loss
        if sum(self.domain.shape) > self._most_cells:
            raise InvalidParameter.of(
                "model_size",
                f"model_size is {self.model_size:g} MiB, and single columns have {sum(self.domain.shape)} values "
                "together: allow a larger model, or use wider bins.",
            )
        if any(math.prod(self._shape(scope)) > MOST_CANDIDATE_CELLS for scope in self._single):
            raise InvalidParameter("a column has more than 2^20 values; use wider bins.")
        # What is refused is refused here, before anything is charged: the noise of the least share of the budget.
        scopes = list(self.candidates)
        least = Plan(self.domain.shape, scopes, self.prices, 1.0, len(scopes), 1.0).least_share
        _ = self.prices.noise(self.prices.limit * Fraction(math.floor(least * 2**40), 2**40))

    # -- what is public -------------------------------------------------------------------------------

    @property
    def domain(self) -> Domain:
        """The domain of the table."""
        return self.workload.domain

    @cached_property
    def prices(self) -> Prices:
        """What rounds cost."""
        return Prices(self.guarantee, self.adjacency, self.rows_per_unit)

    @cached_property
    def loss(self) -> Loss:
        """The worst-case privacy loss of one release, whatever path it takes."""
        return self.prices.promise.loss(self.adjacency)

    @property
    def _most_cells(self) -> int:
        return int(self.model_size * 2**20) // 8

    @property
    def _single(self) -> list[Scope]:
        return [(v,) for v in range(len(self.domain))]

    def _shape(self, scope: Scope) -> tuple[int, ...]:
        return tuple(self.domain.shape[v] for v in scope)

    @cached_property
    def candidates(self) -> dict[Scope, float]:
        """What may be measured beyond single columns: sets of two columns or more that the workload asks about
        together, with their parts of two columns, and the weight of each."""
        found: dict[Scope, float] = {}
        for weight, part in self.workload.parts:
            scope = tuple(sorted(part.positions))
            for inner in {scope, *combinations(scope, 2)} if len(scope) > 1 else ():
                if math.prod(self._shape(inner)) <= MOST_CANDIDATE_CELLS:
                    found[inner] = found.get(inner, 0.0) + weight * len(inner) / len(scope)
        return dict(sorted(found.items()))

    def plan(self, rows: float) -> Plan:
        """What is measured in a table of about so many rows, and for which part of the budget.

        Parameters
        ----------
        rows
            About how many rows the table has.

        Returns
        -------
        Plan
            `rounds` and `single`, the part of the budget for single columns.
        """
        return Plan.of(self.domain.shape, tuple(self.candidates), self.prices, rows)

    # -- the release ----------------------------------------------------------------------------------

    def release(self, value: Any) -> MarginalsRelease:
        """Noisy marginals, and the distribution fitted to them.

        Parameters
        ----------
        value
            A table, as `Domain.codes` takes it, or a histogram of the domain's shape.

        Returns
        -------
        MarginalsRelease
            `.synthesize()` has rows, `.marginal(names)` counts, `.conf_int(names=...)` intervals.

        Raises
        ------
        InvalidParameter
            If the data are of another kind.
        """
        return _Run(self, Rows.of(self.domain, value)).release()

    def predicted_error(self, n: int) -> float:
        """About the root mean square error of an answer, in rows, without data: noise, and an allowance.

        The noise is that of the marginals that `plan` measures. How well they describe those that are not measured
        depends on the data; for these there is an allowance, the mean of what was found in three tables.

        Parameters
        ----------
        n
            About how many rows the table has.

        Returns
        -------
        float
            An estimate and not a bound; within a factor of two in the tables that it was tried on.
        """
        return self.plan(checks.count("n", n, least=1)).error(self.workload)

    @property
    def worst_pair(self) -> Neighbours:
        """A table, and the same with the rows of one more unit (of another unit, where one is replaced)."""
        k, shape = self.rows_per_unit, np.array(self.domain.shape)
        first, last = np.zeros((k, len(shape)), dtype=np.int64), np.tile(shape - 1, (k, 1))
        before = np.concatenate([first, last])
        if self.adjacency is ADD_REMOVE:
            return Neighbours(self.domain.codes(before), self.domain.codes(np.concatenate([before, first])))
        return Neighbours(self.domain.codes(before), self.domain.codes(np.concatenate([first, first])))


class _Run:
    """One release: what is left to spend, what was measured, and the model so far."""

    def __init__(self, mechanism: AdaptiveMarginals, rows: Rows) -> None:
        self.mechanism, self.rows = mechanism, rows
        self.purse = Purse(mechanism.prices)
        self.measurements: list[Measurement] = []
        self.outside: list[Measurement] = []
        self.targets: dict[Measurement, list[Target]] = {}
        self.most_cells = mechanism._most_cells

    def release(self) -> MarginalsRelease:
        made = self.mechanism
        plan = made.plan(float(self.measure((), self.purse.share(TOTAL_SHARE)).counts))
        self.several(made._single, plan.shares(made._single), plan.single)
        self.total = self.estimated_total()
        columns = [m.target for m in self.measurements if len(m.scope) == 1]
        self.columns = denoised(columns, self.total)
        self.fit(ROUND_STEPS)
        if plan.everything:
            self.several(plan.scopes, plan.shares(plan.scopes), 1.0)
            self.most_cells = min(self.most_cells, CROWDED_CELLS)
        else:
            self.choose(plan)
        self.fit(FINAL_STEPS)
        return MarginalsRelease(made.workload, made.loss, self.measurements, self.fitted, self.outside)

    # -- measuring ------------------------------------------------------------------------------------

    def measure(self, scope: Scope, amount: Fraction, groups: Groups | None = None) -> Measurement:
        """Release the counts of a marginal, of values or of groups of them, for at most this cost."""
        noise = self.mechanism.prices.noise(amount)
        self.purse.pay(noise)
        exact = self.exact(scope) if groups is None else merged(self.exact(scope), groups)
        counts = np.asarray(noise.release(np.atleast_1d(exact))).reshape(exact.shape)
        found = Measurement(scope, counts, noise, groups)
        self.measurements.append(found)
        return found

    def exact(self, scope: Scope) -> Ints:
        """The counts of a marginal, without noise."""
        return np.asarray(self.rows.counts(scope)).reshape(self.mechanism._shape(scope))

    def several(self, scopes: Sequence[Scope], shares: Sequence[float], part: float) -> None:
        """Measure marginals for a part of what is left, each for its share of that."""
        budget = self.purse.share(part)
        for scope, share in zip(scopes, shares, strict=True):
            self.measure(scope, budget * Fraction(math.floor(share * 2**40), 2**40))

    def choose(self, plan: Plan) -> None:
        """Rounds of choosing a marginal, measuring it and fitting the model again."""
        open_ = self.options(plan.noisy)
        for left in range(plan.rounds, 0, -1):
            budget = self.purse.share(1 / left)
            share = Fraction(plan.selection)
            noise = self.mechanism.prices.noise(budget * (1 - share))
            threshold = math.ceil((NOISY_THRESHOLD if plan.noisy else 1.0) * noise.accuracy(0.6827))
            offered = self.with_room(open_) if plan.noisy else open_
            scores, sensitivity = self.scores(offered, threshold)
            choice = self.mechanism.prices.selection(budget * share, sensitivity)
            self.purse.pay(choice)
            chosen = offered[choice.release(scores)]
            open_ = [option for option in open_ if option.scope != chosen.scope]
            found = self.measure(chosen.scope, budget * (1 - share), chosen.groups)
            if plan.noisy and len(found.scope) == 2:
                expected = found.target.of_model(self.fitted.counts(found.scope))
                counts = shrunk(found.target.counts, expected, found.sigma, self.total)
                target = replace(found.target, counts=counts, beyond_margins=True)
                self.targets[found] = [target, *found.margins]
            self.fit(ROUND_STEPS)

    def options(self, in_groups: bool) -> list[Option]:
        """What may be chosen: every candidate value by value, and pairs that have many values in groups, too.

        Groups are made from the released counts of single columns.
        """
        found = []
        groups = [even_groups(target.counts, MOST_GROUPS) for target in self.columns]
        for scope, weight in self.mechanism.candidates.items():
            found.append(Option(scope, None, weight))
            if (
                in_groups
                and len(scope) == 2
                and any(self.mechanism.domain.shape[v] > MOST_GROUPS for v in scope)
            ):
                found.append(Option(scope, tuple(groups[v] for v in scope), weight))
        return found

    def with_room(self, options: list[Option]) -> list[Option]:
        """Those that the model has room for; where it has none for any, those that rows are moved to meet."""
        room = Room(self.mechanism.domain.shape, self.inside, self.most_cells)
        fitting = {scope for scope in {option.scope for option in options} if room.has(scope)}
        if fitting:
            return [option for option in options if option.scope in fitting]
        return [option for option in options if option.groups is None]

    @property
    def inside(self) -> list[Scope]:
        return [m.scope for m in self.measurements if len(m.scope) > 1 and m not in self.outside]

    def scores(self, options: Sequence[Option], threshold: int) -> tuple[Ints, int]:
        """By how much the model is off, for each option, and how far one unit moves any of these numbers."""
        largest = max(option.weight for option in options)
        weights = [max(1, math.ceil(100 * option.weight / largest)) for option in options]
        if len(set(weights)) == 1:
            weights = [1] * len(weights)
        found: list[int] = []
        scope: Scope = ()
        for option, weight in zip(options, weights, strict=True):
            if option.scope != scope:  # options of one scope follow each other
                scope, model, counts = (
                    option.scope,
                    self.fitted.counts(option.scope),
                    self.exact(option.scope),
                )
            fitted, real = model, counts
            if option.groups is not None:
                fitted, real = merged(model, option.groups), merged(counts, option.groups)
            expected = np.rint(np.clip(fitted, 0, LARGEST)).astype(np.int64)
            off = np.abs(np.minimum(real, LARGEST) - expected) - threshold
            # Limits move no two neighbours apart, and keep sums, and the doubles they become, exact.
            found.append(min(weight * int(np.clip(off, 0, LARGEST).sum()), 2**53))
        units = self.mechanism.rows_per_unit * (1 if self.mechanism.adjacency is ADD_REMOVE else 2)
        return np.array(found, dtype=np.int64), units * max(weights)

    # -- fitting --------------------------------------------------------------------------------------

    def estimated_total(self) -> float:
        """The number of rows from all measurements so far, each weighted by its precision."""
        precise = [1 / (m.counts.size * m.sigma**2) for m in self.measurements]
        sums = [float(m.counts.sum()) for m in self.measurements]
        return max(1.0, float(np.dot(precise, sums) / math.fsum(precise)))

    def fit(self, steps: int) -> None:
        """Fit the model to what was measured, in a tree that holds as many of the marginals as its limit allows."""
        made = self.mechanism
        scopes: list[Scope] = list(made._single)
        for m in self.measurements:
            if len(m.scope) > 1 and m not in self.outside:
                more = JunctionTree.of(made.domain.shape, [*scopes, m.scope])
                # What is measured in groups was chosen because there is room for it: rows cannot be moved to meet it.
                if more.cells > self.most_cells and m.groups is None:
                    self.outside.append(m)
                else:
                    scopes.append(m.scope)
        tree = JunctionTree.of(made.domain.shape, scopes)
        joint = [m for m in self.measurements if len(m.scope) > 1 and m not in self.outside]
        inside = [target for m in joint for target in self.targets.get(m, [m.target])]
        start = self.fitted.potentials if hasattr(self, "fitted") else {}
        self.fitted: Fitted = fit(tree, [*self.columns, *inside], self.total, start, steps, self.ridge)

    def ridge(self, target: Target) -> float:
        if len(target.scope) > 1:
            return JOINT_RIDGE / target.sigma
        # Measurements of one column are weighted by their precisions, as its own histogram is.
        return SINGLE_RIDGE / self.columns[target.scope[0]].sigma


@dataclass(frozen=True)
class Option:
    """A marginal that may be measured, value by value or in groups, and how much it is asked for."""

    scope: Scope
    groups: Groups | None
    weight: float


candidate(
    "AdaptiveMarginals", "measures few marginals and fits a model to them", AdaptiveMarginals, allowance=True
)
