"""Rows from a model: their counts are as near to the model's as whole numbers are."""

from __future__ import annotations

import numpy as np
import pytest

from dalenius.queries.marginals.graphical_model import GraphicalModel
from dalenius.queries.marginals.junction_tree import JunctionTree
from dalenius.queries.marginals.refine import on_the_simplex, refined
from dalenius.queries.marginals.rows import sample


def model(number: int = 0) -> GraphicalModel:
    shape, scopes, draw = (3, 4, 2, 5), [(0, 1), (1, 2), (3,)], np.random.default_rng(number)
    potentials = {scope: draw.normal(size=[shape[v] for v in scope]) for scope in scopes}
    return GraphicalModel.of(JunctionTree.of(shape, scopes), potentials)


def counts(rows: np.ndarray, scope: tuple[int, ...], shape: tuple[int, ...]) -> np.ndarray:
    sizes = [shape[v] for v in scope]
    flat = np.ravel_multi_index([rows[:, v] for v in scope], sizes)
    return np.bincount(flat, minlength=int(np.prod(sizes))).reshape(sizes)


@pytest.mark.parametrize("n", [1, 7, 1000, 20_000])
def test_marginals_of_cliques_are_within_a_few_rows(n: int) -> None:
    found = model()
    rows = sample(found, n, np.random.default_rng(1))
    assert rows.shape == (n, 4)
    assert (rows >= 0).all()
    assert (rows < np.array(found.tree.shape)).all()
    for scope in [(0, 1), (1, 2), (3,)]:
        off = np.abs(counts(rows, scope, found.tree.shape) - n * found.marginal(scope))
        assert off.max() <= 4  # independent rows are off by sqrt(n p): 50 for the largest of these


def test_rows_move_until_they_meet_targets() -> None:
    draw = np.random.default_rng(0)
    shape = (4, 3, 5)
    truth = draw.integers(0, shape, size=(3000, 3))
    truth[:, 1] = truth[:, 0] % 3
    start = draw.integers(0, shape, size=(3000, 3))
    pairs = [(0, 1), (0, 2), (1, 2), (0, 1, 2)]
    targets = [(scope, counts(truth, scope, shape).astype(float), 1.0) for scope in pairs]
    rows = refined(start, shape, targets, draw)
    before, after = (
        sum(float(((counts(each, scope, shape) - target) ** 2).sum()) for scope, target, _ in targets)
        for each in (start, rows)
    )
    assert after <= 0.05 * before  # moves of one value at a time end near, not at, the targets


def test_the_nearest_counts_on_the_simplex() -> None:
    draw = np.random.default_rng(0)
    for _ in range(20):
        noisy = draw.normal(2, 5, size=(3, 4))
        found = on_the_simplex(noisy, 30.0)
        assert found.min() >= 0
        assert np.isclose(found.sum(), 30.0)
        kept = found > 0
        lowered = (noisy - found)[kept]
        assert np.allclose(lowered, lowered[0])
        assert (noisy[~kept] <= lowered[0] + 1e-9).all()
