"""The sparse vector technique: the few of many values that reach a threshold."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.calculus.losses import pure
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.checks import float_up
from dalenius.errors import TooMuchNoise
from dalenius.mechanisms._support.float_arrays import reals
from dalenius.mechanisms._support.grid_noise import MAX_NOISE_RATIO
from dalenius.mechanisms._support.noisy_comparison import Noise
from dalenius.mechanisms._support.threshold_mechanism import ThresholdMechanism
from dalenius.mechanisms.laplace import Laplace


@dataclass(frozen=True, kw_only=True)
class SparseVector(ThresholdMechanism):
    """Which of a sequence of values reach a threshold, until `count` have; with noisy values if wanted.

    `sensitivity` bounds how far one record moves any single value; values below the threshold cost nothing,
    however many. e3 = `answer_share` * epsilon pays for numbers (0: none are given), e1 = `share` of the rest
    for the threshold (by default the split with the least noise), e2 for the `count` answers "above". With
    Delta the sensitivity:

    1. the threshold gets noise of scale Delta/e1;
    2. every value gets fresh noise of scale 2 count Delta/e2 (count Delta/e2 if `monotone`, see
       `AboveThreshold`) and is above if it then is at or above the noisy threshold;
    3. with numbers, a value found above is released with fresh Laplace noise of scale count Delta/e3, never
       with the noise it was compared with;
    4. after `count` of them it ends.

    With `fresh_threshold` the threshold gets new noise after every answer "above": `count` runs of
    `AboveThreshold` with (e1 + e2)/count each. That is worse for a pure guarantee and better for many
    positives under ZCDP or ApproxDP; `calibrated` picks what has less noise.

    Released: the indices of the values found above, or a mapping from index to noisy value.

    Loss: `pure(e1 + e2)`, by the proof in `AboveThreshold` with `count` factors exp(-e2/count) (Lyu, Su and
    Li 2017, Algorithm 7, Theorem 4); with fresh thresholds `pure((e1 + e2)/count) * count`. Numbers add
    `laplace * count`: they are Laplace releases between the answers, and the transcript's probability is the
    product of both. Values may be chosen after seeing earlier answers; interleaving costs no more than one
    after the other (Vadhan and Zhang 2023). Published variants that skip the factor `count`, the noise on the
    values, the end, or the fresh noise on numbers are not private; they are kept in the tests, where the
    audit must catch them.

    Parameters
    ----------
    sensitivity
        The most that one record changes a single value.
    epsilon
        The privacy parameter; the whole run is epsilon-DP.
    count
        How many values may be found above.
    answer_share
        The part of epsilon that pays for noisy values; 0 for indices alone.
    fresh_threshold
        Whether the threshold gets new noise after every value found above.
    monotone
        Whether a record moves no two values in opposite directions (ADD_REMOVE only).
    noise
        "exponential" or "laplace".
    share
        The part of epsilon that the threshold gets; by default what makes the noise least.
    adjacency
        The neighbouring relation that the sensitivity is stated for.

    Examples
    --------
    >>> from dalenius.mechanisms import SparseVector
    >>> m = SparseVector(sensitivity=1, epsilon=1.0, count=2)
    >>> m.release([0, 900, 0, 950, 1000], threshold=500)
    [1, 3]
    >>> m = SparseVector(sensitivity=1, epsilon=1.0, count=2, answer_share=0.5)
    >>> sorted(m.release([0, 900, 0, 950, 1000], threshold=500))
    [1, 3]
    """

    sensitivity: float
    epsilon: float
    count: int
    answer_share: float = 0.0
    fresh_threshold: bool = False
    monotone: bool = False
    noise: Noise = "exponential"
    share: float | None = None
    adjacency: Adjacency = ADD_REMOVE

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "count", checks.count("count", self.count, least=1))
        allowed = "a number from 0 up to 0.999"
        part = checks.within("answer_share", self.answer_share, allowed, lambda x: 0 <= x <= 0.999)
        set_(self, "answer_share", part)
        set_(self, "fresh_threshold", checks.flag("fresh_threshold", self.fresh_threshold))
        super().__post_init__()
        _ = self.numbers

    @property
    def _compared(self) -> Fraction:
        return Fraction(self.epsilon) * (1 - Fraction(self.answer_share))

    @cached_property
    def numbers(self) -> Laplace | None:
        """The mechanism that releases one value found above, or None."""
        if not self.answer_share:
            return None
        noise = self.count / (Fraction(self.epsilon) - self._compared)
        scale = float_up(noise * Fraction(self.sensitivity))
        if noise > MAX_NOISE_RATIO or scale == math.inf:
            raise TooMuchNoise.of(
                "answer_share",
                f"answer_share is {self.answer_share:g}; what it leaves for numbers asks for noise of more than "
                f"{MAX_NOISE_RATIO:g} times the sensitivity {self.sensitivity:g}, or of more than a float holds. Use "
                "more of epsilon, a larger epsilon, or other units.",
            )
        return Laplace(sensitivity=self.sensitivity, scale=scale, adjacency=self.adjacency)

    @cached_property
    def loss(self) -> Loss:
        """The worst-case privacy loss of all answers together."""
        loss = pure(float_up(self._compared / self._runs), self.adjacency) * self._runs
        return loss if self.numbers is None else loss + self.numbers.loss * self.count

    def _loss_at(self, epsilon: float) -> Loss:
        return replace(self, epsilon=epsilon).loss

    def release(self, value: Any, threshold: Any = 0.0) -> Any:
        """The values that reach the threshold.

        Parameters
        ----------
        value
            A sequence of numbers.
        threshold
            One public number, or one for each value.

        Returns
        -------
        list or dict
            The first `count` indices found above; with `answer_share`, a mapping from index to noisy value.

        Raises
        ------
        InvalidParameter
            If the values are not finite numbers, or thresholds not as many as values.
        """
        return self._answers(value, threshold, 1)[0]

    def releases(self, value: Any, times: int) -> Any:
        """`times` independent answers for threshold 0: together they cost `loss * times`.

        Parameters
        ----------
        value
            As for `release`.
        times
            The number of releases.

        Returns
        -------
        list
            The releases, along the first axis.

        Raises
        ------
        InvalidParameter
            If the value is not of the kind described.
        """
        return self._answers(value, 0.0, checks.count("times", times))

    def _answers(self, value: Any, threshold: Any, times: int) -> Any:
        indices = self._found(value, threshold, times)
        if self.numbers is None:
            return [[i for i in row if i >= 0] for row in indices.tolist()]
        numbers: Any = np.zeros(indices.shape)
        values = reals("values", value)
        for i in np.unique(indices[indices >= 0]):
            here = indices == i
            numbers[here] = self.numbers.releases(values[i], int(here.sum()))
        return [
            {i: x for i, x in zip(row, noisy, strict=True) if i >= 0}
            for row, noisy in zip(indices.tolist(), numbers.tolist(), strict=True)
        ]

    @classmethod
    def calibrated(cls, guarantee: Guarantee, **options: Any) -> Self:
        """The largest epsilon that keeps a guarantee, with fresh thresholds where that means less noise.

        Parameters
        ----------
        guarantee
            What all answers together must satisfy.
        **options
            The parameters of the mechanism other than epsilon; `fresh_threshold` is chosen unless it is given.

        Returns
        -------
        Self
            A mechanism whose loss satisfies the guarantee, with hardly anything to spare.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        CannotMeet
            If no epsilon keeps the guarantee.
        """
        if "fresh_threshold" in options:
            return super().calibrated(guarantee, **options)
        both = [cls.calibrated(guarantee, fresh_threshold=fresh, **options) for fresh in (False, True)]
        return min(both, key=lambda m: m.comparison.threshold_noise**2 + m.comparison.query_noise**2)
