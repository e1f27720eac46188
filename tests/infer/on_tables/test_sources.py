"""Sums of scores over tables: those of arrays, whatever the blocks; and bounded, whatever an engine computes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pytest

from dalenius.infer.on_tables import pushed_source
from dalenius.infer.on_tables.block_source import BlockSource
from dalenius.infer.on_tables.pushed_source import PushedSource
from dalenius.infer.on_tables.spellings import Spelled, is_spelled
from dalenius.infer.scores import ArraySource, CurveScore, Score, Standard
from dalenius.infer.scores.source import longest
from dalenius.sums.curves import ClippedPoisson, Huber, Logistic
from dalenius.sums.grids import on_grid
from dalenius.tables import Schema, Source, Unit, sum
from dalenius.tables.compute import exact
from dalenius.tables.compute.totals import tally, totals
from dalenius.tables.rows.terms import double

ALL = {"want_score": True, "want_bend": True, "want_square": True}
STANDARD = Standard(np.array([0.1, -0.2]), np.array([1.3, 0.7]), 1.0, 1.5, 0.2, 1.1)
THETA = on_grid(np.array([0.4, -1.3, 0.2]))


def table(n: int) -> Any:
    rng = np.random.default_rng(3)
    rows = np.c_[rng.uniform(-3, 3, (n, 2)), rng.integers(0, 2, n)]
    rows[::17, 0] = np.nan
    return rows


def split(rows: Any, *at: int) -> BlockSource:
    return BlockSource(2, lambda: iter(np.split(rows, at)))


def pushed(rows: Any) -> PushedSource:
    """The same rows, in DuckDB."""
    held = pa.table({name: pa.array(rows[:, n]) for n, name in enumerate("aby")})
    source = Source.open(held, schema=Schema(nulls="drop"))
    query = source.table().agg(a=sum("a", (-3, 3)), b=sum("b", (-3, 3)), y=sum("y", (0, 1)))
    blocks = BlockSource(2, lambda: exact.blocks(source, query, Unit.rows()))
    return PushedSource(
        blocks,
        lambda wanted: totals(source, query, Unit.rows(), wanted),
        lambda placed: tally(source, query, Unit.rows(), placed),
        source.engine.once,
    )


SCORES = [CurveScore(Huber(0.8)), CurveScore(Logistic(0.7)), CurveScore(ClippedPoisson(1.0, 0.9))]


@pytest.mark.parametrize("score", SCORES, ids=lambda s: type(s.curve).__name__)
def test_sums_are_those_of_arrays(score: Score) -> None:
    rows = table(400)
    given = exact_rows(rows)
    whole = ArraySource(given[:, :-1], given[:, -1]).rows(STANDARD).totals(THETA, score, **ALL)
    blocks = split(given, 1, 7, 300).rows(STANDARD).totals(THETA, score, **ALL)
    sums = pushed(rows).rows(STANDARD).totals(THETA, score, **ALL)
    for name in ("score", "bend", "square"):
        assert np.array_equal(getattr(blocks, name), getattr(whole, name))
        # A row on another side of a half: by one step of 2^18 in each of two factors.
        apart = np.abs(getattr(sums, name) - getattr(whole, name)).max()
        assert apart <= 2**20 * 3, name
        assert np.abs(getattr(whole, name)).max() > 2**36


def exact_rows(rows: Any) -> Any:
    return np.concatenate(list(pushed(rows).blocks.read()))


def test_counts_are_those_of_arrays() -> None:
    rows = table(400)
    given = exact_rows(rows)
    array, edges = ArraySource(given[:, :-1], given[:, -1]), np.linspace(-2, 2, 11)
    far = np.linspace(0.01, 3, 17)
    for source in (split(given, 5, 5, 200), pushed(rows)):
        assert source.count() == array.count() == 400 - len(range(0, 400, 17))
        assert np.array_equal(
            source.column_counts(np.tile(edges, (3, 1))), array.column_counts(np.tile(edges, (3, 1)))
        )
        found = source.rows(STANDARD).residual_counts(THETA, far)
        assert np.array_equal(found, array.rows(STANDARD).residual_counts(THETA, far))


def test_no_rows() -> None:
    for source in (BlockSource(2, lambda: ()), pushed(table(0))):
        assert source.count() == 0
        sums = source.rows(STANDARD).totals(THETA, SCORES[0], **ALL)
        assert sums.score is not None
        assert not sums.score.any()


def test_a_score_that_is_not_spelled_is_summed_in_blocks() -> None:
    class Other(Huber):
        def slope(self, u: Any, y: Any) -> Any:
            return -super().slope(u, y)

    score, rows = CurveScore(Other(0.8)), table(60)
    assert not is_spelled(score)
    own, other = (pushed(rows).rows(STANDARD).totals(THETA, s, **ALL) for s in (score, SCORES[0]))
    assert np.abs(own.score + other.score).max() < 2**20


@pytest.mark.parametrize("wild", [1e300, -1e300, 0.0])
def test_no_arithmetic_of_an_engine_lets_a_row_add_more(wild: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slopes and roots of any size, and weights that are wrong: the share of one row is within its bound."""
    monkeypatch.setattr(pushed_source, "spelled", lambda *_: Spelled(double(wild), double(wild)))
    sums = pushed(np.array([[2.9, -2.9, 1.0]])).rows(STANDARD).totals(THETA, SCORES[0], **ALL)
    within(sums)
    monkeypatch.setattr(ibis, "greatest", lambda *_: double(1e-9))  # a weight far above 1
    sums = pushed(np.array([[2.9, -2.9, 1.0]])).rows(STANDARD).totals(THETA, SCORES[0], **ALL)
    within(sums)
    assert not sums.score.any()


def within(sums: Any) -> None:
    most = longest(3)
    assert math.hypot(*map(float, sums.score)) <= most
    for matrix in (sums.bend, sums.square):
        assert np.linalg.norm(matrix.astype(float)) <= most


def test_values_at_the_ends_of_doubles() -> None:
    """Nothing overflows or underflows, whatever the standard and theta are."""
    rows = np.array([[5e-324, 3.0, 0.0], [-3.0, 1e-300, 1.0], [0.0, 0.0, 0.0]])
    for scale in (2.0**-190, 2.0**190):
        standard = Standard(np.full(2, 1e-200), np.full(2, scale), 1.0, 1.5, 1e-250, scale)
        for theta in (np.full(3, 1e-308), np.full(3, 1e150)):
            within_all = pushed(rows).rows(standard).totals(on_grid(theta), SCORES[1], **ALL)
            assert np.abs(within_all.score).max() <= 3 * longest(3)


def test_blocks_are_read_once_for_all_steps() -> None:
    read: list[int] = []

    def blocks() -> Iterator[Any]:
        read.append(1)
        yield table(50)

    source = BlockSource(2, blocks)
    assert source.count() == source.count() == 47
    rows = source.rows(STANDARD)
    for _ in range(3):
        rows.totals(THETA, SCORES[0], want_score=True, want_bend=False, want_square=False)
    assert len(read) == 1
