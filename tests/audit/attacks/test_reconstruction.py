"""Bits from sums: rebuilt from exact and slightly noisy answers within the bounds, held back by a private release.

Statistical tests have false-alarm rates of at most 1e-9 each, by the theorem in `attacks.coins` (the release keeps its
claim) or by margins of more than six standard deviations (an attack succeeds).
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog, lsq_linear

import dalenius as dp
from dalenius.audit.attacks import (
    Guesses,
    all_subsets,
    exhaustive_reconstruction,
    hadamard_reconstruction,
    hadamard_subsets,
    linear_reconstruction,
    random_bits,
    random_subsets,
)
from dalenius.audit.attacks.least_absolute import least_absolute
from dalenius.audit.attacks.least_squares import least_squares
from dalenius.core.arrays import Array
from dalenius.errors import InvalidParameter
from tests.audit.attacks.releases import exact, mechanism, private

SURE = 1e-9


class TestExhaustive:
    def test_exact_answers(self) -> None:
        bits = random_bits(14)
        assert exhaustive_reconstruction(exact(bits), 14, bits).success == 1.0

    def test_4e_is_attained(self) -> None:
        """Awan (2025), Theorem 2.1: answers half way between two candidates that differ in 4 places, E = 1."""
        d, c = np.array([0, 0, 1, 1, 0, 1]), np.array([1, 1, 0, 0, 0, 1])
        answers = all_subsets(6) @ (d + c) / 2
        assert np.abs(answers - all_subsets(6) @ d).max() == 1.0
        found = exhaustive_reconstruction(answers, 6, d)
        assert found.coins - found.right <= 4
        assert np.abs(answers - all_subsets(6) @ found.guess).max() <= 1.0

    @pytest.mark.parametrize("error", [0.4, 1.0, 1.5])
    def test_within_4e(self, error: float) -> None:
        random = np.random.default_rng(3)
        for _ in range(10):
            bits = random.integers(0, 2, 8)
            answers = all_subsets(8) @ bits + random.uniform(-error, error, 256)
            found = exhaustive_reconstruction(answers, 8, bits)
            assert 8 - found.right <= 4 * error
            largest = np.abs(answers - all_subsets(8) @ found.guess).max()
            assert largest <= np.abs(answers - all_subsets(8) @ bits).max()

    def test_is_the_nearest_of_all(self) -> None:
        random = np.random.default_rng(4)
        answers = random.normal(4, 3, 64)
        found = exhaustive_reconstruction(answers, 6)
        errors = np.abs(all_subsets(6) @ all_subsets(6).T.astype(int) - answers[:, None]).max(axis=0)
        mine = np.abs(all_subsets(6) @ found.guess - answers).max()
        assert mine == pytest.approx(errors.min())

    def test_private(self) -> None:
        """All 256 sums of 8 bits at mu = 1, 60 times: the noise is in proportion to n, and the bits stay hidden."""
        noise = mechanism(all_subsets(8), 1.0)
        bits = random_bits(60, 8)
        guess = [exhaustive_reconstruction(private(b, noise), 8).guess for b in bits]
        assert not Guesses(guess, bits).contradicts(noise, SURE)

    @pytest.mark.parametrize("n", [0, 21, 2.5, "3"])
    def test_odd_sizes(self, n: object) -> None:
        with pytest.raises(InvalidParameter):
            exhaustive_reconstruction([0.0], n)  # type: ignore[arg-type]


class TestHadamard:
    def test_transform_is_the_matrix(self) -> None:
        bits = random_bits(128)
        assert hadamard_reconstruction(exact(bits), 128, bits).success == 1.0

    @pytest.mark.parametrize(("n", "a"), [(64, 1), (256, 2), (1024, 4)])
    def test_at_most_16_a_squared_are_wrong(self, n: int, a: int) -> None:
        """Errors of a everywhere that move 4 a^2 bits by 1: along signs t for which H't has one size everywhere."""
        target, size = np.ones(1), 1
        while size < 4 * a * a:
            target, size = np.kron(target, [1, 1, 1, -1]), 4 * size
        target = np.concatenate([target, np.zeros(n - size)])
        bits = target < 0
        queries = hadamard_subsets(n)
        push = np.sign((queries[0::2].astype(float) - queries[1::2]) @ target)
        worst = np.zeros(2 * n)
        worst[0::2], worst[1::2] = a * push, -a * push
        found = hadamard_reconstruction(exact(bits)(queries) + worst, n, bits)
        assert n - found.right == 4 * a * a <= 16 * a * a

    def test_a_planted_bug_is_caught(self) -> None:
        """Noise 4 times too small, 200 releases of 64 bits, beside the right noise."""
        queries = hadamard_subsets(64)
        claim, broken = mechanism(queries, 1.0), mechanism(queries, 4.0)
        bits = random_bits(200, 64)
        for noise, caught in ((claim, False), (broken, True)):
            guess = [hadamard_reconstruction(private(b, noise)(queries), 64).guess for b in bits]
            assert Guesses(guess, bits).contradicts(claim, SURE) is caught

    def test_only_powers_of_two(self) -> None:
        with pytest.raises(InvalidParameter, match="power of 2"):
            hadamard_subsets(12)


class TestLinear:
    @pytest.mark.parametrize("method", ["absolute", "squares"])
    def test_exact_and_noisy(self, method: str) -> None:
        """Noise of sqrt(n)/12 leaves next to nothing hidden; at sqrt(n) and mu = 1 most is."""
        bits, queries = random_bits(256), random_subsets(1024, 256)
        assert linear_reconstruction(exact(bits), queries, bits, method).success == 1.0
        little = dp.mechanisms.DiscreteGaussian(sensitivity=1, sigma=256**0.5 / 12)
        assert linear_reconstruction(private(bits, little), queries, bits, method).success > 0.95
        noise = mechanism(queries, 1.0)
        found = linear_reconstruction(private(bits, noise), queries, bits, method)
        assert not found.contradicts(noise, SURE)
        assert found.success < 0.85

    def test_wild_answers(self) -> None:
        """Dwork, McSherry and Talwar (2007): a tenth of the answers may be anything; least squares is misled."""
        bits, queries = random_bits(200), random_subsets(1200, 200)
        answers = exact(bits)(queries).astype(float)
        answers[:120] = 1e4
        assert linear_reconstruction(answers, queries, bits).success == 1.0
        assert linear_reconstruction(answers, queries, bits, "squares").success < 0.9

    @pytest.mark.parametrize("sigma", [0.0, 2.0, 30.0])
    def test_is_the_optimum_of_the_linear_program(self, sigma: float) -> None:
        random = np.random.default_rng(7)
        matrix = random.integers(0, 2, (120, 30)).astype(float)
        answers = matrix @ random.integers(0, 2, 30) + random.normal(0, sigma, 120)
        x, gap = least_absolute(matrix, answers)
        m, n = matrix.shape
        program = linprog(
            np.concatenate([np.zeros(n), np.ones(2 * m)]),
            A_eq=np.hstack([matrix, np.eye(m), -np.eye(m)]),
            b_eq=answers,
            bounds=[(0, 1)] * n + [(0, None)] * (2 * m),
        )
        assert gap < 1e-8
        assert np.abs(answers - matrix @ x).sum() == pytest.approx(program.fun, rel=1e-7, abs=1e-6)

    def test_least_squares_are_least(self) -> None:
        """But for the weight of the mean answer: one sum among 400."""
        random = np.random.default_rng(8)
        queries = random.random((400, 100)) < 0.5
        answers = queries @ random.integers(0, 2, 100) + random.normal(0, 4, 400)
        x = least_squares(queries, answers)
        best = lsq_linear(queries.astype(float), answers, (0, 1)).x
        sums = [float(((answers - queries @ each) ** 2).sum()) for each in (x, best)]
        assert sums[1] <= sums[0] * (1 + 1e-9) <= 1.01 * sums[1]

    @pytest.mark.parametrize("method", ["absolute", "squares"])
    @pytest.mark.parametrize(
        "queries",
        [np.eye(9), np.ones((5, 9)), np.ones((1, 200)), np.kron(np.eye(4), np.ones((1, 8))), np.tri(30, 64)],
        ids=["each alone", "all alike", "one question", "by groups", "fewer than bits"],
    )
    def test_questions_that_are_no_coins(self, method: str, queries: Array) -> None:
        """Exact answers are met, however few or alike the questions are."""
        bits = np.ones(queries.shape[1], dtype=int)
        found = linear_reconstruction(queries @ bits, queries, bits, method)
        assert np.array_equal(queries @ found.guess, queries @ bits)

    def test_a_column_that_is_always_in(self) -> None:
        queries = np.ones((20, 3), dtype=bool)
        assert linear_reconstruction(np.full(20, 3.0), queries, method="squares").made == 3
        assert linear_reconstruction(np.full(20, 3.0), queries).guess.tolist() == [1, 1, 1]

    @pytest.mark.parametrize(
        ("queries", "answers"),
        [
            ([[0, 2]], [1]),
            ([], []),
            ([[0, 1]], [1, 2]),
            ([[0, 1]], [np.nan]),
            ([[0, 1]], ["one"]),
            ([0, 1], [1]),
        ],
    )
    def test_odd_input(self, queries: object, answers: object) -> None:
        with pytest.raises(InvalidParameter):
            linear_reconstruction(answers, queries)

    def test_answers_beyond_reason(self) -> None:
        bits, queries = random_bits(40), random_subsets(400, 40)
        answers = exact(bits)(queries).astype(float)
        answers[:20] = [1e300, -1e300] * 10
        assert linear_reconstruction(answers, queries, bits).success == 1.0
        assert linear_reconstruction(answers, queries, bits, "squares").made == 40

    def test_too_large(self) -> None:
        with pytest.raises(InvalidParameter, match="squares"):
            linear_reconstruction([0.0], np.zeros((1, 60_000_000), dtype=bool))

    def test_odd_method(self) -> None:
        with pytest.raises(InvalidParameter, match="method"):
            linear_reconstruction([1.0], [[1]], method="magic")  # type: ignore[arg-type]
