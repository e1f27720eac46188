from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest

import dalenius as dp
from dalenius.errors import CannotMeet, InvalidParameter
from dalenius.mechanisms import RandomizedResponse
from tests.mechanisms.contract import NUMBERS_OUT_OF_RANGE, Case, MechanismContract, bits, frequency
from tests.mechanisms.quadrature import enumerated


def case(epsilon: float, k: int) -> Case:
    return Case(
        f"epsilon {epsilon:.4g}, k {k}",
        lambda change: RandomizedResponse(epsilon=epsilon / change, k=k),
        epsilon=epsilon,
        k=k,
    )


def law(epsilon: float, k: int, truth: int) -> np.ndarray:
    """Randomized response with k answers, written out."""
    p = np.full(k, 1 / (math.exp(epsilon) + k - 1))
    p[truth] = math.exp(epsilon) / (math.exp(epsilon) + k - 1)
    return p


class TestRandomizedResponse(MechanismContract):
    cases = (case(1.0, 2), case(math.log(3), 2), case(2.0, 5), case(2.5, 10))
    inputs = (1, [0, 1, 1], np.zeros((2, 3), dtype=int), np.array([True, False]) * 1)
    scalar = int
    dtype = np.int64
    sample = 400_000
    confidences = ((0.9, 500), (0.95, 4000))
    trials = 2000
    loose = 2.0
    promises = (dp.PureDP(0.7), dp.ApproxDP(0.5, 1e-3), dp.GDP(0.5), dp.ZCDP(0.1))
    bad_parameters = (
        *({"epsilon": x} for x in NUMBERS_OUT_OF_RANGE),
        *({"k": x} for x in (0, 1, -2, 2.5, "2", None)),
        {"epsilon": 1e5},
        {"adjacency": dp.ADD_REMOVE},
    )
    bad_values = (2, -1, 0.5, math.nan, "1", None, [], [0, 5000], [0.0, 1.0], 2**70)
    revealing = ([0, 12345], 12345, [1, 12345, None])

    def calibrated(self, promise: Any) -> Any:
        return RandomizedResponse.calibrated(promise)

    def changed(self, mechanism: Any, factor: float) -> Any:
        return RandomizedResponse(epsilon=mechanism.epsilon / factor, k=mechanism.k)

    def for_accuracy(self, case: Case, within: float, confidence: float, size: int) -> Any:
        return RandomizedResponse.for_accuracy(within, confidence, size=size, k=case.k)

    def draws(self, case: Case, mechanism: Any, n: int) -> np.ndarray:
        return mechanism.releases(0, n).astype(float)

    def cdf(self, case: Case, x: np.ndarray) -> np.ndarray:
        total = np.concatenate(([0.0], np.cumsum(law(case.epsilon, case.k, 0))))
        return total[np.clip(np.floor(x).astype(int) + 1, 0, case.k)]

    def profile(self, case: Case, epsilon: float) -> float:
        return enumerated(law(case.epsilon, case.k, 0), law(case.epsilon, case.k, 1), epsilon)

    def errors(self, case: Case, mechanism: Any, size: int, trials: int) -> np.ndarray:
        """All people give the same answer: the worst case when lies are rare; any other for the rest."""
        truth = np.arange(size) % min(case.k, 2)
        share = np.bincount(truth, minlength=case.k) / size
        found = [mechanism.estimate(mechanism.release(truth)).estimate for _ in range(trials)]
        return np.abs(np.array(found) - share).max(axis=1)

    def test_errors_do_not_reveal_values(self, case: Case) -> None:
        if case.k < 12345:
            super().test_errors_do_not_reveal_values(case)

    def test_refuses_bad_values(self, case: Case) -> None:
        for value in (x for x in self.bad_values if x != 2 or case.k == 2):
            with pytest.raises(InvalidParameter):
                case.mechanism.release(value)

    def test_accuracy_grows_with_confidence_and_size(self, case: Case) -> None:
        m = case.mechanism
        assert m.accuracy(0.5, 100) < m.accuracy(0.9, 100) < m.accuracy(0.99, 100)
        assert m.accuracy(0.9, 1000) < m.accuracy(0.9, 100)  # more people, less error


class TestGoldenNumbers:
    """Awan (2025), section 3.4: epsilon, p, chance of the truth, extra variance."""

    table = (
        (0.1, 0.95004163, 0.52497919, 99.91670832),
        (0.5, 0.75508134, 0.62245933, 3.91769809),
        (1.0, 0.53788284, 0.73105858, 0.92067359),
        (math.log(3), 0.5, 0.75, 0.75),
        (2.0, 0.23840584, 0.88079708, 0.18101542),
    )

    @pytest.mark.parametrize(("epsilon", "p", "truth", "extra"), table)
    def test_table(self, epsilon: float, p: float, truth: float, extra: float) -> None:
        m = RandomizedResponse(epsilon=epsilon)
        assert 2 * m.lie == pytest.approx(p, abs=1e-8)
        assert m.truth == pytest.approx(truth, abs=1e-8)
        assert m.variance(0.0, 1) == pytest.approx(extra, abs=1e-8)
        assert m.loss.epsilon(0.0) == pytest.approx(epsilon, rel=1e-12)

    def test_thousand_people(self) -> None:
        assert RandomizedResponse(epsilon=1.0).variance(0.3, 1000) == pytest.approx(1.1306736e-3, rel=1e-7)

    def test_the_printed_rate_is_wrong(self) -> None:
        """Ex 3.5 prints a rate of 1/sqrt(n epsilon); halving epsilon doubles the error, though."""
        small, smaller = (RandomizedResponse(epsilon=e).variance(0.3, 10**6) ** 0.5 for e in (0.02, 0.01))
        assert smaller / small == pytest.approx(2.0, rel=1e-3)


class TestEstimator:
    @pytest.mark.parametrize(("epsilon", "k"), [(1.0, 2), (0.5, 4)])
    def test_unbiased_with_the_stated_variance(self, epsilon: float, k: int) -> None:
        m, people, trials = RandomizedResponse(epsilon=epsilon, k=k), 400, 4000
        theta = np.array([0.6, 0.4]) if k == 2 else np.array([0.5, 0.3, 0.2, 0.0])
        rng = np.random.default_rng(7)
        with bits("estimator", k):
            found = [m.estimate(m.release(rng.choice(k, people, p=theta))) for _ in range(trials)]
        estimates = np.array([f.estimate for f in found])
        stated = np.array([m.variance(float(t), people) for t in theta])
        # Means and variances of near-normal estimates: 8 standard errors.
        assert (np.abs(estimates.mean(axis=0) - theta) < 8 * np.sqrt(stated / trials)).all()
        assert (np.abs(estimates.var(axis=0) / stated - 1) < 8 * math.sqrt(2 / trials)).all()
        assert np.array([f.variance for f in found]).mean(axis=0) == pytest.approx(stated, rel=0.02)
        assert estimates.sum(axis=1) == pytest.approx(np.ones(trials))

    def test_the_naive_share_is_biased(self) -> None:
        m = RandomizedResponse(epsilon=1.0)
        with bits("naive"):
            answers = m.release(np.zeros(20_000, dtype=int))
        low, _ = frequency(int(answers.sum()), len(answers))
        assert low > 0.2

    def test_refusals(self) -> None:
        m = RandomizedResponse(epsilon=1.0)
        with pytest.raises(InvalidParameter, match="at least 2"):
            m.estimate([1])
        with pytest.raises(InvalidParameter):
            m.estimate([0, 2])
        with pytest.raises(InvalidParameter, match="proportion"):
            m.variance(1.5, 10)
        with pytest.raises(CannotMeet, match="ask more people"):
            RandomizedResponse.for_accuracy(1e-4, size=10)
        with pytest.raises(CannotMeet, match="nothing to choose"):
            RandomizedResponse.for_accuracy(1e9, size=10)


@pytest.mark.parametrize("k", [2, 3, 10, 2**40, 2**62])
@pytest.mark.parametrize("epsilon", [5e-324, 1e-300, 1e-16, 1e-15, 0.01, 1.0, 5.0, 30.0, 300.0, 800.0])
def test_lies_are_never_too_rare(epsilon: float, k: int) -> None:
    """The bias of the coin is a fraction: its loss, in exact arithmetic, is at most epsilon, and hardly less."""
    lie = RandomizedResponse(epsilon=epsilon, k=k)._chance
    ratio = (1 - lie) * (k - 1) / lie
    assert ratio >= 1
    with mpmath.workdps(400 + math.ceil(epsilon)):
        loss = mpmath.log(mpmath.mpf(ratio.numerator) / ratio.denominator)
        if epsilon < 1e-50:
            loss = mpmath.log1p(mpmath.mpf((ratio - 1).numerator) / (ratio - 1).denominator)
        assert loss <= mpmath.mpf(epsilon) * (1 + mpmath.mpf(10) ** -60)
        assert loss >= mpmath.mpf(epsilon) * (1 - mpmath.mpf(10) ** -15)


def test_many_answers() -> None:
    """k near 2^62: sums stay below 2^63, and every answer is one of them."""
    m = RandomizedResponse(epsilon=0.1, k=2**62)
    released = m.release(np.full(2000, 2**62 - 1))
    assert ((released >= 0) & (released < 2**62)).all()
    with pytest.raises(InvalidParameter, match="k is"):
        RandomizedResponse(epsilon=1.0, k=2**62 + 1)
    with pytest.raises(InvalidParameter, match=r"2\^26"):
        m.estimate([1, 2])


def test_booleans_are_answers_of_two() -> None:
    released = RandomizedResponse(epsilon=1.0).release(np.array([True, False, True]))
    assert released.dtype == np.int64
    with pytest.raises(InvalidParameter):
        RandomizedResponse(epsilon=1.0, k=3).release(np.array([True, False]))
