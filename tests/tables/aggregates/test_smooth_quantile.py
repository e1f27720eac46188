"""A quantile with noise in proportion to its smooth sensitivity."""

from __future__ import annotations

import itertools
import math
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

import dalenius as dp
from dalenius.core.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dalenius.errors import InvalidParameter
from dalenius.tables.plan.adaptive import SecretSpread
from dalenius.tables.plan.plan import plan
from tests.noise.seeded import seeded
from tests.tables.aggregate_contract import PRICES, UNIT, AggregateContract, counted, large, opened


def _largest_ratio(mechanism: Any, adjacency: Adjacency) -> float:
    """Over all pairs of neighbours, and all answers on a grid that reaches far."""
    statistic, z = (
        mechanism.statistic,
        np.concatenate((-np.geomspace(1e6, 1e-3, 400), np.geomspace(1e-3, 1e6, 400))),
    )
    most = 2 if adjacency is REPLACE_ONE else 3
    one = [c for c in itertools.product(range(4), repeat=3) if sum(c) <= most]
    laws = {c: statistic.measured(np.array(c), mechanism.beta) for c in one}
    logs = {
        c: student.logpdf(z, mechanism.df, float(m.value), mechanism.scale * m.sensitivity)
        for c, m in laws.items()
    }
    apart = {(a, b): float(np.max(logs[a] - logs[b])) for a in one for b in one}
    units = [u for u in itertools.product(range(3), repeat=6) if sum(u) <= 2]
    gone = units if adjacency is REPLACE_ONE else [(0,) * 6]
    worst = 0.0
    for first, second in itertools.product(one, repeat=2):
        for less in gone:
            base = [x - y for x, y in zip(first + second, less, strict=True)]
            for more in units if min(base) >= 0 else []:
                there = tuple(x + y for x, y in zip(base, more, strict=True))
                if there[:3] in logs and there[3:] in logs:
                    a, b = (first, there[:3]), (second, there[3:])
                    worst = max(worst, apart[a] + apart[b], apart[a[::-1]] + apart[b[::-1]])
    return worst


class TestSmoothQuantile(AggregateContract):
    asked = dp.median("x", adaptive="smooth")
    record: ClassVar = {
        "kind": "smooth_quantile",
        "column": "x",
        "level": "0.5",
        "bounds": None,
        "nulls": None,
        "bins": 16384,
    }
    spelled = ("SMOOTH_MEDIAN(x)", "SMOOTH_QUANTILE(x, 0.5)")
    wrong = (
        lambda: dp.median("unknown", (0, 1), adaptive="smooth"),
        lambda: dp.median("n", adaptive="smooth"),
        lambda: dp.quantile("x", 1.0, adaptive="smooth"),
        lambda: dp.median("x", (1, 0), adaptive="smooth"),
        lambda: dp.median("x", adaptive="smoothly"),
        lambda: dp.median("x", adaptive="smooth", sensitivity=1.0),
    )
    holed = dp.median("hole", adaptive="smooth")

    def truth(self, data: pd.DataFrame) -> list[Any]:
        return [float(data["x"].median())]

    @pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE])
    def test_all_groups_together_cost_what_they_may(self, adjacency: Adjacency) -> None:
        """A unit of three rows is in one group, two or three of them; replaced, in as many more."""
        query = opened(large()[0][:10]).table().group_by("g", keys=list("abcdefgh")).agg(r=self.asked)
        unit = dp.Unit("id", max_rows=3, max_groups=2)
        for price, size in zip(PRICES, (0.5, 0.05, 0.3**2), strict=True):
            (noise,) = plan(query, unit, price, adjacency).noises
            groups = 2 if adjacency is ADD_REMOVE else 4
            assert noise.sensitivity.groups == groups
            assert noise.mechanism.statistic.max_rows == 3
            assert noise.mechanism.statistic.adjacency is adjacency
            one = noise.mechanism.loss
            of_one = {dp.PureDP: one.epsilon(0.0), dp.ZCDP: one.zcdp(), dp.GDP: one.gdp() ** 2}[type(price)]
            assert 0.98 * size <= groups * of_one <= size

    @pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE])
    def test_every_neighbour_in_two_groups(self, adjacency: Adjacency) -> None:
        """Two groups of up to three rows in three bins, and all units of two rows in one group or both: the largest log
        ratio of the densities, both groups together, is no more than is charged. Noise for one group is caught."""
        query = opened(large()[0][:10]).table().group_by("g", keys=["a", "b"])
        query = query.agg(r=dp.median("n", (0, 2), adaptive="smooth"))
        worst = {}
        for most in (2, 1):
            unit = dp.Unit("id", max_rows=2, max_groups=most)
            if adjacency is REPLACE_ONE and most == 1:
                continue  # replaced, it is in two groups all the same
            (noise,) = plan(query, unit, dp.PureDP(2.0), adjacency).noises
            worst[most] = _largest_ratio(noise.mechanism, adjacency)
        assert 1.0 < worst[2] <= 2.0
        assert worst.get(1, 9.0) > 2.0

    def test_a_delta_makes_the_noise_gaussian(self) -> None:
        query = opened(large()[0][:10]).table().agg(r=self.asked)
        (noise,) = plan(query, UNIT, dp.GDP(0.5), ADD_REMOVE, 1e-8).noises
        assert isinstance(noise.law, SecretSpread)
        assert noise.law.noise == "gaussian"
        assert math.isnan(noise.sigma)
        assert noise.mechanism.mu(1e-8) <= 0.5
        for epsilon in (0.0, 0.1, 0.5, 1.0, 2.0, 3.0):
            assert noise.mechanism.loss.delta(epsilon) <= noise.loss.delta(epsilon) + 1e-12

    @pytest.mark.parametrize(
        ("budget", "price", "noise"),
        [
            (dp.PureDP(1.0), dp.PureDP(0.1), "student_t"),
            (dp.ZCDP(0.5), dp.ZCDP(0.1), "laplace_log_normal"),
            (dp.GDP(1.0), dp.GDP(0.3), "student_t"),
            (dp.ApproxDP(1.0, 1e-6), dp.ApproxDP(0.5, 1e-6), "gaussian"),
            (dp.ApproxDP(2.0, 1e-6), dp.PureDP(0.1), "student_t"),
        ],
    )
    def test_every_session_answers_and_charges(
        self, budget: dp.Guarantee, price: dp.Guarantee, noise: str
    ) -> None:
        s = dp.Session(large()[1], unit=UNIT, budget=budget)
        query = s.table.agg(r=self.asked)
        (made,) = s._plan(query, s.account.filter.price(price)).noises
        assert made.law.noise == noise  # type: ignore[attr-defined]
        answer = s.release(query, price)
        assert 0 <= answer["r"].plain[0] <= 10
        assert not answer["r"].has_interval
        assert s.remaining != budget
        assert s.release(query, price).free

    def test_it_errs_less_where_rows_are_close(self) -> None:
        errors = []
        for spread in (0.01, 4.0):
            data = pd.DataFrame({"x": 5 + spread * np.linspace(-1, 1, 201)})
            s = dp.Session(
                data, unit=dp.Unit.rows(), budget=dp.PureDP(90.0), schema=dp.Schema({}, nulls="never")
            )
            (noise,) = s._plan(
                s.table.agg(r=dp.median("x", (0, 10), adaptive="smooth")), dp.PureDP(1.0)
            ).noises
            with seeded(2):
                drawn = noise.measure.in_units(noise.release(counted(noise, data["x"], 100)))  # type: ignore[attr-defined]
            errors.append(float(np.median(np.abs(drawn - 5))))
        assert errors[0] < 0.1 * errors[1]

    def test_messages_say_what_was_written(self) -> None:
        for asked, text in (
            (dp.median("n", adaptive=True), "median('n', adaptive='rank')"),
            (dp.quantile("n", 0.9, adaptive="smooth"), "quantile('n', 0.9, adaptive='smooth')"),
        ):
            assert asked.what == text
            with pytest.raises(InvalidParameter, match="adaptive="):
                large()[1].table().agg(r=asked)
