"""Keys that are not known beforehand: those that enough units share come to light, at a price in delta."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from dalenius.calculus.adjacency import Adjacency
from dalenius.calculus.errors import InvalidParameter
from dalenius.calculus.guarantees import GDP, Guarantee
from dalenius.calculus.loss import Loss
from dalenius.calculus.losses import approx
from dalenius.mechanisms import Gaussian
from dalenius.tables.exact import ExactTable
from dalenius.tables.keys import Key, Keys
from dalenius.tables.measures import units
from dalenius.tables.plan import Plan, plan
from dalenius.tables.query import Query
from dalenius.tables.sensitivity import sensitivity
from dalenius.tables.unit import Unit

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

    @property
    def loss(self) -> Loss:
        """Of finding the keys and answering about them."""
        return self.mechanism.loss + approx(0.0, self.delta, self.mechanism.adjacency) + self.rest.loss

    def keys(self, table: ExactTable) -> list[Key]:
        """The keys that come to light, in order: private, by way of the threshold."""
        if not table.keys:
            return []
        noisy = np.asarray(self.mechanism.release(table[units()]))
        return [key for key, count in zip(table.keys, noisy, strict=True) if count >= self.threshold]

    def restricted(self, keys: list[Key]) -> Plan:
        """The plan for the keys found."""
        query = replace(self.query, keys=Keys(self.query.columns, tuple(keys)))
        return replace(self.rest, query=query)

    def select(self, table: ExactTable, keys: list[Key]) -> ExactTable:
        """The part of an exact table about these keys."""
        places = {key: k for k, key in enumerate(table.keys)}
        at = np.array([places[key] for key in keys], dtype=np.intp)
        return replace(
            table, keys=keys, values={measure: found[at] for measure, found in table.values.items()}
        )


def discovery(query: Query, unit: Unit, budget: Guarantee, delta: float, adjacency: Adjacency) -> Discovery:
    """Noise and threshold for a budget in GDP and a chance `delta` that a rare key shows."""
    if not isinstance(budget, GDP):
        raise InvalidParameter(
            f"keys are discovered with Gaussian noise, paid in GDP or ApproxDP, not {budget!r}."
        )
    found = sensitivity(units(), unit, adjacency, 10**9)
    sigma = found.l2 / (budget.mu * SHARE**0.5)
    mechanism = Gaussian(sensitivity=found.l2, sigma=sigma, adjacency=adjacency)
    # The tail of the noise on its grid is at most twice the normal one (see mechanisms.Gaussian.accuracy).
    threshold = 2.0 + sigma * -float(ndtri(delta / unit.max_groups / 4)) * (1 + 1e-9)
    rest = plan(query, unit, GDP(budget.mu * (1 - SHARE) ** 0.5), adjacency)
    return Discovery(query, mechanism, threshold, delta, rest)
