"""What is measured, and for which part of the budget: from the domain, the budget and a number of rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from dalenius.calculus.guarantees import PureDP
from dalenius.core import notebook
from dalenius.queries.marginals.junction_tree import Scope
from dalenius.queries.marginals.spending import Prices
from dalenius.queries.workload.workload import Workload

TOTAL_SHARE = 1 / 256
"""The part of the budget that tells about how many rows there are: all that follows is planned with it."""
SELECTION_SHARE, NOISY_SELECTION_SHARE = 0.1, 0.3
"""The part of a round's budget that chooses what is measured with the rest, and that where noise is large."""
NOISY = 2000.0
"""Noise is large in tables that are smaller than this many times the noise on one count."""
RELATION = 0.08
"""An allowance for what the data alone could tell: the l2 distance, as a share of the rows, of a marginal of several
columns from the product of the single ones. It is .07 on Adult, .11 on credit-card default, .05 on white wine."""
LEAST_SINGLE, MOST_SINGLE = 0.03, 0.65
"""What part of the budget single columns have together."""
CLEARLY_BETTER = 2 / 3
"""Everything is measured where that is predicted to have less than this part of the error of choosing: the fit makes
more of few marginals with little noise than the prediction knows."""
SINGLE_NORM = 0.6
"""The l2 norm of the distribution of a column: .6 on average in the same tables."""


@dataclass(frozen=True, repr=False)
class Plan:
    """The marginals of several columns to measure, of `scopes`, and the part of the budget for single columns."""

    shape: tuple[int, ...]
    scopes: Sequence[Scope]
    prices: Prices
    rows: float
    rounds: int
    single: float

    @classmethod
    def of(cls, shape: tuple[int, ...], scopes: Sequence[Scope], prices: Prices, rows: float) -> Plan:
        """Rounds by the size of the table in units of noise; none, or all, where that is predicted to be better."""
        rows = max(rows, 1.0)
        signal = prices.signal(rows)
        rounds, single = min(len(scopes), rounds_for(signal)), single_share(signal)
        none = cls(shape, scopes, prices, rows, 0, 1.0)
        some = cls(shape, scopes, prices, rows, rounds, single)
        every = cls(shape, scopes, prices, rows, len(scopes), single)
        errors = [math.fsum(map(plan.squared_error, scopes)) for plan in (none, some, every)]
        if 2 * rounds > len(scopes) or errors[2] < CLEARLY_BETTER**2 * errors[1]:
            some, errors[1] = every, errors[2]
        return some if errors[1] < errors[0] else none

    def __repr__(self) -> str:
        return f"<Plan of marginals: {len(self.shape)} single columns and {self._several}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: what is measured, and for which part of the budget."""
        rest = (1 - TOTAL_SHARE) * (1 - self.single)
        return notebook.table(
            [
                ("promise", repr(self.prices.promise)),
                ("rows, about", f"{self.rows:.4g}"),
                ("number of rows", f"{TOTAL_SHARE:.1%} of the budget"),
                (f"{len(self.shape)} single columns", f"{(1 - TOTAL_SHARE) * self.single:.1%} of the budget"),
                (self._several, f"{rest:.1%} of the budget"),
            ]
        )

    @property
    def _several(self) -> str:
        """Which marginals of several columns are measured."""
        chosen = f"all {self.rounds}" if self.everything else f"{self.rounds} of {len(self.scopes)}"
        return f"{chosen} marginals of several columns"

    @property
    def noisy(self) -> bool:
        """Whether noise is large: pairs are then measured in groups, too, and shrunk."""
        return not self.everything and self.prices.signal(self.rows) < NOISY

    @property
    def selection(self) -> float:
        """The part of a round's budget that chooses."""
        return NOISY_SELECTION_SHARE if self.noisy else SELECTION_SHARE

    @property
    def everything(self) -> bool:
        """Whether every marginal is measured, and none is chosen."""
        return 0 < self.rounds == len(self.scopes)

    def shares(self, scopes: Sequence[Scope]) -> list[float]:
        """How marginals that are measured together share their budget.

        The l1 error of a marginal with c cells and variance v is about c sqrt(v); their sum is least for shares as
        c^(2/3) (variances inverse to the shares), or c^(1/2) (standard deviations inverse to them, for PureDP).
        """
        power = 1 / 2 if isinstance(self.prices.promise, PureDP) else 2 / 3
        weights = [self.cells(scope) ** power for scope in scopes]
        return [weight / math.fsum(weights) for weight in weights]

    @property
    def least_share(self) -> float:
        """The least part of the budget that a measurement has, whatever the number of rows turns out to be."""
        single = LEAST_SINGLE * min(self.shares([(v,) for v in range(len(self.shape))]))
        joint = (1 - MOST_SINGLE) * min(self.shares(self.scopes), default=1.0)
        return min(TOTAL_SHARE, (1 - TOTAL_SHARE) * min(single, joint))

    def cells(self, scope: Scope) -> int:
        """The number of cells of a marginal."""
        return math.prod(self.shape[v] for v in scope)

    # -- what is expected of it -------------------------------------------------------------------------

    def error(self, workload: Workload) -> float:
        """The root mean square error of an answer: the l2 errors of marginals, spread evenly over their cells.

        What is fitted is no farther from the data than a column may be from nothing.
        """
        largest = (SINGLE_NORM * self.rows) ** 2
        total = math.fsum(
            weight**2
            * min(self.squared_error(part.positions), largest)
            * part.energy([1] * len(part.positions))
            / self.cells(part.positions)
            for weight, part in workload.parts
        )
        return math.sqrt(total / math.fsum(weight**2 * part.rows for weight, part in workload.parts))

    def squared_error(self, scope: Scope) -> float:
        """The squared l2 error of a marginal, on average over those that may be chosen.

        Relations are uneven: in the tables named above a part r of all pairs, the strongest, leaves (1 - sqrt(r))^2 of
        the squared distances untold, and about the square of that when the model infers others from them.
        """
        if not scope:
            return self.prices.sigma(TOTAL_SHARE) ** 2
        alone = math.fsum(self._single_noise[v] for v in scope)
        if len(scope) == 1:
            return alone
        unknown = (RELATION * self.rows) ** 2
        product = alone * SINGLE_NORM ** (2 * len(scope) - 2)
        if not self.rounds:
            return unknown + product
        part = self.rounds / len(self.scopes)
        told = 1 - (1 - math.sqrt(part)) ** 4
        measured = min(self._joint_noise(scope), told / part * unknown + product)
        return part * measured + (1 - told) * unknown + (1 - part) * product

    @cached_property
    def _shares(self) -> dict[Scope, float]:
        return dict(zip(self.scopes, self.shares(self.scopes), strict=True))

    @cached_property
    def _single_noise(self) -> list[float]:
        single = [(v,) for v in range(len(self.shape))]
        budget = (1 - TOTAL_SHARE) * self.single
        shares = self.shares(single)
        return [
            n * self.prices.sigma(budget * share) ** 2 for n, share in zip(self.shape, shares, strict=True)
        ]

    def _joint_noise(self, scope: Scope) -> float:
        """Of a marginal that was measured; the fit keeps noise off cells that are empty.

        Of c cells c^(3/4) are taken to count, or as many as stand out of the noise where sizes follow Zipf's law.
        """
        share = (1 - self.selection) / self.rounds
        if self.everything and scope in self._shares:
            share = self._shares[scope]
        sigma = self.prices.sigma((1 - TOTAL_SHARE) * (1 - self.single) * share)
        cells = self.cells(scope)
        full = min(cells, max(cells**0.75, self.rows / (sigma * (1 + math.log(cells)))))
        return float(full * sigma**2)


def single_share(signal: float) -> float:
    """The part of the budget for single columns: most of it where there is little, hardly any where there is much."""
    return float(min(MOST_SINGLE, max(LEAST_SINGLE, MOST_SINGLE * (650 / signal) ** 0.8)))


def rounds_for(signal: float) -> int:
    """How many marginals to measure: more noise on each of more of them pays while counts stand out of it.

    Where noise is large they are measured in groups, and shrunk: a few more.
    """
    return max(1, round((0.48 if signal < NOISY else 0.4) * math.sqrt(signal)))
