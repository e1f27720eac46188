"""All tiny data sets and their neighbours, and what laws of finitely many outcomes give away about them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import dalenius as dp

Cells = tuple[int, ...]
EPSILONS = (0.0, 0.25, 0.5, 1.0, 2.0)


def tables(cells: int, rows: int) -> list[Cells]:
    """All histograms with at most so many rows."""
    return [h for h in itertools.product(range(rows + 1), repeat=cells) if sum(h) <= rows]


def neighbours(
    cells: int, rows: int, adjacency: dp.Adjacency, unit: int = 1
) -> Iterator[tuple[Cells, Cells]]:
    """All pairs that one unit of up to `unit` rows turns into each other; a replaced row may leave the domain."""
    for h, g in itertools.permutations(tables(cells, rows), 2):
        changes = [b - a for a, b in zip(h, g, strict=True)]
        more, less = sum(c for c in changes if c > 0), -sum(c for c in changes if c < 0)
        one_way = min(more, less) == 0 and max(more, less) <= unit
        if one_way or (adjacency is dp.REPLACE_ONE and max(more, less) <= unit):
            yield h, g


def worst(law: Callable[[Cells], Any], pairs: Iterator[tuple[Cells, Cells]]) -> dict[float, float]:
    """The largest hockey-stick divergence at each epsilon; at inf, the largest log ratio of one outcome."""
    known: dict[Cells, Any] = {}
    found = dict.fromkeys((*EPSILONS, math.inf), 0.0)
    for h, g in pairs:
        for x in (h, g):
            if x not in known:
                known[x] = law(x)
        p, q = known[h], known[g]
        for epsilon in EPSILONS:
            found[epsilon] = max(found[epsilon], float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum()))
        seen = p > 0
        found[math.inf] = max(found[math.inf], float(np.log(p[seen] / q[seen]).max()))
    return found


def exceeds(found: dict[float, float], loss: dp.losses.Loss, slack: float = 1e-9) -> bool:
    """Whether a claimed loss is not kept."""
    pure = loss.epsilon(0.0)
    return found[math.inf] > pure * (1 + 1e-9) + slack or any(
        found[epsilon] > loss.delta(epsilon) + slack for epsilon in EPSILONS
    )


def softmax(scores: Any, scale: float) -> Any:
    weights = np.exp((scores - scores.max(axis=-1, keepdims=True)) / scale)
    return weights / weights.sum(axis=-1, keepdims=True)


def geometric(steps: Any, scale: float) -> Any:
    """P(k) proportional to exp(-|k|/scale)."""
    return math.tanh(1 / (2 * scale)) * np.exp(-np.abs(steps) / scale)


def discrete_gaussian(steps: Any, sigma: float) -> Any:
    reach = np.arange(-math.ceil(40 * sigma), math.ceil(40 * sigma) + 1)
    return np.exp(-(np.asarray(steps) ** 2) / (2 * sigma**2)) / np.exp(-(reach**2) / (2 * sigma**2)).sum()


def noise(mechanism: Any) -> Callable[[Any], Any]:
    """The law of the noise of a count."""
    if isinstance(mechanism, dp.mechanisms.Geometric):
        return lambda steps: geometric(steps, mechanism.scale)
    return lambda steps: discrete_gaussian(steps, mechanism.sigma)
