"""Randomized response: everybody answers, and lies now and then."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from dalenius.calculus import losses
from dalenius.calculus.calibrate import calibrate
from dalenius.calculus.guarantees import Guarantee, PureDP
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.adjacency import REPLACE_ONE, Adjacency
from dalenius.core.arrays import Reals
from dalenius.core.bisection import last_true
from dalenius.errors import CannotMeet, InvalidParameter
from dalenius.mechanisms._support.answers import as_answers
from dalenius.mechanisms._support.exact_coin import exp_minus
from dalenius.mechanisms._support.neighbouring_vectors import at_the_end
from dalenius.mechanisms.mechanism import Mechanism, Neighbours
from dalenius.noise import bernoulli, uniform_integers

MAX_ANSWERS = 1 << 62
MAX_ESTIMATED = 1 << 26


class Proportions(NamedTuple):
    """How common each answer is, and how sure one can be of it.

    Parameters
    ----------
    estimate
        One unbiased estimate for each answer.
    variance
        Unbiased estimates of their variances.

    Examples
    --------
    >>> from dalenius.mechanisms import RandomizedResponse
    >>> share = RandomizedResponse(epsilon=2.0).estimate([0, 1] * 500)
    >>> share.estimate.round(6).tolist()
    [0.5, 0.5]
    """

    estimate: Reals
    variance: Reals


@dataclass(frozen=True, kw_only=True)
class RandomizedResponse(Mechanism):
    """Releases each answer 0 .. k-1 as it is, or with probability (k-1)/(e^epsilon + k-1) another one.

    Which other one is uniform. An array holds the answers of different people; one person's answer may
    change, and the number of answers is public (`adjacency` is REPLACE_ONE). Local: each person can do it
    alone. epsilon-DP, and the loss is the exact law (Warner 1965; for k answers Kairouz, Oh and Viswanath
    2016). The coin is exact; its bias is a fraction just above the one written.

    `estimate` turns answers into unbiased proportions with their variance.

    Parameters
    ----------
    epsilon
        The privacy parameter; the release is epsilon-DP for each person.
    k
        The number of possible answers.
    adjacency
        REPLACE_ONE, as the number of answers is public.

    Examples
    --------
    >>> import numpy as np
    >>> from dalenius.mechanisms import RandomizedResponse
    >>> m = RandomizedResponse(epsilon=1.0)
    >>> round(m.truth, 8), m.loss.epsilon(delta=0.0)
    (0.73105858, 1.0)
    >>> answers = m.release(np.zeros(1000, dtype=int))
    >>> m.estimate(answers).estimate.shape
    (2,)
    """

    epsilon: float
    k: int = 2
    adjacency: Adjacency = REPLACE_ONE

    def __post_init__(self) -> None:
        epsilon = checks.moderate("epsilon", checks.positive("epsilon", self.epsilon))
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "k", checks.count("k", self.k, least=2))
        if self.k > MAX_ANSWERS:
            raise InvalidParameter(f"k is {self.k}; it must be at most 2^62, so that answers fit 64 bits.")
        if self.adjacency is not REPLACE_ONE:
            raise InvalidParameter(
                f"adjacency is {self.adjacency!r}; it must be REPLACE_ONE, because the number of answers "
                "shows how many people there are."
            )
        _ = self.loss

    @cached_property
    def loss(self) -> Loss:
        return losses.randomized_response(self.epsilon, self.k, self.adjacency)

    @cached_property
    def _chance(self) -> Fraction:
        """The probability of a lie: x/(1 + x), x = (k-1) exp(-epsilon), exp rounded up but never above 1."""
        x = (self.k - 1) * exp_minus(Fraction(self.epsilon))
        return x / (1 + x)

    @property
    def lie(self) -> float:
        """The probability of an answer that is not the true one, as the nearest double."""
        return max(float(self._chance), 5e-324)

    @property
    def truth(self) -> float:
        """The probability of the true answer."""
        return float(1 - self._chance)

    def release(self, value: Any) -> Any:
        """The answers, some of them changed.

        Parameters
        ----------
        value
            One integer from 0 to k - 1, or an array with one for each person; for k = 2 truth values as well.

        Returns
        -------
        int or ndarray
            The answers, some of them changed.

        Raises
        ------
        InvalidParameter
            If the value is not of the kind described.
        """
        truth = as_answers(value, self.k)
        other = (truth + np.asarray(uniform_integers(1, self.k, truth.shape))) % self.k
        released = np.where(np.asarray(bernoulli(self._chance, truth.shape)), other, truth)
        return released if truth.ndim else int(released.item())

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

    def estimate(self, answers: Any) -> Proportions:
        """Unbiased proportions of each true answer among the people asked, from their released answers.

        (share - q)/(p - q) with p the chance of the truth and q of one certain lie. The variance is
        unbiased for people drawn at random from a population; for the people asked alone it is a little too
        large. Proportions may fall outside [0, 1]: cutting them off is allowed and biases them.

        Parameters
        ----------
        answers
            Released answers, at least two.

        Returns
        -------
        Proportions
            The estimates and their variances.

        Raises
        ------
        InvalidParameter
            If the value is not of the kind described.
        """
        if self.k > MAX_ESTIMATED:
            raise InvalidParameter(
                f"k is {self.k}; proportions are estimated for up to 2^26 different answers."
            )
        given = as_answers(answers, self.k).ravel()
        if len(given) < 2:
            raise InvalidParameter("answers has 1 entry; a variance needs at least 2.")
        share = np.bincount(given, minlength=self.k) / len(given)
        return Proportions(
            (share - self._false) / self._gain, share * (1 - share) / ((len(given) - 1) * self._gain**2)
        )

    def variance(self, proportion: float, people: int) -> float:
        """Variance of an estimated proportion, for people drawn from a population where it is `proportion`.

        For k = 2: (e^epsilon/(e^epsilon - 1)^2 + theta (1 - theta)) / people (Warner 1965).

        Parameters
        ----------
        proportion
            The true proportion.
        people
            The number of people asked.

        Returns
        -------
        float
            The variance.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        """
        theta = checks.probability("proportion", proportion)
        share = self._false + self._gain * theta
        return share * (1 - share) / (checks.count("people", people, least=1) * self._gain**2)

    def accuracy(self, confidence: float = 0.95, size: int = 1) -> float:
        """The error that, with probability `confidence`, no proportion estimated from `size` people exceeds.

        Against the proportions among these people, whatever they are. A share of answers is a mean of
        independent coins of bias p or q, sub-Gaussian with factor v(p) = (1 - 2p)/(2 ln((1-p)/p)) (Kearns and
        Saul 1998), at most 1/4; the bound is sqrt(2 v ln(2k/(1 - confidence))/size)/(p - q), with one
        answer instead of k when k = 2, as the other is its complement.

        Parameters
        ----------
        confidence
            The probability, strictly between 0 and 1.
        size
            The number of people asked.

        Returns
        -------
        float
            The error of a proportion.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        """
        confidence = checks.confidence(confidence)
        people, tests = checks.count("size", size, least=1), 1 if self.k == 2 else self.k
        v = max(_factor(self.lie), _factor(self._false))
        error = math.sqrt(2 * v * math.log(2 * tests / (1 - confidence)) / people)
        return error / self._gain * (1 + 1e-12)

    @classmethod
    def for_accuracy(
        cls, within: float, confidence: float = 0.95, *, size: int, k: int = 2
    ) -> RandomizedResponse:
        """The least epsilon with which estimated proportions stay within an error.

        Parameters
        ----------
        within
            The error that no proportion may exceed.
        confidence
            The probability with which that must hold.
        size
            The number of people asked.
        k
            The number of possible answers.

        Returns
        -------
        RandomizedResponse
            The mechanism.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        CannotMeet
            If no epsilon, or every epsilon, is that accurate.
        """
        within = checks.positive("within", within)

        def enough(noise: float) -> bool:
            return cls(epsilon=1 / noise, k=k).accuracy(confidence, size) <= within

        if not enough(1 / 600):
            raise CannotMeet(f"no epsilon up to 600 gives an error within {within:g}; ask more people.")
        if enough(1e6):
            raise CannotMeet("an epsilon of 1e-6 is accurate enough; there is nothing to choose.")
        return cls(epsilon=1 / last_true(enough, 1 / 600, 1e6, relative=1e-12)[0], k=k)

    @classmethod
    def calibrated(cls, guarantee: Guarantee, *, k: int = 2) -> Self:
        """The fewest lies that keep a guarantee.

        Parameters
        ----------
        guarantee
            What one answer must satisfy.
        k
            The number of possible answers.

        Returns
        -------
        RandomizedResponse
            The mechanism.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        CannotMeet
            If nothing keeps the guarantee.
        """
        if isinstance(guarantee, PureDP):
            return cls(epsilon=guarantee.epsilon, k=k)
        return cls(epsilon=calibrate(lambda e: losses.randomized_response(e, k), guarantee), k=k)

    @property
    def worst_pair(self) -> Neighbours:
        return Neighbours(0, 1)

    @property
    def pairs(self) -> tuple[Neighbours, ...]:
        return self.worst_pair, at_the_end(self.k - 1, np.int64)

    @property
    def _false(self) -> float:
        return self.lie / (self.k - 1)

    @property
    def _gain(self) -> float:
        """The probability of the truth less that of any one lie: expm1(epsilon)/(e^epsilon + k - 1)."""
        gain = -math.expm1(-self.epsilon) / (1 + (self.k - 1) * math.exp(-self.epsilon))
        return max(gain, 5e-324)


def _factor(p: float) -> float:
    if abs(p - 0.5) < 1e-4:
        return 0.25
    return min(0.25, (1 - 2 * p) / (2 * math.log((1 - p) / p)))
