"""All the scores that are tried on one pair of samples."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from dalenius.audit.rows import NUMBER, Layout, Rows
from dalenius.audit.scores.atoms import atoms
from dalenius.audit.scores.bins import binned, crossed
from dalenius.audit.scores.bits import last_bits, last_digits, looks_continuous
from dalenius.audit.scores.score import Lesson, Score
from dalenius.audit.scores.whole import distances, logistic, total
from dalenius.core.arrays import Reals

MAX_SINGLE = 24
"""Columns looked at one by one; of wider outputs, those that differ most."""
MAX_CROSSED = 5
"""Columns looked at two by two."""
MAX_LANDMARKS = 64
MAX_ROWS = 150_000


def learn(layout: Layout, first: Rows, second: Rows, inputs: tuple[Any, Any]) -> list[Score]:
    """Scores by counting, by binning, by bits, by distance and by regression, and the caller's own."""
    first, second = first[:MAX_ROWS], second[:MAX_ROWS]
    lesson = Lesson(first, second, layout, _centres(inputs, layout), _landmarks(inputs))
    columns = _telling(lesson)
    singles: list[Score] = [binned(lesson, j) for j in columns]
    near = distances(lesson)
    scores: list[Score] = [*atoms(lesson), *singles, *near]
    for j in columns:
        if (first.codes[:, j] == NUMBER).any():
            scores.append(_column(layout, j))
            if looks_continuous(first.numbers[:, j]):
                scores.extend(last_bits(lesson, j))
            elif len(np.unique(first.numbers[:1000, j])) > 16:
                scores.append(last_digits(lesson, j))
    for one, other in itertools.combinations(columns[:MAX_CROSSED], 2):
        scores.extend(crossed(lesson, one, other))
    if len(columns) > 1:
        scores.append(total(singles))
        scores.extend(logistic(lesson, columns, [*singles, *near]))
    scores.extend(_statistic(k) for k in range(first.extra.shape[1]))
    return scores


def _column(layout: Layout, j: int) -> Score:
    """The number in one column; below every number where there is none."""
    return Score(
        layout.name(j), lambda rows: np.where(rows.codes[:, j] == NUMBER, rows.numbers[:, j], -np.inf)
    )


def _statistic(k: int) -> Score:
    """What one of the caller's statistics says; below every number where it says nothing."""

    def said(rows: Rows) -> Reals:
        return np.where(np.isnan(rows.extra[:, k]), -np.inf, rows.extra[:, k])

    return Score(f"statistic {k}", said)


def _telling(lesson: Lesson) -> list[int]:
    """The columns that differ most, by the share above the common median and by the share of labels."""
    apart = np.zeros(lesson.first.width)
    some = [part[:20_000] for part in (lesson.first, lesson.second)]
    for j in range(lesson.first.width):
        middle = np.nanmedian(np.concatenate([[0.0], *(rows.numbers[:, j] for rows in some)]))
        above = [float(np.mean(rows.numbers[:, j] > middle)) for rows in some]
        labelled = [float(np.mean(rows.codes[:, j] != NUMBER)) for rows in some]
        apart[j] = abs(above[0] - above[1]) + abs(labelled[0] - labelled[1])
    return [int(j) for j in np.argsort(-apart, kind="stable")[:MAX_SINGLE]]


def _centres(inputs: tuple[Any, Any], layout: Layout) -> tuple[Reals, Reals] | None:
    one, other = (_numbers(value) for value in inputs)
    if one is None or other is None or {len(one), len(other)} != {len(layout.paths)}:
        return None
    return one, other


def _landmarks(inputs: tuple[Any, Any]) -> Reals:
    numbers = [values for value in inputs if (values := _numbers(value)) is not None]
    marks = np.unique(np.concatenate(numbers)) if numbers else np.empty(0)
    return marks if len(marks) <= MAX_LANDMARKS else np.empty(0)


def _numbers(value: Any) -> Reals | None:
    try:
        values = np.asarray(value, dtype=np.float64).ravel()
    except (TypeError, ValueError, OverflowError):
        return None
    return values if np.isfinite(values).all() else None
