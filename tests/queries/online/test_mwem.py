"""MWEM: the exact law of its transcripts on all tiny tables, planted mistakes, and an audit."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.audit import lower_bound
from dalenius.errors import InvalidParameter
from dalenius.queries import MWEM, Domain, PrivateMultiplicativeWeights, SmallDB, Workload
from dalenius.queries.online.coefficients import answers, question, width
from dalenius.queries.online.hypothesis import Hypothesis
from dalenius.queries.online.linear_query import Marginals
from tests.noise.seeded import seeded
from tests.queries.online.exhaustive import Cells, exceeds, neighbours, noise, softmax, worst

DOMAIN = Domain({"age": 3})
PREFIXES = Workload.prefixes(DOMAIN)
SIGNED = Workload.matrix(DOMAIN, [[1, -1, 0], [0, 1, 1]])


def law(m: MWEM, reach: int = 12) -> Any:
    """Transcripts (question, answer) of all rounds; answers beyond the reach are left out, which hides no ratio."""
    window = np.arange(-reach, reach + 4)
    parts, total = m._parts, m.n

    def of(cells: Cells) -> Any:
        true = answers(m.workload, Marginals(np.array(cells)))
        outcomes: list[float] = []

        def go(seen: list[Any], mass: float) -> None:
            hypothesis = Hypothesis((3,))
            for place in range(len(seen)):
                m._moved(hypothesis, seen[: place + 1], total)
            chosen = softmax(m._scores(true, hypothesis, total), parts.choose.scale)
            for i, p in enumerate(chosen):
                drawn = noise(parts.measure)(window - true[i])
                if len(seen) + 1 == parts.rounds:
                    outcomes.extend(mass * p * drawn)
                else:
                    for y, q in zip(window[:: max(1, reach // 3)], drawn[:: max(1, reach // 3)], strict=True):
                        go([*seen, (question(m.workload, i, m._width), int(y))], mass * p * q)

        go([], 1.0)
        return np.array(outcomes)

    return of


CASES = [
    MWEM(PREFIXES, dp.PureDP(2.0), n=3, n_is_public=True, rounds=1),
    MWEM(PREFIXES, dp.PureDP(2.0), n=3, n_is_public=True, rounds=2),
    MWEM(PREFIXES, dp.PureDP(2.0), n=3, n_is_public=True, rounds=2, passes=0, adjacency=dp.REPLACE_ONE),
    MWEM(SIGNED, dp.PureDP(2.0), n=3, n_is_public=True, rounds=2, passes=1, adjacency=dp.REPLACE_ONE),
    MWEM(PREFIXES, dp.ZCDP(0.5), n=3, n_is_public=True, rounds=2, passes=1),
    MWEM(PREFIXES, dp.PureDP(2.0), n=3, n_is_public=True, rounds=2, passes=1, rows_per_unit=2),
]


@pytest.mark.parametrize("m", CASES, ids=str)
def test_no_transcript_gives_away_more_than_the_loss(m: MWEM) -> None:
    found = worst(law(m), neighbours(3, 2, m.adjacency, m.rows_per_unit))
    assert m.guarantee.holds(m.loss)
    assert not exceeds(found, m.loss)
    if m.guarantee.as_pure() is not None:
        assert found[math.inf] > 0.3 * m.loss.epsilon(0.0)  # the check sees something


@pytest.mark.parametrize("bug", ["measurements not charged", "rounds not charged", "sensitivity"])
def test_planted_mistakes_are_caught(bug: str) -> None:
    m = MWEM(SIGNED, dp.PureDP(2.0), n=3, n_is_public=True, rounds=2, passes=1, adjacency=dp.REPLACE_ONE)
    parts = m._parts
    claimed = m.loss
    if bug == "measurements not charged":
        claimed = parts.choose.loss * parts.rounds
    elif bug == "rounds not charged":
        claimed = parts.choose.loss + parts.measure.loss
    else:  # a signed question of width 2 taken for one of width 1
        choose = replace(parts.choose, sensitivity=parts.choose.sensitivity / 2)
        measure = replace(parts.measure, sensitivity=1, scale=parts.measure.scale / 2)
        object.__setattr__(m, "_parts", replace(parts, choose=choose, measure=measure))
    assert exceeds(worst(law(m), neighbours(3, 2, m.adjacency)), claimed)


def test_the_count_is_part_of_the_loss() -> None:
    m = MWEM(PREFIXES, dp.PureDP(1.0), n=100)
    parts = m._parts
    assert parts.counter is not None
    together = (parts.choose.loss + parts.measure.loss) * parts.rounds + parts.counter.loss
    assert m.loss.epsilon(0.0) == together.epsilon(0.0) <= 1.0
    for guarantee in (dp.ApproxDP(1.0, 1e-6), dp.ZCDP(0.1), dp.GDP(0.5)):
        for adjacency in (dp.ADD_REMOVE, dp.REPLACE_ONE):
            assert guarantee.holds(MWEM(PREFIXES, guarantee, n=100, rounds=5, adjacency=adjacency).loss)


def test_audit() -> None:
    """Noise far too small is caught, the right noise is not; confidence 1 - 1e-9."""
    halves = Workload.marginals(Domain({"sex": 2}), 1)
    right, wrong = (
        MWEM(halves, dp.PureDP(e), n=10, rounds=1, n_is_public=True, average=0) for e in (1.0, 12.0)
    )
    pair = np.array([5, 5]), np.array([6, 5])
    for m, caught in ((right, False), (wrong, True)):
        with seeded(3):
            found = lower_bound(
                lambda h, m=m: m.release(h).probabilities[0], pair, 1500, confidence=1 - 1e-9, single=0
            )
        assert found.contradicts(right.loss.epsilon(0.0)) is caught


def test_questions_are_those_of_the_workload() -> None:
    """Rows written one by one are the rows of the matrix, and answers are exact, for every kind of part."""
    domain = Domain({"a": 3, "b": 4, "c": 2})
    rng = np.random.default_rng(0)
    h = rng.integers(0, 9, domain.shape)
    for w in (
        Workload.marginals(domain, 2) + Workload.marginals(domain, [()]),
        Workload.ranges(Domain({"a": 7})),
        Workload.product(domain, {"a": "ranges", "b": "prefix", "c": [[1, -2], [3, 0]]}),
        Workload.predicates(domain, [{"a": 1, "c": 0}, {"b": [0, 3]}]),
        Workload.ranges(domain, [{"a": (0, 2), "b": (1, 4)}, {"c": (0, 1)}]),
        Workload.matrix(domain, rng.integers(-3, 4, (5, 24))),
    ):
        counts = h if w.domain == domain else rng.integers(0, 9, (7,))
        dense, wide = w.dense(), width(w)
        assert max(0, dense.max()) - min(0, dense.min()) <= wide
        assert np.array_equal(answers(w, Marginals(counts)), dense @ counts.reshape(-1))
        for i in range(len(w)):
            row = np.broadcast_to(question(w, i, wide).over(counts.ndim), counts.shape).reshape(-1)
            assert np.allclose(row * wide, dense[i])


def test_error_is_within_the_bound_and_better_than_nothing() -> None:
    domain = Domain({f"c{i}": 2 for i in range(8)})
    w = Workload.marginals(domain, 2)
    rows = (np.random.default_rng(0).random((20_000, 8)) < np.linspace(0.1, 0.9, 8)).astype(np.int64)
    m = MWEM(w, dp.ZCDP(0.5), n=20_000, rounds=40)
    with seeded(2):
        r = m.release(domain.codes(rows))
    error = np.abs(r.answers() - w.answers(rows))
    assert error.max() < m.predicted_error(20_000)
    assert error.mean() < 0.2 * np.abs(w.answers(rows) - 5000).mean()
    assert np.allclose(r.marginal(["c3", "c1"]), r.marginal(["c1", "c3"]).T)
    assert r.synthesize(10)["c0"].shape == (10,)


@pytest.mark.parametrize("options", [{"rounds": 0}, {"n": 0}, {"average": 2}, {"passes": -1}, {"n": 2.5}])
def test_odd_options(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        MWEM(PREFIXES, dp.PureDP(1.0), **{"n": 10} | options)


@pytest.mark.parametrize("promise", [dp.GDP(50.0), dp.ZCDP(1e6), dp.ApproxDP(50.0, 0.5)])
def test_a_promise_that_any_epsilon_keeps(promise: Any) -> None:
    """It is kept all the same, by every method that divides a budget."""
    pmw = PrivateMultiplicativeWeights(DOMAIN, promise, n=1, queries=3)
    for m in (MWEM(PREFIXES, promise, n=1), SmallDB(PREFIXES, promise, n=1, size=2), pmw):
        assert promise.holds(m.loss)
