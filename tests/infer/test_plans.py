"""How regressions divide their budget, as a notebook shows it."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

import dalenius as dp
from dalenius.infer.glm.plan import CurvedScore
from dalenius.infer.glm.plan import Plan as ModelPlan
from dalenius.infer.regression.plan import Facts, plan
from dalenius.infer.regression.reach import Weights


def shares(shown: str) -> list[float]:
    return [float(part) for part in re.findall(r">([\d.]+)% of mu\^2<", shown)]


def test_a_regression() -> None:
    facts = Facts(10_000, 1.0, 3, dp.ADD_REMOVE, 2, 1, False)
    many = plan(facts, Weights.of(1.0, 3))
    assert repr(many) == "<Plan of a regression: 4 rounds of steps; an interval can be expected>"
    found = shares(many._repr_html_())
    assert len(found) == 8
    assert sum(found) == pytest.approx(100, abs=0.5)  # all of the budget, to the digits shown
    few = plan(replace(facts, count=50), Weights.of(1.0, 3))
    assert "too few rows for an interval" in repr(few)
    assert "too few rows for an interval" in few._repr_html_()


def test_a_generalized_linear_model() -> None:
    score: Any = SimpleNamespace(steepest=1.0, sharpest=0.25, outcomes=1)
    curved = CurvedScore(score, 0.2)
    logistic_plan = ModelPlan(20_000, 1.0, 3, dp.ADD_REMOVE, curved, curved, 3.0, 1.0)
    assert repr(logistic_plan) == "<Plan of 3 coefficients of about 2e+04 rows: an interval can be expected>"
    shown = logistic_plan._repr_html_()
    assert sum(shares(shown)) == pytest.approx(100, abs=0.3)
    assert ">mu</th>" in shown
