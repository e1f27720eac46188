"""SmallDB: its exact law on all tiny tables, planted mistakes, and an audit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.audit import lower_bound
from dalenius.errors import InvalidParameter
from dalenius.queries import Domain, SmallDB, Workload
from tests.noise.seeded import seeded
from tests.queries.online.exhaustive import Cells, exceeds, neighbours, noise, softmax, worst

DOMAIN = Domain({"age": 3})
COUNTS = Workload.prefixes(DOMAIN) + Workload.marginals(DOMAIN, 1)
SIGNED = Workload.matrix(DOMAIN, [[2, -1, 0], [0, 1, 1]])
NEAR = np.arange(-4, 12)


def law(m: SmallDB) -> Any:
    """Outcomes: the database chosen; together with the count, where that is released."""

    def of(cells: Cells) -> Any:
        h = np.array(cells)
        parts = m._parts
        if parts.counter is None:
            return softmax(m._scores(h, m.n), parts.choose.scale)
        counted = noise(parts.counter)(NEAR - h.sum())
        return np.concatenate(
            [
                p * softmax(m._scores(h, max(1, int(n))), parts.choose.scale)
                for n, p in zip(NEAR, counted, strict=True)
            ]
        )

    return of


CASES = [
    SmallDB(COUNTS, dp.PureDP(1.0), n=3, n_is_public=True, size=2),
    SmallDB(COUNTS, dp.PureDP(1.0), n=3, size=2),
    SmallDB(COUNTS, dp.PureDP(2.0), n=3, size=3, n_is_public=True, adjacency=dp.REPLACE_ONE),
    SmallDB(SIGNED, dp.PureDP(1.0), n=3, size=2, n_is_public=True, adjacency=dp.REPLACE_ONE),
    SmallDB(COUNTS, dp.PureDP(1.0), n=3, size=2, rows_per_unit=2),
    SmallDB(COUNTS, dp.ZCDP(0.2), n=3, size=2),
    SmallDB(COUNTS, dp.ApproxDP(0.5, 1e-3), n=3, size=2, adjacency=dp.REPLACE_ONE),
]


@pytest.mark.parametrize("m", CASES, ids=str)
def test_no_outcome_gives_away_more_than_the_loss(m: SmallDB) -> None:
    found = worst(law(m), neighbours(3, 4, m.adjacency, m.rows_per_unit))
    assert m.guarantee.holds(m.loss)
    assert not exceeds(found, m.loss)
    if m.guarantee.as_pure() is not None:
        assert found[float("inf")] > 0.2 * m.loss.epsilon(0.0)  # the check sees something


@pytest.mark.parametrize("bug", ["sensitivity", "size", "count"])
def test_planted_mistakes_are_caught(bug: str) -> None:
    m = SmallDB(COUNTS, dp.PureDP(1.0), n=3, size=2, n_is_public=True, adjacency=dp.REPLACE_ONE)
    parts = m._parts
    if bug == "count":  # the number of rows of the table itself
        claimed = m.loss

        def of(cells: Cells) -> Any:
            outcomes = np.zeros((6, len(m._listed)))
            outcomes[sum(cells)] = softmax(m._scores(np.array(cells), max(1, sum(cells))), parts.choose.scale)
            return outcomes.reshape(-1) + 1e-12

        assert exceeds(worst(of, neighbours(3, 4, dp.ADD_REMOVE)), claimed)
        return
    less = replace(parts.choose, sensitivity=parts.choose.sensitivity / (2 if bug == "size" else 1.5))
    claimed = m.loss
    object.__setattr__(m, "_parts", replace(parts, choose=less))
    assert exceeds(worst(law(m), neighbours(3, 4, m.adjacency)), claimed)


def test_released_law() -> None:
    """What `release` draws is the law above: 9 databases, at most 1e-9 by chance."""
    m = SmallDB(COUNTS, dp.PureDP(3.0), n=4, size=2, n_is_public=True)
    h, trials = np.array([2, 2, 0]), 3000
    expected = law(m)((2, 2, 0)) * trials
    with seeded(1):
        drawn = [m.release(h).probabilities for _ in range(trials)]
    databases = [np.bincount(rows, minlength=3) / 2 for rows in m._listed]
    counted = np.array([sum(np.array_equal(d, p) for p in drawn) for d in databases])
    kept = expected > 5
    statistic = ((counted - expected)[kept] ** 2 / expected[kept]).sum()
    assert counted.sum() == trials
    assert statistic < 60  # chi-square with 5 degrees: 1e-11


def test_audit() -> None:
    """A sixth of the noise is caught, the right noise is not; confidence 1 - 1e-9."""
    halves = Workload.marginals(Domain({"sex": 2}), 1)
    right, wrong = (SmallDB(halves, dp.PureDP(e), n=10, size=1, n_is_public=True) for e in (1.0, 6.0))
    pair = np.array([5, 5]), np.array([6, 5])
    for m, caught in ((right, False), (wrong, True)):
        with seeded(3):
            found = lower_bound(
                lambda h, m=m: m.release(h).probabilities[0], pair, 2000, confidence=1 - 1e-9, single=0
            )
        assert found.contradicts(right.loss.epsilon(0.0)) is caught


def test_refuses_what_it_cannot_list() -> None:
    with pytest.raises(InvalidParameter, match="mixes cannot be proved"):
        SmallDB(Workload.marginals(Domain({"a": 2**30}), 1), dp.PureDP(1.0), n=100)
    with pytest.raises(InvalidParameter, match="MWEM"):
        SmallDB(COUNTS, dp.PureDP(1.0), n=100, size=10**4)
    with pytest.raises(InvalidParameter, match="not whole"):
        SmallDB(Workload.matrix(DOMAIN, [[0.5, 0.1, 0.2]]), dp.PureDP(1.0), n=100)


def test_error_is_within_the_bound() -> None:
    m = SmallDB(COUNTS, dp.PureDP(1.0), n=2000, size=20)
    h = np.array([1200, 0, 800])
    with seeded(4):
        errors = [np.abs(m.release(h).answers() - COUNTS.answers(h)).max() for _ in range(3)]
    assert float(np.mean(errors)) < m.predicted_error(2000)


def test_candidate_of_best() -> None:
    names = {line.name for line in COUNTS.best(dp.PureDP(1.0), 1000).table}
    assert {"MWEM", "SmallDB"} <= names
