"""The whole adaptive loop on tiny tables: exact likelihood ratios of transcripts, and planted bugs that they catch.

A transcript is everything that a release draws: noisy counts and chosen marginals. It is drawn on one table and played
again on a neighbour, with the same outcomes, so that the probability of every step is known exactly on both. For PureDP
the log ratio of every transcript is at most epsilon: no failure by chance is possible.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.core.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dalenius.mechanisms import Exponential, Geometric
from dalenius.queries import AdaptiveMarginals
from dalenius.queries.marginals import adaptive_marginals
from dalenius.queries.marginals.spending import Prices, cost
from tests.noise.seeded import seeded
from tests.queries.marginals.transcripts import (
    WORKLOAD,
    choose_one_of_three,
    log_likelihood,
    neighbours,
    recorded,
    replayed,
    table,
)


def ratios(mechanism: AdaptiveMarginals, pair: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> float:
    """The log likelihood ratio of a transcript that was drawn on the first of two tables."""
    first, second = replayed(mechanism, pair, monkeypatch)
    return log_likelihood(first) - log_likelihood(second)


def worst(mechanism: AdaptiveMarginals, monkeypatch: pytest.MonkeyPatch) -> float:
    found = []
    with seeded(11):
        for one, other in neighbours(mechanism.adjacency):
            for pair in ((one, other), (other, one)):
                found.append(abs(ratios(mechanism, pair, monkeypatch)))
    return max(found)


@pytest.fixture(autouse=True)
def short_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    choose_one_of_three(monkeypatch)


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
            first, second = replayed(mechanism, (table(base), table(other)), monkeypatch)
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
