"""Correlated noise: under the contract, against every pattern of participations written out, and published numbers."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.linalg import toeplitz
from scipy.special import ndtr

import dalenius as dp
from dalenius import losses
from dalenius.calculus.participation.dense import _by_majorant, _by_rows, dense_squares
from dalenius.calculus.participation.schedule import Schedule, Squares
from dalenius.calculus.participation.square_root import square_root
from dalenius.calculus.participation.toeplitz import toeplitz_squares
from dalenius.calculus.participation.tree import node_sizes, tree_squares
from dalenius.errors import InvalidParameter, TooLittleNoise
from tests.calculus.contract import DRAWS, Case, LossContract, hockey_stick


def lower_triangular(coefficients: Any, steps: int) -> np.ndarray:
    column = np.zeros(steps)
    column[: min(steps, len(coefficients))] = coefficients[:steps]
    return np.asarray(toeplitz(column, np.zeros(steps)))


def tree(steps: int, branches: int) -> np.ndarray:
    """A row for every node that the steps complete."""
    return np.array(
        [
            [float(node * size <= t < (node + 1) * size) for t in range(steps)]
            for size in node_sizes(steps, branches)
            for node in range(steps // size)
        ]
    )


class Correlated(LossContract):
    """C x + Z is drawn, x being a record that contributes 1 in each step of one pattern."""

    examples = 2
    composed = attained_at = (1,)
    repeats = (2,)

    def draw(self, case: Case, rng: np.random.Generator, size: int, present: bool) -> np.ndarray:
        return present * case.moved + rng.normal(0.0, case.sigma, (size, len(case.moved)))

    def log_ratio(self, case: Case, outcomes: np.ndarray) -> np.ndarray:
        return np.asarray((outcomes - case.moved / 2) @ case.moved / case.sigma**2)


class TestToeplitzGaussian(Correlated):
    cases = (
        Case(
            "three times, two steps apart",
            lambda change: losses.toeplitz_gaussian(
                5.0 * change, 6, [1.0, 0.5, 0.375], participations=3, separation=2
            ),
            sigma=5.0,
            moved=lower_triangular([1.0, 0.5, 0.375], 6)[:, [0, 2, 4]].sum(axis=1),
        ),
        Case(
            "replaced",
            lambda change: losses.toeplitz_gaussian(4.0 * change, 5, adjacency=dp.REPLACE_ONE),
            sigma=4.0,
            moved=2 * lower_triangular(square_root(5), 5)[:, 0],
        ),
    )


class TestTreeGaussian(Correlated):
    cases = (
        Case(
            "twice",
            lambda change: losses.tree_gaussian(4.0 * change, 8, participations=2, separation=4),
            sigma=4.0,
            moved=tree(8, 2)[:, [0, 4]].sum(axis=1),
        ),
    )


class TestMatrixGaussian(Correlated):
    matrix = np.tril(np.random.default_rng(5).random((5, 5)))
    cases = (
        Case(
            "twice, one pass after another",
            lambda change: losses.matrix_gaussian(
                3.0 * change, TestMatrixGaussian.matrix, participations=2, epoch=3
            ),
            sigma=3.0,
            moved=matrix[:, [0, 3]].sum(axis=1),
        ),
    )
    proved = False  # the entries of C'C are enclosed, not known


class TestBandedSampled(LossContract):
    """One turn of a record: a column of length 1, or nothing."""

    cases = (Case("two bands", lambda change: losses.banded_sampled(change, 2, 0.4, [0.6, 0.8]), rate=0.4),)
    column = np.array([0.6, 0.8])
    examples = 2
    mirrored = False
    slow_sums = True
    proved = False
    epsilons = (0.1, 0.3)
    composed = attained_at = (1,)
    repeats = (2,)

    def cells(self, case: Case) -> tuple[np.ndarray, np.ndarray]:
        """Of the outcome along the column."""
        edges = np.concatenate(([-np.inf], np.linspace(-8.0, 9.0, 3000), [np.inf]))
        without, seen = np.diff(ndtr(edges)), np.diff(ndtr(edges - 1.0))
        return (1 - case.rate) * without + case.rate * seen, without

    def draw(self, case: Case, rng: np.random.Generator, size: int, present: bool) -> np.ndarray:
        turns = present * (rng.random((size, 1)) < case.rate)
        return turns * self.column + rng.normal(size=(size, 2))

    def log_ratio(self, case: Case, outcomes: np.ndarray) -> np.ndarray:
        return np.log1p(case.rate * np.expm1((outcomes - self.column / 2) @ self.column))


def test_turns_of_a_group_by_simulation() -> None:
    """Turns in steps 0 and 2; adaptive company does not matter, so none is drawn.

    Empirical Bernstein bounds at 1e-10 each, and 30 % more noise than there is must be noticed.
    """
    strategy, rate, rng = lower_triangular([1.0, 0.5], 4), 0.3, np.random.default_rng(4)
    loss, less = (losses.banded_sampled(sigma, 4, rate, [1.0, 0.5]) for sigma in (1.0, 1.3))
    for direction, present in (("remove", True), ("add", False)):
        turns = np.zeros((DRAWS, 4))
        turns[:, ::2] = present * (rng.random((DRAWS, 2)) < rate)
        outcomes = turns @ strategy.T + rng.normal(size=(DRAWS, 4))
        total = np.zeros(DRAWS)
        for t in (0, 2):
            column = strategy[:, t]
            total += np.log1p(rate * np.expm1((outcomes - column / 2) @ column))
        found = hockey_stick(total if present else -total, 0.3)
        assert found.agrees(getattr(loss, direction).delta(0.3), attained=True)
        assert not found.agrees(getattr(less, direction).delta(0.3), attained=True)


def test_the_last_turn_may_be_cut() -> None:
    full, cut = (losses.poisson_sampled(losses.gaussian(2.0, length), 0.3) for length in (5.0, 3.0))
    assert losses.banded_sampled(2.0, 6, 0.3, [3.0, 4.0]) == full * 3
    assert losses.banded_sampled(2.0, 5, 0.3, [3.0, 4.0]) == full * 2 + cut
    assert losses.banded_sampled(2.0, 7, 0.3, [3.0, 4.0], groups=3) == full * 2 + cut
    assert losses.banded_sampled(2.0, 1, 0.3, [3.0, 4.0]) == cut


# -- every pattern, written out ------------------------------------------------------------------------


@cache
def patterns(schedule: Schedule) -> np.ndarray:
    """A row for every pattern, 1 where it takes part."""
    rows = []
    for k in range(1, schedule.participations + 1):
        for pattern in itertools.combinations(range(schedule.steps), k):
            gaps, b = np.diff(pattern), schedule.separation
            if np.all(gaps % b == 0 if schedule.multiples else gaps >= b):
                rows.append(np.isin(np.arange(schedule.steps), pattern).astype(float))
    return np.array(rows)


def worst(sizes: np.ndarray, schedule: Schedule) -> float:
    """The largest sum of the entries that a pattern selects on both sides."""
    rows = patterns(schedule)
    return float(((rows @ sizes) * rows).sum(axis=1).max())


def largest(strategy: np.ndarray, schedule: Schedule) -> float:
    """The bound that is to be computed: the sum of |C'C| over a pattern, for the worst one."""
    return worst(np.abs(strategy.T @ strategy), schedule)


SCHEDULES = [
    Schedule(n, k, b, multiples)
    for n, k, b in (
        (1, 3, 1),
        (7, 2, 1),
        (8, 3, 2),
        (9, 9, 1),
        (11, 3, 4),
        (12, 4, 3),
        (12, 2, 20),
        (12, 6, 2),
    )
    for multiples in (False, True)
]


def holds(squares: Squares, truth: float, tight: bool) -> None:
    low, high = float(squares.lower), float(squares.upper)
    assert low <= truth * (1 + 1e-12)
    assert high >= truth * (1 - 1e-12)
    if tight:
        assert high <= truth * (1 + 1e-12)


@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
def test_no_pattern_is_worse(schedule: Schedule) -> None:
    rng, n = np.random.default_rng(schedule.steps), schedule.steps
    for _ in range(2):
        positive, signed = np.tril(rng.random((n, n))), rng.normal(size=(n + 2, n))
        found = dense_squares(positive, schedule)
        holds(found, largest(positive, schedule), tight=True)
        assert found.lower >= found.upper * (1 - Fraction(1, 10**11))
        holds(dense_squares(signed, schedule), largest(signed, schedule), tight=True)
        falling, some = sorted(rng.random(n), reverse=True), rng.normal(size=min(n, schedule.separation))
        for column in (falling, some):
            found = toeplitz_squares(tuple(column), schedule)
            holds(found, largest(lower_triangular(column, n), schedule), tight=True)
            assert found.lower == found.upper
        positive_column = tuple(rng.random(n))
        found = toeplitz_squares(positive_column, schedule)
        holds(found, largest(lower_triangular(positive_column, n), schedule), tight=True)
        any_column = list(rng.normal(size=n))
        holds(
            toeplitz_squares(tuple(any_column), schedule),
            largest(lower_triangular(any_column, n), schedule),
            True,
        )
    for branches in (2, 3):
        tight = schedule.separation in (1, 20, branches, branches**2) or (
            schedule.multiples and schedule.every
        )
        holds(tree_squares(branches, schedule), largest(tree(n, branches), schedule), tight)


@pytest.mark.parametrize("schedule", SCHEDULES[::2], ids=str)
def test_each_bound_by_itself(schedule: Schedule) -> None:
    """Those that count where patterns are too many to be tried: above every pattern, and exact where they should be."""
    rng, n = np.random.default_rng(schedule.steps), schedule.steps
    if schedule.longest == 1:
        return
    for _ in range(4):
        any_matrix = np.abs(rng.normal(size=(n, n)) * rng.choice([0.01, 1.0], (n, n)))
        above = any_matrix + any_matrix.T
        truth = worst(above, schedule)
        assert _by_majorant(above, schedule) >= truth * (1 - 1e-12)
        by_rows, chosen = _by_rows(above, schedule)
        assert by_rows >= truth * (1 - 1e-12)
        assert np.all(np.diff(chosen) >= schedule.separation)
        assert len(chosen) <= schedule.longest
        apart = np.abs(np.subtract.outer(np.arange(n), np.arange(n))) >= schedule.separation
        banded = np.where(apart, 0.0, above)
        truth = worst(banded, schedule)
        assert _by_rows(banded, schedule)[0] == pytest.approx(truth, rel=1e-12)
        falling = lower_triangular(np.sort(rng.random(n))[::-1], n)
        gram = falling.T @ falling
        truth = worst(gram, schedule)
        assert _by_majorant(gram, schedule) == pytest.approx(truth, rel=1e-12)


@pytest.mark.parametrize(("n", "k", "b"), [(60, 5, 10), (200, 4, 40), (64, 3, 1)])
def test_structures_agree_with_the_matrix(n: int, k: int, b: int) -> None:
    """Two independent ways, where patterns are too many to write out."""
    schedule = Schedule(n, k, b)
    exact = toeplitz_squares(tuple(square_root(n)), schedule)
    dense = dense_squares(lower_triangular(square_root(n), n), schedule)
    assert dense.lower <= exact.upper <= dense.upper
    assert dense.upper <= exact.upper * (1 + Fraction(1, 10**10))
    nodes, written = tree_squares(2, schedule), dense_squares(tree(n, 2), schedule)
    assert nodes.lower <= written.upper
    assert written.lower <= nodes.upper


def test_a_rising_column_costs_no_less_than_any_pattern_tried() -> None:
    """Too many steps to write out: 2000 random patterns are tried."""
    rng = np.random.default_rng(2)
    column, schedule = rng.normal(size=40), Schedule(600, 5, 12)
    strategy = lower_triangular(column, 600)
    upper = float(toeplitz_squares(tuple(column), schedule).upper)
    for _ in range(2000):
        pattern = np.sort(rng.choice(600 - 4 * 11, 5, replace=False)) + 11 * np.arange(5)
        directions = rng.normal(size=(5, 3))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        assert np.sum((strategy[:, pattern] @ directions) ** 2) <= upper


def test_rounding_is_upward() -> None:
    """0.1 is not a tenth: what is squared is the double, exactly."""
    loss = losses.toeplitz_gaussian(1.0, 3, [0.1, 0.1, 0.1], participations=3)
    exact = Fraction(0.1) ** 2 * (1 + 4 + 9)
    assert Fraction(loss.gdp()) ** 2 >= exact
    dense = losses.matrix_gaussian(1.0, lower_triangular([0.1] * 3, 3), participations=3)
    assert Fraction(dense.gdp()) ** 2 >= exact
    assert dense.gdp() <= loss.gdp() * (1 + 1e-13)


def test_published_examples() -> None:
    """Of jax_privacy's tests of sensitivities: single participation 6, separation 2 and 3 the root of 5 + 36."""
    banded = np.array([[1.0, 0, 0, 0], [2, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, -6]])
    assert losses.matrix_gaussian(1.0, banded).gdp() == pytest.approx(6.0, rel=1e-12)
    for b in (2, 3):
        loss = losses.matrix_gaussian(1.0, banded, participations=4, separation=b)
        assert loss.gdp() == pytest.approx(math.sqrt(41), rel=1e-12)
    dense = banded + np.array([[0.0] * 4, [0.0] * 4, [0.5, 0, 0, 0], [0.4, 0, 0, 0]])
    every = losses.matrix_gaussian(1.0, dense, participations=4)
    assert every.gdp() == pytest.approx(math.sqrt(np.abs(dense.T @ dense).sum()), rel=1e-12)


# -- known numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", [1, 2, 3, 7, 8, 1000, 1 << 20])
def test_tree_of_single_participation(steps: int) -> None:
    """Kairouz et al. 2021: ceil(log2(n + 1)) nodes, each moved by 1."""
    squares = tree_squares(2, Schedule(steps, 1, 1))
    assert squares.lower == squares.upper == math.ceil(math.log2(steps + 1))


def test_square_root_grows_like_a_logarithm() -> None:
    """Coefficients are at most 1/sqrt(pi k), so the first column squared is at most 1 + (gamma + ln n)/pi."""
    for n in (10, 1000, 10**4):
        square = float(toeplitz_squares(tuple(square_root(n)), Schedule(n, 1, 1)).upper)
        assert (math.log(n) + 0.5772) / math.pi <= square <= 1 + (math.log(n) + 0.5772) / math.pi


def test_independent_noise_is_the_gaussian_mechanism() -> None:
    """C = I: k participations of k independent releases; tree, Toeplitz and matrix agree."""
    expected = losses.gaussian(2.0) * 7
    for loss in (
        losses.toeplitz_gaussian(2.0, 50, [1.0], participations=7),
        losses.tree_gaussian(2.0, 50, branches=51, participations=7),
    ):
        assert loss.epsilon_bounds(1e-6) == expected.epsilon_bounds(1e-6)
    low, high = losses.matrix_gaussian(2.0, np.eye(50), participations=7).epsilon_bounds(1e-6)
    assert low <= expected.epsilon(1e-6) <= high <= low * (1 + 1e-10)


def test_clip_is_a_unit() -> None:
    assert losses.tree_gaussian(6.0, 9, clip=3.0).gdp() == losses.tree_gaussian(2.0, 9).gdp()
    once, moved = (losses.tree_gaussian(2.0, 9, adjacency=a).gdp() for a in (dp.ADD_REMOVE, dp.REPLACE_ONE))
    assert moved == pytest.approx(2 * once, rel=1e-15)


def test_bands_amplify() -> None:
    """As many records in a batch, four bands: four times the rate, in a quarter of the steps."""
    steps = 400
    plain = losses.banded_sampled(1.0, steps, 0.01, [1.0])
    assert plain.epsilon(1e-6) == (losses.poisson_sampled(losses.gaussian(1.0), 0.01) * steps).epsilon(1e-6)
    column = square_root(4)
    length = math.sqrt(sum(c * c for c in column))
    banded = losses.banded_sampled(length, steps, 0.04, bands=4)
    expected = losses.poisson_sampled(losses.gaussian(1.0), 0.04) * 100
    assert banded.epsilon(1e-6) == pytest.approx(expected.epsilon(1e-6), rel=1e-9)
    whole = losses.banded_sampled(length, steps, 1.0, bands=4)
    unsampled = losses.toeplitz_gaussian(length, steps, column, participations=100, epoch=4)
    assert whole.epsilon(1e-6) == pytest.approx(unsampled.epsilon(1e-6), rel=1e-12)
    assert losses.banded_sampled(1.0, steps, 0.0, bands=4).epsilon(1e-6) == 0.0


# -- what is refused -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: losses.matrix_gaussian(1.0, [1.0, 2.0]), "matrix"),
        (lambda: losses.matrix_gaussian(1.0, [[1.0], [2.0, 3.0]]), "matrix"),
        (lambda: losses.matrix_gaussian(1.0, [[math.nan]]), "size"),
        (lambda: losses.matrix_gaussian(1.0, [[1e-200]]), "size"),
        (lambda: losses.matrix_gaussian(1.0, np.ones((2, 3000))), "2048"),
        (lambda: losses.matrix_gaussian(0.0, np.eye(3)), "sigma"),
        (lambda: losses.matrix_gaussian(1.0, np.eye(3), clip=-1.0), "clip"),
        (lambda: losses.matrix_gaussian(1.0, np.eye(3), participations=0), "participations"),
        (lambda: losses.matrix_gaussian(1.0, np.eye(3), 2, separation=2, epoch=3), "epoch"),
        (lambda: losses.toeplitz_gaussian("1", 3), "sigma"),
        (lambda: losses.toeplitz_gaussian(1.0, 10**8), "steps"),
        (lambda: losses.toeplitz_gaussian(1.0, 3, [1.0], bands=2), "bands"),
        (lambda: losses.toeplitz_gaussian(1.0, 3, []), "coefficients"),
        (lambda: losses.toeplitz_gaussian(1.0, 3, [0.0, 0.0]), "coefficients"),
        (lambda: losses.toeplitz_gaussian(1.0, 3, "12"), "coefficients"),
        (lambda: losses.toeplitz_gaussian(1.0, 3, [1.0, math.inf]), "coefficients"),
        (lambda: losses.toeplitz_gaussian(1.0, 3, adjacency="both"), "adjacency"),
        (lambda: losses.tree_gaussian(1.0, 3, branches=1), "branches"),
        (lambda: losses.tree_gaussian(1.0, 3, separation=0), "separation"),
        (lambda: losses.banded_sampled(1.0, 3, 0.1), "lacks"),
        (lambda: losses.banded_sampled(1.0, 9, 0.1, bands=4, groups=3), "groups"),
        (lambda: losses.banded_sampled(1.0, 9, 1.1, bands=4), "rate"),
    ],
)
def test_refused(make: Any, words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        make()


def test_too_little_noise() -> None:
    with pytest.raises(TooLittleNoise):
        losses.toeplitz_gaussian(1e-9, 100)
    assert losses.matrix_gaussian(1.0, np.zeros((3, 3))).epsilon(0.0) == 0.0


def test_saved() -> None:
    for loss in (
        losses.matrix_gaussian(1.0, np.tri(5), participations=2, separation=2),
        losses.tree_gaussian(1.0, 50, participations=3, separation=7),
        losses.banded_sampled(1.0, 50, 0.1, bands=3),
    ):
        assert losses.Loss.from_json(loss.to_json()) == loss


def test_long_runs_are_quick() -> None:
    """What would hang if work grew with the square of the participations."""
    for loss in (
        losses.tree_gaussian(1e4, 10**5, participations=10**5),
        losses.tree_gaussian(1e4, 10**5, participations=10**5, epoch=3),
        losses.toeplitz_gaussian(1e4, 10**5, bands=50, participations=10**5, separation=20),
    ):
        assert 0.01 < loss.gdp() < 1e6
