"""Generalized propose-test-release: propose one mechanism, test whether the data bear it, release or refuse."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

from dalenius.adaptive.ptr.distance_test import DistanceTest
from dalenius.adaptive.ptr.gaussian_distance_test import GaussianDistanceTest
from dalenius.adaptive.ptr.guarantee import after_test, after_test_renyi
from dalenius.adaptive.ptr.parts import DataDependent, PrivateTest, Stable, checked_part
from dalenius.adaptive.ptr.refusal import Refusal
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.adjacency import Adjacency
from dalenius.errors import CannotMeet, InvalidParameter
from dalenius.mechanisms.mechanism import Mechanism, Neighbours


@dataclass(frozen=True, kw_only=True)
class ProposeTestRelease(Mechanism):
    """Runs `mechanism` if `test` passes, and answers `Refusal()` if not (Redberg 2023, Algorithm 4).

    The test must be one *for this mechanism*: data that do not keep the mechanism's budget pass it with probability
    `test.wrong_pass` at most. Test and mechanism draw randomness of their own, and of the test only its answer is
    seen. The loss follows from the two parts (`after_test`); nobody states it.

    An instance is a `DataDependent` (its budget, and a draw) and a test: `DistanceTest` for a distance to data that
    do not keep the budget, or `BoundTest` for a private bound on the loss; or a `PrivateTest` of its own.

    Parameters
    ----------
    mechanism
        The mechanism proposed.
    test
        The private test of whether the data keep its budget.

    Examples
    --------
    >>> import dalenius as dp
    >>> from dalenius.adaptive.ptr import DistanceTest, LocalMedian, ProposeTestRelease
    >>> median = LocalMedian(sensitivity=1.0, scale=2.0, bounds=(0.0, 100.0))
    >>> m = ProposeTestRelease(
    ...     mechanism=median, test=DistanceTest(mechanism=median, epsilon=0.5, wrong_pass=1e-6))
    >>> m.loss.delta(1.0) <= 1.001e-6
    True
    """

    mechanism: DataDependent
    test: PrivateTest

    @classmethod
    def by_distance(cls, mechanism: Stable, *, epsilon: float, wrong_pass: float) -> Self:
        """Classic propose-test-release: `mechanism` after a `DistanceTest` (Dwork and Lei 2009).

        Parameters
        ----------
        mechanism
            The mechanism proposed.
        epsilon
            The privacy parameter of the test.
        wrong_pass
            At most how likely data that do not keep the mechanism's budget are to pass.

        Returns
        -------
        Self
            The release.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        """
        return cls(
            mechanism=mechanism,
            test=DistanceTest(mechanism=mechanism, epsilon=epsilon, wrong_pass=wrong_pass),
        )

    def __post_init__(self) -> None:
        checked_part("mechanism", self.mechanism, DataDependent, "dp.adaptive.LocalMedian(...)")
        checked_part("test", self.test, PrivateTest, "dp.adaptive.ptr.DistanceTest(...)")
        _ = self.mechanism.budget + self.test.loss  # stated for the same neighbours
        if (
            isinstance(self.test, DistanceTest | GaussianDistanceTest)
            and self.test.mechanism != self.mechanism
        ):
            raise InvalidParameter(
                "the test measures the distance of another mechanism than the one it is for."
            )

    @property
    def adjacency(self) -> Adjacency:
        """The neighbouring relation."""
        return self.mechanism.budget.adjacency

    @cached_property
    def loss(self) -> Loss:
        """The worst-case privacy loss of one release, refusals included."""
        return after_test(self.test.loss, self.test.wrong_pass, self.mechanism.budget)

    @cached_property
    def renyi_loss(self) -> Loss:
        """The same by Renyi divergences and without a delta, for a mechanism that has a `worst_loss`."""
        worst = self.mechanism.worst_loss
        if worst is None:
            raise CannotMeet("this mechanism has no bound on its loss on data that do not keep its budget.")
        return after_test_renyi(self.test.loss, self.test.wrong_pass, self.mechanism.budget, worst)

    def release(self, value: Any) -> Any:
        """What the mechanism draws, or a refusal.

        Parameters
        ----------
        value
            Data, as the mechanism takes them.

        Returns
        -------
        Any
            The mechanism's answer or `Refusal()`.

        Raises
        ------
        InvalidParameter
            If the data are not of the kind that the mechanism takes.
        """
        return self.mechanism.release(value) if self.test.passes(value) else Refusal()

    def releases(self, value: Any, times: int) -> list[Any]:
        """`times` independent releases.

        Parameters
        ----------
        value
            As for `release`.
        times
            The number of releases.

        Returns
        -------
        list
            Answers and refusals.

        Raises
        ------
        InvalidParameter
            If the data are not of the kind that the mechanism takes.
        """
        answers = self.test.answers(value, checks.count("times", times))
        drawn = iter(self.mechanism.releases(value, sum(answers)))
        return [next(drawn) if passed else Refusal() for passed in answers]

    @property
    def worst_pair(self) -> Neighbours:
        return self.mechanism.worst_pair
