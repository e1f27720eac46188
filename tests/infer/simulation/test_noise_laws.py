"""Simulated noise has the law of the mechanism's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.infer.simulation.noise_laws import Noise, noise_laws

SIZE = 20_000
MECHANISMS = [
    (dp.mechanisms.Gaussian(sensitivity=1, sigma=3.0), lambda k: stats.norm.cdf(k / 3.0)),
    (dp.mechanisms.Laplace(sensitivity=1, scale=2.0), lambda k: stats.laplace.cdf(k / 2.0)),
    (dp.mechanisms.Geometric(sensitivity=1, scale=2.0), lambda k: stats.dlaplace(1 / 2.0).cdf(k)),
    (
        dp.mechanisms.DiscreteGaussian(sensitivity=1, sigma=3.0),
        lambda k: stats.norm.cdf((np.floor(k) + 0.5) / 3.0),
    ),
    (
        dp.mechanisms.DiscreteGaussian(sensitivity=1, sigma=2e4),
        lambda k: stats.norm.cdf((np.floor(k) + 0.5) / 2e4),
    ),
]


@pytest.mark.parametrize(("mechanism", "below"), MECHANISMS, ids=lambda m: type(m).__name__)
def test_law(mechanism: dp.mechanisms.Mechanism, below: object) -> None:
    """Chances within five standard errors at seven places (false alarm below 1e-5 if drawn, and these are seeded);
    15 % off is caught."""
    (law,) = noise_laws(mechanism, 1)
    drawn = Noise([law]).draw(np.random.default_rng(1), SIZE)[:, 0]
    places = np.array([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0]) * np.sqrt(law.variance)
    wanted = np.array([below(place) for place in places])  # type: ignore[operator]
    off = 5 * np.sqrt(wanted * (1 - wanted) / SIZE)
    seen = np.array([(drawn <= place).mean() for place in places])
    assert (np.abs(seen - wanted) < off).all()
    wide = np.array([(1.15 * drawn <= place).mean() for place in places])
    assert not (np.abs(wide - wanted) < off).all()
    assert abs(drawn.var() / law.variance - 1) < 0.1


def test_density_agrees_with_quantiles() -> None:
    mechanism = dp.mechanisms.Geometric(sensitivity=1, scale=2.0)
    (law,) = noise_laws(mechanism, 1)
    drawn = law.quantile(np.random.default_rng(2).random(SIZE))
    ratio = (drawn == 2).mean() / (drawn == 1).mean()
    density = law.log_density(np.array([2.0, 1.0]))
    assert abs(np.log(ratio) - (density[0] - density[1])) < 0.15


def test_what_is_no_additive_noise_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="the noise of RandomizedResponse cannot be simulated"):
        noise_laws(dp.mechanisms.RandomizedResponse(epsilon=1.0), 1)
    with pytest.raises(InvalidParameter, match="2 mechanisms were given for 3"):
        noise_laws([dp.mechanisms.Laplace(sensitivity=1, scale=1.0)] * 2, 3)
    with pytest.raises(InvalidParameter, match="mechanism must be what made the release"):
        noise_laws("Laplace", 1)
