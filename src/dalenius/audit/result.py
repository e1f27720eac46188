"""What an audit found."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dalenius.audit.attack import Attack
from dalenius.audit.claims import Claim, as_loss, refuted
from dalenius.calculus.loss import Loss
from dalenius.calculus.pairs.tabulate import lower_hull
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

    Parameters
    ----------
    subject
        What was audited, in words.
    attacks
        The first is the one chosen for `epsilon`; the others trace the trade-off curve.
    trials
        Releases of each input, half of them to find the attacks and half to measure them; an attack that looks at
        other releases (one at a time, of other inputs) has its own number.
    level
        The delta at which `epsilon` is stated.
    confidence
        The probability with which everything the audit says holds.
    claim
        The loss that the mechanism itself claims, if it is one of `dalenius.mechanisms`.
    unseen
        What of the outputs no attack could compare, in sentences.

    Examples
    --------
    >>> import dalenius as dp
    >>> audit = dp.audit.lower_bound(dp.mechanisms.Laplace(sensitivity=1, scale=1.0), trials=20_000)
    >>> audit.contradicts(), audit.contradicts(dp.PureDP(0.1)), audit.epsilon <= 1.0
    (False, True, True)
    """

    subject: str
    attacks: tuple[Attack, ...]
    trials: int
    level: float
    confidence: float
    claim: Loss | None = None
    unseen: tuple[str, ...] = ()

    @cached_property
    def epsilon(self) -> float:
        """The release is not (e, level)-DP for any e below this."""
        return self.epsilon_at(self.level)

    def epsilon_at(self, delta: float) -> float:
        """The release is not (e, delta)-DP for any e below this.

        Parameters
        ----------
        delta
            The delta.

        Returns
        -------
        float
            A certified lower bound.

        Raises
        ------
        InvalidParameter
            If delta is not in [0, 1).
        """
        delta = checks.failure_probability("delta", delta)
        return max(attack.epsilon(delta) for attack in self.attacks)

    def delta(self, epsilon: float) -> float:
        """The release is not (epsilon, d)-DP for any d below this.

        Parameters
        ----------
        epsilon
            The epsilon.

        Returns
        -------
        float
            A certified lower bound.

        Raises
        ------
        InvalidParameter
            If epsilon is negative.
        """
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
        corners = {(a.type_one, a.type_two) for a in self.attacks}
        corners |= {(two, one) for one, two in corners}
        one, two = lower_hull(*np.array(sorted(corners | {(0.0, 1.0), (1.0, 0.0)})).T)
        return tuple(zip(one.tolist(), two.tolist(), strict=True))

    def tradeoff(self, alpha: float) -> float:
        """The release is not f-DP for any f above this at alpha: the errors of some attack are that small.

        Parameters
        ----------
        alpha
            A type I error, in [0, 1].

        Returns
        -------
        float
            A certified upper bound on the type II error of the best attack.

        Raises
        ------
        InvalidParameter
            If alpha is not in [0, 1].
        """
        alpha = checks.probability("alpha", alpha)
        one, two = zip(*self.points, strict=True)
        return min(1.0, float(np.interp(alpha, one, two)) + 1e-15)

    def contradicts(self, claim: Claim | None = None) -> bool:
        """Whether the draws refute a claim.

        A true claim is refuted with probability
        at most 1 - confidence; a claim that is not refuted is not thereby proved.

        Parameters
        ----------
        claim
            A loss, a guarantee, a mechanism, or an epsilon of pure DP; by default the mechanism's own loss.

        Returns
        -------
        bool
            Whether the draws refute the claim.

        Raises
        ------
        InvalidParameter
            If there is no claim, or it is of another kind.
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
        """What was done and what it shows, in plain sentences.

        Returns
        -------
        str
            Some lines of text.
        """
        from dalenius.audit.explain import explain

        return explain(self)

    def plot(self, path: str | None = None, claim: Claim | None = None) -> Figure:
        """Draw the bound on the trade-off curve beside the curve of the claim.

        Parameters
        ----------
        path
            Where the picture is saved; None to save nothing.
        claim
            What is drawn beside it; by default the mechanism's own loss.

        Returns
        -------
        Figure
            A figure of matplotlib.

        Raises
        ------
        ImportError
            If matplotlib is not installed (the `plot` extra).
        """
        from dalenius.audit.plot import plot

        return plot(self, path, self.claim if claim is None else as_loss(claim))
