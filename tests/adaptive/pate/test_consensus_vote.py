"""PATE with a test: the guarantee for every neighbouring pair of small votes, by exact output laws; wrong versions."""

from __future__ import annotations

import math
import time
from itertools import product

import numpy as np
import pytest

import dalenius as dp
from dalenius.adaptive import ConsensusVote, GNMax, VoteBound, pate_ptr, pate_ptr_smooth
from dalenius.adaptive.ptr import Refusal
from dalenius.errors import InvalidParameter
from tests.adaptive.pate.votes import all_counts, hockey_stick, law, neighbours
from tests.noise.seeded import seeded

Votes = tuple[tuple[int, ...], ...]
EPSILONS = np.array([0.0, 0.1, 0.3, 0.5, 0.8, 1.0, 1.3, 1.6, 2.0, 2.5, 3.0, 4.0])

# classes, teachers, queries, sigma, epsilon, delta, test_epsilon
SETTINGS = (
    (2, 6, 1, 0.8, 0.3, 0.05, 1.5),
    (2, 6, 2, 0.8, 0.5, 0.05, 1.5),
    (2, 5, 3, 0.6, 0.2, 0.1, 1.2),
    (3, 5, 1, 0.7, 0.3, 0.05, 1.5),
    (3, 4, 2, 0.4, 0.4, 0.1, 1.2),
)


def passing(claim: ConsensusVote, votes: Votes, epsilon: float, threshold: int) -> float:
    """P(distance + k >= threshold), P(k) proportional to exp(-epsilon |k|), from the tails of a geometric law."""
    gap, q = threshold - claim.distance(np.array(votes)), math.exp(-epsilon)
    return q**gap / (1 + q) if gap > 0 else 1 - q ** (1 - gap) / (1 + q)


def outcomes(claim: ConsensusVote, votes: Votes, epsilon: float, threshold: int) -> np.ndarray:
    """The chance of a refusal, then those of all winners."""
    p = passing(claim, votes, epsilon, threshold)
    return np.append(1 - p, p * law(votes, claim.vote.sigma))


@pytest.mark.parametrize("setting", SETTINGS)
def test_guarantee_for_every_pair_of_neighbours(setting: tuple[float, ...]) -> None:
    classes, teachers, queries, sigma, epsilon, delta, test_epsilon = setting
    vote = GNMax(sigma=sigma, teachers=int(teachers), classes=int(classes), queries=int(queries))
    private = pate_ptr(vote, epsilon=epsilon, delta=delta, test_epsilon=test_epsilon)
    claim, threshold = private.mechanism, private.test.threshold
    assert isinstance(claim, ConsensusVote)
    all_votes = list(product(all_counts(int(teachers), int(classes)), repeat=int(queries)))
    distance = {v: claim.distance(np.array(v)) for v in all_votes}
    laws = {v: outcomes(claim, v, test_epsilon, threshold) for v in all_votes}
    worst = np.zeros(len(EPSILONS))
    for votes in all_votes:
        for other in neighbours(votes):
            found = [hockey_stick(laws[votes], laws[other], e) for e in EPSILONS]
            worst = np.maximum(worst, found)
            assert abs(distance[votes] - distance[other]) <= 1
    claims = np.array([private.loss.delta(float(e)) for e in EPSILONS])
    assert (worst <= claims + 1e-12).all()
    assert private.loss.delta(epsilon + test_epsilon) <= delta * (1 + 1e-6)
    refused = np.array([found[0] for found in laws.values()])
    assert ((refused > 1e-3) & (refused < 1 - 1e-3)).mean() > 0.5
    assert refused.min() < 0.9 * refused.max()
    # Without noise in the test the same claim is false.
    exact = {
        v: np.append(0.0, law(v, vote.sigma)) if claim.keeps_budget(np.array(v)) else np.eye(len(laws[v]))[0]
        for v in all_votes
    }
    certain = max(
        hockey_stick(exact[v], exact[w], epsilon + test_epsilon) for v in all_votes for w in neighbours(v)
    )
    assert certain > delta


def test_budget_dominates_in_one_order() -> None:
    """Whatever is (epsilon, delta) one way only: here everything loses epsilon, as on the far side of a vote."""
    claim = ConsensusVote(vote=GNMax(sigma=1.0, teachers=5, classes=2, queries=1), epsilon=0.7, delta=0.1)
    p, q = np.array([0.9, 0.1, 0.0]), np.array([0.9 * math.exp(-0.7), 0.0, 1 - 0.9 * math.exp(-0.7)])
    for e in (-1.0, -0.2, 0.0, 0.5, 0.7, 2.0):
        assert claim.budget.delta(e) == pytest.approx(hockey_stick(p, q, e), abs=1e-9)


def test_claims_are_true_where_the_distance_is_not_zero() -> None:
    vote = GNMax(sigma=1.2, teachers=6, classes=3, queries=1)
    claim = ConsensusVote(vote=vote, epsilon=0.4, delta=0.05)
    for counts in all_counts(6, 3):
        votes = (counts,)
        if claim.distance(np.array(votes)) > 0:
            for other in neighbours(votes):
                assert hockey_stick(law(votes, vote.sigma), law(other, vote.sigma), 0.4) <= 0.05


def test_smooth_test_has_a_guarantee_of_its_own() -> None:
    vote = GNMax(sigma=40.0, teachers=400, classes=10, queries=100)
    bound = VoteBound(vote, 20.0, 0.008, 20.0, 20.0, 1e-6)
    private = pate_ptr_smooth(bound, epsilon=5.0, delta=1e-6)
    test = bound.loss.epsilon(1e-6)
    assert private.loss.delta(5.0 + test) <= 2.1e-6
    even = np.tile([40] * 10, (100, 1))
    tight = pate_ptr_smooth(bound, epsilon=1.0, delta=1e-6)
    assert tight.release(even) == Refusal()


def test_answers_and_refusals() -> None:
    vote = GNMax(sigma=40.0, teachers=400, classes=10, queries=1000)
    private = pate_ptr(vote, epsilon=0.5, delta=1e-5, test_epsilon=0.5)
    agreed = np.tile([390, 10] + [0] * 8, (1000, 1))
    with seeded(1):
        assert (private.release(agreed) == 0).all()
        assert private.release(np.tile([40] * 10, (1000, 1))) == Refusal()
    assert private.loss.epsilon(1e-5) <= 1.0 + 1e-9
    assert vote.loss.epsilon(1e-5) > 4.0


def test_four_hundred_teachers_and_a_thousand_queries_take_seconds() -> None:
    rng = np.random.default_rng(0)
    votes = rng.multinomial(400, [0.9] + [0.1 / 9] * 9, size=1000)
    start = time.process_time()
    vote = GNMax(sigma=30.0, teachers=400, classes=10, queries=1000)
    private = pate_ptr(vote, epsilon=0.3, delta=1e-5, test_epsilon=0.3)
    private.release(votes)
    _ = private.loss.epsilon(1e-5)
    assert time.process_time() - start < 30


def test_audit_of_the_whole_release() -> None:
    vote = GNMax(sigma=1.0, teachers=8, classes=2, queries=2)
    private = pate_ptr(vote, epsilon=0.4, delta=0.05, test_epsilon=1.0)

    def released(votes: np.ndarray) -> float:
        answer = private.release(votes)
        return -1.0 if isinstance(answer, Refusal) else float(answer @ [1, 2])

    with seeded(7):
        found = dp.audit.lower_bound(released, pair=private.worst_pair, trials=4000, delta=0.05)
    assert found.epsilon <= private.loss.epsilon(0.05)


@pytest.mark.parametrize("change", [{"epsilon": 0.0}, {"delta": 0.0}, {"delta": 1.0}, {"epsilon": math.inf}])
def test_parameters_are_checked(change: dict[str, float]) -> None:
    vote = GNMax(sigma=1.0, teachers=7, classes=2, queries=1)
    with pytest.raises(InvalidParameter):
        ConsensusVote(**({"vote": vote, "epsilon": 1.0, "delta": 0.1} | change))  # type: ignore[arg-type]
