"""No row is so large that it makes itself heard: a warning would tell of it."""

from __future__ import annotations

import warnings

import numpy as np

from dalenius.infer.local_model.people import People
from dalenius.infer.scores import ArraySource, CurveScore, Standard
from dalenius.sums.curves import PseudoHuber


def test_a_row_of_any_size_is_summed_without_a_warning() -> None:
    standard = Standard(np.zeros(1), np.ones(1), 1.0, 1.5)
    score, theta = CurveScore(PseudoHuber(knee=0.01)), np.array([1e140, 1.0])
    features, responses = np.array([[1.0], [1e149], [-3.0]]), np.array([1e308, -1e308, 0.5])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = ArraySource(features, responses).rows(standard)
        totals = rows.totals(theta, score, want_score=True, want_bend=True, want_square=True)
        assert rows.residual_counts(theta, np.array([1.0, 2.0])).sum() == 3
        people = People(features, responses, standard, score)
        assert np.isfinite(people.scores(theta, 1.0)).all()
        assert np.isfinite(people.bends(theta, 1.0)).all()
    assert totals.score is not None
    assert len(totals.score) == 2
