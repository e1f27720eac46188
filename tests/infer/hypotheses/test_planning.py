"""Powers are those of the tests, and sample sizes and budgets are their inverses."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import dalenius as dp
from dalenius.errors import CannotMeet, InvalidParameter
from dalenius.infer.hypotheses.parts import Normal
from tests.noise.seeded import seeded

NORMAL = stats.norm


def test_power_is_what_runs_find() -> None:
    """Of 300 runs of the real thing: within four standard errors of both."""
    test = dp.infer.AnovaTest(dp.GDP(1.0), bounds=(0, 1), levels=(0, 1, 2))
    planned = dp.infer.power(test, 150, means=(0.4, 0.5, 0.6), deviation=0.25, replicates=4000)
    rng, groups = np.random.default_rng(5), np.repeat(range(3), 50)
    with seeded(6):
        runs = [
            test.run(np.clip(rng.normal(0.4 + 0.1 * groups, 0.25), 0, 1), groups).pvalue <= 0.05
            for _ in range(300)
        ]
    assert planned == pytest.approx(np.mean(runs), abs=4 * math.sqrt(0.25 / 300))
    assert 0.5 < planned < 0.98


def test_classical_twins() -> None:
    """Without noise, powers are those of scipy's tests on the same rows."""
    rng = np.random.default_rng(2)
    x, y = rng.normal(0, 1, (400, 20)), rng.normal(0.7, 1, (400, 20))
    shift = {"first": NORMAL(), "second": NORMAL(0.7)}
    found = dp.infer.power(dp.infer.MannWhitneyTest(dp.GDP(1.0)), 40, private=False, replicates=2000, **shift)
    scipy = np.mean([stats.mannwhitneyu(a, b).pvalue <= 0.05 for a, b in zip(x, y, strict=True)])
    assert found == pytest.approx(scipy, abs=0.1)
    found = dp.infer.power(
        dp.infer.TwoSampleMeanTest(dp.GDP(1.0), bounds=(-9, 9)),
        40,
        private=False,
        difference=0.7,
        deviation=1.0,
    )
    assert found == pytest.approx(np.mean(stats.ttest_ind(x, y, axis=1).pvalue <= 0.05), abs=0.12)


def test_inverses() -> None:
    test = dp.infer.MeanTest(dp.GDP(0.5), bounds=(0, 1), mean=0.5)
    effect = {"mean": 0.55, "deviation": 0.2}
    n = dp.infer.sample_size(test, power=0.9, **effect)
    assert dp.infer.power(test, n, **effect) >= 0.9 > dp.infer.power(test, int(0.9 * n), **effect)
    promise = dp.infer.budget_for_power(test, 2 * n, power=0.9, **effect)
    assert isinstance(promise, dp.GDP)
    assert 0.1 < promise.mu < 0.5
    with pytest.raises(CannotMeet, match="more rows"):
        dp.infer.budget_for_power(test, 10, power=0.9, **effect)
    with pytest.raises(CannotMeet, match="is there an effect"):
        dp.infer.sample_size(test, power=0.9, mean=0.5, deviation=0.2)


def test_curve(tmp_path: Path) -> None:
    test = dp.infer.MeanTest(dp.GDP(0.5), bounds=(0, 1), mean=0.5)
    curve = dp.infer.power_curve(test, [50, 500, 5000], [dp.GDP(0.2), dp.GDP(2.0)], mean=0.52, deviation=0.2)
    plain, little, much = curve.powers.values()
    assert (plain >= much - 0.03).all()
    assert (much >= little - 0.03).all()
    assert (np.diff(little) > 0).all()
    curve.plot(str(tmp_path / "power.png"))
    assert (tmp_path / "power.png").stat().st_size > 5000


def test_more_noise_less_power() -> None:
    """From counts released elsewhere: the same table says less where its noise is larger."""
    table = [[310.0, 190.0], [250.0, 250.0]]
    p = [dp.infer.independence_from_counts(table, Normal(sigma)).pvalue for sigma in (0.1, 20.0, 80.0)]
    assert p[0] < p[1] < p[2]
    assert p[0] == pytest.approx(stats.chi2_contingency(table, correction=False).pvalue, abs=2e-3)
    shares = [0.5, 0.3, 0.2]
    found = dp.infer.goodness_of_fit_from_counts([260.0, 140.0, 100.0], Normal(1e-6), shares=shares, rows=500)
    assert found.statistic == pytest.approx(
        stats.chisquare([260, 140, 100], [250, 150, 100]).statistic, rel=1e-6
    )


def test_means_from_estimates() -> None:
    """Two of them: the square of the z-test."""
    found = dp.infer.anova_from_estimates([1.0, 2.0], [0.3, 0.4])
    assert found.statistic == pytest.approx((1 / 0.5) ** 2)
    assert found.pvalue == pytest.approx(2 * stats.norm.sf(2.0))
    for wrong in (([1.0], [1.0]), ([1.0, 2.0], [0.0, 1.0]), ("x", None), ([1.0, math.nan], [1.0, 1.0])):
        with pytest.raises(InvalidParameter):
            dp.infer.anova_from_estimates(*wrong)
