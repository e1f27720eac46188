"""The few values that reach a threshold, with and without numbers."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.mechanisms import AboveThreshold, Laplace, SparseVector, Stopped
from tests.mechanisms.choices import above_pattern
from tests.mechanisms.contract import NUMBERS_OUT_OF_RANGE, Case, MechanismContract, bits, follows, frequency
from tests.mechanisms.wrong import PUBLISHED, Wrong

VALUES = (-2.0, 0.0, 2.0, -1.0)


def scales(m: Any) -> tuple[float, float]:
    """Recomputed from the definition, with one threshold."""
    moves = (1 if m.monotone else 2) * m.count
    epsilon = m.epsilon * (1 - m.answer_share)
    e1 = epsilon / (1 + moves ** (2 / 3))
    return m.sensitivity / e1, moves * m.sensitivity / (epsilon - e1)


def law(values: Any, m: Any, b1: float, b2: float) -> dict[tuple[int, ...], float]:
    """Every list of indices that can come out, by quadrature."""
    found = {}
    for k in range(m.count + 1):
        for above in itertools.combinations(range(len(values)), k):
            upto = above[-1] + 1 if k == m.count else len(values)
            found[above] = above_pattern(values, set(above), b1, b2, m.noise, upto)
    return found


class TestSparseVector(MechanismContract):
    cases = (
        Case("two of them", lambda c: SparseVector(sensitivity=1, epsilon=2 / c, count=2)),
        Case("Laplace noise", lambda c: SparseVector(sensitivity=2, epsilon=2 / c, count=2, noise="laplace")),
        Case("three, monotone", lambda c: SparseVector(sensitivity=1, epsilon=3 / c, count=3, monotone=True)),
        Case(
            "with numbers",
            lambda c: SparseVector(sensitivity=1, epsilon=4 / c, count=2, answer_share=0.25),
        ),
    )
    inputs = ()
    promises = (dp.PureDP(1.0), dp.ZCDP(0.1), dp.ApproxDP(1.0, 1e-6))
    confidences = ((0.9, 2), (0.95, 10))
    epsilons = ()
    grain = 1e-5
    bad_parameters = (
        *({"sensitivity": x} for x in NUMBERS_OUT_OF_RANGE),
        *({"epsilon": x} for x in NUMBERS_OUT_OF_RANGE),
        *({"count": x} for x in (0, -1, 1.5, None, "2", True)),
        *({"answer_share": x} for x in (-0.1, 1.0, math.nan, None)),
        *({"share": x} for x in (0.0, 1.0, math.nan)),
        *({"noise": x} for x in ("gumbel", None)),
        {"fresh_threshold": 1},
        {"monotone": True, "adjacency": dp.REPLACE_ONE},
    )

    def calibrated(self, promise: Any) -> Any:
        return SparseVector.calibrated(promise, sensitivity=2.0, count=3)

    def changed(self, mechanism: Any, factor: float) -> Any:
        return replace(mechanism, epsilon=mechanism.epsilon / factor)

    def for_accuracy(self, case: Case, within: float, confidence: float, size: int) -> Any:
        m = case.mechanism
        return SparseVector.for_accuracy(
            within,
            confidence,
            sensitivity=m.sensitivity,
            count=m.count,
            size=size,
            monotone=m.monotone,
            noise=m.noise,
            answer_share=m.answer_share,
        )

    def draws(self, case: Case, mechanism: Any, n: int) -> np.ndarray:
        """Outcomes numbered in the order of `law`."""
        b = scales(case.mechanism)[1]
        values = [v * b / 2 for v in VALUES]
        number = {cell: k for k, cell in enumerate(law(values, case.mechanism, 1.0, 1.0))}
        return np.array([number[tuple(found)] for found in mechanism.releases(values, n)], dtype=float)

    def cdf(self, case: Case, x: np.ndarray) -> np.ndarray:
        m = case.mechanism
        b1, b2 = scales(m)
        total = np.concatenate(
            ([0.0], np.cumsum(list(law([v * b2 / 2 for v in VALUES], m, b1, b2).values())))
        )
        assert total[-1] == pytest.approx(1.0, abs=1e-9)
        return total[np.clip(np.floor(x).astype(int) + 1, 0, len(total) - 1)]

    def errors(self, case: Case, mechanism: Any, size: int, trials: int) -> np.ndarray:
        """The worst case over how many values are just too far above; the others just too far below."""
        gap = mechanism.accuracy({s: c for c, s in self.confidences}[size], size)
        wrong = []
        for high in range(min(size, mechanism.count) + 1):
            values = [-gap] * (size - high) + [gap] * high
            right = list(range(size - high, size))
            wrong.append(np.array([list(found) != right for found in mechanism.releases(values, trials)]))
        return np.where(max(wrong, key=np.sum), 2 * gap, 0.0)

    # -- beyond the contract -------------------------------------------------------------------------

    def test_no_outcome_is_more_likely_than_epsilon_allows(self, case: Case) -> None:
        m = replace(case.mechanism, answer_share=0.0, sensitivity=1.0)
        b1, b2 = scales(m)
        worst = 0.0
        rng = np.random.default_rng(8)
        for _ in range(12):
            values = rng.choice([-2.0, 0.0, 2.0, 5.0], size=4)
            change = rng.choice([0.0, 1.0] if m.monotone else [-1.0, 1.0], size=4)
            p, q = law(values, m, b1, b2), law(values + change, m, b1, b2)
            worst = max(worst, *(abs(math.log(p[cell] / q[cell])) for cell in p))
        for first, second in (m.worst_pair, m.worst_pair[::-1]):
            p, q = law(first, m, b1, b2), law(second, m, b1, b2)
            worst = max(worst, *(abs(math.log(p[cell] / q[cell])) for cell in p))
        assert 0.6 * m.epsilon < worst <= m.epsilon * (1 + 1e-9)

    def test_one_by_one(self, case: Case) -> None:
        """A watch answers as a list does."""
        m = case.mechanism
        b1, b2 = scales(m)
        values = [v * b2 / 2 for v in VALUES]
        counts: Counter[tuple[int, ...]] = Counter()
        with bits("watched", case.label):
            for _ in range(800):
                run, found = m.start(0.0), []
                for i, value in enumerate(values):
                    answer = run.ask(value)
                    if answer is not None and answer is not False:
                        found.append(i)
                    if run.stopped:
                        break
                counts[tuple(found)] += 1
        cells = law(values, m, b1, b2)
        slack = math.sqrt(math.log(2 * len(cells) / 1e-10) / 1600)
        assert max(abs(counts[cell] / 800 - p) for cell, p in cells.items()) < slack


def test_count_one_is_above_threshold() -> None:
    s, a = SparseVector(sensitivity=1, epsilon=1.0, count=1), AboveThreshold(sensitivity=1, epsilon=1.0)
    assert s.comparison == a.comparison
    assert s.loss == a.loss
    assert s.accuracy(0.9, 5) == a.accuracy(0.9, 5)
    assert s.worst_pair.first.tolist() == a.worst_pair.first.tolist()


def test_noise_of_algorithm_7() -> None:
    """Lyu, Su and Li: Lap(Delta/e1), Lap(2 c Delta/e2), Lap(c Delta/e3), e1 : e2 = 1 : (2c)^(2/3)."""
    m = SparseVector(sensitivity=2, epsilon=1.0, count=5, answer_share=0.5, noise="laplace")
    e1 = 0.5 / (1 + 10 ** (2 / 3))
    assert float(m.comparison.threshold_noise) == pytest.approx(1 / e1)
    assert float(m.comparison.query_noise) == pytest.approx(10 / (0.5 - e1))
    assert m.numbers == Laplace(sensitivity=2, scale=20.0)
    assert m.loss == dp.losses.pure(0.5) + dp.losses.laplace(scale=20.0, sensitivity=2.0) * 5
    assert m.loss.epsilon(0.0) == pytest.approx(1.0)
    assert SparseVector(sensitivity=2, epsilon=1.0, count=5).numbers is None


def test_numbers_have_noise_of_their_own() -> None:
    """Laplace noise around the value, whether or not it was close to the threshold."""
    m = SparseVector(sensitivity=1, epsilon=4.0, count=1, answer_share=0.5)
    with bits("numbers"):
        near = np.array([x[0] for x in m.releases([0.0], 200_000) if x])
        far = np.array([m.release([500.0], threshold=400.0)[0] for _ in range(1000)])
    assert 0.3 < len(near) / 200_000 < 0.7

    def cdf(x: np.ndarray) -> np.ndarray:
        return np.where(x < 0, 0.5 * np.exp(2 * np.minimum(x, 0)), 1 - 0.5 * np.exp(-2 * np.maximum(x, 0)))

    assert follows(near, cdf)
    assert follows(far - 500.0, cdf)
    assert not follows(near, lambda x: cdf(x / 1.15))


def test_numbers_come_from_a_watch() -> None:
    m = SparseVector(sensitivity=1, epsilon=10.0, count=2, answer_share=0.5)
    run = m.start(threshold=1000)
    with bits("watch with numbers"):
        answers = [run.ask(x) for x in (0, 2000, 0, 3000)]
    assert answers[0] is None
    assert answers[2] is None
    assert abs(answers[1] - 2000) < 20
    assert abs(answers[3] - 3000) < 20
    assert run.stopped
    with pytest.raises(Stopped):
        run.ask(0)


def test_fresh_thresholds_are_runs_of_above_threshold() -> None:
    m = SparseVector(sensitivity=1, epsilon=2.0, count=2, fresh_threshold=True)
    one = AboveThreshold(sensitivity=1, epsilon=1.0)
    assert m.comparison == one.comparison
    assert m.loss == one.loss * 2
    values = [-2.0, 0.0, 2.0]
    b1, b2 = float(one.comparison.threshold_noise), float(one.comparison.query_noise)
    chances: dict[tuple[int, ...], float] = {}
    first = [above_pattern(values, {i}, b1, b2, "exponential", i + 1) for i in range(3)]
    chances[()] = above_pattern(values, set(), b1, b2, "exponential")
    for i in range(3):
        rest = values[i + 1 :]
        second = [above_pattern(rest, {j}, b1, b2, "exponential", j + 1) for j in range(len(rest))]
        chances[(i,)] = first[i] * (1 - sum(second))
        for j, p in enumerate(second):
            chances[i, i + 1 + j] = first[i] * p
    with bits("fresh"):
        counts = Counter(tuple(x) for x in m.releases(values, 40_000))
        watched: Counter[tuple[int, ...]] = Counter()
        for _ in range(2000):
            run, found = m.start(0.0), []
            for i, value in enumerate(values):
                if not run.stopped and run.ask(value):
                    found.append(i)
            watched[tuple(found)] += 1
    for some, n in ((counts, 40_000), (watched, 2000)):
        slack = math.sqrt(math.log(16 / 1e-10) / (2 * n))
        assert max(abs(some[cell] / n - p) for cell, p in chances.items()) < slack


def test_fresh_thresholds_by_simulation() -> None:
    m = SparseVector(sensitivity=1, epsilon=4.0, count=3, fresh_threshold=True)
    gap = m.accuracy(0.9, 8)
    with bits("fresh accuracy"):
        found = m.releases([-gap] * 5 + [gap] * 3, 10_000)
    assert frequency(sum(x == [5, 6, 7] for x in found), 10_000)[1] >= 0.9


def test_calibration_picks_the_smaller_noise() -> None:
    pure = SparseVector.calibrated(dp.PureDP(1.0), sensitivity=1, count=50)
    assert not pure.fresh_threshold
    assert pure.epsilon == 1.0
    many = SparseVector.calibrated(dp.ApproxDP(1.0, 1e-6), sensitivity=1, count=100)
    assert many.fresh_threshold
    fixed = SparseVector.calibrated(dp.ApproxDP(1.0, 1e-6), sensitivity=1, count=100, fresh_threshold=False)
    assert many.comparison.query_noise < fixed.comparison.query_noise
    numbers = SparseVector.calibrated(dp.ZCDP(0.5), sensitivity=1, count=4, answer_share=0.5)
    assert dp.ZCDP(0.5).holds(numbers.loss)


def test_at_most_count_are_found() -> None:
    m = SparseVector(sensitivity=1, epsilon=1.0, count=3)
    values = np.where(np.arange(100) % 10 == 7, 10_000.0, -10_000.0)
    assert m.release(values) == [7, 17, 27]
    assert m.release([-10_000.0] * 5) == []
    assert m.release([10_000.0], threshold=[0.0]) == [0]
    with pytest.raises(InvalidParameter, match="thresholds"):
        m.release([1.0], threshold=[0.0, 1.0])


@pytest.mark.parametrize("wrong", PUBLISHED, ids=lambda wrong: wrong.name)
def test_published_but_not_private(wrong: Wrong) -> None:
    with bits("published", wrong.name):
        found = dp.audit.lower_bound(
            wrong.release, wrong.pair, trials=100_000, confidence=1 - 1e-9, batched=True
        )
    assert found.contradicts(dp.PureDP(wrong.epsilon))


@pytest.mark.parametrize("wrong", PUBLISHED, ids=lambda wrong: wrong.name)
def test_ours_on_the_same_values(wrong: Wrong) -> None:
    numbers = 0.5 if wrong.name.startswith("3") else 0.0
    m = SparseVector(sensitivity=1, epsilon=wrong.epsilon, count=1 if numbers else 6, answer_share=numbers)
    with bits("ours", wrong.name):
        found = dp.audit.lower_bound(m, wrong.pair, trials=20_000, confidence=1 - 1e-9, single=0)
    assert found.epsilon <= wrong.epsilon


def test_the_audit_stays_within_the_claim() -> None:
    m = SparseVector(sensitivity=1, epsilon=1.0, count=2)
    with bits("audit sparse"):
        found = dp.audit.lower_bound(m, trials=60_000, confidence=1 - 1e-9, single=0)
        leak = dp.audit.lower_bound(replace(m, epsilon=3.0), trials=60_000, confidence=1 - 1e-9, single=0)
    assert not found.contradicts()
    assert found.epsilon > 0.3
    assert leak.contradicts(m.loss)
