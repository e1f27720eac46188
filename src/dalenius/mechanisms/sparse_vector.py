"""The sparse vector technique: the few of many values that reach a threshold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.calculus.losses import pure
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.checks import float_up
from dalenius.errors import InvalidParameter
from dalenius.mechanisms._support.epsilon_calibration import (
    checked_confidence,
)
from dalenius.mechanisms._support.epsilon_mechanism import EpsilonMechanism
from dalenius.mechanisms._support.float_arrays import reals
from dalenius.mechanisms._support.noisy_comparison import Comparison, Noise, checked_noise, checked_share
from dalenius.mechanisms._support.selection import checked_monotone
from dalenius.mechanisms._support.threshold_watch import Watch
from dalenius.mechanisms.laplace import Laplace
from dalenius.mechanisms.mechanism import Neighbours

AT_ONCE = 1 << 20


@dataclass(frozen=True, kw_only=True)
class SparseVector(EpsilonMechanism):
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
        set_(self, "sensitivity", checks.positive("sensitivity", self.sensitivity))
        super().__post_init__()
        set_(self, "count", checks.count("count", self.count, least=1))
        part = checks.number("answer_share", self.answer_share, "a number from 0 up to 0.999")
        if not 0 <= part <= 0.999:
            raise InvalidParameter(f"answer_share is {part}; it must be a number from 0 up to 0.999.")
        set_(self, "answer_share", part)
        if not isinstance(self.fresh_threshold, bool | np.bool_):
            raise InvalidParameter(f"fresh_threshold is {self.fresh_threshold!r}; it must be True or False.")
        set_(self, "monotone", checked_monotone(self.monotone, self.adjacency))
        set_(self, "noise", checked_noise(self.noise))
        moves = (1 if self.monotone else 2) * (1 if self.fresh_threshold else self.count)
        set_(self, "share", checked_share(self.share, moves))
        _ = self.comparison.steps, self.numbers

    @property
    def _budget(self) -> tuple[Fraction, Fraction]:
        """For comparing and for numbers."""
        epsilon = Fraction(self.epsilon)
        numbers = epsilon * Fraction(self.answer_share)
        return epsilon - numbers, numbers

    @cached_property
    def comparison(self) -> Comparison:
        """The noise on threshold and values, in multiples of the sensitivity."""
        epsilon, share = self._budget[0], Fraction(self.share or 0)
        moves, runs = (1 if self.monotone else 2), self.count
        threshold = 1 / (epsilon * share)
        return Comparison(
            self.noise,
            self.sensitivity,
            threshold * runs if self.fresh_threshold else threshold,
            moves * runs / (epsilon * (1 - share)),
        )

    @cached_property
    def numbers(self) -> Laplace | None:
        """The mechanism that releases one value found above, or None."""
        if not self.answer_share:
            return None
        scale = float_up(self.count * Fraction(self.sensitivity) / self._budget[1])
        return Laplace(sensitivity=self.sensitivity, scale=scale, adjacency=self.adjacency)

    @cached_property
    def loss(self) -> Loss:
        """The worst-case privacy loss of all answers together."""
        compare = self._budget[0]
        if self.fresh_threshold:
            loss = pure(float_up(compare / self.count), self.adjacency) * self.count
        else:
            loss = pure(float_up(compare), self.adjacency)
        return loss if self.numbers is None else loss + self.numbers.loss * self.count

    def _loss_at(self, epsilon: float) -> Loss:
        return replace(self, epsilon=epsilon).loss

    def start(self, threshold: float) -> Watch:
        """Ask for one value at a time, each chosen after the answers before it.

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
        number = None if self.numbers is None else self.numbers.release
        return Watch(self.comparison, threshold, self.count, self.fresh_threshold, number)

    def release(self, value: Any, threshold: Any = 0.0) -> list[int] | dict[int, float]:
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
        gaps, values = self.comparison.above_by(value, threshold), reals("values", value)
        indices = self._above(gaps + self.comparison.noisy(len(gaps)))
        if self.numbers is None:
            return indices
        return {i: self.numbers.release(float(values[i])) for i in indices}

    def _above(self, noisy: NDArray[Any]) -> list[int]:
        if not self.fresh_threshold:
            threshold = int(self.comparison.noisy_thresholds(1)[0])
            return [int(i) for i in np.flatnonzero(noisy >= threshold)[: self.count]]
        indices: list[int] = []
        start = 0
        for threshold in self.comparison.noisy_thresholds(self.count).tolist():
            later = np.flatnonzero(noisy[start:] >= threshold)
            if not len(later):
                break
            indices.append(start + int(later[0]))
            start = indices[-1] + 1
        return indices

    def releases(self, value: Any, times: int) -> list[list[int]] | list[dict[int, float]]:
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
        rows = max(1, AT_ONCE // (len(gaps) + self.count))
        parts = [self._rows(gaps, min(rows, times - done)) for done in range(0, times, rows)]
        indices = np.concatenate([np.empty((0, self.count), dtype=np.int64), *parts])
        if self.numbers is None:
            return [[i for i in row if i >= 0] for row in indices.tolist()]
        numbers = np.zeros(indices.shape)
        for i, x in enumerate(reals("values", value).tolist()):
            here = indices == i
            numbers[here] = self.numbers.releases(x, int(here.sum()))
        return [
            {int(i): float(x) for i, x in zip(row, noisy, strict=True) if i >= 0}
            for row, noisy in zip(indices, numbers, strict=True)
        ]

    def _rows(self, gaps: NDArray[np.int64], times: int) -> NDArray[np.int64]:
        """The indices found above in each of `times` runs, -1 for none."""
        noisy = gaps + self.comparison.noisy((times, len(gaps)))
        thresholds = self.comparison.noisy_thresholds((times, self.count if self.fresh_threshold else 1))
        places = np.arange(len(gaps))
        indices = np.full((times, self.count), -1, dtype=np.int64)
        last = np.full(times, -1)
        for k in range(self.count):
            above = (noisy >= thresholds[:, k if self.fresh_threshold else 0, None]) & (
                places > last[:, None]
            )
            any_, first = above.any(axis=1), above.argmax(axis=1)
            indices[any_, k] = first[any_]
            last = np.where(any_, first, len(gaps))
        return indices

    def accuracy(self, confidence: float = 0.95, size: int = 1) -> float:
        """With this probability up to `size` values are all judged rightly to within this much.

        Whatever is declared above is at least the threshold less this, whatever was passed over is at most
        the threshold plus this. Exact but for the grid with one threshold; with fresh ones each run may fail
        with an equal share of the probability. The error of numbers is `numbers.accuracy(confidence, count)`.

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
        confidence, size = checked_confidence(confidence), checks.count("size", size, least=1)
        if self.fresh_threshold:
            return self.comparison.sure_gap(1 - (1 - confidence) / self.count, size, positives=1)
        return self.comparison.sure_gap(confidence, size, positives=self.count)

    def _error_without_noise(self, confidence: float, **options: Any) -> float:
        return self.sensitivity * self.comparison.slack

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

    @property
    def worst_pair(self) -> Neighbours:
        """Values of which the early ones rise and the late ones fall."""
        return self.comparison.worst_values(self.monotone, self.count)

    @property
    def ways(self) -> Mapping[str, Callable[[Any], Any]]:
        return {"release": self.release, "a watch": lambda value: self.start(0.0).answers(value)}
