"""What a loss means for one person: how much an attacker can learn."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

from dalenius.calculus.belief import belief
from dalenius.calculus.engines.accountant import Direction
from dalenius.calculus.pairs.pair import Bounds
from dalenius.calculus.roc_area import area_bounds
from dalenius.calculus.views import Views
from dalenius.core import checks


def _at_any_order(side: Direction, other: Direction, epsilon: float) -> Bounds:
    """Bounds on delta(epsilon), which may be negative.

    With y = e^epsilon and (Q, P) the other order of the pair, H_y(P, Q) = 1 - y + y H_(1/y)(Q, P): what is poorly known
    of one order at negative epsilons, as where only divergences are known, is had from the other.
    """
    own = side.delta(epsilon)
    if epsilon >= 0.0 or own.upper - own.lower <= 1e-7:
        return own
    # Five roundings of numbers up to 1.
    upper = -math.expm1(epsilon) + math.exp(epsilon) * other.delta(-epsilon).upper + 2.0**-50
    return Bounds(min(own.lower, upper), min(own.upper, upper))


class Meaning(Views):
    """Views of a loss in terms of an attacker who asks whether a person is in the data."""

    __slots__ = ()

    def membership_advantage(self) -> float:
        """The most by which seeing the release raises the chance to guess rightly whether a person is in.

        True positive rate minus false positive rate of the best attack: the total variation.

        Returns
        -------
        float
            In [0, 1], rounded up.

        Examples
        --------
        >>> import dalenius as dp
        >>> round(dp.losses.pure(1.0).membership_advantage(), 6)
        0.462117
        """
        return self.total_variation()

    def power(self, level: float) -> float:
        """The best attack's true positive rate at this false positive rate.

        Parameters
        ----------
        level
            The false positive rate.

        Returns
        -------
        float
            In [0, 1], rounded up.

        Raises
        ------
        InvalidParameter
            If the level is not in [0, 1].

        Examples
        --------
        >>> import dalenius as dp
        >>> round(dp.losses.pure(1.0).power(0.01), 6)
        0.027183
        """
        level = checks.probability("level", level)
        if level == 0.0:  # beside 1 a small chance to be revealed would vanish
            return self.delta_at_infinity()
        return checks.float_up(1 - Fraction(self.tradeoff(level)))

    def auc_bounds(self) -> Bounds:
        """Certified (lower, upper) bounds on the area under the best attack's curve of true against false alarms.

        The chance that the best attack ranks a release made with the person above one made without. For one outcome of
        each, ties count half; guessing has 1/2.

        Returns
        -------
        Bounds
            (lower, upper), in [1/2, 1]; about 3e-4 of what is above 1/2 apart, where delta is known well enough.

        Examples
        --------
        >>> import dalenius as dp
        >>> low, high = dp.losses.gaussian(sigma=1.0).auc_bounds()
        >>> low < 0.76024993890652 < high < low + 1e-3
        True
        """
        # Both orders of a pair have the same area.
        both = tuple(zip(self.directions, self.directions[::-1], strict=True))
        sides = [area_bounds(partial(_at_any_order, *pair), pair[0].largest) for pair in both]
        upper = min(b.upper for b in sides)
        return Bounds(min(upper, max(b.lower for b in sides)), upper)

    def auc(self) -> float:
        """The area under the best attack's curve of true against false alarms, rounded up.

        Returns
        -------
        float
            The upper bound of :meth:`auc_bounds`.

        Examples
        --------
        >>> import dalenius as dp
        >>> round(dp.losses.pure(1.0).auc(), 6)
        0.731059
        """
        return self.auc_bounds().upper

    def posterior(self, prior: float, delta: float = 1e-6) -> float:
        """How sure an attacker with this prior that a person is in the data can become, but for a chance of delta.

        With p the answer: whatever rule the attacker accuses by, Pr(right accusation) <= p Pr(accusation) +
        (1 - p) prior delta; what the posterior has above p is at most (1 - p) prior delta in the mean. That is what
        (epsilon, delta)-DP says in these terms, no less and no more (docs/proofs/attack-risk.md). With delta=0 the
        bound holds for every outcome; it is 1 for losses without a largest value, such as Gaussian noise. How often
        the posterior is above a bound at all is another question, which `tail` answers.

        Parameters
        ----------
        prior
            How sure the attacker is before the release.
        delta
            The chance of a failure, after which nothing is promised.

        Returns
        -------
        float
            A probability, rounded up.

        Raises
        ------
        InvalidParameter
            If a probability is outside [0, 1].

        Examples
        --------
        >>> import dalenius as dp
        >>> round(dp.losses.approx(1.0, 1e-6).posterior(0.5, delta=1e-6), 6)
        0.731059
        """
        prior = checks.probability("prior", prior)
        delta = checks.failure_probability("delta", delta)
        if prior in (0.0, 1.0):
            return prior
        return belief(prior, self.epsilon(delta))

    def tail(self, delta: float) -> float:
        """A bound the privacy loss exceeds with probability at most delta.

        P(L > x) <= delta(e) / (1 - exp(e - x)) for every e < x.

        Parameters
        ----------
        delta
            The probability of failure, in [0, 1).

        Returns
        -------
        float
            The bound; inf where there is none.

        Raises
        ------
        InvalidParameter
            If delta is not in [0, 1).

        Examples
        --------
        >>> import dalenius as dp
        >>> dp.losses.laplace(scale=2.0).tail(0.0)
        0.5
        """
        delta = checks.failure_probability("delta", delta)
        revealed, largest = self.delta_at_infinity(), max(side.largest for side in self.directions)
        if any(side.infinite > 0.0 for side in self.directions):  # also where that is the end of a table
            largest = math.inf
        if delta == 0.0 or largest <= 0.0:
            return max(0.0, largest)
        if revealed >= delta:
            return math.inf

        def reach(share: float) -> float:
            # delta(e) = share * delta, so x = e - log(1 - share) has tail at most delta.
            return self.epsilon(share * delta) - math.log1p(-share)

        return max(0.0, min(largest, *(reach(share) for share in (0.02, 0.05, 0.1, 0.2, 0.4))))
