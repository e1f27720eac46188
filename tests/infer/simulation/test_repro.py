"""Repro samples hold the truth as often as they say, however few rows and simulated releases there are."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.infer.simulation.moments import Moments
from dalenius.infer.simulation.noise_laws import GaussianLaw, Noise
from dalenius.infer.simulation.released import Release
from dalenius.infer.simulation.repro import _Ranks

M = dp.infer.models
TRIALS = 1700
Counts = np.ndarray


def gaussian(sensitivity: float, sigma: float) -> dp.mechanisms.Gaussian:
    return dp.mechanisms.Gaussian(sensitivity=sensitivity, sigma=sigma, adjacency=dp.REPLACE_ONE)


def ranks_at_truth(simulated_sigma: float) -> Counts:
    """Ranks of a release at the truth, among 19 simulated ones: 5 rows, noise of 4."""
    rng = np.random.default_rng(5)
    model, truth = M.Bernoulli(), np.array([0.4])
    noise = Noise([GaussianLaw(simulated_sigma)])
    ranks = _Ranks.__new__(_Ranks)
    moments = Moments(model, 5, noise, rng, 50)
    local = moments.local(truth)
    moments.local = lambda _: local  # type: ignore[method-assign]  # the same at every trial
    ranks.moments, ranks.size = moments, 19
    seen = []
    for _ in range(TRIALS):
        released = rng.binomial(5, 0.4) + 4.0 * rng.standard_normal()
        ranks.release = Release(np.array([released]), noise, gaussian(1, 4.0).loss, 5)
        ranks.simulated = Moments(model, 5, noise, rng, 19)
        ranks.noise = noise.draw(rng, 19)
        seen.append(20 * float(ranks.at(truth).low[0]))
    return np.bincount(np.rint(seen).astype(int), minlength=21)[1:]


def test_ranks_are_uniform_at_the_truth_and_wrong_noise_is_caught() -> None:
    """Of 20 ranks each is as likely (a chi-square above 75 has chance 1e-8); with noise off by 15 % the four outermost
    are more than the 24 % that have chance 1e-7."""
    right, wrong = ranks_at_truth(4.0), ranks_at_truth(4.0 * 0.85)
    assert stats.chisquare(right).statistic < 75
    outer = [counts[:2].sum() + counts[-2:].sum() for counts in (right, wrong)]
    assert outer[0] < stats.binom.isf(1e-7, TRIALS, 0.2) < outer[1]


def test_each_release_is_ranked_among_simulated_ones_of_its_own() -> None:
    """One set of simulated releases for all would make coverage a constant that is off by its Monte Carlo error."""
    one, again, other = (
        _Ranks.of(released, gaussian(1, 5.0), M.Bernoulli(), 50, 19, 0) for released in (20.5, 20.5, 20.75)
    )
    assert (one.noise == again.noise).all()
    assert (one.noise != other.noise).any()


def test_an_interval_is_where_ranks_are_not_extreme() -> None:
    mechanism = gaussian(1, 5.0)
    fit = dp.infer.repro_samples(290.3, mechanism, M.Bernoulli(), n=1000, alphas=(0.05,), replicates=199)
    low, high = fit.conf_int()[0]
    for end, inside in ((low, low + 0.004), (high, high - 0.004)):
        p = [
            dp.infer.repro_test(290.3, mechanism, M.Bernoulli(), {"share": t}, n=1000, replicates=199)
            for t in (end, inside)
        ]
        assert p[0] <= 0.05 < p[1] + 0.02
    assert fit.loss == mechanism.loss


def test_two_parameters() -> None:
    model, truth, n = M.Normal(bounds=(-2, 4)), np.array([1.0, 1.5]), 500
    rng = np.random.default_rng(3)
    x = np.clip(rng.normal(*truth, n), -2, 4)
    mechanism = [gaussian(6, 8.0), gaussian(16, 20.0)]
    released = [x.sum() + 8 * rng.normal(), (x**2).sum() + 20 * rng.normal()]
    fit = dp.infer.repro_samples(released, mechanism, model, n=n, replicates=99, alphas=(0.05,))
    ends = fit.conf_int()
    assert ((ends[:, 0] < truth) & (truth < ends[:, 1])).all()
    assert ((ends[:, 1] - ends[:, 0]) < 8 * fit.bse).all()
    p = dp.infer.repro_test(released, mechanism, model, {"mean": 1.0, "sd": 1.5}, n=n, replicates=99)
    assert p > 0.02
    far = dp.infer.repro_test(released, mechanism, model, {"mean": 3.0, "sd": 1.5}, n=n, replicates=99)
    assert far == 0.01
    assert dp.infer.repro_test(released, mechanism, model, {"sd": 3.0}, n=n, replicates=99) <= 0.03


def test_too_few_replicates_and_unknown_parameters() -> None:
    mechanism = gaussian(1, 5.0)
    with pytest.raises(InvalidParameter, match="replicates is 19"):
        dp.infer.repro_samples(29, mechanism, M.Bernoulli(), n=100, replicates=19, alphas=(0.05,))
    for null in ({"mean": 1.0}, {}, {"share": 2.0}, 5):
        with pytest.raises(InvalidParameter):
            dp.infer.repro_test(29, mechanism, M.Bernoulli(), null, n=100)  # type: ignore[arg-type]
