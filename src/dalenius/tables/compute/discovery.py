"""Keys that are not known beforehand: those that enough units share come to light, at a price in delta."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from dalenius.calculus.guarantees import GDP, Guarantee
from dalenius.calculus.loss import Loss
from dalenius.calculus.losses import approx
from dalenius.core.adjacency import Adjacency
from dalenius.errors import InvalidParameter
from dalenius.mechanisms import Gaussian
from dalenius.tables.aggregates import count_distinct
from dalenius.tables.ask.query import Query
from dalenius.tables.compute.exact import LARGEST, ExactTable
from dalenius.tables.facts.keys import Key, Keys, read_key
from dalenius.tables.facts.unit import Unit
from dalenius.tables.measures.measure import units
from dalenius.tables.plan.plan import Plan, plan
from dalenius.tables.plan.sensitivity import sensitivity

PIECE = 2**12

SHARE = 1 / 3
"""The part of mu^2 that finds the keys; the rest answers about them."""


@dataclass(frozen=True)
class Discovery:
    """How keys are found: the noisy number of units of every key in the data must reach `threshold`.

    Loss. A unit is in at most G = `max_groups` groups, so keys that occur with or without it see Gaussian
    noise on a vector that moves by at most sqrt(G) (sqrt(2 G) when a unit is replaced). A key that occurs
    only because of the unit has the count 1 and comes to light with probability p = P(1 + noise >= threshold)
    <= delta / G; any of them does with probability at most delta, which the other data set cannot show. Given
    that none does, the laws are the Gaussian ones. So the pair is dominated by the product of the Gaussian
    pair and `approx(0, delta)`, whose profile delta + (1 - delta)(1 - a)_+ bounds (1 - d) o + d . against o,
    o against (1 - d) o + d ., and both. What is then asked about the keys found is a plan of its own, whose
    loss does not depend on them.
    """

    query: Query
    mechanism: Gaussian
    threshold: float
    delta: float
    rest: Plan
    groups: int

    @property
    def loss(self) -> Loss:
        """Of finding the keys and answering about them."""
        return self.mechanism.loss + approx(0.0, self.delta, self.mechanism.adjacency) + self.rest.loss

    @property
    def finding(self) -> Query:
        """The question by which keys are found: the units of every key in the data."""
        return replace(self.query, aggregates=(("units", count_distinct()),), roles=((("units", units()),),))

    def keys(self, table: ExactTable) -> list[Key]:
        """The keys that come to light, in order: private, by way of the threshold.

        Keys are read only once they are through: not one that stays hidden is looked at. What is no text in UTF-8 is
        left out then, and so are the keys with the least counts where there are more than an answer can hold.
        """
        noisy = self._noisy(table[units()])
        shown = np.flatnonzero(noisy >= self.threshold)
        kinds = table.kinds or ()
        keys = {read_key(table.codes[at], kinds): noisy[at] for at in shown.tolist()}
        read = [key for key in keys if None not in key]
        most = LARGEST // sum(measure.size for measure in self.query.measures)
        return sorted(sorted(read, key=lambda key: (-keys[key], key))[:most])

    def _noisy(self, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """Counts with noise, so many at a time, always: noise depends a little on the length of what is released, and
        the number of keys is private.

        Neighbours differ in at most 2 G counts, whichever pieces these are in; G <= SIZE / 2. Whole numbers are on
        the grid of the noise. So the noise for a vector of SIZE counts is that for these pieces together.
        """
        size = max(PIECE, 2 * self.groups)
        padded = np.zeros(-(-len(counts) // size) * size, dtype=np.int64)
        padded[: len(counts)] = counts
        pieces = [self.mechanism.release(piece) for piece in padded.reshape(-1, size)]
        return np.concatenate([np.zeros(0), *pieces])[: len(counts)]

    def restricted(self, keys: list[Key]) -> Plan:
        """The plan for the keys found."""
        query = replace(self.query, keys=Keys(self.query.columns, tuple(keys)))
        return replace(self.rest, query=query)


def discovery(query: Query, unit: Unit, budget: Guarantee, delta: float, adjacency: Adjacency) -> Discovery:
    """Noise and threshold for a budget in GDP and a chance `delta` that a rare key shows; answers may use another."""
    if not isinstance(budget, GDP):
        raise InvalidParameter(
            f"keys are discovered with Gaussian noise, paid in GDP or ApproxDP, not {budget!r}."
        )
    moved = sensitivity(units(), unit, adjacency, 10**9)
    sigma = moved.l2 / (budget.mu * SHARE**0.5)
    mechanism = Gaussian(sensitivity=moved.l2, sigma=sigma, adjacency=adjacency)
    # The tail of the noise on its grid is at most twice the normal one (see mechanisms.Gaussian.accuracy).
    threshold = 2.0 + sigma * -float(ndtri(delta / unit.max_groups / 4)) * (1 + 1e-9)
    rest = plan(query, unit, GDP(budget.mu * (1 - SHARE) ** 0.5), adjacency, delta)
    return Discovery(query, mechanism, threshold, delta, rest, unit.max_groups)
