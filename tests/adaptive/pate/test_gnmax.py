"""Noisy votes: their law, what they cost, and what is in print."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

import dalenius as dp
from dalenius.adaptive import GNMax
from dalenius.errors import InvalidParameter
from tests.adaptive.pate.votes import all_counts, hockey_stick, moves, winner_law
from tests.mechanisms.contract import frequency
from tests.noise.seeded import seeded

EPSILONS = (0.0, 0.2, 0.5, 1.0, 2.0)


def test_law_of_the_winner() -> None:
    """Frequencies against the normal law; a sigma off by 15 % is rejected."""
    vote = GNMax(sigma=8.0, teachers=30, classes=2, queries=100_000)
    counts = np.tile([22, 8], (vote.queries, 1))
    with seeded(3):
        low, high = frequency(int((vote.release(counts) == 0).sum()), vote.queries)
    for factor, right in ((1.0, True), (0.85, False), (1.15, False)):
        chance = float(norm.cdf(14 / (math.sqrt(2) * 8.0 * factor)))
        assert (low <= chance <= high) is right


def test_law_of_three_classes() -> None:
    vote = GNMax(sigma=3.0, teachers=9, classes=3, queries=50_000)
    with seeded(4):
        winners = vote.release(np.tile([4, 3, 2], (vote.queries, 1)))
    for j, chance in enumerate(winner_law((4, 3, 2), 3.0)):
        low, high = frequency(int((winners == j).sum()), vote.queries)
        assert low <= chance <= high


def test_loss_holds_for_all_votes_and_is_attained() -> None:
    """Over all votes of a few teachers. At epsilon 0 it is attained; that of a sensitivity of 1 is exceeded."""
    for classes, sigma in ((2, 1.5), (3, 2.0)):
        vote = GNMax(sigma=sigma, teachers=6 - (classes == 2), classes=classes, queries=1)
        worst = dict.fromkeys(EPSILONS, 0.0)
        for counts in all_counts(vote.teachers, classes):
            for other in moves(counts):
                for e in EPSILONS:
                    found = hockey_stick(winner_law(counts, vote.sigma), winner_law(other, vote.sigma), e)
                    worst[e] = max(worst[e], found)
        for e in EPSILONS:
            assert worst[e] <= vote.loss.delta(e) * (1 + 1e-9)
        assert worst[0.0] > dp.losses.gaussian(sigma, sensitivity=1.0).delta(0.0)
        if classes == 2:
            assert worst[0.0] == pytest.approx(vote.loss.delta(0.0), rel=1e-9)


def test_audit_of_the_worst_pair() -> None:
    vote = GNMax(sigma=2.0, teachers=7, classes=2, queries=4)
    with seeded(5):
        found = dp.audit.lower_bound(vote, trials=3000, delta=0.05)
    assert found.epsilon <= vote.loss.epsilon(0.05)
    quiet = GNMax(sigma=0.5, teachers=7, classes=2, queries=4)
    with seeded(6):
        caught = dp.audit.lower_bound(quiet.release, pair=vote.worst_pair, trials=3000, delta=0.05)
    assert caught.epsilon > vote.loss.epsilon(0.05)


def test_sigma_is_never_smaller_than_asked_for() -> None:
    for sigma in (0.01, 0.3, 1.0, 7.0, 40.0, 1e6):
        assert sigma <= GNMax(sigma=sigma, teachers=10, classes=2, queries=1).sigma <= sigma * (1 + 1e-5)


def test_adjacency_is_kept() -> None:
    vote = GNMax(sigma=1.0, teachers=10, classes=2, queries=1, adjacency=dp.REPLACE_ONE)
    assert vote.loss.adjacency is dp.REPLACE_ONE


@pytest.mark.parametrize(
    "votes", [[[3, 3]], [[3.0, 4.0]], [[8, -1]], [3, 4], [[3, 4], [3, 4]], [[3, 2, 2]], [["3", "4"]]]
)
def test_votes_are_checked(votes: object) -> None:
    with pytest.raises(InvalidParameter):
        GNMax(sigma=1.0, teachers=7, classes=2, queries=1).release(votes)


@pytest.mark.parametrize(
    "change",
    [{"sigma": 0.0}, {"sigma": 1e13}, {"sigma": math.nan}, {"teachers": 0}, {"classes": 1}, {"queries": 0}],
)
def test_parameters_are_checked(change: dict[str, float]) -> None:
    with pytest.raises(InvalidParameter):
        GNMax(**({"sigma": 1.0, "teachers": 7, "classes": 2, "queries": 1} | change))  # type: ignore[arg-type]
