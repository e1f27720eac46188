"""What a question costs, in numbers to pay with and in words to weigh."""

from __future__ import annotations

from dataclasses import dataclass

from dalenius.calculus.guarantees import ApproxDP, Filter, Guarantee, PureDP
from dalenius.calculus.guarantees.cost import Cost
from dalenius.core import decimals, notebook
from dalenius.core.checks import failure_probability, shown
from dalenius.errors import InvalidParameter
from dalenius.session.words import spaced

USUAL_DELTA = 1e-6
"""At which epsilon is told of a budget that has no delta of its own."""


@dataclass(frozen=True, repr=False)
class Price:
    """The cheapest budget that is accurate enough, and whether there is that much left; a release takes it as it is.

    epsilon, delta: what the budget means as (epsilon, delta)-DP, rounded up. times: how often it can be paid from what
    is left. assumes: what the accuracy rests on, beyond what is public; empty where it rests on nothing else.
    """

    budget: Guarantee
    affordable: bool
    epsilon: float = float("nan")
    delta: float = 0.0
    times: int = 0
    assumes: str = ""

    @classmethod
    def of(cls, budget: Guarantee, cost: Cost, left: Cost, delta: float, assumes: str = "") -> Price:
        """A budget beside what it comes to, and what is left."""
        return cls(
            budget, cost.fits(left), epsilon_of(budget, cost, delta), delta, how_often(cost, left), assumes
        )

    def __str__(self) -> str:
        beside = ""
        if not isinstance(self.budget, PureDP | ApproxDP) and self.epsilon == self.epsilon:
            beside = f", epsilon {decimals.rounded_up(self.epsilon, 4)} at delta {self.delta:g}"
        often = "one" if self.times == 1 else spaced(self.times)
        left = f"; what is left pays for {often}" if self.affordable else "; more than is left"
        return f"{self.budget!r}{beside}{left}" + (f". Assumed: {self.assumes}" if self.assumes else "")

    def __repr__(self) -> str:
        return f"<Price: {self}>"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        rows = [("price", repr(self.budget))]
        if self.epsilon == self.epsilon:
            rows.append(("as epsilon", f"{decimals.rounded_up(self.epsilon, 4)} at delta {self.delta:g}"))
        rows.append(
            (
                "what is left pays for",
                f"{spaced(self.times)} of these" if self.affordable else "less than this",
            )
        )
        if self.assumes:
            rows.append(("assumed", self.assumes))
        return notebook.table(rows)


def epsilon_of(budget: Guarantee, cost: Cost, delta: float) -> float:
    """The epsilon of a budget at a delta, from above."""
    if isinstance(budget, PureDP | ApproxDP):
        return budget.epsilon
    return budget.loss(cost.adjacency).epsilon(delta)


def told_delta(pays: Filter, delta: float | None) -> float:
    """At which delta a price is told: the one asked for, or the session's own."""
    promise = pays.promise
    if isinstance(promise, PureDP | ApproxDP):
        own = promise.delta if isinstance(promise, ApproxDP) else 0.0
        if delta is not None and delta != own:
            raise InvalidParameter(
                f"delta is {shown(delta)}, and the session's budget is {promise!r}; leave delta out."
            )
        return own
    given = USUAL_DELTA if delta is None else failure_probability("delta", delta)
    if not given:
        raise InvalidParameter(
            "delta is 0, where no Gaussian noise has a finite epsilon; say 1e-6, for instance."
        )
    return given


def how_often(cost: Cost, left: Cost) -> int:
    """How many times a cost fits into what is left."""
    return min((int(most // one) for one, most in zip(cost.parts, left.parts, strict=True) if one), default=0)
