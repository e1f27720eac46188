"""What the mechanisms that choose one of many candidates share: scores in, an index out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.arrays import Ints, Reals
from dalenius.errors import InvalidParameter
from dalenius.mechanisms._support import selection_error
from dalenius.mechanisms._support.batches import batched
from dalenius.mechanisms._support.epsilon_calibration import scale_for
from dalenius.mechanisms._support.epsilon_mechanism import EpsilonMechanism
from dalenius.mechanisms._support.float_arrays import reals
from dalenius.mechanisms.mechanism import Neighbours
from dalenius.noise import noisy_argmax


def checked_monotone(value: object, adjacency: Adjacency) -> bool:
    """Whether all scores move the same way: sensible for add/remove neighbours only."""
    monotone = checks.flag("monotone", value)
    if monotone and adjacency is not ADD_REMOVE:
        raise InvalidParameter(
            "monotone is True but the neighbours replace a record: one score may rise while another falls. "
            "Use adjacency=ADD_REMOVE, or monotone=False."
        )
    return monotone


@dataclass(frozen=True, kw_only=True)
class Selection(EpsilonMechanism):
    """One of k candidates by its score, plus noise of scale 2 sensitivity / epsilon."""

    sensitivity: float
    epsilon: float
    monotone: bool = False
    adjacency: Adjacency = ADD_REMOVE

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        why = "Scores that no one can change need no noise: publish the best candidate."
        set_(self, "sensitivity", checks.positive("sensitivity", self.sensitivity, why))
        super().__post_init__()
        set_(self, "monotone", checked_monotone(self.monotone, self.adjacency))
        _ = self.scale

    @property
    @abstractmethod
    def _noise(self) -> selection_error.Noise:
        """The law of the noise."""

    @property
    def scale(self) -> float:
        """The noise's scale, in units of the scores, rounded up."""
        return scale_for(self.sensitivity * (1 if self.monotone else 2), self.epsilon)

    def release(self, value: Any, candidates: Sequence[Any] | None = None) -> Any:
        """One of the candidates.

        Parameters
        ----------
        value
            One score for each candidate, larger is better. The doubles are taken exactly as they are, so the
            sensitivity must hold for them as computed: round scores to a grid (or use whole numbers) when their
            computation rounds.
        candidates
            What the scores are about, in the same order.

        Returns
        -------
        int or Any
            The index of the candidate chosen, or the candidate itself if they are given.

        Raises
        ------
        InvalidParameter
            If the scores are not finite numbers, or not as many as the candidates.
        """
        scores = reals("scores", value)
        if candidates is not None and not isinstance(candidates, Sequence | np.ndarray):
            raise InvalidParameter(
                f"candidates is {checks.shown(candidates)}; it must be a list, one candidate for each score."
            )
        if candidates is not None and len(candidates) != len(scores):
            raise InvalidParameter(
                f"there are {len(candidates)} candidates and {len(scores)} scores; give one score for each."
            )
        chosen = int(noisy_argmax(scores, self.scale, noise=self._noise))
        return chosen if candidates is None else candidates[chosen]

    def releases(self, value: Any, times: int) -> Any:
        """`times` independent choices: together they cost `loss * times`.

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
        scores, times = reals("scores", value), checks.count("times", times)

        def draw(n: int) -> Ints:
            rows = np.broadcast_to(scores, (n, len(scores)))
            return np.asarray(noisy_argmax(rows, self.scale, noise=self._noise))

        return batched(draw, times, len(scores))

    # -- how good the choice is --------------------------------------------------------------------

    def accuracy(self, confidence: float = 0.95, size: int = 2) -> float:
        """With this probability the chosen of `size` candidates scores within this much of the best.

        Exact: for some scores the gap is larger with probability 1 - confidence (see `selection_error`).

        Parameters
        ----------
        confidence
            The probability, strictly between 0 and 1.
        size
            The number of candidates.

        Returns
        -------
        float
            The gap between the best score and the one chosen.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        """
        size = checks.count("size", size, least=1)
        gap = selection_error.sure_gap(self._noise, checks.confidence(confidence), size)
        return self.scale * gap * (1 + 4e-16)

    def expected_gap(self, size: int = 2) -> float:
        """A bound on the expected difference between the best score and the chosen one, for any scores.

        Parameters
        ----------
        size
            The number of candidates.

        Returns
        -------
        float
            The bound.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        """
        return self.scale * selection_error.expected_gap(self._noise, checks.count("size", size, least=1))

    # -- where the loss is largest ---------------------------------------------------------------------

    @property
    def worst_pair(self) -> Neighbours:
        """Scores of an unlikely candidate before and after one record speaks for it."""
        before = self._before()
        after = np.concatenate(([before[0] + self.sensitivity], before[1:]))
        if not self.monotone:
            after[1:] -= self.sensitivity
        return Neighbours(before, after)

    @abstractmethod
    def _before(self) -> Reals:
        """Scores with the unlikely candidate first."""
