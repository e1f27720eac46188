"""The whole adaptive loop on tiny tables: exact likelihood ratios of transcripts, and planted bugs that they catch.

A transcript is everything that a release draws: noisy counts and chosen marginals. It is drawn on one table and played
again on a neighbour, with the same outcomes, so that the probability of every step is known exactly on both. For PureDP
the log ratio of every transcript is at most epsilon: no failure by chance is possible.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.core.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dalenius.mechanisms import DiscreteGaussian, Exponential, Geometric
from dalenius.queries import AdaptiveMarginals, Domain, Workload
from dalenius.queries.marginals import adaptive_marginals
from dalenius.queries.marginals.spending import Prices, cost
from tests.noise.seeded import seeded

DOMAIN = Domain({"a": 2, "b": 2, "c": 2})
WORKLOAD = Workload.marginals(DOMAIN, 2)
RAW = {kind: kind.release for kind in (DiscreteGaussian, Exponential, Geometric)}

Steps = list[tuple[Any, Any, Any]]
"""Of every step the mechanism, what it was given, and what came out."""


@contextmanager
def recorded(monkeypatch: pytest.MonkeyPatch, forced: Steps | None = None) -> Iterator[Steps]:
    """The steps of the releases within the block; with the outcomes of another transcript, where one is given."""
    steps: Steps = []

    def release(self: Any, value: Any) -> Any:
        outcome = RAW[type(self)](self, value) if forced is None else forced[len(steps)][2]
        steps.append((self, np.array(value), outcome))
        return outcome

    with monkeypatch.context() as patch:
        for kind in RAW:
            patch.setattr(kind, "release", release)
        yield steps


def log_likelihood(steps: Steps) -> float:
    return math.fsum(_log_probability(*step) for step in steps)


def _log_probability(mechanism: Any, value: Any, outcome: Any) -> float:
    """Up to a constant that neighbours share."""
    if isinstance(mechanism, Exponential):
        exponents = value / mechanism.scale
        top = exponents.max()
        return float(exponents[outcome] - top - math.log(np.exp(exponents - top).sum()))
    off = np.abs(np.asarray(outcome) - value).astype(float)
    if isinstance(mechanism, Geometric):
        return float(-off.sum() / mechanism.scale)
    return float(-(off**2).sum() / (2 * mechanism.sigma**2))


def table(rows: Any) -> Any:
    return DOMAIN.codes(np.array(rows, dtype=np.int64).reshape(-1, 3))


def neighbours(adjacency: Adjacency) -> list[tuple[Any, Any]]:
    """Tables of up to three rows and every neighbour, up to a relabelling of values."""
    base, every = [[0, 0, 0], [1, 1, 0]], [list(row) for row in product((0, 1), repeat=3)]
    if adjacency is ADD_REMOVE:
        return [(table(base), table([*base, row])) for row in every] + [(table([]), table(every[:1]))]
    return [(table([*base, [0, 0, 0]]), table([*base, row])) for row in every]


def ratios(mechanism: AdaptiveMarginals, pair: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> float:
    """The log likelihood ratio of a transcript that was drawn on the first of two tables."""
    with recorded(monkeypatch) as first:
        mechanism.release(pair[0])
    with recorded(monkeypatch, first) as second:
        mechanism.release(pair[1])
    assert len(first) == len(second)
    return log_likelihood(first) - log_likelihood(second)


def worst(mechanism: AdaptiveMarginals, monkeypatch: pytest.MonkeyPatch, times: int = 3) -> float:
    found = []
    with seeded(11):
        for one, other in neighbours(mechanism.adjacency):
            for pair in ((one, other), (other, one)):
                found += [abs(ratios(mechanism, pair, monkeypatch)) for _ in range(times)]
    return max(found)


@pytest.fixture(autouse=True)
def short_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a fit costs, and how good it is, does not touch privacy. One of the three marginals is chosen."""
    monkeypatch.setattr(adaptive_marginals, "rounds_for", lambda signal: 1)
    monkeypatch.setattr(adaptive_marginals, "ROUND_STEPS", 3)
    monkeypatch.setattr(adaptive_marginals, "FINAL_STEPS", 3)


@pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE])
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_no_transcript_tells_more_than_epsilon(
    adjacency: Adjacency, epsilon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    mechanism = AdaptiveMarginals(WORKLOAD, dp.PureDP(epsilon), adjacency=adjacency)
    found = worst(mechanism, monkeypatch)
    assert 0.3 * epsilon <= found <= epsilon * (1 + 1e-9)


def test_a_transcript_holds_counts_and_a_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    with recorded(monkeypatch) as steps:
        AdaptiveMarginals(WORKLOAD, dp.PureDP(0.5)).release(table([[0, 1, 1]]))
    assert [type(step[0]) for step in steps] == [Geometric] * 4 + [Exponential, Geometric]


def test_wrong_sensitivity_of_counts_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The noise of ADD_REMOVE where a row is replaced: its l1 sensitivity is 2, not 1."""
    right = Prices.noise

    def wrong(self: Prices, amount: Any) -> Any:
        return right(Prices(self.guarantee, ADD_REMOVE, self.rows_per_unit), amount)

    monkeypatch.setattr(Prices, "noise", wrong)
    monkeypatch.setattr(adaptive_marginals.Purse, "pay", lambda self, mechanism: None)
    mechanism = AdaptiveMarginals(WORKLOAD, dp.PureDP(0.5), adjacency=REPLACE_ONE)
    assert worst(mechanism, monkeypatch) > 0.55


def score_moves(mechanism: AdaptiveMarginals, monkeypatch: pytest.MonkeyPatch) -> tuple[float, float]:
    """The most that a neighbour moves a score of the choice, and the sensitivity that its noise was made for."""
    base = [[0, 0, 0], [1, 1, 1]] * 100
    moved = []
    with seeded(3):
        for row in ([0, 0, 1], [0, 1, 1], [1, 1, 1]):
            other = [*base, row] if mechanism.adjacency is ADD_REMOVE else [row, *base[1:]]
            with recorded(monkeypatch) as first:
                mechanism.release(table(base))
            with recorded(monkeypatch, first) as second:
                mechanism.release(table(other))
            for (choice, before, _), (_, after, _) in zip(first, second, strict=True):
                if isinstance(choice, Exponential):
                    moved.append(float(np.abs(before - after).max()))
                    sensitivity = choice.sensitivity
    return max(moved), sensitivity


@pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE])
def test_scores_move_by_their_sensitivity_and_no_more(
    adjacency: Adjacency, monkeypatch: pytest.MonkeyPatch
) -> None:
    mechanism = AdaptiveMarginals(WORKLOAD, dp.ZCDP(0.5), adjacency=adjacency)
    moved, sensitivity = score_moves(mechanism, monkeypatch)
    assert (
        moved == sensitivity
    )  # so that half the sensitivity, or that of the other relation, would be too little
    assert sensitivity == (1 if adjacency is ADD_REMOVE else 2)


@pytest.mark.parametrize(
    "guarantee", [dp.PureDP(1.0), dp.ZCDP(0.1), dp.GDP(0.5), dp.ApproxDP(1.0, 1e-9), dp.ApproxDP(1.0, 0.0)]
)
@pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE])
def test_the_steps_cost_what_was_promised_and_hardly_less(
    guarantee: Any, adjacency: Adjacency, monkeypatch: pytest.MonkeyPatch
) -> None:
    mechanism = AdaptiveMarginals(WORKLOAD, guarantee, adjacency=adjacency, rows_per_unit=2)
    with recorded(monkeypatch) as steps:
        mechanism.release(table([[0, 1, 0]] * 20))
    spent = sum(cost(mechanism.prices.filter, step[0]).amount for step in steps)
    assert 0.98 * mechanism.prices.limit <= spent <= mechanism.prices.limit
    assert guarantee.holds(mechanism.loss)
    assert mechanism.loss.adjacency is adjacency


def test_a_choice_costs_the_mu_of_its_worst_position() -> None:
    """Of all two-point laws whose logits are eta apart, the one in the middle is farthest apart in probits."""
    from scipy.special import expit, ndtri

    for eta in (0.01, 0.5, 2.0, 8.0):
        middle = np.linspace(-20, 20, 4001)
        apart = ndtri(expit(middle + eta / 2)) - ndtri(expit(middle - eta / 2))
        filter_ = dp.GDP(10.0).filter()
        charged = math.sqrt(cost(filter_, Exponential(sensitivity=1, epsilon=eta)).amount)
        assert np.nanmax(apart) <= charged * (1 + 1e-9)
        assert charged <= np.nanmax(apart) * (1 + 1e-6)
