"""AttackRisk(posterior=q, prior=p, delta=d): who was p sure becomes at most q sure, but for a chance of d."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dalenius.calculus.guarantees.approx import ApproxDP
from dalenius.calculus.guarantees.attack_risk import AttackRisk
from dalenius.calculus.guarantees.guarantee import Measure
from dalenius.calculus.guarantees.pure import PureDP
from dalenius.calculus.loss import Loss
from dalenius.calculus.losses import approx
from dalenius.calculus.pairs.pair import Bounds
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.errors import InvalidParameter


@dataclass(frozen=True, repr=False)
class AttackPosterior(AttackRisk):
    """An attacker who was `prior` sure that a person is in (or out) becomes at most `posterior` sure, but for `delta`.

    With delta = 0: after every outcome that can occur. That is PureDP(epsilon) with e^epsilon the ratio of the odds
    after to the odds before. With delta > 0 it is ApproxDP(epsilon, delta), which says that for every rule of accusing

        Pr(right accusation) <= posterior * Pr(accusation) + (1 - posterior) * prior * delta,

    or, the same, that what the posterior has above the bound is at most (1 - posterior) * prior * delta in the mean.
    Then there is an event of probability at most delta, over the release of data with the person in, such that
    whoever is told that it did not happen is at most `posterior` sure. It does not say that the posterior is above the
    bound with a chance of at most delta, which is more than (epsilon, delta) can promise: see `Loss.tail`.

    Parameters
    ----------
    posterior
        How sure the attacker may become, in [prior, 1).
    prior
        How sure they were before, between 0 and 1.
    delta
        The chance of a failure, in [0, 1).

    Raises
    ------
    InvalidParameter
        If a number is outside what is allowed, or the posterior is below the prior.

    Examples
    --------
    >>> import dalenius as dp
    >>> promise = dp.AttackRisk(posterior=0.75, prior=0.5, delta=1e-6)
    >>> promise.holds(dp.losses.approx(1.0, 1e-6)), round(promise.as_budget().epsilon, 6)
    (True, 1.098612)
    """

    posterior: float
    prior: float
    delta: float = 0.0

    tag: ClassVar = "posterior"
    parameters: ClassVar = {
        "posterior": checks.open_probability,
        "prior": checks.open_probability,
        "delta": checks.failure_probability,
    }
    view: ClassVar = "profile"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.posterior < self.prior:
            raise InvalidParameter.of(
                "posterior",
                f"posterior is {self.posterior}; it must be prior = {self.prior} or more: a release that says nothing "
                "leaves it there.",
            )

    def measure(self, loss: Loss) -> Measure:
        found = self.as_budget().measure(loss)
        if self.delta == 0.0:
            return found
        return Measure(f"chance of failure of a posterior of {self.posterior:.12g}", found.upper, self.delta)

    def excess_bounds(self, loss: Loss) -> Bounds:
        return self.as_budget().excess_bounds(loss)

    def loss(self, adjacency: Adjacency = ADD_REMOVE) -> Loss:
        return approx(self._log_ratio * (1 + 2.0**-50), self.delta, adjacency)

    @property
    def _log_ratio(self) -> float:
        """The logarithm of the odds after over the odds before, to 2 ulps."""
        after, before = Fraction(self.posterior), Fraction(self.prior)
        odds = (after - before) / (before * (1 - after))
        if odds > 1e300:  # beyond what a double holds before the logarithm
            return math.log(odds.numerator) - math.log(odds.denominator)
        return math.log1p(float(odds))

    def as_budget(self) -> ApproxDP:
        return ApproxDP(self._log_ratio * (1 - 2.0**-50), self.delta)

    def as_pure(self) -> PureDP | None:
        return self.as_budget().as_pure()

    def tightened(self) -> ApproxDP:
        return self.as_budget().tightened()

    def strict(self) -> AttackPosterior:
        return self if self.posterior == self.prior else super().strict()
