"""Any estimator on disjoint parts: the promise is kept, and what fails counts as zeros."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression as Plain

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.learn import SubsampleAggregate
from tests.noise.seeded import seeded
from tests.sample import sampled

FALSE_ALARM = 1e-9
PROMISES = [
    dp.ApproxDP(30.0, 1e-5),
    dp.PureDP(25.0),
    dp.GDP(10.0),
    dp.ApproxDP(1.0, 1e-5),
    dp.PureDP(1.0),
    dp.GDP(1.0),
]
"""With the first three the noise is small beside what is released; the others are promises people make."""


class TestSubsampleAggregate:
    def data(self, rows: int = 4000) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(0)
        x = rng.normal(size=(rows, 2))
        return x, x @ [1.0, -1.0] + 0.1 * rng.normal(size=rows)

    @pytest.mark.parametrize("promise", sampled(PROMISES))
    def test_keeps_its_promise(self, promise: Any) -> None:
        """Targets without noise: every part finds (1, -1, 0), so that nothing but the noise of the mean is left.

        A part too small to do so, with less than 3 of the 4000 records, has probability 40 * 5000 e^-100 < 1e-37. So
        the test of a promise fails with probability FALSE_ALARM, over the choice of the noise, which is fixed here.
        """
        x, _ = self.data()
        with seeded(1):
            model = SubsampleAggregate(Plain(), promise, size=3, bound=2.0, parts=40).fit(x, x @ [1.0, -1.0])
        assert promise.holds(model.loss_)
        far = abs(model.value_ - [1, -1, 0]).max()
        assert far < model._mechanism().accuracy(1 - FALSE_ALARM, size=3) + 1e-9
        assert far > 1e-3 * model._mechanism().accuracy(0.5, size=3)  # noise was added
        assert model.predict(x).shape == (len(x),)

    @pytest.mark.parametrize("promise", PROMISES[:3])
    def test_the_tolerance_tells_a_mean_off_by_15_percent(self, promise: Any) -> None:
        mechanism = SubsampleAggregate(Plain(), promise, size=3, bound=2.0, parts=40)._mechanism()
        assert mechanism.accuracy(1 - FALSE_ALARM, size=3) < 0.15

    def test_whatever_fails_counts_as_zeros(self) -> None:
        x, y = self.data(5)
        model = SubsampleAggregate(Plain(), dp.ApproxDP(1.0, 1e-5), size=3, bound=2.0, parts=8)
        assert np.isfinite(model.fit(x, y).value_).all()
        assert np.isfinite(model.fit(x[:0], y[:0]).value_).all()
        assert np.isfinite(model.fit(x, np.full(5, np.nan)).value_).all()
        assert np.isfinite(model.set_params(size=7).fit(x, y).value_).all()

    def test_bad_parameters(self) -> None:
        x, y = self.data(50)
        for options in ({"bound": 0.0}, {"parts": 1}, {"size": 0}, {"guarantee": 1.0}):
            made: dict[str, Any] = {"guarantee": dp.GDP(1.0), "size": 3, "bound": 1.0, "parts": 5, **options}
            with pytest.raises(InvalidParameter):
                SubsampleAggregate(Plain(), **made).fit(x, y)
