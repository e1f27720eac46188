"""Scores of whole vectors: distances to the inputs, sums of column scores, a logistic regression."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalenius.audit.rows import Rows
from dalenius.audit.scores.score import Lesson, Score
from dalenius.core.arrays import Reals

ROUNDS = 12
RIDGE = 1.0
MAX_ROWS = 40_000


def distances(lesson: Lesson) -> list[Score]:
    """How much nearer an output is to the first input than to the second, in three norms and along a line."""
    if lesson.centres is None:
        return []
    one, other = lesson.centres

    def along(rows: Rows) -> Reals:
        return np.asarray(rows.finite @ (one - other))

    def nearer(order: float) -> Score:
        def formula(rows: Rows) -> Reals:
            there = np.linalg.norm(rows.finite - other, ord=order, axis=1)
            here = np.linalg.norm(rows.finite - one, ord=order, axis=1)
            return np.asarray(there - here)

        return Score(f"how much nearer (l{order:g}) the output is to the first input", formula)

    if len(one) == 1:
        return [nearer(1)]
    return [Score("the output along the line between the inputs", along), *map(nearer, (1, 2, np.inf))]


def total(parts: Sequence[Score]) -> Score:
    """The sum of column scores: the likelihood ratio of independent columns."""
    name = "the odds by bins, added over the columns"
    return Score(name, lambda rows: np.asarray(sum(part(rows) for part in parts)))


def logistic(lesson: Lesson, columns: Sequence[int], parts: Sequence[Score]) -> list[Score]:
    """The log-odds of a logistic regression on standardised columns and on other scores.

    Fit by Newton's method with a ridge; nothing if the numbers give out.
    """

    def features(rows: Rows) -> Reals:
        return np.column_stack([rows.finite[:, list(columns)], *(part(rows) for part in parts)])

    rows = [part[:MAX_ROWS] for part in (lesson.first, lesson.second)]
    design = np.concatenate([features(r) for r in rows])
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
    return [Score(name, lambda rows: np.asarray((features(rows) - centre) / spread @ weights))]
