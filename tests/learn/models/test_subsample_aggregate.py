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


class TestSubsampleAggregate:
    def data(self, rows: int = 4000) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(0)
        x = rng.normal(size=(rows, 2))
        return x, x @ [1.0, -1.0] + 0.1 * rng.normal(size=rows)

    @pytest.mark.parametrize("promise", [dp.ApproxDP(1.0, 1e-5), dp.PureDP(1.0), dp.GDP(1.0)])
    def test_keeps_its_promise(self, promise: Any) -> None:
        x, y = self.data()
        with seeded(1):
            model = SubsampleAggregate(Plain(), promise, size=3, bound=2.0, parts=40).fit(x, y)
        assert promise.holds(model.loss_)
        # Noise of 4 bound/(parts epsilon) or so: 0.2 to 0.5.
        assert abs(model.value_ - [1, -1, 0]).max() < 2.0
        assert model.predict(x).shape == (len(x),)

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
