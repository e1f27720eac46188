"""Private selection among releases that may refuse: try some of them at random, release the best."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dalenius.adaptive.ptr.refusal import Refusal
from dalenius.adaptive.selection.approximate import best_of_approximate
from dalenius.adaptive.selection.trial_counts import RandomTries
from dalenius.adaptive.user_function import checked_function
from dalenius.calculus.loss import Loss
from dalenius.calculus.losses.best_profile import BestOf
from dalenius.core.adjacency import Adjacency
from dalenius.errors import InvalidParameter
from dalenius.mechanisms.mechanism import Mechanism, Neighbours
from dalenius.noise import uniform_integers


@dataclass(frozen=True, kw_only=True)
class BestRelease(Mechanism):
    """Runs one of `candidates` at random, a random number of times, and releases the best (Redberg 2023, Algorithm 5).

    Released: which candidate it was and what it answered; a refusal if none answered. The number of trials and all the
    other answers are forgotten. `score` must be public: a function of an answer alone. To score on private data, let
    the score be part of each candidate's answer, at its cost.

    The loss follows from those of the candidates and the law of the number of trials: by their privacy profiles, which
    charges a delta of theirs E[K] times. `renyi_loss` is the bound by Renyi divergences (Papernot and Steinke 2022)
    with the same E[K] times delta. Liu and Talwar 2019, Theorem 3.4, which Redberg 2023 uses, needs a delta of 1e-21 or
    so.

    Parameters
    ----------
    candidates
        Releases on the same data and for the same neighbours.
    score
        From an answer to a number, the larger the better; NaN and errors count as minus infinity.
    tries
        The law of the number of trials, such as `dp.learn.GeometricTries(mean=10)`.

    Examples
    --------
    >>> import dalenius as dp
    >>> from dalenius.adaptive.ptr import BestRelease, LocalMedian, ProposeTestRelease
    >>> candidates = tuple(
    ...     ProposeTestRelease.by_distance(
    ...         LocalMedian(sensitivity=s, scale=4 * s, bounds=(0.0, 100.0)), epsilon=0.25, wrong_pass=1e-8)
    ...     for s in (0.1, 1.0, 10.0))
    >>> tries = dp.learn.GeometricTries(10)
    >>> best = BestRelease(candidates=candidates, score=lambda answer: -abs(answer - 40), tries=tries)
    >>> index, answer = best.release([40, 41, 42] * 300)
    >>> index in range(3), type(answer).__name__
    (True, 'float')
    """

    candidates: tuple[Mechanism, ...]
    score: Callable[[Any], float]
    tries: RandomTries

    def __post_init__(self) -> None:
        if not self.candidates:
            raise InvalidParameter("candidates is empty; list at least one release.")
        given: Any = self.candidates
        if not isinstance(given, tuple | list) or not all(isinstance(one, Mechanism) for one in given):
            raise InvalidParameter.of("candidates", "candidates must be a list of mechanisms, one or more.")
        object.__setattr__(self, "candidates", tuple(given))
        checked_function("score", self.score)
        if not isinstance(self.tries, RandomTries):
            raise InvalidParameter(
                "tries must be the law of a random number of trials, such as GeometricTries(10)."
            )
        _ = sum(self._trials)  # stated for the same neighbours

    @property
    def adjacency(self) -> Adjacency:
        """The neighbouring relation."""
        return self._trials[0].adjacency

    @cached_property
    def _trials(self) -> tuple[Loss, ...]:
        return tuple(dict.fromkeys(candidate.loss for candidate in self.candidates))

    @cached_property
    def loss(self) -> Loss:
        """The worst-case privacy loss of one release."""
        if all(math.isfinite(loss.epsilon(0.0)) for loss in self._trials):
            return self.tries.loss(*self._trials)
        best = BestOf(self._trials, self.tries.log_weight)
        return best.loss(repr(self.tries), at=float(best.slopes[-1]))

    @cached_property
    def renyi_loss(self) -> Loss:
        """The same by Renyi divergences, with the candidates' deltas E[K] times."""
        return best_of_approximate(self.tries, *self._trials)

    def release(self, value: Any) -> Any:
        """The best answer of all trials, with the index of its candidate.

        Parameters
        ----------
        value
            Data, as the candidates take them.

        Returns
        -------
        tuple or Refusal
            (index of the candidate, its answer); or a refusal, if there was no answer.

        Raises
        ------
        InvalidParameter
            If the data are not of the kind that the candidates take.
        """
        best: tuple[float, Any] = -math.inf, Refusal()
        for _ in range(self.tries.draw()):
            index = int(uniform_integers(0, len(self.candidates)))
            answer = self.candidates[index].release(value)
            rank = self._rank(answer)
            if rank > best[0] or (isinstance(best[1], Refusal) and not isinstance(answer, Refusal)):
                best = rank, (index, answer)
        return best[1]

    def _rank(self, answer: Any) -> float:
        if isinstance(answer, Refusal):
            return -math.inf
        try:
            rank = float(self.score(answer))
        except Exception:  # an error would tell of an answer that was not the best
            return -math.inf
        return -math.inf if math.isnan(rank) else rank

    @property
    def worst_pair(self) -> Neighbours:
        return self.candidates[0].worst_pair
