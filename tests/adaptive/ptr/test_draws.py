"""What the code draws, against the exact laws that the exhaustive tests rest on; and audits on worst pairs."""

from __future__ import annotations

import math
import pickle
from dataclasses import FrozenInstanceError, dataclass, fields, replace
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.adaptive.ptr import (
    BoundTest,
    DistanceTest,
    LocalInterquartileRange,
    LocalMedian,
    LocalRegressionScale,
    NoisyLowerBound,
    NoisyMax,
    NoisyUpperBound,
    ProposeTestRelease,
    Refusal,
    SmoothUpperBound,
    Stable,
    StableMode,
    StableScale,
)
from dalenius.adaptive.ptr.noisy_bound import upper_quantile
from dalenius.adaptive.smooth.laplace import SmoothLaplace
from dalenius.audit import lower_bound
from dalenius.errors import AdjacencyMismatch, InvalidParameter
from dalenius.mechanisms import Gaussian, Laplace
from tests.adaptive.ptr.laws import geometric_tail, law
from tests.mechanisms.contract import bits, follows, frequency
from tests.sample import sampled

NUMBERS = (0.0, 1.0, 1.0, 2.0, 2.0)
COUNTS = (5, 2)
MECHANISMS: list[tuple[Stable, Any]] = [
    (LocalMedian(sensitivity=1.0, scale=0.7, bounds=(0.0, 4.0)), NUMBERS),
    (LocalMedian(sensitivity=1.0, scale=0.7, bounds=(0.0, 4.0), adjacency=dp.REPLACE_ONE), NUMBERS[:-1]),
    (LocalInterquartileRange(sensitivity=2.0, scale=0.7, bounds=(0.0, 4.0)), NUMBERS),
    (
        LocalRegressionScale(sensitivity=1.0, scale=0.7, coefficients=(2.0,), largest=4.0),
        (np.ones((5, 1)), 2.0 + np.array(NUMBERS)),
    ),
    (StableScale(least=1.5, bounds=(0.0, 4.0)), (*NUMBERS, 3.0, 4.0)),
    (StableMode(), COUNTS),
    (StableMode(adjacency=dp.REPLACE_ONE), COUNTS),
    (NoisyMax(scale=0.5, limit=0.5, delta=0.05), (4, 3)),
]


def released(mechanism: Stable, epsilon: float = 1.0, wrong_pass: float = 0.1) -> ProposeTestRelease:
    return ProposeTestRelease.by_distance(mechanism, epsilon=epsilon, wrong_pass=wrong_pass)


def agrees(m: ProposeTestRelease, drawn: list[Any], data: Any) -> bool:
    """Whether draws follow the exact law: refusals and other repeated outcomes, and the noise of the answers."""
    known = law(m, data)
    for outcome, p in known.atoms.items():
        low, high = frequency(sum(x == outcome for x in drawn), len(drawn))
        if not low <= p <= high:
            return False
    if known.mass == 0:
        return True
    numbers = np.array([x for x in drawn if not isinstance(x, Refusal)])

    def cdf(x: np.ndarray) -> np.ndarray:
        z = (x - known.centre) / known.scale
        return np.where(z < 0, np.exp(np.minimum(z, 0)) / 2, 1 - np.exp(-np.maximum(z, 0)) / 2)

    return follows(numbers, cdf)


@pytest.mark.parametrize(("mechanism", "data"), MECHANISMS, ids=lambda x: type(x).__name__)
def test_draws_follow_the_law(mechanism: Stable, data: Any) -> None:
    m = released(mechanism)
    assert 0.01 < law(m, data).refused < 0.99
    with bits("batch", repr(mechanism)):
        assert agrees(m, m.releases(data, 40_000), data)
    with bits("single", repr(mechanism)):
        assert agrees(m, [m.release(data) for _ in range(500)], data)


@pytest.mark.slow
@pytest.mark.parametrize(("mechanism", "data"), sampled(MECHANISMS), ids=lambda x: type(x).__name__)
def test_another_scale_is_noticed(mechanism: Stable, data: Any) -> None:
    """15 % more or less noise in the test; and in the release, where there is noise."""
    m, trials = released(mechanism), 400_000 if isinstance(mechanism, NoisyMax) else 120_000
    for change in (0.85, 1.15):
        assert isinstance(m.test, DistanceTest)
        noisier_test = replace(m.test, epsilon=m.test.epsilon * change)
        object.__setattr__(noisier_test, "threshold", m.test.threshold)
        with bits("test", change, repr(mechanism)):
            assert not agrees(m, replace(m, test=noisier_test).releases(data, 100_000), data)
        if hasattr(mechanism, "scale"):
            with bits("release", change, repr(mechanism)):
                noisier = replace(mechanism, scale=mechanism.scale * change)
                wrong = released(mechanism)
                object.__setattr__(wrong, "mechanism", noisier)
                drawn = wrong.releases(data, trials)
            assert not agrees(m, drawn, data)


@pytest.mark.parametrize(("mechanism", "_data"), MECHANISMS, ids=lambda x: type(x).__name__)
def test_is_frozen_data(mechanism: Stable, _data: Any) -> None:
    m = released(mechanism)
    for one in (m, mechanism, m.test):
        for field in fields(one):  # type: ignore[arg-type]
            with pytest.raises(FrozenInstanceError):
                setattr(one, field.name, None)
    again = pickle.loads(pickle.dumps(m))
    assert again == m
    assert hash(again) == hash(m)
    assert again.loss == m.loss
    assert m.loss is m.loss
    assert m.loss.adjacency is m.adjacency


AUDITED = [
    (LocalMedian(sensitivity=1.0, scale=1.0, bounds=(0.0, 100.0)), 0.75),
    (LocalMedian(sensitivity=1.0, scale=1.0, bounds=(0.0, 100.0), adjacency=dp.REPLACE_ONE), 0.75),
    (LocalInterquartileRange(sensitivity=1.0, scale=1.0, bounds=(0.0, 100.0)), 0.75),
    (
        LocalInterquartileRange(sensitivity=1.0, scale=1.0, bounds=(0.0, 100.0), adjacency=dp.REPLACE_ONE),
        0.75,
    ),
]


def shown(m: ProposeTestRelease) -> Any:
    def releases(value: Any, times: int) -> list[Any]:
        return ["refused" if isinstance(x, Refusal) else float(x) for x in m.releases(value, times)]

    return releases


@pytest.mark.parametrize(("mechanism", "share"), AUDITED, ids=lambda x: type(x).__name__)
def test_audit_finds_the_loss_and_no_more(mechanism: Stable, share: float) -> None:
    """Far from what is refused the loss is that of the noise, 1, and the test adds what it cannot show there."""
    m = released(mechanism, epsilon=0.2, wrong_pass=1e-6)
    with bits("audit", repr(mechanism)):
        found = lower_bound(
            shown(m),
            pair=tuple(mechanism.worst_pair),
            trials=60_000,
            confidence=1 - 1e-9,
            batched=True,
            delta=1e-6,
        )
    assert share * 1.0 < found.epsilon <= m.loss.epsilon(1e-6)


@dataclass(frozen=True, kw_only=True)
class Inverted(DistanceTest):
    """Passes where it should refuse: the text of Redberg 2023 that embeds the classic test into the general one."""

    def answers(self, data: Any, times: int) -> list[bool]:
        return [not answer for answer in super().answers(data, times)]


def test_audit_finds_an_inverted_test() -> None:
    mechanism = StableMode()
    right = released(mechanism, epsilon=1.0, wrong_pass=0.01)
    wrong = replace(right, test=Inverted(mechanism=mechanism, epsilon=1.0, wrong_pass=0.01))
    pair = ([30, 30], [30, 31])  # the mode changes
    for m, broken in ((right, False), (wrong, True)):
        with bits("inverted"):
            found = lower_bound(
                shown(m), pair=pair, trials=20_000, confidence=1 - 1e-9, batched=True, delta=0.01
            )
        assert (found.epsilon > m.loss.epsilon(0.0101)) is broken


@pytest.mark.parametrize("noise", [Laplace(sensitivity=1, scale=2.0), Gaussian(sensitivity=1, sigma=2.0)])
@pytest.mark.parametrize("kind", [NoisyUpperBound, NoisyLowerBound])
def test_bounds_fail_as_often_as_they_say(noise: Any, kind: Any) -> None:
    bound = kind(len, noise, failure=0.05)
    with bits("bound", repr(bound)):
        stated = np.array([bound.release([0] * 10) for _ in range(8000)])
    false = int(((stated < 10) if kind is NoisyUpperBound else (stated > 10)).sum())
    low, high = frequency(false, len(stated))
    assert low <= 0.05
    assert high > 0.05
    assert low > 0.03


@pytest.mark.parametrize("failure", [0.2, 0.02])
def test_a_bound_by_smooth_sensitivity_fails_no_more_often_than_it_says(failure: float) -> None:
    """Not much less often either, when the bound on the sensitivity costs little."""
    statistic = dp.adaptive.statistics.Median(bounds=(0, 100))
    bound = SmoothUpperBound(
        noise=SmoothLaplace(statistic=statistic, beta=0.05, scale=2.0), epsilon=5.0, failure=failure
    )
    data = np.linspace(0, 100, 301)
    with bits("smooth bound", failure):
        stated = np.array([bound.release(data) for _ in range(3000)])
    low, high = frequency(int((stated < 50).sum()), len(stated))
    assert low <= failure
    assert high >= failure / 4
    noise = Laplace(sensitivity=0.05, scale=0.01)
    assert bound.loss.epsilon(1e-6) == pytest.approx((bound.noise.loss + noise.loss).epsilon(1e-6), rel=1e-6)
    with pytest.raises(InvalidParameter, match="failure"):
        SmoothUpperBound(noise=bound.noise, epsilon=1.0, failure=0.7)


def test_margins_at_tiny_failures() -> None:
    """1 - failure is 1 in doubles: everything is by logarithms."""
    assert upper_quantile(Laplace(sensitivity=1, scale=2.0), 1e-22) == pytest.approx(
        2 * math.log(0.5e22), rel=1e-8
    )
    assert upper_quantile(Gaussian(sensitivity=1, sigma=1.0), 2.7e-22) == pytest.approx(9.6404, abs=1e-4)


def test_a_bound_as_a_test() -> None:
    bound = NoisyUpperBound(max, Laplace(sensitivity=1, scale=1.0), failure=0.01)
    test = BoundTest(bound, limit=5.0)
    with bits("bound test"):
        passed = sum(test.answers([6.0], 8000))
    low, high = frequency(passed, 8000)
    exact = 0.5 * math.exp(-(1.0 + bound.margin))
    assert low <= exact <= high
    assert exact < test.wrong_pass == 0.01


def test_thresholds_are_the_least_that_do() -> None:
    for epsilon in (0.1, 0.5, 1.0, 3.0):
        for wrong in (0.3, 0.05, 1e-6, 1e-300):
            test = DistanceTest(mechanism=StableMode(), epsilon=epsilon, wrong_pass=wrong)
            assert geometric_tail(1 / epsilon, test.threshold) <= wrong * (1 + 1e-9)
            assert test.threshold == 1 or geometric_tail(1 / epsilon, test.threshold - 1) > wrong * (1 - 1e-9)


def test_refuses_bad_parameters_and_data() -> None:
    good = {"sensitivity": 1.0, "scale": 1.0, "bounds": (0.0, 1.0)}
    for change in (
        {"sensitivity": 0}, {"scale": -1.0}, {"bounds": (1.0, 0.0)}, {"bounds": None}, {"adjacency": 1},
    ):  # fmt: skip
        with pytest.raises(InvalidParameter):
            LocalMedian(**(good | change))  # type: ignore[arg-type]
    for epsilon, wrong in ((0.0, 0.1), (1.0, 0.0), (1.0, 0.5), (math.nan, 0.1), (1.0, "x")):
        with pytest.raises(InvalidParameter):
            DistanceTest(mechanism=StableMode(), epsilon=epsilon, wrong_pass=wrong)  # type: ignore[arg-type]
    median = released(LocalMedian(**good))  # type: ignore[arg-type]
    for bad in ([math.nan], "text", None, [[1.0]], [12345.0, math.inf]):
        with pytest.raises(InvalidParameter) as caught:
            median.release(bad)
        assert "12345" not in str(caught.value)
    for bad in ([1], [1, -1], [1.5, 2.0], "ab", None):
        with pytest.raises(InvalidParameter):
            released(StableMode()).release(bad)
        with pytest.raises(InvalidParameter):
            released(NoisyMax(scale=1.0, limit=0.5, delta=0.1)).release(bad)
    for base in (1.0, 0.5, math.nan, 1e9):
        with pytest.raises(InvalidParameter, match="base"):
            StableScale(least=1.0, base=base, bounds=(0.0, 4.0))
    with pytest.raises(InvalidParameter, match="limit"):
        NoisyMax(scale=1.0, limit=0.5, delta=0.0)
    with pytest.raises(InvalidParameter, match="another mechanism"):
        ProposeTestRelease(
            mechanism=NoisyMax(scale=1.0, limit=0.5, delta=0.1),
            test=DistanceTest(mechanism=StableMode(), epsilon=1.0, wrong_pass=0.1),
        )
    with pytest.raises(AdjacencyMismatch):
        ProposeTestRelease(
            mechanism=StableMode(adjacency=dp.REPLACE_ONE),
            test=DistanceTest(mechanism=StableMode(), epsilon=1.0, wrong_pass=0.1),
        )
