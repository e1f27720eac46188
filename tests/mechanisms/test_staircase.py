from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.errors import CannotMeet, InvalidParameter
from dalenius.mechanisms import Laplace, Staircase
from dalenius.mechanisms.staircase import MAX_EPSILON
from dalenius.noise import Grid
from tests.mechanisms.contract import NUMBERS_OUT_OF_RANGE, Case, MechanismContract, bits
from tests.mechanisms.quadrature import enumerated


def case(sensitivity: float, epsilon: float, **more: Any) -> Case:
    return Case(
        f"sensitivity {sensitivity}, epsilon {epsilon}, {more}",
        lambda change: Staircase(sensitivity=sensitivity, epsilon=epsilon / change, **more),
        sensitivity=sensitivity,
        epsilon=epsilon,
        options=more,
    )


def density(x: np.ndarray, epsilon: float, gamma: float) -> np.ndarray:
    """As Geng and Viswanath (2016) define it, interval by interval, for sensitivity 1."""
    b = math.exp(-epsilon)
    a = (1 - b) / (2 * (gamma + b * (1 - gamma)))
    k = np.floor(np.abs(x))
    return a * b**k * np.where(np.abs(x) - k < gamma, 1.0, b)


def corners(epsilon: float, gamma: float) -> np.ndarray:
    """Where the density steps, out to exp(-45)."""
    whole = np.arange(math.ceil(45 / epsilon) + 1.0)
    half = np.concatenate((whole, whole + gamma))
    return np.unique(np.concatenate((-half, half)))


def optimum(epsilon: float, power: int) -> float:
    """The gamma with the least expected |N|^power, by brute force over the integral of the density."""

    def error(gamma: float) -> float:
        at = corners(epsilon, gamma)
        at = at[at >= 0]
        weight = density((at[1:] + at[:-1]) / 2, epsilon, gamma)
        return float(2 * weight @ np.diff(at ** (power + 1)) / (power + 1))

    gammas = np.linspace(0.001, 0.999, 999)
    return float(gammas[np.argmin([error(gamma) for gamma in gammas])])


class TestStaircase(MechanismContract):
    cases = (
        case(1, 1.0),
        case(2.0, 4.0),
        case(0.3, 2.5, objective="squared", adjacency=dp.REPLACE_ONE),
        case(5, 0.3, objective="squared"),
    )
    promises = (dp.PureDP(0.3), dp.PureDP(5.0), dp.ApproxDP(0.5, 1e-3), dp.ZCDP(0.2), dp.GDP(0.5))
    bad_parameters = (
        *({"sensitivity": x} for x in NUMBERS_OUT_OF_RANGE),
        *({"epsilon": x} for x in NUMBERS_OUT_OF_RANGE),
        *({"objective": x} for x in ("variance", None, 1)),
        *({"coordinates": x} for x in (0, 1.5)),
        {"adjacency": "add"},
        {"epsilon": 1e-14},
        {"epsilon": 501.0},
    )

    def calibrated(self, promise: Any) -> Any:
        return Staircase.calibrated(promise, sensitivity=0.7)

    def changed(self, mechanism: Any, factor: float) -> Any:
        return replace(mechanism, epsilon=mechanism.epsilon / factor)

    def for_accuracy(self, case: Case, within: float, confidence: float, size: int) -> Any:
        return Staircase.for_accuracy(
            within, confidence, sensitivity=case.sensitivity, size=size, **case.options
        )

    def cdf(self, case: Case, x: np.ndarray) -> np.ndarray:
        """Linear between the corners."""
        gamma = optimum(case.epsilon, 2 if "objective" in case.options else 1)
        at = corners(case.epsilon, gamma)
        mass = density((at[1:] + at[:-1]) / 2, case.epsilon, gamma) * np.diff(at)
        assert mass.sum() == pytest.approx(1, abs=1e-12)
        return np.interp(x / case.sensitivity, at, np.concatenate(([0.0], np.cumsum(mass))))

    def profile(self, case: Case, epsilon: float) -> float:
        """The density against itself moved by the sensitivity, cell by cell between all corners of both."""
        gamma = case.mechanism.gamma
        at = corners(case.epsilon, gamma)
        at = np.unique(np.round(np.concatenate((at, at + 1)), 13))
        middle, width = (at[1:] + at[:-1]) / 2, np.diff(at)
        one, two = (density(middle - shift, case.epsilon, gamma) * width for shift in (0, 1))
        return enumerated(one, two, epsilon)


class TestOnAGrid:
    """The noise as it is drawn, on grids of a few steps, written out."""

    @pytest.mark.parametrize(("wide", "first"), [(2, 1), (8, 1), (8, 3), (8, 4), (50, 20)])
    @pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
    def test_every_shift(self, epsilon: float, wide: int, first: int) -> None:
        """Shifts up to the sensitivity keep within the loss, the whole one attains it, one step more breaks it."""
        cells = np.arange(math.ceil(50 / epsilon) * wide)
        p = np.exp(-epsilon * np.floor((cells + wide - first) / wide))
        p = np.concatenate((np.zeros(wide + 1), p[::-1], p, np.zeros(wide + 1)))
        p /= p.sum()
        loss = dp.losses.staircase(epsilon, first / wide)
        for level in (0.0, epsilon / 3, 0.9 * epsilon, epsilon):
            stated = loss.delta(level)
            for shift in range(wide + 1):
                assert enumerated(p, np.roll(p, shift), level) <= stated + 1e-12, (level, shift)
            assert enumerated(p, np.roll(p, wide), level) >= stated - 1e-12
        assert enumerated(p, np.roll(p, wide + 1), epsilon) > 1e-4

    def test_what_is_drawn(self) -> None:
        """Odd multiples of half a grid step, the same to the left and to the right."""
        m = Staircase(sensitivity=1, epsilon=2.0)
        with bits("steps"):
            drawn = m.releases(0.0, 50_000)
        step = float(m._grid.granularity) / 2
        assert ((drawn / step) % 2 == 1).all()
        assert abs((drawn > 0).mean() - 0.5) < 0.015

    def test_a_coarse_grid_is_drawn_as_written_out(self) -> None:
        """The law of every cell, from a grid on which the sensitivity is 4 steps; 7 standard deviations."""
        m = Staircase(sensitivity=1, epsilon=1.0)
        m.__dict__["_grid"] = Grid(Fraction(1, 4))
        del m.__dict__["_first_step"]
        assert (m._wide, m._first_step) == (4, 2)
        with bits("coarse"):
            drawn = m._cells(200_000)
        cells = np.arange(-60, 60)
        p = np.exp(-np.floor((np.where(cells < 0, -cells - 1, cells) + 2) / 4))
        p /= p.sum()
        counted = np.array([(drawn == cell).sum() for cell in cells])
        allowed = 7 * np.sqrt(200_000 * p) + 20
        assert (np.abs(counted - 200_000 * p) < allowed).all()


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.0, 4.0, 8.0])
def test_gamma_is_optimal(epsilon: float) -> None:
    for power, objective in ((1, "absolute"), (2, "squared")):
        m = Staircase(sensitivity=1, epsilon=epsilon, objective=objective)
        assert m.gamma == pytest.approx(optimum(epsilon, power), abs=0.0011)


def test_less_noise_than_laplace() -> None:
    """The expected error is sensitivity / (2 sinh(epsilon/2)): 2.5 % of Laplace's at epsilon = 10."""
    for epsilon in (0.5, 3.0, 10.0):
        with bits("error", epsilon):
            drawn = np.abs(Staircase(sensitivity=2, epsilon=epsilon).releases(0.0, 100_000))
        truth = 1 / math.sinh(epsilon / 2)
        assert truth < 2 / epsilon
        assert drawn.mean() == pytest.approx(truth, abs=7 * drawn.std() / math.sqrt(len(drawn)))
    assert Staircase(sensitivity=1, epsilon=10.0).accuracy(0.9) < 0.1 * Laplace(
        sensitivity=1, scale=0.1
    ).accuracy(0.9)


def test_the_loss_is_less_than_pure() -> None:
    m = Staircase(sensitivity=1, epsilon=1.0)
    assert m.loss.epsilon(0.0) == 1.0
    assert (m.loss * 50).epsilon(1e-6) < 0.97 * (dp.losses.pure(1.0) * 50).epsilon(1e-6)


def test_coordinates() -> None:
    m = Staircase.calibrated(dp.GDP(1.0), sensitivity=1, coordinates=3)
    assert dp.GDP(1.0).holds(m.loss)
    one = Staircase(sensitivity=1, epsilon=m.epsilon)
    assert m.loss == one.loss * 3
    assert len(m.worst_pair.first) == 3


def test_extremes() -> None:
    for epsilon in (1e-12, 1e-6, 50.0, MAX_EPSILON):
        m = Staircase(sensitivity=3, epsilon=epsilon)
        assert 0 < m.gamma <= 0.5
        assert math.isfinite(m.release(41))
        assert m.loss.epsilon(0.0) == epsilon


def test_refusals() -> None:
    with pytest.raises(CannotMeet, match="allows no dependence"):
        Staircase.calibrated(dp.PureDP(0.0), sensitivity=1)
    with pytest.raises(CannotMeet, match="no epsilon up to 500"):
        Staircase.for_accuracy(1e-14, sensitivity=1)
    with pytest.raises(InvalidParameter, match="'absolute' or 'squared'"):
        Staircase(sensitivity=1, epsilon=1.0, objective="mean")  # type: ignore[arg-type]
