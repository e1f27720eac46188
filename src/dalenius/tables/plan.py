"""From a question and a price to noise: how much is added to which measure, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.calculus.losses import total
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.errors import InvalidParameter
from dalenius.mechanisms import Gaussian, Geometric, Laplace
from dalenius.tables import tree
from dalenius.tables.aggregates import Quantiles
from dalenius.tables.keys import Discover
from dalenius.tables.laws import geometric_sigma
from dalenius.tables.measures import Measure
from dalenius.tables.query import Query
from dalenius.tables.sensitivity import Sensitivity, sensitivity
from dalenius.tables.unit import Unit

SMALL = 1000
"""Whole-numbered noise (Geometric) up to this l1 sensitivity; beyond, Laplace on a fine grid costs the same.
"""

HAIR = 1 - 1e-12
"""Taken off what may be spent, so that rounding never makes a release dearer than its price."""


@dataclass(frozen=True)
class Noise:
    """What is added to one measure, in its own integer units."""

    measure: Measure
    mechanism: Gaussian | Geometric | Laplace
    sensitivity: Sensitivity
    levels: int = 1
    """At how many resolutions the bins are counted; 1 for few bins, and for all that is not a quantile."""

    @property
    def sigma(self) -> float:
        """Standard deviation of the noise of one cell."""
        if isinstance(self.mechanism, Gaussian):
            return self.mechanism.sigma
        if isinstance(self.mechanism, Geometric):
            return geometric_sigma(self.mechanism.scale)
        return self.mechanism.scale * 2**0.5

    @property
    def is_gaussian(self) -> bool:
        return isinstance(self.mechanism, Gaussian)

    @property
    def is_whole(self) -> bool:
        """Whether the noise is on whole numbers; on a grid far finer than itself otherwise."""
        return isinstance(self.mechanism, Geometric)


@dataclass(frozen=True)
class Plan:
    """A question with its noise. `loss` is the joint loss of everything released."""

    query: Query
    unit: Unit
    adjacency: Adjacency
    noises: tuple[Noise, ...]

    @cached_property
    def loss(self) -> Loss:
        return total([noise.mechanism.loss for noise in self.noises])

    @cached_property
    def of(self) -> dict[Measure, Noise]:
        return {noise.measure: noise for noise in self.noises}


def plan(query: Query, unit: Unit, budget: Guarantee, adjacency: Adjacency = ADD_REMOVE) -> Plan:
    """The noise for a budget: PureDP (Laplace-like noise), ZCDP or GDP (Gaussian noise).

    Every measure gets a part of epsilon, or of mu^2, in proportion to what it is worth to the aggregates made of it;
    between groups nothing is divided, because the sensitivities are those of all groups together.
    """
    parts = _parts(query)
    noises = []
    for measure, part in parts.items():
        depth = _levels(query, measure)
        found = sensitivity(measure, unit, adjacency, groups(query) * measure.size).times(depth)
        noises.append(Noise(measure, _mechanism(found, budget, float(part), adjacency), found, depth))
    return Plan(query, unit, adjacency, tuple(noises))


def groups(query: Query) -> int:
    """How many groups the answer has; very many when they are not known yet."""
    return 1 if query.keys is None else 10**9 if isinstance(query.keys, Discover) else len(query.keys)


def _mechanism(
    found: Sensitivity, budget: Guarantee, part: float, adjacency: Adjacency
) -> Gaussian | Geometric | Laplace:
    pure = budget.as_pure()
    if pure is not None:
        _positive(pure.epsilon, budget)
        scale = found.l1 / (pure.epsilon * part * HAIR)
        if found.l1 <= SMALL:
            return Geometric(sensitivity=found.l1, scale=scale, adjacency=adjacency)
        return Laplace(sensitivity=found.l1, scale=scale, adjacency=adjacency)
    square = budget.gaussian_square()
    _positive(square, budget)
    sigma = found.l2 / (square * part * HAIR) ** 0.5
    return Gaussian(sensitivity=found.l2, sigma=sigma, adjacency=adjacency)


def _positive(value: float, budget: Guarantee) -> None:
    if not value > 0:
        raise InvalidParameter(f"the budget of the release is {budget!r}; it must be above 0.")


def _parts(query: Query) -> dict[Measure, Fraction]:
    """The share of each measure: what it is worth to the aggregates made of it."""
    worth: dict[Measure, Fraction] = dict.fromkeys(query.measures, Fraction(0))
    for (_, aggregate), roles in zip(query.aggregates, query.roles, strict=True):
        for role, measure in roles:
            worth[measure] += aggregate.weight(role)
    everything = sum(worth.values(), Fraction(0))
    return {measure: worth[measure] / everything for measure in query.measures}


def _levels(query: Query, measure: Measure) -> int:
    quantiles = any(
        isinstance(aggregate, Quantiles) and any(found == measure for _, found in roles)
        for (_, aggregate), roles in zip(query.aggregates, query.roles, strict=True)
    )
    return tree.levels(measure.size) if quantiles else 1
