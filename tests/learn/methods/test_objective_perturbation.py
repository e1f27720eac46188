"""A solver that stops short of its tolerance: what is released then does not depend on the data at all.

Nothing here is random but seeded noise: no false alarms.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.learn import LogisticRegression
from dalenius.learn.methods import objective_perturbation as objective
from tests.noise.seeded import seeded

PROMISES = [dp.ApproxDP(1.0, 1e-5), dp.PureDP(1.0)]


def data(rows: int, sign: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(rows)
    x = rng.normal(size=(rows, 3))
    return x, (sign * x[:, 0] > 0).astype(int)


DATASETS = [data(300, 1.0), data(40, -1.0), data(0, 1.0)]


def released(model: Any, seed: int, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    with seeded(seed):
        model.fit(x, y)
    return np.append(model.coef_, model.intercept_)


def scale(model: Any) -> float:
    """Of the output noise of one coefficient."""
    plan = model.plan_
    return float(plan.output_sigma if hasattr(plan, "output_sigma") else plan.output_scale)


@pytest.fixture
def stops_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """The solver gives what it has, which is far from the minimum, and says so."""
    monkeypatch.setattr(objective, "minimiser", lambda o, tolerance: (7.0 + 0 * o.noise, 1e3))


@pytest.mark.parametrize("promise", PROMISES, ids=repr)
class TestSolverStopsShort:
    @pytest.mark.usefixtures("stops_short")
    def test_released_is_noise_around_zero_whatever_the_data(self, promise: Any) -> None:
        model = LogisticRegression(promise)
        first, *others = (released(model, 3, x, y) for x, y in DATASETS)
        for other in others:
            np.testing.assert_array_equal(first, other)
        # Not the solver's 7, and of the size of the output noise: four numbers within 60 scales of it, which fails
        # with probability below 1e-21 (in two and more dimensions the length of K-norm noise is a gamma variable).
        assert 0 < np.abs(first).max() < 60 * scale(model)
        assert (first != released(model, 4, *DATASETS[0])).all()

    def test_without_the_mishap_the_data_matter(self, promise: Any) -> None:
        """The test above can fail: the same bits and a solver that converges tell data sets apart."""
        model = LogisticRegression(promise)
        first, *others = (released(model, 3, x, y) for x, y in DATASETS)
        for other in others:
            assert np.abs(first - other).max() > 60 * scale(model)

    def test_nothing_tells(self, promise: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """The cost, the attributes and what is said are those of a fit that went well."""
        usual = LogisticRegression(promise).fit(*DATASETS[0])
        monkeypatch.setattr(objective, "minimiser", lambda o, tolerance: (0 * o.noise, 1e3))
        model = LogisticRegression(promise)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.fit(*DATASETS[0])
        assert model.loss_ == usual.loss_ == model.price()
        assert promise.holds(model.loss_)
        assert set(vars(model)) == set(vars(usual))
        telling = {"coef_", "intercept_"}
        for name in set(vars(usual)) - telling:
            assert np.array_equal(getattr(model, name), getattr(usual, name)), name

    @pytest.mark.parametrize(("short", "falls_back"), [(0.5, False), (1.0, True), (2.0, True)])
    def test_the_tolerance_decides(
        self, promise: Any, short: float, falls_back: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A gradient of half the tolerance is good; one of all of it, rounding on top, is not."""
        model = LogisticRegression(promise)
        tolerance = model._plan().tolerance  # type: ignore[attr-defined]
        monkeypatch.setattr(objective, "minimiser", lambda o, t: (7.0 + 0 * o.noise, short * tolerance))
        found = released(model, 5, *DATASETS[0])
        np.testing.assert_allclose(found[:-1], 0.0 if falls_back else 7.0, rtol=0, atol=60 * scale(model))


def gives_nan(o: Any, tolerance: float) -> Any:
    return np.nan * o.noise, float("nan")


def raises(o: Any, tolerance: float) -> Any:
    raise np.linalg.LinAlgError("the Hessian is singular")


@pytest.mark.parametrize("promise", PROMISES, ids=repr)
@pytest.mark.parametrize("breaks", [gives_nan, raises])
def test_a_solver_that_breaks_is_one_that_stops_short(
    breaks: Any, promise: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objective, "minimiser", breaks)
    model = LogisticRegression(promise)
    first, other = (released(model, 3, x, y) for x, y in DATASETS[:2])
    assert np.isfinite(first).all()
    np.testing.assert_array_equal(first, other)
