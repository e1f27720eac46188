"""Shuffled reports: under the contract, against every data set of a small crowd, and against published numbers."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from scipy import stats
from scipy.special import betainc

import dalenius as dp
from dalenius import losses
from dalenius.calculus.pairs.crowd import LOOSE, log_binomial
from dalenius.calculus.pairs.pair import UNIT
from dalenius.errors import AdjacencyMismatch, InvalidParameter
from tests.calculus.contract import Case, LossContract

REPLACE = dp.REPLACE_ONE


class TestShuffled(LossContract):
    """Ternary randomized response of 40 people, all but one with the third answer: near the worst, not the worst."""

    cases = (
        Case(
            "ternary",
            lambda x: losses.shuffled(losses.randomized_response(1.0 / x, 3, REPLACE), 40),
            mechanism=(1.0, 40),
        ),
        Case("binary", lambda x: losses.shuffled(losses.pure(2.0 / x, REPLACE), 40), mechanism=(2.0, 40)),
    )
    attained_at = ()
    planted = ()
    exact_width = 1.0
    proved = False
    examples = 2
    epsilons = (0.0, 0.3)
    repeats = (2,)
    slow_sums = True
    levels = 12

    def draw(self, case: Case, rng: np.random.Generator, size: int, present: bool) -> np.ndarray:
        epsilon, n = case.mechanism
        truth, each = math.exp(epsilon) / (math.exp(epsilon) + 2), 1 / (math.exp(epsilon) + 2)
        others = rng.multinomial(n - 1, [each, each, truth], size)
        own = rng.multinomial(1, [truth, each, each] if present else [each, truth, each], size)
        return others + own

    def log_ratio(self, case: Case, outcomes: np.ndarray) -> np.ndarray:
        e = math.exp(case.mechanism[0])
        with_one, without = (outcomes @ [e, 1, 1 / e], outcomes @ [1, e, 1 / e])
        return np.log(with_one) - np.log(without)


def crowd(matrix: np.ndarray, records: tuple[int, ...]) -> Counter[tuple[int, ...]]:
    """The law of how often each report occurs, written out."""
    law = Counter({(0,) * matrix.shape[1]: 1.0})
    for record in records:
        grown: Counter[tuple[int, ...]] = Counter()
        for counts, p in law.items():
            for report, chance in enumerate(matrix[record]):
                more = (*counts[:report], counts[report] + 1, *counts[report + 1 :])
                grown[more] += p * chance
        law = grown
    return law


def hockey_stick(p: Counter[tuple[int, ...]], q: Counter[tuple[int, ...]], alpha: float) -> float:
    return math.fsum(max(0.0, mass - alpha * q[counts]) for counts, mass in p.items())


def response(epsilon: float, k: int) -> np.ndarray:
    weights = np.ones((k, k)) + math.expm1(epsilon) * np.eye(k)
    return weights / weights.sum(1, keepdims=True)


def worst_of_every_data_set(matrix: np.ndarray, n: int, alphas: np.ndarray) -> np.ndarray:
    worst = np.zeros(len(alphas))
    for others in itertools.combinations_with_replacement(range(len(matrix)), n - 1):
        laws = [crowd(matrix, (own, *others)) for own in range(len(matrix))]
        for p, q in itertools.permutations(laws, 2):
            worst = np.maximum(worst, [hockey_stick(p, q, alpha) for alpha in alphas])
    return worst


@pytest.mark.parametrize(("epsilon", "k", "n"), [(1.0, 2, 6), (1.0, 3, 4), (3.0, 3, 4), (0.2, 4, 3)])
def test_no_data_set_is_worse(epsilon: float, k: int, n: int) -> None:
    loss = losses.shuffled(losses.randomized_response(epsilon, k, REPLACE), n)
    pure = losses.shuffled(losses.pure(epsilon, REPLACE), n)
    shares = np.array([0.0, 0.3, 0.8])
    worst = worst_of_every_data_set(response(epsilon, k), n, np.exp(epsilon * shares))
    for share, truth in zip(shares, worst, strict=True):
        bounds = loss.delta_bounds(epsilon * share)
        assert bounds.lower <= truth <= bounds.upper <= pure.delta(epsilon * share) * (1 + 1e-5)
    assert loss.delta(0.0) <= 1.2 * worst[0]


def test_any_randomizer() -> None:
    """Randomizers without any symmetry: three records, four reports, drawn at random."""
    rng = np.random.default_rng(20)
    for _ in range(4):
        matrix = rng.dirichlet(np.full(4, 3.0), 3)
        ratio = max(float((p / q).max()) for p, q in itertools.permutations(matrix, 2))
        epsilon = math.log(ratio)
        alphas = np.exp(epsilon * np.array([0.0, 0.2, 0.5]))
        worst = worst_of_every_data_set(matrix, 4, alphas)
        loss = losses.shuffled(losses.pure(epsilon, REPLACE), 4)
        assert all(loss.delta(math.log(a)) >= truth for a, truth in zip(alphas, worst, strict=True))


def test_counts_of_two_answers_alone_are_too_small() -> None:
    """A positive control: Lemma 3.5 of Feldman, McMillan and Talwar 2023 as first printed, withdrawn by their erratum.

    It reduces k-ary randomized response to the counts of the two answers in question, and hides who reported neither.
    """
    epsilon, k, n, alpha = 1.0, 3, 5, math.exp(0.8)
    e, p = math.exp(epsilon), 1 / (math.exp(epsilon) + 2)
    rest = p / (1 - 2 * p)
    printed = (
        sum(
            stats.multinomial.pmf([i, j, n - i - j], n, [p, p, 1 - 2 * p])
            * max(0.0, (e - alpha) * i - (alpha * e - 1) * j - (alpha - 1) * rest * (n - i - j))
            for i in range(n + 1)
            for j in range(n + 1 - i)
        )
        / n
    )
    matrix = response(epsilon, k)
    truth = hockey_stick(crowd(matrix, (0,) * n), crowd(matrix, (1,) + (0,) * (n - 1)), alpha)
    assert truth > 2 * printed
    assert losses.shuffled(losses.randomized_response(epsilon, k, REPLACE), n).delta(0.8) >= truth


def clones(epsilon: float, n: int, at: float) -> float:
    """Feldman, McMillan and Talwar 2023, summed over both counts: delta of (A + D, C - A + 1 - D) and its mirror."""
    e, alpha = math.exp(epsilon), math.exp(at)
    c = np.arange(n)
    some = stats.binom.pmf(c, n - 1, 2 / (e + 1))
    total = 0.0
    for count, weight in zip(c, some, strict=True):
        a = np.arange(count + 2)
        hit, miss = stats.binom.pmf(a - 1, count, 0.5), stats.binom.pmf(a, count, 0.5)
        p, q = (e * hit + miss) / (e + 1), (hit + e * miss) / (e + 1)
        total += weight * np.maximum(0.0, p - alpha * q).sum()
    return float(total)


@pytest.mark.parametrize(("epsilon", "n", "at"), [(1.0, 300, 0.1), (3.0, 900, 0.5)])
def test_pure_is_the_pair_of_clones(epsilon: float, n: int, at: float) -> None:
    upper = losses.shuffled(losses.pure(epsilon, REPLACE), n).delta(at)
    assert clones(epsilon, n, at) <= upper <= 1.02 * clones(epsilon, n, at)


@pytest.mark.parametrize("n", [10**4, 10**6, 10**12])
def test_below_the_closed_form_and_near_the_limit(n: int) -> None:
    """Feldman, McMillan and Talwar 2023, Theorem 3.1; and the Gaussian limit of the pair of clones."""
    epsilon, delta = 1.0, 1e-8
    e = math.exp(epsilon)
    closed = math.log1p((e - 1) * (4 * math.sqrt(2 * math.log(4 / delta) / ((e + 1) * n)) + 4 / n))
    upper = losses.shuffled(losses.pure(epsilon, REPLACE), n).epsilon(delta)
    assert upper < closed / 3
    limit = losses.gdp(math.sqrt(2 / ((e + 1) * n)) * (e - 1)).epsilon(delta)
    assert upper == pytest.approx(limit, rel=0.03 + 3 / n**0.25)


def test_a_smaller_local_profile_helps() -> None:
    many = [
        losses.shuffled(losses.randomized_response(2.0, k, REPLACE), 10_000).epsilon(1e-6) for k in (2, 50)
    ]
    assert many[1] < many[0] / 2


def test_composes_and_is_kept_as_text() -> None:
    loss = losses.shuffled(losses.pure(1.0, REPLACE), 2_000)
    again = dp.Loss.from_json(loss.to_json())
    assert again == loss
    one = loss.epsilon(1e-6)
    assert (loss * 10).delta(2 * one) > 1e-6 > (loss * 10).delta(5 * one)
    assert loss.renyi(2.0) < losses.pure(1.0).renyi(2.0) / 100


def test_one_person_nobody_and_nothing() -> None:
    local = losses.randomized_response(1.0, 4, REPLACE)
    assert losses.shuffled(local, 1) == local
    assert losses.shuffled(losses.pure(0.0, REPLACE), 7) == dp.Loss.zero(REPLACE)
    huge = losses.pure(400.0, REPLACE)
    assert losses.shuffled(huge, 10**6) == huge


def test_refuses() -> None:
    with pytest.raises(AdjacencyMismatch, match="replace-one"):
        losses.shuffled(losses.pure(1.0), 10)
    with pytest.raises(InvalidParameter, match="delta = 0"):
        losses.shuffled(losses.approx(1.0, 1e-9, REPLACE), 10)
    for n in (0, -1, 1.5, "3", None, 10**13):
        with pytest.raises(InvalidParameter, match="n"):
            losses.shuffled(losses.pure(1.0, REPLACE), n)  # type: ignore[arg-type]


@pytest.mark.parametrize("m", [1, 5, 40, 3000, 10**7])
@pytest.mark.parametrize("p", [1e-4, 0.3, 0.5, 0.97])
def test_binomial_probabilities(m: int, p: float) -> None:
    around = m * p + math.sqrt(m * p * (1 - p)) * np.linspace(-9, 9, 41)
    k = np.unique(np.clip(np.rint(around), 0, m))
    np.testing.assert_allclose(
        log_binomial(k, np.full(len(k), float(m)), p),
        np.log(stats.binom.pmf(k, m, p)),
        rtol=1e-10,
        atol=1e-10,
    )


@pytest.mark.parametrize("m", [30, 5000, 10**6, 10**9])
@pytest.mark.parametrize("p", [1e-3, 0.3, 0.5])
def test_binomial_tails_in_balls(m: int, p: float) -> None:
    """What SciPy makes of the incomplete beta function is nearer to the truth than it is granted."""
    flint = pytest.importorskip("flint")
    spread = math.sqrt(m * p * (1 - p))
    for away in (-6.0, 0.3, 3.0, 9.0):
        k = math.floor(m * p + away * spread)
        if not 0 < k < m:
            continue
        with flint.ctx.workprec(200):
            tail = flint.arb(p).beta_lower(flint.arb(k), flint.arb(m - k + 1), 1)
        assert tail.rel_accuracy_bits() > 60
        granted = LOOSE + 64 * UNIT * (abs(k - m * p) + 1)
        assert abs(float(betainc(k, m - k + 1, p)) - float(tail)) <= granted * float(tail)
