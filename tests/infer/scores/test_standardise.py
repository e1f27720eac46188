"""Centres and scales from noisy counts: near enough for columns of every kind, at the price that is stated."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dalenius as dp
from dalenius.infer.scores import ArraySource
from dalenius.infer.scores.residual_scale import EDGES, ResidualScale
from dalenius.infer.scores.standardise import standardise
from dalenius.mechanisms import Gaussian
from tests.noise.seeded import seeded

random = np.random.default_rng(0)
N = 5000
COLUMNS = {
    "normal": (random.normal(0, 1, N), 0.0, 1.0),
    "ages": (random.normal(45, 15, N), 45.0, 15.0),
    "years": (random.normal(2005, 8, N), 2005.0, 8.0),
    "densities": (random.normal(0.994, 0.003, N), 0.994, 0.003),
    "codes": (random.integers(1, 3, N).astype(float), 1.5, 0.5),
    "heavy tails": (random.standard_t(3, N) * 1e4, 0.0, 1e4),
    "zeros beside amounts": (np.where(random.random(N) < 0.3, 0.0, random.normal(5e4, 2e4, N)), 3.5e4, 2.9e4),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("adjacency", [dp.ADD_REMOVE, dp.REPLACE_ONE])
def test_columns_are_brought_to_size(name, bounded, adjacency):
    values, center, scale = COLUMNS[name]
    bounds = [(center - 20 * scale, center + 12 * scale) if bounded else None]
    with seeded(3):
        [(found, spread)] = standardise(ArraySource(values[:, None], values), [0], bounds, 0.2, adjacency)
    assert abs(found - center) < 1.2 * scale
    assert 0.4 * scale < spread < 2.5 * scale


@pytest.mark.parametrize("scale", [1e-3, 0.04, 1.0, 30.0, 900.0])
@pytest.mark.parametrize("law", ["normal", "t3"])
def test_the_scale_of_residuals(scale, law):
    """2 000 residuals, noise of 20 a bin: within a quarter of 1.4826 times the median."""
    drawn = np.random.default_rng(1)
    residuals = np.abs(drawn.normal(size=2000) if law == "normal" else drawn.standard_t(3, 2000)) * scale
    counts = np.bincount(np.searchsorted(EDGES, residuals), minlength=len(EDGES) + 1)
    noisy = counts + drawn.normal(0, 20, len(counts))
    assert ResidualScale.of(noisy, 20.0).scale == pytest.approx(1.4826 * np.median(residuals), rel=0.25)


def test_the_price_of_looking(monkeypatch):
    spent = []
    right = Gaussian.release

    def release(self, value):
        spent.append(self.sensitivity / self.sigma)
        assert self.sensitivity == pytest.approx(math.sqrt(2 * 2))  # two columns, one row for another
        return right(self, value)

    monkeypatch.setattr(Gaussian, "release", release)
    table = random.normal(size=(50, 2))
    standardise(ArraySource(table, table[:, 0]), [0, 2], [None, (0.0, 1.0)], 0.3, dp.REPLACE_ONE)
    assert math.hypot(*spent) == pytest.approx(0.3, rel=1e-9)
    assert len(spent) == 3
