"""Plans, and what is certain of them at every moment."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qsl

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalenius import losses
from dalenius.calculus.loss import Loss
from dalenius.calculus.pairs.pair import Bounds
from dalenius.calculus.theorems.duality import gaussian_tradeoff
from dalenius.errors import InvalidParameter
from dalenius.web.planning import clerk, plans
from dalenius.web.planning.desk import Desk
from dalenius.web.planning.sketch import Known, area, curve, fine, power, rough
from dalenius.web.planning.view import Planned, told


def height(corners: list[tuple[float, float]], alpha: float) -> float:
    for (a, b), (c, d) in pairwise(corners):
        if a <= alpha <= c:
            return b + (d - b) * (alpha - a) / (c - a) if c > a else max(b, d)
    raise AssertionError(alpha)


def last(loss: Loss, delta: float) -> Known:
    *_, known = fine(loss, delta)
    return known


class TestSketch:
    LOSSES = (
        losses.gaussian(sigma=1.0),
        losses.laplace(scale=3.0) * 20,
        losses.poisson_sampled(losses.gaussian(sigma=2.0), rate=0.5) * 10,
        losses.pure(0.1),
    )

    @pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.expression)
    def test_all_that_is_said_at_any_moment_is_true(self, loss: Loss) -> None:
        first = rough(loss, 1e-6)
        views = [first, *(first.or_better(known) for known in fine(loss, 1e-6))]
        least = loss.epsilon_bounds(1e-6).lower
        assert all(known.epsilon.upper >= least for known in views)
        for known in (views[0], views[1], views[6], views[-1]):
            assert all(found.upper >= loss.delta_bounds(e).lower for e, found in known.points.items())
        corners = [curve(known.points) for known in views]
        for alpha in (0.001, 0.01, 0.2, 0.5, 0.9):
            # Each step can only raise the curve, and none lifts it above the truth, computed another way.
            heights = [height(found, alpha) for found in corners]
            assert all(b >= a - 1e-9 for a, b in pairwise(heights))
            true = 1 - loss.power(alpha)  # itself a certified lower bound, within 1e-6 of the truth here
            assert heights[-1] <= true + 1e-6
            assert heights[-1] >= true - 0.01
        assert area(corners[-1]) >= loss.auc_bounds().lower
        assert area(corners[-1]) <= loss.auc() + 0.01
        assert power(views[-1].points, 0.01) >= loss.power(0.01) - 1e-6

    def test_the_curve_of_gaussian_noise_is_the_textbooks(self) -> None:
        loss, exact = losses.gaussian(sigma=1.0), gaussian_tradeoff(1.0)
        corners = curve(last(loss, 1e-6).points)
        for alpha in (1e-4, 0.01, 0.1, 0.3, 0.7, 0.99):
            assert exact(alpha) - 0.005 <= height(corners, alpha) <= exact(alpha) + 1e-11

    def test_a_delta_that_is_too_small_would_be_seen(self) -> None:
        points = {0.0: Bounds(0.0, 0.3), 1.0: Bounds(0.0, 0.1)}
        assert height(curve(points), 0.1) == pytest.approx(max(0.6, 0.9 - math.e * 0.1))
        assert height(curve({**points, 1.0: Bounds(0.0, 0.01)}), 0.1) == pytest.approx(0.99 - math.e * 0.1)
        assert curve({}) == [(0.0, 0.0), (1.0, 0.0)]


DESK = Desk()


class TestDesk:
    def test_a_plan_that_takes_long_is_answered_at_once_and_gets_finer(self) -> None:
        plan, desk = plans.read({"steps": "200000", "rate": "0.0005", "noise": "0.6"}), DESK
        first = desk.look(plan, 0.0)
        assert first.known.points  # and valid, see above
        while (view := desk.look(plan, 2.0)).state == "working":
            pass
        assert view.state in ("whole", "given up")
        assert view.known.epsilon.upper <= first.known.epsilon.upper
        assert desk.look(plan, 0.0) == desk.look(plan, 0.0)

    def test_what_promises_nothing_is_not_computed(self) -> None:
        view = DESK.look(plans.read({"steps": "1e7", "rate": "0.5", "noise": "0.3"}), 20.0)
        assert view.state == "hopeless"
        assert told(view)["advantage"] == 1.0

    def test_a_step_that_takes_too_long_is_ended_and_keeps_nobody_waiting(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        desk = DESK
        assert desk.look(plans.read({"kind": "answers"}), 30.0).state == "whole"
        monkeypatch.setattr(clerk, "LIMIT", 0.0)  # no step is as fast as that
        hard = plans.read({"steps": "107", "rate": "1.487e-6", "noise": "2.378"})
        assert desk.look(hard, 20.0).state == "given up"
        assert 0 < desk.look(hard, 0.0).known.epsilon.upper < 0.2  # what divergences tell
        assert desk._clerk.process is None
        monkeypatch.undo()
        assert desk.look(plans.read({"kind": "answers", "error": "30"}), 30.0).state == "whole"

    def test_stale_plans_are_dropped_and_the_newest_is_first(self) -> None:
        desk = DESK
        for n in range(60):
            desk._work(plans.read({"steps": str(10**6 + n), "rate": "0.0001", "noise": "0.5"}), 0.0)
        assert len(desk._stack) <= 50
        view = desk.look(plans.read({"kind": "answers"}), 20.0)
        assert view.state == "whole"
        desk._stack.clear()


class TestPlan:
    @pytest.mark.parametrize("kind", plans.KINDS)
    def test_a_link_says_all(self, kind: str) -> None:
        plan = plans.read({"kind": kind})
        assert plans.read(dict(parse_qsl(plan.query()))) == plan
        seen = Planned(**told(DESK.look(plan, 20.0)))
        assert seen.complete
        assert seen.epsilon is not None
        assert (
            plan.loss.epsilon_bounds(plan.delta).lower
            <= seen.epsilon
            <= plan.loss.epsilon(plan.delta) + 1e-12
        )
        assert seen.path.startswith("M0.00 0.00")

    def test_answers_are_as_accurate_as_wanted(self) -> None:
        plan = plans.read({"kind": "answers", "error": "20", "noise": "laplace"})
        assert isinstance(plan, plans.Answers)
        assert plan.mechanism.accuracy(0.95) <= 20 < plan.mechanism.accuracy(0.951)

    odd = st.one_of(
        st.text(max_size=80),
        st.sampled_from(["nan", "inf", "-1", "0", "1e400", "1_0", "٣", "0x10", " ", "1e-320", "99999999"]),
        st.floats().map(str),
    )

    @given(
        st.dictionaries(
            st.one_of(
                st.sampled_from(["delta", "steps", "rate", "noise", "error", "questions", "change"]),
                st.text(),
            ),
            odd,
            max_size=4,
        ),
        st.sampled_from(["training", "answers", "", "x"]),
    )
    @settings(max_examples=100, deadline=None)
    def test_odd_input_is_refused_in_words(self, values: dict[str, Any], kind: str) -> None:
        try:
            plan = plans.read({"kind": kind, **values})
        except InvalidParameter:
            return
        assert plans.read(dict(parse_qsl(plan.query()))) == plan
