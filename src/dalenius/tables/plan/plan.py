"""From a question and a price to noise: how much is added to which measure, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.calculus.losses import total
from dalenius.calculus.notebook import cost_rows
from dalenius.core import notebook
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.tables.ask.query import Query
from dalenius.tables.facts.keys import Discover
from dalenius.tables.facts.unit import Unit
from dalenius.tables.measures import tree
from dalenius.tables.measures.measure import Measure
from dalenius.tables.plan.in_numbers import HEAD, in_numbers
from dalenius.tables.plan.noise import Noise
from dalenius.tables.plan.noises import price_of
from dalenius.tables.plan.sensitivity import sensitivity


@dataclass(frozen=True, repr=False)
class Plan:
    """A question with its noise. `loss` is the joint loss of everything released."""

    query: Query
    unit: Unit
    adjacency: Adjacency
    noises: tuple[Noise, ...]

    @cached_property
    def loss(self) -> Loss:
        return total([noise.loss for noise in self.noises])

    @cached_property
    def of(self) -> dict[Measure, Noise]:
        return {noise.measure: noise for noise in self.noises}

    def __repr__(self) -> str:
        number = len(self.noises)
        return f"<Plan of {self.query!r}, {self.unit!r}: noise on {number} measure{'s' * (number != 1)}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the question, what it costs, and the noise of each measure."""
        facts = [*self.query.facts(), ("unit", repr(self.unit)), *cost_rows(self.loss)]
        return notebook.table(facts) + notebook.grid(HEAD, in_numbers(self.noises))


def plan(
    query: Query, unit: Unit, budget: Guarantee, adjacency: Adjacency = ADD_REMOVE, delta: float = 0.0
) -> Plan:
    """The noise for a budget: PureDP (Laplace-like noise), ZCDP or GDP (Gaussian noise).

    delta: the probability with which the release may do worse, for measures that have a use for it.

    Every measure gets a part of epsilon, or of mu^2, in proportion to what it is worth to the aggregates made of it;
    between groups nothing is divided, because the sensitivities are those of all groups together.
    """
    price = price_of(budget, delta)
    noises = []
    for measure, part in _parts(query).items():
        levels = _levels(query, measure)
        moved = sensitivity(measure, unit, adjacency, groups(query) * measure.size).times(levels)
        own = replace(price, amount=price.amount * float(part), delta=price.delta * float(part))
        noises.append(measure.noise(own, moved, adjacency, levels))
    return Plan(query, unit, adjacency, tuple(noises))


def groups(query: Query) -> int:
    """How many groups the answer has; very many when they are not known yet."""
    return 1 if query.keys is None else 10**9 if isinstance(query.keys, Discover) else len(query.keys)


def _parts(query: Query) -> dict[Measure, Fraction]:
    """The share of each measure: what it is worth to the aggregates made of it."""
    worth: dict[Measure, Fraction] = dict.fromkeys(query.measures, Fraction(0))
    for _, aggregate, roles in query.parts:
        for role, measure in roles.items():
            worth[measure] += aggregate.weight(role)
    everything = sum(worth.values(), Fraction(0))
    return {measure: worth[measure] / everything for measure in query.measures}


def _levels(query: Query, measure: Measure) -> int:
    """At how many resolutions bins are counted: several where quantiles are read from them."""
    return tree.levels(measure.size) if any(one.ranks for one in query.users(measure)) else 1
