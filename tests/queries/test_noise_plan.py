"""Noise for several groups: the promise is kept and nothing is wasted; what is drawn is what is accounted."""

from __future__ import annotations

import math
import re
import zlib

import numpy as np
import pytest

import dalenius as dp
from dalenius.calculus.guarantees import Guarantee
from dalenius.core.notebook import LEFT
from dalenius.errors import CannotMeet, InvalidParameter
from dalenius.queries.noise_plan import Group, NoisePlan, law_for
from tests.mechanisms.contract import follows
from tests.noise.seeded import seeded

PROMISES = [
    dp.PureDP(1.0),
    dp.PureDP(0.1),
    dp.ApproxDP(1.0, 1e-9),
    dp.ZCDP(0.5),
    dp.GDP(0.7),
    dp.RDP(8.0, 1.0),
]
GROUPS = [Group(1, 1), Group(2, 2), Group(4, 6, 2)]


def plan(promise: Guarantee, change: float = 1.0) -> NoisePlan:
    made = NoisePlan.calibrated(promise, law_for(promise, None), GROUPS, [1.0, 2.0, 3.0], dp.ADD_REMOVE)
    return NoisePlan(made.law, made.groups, tuple(x * change for x in made.scales), made.adjacency)


@pytest.mark.parametrize("promise", PROMISES, ids=str)
def test_the_promise_is_kept_and_less_noise_breaks_it(promise: Guarantee) -> None:
    assert promise.holds(plan(promise).loss)
    assert not promise.holds(plan(promise, 0.99).loss)
    first, second, third = plan(promise).scales
    assert math.isclose(second, 2 * first)
    assert math.isclose(third, 3 * first)


def test_pure_loss_is_the_sum() -> None:
    made = plan(dp.PureDP(1.0))
    exact = sum(group.l1 / scale for group, scale in zip(made.groups, made.scales, strict=True))
    assert made.loss.epsilon(0.0) == pytest.approx(exact, rel=1e-12)
    assert made.loss.epsilon(0.0) <= 1.0


@pytest.mark.parametrize("promise", [dp.ZCDP(0.5), dp.ApproxDP(2.0, 1e-6)], ids=str)
def test_gaussian_loss_against_the_exact_sum(promise: Guarantee) -> None:
    """Beside the composition of exact laws of one coordinate: never below it, and at most a fifth above."""
    made = NoisePlan.calibrated(promise, "gaussian", [Group(1, 1)] * 3, [1.0, 1.5, 2.0], dp.ADD_REMOVE)
    exact = sum(
        (dp.losses.discrete_gaussian(s, 1) for s in made.scales[1:]),
        dp.losses.discrete_gaussian(made.scales[0], 1),
    )
    for epsilon in (0.1, 0.5, 1.0, 2.0):
        truth = exact.delta_bounds(epsilon)
        assert made.loss.delta(epsilon) >= truth.lower
        assert made.loss.delta(epsilon) <= truth.upper * 1.2 + 1e-12
        assert made.loss.delta_bounds(epsilon).lower <= truth.upper


@pytest.mark.parametrize("promise", [dp.PureDP(1.0), dp.ZCDP(0.05)], ids=str)
def test_what_is_drawn_is_what_is_accounted(promise: Guarantee) -> None:
    """DKW at 1e-10 for each comparison; noise that is off by 15 % is found out."""

    def distribution(scale: float, k: np.ndarray) -> np.ndarray:
        """From the definition of the laws."""
        steps = np.arange(-4000, 4001)
        size = np.abs(steps) / scale if made.law == "laplace" else steps**2 / (2 * scale**2)
        weight = np.exp(-size)
        table = np.concatenate([[0.0], np.cumsum(weight / weight.sum())])
        return table[np.clip(np.floor(k).astype(int) + 4001, 0, 8001)]

    made = plan(promise)
    for i, scale in enumerate(made.scales):
        with seeded(zlib.crc32(f"{promise} {i}".encode())):
            drawn = made.noisy(i, np.zeros(40_000, dtype=np.int64)).astype(float)
        assert follows(drawn, lambda k, s=scale: distribution(s, k))  # type: ignore[misc]
        assert not follows(drawn, lambda k, s=scale: distribution(1.15 * s, k))  # type: ignore[misc]
        assert not follows(drawn, lambda k, s=scale: distribution(s / 1.15, k))  # type: ignore[misc]
        variance = float(made.variances[i])
        assert abs(drawn.var() / variance - 1) < 0.12  # 6.6 standard errors for the heavier tail


def test_a_person_with_several_rows() -> None:
    assert Group(4, 6, 2).times(3) == Group(12, 54, 6)


def test_laws() -> None:
    assert law_for(dp.PureDP(1.0), None) == "laplace"
    assert law_for(dp.ApproxDP(1.0, 1e-6), None) == "gaussian"
    assert law_for(dp.ApproxDP(1.0, 1e-6), "laplace") == "laplace"
    for promise, law in [
        (dp.PureDP(1.0), "gaussian"),
        (dp.ZCDP(1.0), "laplace"),
        (dp.ZCDP(1.0), "normal"),
        (1.0, None),
    ]:
        with pytest.raises(InvalidParameter):
            law_for(promise, law)  # type: ignore[arg-type]
    with pytest.raises(CannotMeet, match="ask fewer questions"):
        NoisePlan.calibrated(dp.PureDP(1e-12), "laplace", [Group(10**6, 10**6)], [1.0], dp.ADD_REMOVE)


def test_a_plan_is_shown_with_its_noise_and_cost() -> None:
    plan = NoisePlan.calibrated(
        dp.ZCDP(0.5), "gaussian", [Group(2, 4)] * 14, [1.0] * 7 + [2.0] * 7, dp.ADD_REMOVE
    )
    least, most = plan.scales[0], plan.scales[-1]
    assert repr(plan) == f"<NoisePlan: Gaussian noise of scale {least:.4g} to {most:.4g} on 14 groups>"
    shown = plan._repr_html_()
    assert f'<td style="{LEFT}">{least:.6g}</td>' in shown
    assert "and 2 groups more" in shown
    told = float(re.search(r"at most ([\d.]+)", shown)[1])  # type: ignore[index]
    assert plan.loss.epsilon(1e-5) <= told < 1.01 * plan.loss.epsilon(1e-5)
    one = NoisePlan.calibrated(dp.PureDP(1.0), "laplace", [Group(1, 1)], [1.0], dp.ADD_REMOVE)
    assert repr(one) == "<NoisePlan: Laplace noise of scale 1 on 1 group>"
