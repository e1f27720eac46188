"""Logistic regression with noise for the data's curvature."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.errors import CannotMeet
from dalenius.learn import LocalLogisticRegression
from tests.learn.contract import EstimatorContract
from tests.learn.models.test_classifiers import ClassifierContract
from tests.noise.seeded import seeded


class TestLocalLogisticRegression(EstimatorContract):
    promises = (dp.ApproxDP(1.0, 1e-5), dp.ApproxDP(0.1, 1e-6), dp.ApproxDP(8.0, 1e-5))
    audited = (dp.ApproxDP(1.0, 1e-2),)
    fitted = ClassifierContract.fitted
    expected = ClassifierContract.expected
    by_chance = ClassifierContract.by_chance
    trials = 300
    target = ClassifierContract.target
    worst_pair = ClassifierContract.worst_pair
    worst_options = ClassifierContract.worst_options

    def build(self, promise: Any, **options: Any) -> LocalLogisticRegression:
        return LocalLogisticRegression(promise, **options)

    def test_classes_are_declared(self) -> None:
        x, y = self.data(5000)
        names = np.array(["no", "yes"])[y]
        model = self.build(dp.ApproxDP(8.0, 1e-5), classes=("no", "yes")).fit(x, names)
        assert set(model.predict(x)) <= {"no", "yes"}
        assert model.score(x, names) > 0.8

    def test_other_promises_cannot_be_kept(self) -> None:
        x, y = self.data()
        for promise in (dp.PureDP(1.0), dp.GDP(1.0), dp.ApproxDP(1.0, 0.0)):
            with pytest.raises(CannotMeet):
                self.build(promise).fit(x, y)

    def test_more_records_more_curvature_less_noise(self) -> None:
        """Over 20 fits each: the spread of a coefficient with 30 000 records is far below that with 1 000."""
        spread = []
        with seeded(4):
            for rows in (1000, 30_000):
                x, y = self.data(rows)
                model = self.build(self.promises[0], ridge=1.0)
                spread.append(np.std([model.fit(x, y).coef_[0, 1] for _ in range(20)]))
        assert spread[1] < spread[0] / 20
