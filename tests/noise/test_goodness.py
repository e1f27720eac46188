"""The test of a law accepts it and rejects its neighbours."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tests.noise.goodness import WrongLaw, check_continuous, check_events, check_integers


def test_accepts_the_law() -> None:
    generator = np.random.default_rng(1)
    check_integers(generator.poisson(10, 100_000), stats.poisson(10).pmf, np.arange(80))
    check_continuous(generator.normal(size=100_000), stats.norm())


@pytest.mark.parametrize("mean", [9.8, 10.2])
def test_rejects_its_neighbours(mean: float) -> None:
    generator = np.random.default_rng(2)
    with pytest.raises(WrongLaw):
        check_integers(generator.poisson(mean, 100_000), stats.poisson(10).pmf, np.arange(80))


def test_rejects_a_single_value_that_is_off() -> None:
    values = np.random.default_rng(3).integers(0, 50, 100_000)
    values[values == 7] = 8
    with pytest.raises(WrongLaw):
        check_integers(values, lambda k: np.full(len(k), 0.02), np.arange(50))


def test_rejects_what_cannot_happen() -> None:
    with pytest.raises(WrongLaw):
        check_events([1], [0.0], 10)
