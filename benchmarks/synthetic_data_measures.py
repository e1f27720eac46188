"""How far a synthetic table, or a set of marginals, is from the real one.

Every measure takes `share`, a function from a tuple of column numbers to the distribution over their codes: that of a
table by `shares(codes, sizes)`, or whatever a release says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.synthetic_data_design import BINS, LABEL, Codes, pairs, triples

Share = Callable[[tuple[int, ...]], NDArray[np.float64]]

RANGES = 200
"""Rectangles of each pair of numeric columns."""


def shares(codes: Codes, sizes: Sequence[int]) -> Share:
    """The marginal distributions of a table of codes."""

    @cache
    def share(columns: tuple[int, ...]) -> NDArray[np.float64]:
        shape = [sizes[c] for c in columns]
        flat = np.ravel_multi_index([codes[:, c] for c in columns], shape)
        counts = np.bincount(flat, minlength=int(np.prod(shape)))
        return counts.reshape(shape) / max(len(codes), 1)

    return share


def distances(share: Share, real: Share, marginals: Iterable[tuple[int, ...]]) -> NDArray[np.float64]:
    """Total variation of each marginal."""
    return np.array([np.abs(share(m) - real(m)).sum() / 2 for m in marginals])


def range_errors(share: Share, real: Share, names: Sequence[str]) -> NDArray[np.float64]:
    """|share - real share| of all ranges of each numeric column and of random rectangles of each pair of them."""
    numeric = [n for n, name in enumerate(names) if name in BINS]
    found = []
    for column in numeric:
        below = np.concatenate([[0.0], np.cumsum(share((column,)) - real((column,)))])
        low, high = np.triu_indices(len(below), 1)
        found.append(np.abs(below[high] - below[low]))
    draw = np.random.default_rng(0)
    for first in numeric:
        for second in (n for n in numeric if n > first):
            difference = share((first, second)) - real((first, second))
            below = np.zeros(np.array(difference.shape) + 1)
            below[1:, 1:] = difference.cumsum(0).cumsum(1)
            a, b = (np.sort(_ends(draw, size), axis=1).T for size in difference.shape)
            found.append(
                np.abs(below[a[1], b[1]] - below[a[0], b[1]] - below[a[1], b[0]] + below[a[0], b[0]])
            )
    return np.concatenate(found)


def _ends(draw: np.random.Generator, size: int) -> NDArray[np.int64]:
    low = draw.integers(0, size, RANGES)
    return np.column_stack([low, draw.integers(low + 1, size + 1)])


def accuracy(codes: Codes, test: Codes, names: Sequence[str]) -> float:
    """Of gradient boosting on the test part, trained on this table; a table with one class predicts that."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    label = list(names).index(LABEL)
    x, y = np.delete(codes, label, axis=1), codes[:, label]
    if len(set(y.tolist())) < 2:
        return float(np.mean(test[:, label] == y[0]))
    with threadpool_limits(1):  # several threads wait for each other on a machine that others use
        model = HistGradientBoostingClassifier(random_state=0).fit(x, y)
    return float(model.score(np.delete(test, label, axis=1), test[:, label]))


def of_marginals(
    share: Share, train: Codes, sizes: dict[str, int], ways: Iterable[int] = (2, 3)
) -> dict[str, Any]:
    """Average and worst error of marginals and ranges."""
    names, real, found = list(sizes), shares(train, list(sizes.values())), {}
    for way in ways:
        chosen = pairs(len(names)) if way == 2 else triples(len(names))
        errors = distances(share, real, chosen)
        found |= {f"{way}-way mean": float(errors.mean()), f"{way}-way worst": float(errors.max())}
    errors = range_errors(share, real, names)
    return {**found, "ranges mean": float(errors.mean()), "ranges worst": float(errors.max())}


def of_table(codes: Codes, train: Codes, test: Codes, sizes: dict[str, int]) -> dict[str, Any]:
    """Everything that is measured of a synthetic table of codes."""
    found = of_marginals(shares(codes, list(sizes.values())), train, sizes)
    return {**found, "accuracy": accuracy(codes, test, list(sizes))}
