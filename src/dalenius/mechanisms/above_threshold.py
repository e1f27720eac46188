"""Above threshold: the first of many values that reaches a threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dalenius.calculus.loss import Loss
from dalenius.calculus.losses import pure
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.mechanisms._support.noisy_comparison import Noise
from dalenius.mechanisms._support.threshold_mechanism import ThresholdMechanism


@dataclass(frozen=True, kw_only=True)
class AboveThreshold(ThresholdMechanism):
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

    def _loss_at(self, epsilon: float) -> Loss:
        return pure(epsilon, self.adjacency)

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
        return self._first(value, threshold, 1)[0]

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
        return self._first(value, 0.0, checks.count("times", times))

    def _first(self, value: Any, threshold: Any, times: int) -> list[int | None]:
        return [None if i < 0 else i for (i,) in self._found(value, threshold, times).tolist()]
