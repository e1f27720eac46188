"""Rejection sets worth measuring, chosen on draws that are not used to measure them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import ndtri

from dalenius.audit.rows import Rows
from dalenius.audit.scores.score import Score
from dalenius.core.arrays import Ints, Reals

Side = Literal["first", "second"]
Goal = Callable[[Reals, Reals], Reals]
"""What a set is wanted for: how good it is, from its errors of type I and II."""

SLOPES = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0)
"""Epsilons for each of which the best set is sought: corners of the trade-off curve."""
THRESHOLDS = 256
SCREENED, SCREEN_ROWS = 3, 25_000
MIN_Z = 3.0


@dataclass(frozen=True, eq=False)
class Rejection:
    """Accuse one input when a score is at least a threshold, or when it is below."""

    score: Score
    threshold: float
    accuses: Side
    above: bool

    def count(self, scores: Reals) -> int:
        """How many of these scores lead to an accusation."""
        high = int((scores >= self.threshold).sum())
        return high if self.above else len(scores) - high

    @property
    def when(self) -> str:
        return f"{self.score.name} {'>=' if self.above else '<'} {self.threshold:.6g}"


@dataclass(frozen=True)
class _Candidates:
    """Every threshold of one score, accusing one side above it, with pessimistic guesses of both errors.

    Accusing the other side below the threshold is the same test with its errors exchanged.
    """

    score: Score
    accuses: Side
    thresholds: Reals
    type_one: Reals
    type_two: Reals

    def rejection(self, k: int) -> Rejection:
        """As the test that makes fewer false accusations than misses: easier to read."""
        above = bool(self.type_one[k] <= self.type_two[k])
        other: Side = "second" if self.accuses == "first" else "first"
        return Rejection(self.score, float(self.thresholds[k]), self.accuses if above else other, above)


def choose(
    scores: Sequence[Score], first: Rows, second: Rows, delta: float, failure: float
) -> tuple[Rejection, list[Rejection]]:
    """The set that promises the largest epsilon at `delta`, and sets for the rest of the curve."""
    goals = [_at_delta(delta), *map(_at_epsilon, SLOPES)]
    if len(scores) > SCREENED:
        # Most scores are hopeless; a few draws show it.
        some = slice(SCREEN_ROWS)
        candidates = [c for score in scores for c in _candidates(score, first[some], second[some], failure)]
        kept = {c.score for goal in goals for _, _, c in _ranked(candidates, goal)[:SCREENED]}
        scores = [score for score in scores if score in kept]
    candidates = [c for score in scores for c in _candidates(score, first, second, failure)]
    best: dict[tuple[Score, float, Side], Rejection] = {}
    for goal in goals:
        _, k, c = _ranked(candidates, goal)[0]
        best.setdefault((c.score, float(c.thresholds[k]), c.accuses), c.rejection(k))
    primary, *rest = best.values()
    return primary, rest


def _at_delta(delta: float) -> Goal:
    """A large epsilon at `delta`."""
    return lambda one, two: np.log(np.maximum(1 - two - delta, 1e-300)) - np.log(one)


def _at_epsilon(epsilon: float) -> Goal:
    """A large delta at `epsilon`."""
    return lambda one, two: 1 - two - math.exp(epsilon) * one


def _ranked(candidates: Sequence[_Candidates], goal: Goal) -> list[tuple[float, int, _Candidates]]:
    """Every candidate's best threshold for a goal, its errors taken either way round; the best first."""
    ranked = []
    for c in candidates:
        gains = np.maximum(goal(c.type_one, c.type_two), goal(c.type_two, c.type_one))
        k = int(np.argmax(gains))
        ranked.append((float(gains[k]), k, c))
    return sorted(ranked, key=lambda x: -x[0])


def _candidates(score: Score, first: Rows, second: Rows, failure: float) -> list[_Candidates]:
    a, b = np.sort(score(first)), np.sort(score(second))
    thresholds = _thresholds(np.sort(np.concatenate([a, b])))
    low_a, low_b = (np.searchsorted(x, thresholds, side="left") for x in (a, b))
    z = max(MIN_Z, -float(ndtri(failure)))
    return [
        _Candidates(
            score, "first", thresholds, _wilson(len(b) - low_b, len(b), z), _wilson(low_a, len(a), z)
        ),
        _Candidates(
            score, "second", thresholds, _wilson(len(a) - low_a, len(a), z), _wilson(low_b, len(b), z)
        ),
    ]


def _thresholds(values: Reals) -> Reals:
    """Distinct values of a sorted sample: all of them if few, otherwise quantiles, finer towards the ends."""
    n = len(values)
    distinct: Reals = values[np.concatenate([[True], values[1:] != values[:-1]])]
    if len(distinct) <= 2 * THRESHOLDS:
        return distinct
    ends = np.unique(np.geomspace(1, n / 2, THRESHOLDS // 2).astype(np.int64))
    ranks = np.concatenate([np.linspace(0, n - 1, THRESHOLDS).astype(np.int64), ends, n - 1 - ends])
    return np.unique(values[np.unique(ranks)])


def _wilson(hits: Ints, trials: int, z: float) -> Reals:
    """Wilson's upper limit: near enough to the exact one to choose by."""
    p: Reals = hits / trials
    spread = z * np.sqrt(p * (1 - p) / trials + z * z / (4.0 * trials**2))
    most: Reals = np.minimum(1.0, (p + z * z / (2.0 * trials) + spread) / (1 + z * z / trials))
    return most
