"""What the mechanisms for running totals share: numbers come in one step after another, totals go out after each.

A step's measurements are whole numbers that may be shown; totals are worked out from them and from nothing else. So a
counter can stop and go on another day: its public memory is the measurements so far, and its private memory the
numbers themselves, wherever they are kept.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.adjacency import adjacency as checked_adjacency
from dalenius.core.arrays import Ints, Reals
from dalenius.errors import InvalidParameter
from dalenius.mechanisms._support.exact_arrays import whole_numbers
from dalenius.mechanisms.mechanism import Mechanism, Neighbours

LARGEST = 2**31 - 1
"""Numbers of a step are clamped to this size, which brings no two of them farther apart."""

LONGEST = 2**13
"""Steps at most: sums of clamped numbers, times the weights of a counter, stay below 2^62."""


@dataclass(frozen=True, kw_only=True)
class Counter(Mechanism):
    """Running totals of `horizon` numbers; one record changes the number of one step by at most `sensitivity`.

    With REPLACE_ONE it does so in two steps: it leaves one and enters another.
    """

    horizon: int
    sensitivity: int = 1
    adjacency: Adjacency = ADD_REMOVE

    def __post_init__(self) -> None:
        horizon = checks.count("horizon", self.horizon, least=1)
        if horizon > LONGEST:
            raise InvalidParameter.of(
                "horizon", f"horizon is {horizon}; a counter has {LONGEST} steps at most. Take longer steps."
            )
        object.__setattr__(self, "horizon", horizon)
        object.__setattr__(self, "sensitivity", checks.count("sensitivity", self.sensitivity, least=1))
        if self.sensitivity > 2**20:
            raise InvalidParameter.of(
                "sensitivity", f"sensitivity is {self.sensitivity}; at most 2^20 is allowed."
            )
        checked_adjacency(self.adjacency)

    def release(self, value: Any) -> Reals:
        """All running totals of a whole stream at once.

        Parameters
        ----------
        value
            Whole numbers, one for each step (along the first axis, where there are several streams beside each other);
            `horizon` of them, or fewer.

        Returns
        -------
        ndarray
            The total after each step, with noise.

        Raises
        ------
        InvalidParameter
            If these are not whole numbers, or too many.
        """
        return self.totals(self.measured(value))

    def releases(self, value: Any, times: int) -> Any:
        """Independent releases of one stream, along the first axis.

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
        numbers, times = whole_numbers(value), checks.count("times", times)
        beside = np.broadcast_to(numbers[..., None], (*numbers.shape, times))
        return np.moveaxis(self.release(beside), -1, 0)

    def measured(self, value: Any, done: int = 0) -> list[Ints]:
        """What is measured, with noise, in every step after the first `done` of a stream.

        To measure a step twice is to release it twice: whoever goes on with a stream keeps the measurements, and asks
        for later steps only. Then everything together costs `loss`, however many pieces it came in. Numbers of earlier
        steps may be missing at first and come later; they must not change otherwise.

        Parameters
        ----------
        value
            The numbers of all steps so far, as for `release`.
        done
            Steps whose measurements there are already.

        Returns
        -------
        list of ndarray
            For each further step, its measurements: whole numbers.

        Raises
        ------
        InvalidParameter
            If these are not whole numbers, or too many.
        """
        numbers = whole_numbers(value)
        if numbers.ndim == 0 or len(numbers) > self.horizon:
            raise InvalidParameter(
                f"a stream is a list of at most {self.horizon} whole numbers, one for each step (`horizon`)."
            )
        if numbers.dtype == np.uint64:
            numbers = np.minimum(numbers, np.uint64(LARGEST))
        clamped = np.clip(numbers, -LARGEST, LARGEST).astype(np.int64)
        done = checks.count("done", done)
        if done > len(clamped):
            raise InvalidParameter.of("done", f"done is {done}, and the stream has {len(clamped)} steps.")
        return self._measured(clamped, done)

    @abstractmethod
    def _measured(self, numbers: Ints, done: int) -> list[Ints]:
        """`measured`, of numbers that are checked."""

    @abstractmethod
    def _numbers(self, step: int) -> int:
        """How many numbers are measured in a step, counted from 1."""

    def _as_measured(self, measured: object) -> list[Reals]:
        """Measurements as arrays, one for each step; refused where they cannot be those of this counter."""
        try:
            steps = [np.asarray(one, dtype=float) for one in measured]  # type: ignore[attr-defined]
            right = all(one.ndim > 0 and len(one) == self._numbers(t) for t, one in enumerate(steps, 1))
            alike = len({one.shape[1:] for one in steps}) <= 1
        except (TypeError, ValueError):
            right = alike = False
        if not (right and alike and len(steps) <= self.horizon):
            raise InvalidParameter.of(
                "measured",
                f"measured is {checks.shown(measured)}; it must be what `measured` of this counter gave: a list from "
                "the first step on, in which every step has its own array.",
            )
        return steps

    @abstractmethod
    def totals(self, measured: Sequence[Ints]) -> Reals:
        """The running totals after each step, from the measurements of all steps so far.

        Parameters
        ----------
        measured
            As `measured` gives them, from the first step on.

        Returns
        -------
        ndarray
            The total after each step: unbiased.

        Raises
        ------
        InvalidParameter
            If these are not measurements of this counter, one for each step.
        """

    @abstractmethod
    def standard_errors(self, since: int = 0) -> Reals:
        """Of the sum from step `since` to each later one, in order, exactly; of running totals, if nothing is said.

        Parameters
        ----------
        since
            Steps that are left out at the beginning of the sum.

        Returns
        -------
        ndarray
            Standard deviations of the noise: `horizon` less `since` of them.

        Raises
        ------
        InvalidParameter
            If there are no steps after these.
        """

    @abstractmethod
    def step_errors(self) -> Reals:
        """Of the number of each step by itself: the difference of two totals.

        Returns
        -------
        ndarray
            Standard deviations of the noise, `horizon` of them.
        """

    def _since(self, since: object) -> int:
        count = checks.count("since", since)
        if count >= self.horizon:
            raise InvalidParameter.of("since", f"since is {count}, and the counter has {self.horizon} steps.")
        return count

    @property
    def worst_pair(self) -> Neighbours:
        """A record in the first step, against nobody; REPLACE_ONE moves it from the last step to the first."""
        first, second = np.zeros(self.horizon, np.int64), np.zeros(self.horizon, np.int64)
        second[0] = self.sensitivity
        if self.adjacency is not ADD_REMOVE:
            first[-1] = self.sensitivity
        return Neighbours(first, second)
