"""Groups of values: what they are made of, how far a row moves their counts, and a release that is measured in them."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.core.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dalenius.errors import InvalidParameter
from dalenius.mechanisms import Exponential
from dalenius.queries import AdaptiveMarginals, Domain, Workload
from dalenius.queries.marginals import adaptive_marginals
from dalenius.queries.marginals.adaptive_marginals import Option
from dalenius.queries.marginals.groups import even_groups, first_values, merged, sizes, spread
from tests.noise.seeded import seeded
from tests.queries.marginals.transcripts import choose_one_of_three, log_likelihood, replayed

THREE = Domain({"a": 3, "b": 3})
PAIRS = Workload.marginals(THREE, 2)
GROUPS = (np.array([0, 0, 1]), np.array([0, 1, 1]))


def test_neighbours_share_a_group_and_groups_have_about_equally_many_rows() -> None:
    counts = np.array([10.0, 10, 10, 500, 10, 10, 10, 10, 500, 10])
    found = even_groups(counts, 4)
    assert found.tolist() == [0, 0, 0, 1, 1, 2, 2, 2, 3, 3]  # by hand: 270 rows a group
    assert np.array_equal(even_groups(counts, 10), np.arange(10))
    even = even_groups(np.full(1000, 3.0), 8)
    assert np.bincount(even).tolist() == [125] * 8


@pytest.mark.parametrize("counts", [np.zeros(9), np.full(9, -5.0), np.full(9, 1e18), -(np.arange(9.0) ** 40)])
def test_any_released_counts_have_groups(counts: Any) -> None:
    found = even_groups(counts, 3)
    assert set(found) == set(range(found.max() + 1))
    assert found.max() < 3


def test_sums_within_groups_and_their_transpose() -> None:
    draw = np.random.default_rng(0)
    groups = (np.array([0, 2, 1, 1]), np.arange(3), np.array([1, 0]))
    table, other = draw.integers(0, 9, (4, 3, 2)), draw.normal(size=(3, 3, 2))
    found = merged(table, groups)
    assert found.shape == sizes(groups) == (3, 3, 2)
    assert found.dtype == table.dtype
    for cell in product(*map(range, found.shape)):
        inside = np.ix_(*[np.flatnonzero(group == g) for group, g in zip(groups, cell, strict=True)])
        assert found[cell] == table[inside].sum()
    assert (found * other).sum() == pytest.approx((table * spread(other, groups)).sum())
    assert np.array_equal(spread(other, groups)[np.ix_(*first_values(groups))], other)


def moved(count: Any, adjacency: Adjacency) -> tuple[float, float]:
    """The most, in l1 norm and squared l2 norm, that a row moves counts: all tables of up to two rows of THREE."""
    cells = [np.bincount([n], minlength=9).reshape(3, 3) for n in range(9)]
    bases = [np.zeros((3, 3), dtype=np.int64), *cells]
    if adjacency is ADD_REMOVE:
        changes = [count(base + cell) - count(base) for base in bases for cell in cells]
    else:
        changes = [count(base + a) - count(base + b) for base in bases for a in cells for b in cells]
    return max(np.abs(c).sum() for c in changes), max((c**2).sum() for c in changes)


def test_a_row_moves_counts_of_groups_as_it_moves_counts() -> None:
    def right(x: Any) -> Any:
        return merged(x, GROUPS)

    def wrong(x: Any) -> Any:
        """Groups that overlap: a row in two of them counts twice."""
        return np.stack([x[:2].sum(), x[1:].sum()])

    assert moved(right, ADD_REMOVE) == (1, 1)
    assert moved(right, REPLACE_ONE) == (2, 2)
    assert moved(wrong, ADD_REMOVE) == (2, 2)


# -- a release ------------------------------------------------------------------------------------------


@pytest.fixture
def in_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every pair in groups, and never value by value; fits are short, and columns as they were measured."""
    choose_one_of_three(monkeypatch)
    monkeypatch.setattr(adaptive_marginals, "denoised", lambda targets, total: list(targets))
    monkeypatch.setattr(adaptive_marginals, "MOST_GROUPS", 2)
    every = adaptive_marginals._Run.options

    def grouped(self: Any, in_groups: bool) -> list[Option]:
        return [option for option in every(self, in_groups) if option.groups is not None]

    monkeypatch.setattr(adaptive_marginals._Run, "options", grouped)
    # One round of one pair is not everything: the plan of the transcripts has no other.
    monkeypatch.setattr("dalenius.queries.marginals.plan.Plan.everything", False)


def rows(*cells: int) -> Any:
    return THREE.codes(np.array([divmod(cell, 3) for cell in cells], dtype=np.int64).reshape(-1, 2))


def worst(mechanism: AdaptiveMarginals, monkeypatch: pytest.MonkeyPatch) -> float:
    """The largest log ratio of transcripts, over every row that comes to a small table, or takes another's place."""
    found = []
    with seeded(4):
        for cell in range(9):
            here = rows(0, 4, 4) if mechanism.adjacency is ADD_REMOVE else rows(0, 4, 4, 8)
            for pair in ((here, rows(0, 4, 4, cell)), (rows(0, 4, 4, cell), here)):
                for _ in range(3):
                    first, second = replayed(mechanism, pair, monkeypatch)
                    found.append(abs(log_likelihood(first) - log_likelihood(second)))
    return max(found)


@pytest.mark.usefixtures("in_groups")
@pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE])
def test_no_transcript_with_groups_tells_more_than_epsilon(
    adjacency: Adjacency, monkeypatch: pytest.MonkeyPatch
) -> None:
    mechanism = AdaptiveMarginals(PAIRS, dp.PureDP(1.0), adjacency=adjacency)
    assert 0.5 <= worst(mechanism, monkeypatch) <= 1 + 1e-9
    monkeypatch.setattr(adaptive_marginals, "merged", lambda table, groups: 3 * merged(table, groups))
    assert worst(mechanism, monkeypatch) > 1.05


def test_scores_of_groups_move_by_their_sensitivity_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Options value by value and in groups, side by side; twice the counts in groups would be noticed."""
    choose_one_of_three(monkeypatch)
    monkeypatch.setattr(adaptive_marginals, "MOST_GROUPS", 2)
    monkeypatch.setattr("dalenius.queries.marginals.plan.Plan.everything", False)
    monkeypatch.setattr(adaptive_marginals, "NOISY_THRESHOLD", 0.01)
    mechanism = AdaptiveMarginals(PAIRS, dp.ZCDP(0.5))

    def most() -> tuple[float, float]:
        found = []
        with seeded(6):
            for cell in range(9):
                pair = (rows(*[0, 4, 8] * 90), rows(*[0, 4, 8] * 90, cell))
                first, second = replayed(mechanism, pair, monkeypatch)
                for (choice, before, _), (_, after, _) in zip(first, second, strict=True):
                    if isinstance(choice, Exponential):
                        assert before.shape == (2,)
                        found.append(float(np.abs(before - after).max()))
                        sensitivity = choice.sensitivity
        return max(found), sensitivity

    assert most() == (1, 1)
    monkeypatch.setattr(adaptive_marginals, "merged", lambda table, groups: 2 * merged(table, groups))
    assert most() == (2, 1)


@pytest.mark.usefixtures("in_groups")
def test_what_was_measured_in_groups_has_no_intervals_for_cells() -> None:
    released = AdaptiveMarginals(PAIRS, dp.ZCDP(0.5)).release(rows(*[0, 4, 8] * 90))
    assert released.measured == ((), ("a",), ("b",))
    assert released.measured_in_groups == (("a", "b"),)
    for ask in (released.conf_int, released.error):
        with pytest.raises(InvalidParameter, match="not measured"):
            ask(names=["a", "b"])
    assert released.measurements[-1].counts.shape == (2, 2)
    assert released.marginal(["a", "b"]).shape == (3, 3)
    assert released.codes(50).shape == (50, 2)


def test_pairs_without_room_in_the_model_are_not_chosen_in_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine cells and no more: single columns have six, the pair with what is left of them nine."""
    choose_one_of_three(monkeypatch)
    monkeypatch.setattr(adaptive_marginals, "MOST_GROUPS", 2)
    monkeypatch.setattr("dalenius.queries.marginals.plan.Plan.everything", False)
    data = rows(*[0, 4, 8] * 20)
    for room, outside in ((9, 0), (8, 1)):
        released = AdaptiveMarginals(PAIRS, dp.ZCDP(0.5), model_size=8 * room / 2**20).release(data)
        assert len(released.outside) == outside
        assert all(m.groups is None for m in released.outside)
