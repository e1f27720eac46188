"""Ways to an answer that skip work: each is held against the long way."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import gammainc, gammaincc

from dalenius import losses
from dalenius.calculus.engines.contour import Contour, Roof
from dalenius.calculus.engines.far_jumps import are_far
from dalenius.calculus.loss import Loss
from dalenius.calculus.pairs import soft_cut, soft_weight
from dalenius.calculus.theorems.duality import tradeoff_from_profile


def gaussian(sigma: float, rate: float) -> Loss:
    return losses.poisson_sampled(losses.gaussian(sigma), rate)


def laplace(scale: float, rate: float) -> Loss:
    return losses.poisson_sampled(losses.laplace(scale), rate)


RUNS = {
    "Gaussian": gaussian(1.0, 0.01) * 1000,
    "Laplace": laplace(2.0, 0.05) * 2000,
    "sum": gaussian(3.0, 0.1) * 200 + laplace(5.0, 0.3) * 300,
}


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize(("tilt", "period"), [(1.0, 1.0), (0.6, 1.0), (1.3, 1.0), (1.0, 0.3), (0.8, 0.2)])
def test_a_roof_is_an_upper_bound_wherever_it_stands(name: str, tilt: float, period: float) -> None:
    loss = RUNS[name]
    delta = 1e-8
    epsilon = loss.remove.epsilon(delta).upper
    other = loss.add.upper
    assert other is not None
    saddle = other.moments.saddle(epsilon)
    like = Contour(other.moments, saddle)
    like.c *= tilt
    like.period *= period
    like.step /= period
    truth = loss.add.delta(epsilon)
    roof = Roof(other.terms, like, epsilon, math.log(truth.upper))
    assert roof.at_once is None
    assert roof.delta(epsilon).upper >= truth.lower
    if tilt == period == 1.0:
        assert roof.delta(epsilon).upper <= truth.upper * (1 + 1e-9) + 1e-10 * delta
    if period < 0.5:  # what a short period adds is seen, so that one which forgets to add would be
        assert roof.delta(epsilon).upper > truth.upper


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("tilt", [0.6, 1.0, 1.3])
def test_a_roof_without_a_line_is_an_upper_bound(name: str, tilt: float) -> None:
    loss = RUNS[name]
    epsilon = loss.remove.epsilon(1e-8).upper
    other = loss.add.upper
    assert other is not None
    like = Contour(other.moments, other.moments.saddle(epsilon))
    like.c *= tilt
    roof = Roof(other.terms, like, epsilon, 0.0)
    assert roof.at_once is not None
    assert loss.add.delta(epsilon).lower <= roof.delta(epsilon).upper <= 1.0


def test_directions_by_the_shortcut_and_one_by_one_agree() -> None:
    for loss in RUNS.values():
        both = loss.epsilon_bounds(1e-8)
        alone = [side.epsilon(1e-8) for side in (loss.remove, loss.add)]
        assert both.lower <= max(x.upper for x in alone)
        assert max(x.lower for x in alone) <= both.upper


def test_a_direction_that_needs_more_is_not_skipped() -> None:
    """The add direction of one outcome that P shows and Q never: found although remove comes first."""
    loss = losses.from_pair([0.5, 0.5], [0.5 + 1e-4, 0.5 - 1e-4]) * 50
    turned = losses.from_pair([0.5 + 1e-4, 0.5 - 1e-4], [0.5, 0.5]) * 50
    for one in (loss, turned):
        sides = [side.epsilon(1e-6) for side in (one.remove, one.add)]
        assert one.epsilon_bounds(1e-6).upper >= max(side.lower for side in sides)


def test_near_the_largest_loss() -> None:
    """Few steps in the add direction; and Laplace runs on two scales, which took seconds or were 2 % wide."""
    for side, delta, near in (
        (
            (gaussian(0.8911228564146312, 0.0008570449283659882) * 6).add,
            4.0364498510968314e-08,
            0.00433458051,
        ),
        (
            (
                laplace(42.91077770033221, 0.10171152711135746) * 120 + laplace(0.3763524159344731, 0.439) * 3
            ).remove,
            1.75e-19,
            5.95,
        ),
    ):
        low, high = side.epsilon(delta)
        assert high - low <= 1e-6 * high
        assert high == pytest.approx(near, rel=1e-3)
        assert side.delta(high).upper <= delta <= side.delta(low).lower * (1 + 1e-9)


def test_a_term_that_is_not_cut_shortens_layers() -> None:
    """A rare Gaussian beside long Laplace noise; the bracket is that of lines of 1e5 nodes."""
    loss = gaussian(0.4490843, 0.0165) * 4 + laplace(9.293, 0.0631) * 22_289
    low, high = loss.remove.epsilon(1e-9)
    assert high - low <= 1e-6 * high
    grid = loss.remove.delta(high, "grid")
    assert loss.remove.delta(high).lower <= grid.upper
    assert grid.lower <= loss.remove.delta(high).upper


@pytest.mark.parametrize("sigma", [1e5, 1e100, 1e200, 1e300])
def test_what_hardly_tells_anything_costs_nothing(sigma: float) -> None:
    for loss in (gaussian(sigma, 0.01) * 1000, gaussian(sigma, 0.01), laplace(sigma, 0.01) * 10):
        assert loss.epsilon_bounds(1e-3) == (0.0, 0.0)


def test_what_tells_a_little_more_than_delta_costs_something() -> None:
    loss = gaussian(1e4, 0.01) * 100
    total = loss.delta_bounds(0.0)
    assert loss.epsilon_bounds(total.upper * (1 + 1e-6)).lower == 0.0
    assert loss.epsilon_bounds(total.lower * 0.5).lower > 0.0


@pytest.mark.parametrize("delta", [1e-299, 1e-301, 5e-324])
def test_the_least_deltas(delta: float) -> None:
    for loss in (gaussian(1.0, 0.01) * 100, laplace(1.0, 0.01) * 100):
        low, high = loss.epsilon_bounds(delta)
        assert 0.0 < low <= high < math.inf
        assert high >= loss.epsilon_bounds(1e-298).upper * (1 - 1e-9)
        assert high <= 1.2 * loss.epsilon_bounds(1e-298).upper


def test_gamma_functions_are_1_where_they_are_taken_for_it() -> None:
    for a in (1.0, 16.0, 300.0, 3000.0):
        left, right = soft_weight.saturated(a)
        assert gammainc(a, left) < math.exp(-40.0) > gammaincc(a, right)
        assert gammainc(a, left) > math.exp(-44.0) < gammaincc(a, right)


def test_cells_left_out_add_nothing() -> None:
    cuts = soft_cut.SoftCuts(0.7, 1e-3, False, 16.0)
    for part in (cuts.below(0.01), cuts.between(0.01, 0.5)):
        s = np.geomspace(1e-2, 30.0, 20)
        x, fixed, log_w = part.grid_for(1.0, 31.0)
        whole = np.logaddexp.reduce(fixed + np.multiply.outer(1.0 + s, log_w), axis=1)
        whole += math.log(float(x[1] - x[0])) - 0.5 * math.log(2 * math.pi)
        assert part.log_mgf(s) == pytest.approx(whole, rel=1e-12, abs=1e-13)


def test_jumps_that_show_are_not_far() -> None:
    assert are_far((gaussian(10.0, 0.1) * 1000).terms_remove, 1.0)
    assert not are_far((gaussian(0.5, 1e-5) * 1000).terms_remove, 5.0)


@pytest.mark.parametrize("epsilon", [0.2, 5.0, 600.0])
def test_far_beyond_what_certain_losses_leave_no_line_is_drawn(epsilon: float) -> None:
    """That line has losses of 1e-6 beside atoms of 7e-3, and took minutes."""
    loss = losses.approx(0.0067, 2.6e-5) * 17 + losses.poisson_sampled(losses.gaussian(30_000.0), 0.07)
    certain = -math.expm1(17 * math.log1p(-2.6e-5))
    low, high = loss.delta_bounds(epsilon)
    assert low <= certain * (1 + 1e-15)
    assert certain * (1 - 1e-15) <= high <= certain * (1 + 1e-14)
    assert 0.9 < loss.tradeoff(1e-6) <= 1 - certain


def test_no_search_for_an_error_where_everything_is_told() -> None:
    asked: list[float] = []

    def profile(epsilon: float) -> float:
        asked.append(epsilon)
        return 1.0

    assert tradeoff_from_profile(profile, 1e-5) == 0.0
    assert len(asked) < 20
    step = tradeoff_from_profile(lambda epsilon: float(epsilon < 3.0), 0.01)
    assert step >= 1 - 0.01 * math.exp(3.0) - 1e-6
