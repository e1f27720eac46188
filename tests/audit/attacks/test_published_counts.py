"""What published tables give away: against all tables of rows there can be, where there are few."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest

import dalenius as dp
from dalenius.audit.attacks import Budget, PublishedTable, published_counts
from dalenius.core.arrays import Array
from dalenius.errors import InvalidParameter

NAMES = ("town", "sex", "ill")


def table(rows: Array, columns: tuple[int, ...]) -> PublishedTable:
    counts = Counter(tuple(str(row[c]) for c in columns) for row in rows)
    return PublishedTable.exact([NAMES[c] for c in columns], list(counts), list(counts.values()))


def brute_force(tables: list[PublishedTable], most: int) -> tuple[Array, Array]:
    """The least and most of each of the 2 x 2 x 2 counts, over all that fit with none above `most`."""
    cells = list(itertools.product("01", repeat=3))
    counts = np.indices((most + 1,) * 8).reshape(8, -1)
    fits = np.ones(counts.shape[1], dtype=bool)
    for t in tables:
        places = [NAMES.index(c) for c in t.columns]
        bounds = dict(zip(t.keys, zip(t.low, t.high, strict=True), strict=True))
        for key in itertools.product("01", repeat=len(places)):
            low, high = bounds.get(key, (0, 0))
            total = counts[[k for k, cell in enumerate(cells) if tuple(cell[p] for p in places) == key]].sum(
                axis=0
            )
            fits &= (low <= total) & (total <= high)
    return counts[:, fits].min(axis=1), counts[:, fits].max(axis=1)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rounded", [False, True])
def test_bounds_are_the_best(seed: int, rounded: bool) -> None:
    random = np.random.default_rng(seed)
    rows = random.integers(0, 2, (4, 3))
    tables = [table(rows, (0, 1)), table(rows, (1, 2)), table(rows, (0, 2))][: 2 + seed % 2]
    if rounded:
        tables = [
            PublishedTable.rounded(t.columns, t.keys, [2 * round(n / 2) for n in t.low], base=2)
            for t in tables
        ]
    found = published_counts(tables)
    low, high = brute_force(tables, 3)
    cells = list(itertools.product("01", repeat=3))
    mine = {cell: (a, b) for cell, a, b in zip(found.cells, found.low, found.high, strict=True)}
    order = [NAMES.index(c) for c in found.columns]
    for cell, a, b in zip(cells, low, high, strict=True):
        least, most = mine.get(tuple(cell[k] for k in order), (0, 0))
        assert least == a
        assert min(most, 3) == b
    assert found.settled


def test_truth_is_always_inside() -> None:
    random = np.random.default_rng(9)
    rows = np.stack([random.integers(0, 5, 60), random.integers(0, 3, 60), random.random(60) < 0.2], axis=1)
    truth = Counter(tuple(str(int(v)) for v in row) for row in rows)
    found = published_counts([table(rows.astype(int), (0, 1)), table(rows.astype(int), (0, 2))])
    bounds = {cell: (a, b) for cell, a, b in zip(found.cells, found.low, found.high, strict=True)}
    assert set(truth) <= set(bounds)
    assert all(a <= truth[cell] <= b for cell, (a, b) in bounds.items())
    assert found.rows == (60, 60)
    assert 0 < found.rebuilt < 60
    assert sum(record["rows"] for record in found.records()) == found.rebuilt


def test_hidden_counts_are_found_by_subtraction() -> None:
    """A count hidden in a table with totals."""
    keys = [("A",), ("B",), ("C",), (None,)]
    hidden = PublishedTable(("town",), tuple(keys), (10, 0, 7, 18), (10, 4, 7, 18))
    found = published_counts([hidden])
    assert found.rebuilt == 18
    assert found.unique == 1


def test_hidden_without_a_limit() -> None:
    hidden = PublishedTable(("town",), (("A",), ("B",)), (10, 0), (10.0, math.inf))
    found = published_counts([hidden])
    assert found.rows == (10, math.inf)
    assert found.share == 0.0
    assert hidden.hidden == 1
    together = published_counts([hidden, PublishedTable(("town",), ((None,),), (12,), (12.0,), absent=False)])
    assert together.rebuilt == 12


def test_no_time() -> None:
    """Bounds that are true, if not the best, and a word that says so."""
    random = np.random.default_rng(2)
    rows = random.integers(0, 4, (80, 3))
    tables = [table(rows, (0, 1)), table(rows, (1, 2)), table(rows, (0, 2))]
    quick = published_counts(tables, seconds=1e-9)
    best = published_counts(tables)
    assert not quick.settled
    assert "Time ran out" in quick.explain()
    assert quick.rebuilt <= best.rebuilt
    assert best.settled


@pytest.mark.parametrize("certainty", [0.6, 0.75, 0.99])
def test_budget(certainty: float) -> None:
    """Nobody becomes surer: e^epsilon/(1 + e^epsilon) always, (1 + TV)/2 on average."""
    budget = Budget.for_certainty(certainty, tables=3)
    pure = dp.mechanisms.Histogram(scale=3 / budget.epsilon).loss * 3
    assert 1 / (1 + math.exp(-pure.epsilon(0.0))) <= certainty * (1 + 1e-9)
    assert dp.GDP(budget.mu).loss().total_variation() <= 2 * certainty - 1 + 1e-9
    assert budget.gaussian_noise <= budget.pure_noise
    assert budget.pure_noise > 0


def test_picture(tmp_path: object) -> None:
    found = published_counts([PublishedTable.exact(("sex",), [("f",), ("m",)], [2, 1])])
    found.plot(f"{tmp_path}/counts.png")


class TestOddTables:
    def test_contradictory(self) -> None:
        one = PublishedTable.exact(("sex",), [("f",), ("m",)], [2, 1])
        other = PublishedTable.exact(("town",), [("A",)], [4])
        with pytest.raises(InvalidParameter, match="contradict"):
            published_counts([one, other])

    def test_contradictory_whole_numbers(self) -> None:
        """No two of three are alike, and yet each is one of two things."""
        keys = [("a", "b"), ("b", "c"), ("a", "c")]
        pairs = [
            PublishedTable(
                (x, y), (("1", "1"), ("1", "0"), ("0", "1"), ("0", "0")), (0, 1, 1, 0), (0.0, 1.0, 1.0, 0.0)
            )
            for x, y in keys
        ]
        with pytest.raises(InvalidParameter, match="contradict"):
            published_counts(pairs)

    def test_too_many_combinations(self) -> None:
        wide = [PublishedTable.exact((c,), [(str(v),) for v in range(500)], [1] * 500) for c in "abc"]
        with pytest.raises(InvalidParameter, match="125000000 combinations"):
            published_counts(wide)

    @pytest.mark.parametrize(
        "make",
        [
            lambda: PublishedTable.exact((), [], []),
            lambda: PublishedTable.exact(("a",), [("x",), ("x",)], [1, 2]),
            lambda: PublishedTable.exact(("a", "a"), [("x", "y")], [1]),
            lambda: PublishedTable.exact(("a",), [("x",)], [-1]),
            lambda: PublishedTable.exact(("a",), [("x", "y")], [1]),
            lambda: PublishedTable(("a",), (("x",),), (3,), (2.0,)),
            lambda: published_counts([]),
            lambda: published_counts(["table"]),  # type: ignore[list-item]
            lambda: published_counts([PublishedTable.exact(("a",), [(None,)], [3])]),
            lambda: Budget.for_certainty(0.5, 1),
        ],
    )
    def test_refused(self, make: object) -> None:
        with pytest.raises(InvalidParameter):
            make()  # type: ignore[operator]
