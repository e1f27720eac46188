"""The first value to reach a threshold."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.errors import CannotMeet, InvalidParameter
from dalenius.mechanisms import AboveThreshold, Stopped
from dalenius.mechanisms._support import noisy_comparison
from tests.mechanisms.choices import cumulative, first_above, spread
from tests.mechanisms.contract import NUMBERS_OUT_OF_RANGE, Case, MechanismContract, bits, frequency

VALUES = (-4.0, 0.0, 2.0, -1.0)


def scales(m: Any) -> tuple[float, float]:
    """Recomputed from the definition: Delta/e1 and 2 Delta/e2, e1 : e2 = 1 : 2^(2/3) (1 : 1 if monotone)."""
    moves = 1 if m.monotone else 2
    e1 = m.epsilon / (1 + moves ** (2 / 3))
    return m.sensitivity / e1, moves * m.sensitivity / (m.epsilon - e1)


class TestAboveThreshold(MechanismContract):
    cases = (
        Case("exponential noise", lambda change: AboveThreshold(sensitivity=1, epsilon=1 / change)),
        Case("Laplace noise", lambda c: AboveThreshold(sensitivity=0.5, epsilon=1 / c, noise="laplace")),
        Case("monotone", lambda change: AboveThreshold(sensitivity=3, epsilon=2 / change, monotone=True)),
        Case(
            "replace one, Laplace noise",
            lambda c: AboveThreshold(sensitivity=1, epsilon=2 / c, noise="laplace", adjacency=dp.REPLACE_ONE),
        ),
    )
    inputs = ()
    promises = (dp.PureDP(1.0), dp.ZCDP(0.1), dp.ApproxDP(1.0, 1e-6))
    confidences = ((0.9, 1), (0.95, 10))
    epsilons = ()  # `pure` is attained at delta 0 only: see below
    grain = 1e-5
    bad_parameters = (
        *({"sensitivity": x} for x in NUMBERS_OUT_OF_RANGE),
        *({"epsilon": x} for x in NUMBERS_OUT_OF_RANGE),
        *({"share": x} for x in (0.0, 1.0, -1, math.nan, "a")),
        *({"noise": x} for x in ("gumbel", None)),
        {"epsilon": 1e-18},
        {"monotone": 0},
        {"monotone": True, "adjacency": dp.REPLACE_ONE},
        {"adjacency": "add"},
    )

    def calibrated(self, promise: Any) -> Any:
        return AboveThreshold.calibrated(promise, sensitivity=2.0)

    def changed(self, mechanism: Any, factor: float) -> Any:
        return replace(mechanism, epsilon=mechanism.epsilon / factor)

    def for_accuracy(self, case: Case, within: float, confidence: float, size: int) -> Any:
        m = case.mechanism
        return AboveThreshold.for_accuracy(
            within,
            confidence,
            sensitivity=m.sensitivity,
            size=size,
            monotone=m.monotone,
            noise=m.noise,
            adjacency=m.adjacency,
        )

    def draws(self, case: Case, mechanism: Any, n: int) -> np.ndarray:
        b = scales(case.mechanism)[1]
        found = mechanism.releases([v * b / 2 for v in VALUES], n)
        return np.array([len(VALUES) if i is None else i for i in found], dtype=float)

    def cdf(self, case: Case, x: np.ndarray) -> np.ndarray:
        m = case.mechanism
        b1, b2 = scales(m)
        return cumulative(first_above([v * b2 / 2 for v in VALUES], b1, b2, m.noise))(x)

    def errors(self, case: Case, mechanism: Any, size: int, trials: int) -> np.ndarray:
        """The worst case: all values just too far below, or all but the last, which is just too far above."""
        gap = mechanism.accuracy({s: c for c, s in self.confidences}[size], size)
        wrong = []
        for high in (0, 1):
            values = [-gap] * (size - high) + [gap] * high
            right = size - 1 if high else None
            wrong.append(np.array([i != right for i in mechanism.releases(values, trials)]))
        # The larger of the two numbers of failures; an error of twice the gap is a failure at any tolerance.
        return np.where(max(wrong, key=np.sum), 2 * gap, 0.0)

    def test_worst_pair_can_be_released(self, case: Case) -> None:
        for values in case.mechanism.worst_pair:
            assert type(case.mechanism.release(values)) in (int, type(None))

    # -- beyond the contract -------------------------------------------------------------------------

    def test_exact_law_on_a_coarse_grid(self, case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
        """The loss with discrete noise, ties and all: every pair of neighbours, by summation."""
        monkeypatch.setattr(noisy_comparison, "SENSITIVITY_BITS", 1)
        m = replace(case.mechanism, sensitivity=1.0)
        assert m.comparison.steps == 2
        worst = 0.0
        changes = [(0, 1, 2), (0, -1, -2)] if m.monotone else [(-2, 0, 2)]
        for values in itertools.product((0, 1, 4), repeat=2):
            p = discrete_law(values, m.comparison)
            for change in itertools.chain(*(itertools.product(c, repeat=2) for c in changes)):
                q = discrete_law([v + c for v, c in zip(values, change, strict=True)], m.comparison)
                worst = max(worst, spread(p, q)[0])
        assert worst <= m.epsilon * (1 + 1e-9)
        assert worst > 0.5 * m.epsilon

    def test_released_law_on_a_coarse_grid(self, case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(noisy_comparison, "SENSITIVITY_BITS", 1)
        m = replace(case.mechanism, sensitivity=1.0)
        with bits("coarse", case.label):
            found = m.releases([0.0, 0.5, 2.0], 40_000)
        counts = np.bincount([3 if i is None else i for i in found], minlength=4) / 40_000
        law = discrete_law((0, 1, 4), m.comparison)
        assert np.abs(counts - law).max() < math.sqrt(math.log(8e10) / 80_000)

    def test_one_release_and_many_have_the_same_law(self, case: Case) -> None:
        m = case.mechanism
        b1, b2 = scales(m)
        values = np.array(VALUES) * b2 / 2
        with bits("one by one", case.label):
            found = [m.release(values + 100.0, threshold=100.0) for _ in range(800)]
            varied = [m.release(values + np.arange(4), threshold=range(4)) for _ in range(800)]
            watched = [watch(m, values) for _ in range(800)]
        law = first_above(values, b1, b2, m.noise)
        for some in (found, varied, watched):
            counts = np.bincount([4 if i is None else i for i in some], minlength=5) / 800
            assert np.abs(counts - law).max() < math.sqrt(math.log(1e11) / 1600)

    def test_worst_pair_attains_epsilon(self, case: Case) -> None:
        m = case.mechanism
        first, second = (first_above(x, *scales(m), m.noise) for x in m.worst_pair)
        last = len(m.worst_pair.first) - 1
        loss = math.log(first[last] / second[last])
        assert (0.8 if m.noise == "laplace" else 1 - 1e-9) * m.epsilon < loss <= m.epsilon * (1 + 1e-9)


def watch(m: AboveThreshold, values: Any) -> int | None:
    run = m.start(0.0)
    for i, value in enumerate(values):
        if run.ask(value):
            return i
    return None


def discrete_law(units: Any, c: noisy_comparison.Comparison) -> np.ndarray:
    """Which of these multiples of half a sensitivity is first, by adding up over the threshold's noise."""
    reach = 4000
    s1, s2 = float(c.threshold_noise * c.steps), float(c.query_noise * c.steps)
    t = np.arange(-reach, reach + 1)

    def mass(s: float) -> np.ndarray:
        weights = np.exp(-np.abs(t) / s)
        if c.noise == "exponential":
            weights = np.where(t >= 0, weights, 0.0)
        return weights / weights.sum()

    shift = round((c.query_noise - c.threshold_noise) * c.steps) if c.noise == "exponential" else 0
    below = np.concatenate(([0.0], np.cumsum(mass(s2))))  # P(nu < t) at t + reach
    left, law = mass(s1), []
    for unit in units:
        under = below[np.clip(t + shift - unit + reach, 0, 2 * reach + 1)]
        law.append(float((left * (1 - under)).sum()))
        left = left * under
    return np.array([*law, float(left.sum())])


@pytest.mark.parametrize("noise", ["laplace", "exponential"])
def test_the_two_inequalities_the_proof_rests_on(noise: str) -> None:
    """P(eta = t + D) >= e^(-D/s) P(eta = t) and P(nu >= t + 2D) >= e^(-2D/s) P(nu >= t), in fractions."""
    q = Fraction(9, 10)  # e^(-1/s)
    weights = {t: q ** abs(t) for t in range(-200, 201) if noise == "laplace" or t >= 0}
    total = (1 + q) / (1 - q) if noise == "laplace" else 1 / (1 - q)

    def tail(t: int) -> Fraction:
        """Of all weights: the geometric rest is summed in closed form."""
        if noise == "exponential":
            return q ** max(t, 0) / (1 - q)
        return q**t / (1 - q) if t > 0 else total - q ** (1 - t) / (1 - q)

    for t, d in itertools.product(range(-60, 60), (1, 2, 7)):
        assert weights.get(t + d, 0) >= q**d * weights.get(t, 0)
        assert tail(t + 2 * d) >= q ** (2 * d) * tail(t)


def test_noise_is_split_for_the_least_variance() -> None:
    for moves, monotone in ((2, False), (1, True)):
        m = AboveThreshold(sensitivity=1, epsilon=1.0, monotone=monotone)
        assert m.share == pytest.approx(1 / (1 + moves ** (2 / 3)))

        def variance(share: float, n: int = moves) -> float:
            return share**-2 + (n / (1 - share)) ** 2

        assert variance(m.share) <= min(variance(s) for s in np.linspace(0.01, 0.99, 99))
        assert float(m.comparison.threshold_noise) == pytest.approx(1 / m.share)
        assert float(m.comparison.query_noise) == pytest.approx(moves / (1 - m.share))
    half = AboveThreshold(sensitivity=1, epsilon=1.0, share=0.5)
    assert (half.comparison.threshold_noise, half.comparison.query_noise) == (2, 4)  # Dwork and Roth's


def test_one_sided_noise_is_more_accurate() -> None:
    for size in (1, 10, 1000):
        one, two = (
            AboveThreshold(sensitivity=1, epsilon=1.0, noise=noise).accuracy(0.95, size)
            for noise in ("exponential", "laplace")
        )
        printed = 8 * (math.log(size) + math.log(2 / 0.05))  # Dwork and Roth 2014, Theorem 3.24
        assert one < two < printed


def test_a_watch_stops_and_stays_stopped() -> None:
    m = AboveThreshold(sensitivity=1, epsilon=1.0)
    run = m.start(threshold=500)
    with bits("watch"):
        assert [run.ask(x) for x in (0, 0, 1000)] == [False, False, True]
    assert run.stopped
    assert run.asked == 3
    for value in (0, 1000, math.nan):
        with pytest.raises(Stopped, match="start another"):
            run.ask(value)
    fresh = m.start(threshold=500)
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot be copied"):
            attempt(fresh)
    assert "1000" not in repr(run)


def test_a_bad_question_is_not_answered() -> None:
    run = AboveThreshold(sensitivity=1, epsilon=1.0).start(threshold=0)
    for value in (math.nan, math.inf, "1", None, True, [1.0], 1j):
        with pytest.raises(InvalidParameter) as caught:
            run.ask(value)
        assert "value" in str(caught.value)
    assert run.asked == 0
    for threshold in (math.nan, "1", None, True):
        with pytest.raises(InvalidParameter):
            AboveThreshold(sensitivity=1, epsilon=1.0).start(threshold=threshold)  # type: ignore[arg-type]


def test_thresholds_must_match() -> None:
    m = AboveThreshold(sensitivity=1, epsilon=1.0)
    with pytest.raises(InvalidParameter, match="3 values and 2 thresholds"):
        m.release([1, 2, 3], threshold=[1, 2])
    assert m.release([1, 2, 3000], threshold=[1000, 1000, 1000]) == 2
    assert m.release([0, 0], threshold=10_000) is None


def test_huge_values_do_not_overflow() -> None:
    m = AboveThreshold(sensitivity=1e-3, epsilon=1.0)
    assert m.release([-1e300, -1e300, 1e300]) == 2
    assert m.release([-(2**70), 2**70]) == 1
    assert AboveThreshold(sensitivity=1e-300, epsilon=1.0).release([-1.0, 1.0]) == 1
    assert AboveThreshold(sensitivity=1e300, epsilon=1.0).release([-1e306, 1e306]) == 1
    tiny = AboveThreshold(sensitivity=1, epsilon=1e-9)
    assert tiny.comparison.steps < 2**20
    assert tiny.release([-1e300, 1e300]) == 1


def test_many_values_are_taken_in_parts() -> None:
    m = AboveThreshold(sensitivity=1, epsilon=1.0)
    values = np.full(3_000_000, -1000.0)
    values[2_500_000] = 1000.0
    assert m.release(values) == 2_500_000


def test_what_cannot_be_met() -> None:
    with pytest.raises(CannotMeet):
        AboveThreshold.calibrated(dp.PureDP(0.0), sensitivity=1)
    with pytest.raises(InvalidParameter, match="within"):
        AboveThreshold.for_accuracy(1e-9, sensitivity=1)


def test_the_audit_stays_within_the_claim() -> None:
    for noise in ("exponential", "laplace"):
        m = AboveThreshold(sensitivity=1, epsilon=1.0, noise=noise)
        with bits("audit above", noise):
            found = dp.audit.lower_bound(m, trials=60_000, confidence=1 - 1e-9, single=0)
            leak = dp.audit.lower_bound(replace(m, epsilon=2.0), trials=60_000, confidence=1 - 1e-9, single=0)
        assert not found.contradicts()
        assert found.epsilon > 0.4
        assert leak.contradicts(m.loss)


def test_accuracy_of_many_values() -> None:
    m = AboveThreshold(sensitivity=1, epsilon=1.0)
    gap = m.accuracy(0.9, 100)
    with bits("many"):
        found = m.releases([-gap] * 99 + [gap], 20_000)
    assert frequency(sum(i == 99 for i in found), 20_000)[1] >= 0.9
