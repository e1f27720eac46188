"""Scores of whole vectors: distances to the inputs, sums of column scores, a logistic regression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalenius.audit.rows import Reals, Rows
from dalenius.audit.scores.score import Formula, Lesson, Score

ROUNDS = 12
RIDGE = 1.0
MAX_ROWS = 40_000


def distances(lesson: Lesson) -> list[Formula]:
    """How much nearer an output is to the first input than to the second, in three norms and along a line."""
    if lesson.centres is None:
        return []
    one, other = lesson.centres

    def along(rows: Rows) -> Reals:
        return np.asarray(rows.finite @ (one - other))

    def nearer(order: float) -> Formula:
        def formula(rows: Rows) -> Reals:
            there = np.linalg.norm(rows.finite - other, ord=order, axis=1)
            here = np.linalg.norm(rows.finite - one, ord=order, axis=1)
            return np.asarray(there - here)

        return Formula(f"how much nearer (l{order:g}) the output is to the first input", formula)

    if len(one) == 1:
        return [nearer(1)]
    return [Formula("the output along the line between the inputs", along), *map(nearer, (1, 2, np.inf))]


@dataclass(frozen=True)
class Sum:
    """The sum of column scores: the likelihood ratio of independent columns."""

    name: str
    parts: tuple[Score, ...]

    def __call__(self, rows: Rows) -> Reals:
        return np.asarray(sum(part(rows) for part in self.parts))


@dataclass(frozen=True)
class Logistic:
    """The log-odds of a logistic regression on standardised columns and on other scores."""

    name: str
    columns: tuple[int, ...]
    parts: tuple[Score, ...]
    centre: Reals
    spread: Reals
    weights: Reals

    def __call__(self, rows: Rows) -> Reals:
        return np.asarray(
            (_features(rows, self.columns, self.parts) - self.centre) / self.spread @ self.weights
        )


def logistic(lesson: Lesson, columns: Sequence[int], parts: Sequence[Score]) -> list[Logistic]:
    """Fit by Newton's method with a ridge; nothing if the numbers give out."""
    rows = [part[:MAX_ROWS] for part in (lesson.first, lesson.second)]
    design = np.concatenate([_features(r, columns, parts) for r in rows])
    centre, spread = design.mean(axis=0), design.std(axis=0)
    if not np.isfinite(spread).all():
        return []
    spread[spread == 0] = 1.0
    design = (design - centre) / spread
    target = np.repeat([1.0, 0.0], [len(r) for r in rows])
    weights = np.zeros(design.shape[1])
    for _ in range(ROUNDS):
        p = 1.0 / (1.0 + np.exp(-np.clip(design @ weights, -30, 30)))
        slope = design.T @ (p - target) + RIDGE * weights
        curvature = (design * (p * (1 - p) + 1e-9)[:, None]).T @ design + RIDGE * np.eye(len(weights))
        step = np.linalg.solve(curvature, slope)
        weights = weights - step
        if np.abs(step).max() < 1e-4:
            break
    if not np.isfinite(weights).all():
        return []
    name = "the log-odds of a logistic regression"
    return [Logistic(name, tuple(columns), tuple(parts), centre, spread, weights)]


def _features(rows: Rows, columns: Sequence[int], parts: Sequence[Score]) -> Reals:
    plain = rows.finite[:, list(columns)]
    return np.column_stack([plain, *(part(rows) for part in parts)])
