"""The loss of staircase noise under the contract, and written out."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dalenius as dp
from dalenius import losses
from dalenius.errors import InvalidParameter
from tests.calculus.contract import Case, LossContract


class TestStaircase(LossContract):
    cases = tuple(
        Case(
            f"epsilon {e} gamma {g}",
            lambda x, e=e, g=g: losses.staircase(e / x, g),
            mechanism=(float(e), float(g)),
        )
        for e, g in ((1.0, 0.4), (0.3, 0.5), (3.0, 0.2), (2.0, 0.7))
    )

    def draw(self, case: Case, rng: np.random.Generator, size: int, present: bool) -> np.ndarray:
        """As Geng and Viswanath (2016) draw it, Algorithm 1: a sign, a level, one of two steps, a place on it."""
        epsilon, gamma = case.mechanism
        b = math.exp(-epsilon)
        level = rng.geometric(1 - b, size) - 1
        second = rng.random(size) < (1 - gamma) * b / (gamma + (1 - gamma) * b)
        place = rng.random(size)
        part = np.where(second, gamma + (1 - gamma) * place, gamma * place)
        return rng.choice([-1.0, 1.0], size) * (level + part) + present

    def log_ratio(self, case: Case, outcomes: np.ndarray) -> np.ndarray:
        epsilon, gamma = case.mechanism
        steps = [np.floor(np.abs(outcomes - moved) + 1 - gamma) for moved in (0, 1)]
        return epsilon * (steps[0] - steps[1])


@pytest.mark.parametrize("epsilon", [1e-9, 0.1, 1.0, 20.0, 700.0])
@pytest.mark.parametrize("gamma", [1e-12, 0.3, 0.5, 0.8])
def test_three_losses(epsilon: float, gamma: float) -> None:
    (pair, _), *_ = losses.staircase(epsilon, gamma).terms_remove
    assert pair.loss.tolist() == [x for x in (-epsilon, 0.0, epsilon) if x or gamma != 0.5][: len(pair.loss)]
    assert pair.mass.sum() == pytest.approx(1, abs=1e-15)
    assert (pair.mass * np.exp(-pair.loss)).sum() == pytest.approx(1, abs=1e-14)


def test_between_nothing_and_pure() -> None:
    assert losses.staircase(1.0, 0.5).delta(0.3) == pytest.approx(losses.pure(1.0).delta(0.3), rel=1e-14)
    below = [losses.staircase(1.0, g).delta(0.3) for g in (0.1, 0.2, 0.3, 0.4, 0.5)]
    assert below == sorted(below)
    above = [losses.staircase(1.0, g).delta(0.3) for g in (0.9, 0.8, 0.7, 0.6, 0.5)]
    assert above == sorted(above)
    assert losses.staircase(0.0, 0.3) == dp.Loss.zero(dp.ADD_REMOVE)


@pytest.mark.parametrize("gamma", [0, 1, -0.1, math.nan, "0.5", None, True])
def test_refuses_a_bad_gamma(gamma: object) -> None:
    with pytest.raises(InvalidParameter, match="gamma"):
        losses.staircase(1.0, gamma)  # type: ignore[arg-type]
