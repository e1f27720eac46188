"""Intervals of randomized response hold as often as they say, at every share: summed over all outcomes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.intervals.binomial import binomial_limits


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("share", [0.0, 0.03, 0.4, 1.0])
def test_exact_coverage(epsilon: float, share: float) -> None:
    mechanism, n = dp.mechanisms.RandomizedResponse(epsilon=epsilon), 60
    lie, truth = mechanism.lie, mechanism.truth
    held = 0.0
    for said in range(n + 1):
        chance = stats.binom.pmf(said, n, lie + (truth - lie) * share)
        if chance > 1e-9:
            answers = np.repeat([0, 1], [n - said, said])
            low, high = dp.infer.randomized_response(answers, mechanism).conf_int()[1]
            held += chance * (low - 1e-12 <= share <= high + 1e-12)
    assert held + 1e-6 >= 0.95


def test_people_asked_are_held_as_well() -> None:
    """Two binomials, of those with and without: less spread than one (Hoeffding 1956)."""
    mechanism, n, ones = dp.mechanisms.RandomizedResponse(epsilon=1.0), 50, 10
    held = 0.0
    law = np.convolve(
        stats.binom.pmf(np.arange(ones + 1), ones, mechanism.truth),
        stats.binom.pmf(np.arange(n - ones + 1), n - ones, mechanism.lie),
    )
    for said, chance in enumerate(law):
        if chance > 1e-9:
            fit = dp.infer.randomized_response(np.repeat([0, 1], [n - said, said]), mechanism)
            low, high = fit.conf_int()[1]
            held += chance * (low <= ones / n <= high)
    assert held >= 0.95


def test_all_shares_at_once_are_wider() -> None:
    mechanism = dp.mechanisms.RandomizedResponse(epsilon=2.0, k=4)
    said = np.repeat(np.arange(4), [100, 80, 60, 40])
    each = dp.infer.randomized_response(said, mechanism)
    together = dp.infer.randomized_response(said, mechanism, simultaneous=True)
    assert (np.diff(together.conf_int()) > 1.1 * np.diff(each.conf_int())).all()
    np.testing.assert_allclose(together.conf_int(0.2), each.conf_int(0.05), atol=1e-9)
    assert each.loss == mechanism.loss
    assert abs(each.params.sum() - 1) < 1e-9


def test_limits_of_clopper_and_pearson() -> None:
    limits = binomial_limits(np.array([0.0, 3.0, 10.0]), 10, 0.05)
    wanted = [stats.binomtest(k, 10).proportion_ci(method="exact") for k in (0, 3, 10)]
    np.testing.assert_allclose(limits, [(ci.low, ci.high) for ci in wanted], rtol=1e-9)


def test_what_is_no_randomized_response() -> None:
    with pytest.raises(InvalidParameter):
        dp.infer.randomized_response([0, 1], dp.mechanisms.Laplace(sensitivity=1, scale=1.0))  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter):
        dp.infer.randomized_response([0, 7], dp.mechanisms.RandomizedResponse(epsilon=1.0))
    with pytest.raises(InvalidParameter):
        dp.infer.randomized_response(
            [0, 1],
            dp.mechanisms.RandomizedResponse(epsilon=1.0),
            simultaneous="yes",  # type: ignore[arg-type]
        )
