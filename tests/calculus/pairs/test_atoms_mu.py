"""The mu of finite pairs: it covers the profile everywhere, a little less does not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtri

import dalenius as dp
from dalenius import losses
from dalenius.calculus.pairs.atoms_mu import atoms_mu


def test_randomized_response_is_as_known() -> None:
    e = math.exp(1.3)
    found = losses.pure(1.3).gdp()
    assert found == pytest.approx(-2 * ndtri(1 / (1 + e)), rel=1e-10)


@pytest.mark.parametrize("seed", range(12))
def test_a_gaussian_covers_every_test_and_none_less_does(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = rng.exponential(size=3 + 4 * seed)
    q = p * np.exp(rng.uniform(0.01, 2.0) * rng.standard_normal(len(p)))
    p, q = p / p.sum(), q / q.sum()
    loss = np.log(p / q)
    mu = atoms_mu(loss, p, 1e-12)
    own, less = losses.from_pair(p.tolist(), q.tolist()), losses.gdp(mu * 0.999)
    places = np.unique(np.concatenate((np.linspace(-3, 3, 121), loss, loss + 1e-3, loss - 1e-3)))
    deltas = [own.remove.delta(float(e)).upper for e in places]
    assert all(losses.gdp(mu).delta(float(e)) >= d * (1 - 1e-9) for e, d in zip(places, deltas, strict=True))
    # At the test that decides, a little less is too little: its level and power.
    order = np.argsort(loss)[::-1]
    power, level = np.cumsum(p[order])[:-1], np.cumsum(q[order])[:-1]
    assert max(less.tradeoff(float(a)) - (1 - b) for a, b in zip(level, power, strict=True)) > 0
    assert own.gdp() >= mu * (1 - 1e-9)


def test_shuffled_reports_are_amplified_in_every_view() -> None:
    local = losses.randomized_response(1.0, adjacency=dp.REPLACE_ONE)
    loss = losses.shuffled(local, 1000)
    mu, rho = loss.gdp(), loss.zcdp()
    assert mu < 0.1 * local.gdp()
    assert rho < 0.01 * local.zcdp()
    for epsilon in (0.0, 0.02, 0.05, 0.1, 0.3, 0.6, 0.99):
        assert losses.gdp(mu).delta(epsilon) >= loss.delta_bounds(epsilon).lower
    for order in (1.0, 1.5, 3.0, 20.0, 300.0, 1e4):
        assert loss.renyi(order) <= rho * order * (1 + 1e-9)
    assert (loss * 7).gdp() == pytest.approx(mu * math.sqrt(7), rel=1e-9)
    assert (loss * 7).zcdp() == pytest.approx(rho * 7, rel=1e-3)


def test_a_loss_that_gives_someone_away_has_no_mu() -> None:
    assert losses.from_pair([0.5, 0.5, 0.0], [0.4, 0.5, 0.1]).gdp() == math.inf
    assert losses.approx(0.1, 1e-9).gdp() == math.inf
