"""Rows moved until their marginals meet targets: for more marginals than a junction tree can hold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalenius.core.arrays import Ints, Reals
from dalenius.queries.marginals.junction_tree import Scope

SWEEPS = 40
PARTS = 20
"""Rows are tried in this many parts, one after another."""
ACCEPTED = 0.12
"""The share of improving moves made at once at first: moves made together overshoot where they share a cell."""


def refined(
    rows: Ints,
    shape: Sequence[int],
    targets: Sequence[tuple[Scope, Reals, float]],
    draw: np.random.Generator,
    sweeps: int = SWEEPS,
) -> Ints:
    """Rows with smaller sum over targets of weight times |counts - target|^2.

    One column after another, and a part of the rows at a time, each row is offered the value that lowers the sum most,
    the other rows as they are; a random share of the rows that gain take it, a smaller one in every sweep.
    """
    columns = np.ascontiguousarray(rows.T).copy()
    residuals = [_counts(columns, scope, shape) - target for scope, target, _ in targets]
    weights = [weight for _, _, weight in targets]
    touching: list[list[tuple[int, Scope, int]]] = [[] for _ in shape]
    for k, (scope, _, _) in enumerate(targets):
        for axis, v in enumerate(scope):
            touching[v].append((k, tuple(u for u in scope if u != v), axis))
    for sweep in range(sweeps):
        share = ACCEPTED * (1 - sweep / sweeps) ** 1.5
        for part in np.array_split(draw.permutation(len(rows)), PARTS):
            for v in draw.permutation(len(shape)):
                if touching[v] and len(part):
                    _move(columns, residuals, weights, touching[v], int(v), shape[v], part, share, draw)
    return np.ascontiguousarray(columns.T)


def _move(
    columns: Ints,
    residuals: list[Reals],
    weights: list[float],
    touching: list[tuple[int, Scope, int]],
    v: int,
    size: int,
    part: Ints,
    share: float,
    draw: np.random.Generator,
) -> None:
    height = np.zeros((len(part), size))
    fixed = 0.0
    for k, others, axis in touching:
        slopes = np.moveaxis(residuals[k], axis, -1)
        height += weights[k] * slopes[tuple(columns[u][part] for u in others)]
        fixed += weights[k]
    each, old = np.arange(len(part)), columns[v][part]
    new = height.argmin(axis=1)
    # The sum falls by twice this: of every target one count goes down by one and another up.
    gain = height[each, old] - height[each, new] - fixed
    taken = np.flatnonzero((gain > 0) & (draw.random(len(part)) < share))
    if not len(taken):
        return
    moved, old, new = part[taken], old[taken], new[taken]
    for k, others, axis in touching:
        slopes = np.moveaxis(residuals[k], axis, -1)
        place = tuple(columns[u][moved] for u in others)
        np.subtract.at(slopes, (*place, old), 1.0)
        np.add.at(slopes, (*place, new), 1.0)
    columns[v][moved] = new


def _counts(columns: Ints, scope: Scope, shape: Sequence[int]) -> Reals:
    sizes = [shape[v] for v in scope]
    flat = np.ravel_multi_index([columns[v] for v in scope], sizes)
    return np.bincount(flat, minlength=int(np.prod(sizes))).reshape(sizes).astype(np.float64)


def on_the_simplex(counts: Reals, total: float) -> Reals:
    """The nearest nonnegative counts with this sum: all lowered alike, and those below 0 set to 0."""
    falling = np.sort(counts.ravel())[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, falling.size + 1)
    last = np.flatnonzero(falling > excess)[-1] if total > 0 else 0
    return np.asarray(np.maximum(counts - excess[last], 0.0))
