"""The best of a random number of trials: under the contract, and against every order of a few outcomes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

import dalenius as dp
from dalenius import losses
from dalenius.calculus.losses.best_of import NegativeBinomial, negative_binomial_mean
from tests.calculus.contract import Case, LossContract


class TestBestOf(LossContract):
    """Randomized response as a trial, an outcome of 1 being the better one."""

    cases = (
        Case("geometric", lambda x: losses.best_of(losses.pure(1.0 / x), 5.0), law=("geometric", 1.0)),
        Case("poisson", lambda x: losses.best_of_poisson(losses.pure(1.0 / x), 5.0), law=("poisson", 1.0)),
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
        one = self._one(case, present)
        tried = rng.geometric(0.2, size) if case.law[0] == "geometric" else rng.poisson(5.0, size)
        return np.where(tried == 0, 2, rng.binomial(tried, one) > 0)

    def log_ratio(self, case: Case, outcomes: np.ndarray) -> np.ndarray:
        with_one, without = (self._law(case, self._one(case, present)) for present in (True, False))
        return np.log(with_one[outcomes] / without[outcomes])

    def _one(self, case: Case, present: bool) -> float:
        return 1 / (1 + math.exp(-case.law[1] if present else case.law[1]))

    def _law(self, case: Case, one: float) -> np.ndarray:
        """Of the worse outcome, of the better one, and of nothing tried."""
        rest = 1 - one
        if case.law[0] == "geometric":
            worse, nothing = 0.2 * rest / (1 - 0.8 * rest), 1e-300
        else:
            worse, nothing = math.exp(-5.0 * one) - math.exp(-5.0), math.exp(-5.0)
        return np.array([worse, 1 - worse - nothing, nothing])


Generating = Callable[[np.ndarray], np.ndarray]


def by_table(law: np.ndarray) -> Generating:
    """E[z^K] from the probabilities of K = 0, 1, ..."""
    return lambda z: np.polynomial.polynomial.polyval(z, law)


def negative_binomial(mean: float, shape: float) -> np.ndarray:
    g = NegativeBinomial(mean, shape).g
    k = np.arange(1, 400)
    if shape == 0:
        weights = stats.logser(1 - g).pmf(k)
    else:
        weights = stats.nbinom(shape, g).pmf(k)
        weights = weights / -math.expm1(shape * math.log(g))
    return np.concatenate(([0.0], weights))


LAWS: dict[str, tuple[Callable[[losses.Loss], losses.Loss], Generating]] = {
    "geometric": (lambda t: losses.best_of(t, 4.0), by_table(negative_binomial(4.0, 1.0))),
    "logarithmic": (lambda t: losses.best_of(t, 4.0, 0.0), by_table(negative_binomial(4.0, 0.0))),
    "negative binomial": (lambda t: losses.best_of(t, 6.0, 0.5), by_table(negative_binomial(6.0, 0.5))),
    "heavy shape": (lambda t: losses.best_of(t, 3.0, 5.0), by_table(negative_binomial(3.0, 5.0))),
    "poisson": (lambda t: losses.best_of_poisson(t, 3.0), lambda z: np.exp(3.0 * (z - 1))),
    "binomial": (lambda t: losses.best_of_binomial(t, 7, 0.4), lambda z: (0.6 + 0.4 * z) ** 7),
    "one or none": (lambda t: losses.best_of_binomial(t, 1, 0.4), lambda z: 0.6 + 0.4 * z),
}


def laws_of_trials() -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(11)
    pairs = []
    for size in (2, 3, 4):
        for spread in (0.1, 0.6):
            q = rng.dirichlet(np.ones(size))
            p = q * np.exp(spread * rng.normal(size=size))
            pairs.append((p / p.sum(), q))
    return [*pairs, (np.array([0.1, 0.5, 0.4]), np.array([0.0, 0.55, 0.45]))]


@pytest.mark.parametrize("name", LAWS)
def test_every_order_of_a_few_outcomes(name: str) -> None:
    """P(the best is among the first j) = phi(P(a trial is)), in any order: delta is exact, and below the bound."""
    build, phi = LAWS[name]
    for p, q in laws_of_trials():
        best = build(losses.from_pair(p, q))
        for order in itertools.permutations(range(len(p))):
            laws = []
            for law in (p, q):
                below = phi(np.minimum(np.concatenate(([0.0], np.cumsum(law[list(order)]))), 1.0))
                laws.append(np.append(np.diff(below), below[0]))
            for epsilon in (0.0, 0.1, 0.4, 1.0):
                exact = max(
                    float(np.maximum(a - math.exp(epsilon) * b, 0.0).sum()) for a, b in (laws, laws[::-1])
                )
                assert exact <= best.delta(epsilon) + 1e-12


@pytest.mark.parametrize("name", LAWS)
def test_weights_are_derivatives(name: str) -> None:
    """phi'(1 - x) by differences; a trial made at random once or never is a coin before the release."""
    _, phi = LAWS[name]
    z = np.linspace(0.05, 0.95, 7)
    slope = (phi(z + 1e-6) - phi(z - 1e-6)) / 2e-6
    law = {
        "geometric": NegativeBinomial(4.0, 1.0),
        "logarithmic": NegativeBinomial(4.0, 0.0),
        "negative binomial": NegativeBinomial(6.0, 0.5),
        "heavy shape": NegativeBinomial(3.0, 5.0),
    }.get(name)
    if law is not None:
        assert np.exp(law.log_weight(1 - z)) == pytest.approx(slope, rel=1e-6)
        assert negative_binomial_mean(law.shape, law.g) == pytest.approx(law.mean, rel=1e-9)


@pytest.mark.parametrize("shape", [0.0, 0.5, 1.0, 3.0])
def test_pure_trials(shape: float) -> None:
    """(2 + shape) epsilon (Papernot and Steinke 2022, Corollary 3), and never more at any delta."""
    best = losses.best_of(losses.pure(0.3), 10.0, shape)
    promised = losses.pure((2 + shape) * 0.3)
    assert best.epsilon(0.0) <= (2 + shape) * 0.3 * (1 + 1e-12)
    for epsilon in (0.0, 0.1, 0.4):
        assert best.delta(epsilon) <= promised.delta(epsilon) * (1 + 1e-9)


def test_from_below_nothing_is_claimed() -> None:
    best = losses.best_of(losses.gaussian(3.0), 10.0)
    assert best.epsilon_bounds(1e-6).lower == 0.0 < best.epsilon(1e-6)
    assert losses.Loss.from_json(best.to_json()) == best


def test_smaller_shapes_cost_less_and_fewer_trials_too() -> None:
    trial = losses.gaussian(8.0)
    costs = [losses.best_of(trial, 10.0, shape).epsilon(1e-6) for shape in (0.0, 0.5, 1.0, 2.0)]
    assert costs == sorted(costs)
    assert losses.best_of_poisson(trial, 5.0).epsilon(1e-6) < losses.best_of_poisson(trial, 50.0).epsilon(
        1e-6
    )
    rare = losses.best_of_binomial(trial, 10_000, 0.001)  # close to Poisson(10)
    assert rare.epsilon(1e-6) == pytest.approx(losses.best_of_poisson(trial, 10.0).epsilon(1e-6), rel=1e-2)


def test_refusals() -> None:
    trial = losses.gaussian(1.0)
    for wrong in (
        lambda: losses.best_of(trial, 1.0),
        lambda: losses.best_of(trial, 5.0, -0.1),
        lambda: losses.best_of(1.0, 5.0),  # type: ignore[arg-type]
        lambda: losses.best_of_poisson(trial, math.inf),
        lambda: losses.best_of_binomial(trial, 0, 0.5),
        lambda: losses.best_of_binomial(trial, 10, 1.0),
    ):
        with pytest.raises(dp.errors.InvalidParameter):
            wrong()
    assert losses.best_of(dp.Loss.zero(), 5.0) == dp.Loss.zero()


def test_trials_that_cannot_be_confused_beyond_floats() -> None:
    """Where every exponent is beyond floats nothing is left to draw chords over; it was no documented error."""
    trial = losses.tree_gaussian(0.57, 1250, 3, 3, 9)
    best = losses.best_of_poisson(trial, 402408.9)
    lower, upper = best.epsilon_bounds(1e-5)
    assert lower == 0.0
    assert upper == math.inf
    assert best.delta(1.0) == 1.0
