"""What every randomizer of answers 0 .. k - 1 is: people report alone, and shares are read from all reports."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from dalenius.calculus.calibrate import calibrate
from dalenius.calculus.guarantees import Guarantee, PureDP
from dalenius.calculus.losses import pure
from dalenius.core import checks
from dalenius.core.adjacency import REPLACE_ONE, Adjacency
from dalenius.core.arrays import Array, Ints, Reals
from dalenius.errors import InvalidParameter
from dalenius.local.frequencies import Frequencies
from dalenius.local.two_level import report_epsilon
from dalenius.mechanisms._support.answers import as_answers
from dalenius.mechanisms._support.neighbouring_vectors import at_the_end
from dalenius.mechanisms.mechanism import Mechanism, Neighbours

MOST_ANSWERS = 1 << 26
"""Shares are kept for this many answers at most."""


class FrequencyOracle(Mechanism):
    """A randomizer of one person's answer, 0 to k - 1, and the way back from many reports to shares.

    `release` is what each person does alone; `frequencies` is what whoever collects reports does with them. Between
    the two, `tally` counts: it can be added up over batches and machines, and `from_tally` goes on from there.

    A neighbour is another answer of one person; that a person reports, and how many do, is public (REPLACE_ONE).

    Examples
    --------
    >>> import dalenius as dp
    >>> m = dp.local.OptimizedUnaryEncoding(epsilon=1.0, k=4)
    >>> isinstance(m, dp.local.FrequencyOracle), m.loss.epsilon(delta=0.0)
    (True, 1.0)
    >>> first, second = m.release([0, 1, 2] * 100), m.release([3] * 100)
    >>> shares = m.from_tally(m.tally(first) + m.tally(second), people=400)
    >>> shares.estimate.shape
    (4,)
    """

    epsilon: float
    k: int
    adjacency: Adjacency
    most: ClassVar[int] = MOST_ANSWERS
    """The largest k."""

    def _check(self) -> None:
        """Called when an instance has been made."""
        object.__setattr__(self, "epsilon", report_epsilon(self.epsilon))
        object.__setattr__(self, "k", checks.count("k", self.k, least=2))
        if self.k > self.most:
            raise InvalidParameter.of("k", f"k is {self.k}; it must be at most {self.most}.")

    # -- what a person does ------------------------------------------------------------------------

    @abstractmethod
    def _draw(self, answers: Ints) -> Array:
        """A report for each answer, along the first axis."""

    def release(self, value: Any) -> Any:
        """One report, or one for each person.

        Parameters
        ----------
        value
            One integer from 0 to k - 1, or an array with one for each person.

        Returns
        -------
        int or ndarray
            The reports; people along the axes of `value`.

        Raises
        ------
        InvalidParameter
            If the value is not of the kind described. The message never shows it.
        """
        truth = as_answers(value, self.k)
        drawn = self._draw(truth.ravel())
        reports = drawn.reshape(truth.shape + drawn.shape[1:])
        return reports if reports.ndim else int(reports.item())

    def releases(self, value: Any, times: int) -> Any:
        """`times` independent releases of one value, along the first axis.

        Parameters
        ----------
        value
            As for `release`.
        times
            The number of releases.

        Returns
        -------
        ndarray
            The releases, along the first axis.

        Raises
        ------
        InvalidParameter
            If the value is not of the kind described.
        """
        truth, times = as_answers(value, self.k), checks.count("times", times)
        return self.release(np.broadcast_to(truth, (times, *truth.shape)))

    @property
    @abstractmethod
    def report_bits(self) -> int:
        """The size of one report in bits."""

    # -- what the collector does ---------------------------------------------------------------------

    @abstractmethod
    def tally(self, reports: Any) -> Ints:
        """What is counted in reports; tallies of several batches are added.

        Parameters
        ----------
        reports
            What `release` gave for an array of people.

        Returns
        -------
        ndarray
            The counts.

        Raises
        ------
        InvalidParameter
            If they are not reports of this randomizer.
        """

    @abstractmethod
    def people(self, reports: Any) -> int:
        """The number of reports."""

    @abstractmethod
    def shares(self, tally: Ints, people: int) -> tuple[Reals, Reals]:
        """Unbiased shares, and unbiased estimates of their variances."""

    @abstractmethod
    def limits(self, tally: Ints, people: int, alpha: float) -> Reals:
        """Limits for each share (k x 2), each wrong with probability at most alpha."""

    @abstractmethod
    def noise_variance(self, share: float, people: int) -> float:
        """Variance of an estimated share around that among the people asked, if that is `share`; the largest
        there can be, should it depend on the other shares."""

    def variance(self, share: float, people: int) -> float:
        """Variance of an estimated share, for people drawn from a population in which it is `share`."""
        share = checks.probability("share", share)
        return self.noise_variance(share, people) + share * (1 - share) / people

    def frequencies(self, reports: Any) -> Frequencies:
        """How common each answer is.

        Parameters
        ----------
        reports
            What `release` gave for an array of people.

        Returns
        -------
        Frequencies
            Unbiased shares, their variances and intervals.

        Raises
        ------
        InvalidParameter
            If they are not reports of this randomizer.
        """
        return Frequencies(self, self.tally(reports), self.people(reports))

    def from_tally(self, tally: Any, people: int) -> Frequencies:
        """How common each answer is, from counts that were added up elsewhere.

        Parameters
        ----------
        tally
            The sum of what `tally` gave.
        people
            How many people reported.

        Returns
        -------
        Frequencies
            Unbiased shares, their variances and intervals.

        Raises
        ------
        InvalidParameter
            If the counts are not of this randomizer.
        """
        return Frequencies(self, tally, people)

    @property
    @abstractmethod
    def tally_size(self) -> int:
        """The length of a tally."""

    # -- what it costs -------------------------------------------------------------------------------

    @classmethod
    def calibrated(cls, guarantee: Guarantee, *, k: int) -> Self:
        """The randomizer with the least noise that keeps a guarantee.

        Parameters
        ----------
        guarantee
            What one report must satisfy.
        k
            The number of possible answers.

        Returns
        -------
        FrequencyOracle
            The randomizer.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        CannotMeet
            If nothing keeps the guarantee.
        """
        make: Any = cls
        if isinstance(guarantee, PureDP):
            made: Self = make(epsilon=guarantee.epsilon, k=k)
        else:
            # What a randomizer chooses by epsilon (a set's size, say) is held fixed: where it jumps, so does the loss.
            epsilon = calibrate(lambda e: pure(e, REPLACE_ONE), guarantee)
            chosen = make(epsilon=epsilon, k=k)
            chosen = make(epsilon=_largest_epsilon(chosen, guarantee), k=k)
            made = replace(chosen, epsilon=_largest_epsilon(chosen, guarantee))
        return made

    @property
    def worst_pair(self) -> Neighbours:
        return Neighbours(0, 1)

    @property
    def pairs(self) -> tuple[Neighbours, ...]:
        return self.worst_pair, at_the_end(self.k - 1, np.int64)


def _largest_epsilon(chosen: Any, guarantee: Guarantee) -> float:
    """With which this randomizer keeps the guarantee, all else as it is."""
    return calibrate(lambda epsilon: replace(chosen, epsilon=epsilon).loss, guarantee)
