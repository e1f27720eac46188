"""Sparse ratings: who is found, by the corrected score and not by the printed ones; and not in a private release.

False-alarm rates are at most 1e-9 for the test of a claim.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import dalenius as dp
from dalenius.audit.attacks import Membership, linkage, random_bits
from dalenius.core.arrays import Array
from dalenius.errors import InvalidParameter

SURE = 1e-9


def ratings(people: int, items: int, seed: int) -> tuple[Array, Array]:
    """Ratings 1 to 5, some items famous and most not, and the days they were given on."""
    random = np.random.default_rng(seed)
    fame = np.minimum(0.5, 8 / np.arange(1, items + 1))
    rated = random.random((people, items)) < fame
    return random.integers(1, 6, (people, items)) * rated, random.integers(1, 1000, (people, items)) * rated


def known(table: Array, days: Array, who: Array, items: int, seed: int) -> tuple[Array, Array]:
    """A few ratings of each person, one star and some days off."""
    random = np.random.default_rng(seed)
    some, when = np.zeros((len(who), table.shape[1])), np.zeros((len(who), table.shape[1]))
    for k, person in enumerate(who):
        chosen = random.choice(np.flatnonzero(table[person]), items, replace=False)
        some[k, chosen] = np.clip(table[person, chosen] + random.integers(-1, 2, items), 1, 5)
        when[k, chosen] = days[person, chosen] + random.integers(-10, 11, items)
    return some, when


@pytest.fixture(scope="module")
def film() -> tuple[Array, Array, Array, Array, Array]:
    """500 released, of whom 60 are sought, with 60 who were not released."""
    table, days = ratings(1000, 800, 0)
    who = np.concatenate([np.arange(60), np.arange(500, 560)])
    some, when = known(table, days, who, 8, 1)
    truth = np.where(who < 500, who, -1)
    return table[:500], days[:500], some, when, truth


def test_people_are_found(film: tuple[Array, ...]) -> None:
    table, days, some, when, truth = film
    found = linkage(table, some, truth, days=(days, when), threshold=2.5)
    assert found.success > 0.95
    assert found.false_matches < 0.1
    low, high = found.interval()
    assert low < found.success <= high
    assert found.membership().power(0.1) > 0.9
    assert "of 120 matched" in repr(found)


def test_sparse_matrices_are_the_same(film: tuple[Array, ...]) -> None:
    table, _, some, _, truth = film
    plain, sparse = linkage(table, some, truth), linkage(csr_matrix(table), csr_matrix(some), truth)
    assert np.array_equal(plain.match, sparse.match)
    assert np.allclose(plain.eccentricity, sparse.eccentricity)


def test_the_printed_scores_find_nobody(film: tuple[Array, ...]) -> None:
    """The largest weighted distance (Avella Medina 2025), and exponents that lack their minus sign."""
    table, _, some, _, truth = film
    raters = (table > 0).sum(axis=0)
    for similarity in (lambda gap: gap, lambda gap: np.exp(gap / 1.5)):
        best = []
        for line in some[:60]:
            items = np.flatnonzero(line)
            gap = np.abs(table[:, items] - line[items]) * (table[:, items] > 0)
            with np.errstate(divide="ignore"):
                weight = 1 / np.log(raters[items])
            scores = np.where(np.isfinite(weight), weight, 0.0) * similarity(gap) * (table[:, items] > 0)
            best.append(int(scores.sum(axis=1).argmax()))
        assert np.mean(np.array(best) == truth[:60]) < 0.6 < linkage(table, some, truth).success


def test_an_item_that_one_person_rated() -> None:
    table = np.zeros((4, 2))
    table[0, 0] = 5
    table[1:, 1] = 3
    assert linkage(table, [[5, 0]]).best.tolist() == [0]
    assert np.isfinite(linkage(table, [[5, 0], [0, 0]]).eccentricity).all()


def test_a_private_table_of_records() -> None:
    """Every cell by randomized response, so that a whole record has epsilon = 1: nobody is found more often.

    One person sought in each of 400 tables of 12 records, in it by a coin.
    """
    random = np.random.default_rng(5)
    items, people = 40, 12
    inside = np.asarray(random_bits(400))
    noise = dp.mechanisms.RandomizedResponse(epsilon=1 / items, k=6)
    tables = random.integers(0, 6, (400, people, items))
    sought = np.where(inside[:, None], tables[:, 0], random.integers(0, 6, (400, items)))
    released = noise.release(tables.ravel()).reshape(tables.shape)
    scores, exact = (
        [
            linkage(t, s[None], rating_scale=0.3).eccentricity[0]
            for t, s in zip(published, sought, strict=True)
        ]
        for published in (released, tables)
    )
    assert not Membership(scores, inside, independent=True).contradicts(dp.PureDP(1.0), SURE)
    assert Membership(exact, inside, independent=True).contradicts(dp.PureDP(1.0), SURE)


def test_odd_input() -> None:
    with pytest.raises(InvalidParameter, match="same items"):
        linkage(np.ones((3, 4)), np.ones((1, 5)))
    with pytest.raises(InvalidParameter, match="two records"):
        linkage(np.ones((1, 4)), np.ones((1, 4)))
    with pytest.raises(InvalidParameter, match="finite"):
        linkage(np.full((2, 4), np.nan), np.ones((1, 4)))
    with pytest.raises(InvalidParameter, match="days"):
        linkage(np.ones((2, 4)), np.ones((1, 4)), days=(np.ones((2, 4)), np.ones((1, 5))))
    with pytest.raises(InvalidParameter, match="truth"):
        _ = linkage(np.ones((2, 4)), np.ones((1, 4))).success
