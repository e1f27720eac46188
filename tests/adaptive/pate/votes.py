"""Small votes, all of them, their neighbours and the exact laws of their noisy winners."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product

import numpy as np
from scipy.stats import norm


def all_counts(teachers: int, classes: int) -> list[tuple[int, ...]]:
    """Every way the teachers can vote on one query."""
    return [c for c in product(range(teachers + 1), repeat=classes) if sum(c) == teachers]


def moves(counts: tuple[int, ...]) -> list[tuple[int, ...]]:
    """These counts, and what one teacher can make of them."""
    found = [counts]
    for i, j in product(range(len(counts)), repeat=2):
        if i != j and counts[i] > 0:
            moved = list(counts)
            moved[i] -= 1
            moved[j] += 1
            found.append(tuple(moved))
    return found


def neighbours(votes: tuple[tuple[int, ...], ...]) -> Iterator[tuple[tuple[int, ...], ...]]:
    """What one teacher can make of several queries."""
    return product(*(moves(query) for query in votes))


@cache
def winner_law(counts: tuple[int, ...], sigma: float) -> np.ndarray:
    """P(class j has the largest n_j + N(0, sigma^2)), by the trapezoid rule, which is exact to 1e-13 here."""
    x = np.linspace(min(counts) - 10 * sigma, max(counts) + 10 * sigma, 4001)
    cdf = norm.cdf(x[:, None], np.array(counts), sigma)
    return np.array(
        [
            np.trapezoid(norm.pdf(x, n, sigma) * np.delete(cdf, j, axis=1).prod(axis=1), x)
            for j, n in enumerate(counts)
        ]
    )


def law(votes: tuple[tuple[int, ...], ...], sigma: float) -> np.ndarray:
    """The law of all winners together."""
    found = np.ones(1)
    for query in votes:
        found = np.outer(found, winner_law(query, sigma)).ravel()
    return found


def hockey_stick(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(p - np.exp(epsilon) * q, 0).sum())


def renyi(p: np.ndarray, q: np.ndarray, order: float) -> float:
    return float(np.log((p**order * q ** (1 - order)).sum()) / (order - 1))
