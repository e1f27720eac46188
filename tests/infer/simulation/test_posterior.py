"""Posteriors are the exact ones where these can be computed, and calibrated where they cannot."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.infer.simulation.augmentation import Augmentation
from dalenius.infer.simulation.noise_laws import GaussianLaw, Noise
from dalenius.infer.simulation.posterior import effective_draws

M = dp.infer.models


def gaussian(sensitivity: float, sigma: float) -> dp.mechanisms.Gaussian:
    return dp.mechanisms.Gaussian(sensitivity=sensitivity, sigma=sigma, adjacency=dp.REPLACE_ONE)


@pytest.mark.parametrize("method", ["augmentation", "normal sums"])
@pytest.mark.parametrize(
    ("mechanism", "law"),
    [
        (gaussian(1, 4.0), stats.norm(scale=4.0)),
        (dp.mechanisms.Laplace(sensitivity=1, scale=3.0, adjacency=dp.REPLACE_ONE), stats.laplace(scale=3.0)),
    ],
)
def test_a_share_has_its_exact_posterior(method: str, mechanism: object, law: object) -> None:
    """By summing over all counts. Means within 5 Monte Carlo errors; without noise the posterior would be narrower."""
    n, released = 60, 18.0
    p = np.linspace(0.0005, 0.9995, 1000)
    k = np.arange(n + 1)
    weight = (stats.binom.pmf(k[:, None], n, p) * law.pdf(released - k)[:, None]).sum(axis=0)  # type: ignore[attr-defined]
    weight /= weight.sum()
    mean = float(weight @ p)
    sd = float(np.sqrt(weight @ (p - mean) ** 2))
    fit = dp.infer.posterior(released, mechanism, M.Bernoulli(), n=n, draws=2500, method=method)
    assert abs(fit.params[0] - mean) < 0.2 * sd
    assert abs(fit.bse[0] / sd - 1) < 0.12
    below = np.interp(fit.conf_int()[0], p, np.cumsum(weight))
    assert (np.abs(below - [0.025, 0.975]) < 0.015).all()
    plain = stats.beta(1 + released, 1 + n - released).std()
    assert sd > 1.1 * plain


def test_ranks_are_uniform_and_wrong_noise_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten classes; a chi-square above 55 has chance 1e-8. A posterior that takes the noise to be a third is caught."""
    family, mechanism = M.Normal(bounds=(-2, 2)), gaussian(4, 8.0)

    def statistic() -> float:
        ranks = dp.infer.calibration_ranks(family, mechanism, n=25, draws=19, thin=12, chains=500)
        return float(max(stats.chisquare(np.bincount(r // 2, minlength=10)).statistic for r in ranks.T))

    assert statistic() < 55
    honest = GaussianLaw.log_density
    monkeypatch.setattr(GaussianLaw, "log_density", lambda law, noise: honest(law, 3 * noise))
    assert statistic() > 55


def test_rows_that_are_drawn_in_several_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last turn may be shorter than a block. Means of 1 500 chains within 5 of their standard errors."""
    n, released, chains = 21, 6.0, 1500
    p, k = np.linspace(0.0005, 0.9995, 1000), np.arange(n + 1)
    weight = (stats.binom.pmf(k[:, None], n, p) * stats.norm.pdf(released - k, 0, 4.0)[:, None]).sum(axis=0)
    mean = float(weight @ p / weight.sum())
    sd = float(np.sqrt(weight @ (p - mean) ** 2 / weight.sum()))
    monkeypatch.setattr("dalenius.infer.simulation.augmentation.AT_ONCE", 1)
    rng, noise = np.random.default_rng(0), Noise([GaussianLaw(4.0)])
    start = np.full((chains, 1), 0.3)
    chain = Augmentation(M.Bernoulli(), np.full((chains, 1), released), noise, n, rng, start)
    found = chain.run(1, 39)[0, :, 0]
    assert abs(found.mean() - mean) < 5 * sd / np.sqrt(chains)
    assert abs(found.std() / sd - 1) < 5 / np.sqrt(2 * chains)


def test_a_regression_from_its_sums() -> None:
    family = M.LinearRegression(bounds=[(-3, 3), (-6, 6)])
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    rows = np.column_stack((x, 1 + 2 * x + rng.normal(size=400)))
    sums = family.contributions(rows[None])[0].sum(axis=0)
    released = sums + 5 * rng.standard_normal(len(sums))
    fit = dp.infer.posterior(released, gaussian(6, 5.0), family, n=400, draws=500, method="normal sums")
    assert (np.abs(fit.params - [1, 2, 1]) < 0.35).all()
    few = family.contributions(rows[None, :30])[0].sum(axis=0)
    fit = dp.infer.posterior(few, gaussian(6, 5.0), family, n=30, draws=120, chains=16)
    low, high = fit.conf_int(0.05)[:2].T  # thirty rows hardly move the prior of the sd
    truth = np.array([1, 2])
    assert ((low < truth) & (high > truth)).all()


@pytest.mark.parametrize(
    ("family", "truth", "binds"),
    [
        (M.Normal(bounds=(-6.0, 8.0)), [1.0, 1.5], False),
        (M.Normal(bounds=(-1.5, 4.0)), [1.0, 1.5], True),
        (M.Normal(bounds=(-1.5, 4.0), sd=1.5), [3.5], True),
        (M.Poisson(upper=20), [3.0], False),
        (M.Poisson(upper=4), [3.0], True),
        (M.Bernoulli(), [0.3], False),
    ],
)
def test_normal_sums_are_refused_where_bounds_bind(family: M.Family, truth: list[float], binds: bool) -> None:
    rng, n = np.random.default_rng(3), 400
    sums = family.contributions(family.rows(np.array([truth]), n, rng))[0].sum(axis=0)
    noise = gaussian(1.0, 10.0)
    fit = dp.infer.posterior(sums, noise, family, n=n, draws=800, method="normal sums")
    assert fit.interval_available is not binds
    assert ("augmentation" in fit.reason) is binds


def test_chains_that_stick_are_told() -> None:
    rng = np.random.default_rng(0)
    free = rng.standard_normal((1000, 4, 1))
    assert effective_draws(free)[0] > 2500
    slow = np.cumsum(free, axis=0)
    assert effective_draws(slow)[0] < 40
    apart = free + np.array([0.0, 0.0, 9.0, 9.0])[:, None]
    assert effective_draws(apart)[0] < 40
    fit = dp.infer.posterior(50.0, gaussian(1, 5.0), M.Bernoulli(), n=100, draws=100, chains=2)
    assert not fit.interval_available
    assert np.isnan(fit.conf_int()).all()


@pytest.mark.parametrize(
    "change", [{"family": None}, {"method": "exact"}, {"chains": 1}, {"draws": 1}, {"released": [1.0, 2.0]}]
)
def test_what_does_not_fit_together(change: dict[str, object]) -> None:
    given = {"released": 29.0, "mechanism": gaussian(1, 5.0), "family": M.Bernoulli(), "n": 100} | change
    with pytest.raises(InvalidParameter):
        dp.infer.posterior(**given)  # type: ignore[arg-type]
