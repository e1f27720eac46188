"""The exponential mechanism on finite sets."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.errors import CannotMeet, InvalidParameter
from dalenius.mechanisms import Exponential
from tests.mechanisms.choices import cumulative, softmax, spread, worst_delta
from tests.mechanisms.contract import NUMBERS_OUT_OF_RANGE, Case, MechanismContract, bits

SCORES = (0.0, 1.0, 2.5, 4.0)


class SelectionContract(MechanismContract):
    """What holds for every choice of one among many."""

    kind: type = Exponential
    inputs = ()
    promises = (dp.PureDP(1.0), dp.ZCDP(0.1), dp.ApproxDP(1.0, 1e-6))
    confidences = ((0.9, 2), (0.95, 10))
    bad_parameters = (
        *({"sensitivity": x} for x in NUMBERS_OUT_OF_RANGE),
        *({"epsilon": x} for x in NUMBERS_OUT_OF_RANGE),
        {"epsilon": 2e4},
        {"sensitivity": 1e300},
        {"monotone": 1},
        {"monotone": None},
        {"adjacency": "add"},
        {"monotone": True, "adjacency": dp.REPLACE_ONE},
    )
    options: dict[str, Any] = {}  # noqa: RUF012

    def calibrated(self, promise: Any) -> Any:
        return self.kind.calibrated(promise, sensitivity=2.0, **self.options)

    def changed(self, mechanism: Any, factor: float) -> Any:
        return replace(mechanism, epsilon=mechanism.epsilon / factor)

    def for_accuracy(self, case: Case, within: float, confidence: float, size: int) -> Any:
        m = case.mechanism
        return self.kind.for_accuracy(
            within, confidence, sensitivity=m.sensitivity, size=size, monotone=m.monotone, **self.options
        )

    def draws(self, case: Case, mechanism: Any, n: int) -> np.ndarray:
        return mechanism.releases([case.mechanism.scale * x for x in SCORES], n).astype(float)

    def law(self, scores: Any, scale: float) -> np.ndarray:
        return softmax(scores, 1 / scale)

    def cdf(self, case: Case, x: np.ndarray) -> np.ndarray:
        return cumulative(self.law(SCORES, 1.0))(x)

    def profile(self, case: Case, epsilon: float) -> float:
        return worst_delta(lambda h: self.law([0.0, h], 1.0), case.mechanism.epsilon, epsilon)

    def errors(self, case: Case, mechanism: Any, size: int, trials: int) -> np.ndarray:
        confidence = {s: c for c, s in self.confidences}[size]
        gap = mechanism.accuracy(confidence, size) * (1 + 1e-6)  # the worst case: all others just beyond
        return np.where(mechanism.releases([0.0] + [-gap] * (size - 1), trials) == 0, 0.0, gap)

    # -- beyond the contract -------------------------------------------------------------------------

    @pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
    def test_no_neighbour_of_three_candidates_tells_more(self, epsilon: float) -> None:
        m = self.kind(sensitivity=1, epsilon=epsilon, **self.options)
        worst = 0.0
        for scores in itertools.product((0, 1, 3), repeat=2):
            for change in itertools.product((-1, 0, 1), repeat=3):
                p = self.law([0, *scores], m.scale)
                q = self.law(np.add([0, *scores], change), m.scale)
                for e in (0.0, 0.3 * epsilon, 0.8 * epsilon):
                    assert np.maximum(p - math.exp(e) * q, 0).sum() <= m.loss.delta(e) + 1e-9
                worst = max(worst, spread(p, q)[0])
        assert 0.5 * epsilon < worst <= epsilon + 1e-9

    @pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
    def test_monotone_scores_need_half_the_noise(self, epsilon: float) -> None:
        m = self.kind(sensitivity=1, epsilon=epsilon, monotone=True, **self.options)
        assert m.scale == pytest.approx(1 / epsilon)
        for scores in itertools.product((0, 1, 3), repeat=2):
            for change in itertools.product((0, 1), repeat=3):
                p = self.law([0, *scores], m.scale)
                q = self.law(np.add([0, *scores], change), m.scale)
                for e in (0.0, 0.3 * epsilon, 0.8 * epsilon):
                    assert np.maximum(p - math.exp(e) * q, 0).sum() <= m.loss.delta(e) + 1e-9
                    assert np.maximum(q - math.exp(e) * p, 0).sum() <= m.loss.delta(e) + 1e-9
        # A record that moves two scores apart breaks it: the promise is for monotone scores only.
        far = 10 / epsilon
        p, q = self.law([0, far], m.scale), self.law([1, far - 1], m.scale)
        assert spread(p, q)[0] > 1.5 * epsilon

    def test_one_release_and_many_have_the_same_law(self) -> None:
        m = self.kind(sensitivity=1, epsilon=1.0, **self.options)
        with bits("one by one", self.kind.__name__):
            drawn = np.array([m.release([0.0, 2.0, 4.0]) for _ in range(4000)])
        law = self.law([0.0, 2.0, 4.0], 2.0)
        # Multinomial frequencies, Hoeffding at 1e-10.
        assert np.abs(np.bincount(drawn, minlength=3) / 4000 - law).max() < math.sqrt(math.log(2e10) / 8000)

    def test_candidates_come_back(self) -> None:
        m = self.kind(sensitivity=1, epsilon=1.0, **self.options)
        assert m.release([0, 2000, 0], candidates=["a", "b", "c"]) == "b"
        assert m.release(np.array([0, 2000, 0])) == 1
        assert type(m.release(np.array([0, 2000, 0]))) is int
        assert m.release([5]) == 0
        with pytest.raises(InvalidParameter, match="2 candidates and 3 scores"):
            m.release([0, 1, 2], candidates=["a", "b"])
        with pytest.raises(InvalidParameter, match="at least 1"):
            m.release([], candidates=[])

    def test_large_whole_numbers_are_not_rounded_apart(self) -> None:
        m = self.kind(sensitivity=1, epsilon=50.0, **self.options)
        # As doubles 2^53 and 2^53 + 1 are alike, 2^53 + 2 is not: a change of 1 would look like 2.
        for big in ([2**53 + 1, 0], np.array([2**53 + 3, 0]), np.array([2**64 - 1, 0], dtype=np.uint64)):
            assert m.release(big) == 0
        with bits("clamped"):
            drawn = m.releases([2**53 + 8, 2**53], 2000)
        assert 0.3 < drawn.mean() < 0.7  # both clamped to 2^53: a coin

    @pytest.mark.parametrize(
        "scores", [np.zeros(2, dtype=bool), np.zeros(2, dtype=np.longdouble), {1: 2}, b"ab"]
    )
    def test_refuses_other_types(self, scores: Any) -> None:
        with pytest.raises(InvalidParameter):
            self.kind(sensitivity=1, epsilon=1.0, **self.options).release(scores)

    def test_bounds_of_the_number_of_candidates(self) -> None:
        m = self.kind(sensitivity=1, epsilon=1.0, **self.options)
        assert m.accuracy(0.99, 1) == 0.0
        assert m.expected_gap(1) == 0.0
        for bad in (0, -1, 1.5, None, "2"):
            with pytest.raises(InvalidParameter, match="size"):
                m.accuracy(0.9, bad)
            with pytest.raises(InvalidParameter, match="size"):
                m.expected_gap(bad)

    def test_expected_gap_holds_for_random_scores(self) -> None:
        m = self.kind(sensitivity=1, epsilon=1.0, **self.options)
        rng = np.random.default_rng(5)
        for k in (2, 3, 5):
            worst = 0.0
            for _ in range(200):
                scores = -np.concatenate(([0.0], rng.exponential(2.0, k - 1) * rng.choice([0.5, 2, 4])))
                worst = max(worst, float(self.law(scores, m.scale) @ -scores))
            equal = max(
                float(self.law([0.0] + [-g] * (k - 1), m.scale) @ ([0.0] + [g] * (k - 1)))
                for g in np.linspace(0.1, 10, 100)
            )
            assert worst <= m.expected_gap(k)
            assert equal <= m.expected_gap(k)

    def test_what_cannot_be_met(self) -> None:
        with pytest.raises(CannotMeet):
            self.kind.calibrated(dp.PureDP(0.0), sensitivity=1, **self.options)
        with pytest.raises(CannotMeet, match="nothing to calibrate"):
            self.kind.for_accuracy(1.0, 0.5, sensitivity=1, size=2, **self.options)
        with pytest.raises(InvalidParameter, match="within"):
            self.kind.for_accuracy(0.0, 0.9, sensitivity=1, size=2, **self.options)
        with pytest.raises(InvalidParameter, match="guarantee"):
            self.kind.calibrated("1", sensitivity=1, **self.options)

    def test_the_audit_stays_within_the_claim_and_sees_twice_the_epsilon(self) -> None:
        m = self.kind(sensitivity=1, epsilon=1.0, **self.options)
        with bits("audit", self.kind.__name__, self.options):
            found = dp.audit.lower_bound(m, trials=60_000, confidence=1 - 1e-9, single=0)
            careless = replace(m, epsilon=2.0)
            leak = dp.audit.lower_bound(careless, trials=60_000, confidence=1 - 1e-9, single=0)
        assert not found.contradicts()
        assert found.epsilon > 0.6
        assert leak.contradicts(m.loss)


class TestExponential(SelectionContract):
    cases = (
        Case("epsilon 1", lambda change: Exponential(sensitivity=1, epsilon=1 / change)),
        Case("epsilon 3", lambda change: Exponential(sensitivity=0.1, epsilon=3 / change)),
        Case("monotone", lambda change: Exponential(sensitivity=2, epsilon=0.5 / change, monotone=True)),
        Case(
            "replace one",
            lambda change: Exponential(sensitivity=2, epsilon=0.5 / change, adjacency=dp.REPLACE_ONE),
        ),
    )

    def test_pumpkins(self) -> None:
        """Awan (2025), Example 7.1."""
        m = Exponential(sensitivity=4.02, epsilon=1.0)
        law = softmax([4.00, 1.01, 4.01, 0.00], 1 / m.scale)
        assert law == pytest.approx([0.30314829, 0.20899944, 0.30352558, 0.18432669], abs=5e-9)
        with bits("pumpkins"):
            drawn = m.releases([4.00, 1.01, 4.01, 0.00], 60_000)
        assert np.abs(np.bincount(drawn) / 60_000 - law).max() < math.sqrt(math.log(2e10) / 120_000)

    def test_two_conditions(self) -> None:
        """Awan (2025), Example 7.2: A - B = 10."""
        m = Exponential(sensitivity=1, epsilon=1.0)
        assert softmax([0, 10], 1 / m.scale)[0] == pytest.approx(0.0066928509, abs=5e-11)
        assert 2 * math.exp(-5) == pytest.approx(0.0134758940, abs=5e-11)  # the printed bound on it
        assert m.accuracy(1 - 0.0066928509242848554, 2) == pytest.approx(10.0, rel=1e-12)

    def test_corollary_7_1_is_a_little_looser(self) -> None:
        m = Exponential(sensitivity=1, epsilon=1.0)
        printed = 2 * (math.log(100) + 3)
        assert printed == pytest.approx(15.2103404, abs=5e-8)
        exact = m.accuracy(1 - math.exp(-3), 100)
        assert exact == pytest.approx(2 * math.log(99 * (math.exp(3) - 1)), rel=1e-12)
        assert printed - 0.2 < exact < printed

    def test_range_is_epsilon_and_composes_as_such(self) -> None:
        m = Exponential(sensitivity=1, epsilon=1.0)
        assert m.loss.zcdp() == pytest.approx(1 / 8)
        assert m.loss.epsilon(0.0) == 1.0
        ranges = []
        for gap in np.linspace(-6, 6, 50):
            ranges.append(spread(softmax([0, gap], 0.5), softmax([1, gap - 1], 0.5))[1])
        assert max(ranges) == pytest.approx(1.0)

    def test_zcdp_in_closed_form(self) -> None:
        assert Exponential.calibrated(dp.ZCDP(0.125), sensitivity=1).epsilon == pytest.approx(1.0, rel=1e-8)

    def test_expected_gap_is_attained(self) -> None:
        """And below (2 Delta/epsilon) log k, Awan (2025), exercise 7.3: 1.3862944, 4.6051702, 13.8155106."""
        m = Exponential(sensitivity=1, epsilon=1.0)
        for k, bound in ((2, 1.3862944), (10, 4.6051702), (1000, 13.8155106)):
            assert 2 * math.log(k) == pytest.approx(bound, abs=5e-8)
            gaps = np.linspace(0, 40, 400_001)
            odds = (k - 1) * np.exp(-gaps / 2)
            assert m.expected_gap(k) == pytest.approx((gaps * odds / (1 + odds)).max(), rel=1e-9)
            assert m.expected_gap(k) < bound
