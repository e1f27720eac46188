from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.mechanisms import Histogram
from tests.mechanisms.contract import NUMBERS_OUT_OF_RANGE, Case, MechanismContract
from tests.mechanisms.quadrature import enumerated


def case(adjacency: dp.Adjacency, **noise: float) -> Case:
    ((name, value),) = noise.items()
    return Case(
        f"{name} {value}, {adjacency.value}",
        lambda change: Histogram(**{name: value * change}, adjacency=adjacency),  # type: ignore[arg-type]
        name=name,
        value=value,
        adjacency=adjacency,
    )


def law(case: Case, reach: int) -> np.ndarray:
    k = np.arange(-reach, reach + 1)
    weights = (
        np.exp(-np.abs(k) / case.value) if case.name == "scale" else np.exp(-(k**2) / (2 * case.value**2))
    )
    return weights / weights.sum()


class TestHistogram(MechanismContract):
    cases = (
        case(dp.ADD_REMOVE, scale=2.0),
        case(dp.REPLACE_ONE, scale=3.0),
        case(dp.ADD_REMOVE, sigma=2.5),
        case(dp.REPLACE_ONE, sigma=4.0),
    )
    inputs = (np.array([3, 0, 12]), [[1, 2], [3, 4]])
    scalar = int
    dtype = np.int64
    grain = 1.0
    tight = 1e-8
    promises = (dp.ZCDP(0.1), dp.ApproxDP(0.5, 1e-6))
    bad_parameters = (
        *({"scale": x} for x in NUMBERS_OUT_OF_RANGE if x is not None),
        {"scale": None},
        {"sigma": 1.0},
        {"adjacency": "add"},
    )
    bad_values = (math.nan, "41", None, True, [], [1.0, 2.0], [1, 2.5])
    revealing = ([12345.678, 1.0], [12345, None])

    def calibrated(self, promise: Any) -> Any:
        return Histogram.calibrated(promise, noise="gaussian", adjacency=dp.REPLACE_ONE)

    def changed(self, mechanism: Any, factor: float) -> Any:
        if mechanism.sigma is None:
            return Histogram(scale=mechanism.scale * factor, adjacency=mechanism.adjacency)
        return Histogram(sigma=mechanism.sigma * factor, adjacency=mechanism.adjacency)

    def for_accuracy(self, case: Case, within: float, confidence: float, size: int) -> Any:
        noise: Any = "geometric" if case.name == "scale" else "gaussian"
        return Histogram.for_accuracy(within, confidence, size=size, noise=noise, adjacency=case.adjacency)

    def cdf(self, case: Case, x: np.ndarray) -> np.ndarray:
        reach = math.ceil(45 * case.value)
        total = np.concatenate(([0.0], np.cumsum(law(case, reach))))
        return total[np.clip(np.floor(x).astype(int) + reach + 1, 0, len(total) - 1)]

    def profile(self, case: Case, epsilon: float) -> float:
        """One count moves by one; or two do, one up and one down: the product of both laws, written out."""
        reach = math.ceil((45 if case.name == "scale" else 12) * case.value)
        p = law(case, reach)
        up, down = np.append(0.0, p), np.append(p, 0.0)
        if case.adjacency is dp.ADD_REMOVE:
            return enumerated(up, down, epsilon)
        return enumerated(np.outer(up, down).ravel(), np.outer(down, up).ravel(), epsilon)


def test_sensitivities() -> None:
    """1 for add/remove, 2 in l1 and sqrt(2) in l2 for replacement, any cells."""
    assert Histogram.calibrated(dp.PureDP(1.0)).scale == pytest.approx(1.0, rel=1e-8)
    assert Histogram.calibrated(dp.PureDP(1.0), adjacency=dp.REPLACE_ONE).scale == pytest.approx(
        2.0, rel=1e-8
    )
    replaced = Histogram.calibrated(dp.ZCDP(0.5), noise="gaussian", adjacency=dp.REPLACE_ONE)
    assert replaced.sigma == pytest.approx(math.sqrt(2), rel=1e-8)
    # Two separate counts cost less than one count that moves by two.
    both = Histogram(scale=2.0, adjacency=dp.REPLACE_ONE).loss
    assert both.epsilon(1e-3) < dp.losses.geometric(2.0, 2, dp.REPLACE_ONE).epsilon(1e-3)
    assert both.epsilon(0.0) == dp.losses.geometric(2.0, 2, dp.REPLACE_ONE).epsilon(0.0)


def test_proportions_are_proportions() -> None:
    found = Histogram.proportions([-3, 6, 2])
    assert found == pytest.approx([0.0, 0.75, 0.25])
    assert Histogram.proportions([-3, -1]) == pytest.approx([0.5, 0.5])


def test_one_kind_of_noise() -> None:
    with pytest.raises(InvalidParameter, match="not both"):
        Histogram(scale=1.0, sigma=1.0)
    with pytest.raises(InvalidParameter, match="give scale"):
        Histogram()
    with pytest.raises(InvalidParameter, match="geometric"):
        Histogram.calibrated(dp.PureDP(1.0), noise="laplace")  # type: ignore[arg-type]
