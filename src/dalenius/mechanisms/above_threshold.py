"""Above threshold: the first of many values that reaches a threshold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dalenius.calculus.loss import Loss
from dalenius.calculus.losses import pure
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.mechanisms._support.epsilon_calibration import (
    checked_confidence,
)
from dalenius.mechanisms._support.epsilon_mechanism import EpsilonMechanism
from dalenius.mechanisms._support.noisy_comparison import Comparison, Noise, checked_noise, checked_share
from dalenius.mechanisms._support.selection import checked_monotone
from dalenius.mechanisms._support.threshold_watch import Watch
from dalenius.mechanisms.mechanism import Neighbours

AT_ONCE = 1 << 20


@dataclass(frozen=True, kw_only=True)
class AboveThreshold(EpsilonMechanism):
    """Which of a sequence of values is the first to reach a threshold, whatever their number.

    `sensitivity` bounds how far one record moves any single value; the threshold is public. With e1 + e2 =
    epsilon (`share` of epsilon is e1; by default the split with the least noise), Delta the sensitivity:

    1. the threshold gets noise of scale Delta/e1, once;
    2. every value gets fresh noise of scale 2 Delta/e2, or Delta/e2 if `monotone`: add/remove neighbours, and
       a record moves no two values in opposite directions;
    3. the first noisy value at or above the noisy threshold ends it.

    Released: the index of that value, or None. NOT the noisy value (see `SparseVector`), and nothing once it
    has ended. `noise` is "exponential" (one-sided and centred; half the variance) or "laplace", the
    textbook's. Both are discrete and exact, on a grid of sensitivity / 2^20.

    Loss: `pure(epsilon)`. Proof, for an outcome "the k-th value, of scores q": given the noisy threshold t it
    has probability P(nu < t - q_i) multiplied over i < k, times P(nu >= t - q_k). Under the neighbour take t
    + Delta instead of t: each q'_i <= q_i + Delta, so the factors for i < k are no smaller; q'_k >= q_k -
    Delta, so the last one is at least P(nu >= t - q_k + 2 Delta) >= exp(-e2) P(nu >= t - q_k); the
    threshold's noise pays exp(-e1) for its shift. Sum over t. For None the last factor is missing. If all
    values rise together the last shift is Delta only, and if all fall the threshold stays and the last shift
    is Delta. Values may be chosen after seeing earlier answers. Nothing is asked of the noise but the two
    inequalities in `comparison`. (Dwork and Roth 2014, Algorithm 1; Lyu, Su and Li 2017, Algorithm 7 with c =
    1; Liu et al. 2024 for one-sided noise.)

    Parameters
    ----------
    sensitivity
        The most that one record changes a single value.
    epsilon
        The privacy parameter; the whole run is epsilon-DP.
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
    >>> from dalenius.mechanisms import AboveThreshold
    >>> m = AboveThreshold(sensitivity=1, epsilon=1.0)
    >>> m.release([0, 10, 500, 600], threshold=250)
    2
    >>> watch = m.start(threshold=250)
    >>> watch.ask(0), watch.ask(500), watch.stopped
    (False, True, True)
    >>> round(m.accuracy(confidence=0.95, size=10), 1)
    14.6
    """

    sensitivity: float
    epsilon: float
    monotone: bool = False
    noise: Noise = "exponential"
    share: float | None = None
    adjacency: Adjacency = ADD_REMOVE

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "sensitivity", checks.positive("sensitivity", self.sensitivity))
        super().__post_init__()
        set_(self, "monotone", checked_monotone(self.monotone, self.adjacency))
        set_(self, "noise", checked_noise(self.noise))
        set_(self, "share", checked_share(self.share, 1 if self.monotone else 2))
        _ = self.comparison.steps

    @cached_property
    def comparison(self) -> Comparison:
        """The noise, in multiples of the sensitivity."""
        epsilon, share = Fraction(self.epsilon), Fraction(self.share or 0)
        moves = 1 if self.monotone else 2
        return Comparison(
            self.noise, self.sensitivity, 1 / (epsilon * share), moves / (epsilon * (1 - share))
        )

    def _loss_at(self, epsilon: float) -> Loss:
        return pure(epsilon, self.adjacency)

    def start(self, threshold: float) -> Watch:
        """Ask for one value at a time, each chosen after the answers before it; stops at the first yes.

        Parameters
        ----------
        threshold
            What each value is compared with; public.

        Returns
        -------
        Watch
            Takes one value at a time.

        Raises
        ------
        InvalidParameter
            If the value is not of the kind described.
        """
        return Watch(self.comparison, threshold, positives=1)

    def release(self, value: Any, threshold: Any = 0.0) -> int | None:
        """The first value that reaches the threshold.

        Parameters
        ----------
        value
            A sequence of numbers.
        threshold
            One public number, or one for each value.

        Returns
        -------
        int or None
            The index of the first value found at or above the threshold.

        Raises
        ------
        InvalidParameter
            If the values are not finite numbers, or thresholds not as many as values.
        """
        gaps = self.comparison.above_by(value, threshold)
        noisy = int(self.comparison.noisy_thresholds(1)[0])
        for start in range(0, len(gaps), AT_ONCE):
            part = gaps[start : start + AT_ONCE]
            above = np.flatnonzero(part + self.comparison.noisy(len(part)) >= noisy)
            if len(above):
                return start + int(above[0])
        return None

    def releases(self, value: Any, times: int) -> list[int | None]:
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
        gaps, times = self.comparison.above_by(value, 0.0), checks.count("times", times)
        rows, answers = max(1, AT_ONCE // len(gaps)), []
        for done in range(0, times, rows):
            n = min(rows, times - done)
            above = (
                gaps + self.comparison.noisy((n, len(gaps))) >= self.comparison.noisy_thresholds(n)[:, None]
            )
            answers += [
                int(i) if any_ else None for i, any_ in zip(above.argmax(1), above.any(1), strict=True)
            ]
        return answers

    def accuracy(self, confidence: float = 0.95, size: int = 1) -> float:
        """With this probability up to `size` values are all judged rightly to within this much.

        Whatever is declared above is at least the threshold less this, whatever was passed over is at most
        the threshold plus this. Exact but for the grid: for some values the probability is no larger.

        Parameters
        ----------
        confidence
            The probability, strictly between 0 and 1.
        size
            The number of values.

        Returns
        -------
        float
            How far from the threshold a value may be judged wrongly.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        """
        size = checks.count("size", size, least=1)
        return self.comparison.sure_gap(checked_confidence(confidence), size, positives=1)

    def _error_without_noise(self, confidence: float, **options: Any) -> float:
        return self.sensitivity * self.comparison.slack

    @property
    def worst_pair(self) -> Neighbours:
        """Values of which the earlier ones rise and the last one falls: the last is then seldom the first."""
        return self.comparison.worst_values(self.monotone, positives=1)

    @property
    def ways(self) -> Mapping[str, Callable[[Any], Any]]:
        return {"release": self.release, "a watch": lambda value: self.start(0.0).answers(value)}
