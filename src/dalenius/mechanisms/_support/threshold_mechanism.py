"""What the mechanisms that compare values with a threshold share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dalenius.core import checks
from dalenius.core.arrays import Ints
from dalenius.mechanisms._support.batches import batched
from dalenius.mechanisms._support.epsilon_mechanism import EpsilonMechanism
from dalenius.mechanisms._support.noisy_comparison import Comparison, Noise, checked_share
from dalenius.mechanisms._support.selection import checked_monotone
from dalenius.mechanisms._support.threshold_watch import Watch
from dalenius.mechanisms.laplace import Laplace
from dalenius.mechanisms.mechanism import Neighbours


class ThresholdMechanism(EpsilonMechanism):
    """A dataclass with these fields; `count` values may be found above, the first `count` that are."""

    sensitivity: float
    monotone: bool
    noise: Noise
    share: float | None
    count: int = 1
    fresh_threshold: bool = False

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "sensitivity", checks.positive("sensitivity", self.sensitivity))
        super().__post_init__()
        set_(self, "monotone", checked_monotone(self.monotone, self.adjacency))
        set_(self, "noise", checks.one_of("noise", self.noise, "laplace", "exponential"))
        set_(self, "share", checked_share(self.share, self._moves * self.count // self._runs))
        _ = self.comparison.steps

    @property
    def _moves(self) -> int:
        """How far a value can move against the threshold, in multiples of the sensitivity."""
        return 1 if self.monotone else 2

    @property
    def _runs(self) -> int:
        """How often the threshold gets noise."""
        return self.count if self.fresh_threshold else 1

    @property
    def _compared(self) -> Fraction:
        """The part of epsilon that pays for comparing."""
        return Fraction(self.epsilon)

    @cached_property
    def comparison(self) -> Comparison:
        """The noise on threshold and values, in multiples of the sensitivity."""
        epsilon, share = self._compared, Fraction(self.share or 0)
        threshold, value = self._runs / (epsilon * share), self._moves * self.count / (epsilon * (1 - share))
        return Comparison(self.noise, self.sensitivity, threshold, value)

    @property
    def numbers(self) -> Laplace | None:
        """The mechanism that releases one value found above, or None."""
        return None

    def start(self, threshold: float) -> Watch:
        """Ask for one value at a time, each chosen after the answers before it.

        Parameters
        ----------
        threshold
            What each value is compared with; public.

        Returns
        -------
        Watch
            Takes one value at a time, and stops when as many have been found above as may be.

        Raises
        ------
        InvalidParameter
            If the threshold is not a finite number.
        """
        number = None if self.numbers is None else self.numbers.release
        return Watch(self.comparison, threshold, self.count, self.fresh_threshold, number)

    def _found(self, value: Any, threshold: Any, times: int) -> Ints:
        """The indices found above in each of `times` runs, one row of `count` each; -1 where there are no more."""
        gaps = self.comparison.above_by(value, threshold)
        return batched(lambda n: self._rows(gaps, n), times, len(gaps) + self.count)

    def _rows(self, gaps: Ints, times: int) -> Ints:
        noisy = gaps + self.comparison.noisy((times, len(gaps)))
        thresholds = self.comparison.noisy_thresholds((times, self._runs))
        indices = np.full((times, self.count), -1, dtype=np.int64)
        places, last = np.arange(len(gaps)), np.full(times, -1)
        for run in range(self._runs):
            above = (noisy >= thresholds[:, run, None]) & (places > last[:, None])
            rank = above.cumsum(axis=1)
            row, place = np.nonzero(above & (rank <= self.count // self._runs))
            indices[row, run + rank[row, place] - 1] = place
            last = np.where(indices[:, run] < 0, len(gaps), indices[:, run])
        return indices

    def accuracy(self, confidence: float = 0.95, size: int = 1) -> float:
        """With this probability up to `size` values are all judged rightly to within this much.

        Whatever is declared above is at least the threshold less this, whatever was passed over is at most
        the threshold plus this. Exact but for the grid (for some values the probability is no larger), and but for
        the sum over thresholds where each gets noise of its own.

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
        confidence, size = checks.confidence(confidence), checks.count("size", size, least=1)
        each = 1 - (1 - confidence) / self._runs if self._runs > 1 else confidence
        return self.comparison.sure_gap(each, size, self.count // self._runs)

    def _error_without_noise(self, confidence: float, **options: Any) -> float:
        return self.sensitivity * self.comparison.slack

    @property
    def worst_pair(self) -> Neighbours:
        """Values of which the early ones rise and the late ones fall."""
        return self.comparison.worst_values(self.monotone, self.count)

    @property
    def ways(self) -> Mapping[str, Callable[[Any], Any]]:
        return {"release": self.release, "a watch": lambda value: self.start(0.0).answers(value)}
