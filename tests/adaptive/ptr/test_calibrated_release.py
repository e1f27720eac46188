"""A mechanism chosen by a private statement: all votes of up to six people, exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest

import dalenius as dp
from dalenius.adaptive.ptr import CalibratedRelease, Family, PrivateBound, Refusal
from dalenius.adaptive.ptr.noisy_max import data_dependent_epsilon
from dalenius.calculus.loss import Loss
from dalenius.mechanisms import Neighbours
from dalenius.noise import discrete_laplace, noisy_argmax
from tests.adaptive.ptr.laws import Law, first_wins, geometric_tail, worst_profile
from tests.mechanisms.contract import bits, frequency

VOTES = [(a, b) for a in range(7) for b in range(7 - a)]
STATEMENTS = range(-100, 110)
EPSILONS = (0.0, 0.3, 0.7, 0.99, 1.0, 1.3, 2.0)


@dataclass(frozen=True)
class GapAtLeast(PrivateBound):
    """A lower bound on the difference of two counts."""

    epsilon: float = 0.7
    margin: int = 2
    adjacency: dp.Adjacency = dp.ADD_REMOVE
    failure: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "failure", geometric_tail(self.scale, self.margin + 1))

    @property
    def step(self) -> int:
        return 1 if self.adjacency is dp.ADD_REMOVE else 2

    @property
    def scale(self) -> float:
        return self.step / self.epsilon

    @property
    def loss(self) -> Loss:
        return dp.losses.geometric(self.scale, self.step, self.adjacency)

    def release(self, data: Any) -> int:
        return abs(data[0] - data[1]) + int(discrete_laplace(self.scale)) - self.margin

    def chance(self, data: Any, statement: int) -> float:
        k = statement + self.margin - abs(data[0] - data[1])
        return geometric_tail(self.scale, k) - geometric_tail(self.scale, k + 1)


@dataclass(frozen=True)
class Winner(Family):
    """The noisy maximum with the least noise that is cheap enough for all gaps the statement allows."""

    limit: float = 0.3
    delta: float = 0.02
    adjacency: dp.Adjacency = dp.ADD_REMOVE
    worst_pair = Neighbours((3, 0), (4, 0))

    @property
    def budget(self) -> Loss:
        return dp.losses.approx(self.limit, self.delta, self.adjacency)

    def choose(self, statement: Any) -> float | None:
        return _choice(max(int(statement), 0), self.limit, self.delta, self.adjacency is dp.ADD_REMOVE)

    def release(self, data: Any, phi: Any) -> int:
        return int(noisy_argmax([float(data[0]), float(data[1])], phi, "laplace"))


@cache
def _choice(gap: int, limit: float, delta: float, add_remove: bool) -> float | None:
    step = 1 if add_remove else 2
    for scale in (0.25, 0.5, 0.8):
        if all(data_dependent_epsilon(t, scale, delta, step) <= limit for t in range(gap, gap + 30)):
            return scale
    return None


def build(adjacency: dp.Adjacency) -> CalibratedRelease:
    return CalibratedRelease(bound=GapAtLeast(adjacency=adjacency), family=Winner(adjacency=adjacency))


def law(m: CalibratedRelease, data: Any, with_choice: bool = True) -> Law:
    """Of the choice and the answer, which together are covered as well as the answer alone."""
    assert isinstance(m.bound, GapAtLeast)
    atoms: dict[Any, float] = {}
    for statement in STATEMENTS:
        phi, chance = m.family.choose(statement), m.bound.chance(data, statement)
        if phi is None:
            outcomes: dict[Any, float] = {Refusal(): 1.0}
        else:
            first = first_wins(data[0] - data[1], phi)
            outcomes = {(phi, 0) if with_choice else 0: first, (phi, 1) if with_choice else 1: 1 - first}
        for outcome, p in outcomes.items():
            atoms[outcome] = atoms.get(outcome, 0.0) + chance * p
    return Law(atoms)


def pairs(adjacency: dp.Adjacency) -> list[tuple[Any, Any]]:
    steps = [(1, 0), (-1, 0), (0, 1), (0, -1)] if adjacency is dp.ADD_REMOVE else [(1, -1), (-1, 1)]
    moved = [(x, (x[0] + a, x[1] + b)) for x in VOTES for a, b in steps]
    return [(x, y) for x, y in moved if y in VOTES]


@pytest.mark.parametrize("adjacency", [dp.ADD_REMOVE, dp.REPLACE_ONE])
def test_keeps_the_stated_loss(adjacency: dp.Adjacency) -> None:
    m = build(adjacency)
    laws = {x: law(m, x) for x in VOTES}
    assert all(sum(one.atoms.values()) == pytest.approx(1.0, abs=1e-9) for one in laws.values())
    worst = worst_profile(pairs(adjacency), laws.__getitem__, EPSILONS)
    for epsilon, true in worst.items():
        assert true <= m.loss.delta(epsilon) * (1 + 1e-9), epsilon
    chances = [one.refused for one in laws.values()]
    assert all(1e-3 < p < 1 - 1e-3 for p in chances), (min(chances), max(chances))


def test_without_its_margin_the_statement_is_false_too_often() -> None:
    """A planted error: the bound is released as it is, and claims to fail as rarely as one with the margin."""
    right = build(dp.ADD_REMOVE)
    wrong = CalibratedRelease(bound=GapAtLeast(margin=-3), family=Winner(limit=0.01, delta=0.0005))
    worst = worst_profile(pairs(dp.ADD_REMOVE), lambda x: law(wrong, x), (0.71,))
    assert worst[0.71] > 0.0005 + geometric_tail(1 / 0.7, 8) + 1e-3
    assert worst[0.71] <= wrong.loss.delta(0.71) * (1 + 1e-9)  # with its own failure it holds
    assert right.bound.failure < 0.1


def test_draws_follow_the_law() -> None:
    m, data, trials = build(dp.ADD_REMOVE), (4, 1), 20_000
    with bits("calibrated"):
        drawn = [m.release(data) for _ in range(trials)]
    for outcome, p in law(m, data, with_choice=False).atoms.items():
        low, high = frequency(sum(x == outcome for x in drawn), trials)
        assert low <= p <= high, outcome


def test_the_loss_is_that_of_the_parts_and_the_failure() -> None:
    m = build(dp.ADD_REMOVE)
    kept = m.bound.loss + m.family.budget
    for epsilon in (0.5, 1.0, 2.0):
        stated = kept.delta(epsilon) + m.bound.failure
        assert stated <= m.loss.delta(epsilon) * (1 + 1e-9)
        assert m.loss.delta(epsilon) <= stated * 1.02
    assert math.isinf(m.loss.epsilon(m.bound.failure / 2))
