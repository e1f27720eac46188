"""Shrunk tables: nothing where there is nothing but noise, nearer than the noisy counts where there is something."""

from __future__ import annotations

import numpy as np
import pytest

from dalenius.core.arrays import Reals
from dalenius.queries.marginals.fit import Target, fit
from dalenius.queries.marginals.junction_tree import JunctionTree
from dalenius.queries.marginals.refine import on_the_simplex
from dalenius.queries.marginals.shrinkage import _shrunk_values, centred, shrunk

TOTAL = 30_000.0


def margins(rows: int, columns: int) -> tuple[Reals, Reals]:
    draw = np.random.default_rng(1)
    return draw.dirichlet(np.full(rows, 3.0)), draw.dirichlet(np.full(columns, 3.0))


def off(found: Reals, exact: Reals) -> float:
    return float(np.abs(found - exact).sum()) / (2 * TOTAL)


def test_of_columns_that_do_not_belong_together_nothing_is_left() -> None:
    a, b = margins(12, 8)
    exact = TOTAL * np.outer(a, b)
    for seed in range(8):
        noisy = exact + np.random.default_rng(seed).normal(0, 250.0, exact.shape)
        assert off(shrunk(noisy, exact, 250.0, TOTAL), exact) < 0.3 * off(on_the_simplex(noisy, TOTAL), exact)


def test_a_relation_of_low_rank_is_found_and_its_noise_is_not() -> None:
    a, b = margins(12, 8)
    expected = TOTAL * np.outer(a, b)
    tilt = np.outer(np.where(np.arange(12) < 6, 1, -1), np.where(np.arange(8) < 4, 1, -1)) * expected * 0.8
    exact = expected + tilt
    exact *= TOTAL / exact.sum()
    expected = np.outer(exact.sum(1), exact.sum(0)) / TOTAL
    errors = []
    for seed in range(8):
        noisy = exact + np.random.default_rng(seed).normal(0, 250.0, exact.shape)
        found = shrunk(noisy, expected, 250.0, TOTAL)
        errors.append([off(found, exact), off(expected, exact), off(on_the_simplex(noisy, TOTAL), exact)])
    ours, nothing, noise = np.mean(errors, axis=0)
    assert ours < 0.5 * nothing
    assert ours < 0.8 * noise


def test_a_column_that_tells_the_other_is_found_in_few_cells() -> None:
    a, _ = margins(16, 16)
    exact = TOTAL * np.diag(a)
    noisy = exact + np.random.default_rng(0).normal(0, 250.0, exact.shape)
    found = shrunk(noisy, TOTAL * np.outer(a, a), 250.0, TOTAL)
    assert np.array_equal(found, on_the_simplex(noisy, TOTAL))


def test_the_divergence_is_that_of_the_map() -> None:
    """Stein's: against a sum of numerical derivatives."""
    draw = np.random.default_rng(3)
    table = draw.normal(0, 1.0, (4, 6)) + 6 * np.outer(draw.normal(size=4), draw.normal(size=6))

    def map_of(x: Reals) -> Reals:
        left, values, right = np.linalg.svd(x, full_matrices=False)
        return np.asarray((left * _shrunk_values(values, x.shape, 1.0)[0]) @ right)

    claimed = _shrunk_values(np.linalg.svd(table, compute_uv=False), table.shape, 1.0)[1]
    total = 0.0
    for cell in np.ndindex(table.shape):
        step = np.zeros_like(table)
        step[cell] = 1e-5
        total += float((map_of(table + step) - map_of(table - step))[cell]) / 2e-5
    assert claimed == pytest.approx(total, rel=1e-4)


def test_any_noise_is_answered() -> None:
    """Post-processing comes after the charge: no released numbers, however odd, may make it fail."""
    draw = np.random.default_rng(2)
    for shape in ((1, 1), (1, 5), (2, 2), (7, 3)):
        for sigma in (1e-3, 50.0, 1e9, 1e15):
            for total in (1.0, 1e12):
                for noisy in (draw.normal(0, sigma, shape), np.zeros(shape)):
                    found = shrunk(noisy, np.full(shape, total / noisy.size), sigma, total)
                    assert np.isfinite(found).all()
                    assert (found >= 0).all()


def test_groups_are_fitted_and_margins_are_left_to_those_who_know_them() -> None:
    """A table in groups, with wrong margins, fits in all but these: they are those of the single columns."""
    a, b = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.5, 0.3, 0.2])
    groups = (np.array([0, 0, 1, 1]), np.array([0, 1, 1]))
    tree = JunctionTree.of((4, 3), [(0, 1)])
    singles = [Target((0,), TOTAL * a, 1.0), Target((1,), TOTAL * b, 1.0)]
    exact = np.array([[6000.0, 3000.0], [9000.0, 12000.0]])
    wrong = exact + np.array([[900.0, 900.0], [0.0, 0.0]])  # margins alone are off
    pair = Target((0, 1), wrong, 1.0, groups, beyond_margins=True)
    fitted = fit(tree, [*singles, pair], TOTAL, {}, 500, lambda _: 1e-4)
    table = fitted.counts((0, 1))
    assert table.sum(axis=1) == pytest.approx(TOTAL * a, rel=0.01)
    assert table.sum(axis=0) == pytest.approx(TOTAL * b, rel=0.01)
    assert pair.of_model(table) == pytest.approx(centred(exact), rel=0.02)
    again = fit(tree, [*singles, pair], TOTAL, fitted.potentials, 1, lambda _: 1e-4)
    assert again.counts((0, 1)) == pytest.approx(
        table, rel=1e-3
    )  # what was found is where the next one starts
