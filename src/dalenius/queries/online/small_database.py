"""SmallDB: the exponential mechanism over all small databases."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from itertools import combinations_with_replacement, takewhile
from typing import Any

import numpy as np

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.adjacency import adjacency as checked_adjacency
from dalenius.core.arrays import Array, Ints, Reals
from dalenius.errors import InvalidParameter
from dalenius.mechanisms import DiscreteGaussian, Exponential, Geometric, Mechanism, Neighbours
from dalenius.queries.online.coefficients import answers, width
from dalenius.queries.online.counts import counts, neighbours, total
from dalenius.queries.online.distribution_release import DistributionRelease
from dalenius.queries.online.linear_query import Marginals
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

MOST_DATABASES = 1 << 20
"""Up to this many candidates are listed and scored."""
MOST_LISTED = 1 << 24
"""Databases times their rows that are kept in memory at most."""
LARGEST = 1 << 10
"""The largest database that is considered, unless another size is given."""
MOST_SUMS = 1 << 30
"""Databases times questions times rows that are added up at most."""
MOST_QUESTIONS = 1 << 26
"""The questions are written out: cells times questions at most."""
MOST_ANSWER = 1 << 52


@dataclass(frozen=True)
class _Plan:
    pure: bool
    size: int
    choosing: float
    counting: float
    error: float


@dataclass(frozen=True)
class _Parts:
    choose: Exponential
    counter: Geometric | DiscreteGaussian | None

    def losses(self) -> list[tuple[Mechanism, int]]:
        return [(self.choose, 1)] if self.counter is None else [(self.choose, 1), (self.counter, 1)]


@dataclass(frozen=True)
class SmallDB(Mechanism):
    """One of all databases of `size` rows, by how well it answers a workload (Blum, Ligett and Roth 2008).

    The score of a database D, scaled up to the number of rows N (`n` where `n_is_public`, else a count with noise), is
    minus the largest difference |q(data) - N/size q(D)| over the workload; the exponential mechanism (`Exponential`)
    picks one. All multisets of `size` cells are listed and scored exactly: scores are whole multiples of 1/size rows.

    Where there are more than 2^20 of them the release is refused. A Markov chain that walks among them would have the
    right law in the limit only, and how long it must walk is not known: what it releases after any number of steps
    has no proven loss.

    Loss: `bounded_range(epsilon)` and that of the count: given N, one unit moves every score by at most
    `rows_per_unit` times the width of the coefficients (1 for counts) under either adjacency.

    Parameters
    ----------
    workload
        The questions, with whole-numbered coefficients.
    guarantee
        What the release must satisfy.
    n
        About how many rows there are: public, and used to choose `size`.
    n_is_public
        Whether the data have exactly `n` rows in the domain and everybody may know; else they are counted with noise.
    size
        How many rows the small database has; by default what makes `predicted_error` least among those that can be
        listed.
    rows_per_unit
        How many rows one protected unit may have.
    adjacency
        The neighbouring relation: units are added or removed, or one is replaced.

    Examples
    --------
    >>> import dalenius as dp
    >>> domain = dp.queries.Domain({"sex": ["F", "M"], "age": 4})
    >>> m = dp.queries.SmallDB(dp.queries.Workload.marginals(domain, 1), dp.PureDP(1.0), n=1000)
    >>> r = m.release({"sex": ["F", "F", "M", "F"] * 250, "age": [0, 1, 2, 3] * 250})
    >>> m.size, len(r.synthesize(5)["age"])
    (19, 5)
    """

    workload: Workload
    guarantee: Guarantee
    _: KW_ONLY
    n: int
    n_is_public: bool = False
    size: int | None = None
    rows_per_unit: int = 1
    adjacency: Adjacency = ADD_REMOVE
    _parts: _Parts = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        if not isinstance(self.workload, Workload):
            raise InvalidParameter("workload must be a dalenius.queries.Workload.")
        checked_guarantee(self.guarantee)
        set_(self, "n", checks.count("n", self.n, least=1))
        set_(self, "n_is_public", checks.flag("n_is_public", self.n_is_public))
        set_(self, "rows_per_unit", checks.count("rows_per_unit", self.rows_per_unit, least=1))
        set_(self, "adjacency", checked_adjacency(self.adjacency))
        _ = self._width
        if self.size is not None:
            set_(self, "size", checks.count("size", self.size, least=1))
        _check_feasible(self.workload, self.size or 1)
        sizes = _sizes(self.workload) if self.size is None else [self.size]
        plans = [
            self._planned(size, counting) for size in sizes for counting in count_shares(self.n_is_public)
        ]
        plan = min(plans, key=lambda plan: plan.error)
        set_(self, "_parts", fitted(lambda factor: self._made(plan, factor), self.guarantee, plan.pure))
        set_(self, "size", plan.size)

    @cached_property
    def _width(self) -> int:
        return width(self.workload)

    # -- how the budget is split -------------------------------------------------------------------

    def _planned(self, size: int, counting: float) -> _Plan:
        budget = self._budget
        epsilon = budget.epsilon(1 - counting, 1, bounded_range=True)
        noise = budget.noise(counting, 1, self.rows_per_unit) if counting else 0.0
        gap = 2 * self._width * self.rows_per_unit / epsilon * math.log(_databases(self.workload, size) + 1)
        error = self._near(self.n, size) + gap + 2 * self._width * budget.deviation(noise)
        return _Plan(budget.pure, size, epsilon, noise, error)

    @cached_property
    def _budget(self) -> Budget:
        return Budget.ways(self.guarantee)[-1]

    def _made(self, plan: _Plan, factor: float) -> _Parts:
        # Scores are in multiples of 1/size rows.
        unit = self._width * self.rows_per_unit * plan.size
        choose = Exponential(sensitivity=unit, epsilon=plan.choosing / factor, adjacency=self.adjacency)
        counter = None
        if plan.counting:
            counter = count_noise(plan.pure, self.rows_per_unit, plan.counting * factor, self.adjacency)
        return _Parts(choose, counter)

    @cached_property
    def loss(self) -> Loss:
        """The worst-case privacy loss of one release."""
        return total_loss(self._parts)

    # -- how far off the answers are -----------------------------------------------------------------

    def _near(self, n: float, size: int) -> float:
        """How well the best database of this size answers."""
        return _near(self.workload, n, size)

    def predicted_error(self, n: int) -> float:
        """A bound on the expected error, in rows, of the worst answer.

        w n sqrt(log(2 k) / (2 m)) + g + c: `size` = m rows drawn from the data answer all k questions that well in
        expectation, so some database does; g is the expected gap of the exponential mechanism over all
        C(|X| + m - 1, m) databases, c twice the standard deviation of the count, w the width of the coefficients.

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
        assert self.size is not None
        counter, choose = self._parts.counter, self._parts.choose
        counted = 0.0 if counter is None else deviation(counter)
        gap = choose.expected_gap(size=_databases(self.workload, self.size)) / self.size
        return self._near(n, self.size) + gap + 2 * self._width * counted

    # -- the release ---------------------------------------------------------------------------------

    def release(self, value: Any) -> DistributionRelease:
        """A small database, scaled to the number of rows.

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
        assert self.size is not None
        domain = self.workload.domain
        cells = counts(domain, value, MOST_ANSWER // (self._width * self.size))
        rows = total(cells, self._parts.counter, self.n)
        chosen = self._listed[self._parts.choose.release(self._scores(cells, rows))]
        share = np.bincount(chosen, minlength=domain.cells).reshape(domain.shape) / self.size
        return DistributionRelease(self.workload, self.loss, share, rows)

    @cached_property
    def _listed(self) -> Ints:
        """Every database once: its cells in order, one row each."""
        assert self.size is not None
        every = combinations_with_replacement(range(self.workload.domain.cells), self.size)
        flat = np.fromiter((cell for rows in every for cell in rows), np.int64)
        return flat.reshape(-1, self.size)

    @cached_property
    def _questions(self) -> Array:
        return self.workload.dense()

    def _scores(self, cells: Ints, rows: int) -> Reals:
        """Minus the largest error of each database, in rows, computed in whole multiples of 1/size."""
        assert self.size is not None
        true = answers(self.workload, Marginals(cells)) * self.size
        worst = np.zeros(len(self._listed), dtype=np.int64)
        scale = min(rows, MOST_ANSWER // (self._width * self.size))
        for answer, coefficients in zip(true.tolist(), self._questions, strict=True):
            said = _sums(coefficients, self._listed) * scale
            np.maximum(worst, np.abs(answer - said), out=worst)
        scores: Reals = -np.minimum(worst, MOST_ANSWER).astype(np.float64)
        return scores

    @property
    def worst_pair(self) -> Neighbours:
        """All rows of a small table in the first cell; those of one unit more there, or moved to the last."""
        return neighbours(self.workload.domain, self.rows_per_unit, self.adjacency)


def _databases(workload: Workload, size: int) -> int:
    return math.comb(workload.domain.cells + size - 1, size)


def _feasible(workload: Workload, size: int) -> bool:
    databases, questions = _databases(workload, size), workload.size
    listed = databases * size
    return databases <= MOST_DATABASES and listed <= MOST_LISTED and listed * questions <= MOST_SUMS


def _sizes(workload: Workload) -> list[int]:
    """Of databases that can all be listed."""
    return list(takewhile(lambda size: _feasible(workload, size), range(1, LARGEST + 1)))


def _check_feasible(workload: Workload, size: int) -> None:
    cells, questions = workload.domain.cells, workload.size
    if _feasible(workload, size) and cells * questions <= MOST_QUESTIONS:
        return
    raise InvalidParameter.of(
        "size",
        f"there are {_shown(_databases(workload, size))} databases of {size} rows over {_shown(cells)} cells, to be "
        f"scored on {_shown(questions)} questions; up to 2^20 databases can be listed (2^30 sums in all). Drawing "
        "one by a Markov chain would be no way out: how fast it mixes cannot be proved, and so its loss is not "
        "known. Use MWEM, the matrix mechanism or a noisy histogram, or a smaller domain.",
    )


def _near(workload: Workload, n: float, size: int) -> float:
    return width(workload) * n * math.sqrt(math.log(2 * workload.size) / (2 * size))


def _least_error(workload: Workload, guarantee: Guarantee, n: int) -> float:
    """What `predicted_error` comes to without noise, for the largest databases that can be listed."""
    checked_guarantee(guarantee)
    _check_feasible(workload, 1)
    return _near(workload, n, _sizes(workload)[-1])


def _shown(number: int) -> str:
    return (
        str(number) if number < 10**6 else f"10^{len(str(number)) - 1}" if number < 10**4000 else "countless"
    )


def _sums(coefficients: Array, listed: Ints) -> Ints:
    return np.asarray(coefficients[listed].sum(axis=1))


candidate(
    "SmallDB",
    "the exponential mechanism over all small databases",
    SmallDB,
    bound=True,
    takes_n=True,
    least=_least_error,
)
