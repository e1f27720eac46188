"""The bootstrap undoes what clipping and noise do, and repeats itself."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import dalenius as dp
from dalenius.errors import InvalidParameter

M = dp.infer.models


def gaussian(sensitivity: float, sigma: float) -> dp.mechanisms.Gaussian:
    return dp.mechanisms.Gaussian(sensitivity=sensitivity, sigma=sigma, adjacency=dp.REPLACE_ONE)


def test_a_share_has_the_interval_of_its_exact_law() -> None:
    """Inverting P(Binomial + N(0, 5^2) beyond 290.3) by numerical integration."""
    fit = dp.infer.bootstrap(290.3, gaussian(1, 5.0), M.Bernoulli(), n=1000, replicates=9999)

    def chance_above(p: float) -> float:
        k = np.arange(1001)
        return float((stats.binom.pmf(k, 1000, p) * stats.norm.sf((290.3 - k) / 5)).sum())

    ends = fit.conf_int()[0]
    assert abs(chance_above(ends[0]) - 0.025) < 0.008
    assert abs(chance_above(ends[1]) - 0.975) < 0.008
    assert fit.loss == gaussian(1, 5.0).loss


def test_clipping_does_not_bias() -> None:
    """Bounds that cut off a third of the rows; the plug-in estimate is far off, the bootstrap's is not."""
    model, truth, n = M.Normal(bounds=(-1.0, 1.5)), np.array([0.8, 1.5]), 20_000
    rng = np.random.default_rng(0)
    x = np.clip(rng.normal(*truth, n), -1.0, 1.5)
    mechanism = [gaussian(2.5, 2.5), gaussian(2.25, 2.25)]
    released = [x.sum() + 2.5 * rng.normal(), (x**2).sum() + 2.25 * rng.normal()]
    fit = dp.infer.bootstrap(released, mechanism, model, n=n, replicates=99)
    assert abs(released[0] / n - truth[0]) > 0.2
    assert (np.abs(fit.params - truth) < 0.1).all()


def test_the_same_seed_gives_the_same_interval() -> None:
    fits = [
        dp.infer.bootstrap(29, gaussian(1, 2.0), M.Bernoulli(), n=100, replicates=199, seed=seed)
        for seed in (3, 3, 4)
    ]
    assert fits[0].to_json() == fits[1].to_json() != fits[2].to_json()


def test_a_release_beyond_what_is_possible_has_an_interval_at_the_end() -> None:
    fit = dp.infer.bootstrap(-12.0, gaussian(1, 5.0), M.Bernoulli(), n=100, replicates=499)
    low, high = fit.conf_int()[0]
    assert low == 0.0
    assert 0 <= high < 0.05


@pytest.mark.parametrize(
    "change",
    [
        {"released": [1.0, 2.0]},
        {"released": float("nan")},
        {"released": "x"},
        {"mechanism": None},
        {"model": None},
        {"n": 0},
        {"n": 2.5},
        {"replicates": 5},
        {"seed": -1},
    ],
)
def test_what_does_not_fit_together(change: dict[str, object]) -> None:
    given = {"released": 29.0, "mechanism": gaussian(1, 5.0), "model": M.Bernoulli(), "n": 100} | change
    with pytest.raises(InvalidParameter):
        dp.infer.bootstrap(**given)  # type: ignore[arg-type]


def test_no_interval_where_no_parameter_gives_what_was_released() -> None:
    """7841 of 1000: n is wrong. A share of 0 or 1 whose noise went beyond is not."""
    fit = dp.infer.bootstrap(7841.0, gaussian(1, 5.0), M.Bernoulli(), n=1000, replicates=199)
    assert not fit.interval_available
    assert "n do not fit" in fit.reason
    for value in (-20.0, 1020.0):
        assert dp.infer.bootstrap(
            value, gaussian(1, 5.0), M.Bernoulli(), n=1000, replicates=199
        ).interval_available


def test_a_p_value_that_ends_with_the_replicates_is_shown_as_a_bound() -> None:
    fit = dp.infer.bootstrap(290.3, gaussian(1, 5.0), M.Bernoulli(), n=1000, replicates=199)
    assert fit.pvalues[0] == fit.least_pvalue == 0.05
    assert "<= 0.0500" in fit.summary()
