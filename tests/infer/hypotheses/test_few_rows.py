"""Tests keep their level where there are few rows, thin margins, and noise as large as the counts."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import Generator, Philox
from scipy import stats

from dalenius.infer.hypotheses import chi_square, ranks, reference
from dalenius.intervals.laws import Normal

THIN = (0.97, 0.015, 0.015)


def limit(replicates: int, level: float) -> float:
    """A test that keeps its level rejects more than this with a chance of at most 1e-9."""
    return float(stats.binom.isf(1e-9, replicates, level)) / replicates


def test_independence(monkeypatch: pytest.MonkeyPatch) -> None:
    """What ranks among the estimated margins alone rejects 22 % of these at 10 %. False alarms: at most 1e-9."""
    monkeypatch.setattr(reference, "REPLICATES", 99)
    generator, law, many = Generator(Philox(key=11)), Normal(0.25), 800
    tables = chi_square._noisy_counts(generator, 8, np.outer(THIN, THIN).ravel(), law, many)
    p = np.array([chi_square.independence_from_counts(c.reshape(3, 3), law).pvalue for c in tables])
    assert np.mean(p <= 0.1) <= limit(many, 0.1)


def test_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """What ranks at the released number of rows alone rejects 4 % of these at 1 %. False alarms: at most 1e-9."""
    monkeypatch.setattr(reference, "REPLICATES", 299)
    generator, law, many = Generator(Philox(key=12)), Normal(0.25), 1500
    tables = chi_square._noisy_counts(generator, 2, np.full(6, 1 / 6), law, many)
    p = np.array([chi_square.goodness_of_fit_from_counts(table, law).pvalue for table in tables])
    assert np.mean(p <= 0.01) <= limit(many, 0.01)


def test_thin_tables_say_so_and_full_ones_stay_sharp() -> None:
    thin = chi_square.independence_from_counts([[6.1, 0.2], [0.4, 5.2]], Normal(1.0))
    assert thin.notes == (chi_square.FEW,)
    full = chi_square.independence_from_counts([[60.0, 40.0], [40.0, 60.0]], Normal(1.0))
    assert full.notes == ()
    assert full.pvalue < 0.015  # 0.0056 by the chi-square law with the noise in it


def test_equal_statistics_are_ties() -> None:
    assert reference.pvalue(1.0, np.array([1.0 - 1e-15] * 99)) == 1.0
    assert reference.pvalues(np.array([1.0]), np.array([1.0 - 1e-15] * 99))[0] == 1.0


@pytest.mark.parametrize("size", [(33.0, 33.0, 34.0), (60.0, 30.0, 10.0), (80.0, 10.0, 10.0)])
@pytest.mark.parametrize("sd", [3.0, 28.0, 57.0])
def test_group_sizes_are_no_reason_to_reject(size: tuple[float, ...], sd: float) -> None:
    """Sums of signs of all groups are no smaller on average than those of the true sizes (raw counts: up to 20 %)."""
    noisy = np.array(size) + Generator(Philox(key=13)).laplace(0, sd / np.sqrt(2), (4000, 3))

    def signs(n: np.ndarray) -> np.ndarray:
        return np.sqrt(np.maximum(n * (100 - n), 0)).sum(axis=-1)

    assert signs(ranks.likely_sizes(noisy, sd**2, 100.0)).mean() > 0.985 * signs(np.array(size))
    if sd > 20 and size[0] < 40:
        raw = np.maximum(noisy, 0.5)
        assert signs(raw / raw.sum(axis=1, keepdims=True) * 100).mean() < 0.93 * signs(np.array(size))
