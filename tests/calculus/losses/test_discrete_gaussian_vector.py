"""Discrete Gaussian noise on vectors: under the contract and against the enumerated law of two coordinates."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dalenius as dp
from dalenius import losses
from dalenius.cli.loss_expressions import read_loss
from dalenius.errors import InvalidParameter, TooLittleNoise
from tests.calculus.contract import Case, LossContract


def weights(sigma: float) -> tuple[np.ndarray, np.ndarray]:
    k = np.arange(-int(12 * sigma) - 3, int(12 * sigma) + 4)
    w = np.exp(-(k**2) / (2 * sigma**2))
    return k, w / w.sum()


class TestDiscreteGaussianVector(LossContract):
    """Two coordinates that both move by 1."""

    cases = (Case("sigma 4", lambda x: losses.discrete_gaussian_vector(4.0 * x, 2), sigma=4.0),)
    attained_at = ()
    planted = (1.3,)
    exact_width = 1.0
    proved = False
    examples = 2
    repeats = (2,)
    epsilons = (0.0, 0.3)
    cheap = False

    def draw(self, case: Case, rng: np.random.Generator, size: int, present: bool) -> np.ndarray:
        k, w = weights(case.sigma)
        return rng.choice(k, (size, 2), p=w) + present

    def log_ratio(self, case: Case, outcomes: np.ndarray) -> np.ndarray:
        return np.asarray((2 * outcomes.sum(axis=1) - 2) / (2 * case.sigma**2))


@pytest.mark.parametrize("sigma", [0.6, 2.0, 10.0])
@pytest.mark.parametrize("squared", [2, 5])
def test_against_the_law(sigma: float, squared: int) -> None:
    """(1, 1) and (1, 2): all outcomes of two coordinates, added up."""
    move = {2: (1, 1), 5: (1, 2)}[squared]
    k, w = weights(sigma)
    p = np.outer(w, w)
    at = (2 * (move[0] * k[:, None] + move[1] * k[None, :]) + squared) / (2 * sigma**2)
    loss = losses.discrete_gaussian_vector(sigma, squared)
    for epsilon in np.array([0.0, 0.5, 1.5, 4.0]) / sigma:
        truth = float((p * np.maximum(0.0, -np.expm1(np.minimum(epsilon - at, 0.0)))).sum())
        assert truth <= loss.delta(epsilon) * (1 + 1e-9)
        if sigma > 5:
            assert loss.delta(epsilon) <= truth * 1.1
    assert loss.zcdp() == pytest.approx(squared / (2 * sigma**2), rel=1e-12)


def test_one_coordinate_is_the_exact_law() -> None:
    assert losses.discrete_gaussian_vector(3.0, 9, coordinates=1) == losses.discrete_gaussian(3.0, 3)
    assert losses.discrete_gaussian_vector(3.0, 1) == losses.discrete_gaussian(3.0)
    assert dp.mechanisms.DiscreteGaussian(
        sensitivity=math.sqrt(7), sigma=3.0
    ).loss == losses.discrete_gaussian_vector(3.0, 7)


def test_written_and_read() -> None:
    loss = losses.discrete_gaussian_vector(3.0, 7, 4, dp.REPLACE_ONE)
    assert losses.Loss.from_json(loss.to_json()) == loss
    assert read_loss("discrete_gaussian_vector(3, 7, 4, replace_one)") == loss


def test_refusals() -> None:
    for wrong in (
        lambda: losses.discrete_gaussian_vector(0.0, 2),
        lambda: losses.discrete_gaussian_vector(1.0, 0),
        lambda: losses.discrete_gaussian_vector(1.0, 2.5),  # type: ignore[arg-type]
        lambda: losses.discrete_gaussian_vector(1.0, 2, 0),
        lambda: losses.discrete_gaussian_vector(1e200, 2),
    ):
        with pytest.raises(InvalidParameter):
            wrong()
    with pytest.raises(TooLittleNoise):
        losses.discrete_gaussian_vector(1e-6, 4)


def test_the_end_of_the_table_below_is_no_lower_bound() -> None:
    """What lies beyond it need not have so large a loss: 5e-300 of the law was said to be delta at every epsilon."""
    assert losses.discrete_gaussian_vector(500.0, 3).delta_bounds(40.0).lower == 0.0
