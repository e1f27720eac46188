"""A quantile by the ranks."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import simpson

import dalenius as dp
from dalenius.core.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dalenius.errors import InvalidParameter
from dalenius.tables.plan.plan import plan
from tests.noise.seeded import seeded
from tests.tables.aggregate_contract import PRICES, UNIT, AggregateContract, large, opened


def softmax(scores: np.ndarray) -> np.ndarray:
    """The law of the largest score with Gumbel noise."""
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


def largest_exponential(scores: np.ndarray) -> np.ndarray:
    """The law of the largest score with exponential noise, by Simpson's rule from the best score on."""
    x = scores.max() + np.linspace(0, 40, 8001)
    below = -np.expm1(-(x[None, :] - scores[:, None]))
    density = np.exp(-(x[None, :] - scores[:, None]))
    found = [simpson(density[i] * np.delete(below, i, 0).prod(axis=0), x=x) for i in range(len(scores))]
    return np.array(found) / sum(found)


class TestAdaptiveQuantile(AggregateContract):
    asked = dp.median("x", adaptive=True)
    record: ClassVar = {
        "kind": "adaptive_quantile",
        "column": "x",
        "level": "0.5",
        "bounds": None,
        "nulls": None,
        "bins": 16384,
    }
    spelled = ("ADAPTIVE_MEDIAN(x)", "ADAPTIVE_QUANTILE(x, 0.5)")
    wrong = (
        lambda: dp.median("unknown", (0, 1), adaptive=True),
        lambda: dp.median("n", adaptive=True),
        lambda: dp.quantile("x", 1.0, adaptive=True),
        lambda: dp.median("x", (1, 0), adaptive=True),
        lambda: dp.median("x", adaptive=True, bins=1),
        lambda: dp.median("x", adaptive="yes"),  # type: ignore[arg-type]
    )
    holed = dp.median("hole", adaptive=True)

    def truth(self, data: pd.DataFrame) -> list[Any]:
        return [float(data["x"].median()), 0.0]

    def test_every_part_is_recorded(self) -> None:
        asked = dp.quantile("n", 0.25, (0, 9), nulls="drop", bins=8, adaptive=True)
        assert asked.record() == {
            "kind": "adaptive_quantile",
            "column": "n",
            "level": "0.25",
            "bounds": ["0.0", "9.0"],
            "nulls": "drop",
            "bins": 8,
        }
        assert dp.tables.aggregates.from_record(asked.record()) == asked

    def test_adaptive_is_true_or_false(self) -> None:
        with pytest.raises(InvalidParameter, match="adaptive"):
            dp.median("x", adaptive="no")  # type: ignore[arg-type]

    @pytest.mark.parametrize("level", [0.5, 0.2, 0.9])
    def test_scores_are_ranks(self, level: float) -> None:
        """Against the definition, in fractions; and no row moves one further than the swing."""
        query = opened(large()[0][:10]).table().agg(r=dp.quantile("n", level, (0, 3), adaptive=True))
        (measure,) = query.measures
        exactly = Fraction(measure.labels[0], 2**30)
        assert float(exactly) == pytest.approx(level)
        assert measure.size == 4
        for counts in itertools.product(range(3), repeat=4):
            n = sum(counts)
            found = measure.scores(np.array([counts]))[0]
            for k in range(4):
                below, upto = sum(counts[:k]), sum(counts[: k + 1])
                assert -Fraction(found[k]) == max(below - exactly * n, exactly * n - upto, 0)
                more = measure.scores(np.array([[c + (i == k) for i, c in enumerate(counts)]]))[0]
                assert np.abs(more - found).max() <= float(measure.swing)
        huge = measure.scores(np.array([[2**40, 0, 0, 2**40]]))
        assert np.isfinite(huge).all()

    @pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE])
    @pytest.mark.parametrize("price", PRICES, ids=repr)
    def test_the_law_of_all_groups_together(self, price: dp.Guarantee, adjacency: Adjacency) -> None:
        """Two groups of three bins, and all ways one unit of three rows can be there, gone or replaced. With Gumbel
        noise the log ratio of the laws ranges over no more than is charged, with exponential noise it is no larger;
        half the noise is caught."""
        query = opened(large()[0][:10]).table().group_by("g", keys=["a", "b"])
        (noise,) = plan(query.agg(r=dp.median("n", (0, 2), adaptive=True)), UNIT, price, adjacency).noises
        gumbel = noise.mechanism.noise == "gumbel"
        ways = [w for w in itertools.product(range(4), repeat=6) if sum(w) <= 3]
        own = np.array([[4, 0, 5], [1, 7, 2]])
        here = ways if adjacency is REPLACE_ONE else [(0,) * 6]
        for factor, within in ((1.0, True), (0.5, False)):
            scale, worst = noise.mechanism.scale * factor, 0.0
            laws = {}
            for way in ways:
                scores = noise.measure.scores(own + np.reshape(way, (2, 3))) / scale  # type: ignore[attr-defined]
                a, b = (softmax(row) if gumbel else largest_exponential(row) for row in scores)
                laws[way] = np.log(np.outer(a, b))
            for one, other in itertools.product(here, ways):
                apart = laws[one] - laws[other]
                worst = max(worst, float(apart.max() - apart.min() if gumbel else np.abs(apart).max()))
            assert (worst <= noise.mechanism.epsilon * (1 + 1e-4)) is within

    def test_it_is_off_no_further_than_it_says(self) -> None:
        query = opened(large()[0][:10]).table().agg(r=dp.median("n", (0, 7), adaptive=True))
        for price in PRICES:
            (noise,) = plan(query, UNIT, price).noises
            gap = noise.law.reach(0.2)[1]
            counts = np.tile([0, 0, 0, math.ceil(2 * gap) + 1, 0, 0, 0, 0], (3000, 1))
            with seeded(4):
                missed = float((noise.release(counts) != 3).mean())
            assert missed < 0.2 + 6 * math.sqrt(0.16 / 3000)

    def test_what_is_off_is_said(self) -> None:
        s = dp.Session(pd.DataFrame({"x": [1.0, 2.0]}), unit=dp.Unit.rows(), budget=dp.PureDP(2.0))
        asked = s.table.agg(m=dp.median("x", (0, 3), nulls="drop", adaptive=True), n=dp.count())
        assert str(s.release(asked, dp.PureDP(1.0))).endswith(
            " m_off: how many rows the rank of m may be off."
        )
        assert "off" not in str(s.release(s.table.agg(n=dp.count()), dp.PureDP(1.0)))

    def test_wide_bounds_cost_little(self) -> None:
        """Ten thousand numbers around 0.5, in bounds a thousand times as wide: nearer than the median of noisy bins."""
        rng = np.random.default_rng(2)
        data = pd.DataFrame({"x": rng.normal(0.5, 0.2, 10_000)})
        errors: dict[bool, list[float]] = {False: [], True: []}
        for adaptive in errors:
            with seeded(3):
                for _ in range(15):
                    s = dp.Session(data, unit=dp.Unit.rows(), budget=dp.PureDP(1.0))
                    asked = dp.median("x", (-100, 100), nulls="drop", bins=2**16, adaptive=adaptive)
                    (found,) = s.release(s.table.agg(r=asked), dp.PureDP(0.05))["r"].plain
                    errors[adaptive].append(abs(found - float(data["x"].median())))
        assert np.mean(errors[True]) < 0.5 * np.mean(errors[False])

    @pytest.mark.parametrize("budget", [dp.PureDP(1.0), dp.ZCDP(0.5), dp.GDP(1.0), dp.ApproxDP(1.0, 1e-6)])
    def test_every_session_charges_before_it_reads(self, budget: dp.Guarantee) -> None:
        price: Any = {dp.ZCDP: dp.ZCDP(0.1), dp.GDP: dp.GDP(0.3)}.get(type(budget), dp.PureDP(0.1))
        s = dp.Session(large()[1], unit=UNIT, budget=budget)
        answer = s.release(s.table.agg(r=dp.median("x", adaptive=True)), price)
        assert 0 <= answer["r"].plain[0] <= 10
        assert s.remaining != budget


def test_the_rank_is_off_by_no_more_than_is_said() -> None:
    """Five rows on one point, and 1023 empty bins 2.5 ranks away: 2 rows would be said to be enough too often."""
    frame, asked = pd.DataFrame({"x": [0.0] * 5}), dp.median("x", (0, 1), bins=1024, adaptive=True)
    table = dp.Schema({}, nulls="never")
    s = dp.Session(frame, unit=dp.Unit.rows(), budget=dp.PureDP(9.0), schema=table)
    ((off,),) = (
        v for k, v in s.release(s.table.agg(m=asked), dp.PureDP(3.1)).to_dict().items() if k == "m_off"
    )
    (noise,) = s._plan(s.table.agg(m=asked), dp.PureDP(3.1)).noises
    counts = np.zeros((2000, 1024))
    counts[:, 0] = 5
    with seeded(3):
        chosen = noise.release(counts)
    away = np.where(chosen == 0, 0.0, 2.5)
    assert (away > 2).mean() > 0.1
    assert (away > off).mean() <= 0.05 + 4 * (0.05 * 0.95 / 2000) ** 0.5


@pytest.mark.parametrize("bounds", [(0, 1), (500, 900)])
def test_the_error_in_rows_has_nothing_to_do_with_the_bounds(bounds: tuple[float, float]) -> None:
    frame = pd.DataFrame({"x": np.linspace(*bounds, 1000)})
    s = dp.Session(frame, unit=dp.Unit.rows(), budget=dp.PureDP(9.0), schema=dp.Schema({}, nulls="never"))
    answer = s.release(s.table.agg(m=dp.median("x", bounds, adaptive=True)), dp.PureDP(1.0)).to_dict()
    assert bounds[0] <= answer["m"][0] <= bounds[1]
    assert 10 < answer["m_off"][0] < 13
