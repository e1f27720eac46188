"""The analysis of variance where a public level has no rows."""

from __future__ import annotations

import numpy as np

import dalenius as dp
from dalenius.infer.hypotheses import reference

DRAWS = 4000


def test_an_empty_level_is_no_evidence() -> None:
    """All values are alike. At level .1 a right test rejects .13 or more of 4000 with chance 1e-9; one that takes the
    empty level's mean for 0 rejects .2."""
    test = dp.infer.AnovaTest(dp.GDP(3.0), bounds=(0, 1), levels=("a", "b", "c"))
    generator, rows = np.random.default_rng(0), np.array([70.0, 20.0, 0.0])
    exact = np.tile(rows, (DRAWS, 1))
    real = test._noisy(generator, exact, 0.98 * exact, np.full(DRAWS, 0.98**2 * rows.sum()))
    # The level is released with so few rows that it is taken to have two.
    simulated = test._null(generator, np.maximum(rows, 2), 0.98, 0.0086, DRAWS)
    assert np.mean(reference.pvalues(real, simulated) <= 0.1) < 0.13
