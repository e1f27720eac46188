"""What an audit found."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dalenius.audit.attack import Attack
from dalenius.audit.claims import Claim, as_loss, refuted
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.decimals import rounded_down
from dalenius.errors import InvalidParameter

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class Audit:
    """Lower bounds on a privacy loss, from measured attacks.

    With probability at least `confidence` over the draws, everything it says holds at once: the failure
    probabilities of its attacks add up to 1 - confidence.
    """

    subject: str
    """What was audited, in words."""
    attacks: tuple[Attack, ...]
    """The first is the one chosen for `epsilon`; the others trace the trade-off curve."""
    trials: int
    """Releases of each input, half of them to find the attacks and half to measure them; an attack that looks at
    other releases (one at a time, of other inputs) has its own number."""
    level: float
    """The delta at which `epsilon` is stated."""
    confidence: float
    claim: Loss | None = None
    """The loss the mechanism itself claims, if it is one of ours."""
    unseen: tuple[str, ...] = ()
    """What of the outputs no attack could compare, in sentences."""

    @cached_property
    def epsilon(self) -> float:
        """The release is not (e, level)-DP for any e below this."""
        return self.epsilon_at(self.level)

    def epsilon_at(self, delta: float) -> float:
        """The release is not (e, delta)-DP for any e below this."""
        delta = checks.failure_probability("delta", delta)
        return max(attack.epsilon(delta) for attack in self.attacks)

    def delta(self, epsilon: float) -> float:
        """The release is not (epsilon, d)-DP for any d below this."""
        epsilon = checks.nonnegative("epsilon", epsilon)
        return max(attack.delta(epsilon) for attack in self.attacks)

    @cached_property
    def gdp(self) -> float:
        """The release is not m-GDP for any m below this."""
        return max(attack.gdp() for attack in self.attacks)

    @cached_property
    def points(self) -> tuple[tuple[float, float], ...]:
        """Corners of the upper bound on the trade-off curve, (type I, type II), from (0, 1) to (1, 0).

        A trade-off function is convex, at most 1 at 0, 0 at 1, and below (type I, type II) of every attack as
        well as, for the complementary attack on the other input, below (type II, type I): so it is below the
        lower convex hull of all these points.
        """
        found = {(a.type_one, a.type_two) for a in self.attacks}
        found |= {(two, one) for one, two in found}
        hull: list[tuple[float, float]] = []
        for point in sorted(found | {(0.0, 1.0), (1.0, 0.0)}):
            while len(hull) > 1 and _turns_right(hull[-2], hull[-1], point):
                hull.pop()
            hull.append(point)
        return tuple(hull)

    def tradeoff(self, alpha: float) -> float:
        """The release is not f-DP for any f above this at alpha: the errors of some attack are that small."""
        alpha = checks.probability("alpha", alpha)
        one, two = zip(*self.points, strict=True)
        return min(1.0, float(np.interp(alpha, one, two)) + 1e-15)

    def contradicts(self, claim: Claim | None = None) -> bool:
        """Whether the draws refute a claim: a loss, a guarantee, or an epsilon (of pure DP).

        Without an argument, the claim is the mechanism's own loss. A true claim is refuted with probability
        at most 1 - confidence; a claim that is not refuted is not thereby proved.
        """
        if claim is None:
            claim = self.claim
        if claim is None:
            raise InvalidParameter(
                "this audit is of a plain function, which claims nothing; name the claim, e.g. "
                "contradicts(dalenius.PureDP(1.0)) or contradicts(dalenius.losses.laplace(scale=1.0))."
            )
        return refuted(self, claim)

    def __repr__(self) -> str:
        return (
            f"Audit(epsilon >= {rounded_down(self.epsilon, 4)} at delta = {self.level:g}, "
            f"confidence {self.confidence:.12g}, {self.trials} trials of {self.subject})"
        )

    def explain(self) -> str:
        """What was done and what it shows, in plain sentences."""
        from dalenius.audit.explain import explain

        return explain(self)

    def plot(self, path: str | None = None, claim: Claim | None = None) -> Figure:
        """Draw the bound on the trade-off curve beside the claim's curve (needs the `plot` extra)."""
        from dalenius.audit.plot import plot

        return plot(self, path, self.claim if claim is None else as_loss(claim))


def _turns_right(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    return (b[0] - a[0]) * (c[1] - a[1]) <= (b[1] - a[1]) * (c[0] - a[0])
