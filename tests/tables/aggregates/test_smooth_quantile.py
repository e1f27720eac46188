"""A quantile with noise in proportion to its smooth sensitivity."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

import dalenius as dp
from dalenius.core.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dalenius.errors import InvalidParameter
from dalenius.tables.plan.adaptive import SecretSpread
from dalenius.tables.plan.plan import plan
from tests.noise.seeded import seeded
from tests.tables.aggregate_contract import PRICES, UNIT, AggregateContract, counted, large, opened


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
