"""Margins that add up: against least squares done the long way."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dalenius.intervals.laws import Noisy, Normal, TwoSidedExponential
from dalenius.tables.release.reconcile import Margins, whole

CASES = [
    ((4,), ((0,), ())),
    ((2, 3), ((0, 1), (0,), (1,), ())),
    ((2, 3), ((0, 1), (1,))),
    ((3, 2, 2), ((0, 1, 2), (0, 1), (0,), ())),
    ((2, 2, 3), ((0, 1, 2), (0, 1), (0, 2), (1, 2), (0,), (1,), (2,), ())),
    ((1, 3), ((0, 1), (0,), ())),
]


def summing(sizes: tuple[int, ...], kept: tuple[int, ...]) -> np.ndarray:
    """The matrix that makes a margin of cells."""
    places = np.indices(sizes).reshape(len(sizes), -1)
    row = np.zeros(math.prod(sizes), dtype=int)
    for i in kept:
        row = row * sizes[i] + places[i]
    matrix = np.zeros((math.prod(sizes[i] for i in kept), math.prod(sizes)))
    matrix[row, np.arange(math.prod(sizes))] = 1
    return matrix


@pytest.mark.parametrize(("sizes", "sets"), CASES)
@pytest.mark.parametrize("law", [Normal, TwoSidedExponential])
def test_it_is_weighted_least_squares(sizes: tuple[int, ...], sets: tuple, law: type) -> None:
    """The values, the variances and the fourth cumulants of every cell, from the matrices of the normal equations."""
    rng = np.random.default_rng(7)
    sigma = {kept: rng.uniform(0.5, 3) for kept in sets}
    noisy = {kept: Noisy(rng.normal(size=len(summing(sizes, kept))), law(sigma[kept])) for kept in sets}
    design = np.vstack([summing(sizes, kept) / sigma[kept] for kept in sets])
    seen = np.concatenate([noisy[kept].values / sigma[kept] for kept in sets])
    solved = np.linalg.pinv(design)
    made = Margins(sizes, sets).reconciled(noisy)
    for kept in sets:
        row = summing(sizes, kept) @ solved
        np.testing.assert_allclose(made[kept].values, row @ seen, atol=1e-10)
        np.testing.assert_allclose(made[kept].variance, (row**2).sum(axis=1), rtol=1e-10)
        np.testing.assert_allclose(
            made[kept].fourth, (row**4).sum(axis=1) * law(1.0).fourth, rtol=1e-9, atol=1e-12
        )
        np.testing.assert_allclose(summing(sizes, kept) @ made[sets[0]].values, made[kept].values, atol=1e-9)


def test_bins_are_reconciled_one_by_one() -> None:
    rng = np.random.default_rng(1)
    sets = ((0, 1), (0,), ())
    values = {kept: rng.normal(size=(len(summing((2, 3), kept)), 4)) for kept in sets}
    together = Margins((2, 3), sets).reconciled({kept: Noisy(values[kept], Normal(2.0)) for kept in sets})
    for k in range(4):
        alone = Margins((2, 3), sets).reconciled(
            {kept: Noisy(values[kept][:, k], Normal(2.0)) for kept in sets}
        )
        for kept in sets:
            np.testing.assert_allclose(together[kept].values[:, k], alone[kept].values, atol=1e-12)


def test_whole_cells_keep_their_sum() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        values = rng.normal(0, 5, rng.integers(1, 40))
        made = whole(values)
        assert (made >= 0).all()
        assert (made == np.rint(made)).all()
        assert made.sum() == max(0, np.rint(values.sum()))
