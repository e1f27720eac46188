"""What a loss means for one person: how much an attacker can learn."""

from __future__ import annotations

import math

from dalenius.calculus.views import Views
from dalenius.core import checks


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
        return 1.0 - self.tradeoff(checks.probability("level", level))

    def posterior(self, prior: float, delta: float = 1e-6) -> float:
        """How sure an attacker with this prior that a person is in the data can become.

        The bound holds except with probability `delta` over the release; with delta=0 it always
        holds (and is 1 for losses without a largest value, such as Gaussian noise).

        Parameters
        ----------
        prior
            How sure the attacker is before the release.
        delta
            The chance that the bound does not hold.

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
        >>> round(dp.losses.pure(1.0).posterior(0.5, delta=0.0), 6)
        0.731059
        """
        prior = checks.probability("prior", prior)
        delta = checks.failure_probability("delta", delta)
        if prior in (0.0, 1.0):
            return prior
        gain = self.tail(delta)
        return 1.0 if math.isinf(gain) else 1.0 / (1.0 + (1.0 - prior) / prior * math.exp(-gain))

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
        if revealed > 0.0:
            largest = math.inf
        if delta == 0.0 or largest <= 0.0:
            return max(0.0, largest)
        if revealed >= delta:
            return math.inf

        def reach(share: float) -> float:
            # delta(e) = share * delta, so x = e - log(1 - share) has tail at most delta.
            return self.epsilon(share * delta) - math.log1p(-share)

        return max(0.0, min(largest, *(reach(share) for share in (0.02, 0.05, 0.1, 0.2, 0.4))))
