"""Generalized propose-test-release with a uniform bound: state something about the data, then choose the mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dalenius.adaptive.ptr.guarantee import after_statement
from dalenius.adaptive.ptr.parts import Family, PrivateBound, checked_part
from dalenius.adaptive.ptr.refusal import Refusal
from dalenius.calculus.loss import Loss
from dalenius.core.adjacency import Adjacency
from dalenius.mechanisms.mechanism import Mechanism, Neighbours


@dataclass(frozen=True, kw_only=True)
class CalibratedRelease(Mechanism):
    """States a bound privately, chooses phi by it and runs M_phi (Redberg 2023, Algorithms 12 and 14).

    The statement must hold for all phi at once, which a bound on numbers that do not depend on phi does. Where no phi
    fits the statement the answer is `Refusal()`. The loss follows from the parts (`after_statement`).

    Parameters
    ----------
    bound
        The private statement.
    family
        The mechanisms, and how one of them is chosen.

    Examples
    --------
    >>> import dalenius as dp
    >>> from dalenius.adaptive.ptr import CalibratedRelease
    >>> from dalenius.adaptive.ptr.parts import Family, PrivateBound
    >>> class Size(PrivateBound):                     # "there are at least s records"
    ...     noise = dp.mechanisms.Gaussian(sensitivity=1, sigma=5.0)
    ...     loss, failure = noise.loss, 1e-6
    ...     def release(self, data): return self.noise.release(len(data)) - 5.0 * 5
    >>> class Mean(Family):                           # of numbers from 0 to 1, with noise 2 / (s - 1)
    ...     budget = dp.losses.pure(0.5)
    ...     def choose(self, s): return 2.0 / (s - 1) if s > 1 else None
    ...     def release(self, data, phi): return dp.mechanisms.Laplace(sensitivity=phi / 2, scale=phi).release(
    ...         sum(data) / max(len(data), 1))
    ...     worst_pair = dp.mechanisms.Neighbours([0.0] * 50, [0.0] * 49 + [1.0])
    >>> m = CalibratedRelease(bound=Size(), family=Mean())
    >>> round(m.loss.epsilon(2e-6), 3), round(m.release([0.25] * 100_000), 2)
    (1.313, 0.25)
    """

    bound: PrivateBound
    family: Family

    def __post_init__(self) -> None:
        checked_part("bound", self.bound, PrivateBound, "dp.adaptive.ptr.NoisyLowerBound(...)")
        checked_part("family", self.family, Family, "one of your own")
        _ = self.family.budget + self.bound.loss  # stated for the same neighbours

    @property
    def adjacency(self) -> Adjacency:
        """The neighbouring relation."""
        return self.family.budget.adjacency

    @cached_property
    def loss(self) -> Loss:
        """The worst-case privacy loss of one release, refusals included."""
        return after_statement(self.bound.loss, self.bound.failure, self.family.budget)

    def release(self, value: Any) -> Any:
        """What the mechanism chosen draws, or a refusal.

        Parameters
        ----------
        value
            Data, as the mechanisms take them.

        Returns
        -------
        Any
            The answer or `Refusal()`.

        Raises
        ------
        InvalidParameter
            If the data are not of the kind that the mechanisms take.
        """
        phi = self.family.choose(self.bound.release(value))
        return Refusal() if phi is None else self.family.release(value, phi)

    @property
    def worst_pair(self) -> Neighbours:
        return self.family.worst_pair
