"""Rare and huge jumps: the layers against quadrature at 30 digits, against the lattice, and against planted faults."""

from __future__ import annotations

import math
from functools import lru_cache

import mpmath
import numpy as np
import pytest
from scipy.special import gammainc, gammaincc

from dalenius import losses
from dalenius.calculus.engines.accountant import Sum
from dalenius.calculus.engines.contour import Contour
from dalenius.calculus.engines.far_jumps import guess
from dalenius.calculus.engines.layer_lines import LayerLine, LayerMoments, ShortLine, Split
from dalenius.calculus.engines.layer_pieces import Piece
from dalenius.calculus.engines.layers import Layers
from dalenius.calculus.engines.saddle import Moments
from dalenius.calculus.pairs.gaussian import GaussianPair
from dalenius.calculus.pairs.pair import UNIT, Pair, Terms
from dalenius.calculus.pairs.soft_cut import SoftPart
from tests.calculus.contract import overlap

RELATIVE = 1e-7
"""Width promised at the points below, relative to delta."""


def pair(rate: float, sigma: float, added: bool = False) -> Pair:
    return GaussianPair(1 / sigma).sampled(rate, added)


def by_layers(terms: Terms, epsilon: float) -> Layers:
    found = Layers(terms, epsilon)
    found.delta(epsilon)
    return found


# -- the truth for two steps: E over the first step of the closed form of the second -------------------


def one_step(g: mpmath.mpf, mu: mpmath.mpf, epsilon: mpmath.mpf, added: bool) -> mpmath.mpf:
    """H(exp(epsilon)) of N(0,1) against its mixture with N(mu, 1), one way or the other."""
    level = mpmath.expm1(-epsilon if added else epsilon) / g + 1
    if level <= 0:
        return mpmath.mpf(0) if added else -mpmath.expm1(epsilon)
    x = mpmath.log(level) / mu + mu / 2
    if added:  # the outcomes below x
        plain, mixed = mpmath.ncdf(x), (1 - g) * mpmath.ncdf(x) + g * mpmath.ncdf(x - mu)
        return plain - mpmath.exp(epsilon) * mixed
    plain, mixed = mpmath.ncdf(-x), (1 - g) * mpmath.ncdf(-x) + g * mpmath.ncdf(mu - x)
    return mixed - mpmath.exp(epsilon) * plain


@lru_cache
def two_steps(rate: float, sigma: float, epsilon: float, added: bool) -> float:
    with mpmath.workdps(22):
        g, mu, e = mpmath.mpf(rate), 1 / mpmath.mpf(sigma), mpmath.mpf(epsilon)

        def integrand(x: mpmath.mpf) -> mpmath.mpf:
            w = 1 - g + g * mpmath.exp(mu * x - mu * mu / 2)
            loss = -mpmath.log(w) if added else mpmath.log(w)
            return mpmath.npdf(x) * (1 if added else w) * one_step(g, mu, e - loss, added)

        # Where the first step leaves nothing to the second, or all, the integrand turns sharply.
        level = mpmath.exp((-e if added else e) - mpmath.log1p(-g)) if not added else mpmath.exp(-e) / (1 - g)
        turn = float(mpmath.log((level - 1) / g + 1) / mu + mu / 2)
        near = [turn + sign * 10.0**-k for k in range(8) for sign in (-1, 1)]
        places = sorted(p for p in {*np.arange(-13.0, 16.0, 2.0).tolist(), turn, *near} if -13 <= p <= 15)
        return float(mpmath.quad(integrand, places))


@pytest.mark.parametrize(
    ("rate", "sigma", "epsilon", "added"),
    [
        (1e-4, 1.0, 0.01, False),
        (1e-6, 0.7, 1e-4, False),
        (2e-3, 2.0, 0.05, False),
        (0.02, 0.5, 3.0, False),
        (1e-3, 1.0, 1.9e-3, True),
    ],
)
def test_two_steps(rate: float, sigma: float, epsilon: float, added: bool) -> None:
    truth = two_steps(rate, sigma, epsilon, added)
    bounds = Layers(((pair(rate, sigma, added), 2),), epsilon).delta(epsilon)
    assert bounds.lower * (1 - 1e-13) <= truth <= bounds.upper * (1 + 1e-13)
    assert bounds.upper - bounds.lower <= RELATIVE * truth


# -- named points, and the lattice ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rate", "sigma", "steps", "delta", "epsilon"),
    [
        (1e-4, 1.0, 100, 1e-8, 0.01350475),
        (1e-4, 1.0, 100, 1e-30, 2.2357455),
        (5e-4, 0.6, 60_000, 1e-8, 4.300265),
    ],
)
def test_named_points(rate: float, sigma: float, steps: int, delta: float, epsilon: float) -> None:
    lower, upper = (losses.poisson_sampled(losses.gaussian(sigma), rate) * steps).epsilon_bounds(delta)
    assert upper - lower <= 1e-6 * max(upper, 1e-3)
    assert lower == pytest.approx(epsilon, rel=1e-6)


@pytest.mark.parametrize(
    ("terms", "epsilon"),
    [
        (((pair(1e-3, 0.8), 3_000),), 3.0),
        (((pair(1e-5, 8.0), 70_000),), 0.0015),
        (((pair(1e-4, 1.0, True), 100),), 0.005),
        (((pair(1e-3, 1.0), 200), (pair(2e-4, 0.5), 1_000)), 1.0),
        (((pair(1e-3, 1.0), 50), (GaussianPair(0.01), 1)), 0.1),
    ],
)
def test_against_the_lattice(terms: Terms, epsilon: float) -> None:
    bounds = Layers(terms, epsilon).delta(epsilon)
    assert overlap(bounds, Sum(terms).delta(epsilon, "grid"))
    assert bounds.upper - bounds.lower <= RELATIVE * bounds.lower


def test_a_line_that_layers_would_shorten_is_not_drawn() -> None:
    moments = Moments(((pair(0.9, 1.0), 2),))
    saddle = moments.saddle(5.5)
    assert Contour(moments, saddle).feasible
    assert not ShortLine(moments, saddle).feasible


def test_a_guess_is_near() -> None:
    terms = ((pair(4e-7, 1.0), 400_000),)
    epsilon, rate = guess(terms, math.log(1e-13)) or (0.0, 0.0)
    assert abs(math.log(Sum(terms).delta(epsilon).upper / 1e-13)) < 3.0
    assert rate > 0


def test_nothing_but_zero_is_looked_at_where_zero_will_do() -> None:
    """Far beyond 0 delta is next to nothing, and takes seconds; whether the guess is 0 or a little above it."""
    for sigma, rate, steps, most in ((9.5, 1.8e-7, 1000, 0.0), (1.9, 8e-7, 1_200_000, 1e-6)):
        direction = (losses.poisson_sampled(losses.gaussian(sigma), rate) * steps).remove
        assert direction.epsilon(0.02) == (0.0, 0.0)
        assert max((epsilon for epsilon, *_ in direction._answers), default=0.0) <= most


# -- planted faults -----------------------------------------------------------------------------------


def test_a_missing_layer_is_noticed() -> None:
    terms = ((pair(1e-4, 1.0), 2),)
    truth = two_steps(1e-4, 1.0, 0.01, False)
    found = by_layers(terms, 0.01)
    lines = [piece for piece in found.pieces if piece.line is not None]
    largest = max(lines, key=lambda piece: piece.delta(0.01).lower)
    found.pieces.remove(largest)
    assert found._sum(0.01).upper < truth * (1 - RELATIVE)


def test_a_line_cut_short_is_noticed() -> None:
    terms = ((pair(1e-4, 1.0), 2),)
    truth = two_steps(1e-4, 1.0, 0.01, False)
    found = by_layers(terms, 0.01)
    for piece in found.pieces:
        if piece.line is not None:
            piece.line.weight[len(piece.line.weight) // 4 :] = 0.0
            piece.line._weighted = None  # what was kept of the sum
    bounds = found._sum(0.01)
    assert not bounds.lower * (1 - RELATIVE) <= truth <= bounds.upper * (1 + RELATIVE)


# -- parts ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("added", [False, True])
@pytest.mark.parametrize(("rate", "sigma"), [(1e-4, 1.0), (1e-3, 8.0), (0.05, 0.4)])
def test_parts_add_up(rate: float, sigma: float, added: bool) -> None:
    whole = pair(rate, sigma, added)
    level = 8 * rate
    cuts = whole.cuts(level)
    assert cuts is not None
    parts = [cuts.below(level), cuts.between(level, 3 * level), cuts.between(3 * level, math.inf)]
    c, t = 0.7, np.arange(20) * 0.4 / level
    total, error = np.zeros(len(t), complex), np.zeros(len(t))
    for part in parts:
        tilted = part.tilted(c, t)
        assert tilted is not None
        total += math.exp(tilted.log_scale) * tilted.values
        error += math.exp(tilted.log_scale) * tilted.error
        # The real axis, and the bounds on what is cut off.
        assert float(part.log_mgf(np.array([c]))[0]) == pytest.approx(tilted.log_scale, abs=1e-11, rel=1e-12)
        assert np.all(np.abs(tilted.values[1:]) <= part.envelope(c, t[1:]) + tilted.error[1:])
    known = whole.tilted(c, t)
    assert known is not None
    expected, off = math.exp(known.log_scale) * known.values, math.exp(known.log_scale) * known.error
    assert np.all(np.abs(total - expected) <= error + off)
    assert error.max() < 1e-11
    log_p, ratio, _ = parts[0].mass()
    zero, minus = parts[0].log_mgf(np.array([0.0, -1.0]))
    assert log_p == pytest.approx(float(zero), abs=1e-12)
    assert ratio == pytest.approx(float(minus - zero), abs=1e-12)


def test_incomplete_gamma_functions_are_as_good_as_said() -> None:
    rng = np.random.default_rng(5)
    part = pair(1e-4, 1.0).cuts(1e-3)
    assert part is not None
    for a in (16.0, 60.0, 300.0, 3000.0):
        for zeta in a * np.exp(rng.uniform(-12.0, 6.0, 12) / math.sqrt(a)):
            with mpmath.workdps(40):
                p = mpmath.gammainc(a, 0, float(zeta), regularized=True)
                q = mpmath.gammainc(a, float(zeta), mpmath.inf, regularized=True)
            allowed = 16 * (a + 16) * UNIT
            if p > 1e-280:
                assert abs(float(gammainc(a, zeta) / p) - 1) <= allowed
            if q > 1e-280:
                assert abs(float(gammaincc(a, zeta) / q) - 1) <= allowed


def test_weights_beyond_floats_are_bounded() -> None:
    cuts = pair(1e-4, 1.0).cuts(1e-3)
    assert cuts is not None
    part = cuts.between(1e-3, 3e-3)
    assert isinstance(part, SoftPart)
    x = np.linspace(-40.0, 12.0, 14)
    with mpmath.workdps(40):
        for place, log_weight in zip(x.tolist(), part.log_weight(x).tolist(), strict=True):
            zetas = [
                float(part.zeta(np.array([place]), cut)[0]) for cut in (part.low or 0.0, part.high or 0.0)
            ]
            low, high = (mpmath.gammainc(cuts.sharpness, 0, z, regularized=True) for z in zetas)  # type: ignore[attr-defined]
            true = float(mpmath.log(low - high)) if low > high else -math.inf
            assert log_weight >= true - 1e-9 * (1 + abs(true))


@pytest.mark.parametrize("levels", [2, 3])
def test_the_last_layer_is_counted_once(monkeypatch: pytest.MonkeyPatch, levels: int) -> None:
    """When the levels run out, what lies below the last of them is left: not what lies below the one before."""
    monkeypatch.setattr("dalenius.calculus.engines.layers.MOST_LEVELS", levels)
    rate, sigma = 2.97102296708921e-06, 0.26873288226548325
    epsilon = 2.971021115052831e-06  # near the largest loss
    terms: Terms = ((pair(rate, sigma, True), 1),)
    bounds = by_layers(terms, epsilon).delta(epsilon)
    with mpmath.workdps(40):
        mu = mpmath.mpf(GaussianPair(1 / sigma).mu)
        truth = one_step(mpmath.mpf(rate), mu, mpmath.mpf(epsilon), True)
    assert bounds.lower <= truth <= bounds.upper


def test_a_layer_of_very_many_jumps_is_evaluated() -> None:
    """exp(-n log B'/B) alone is no float there, nor is its inverse; their product is."""
    law = pair(1e-3, 0.5)
    cuts = law.cuts(0.1)
    assert cuts is not None
    split = Split(cuts.below(0.02), cuts.between(0.02, 0.5), 10**7)
    piece = Piece(LayerMoments((split,), 0.1), LayerLine, split.times)
    assert piece.draw(piece.look(2000.0))
    assert piece.line is not None
    assert np.isfinite(piece.line.values).all()


def test_a_line_that_is_no_number_says_nothing() -> None:
    terms = ((GaussianPair(1.0), 1),)
    line = Sum(terms).lines.draw(Sum(terms).moments, Sum(terms).moments.saddle(1.0))
    line.values[0] = math.nan
    assert line.delta(1.0) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("rate", "sigma", "steps", "epsilon"), [(1e-3, 0.03, 100, -0.5), (1e-3, 0.03, 300, -2.0)]
)
def test_noise_so_small_that_the_normal_laws_hardly_meet(
    rate: float, sigma: float, steps: int, epsilon: float
) -> None:
    """What is below the last level has a Q-mass of (1 - rate)^steps, not of 1."""
    terms = ((pair(rate, sigma, True), steps),)
    truth = -math.expm1(epsilon + steps * math.log1p(-rate))  # but for 1e-40
    bounds = Sum(terms).delta(epsilon)
    assert bounds.lower <= truth <= bounds.upper
    assert bounds.upper - bounds.lower <= 1e-9


@pytest.mark.parametrize(("mu", "rate", "added"), [(2.76, 0.099, True)])
def test_masses_are_as_good_as_said(mu: float, rate: float, added: bool) -> None:
    law = GaussianPair(mu).sampled(rate, added)
    cuts = law.cuts(3 * rate)
    assert cuts is not None
    part = cuts.below(3 * rate)
    assert isinstance(part, SoftPart)
    assert part.high is not None
    log_p, ratio, off = part.mass()
    with mpmath.workdps(25):
        a, m, cut = cuts.sharpness, mpmath.mpf(mu), mpmath.mpf(part.high)  # type: ignore[attr-defined]

        def gone(x: mpmath.mpf) -> mpmath.mpf:
            return mpmath.npdf(x) * mpmath.gammainc(a, 0, a * mpmath.exp(m * (x - cut)), regularized=True)

        places = mpmath.linspace(float(part.high) - 3.0 - 10 / mu, mu + 12.0, 16)
        p = mpmath.quad(gone, places, maxdegree=4)
        q = mpmath.quad(lambda x: rate * mpmath.expm1(m * x - m * m / 2) * gone(x), places, maxdegree=4)
        small = mpmath.log1p(-p), mpmath.log1p(-q / (1 - p))
        truth = small if added else (mpmath.log1p(-p - q), -small[1])
    assert abs(log_p - truth[0]) <= off
    assert abs(ratio - truth[1]) <= off
    assert off <= 1e-9 * (abs(log_p) + abs(ratio))


@pytest.mark.parametrize("side", ["remove", "add"])
@pytest.mark.parametrize("rate", [0.999, 1 - 1e-9, 1 - 1e-12])
def test_samples_that_leave_hardly_anyone_out(rate: float, side: str) -> None:
    """They were not cut, and a few Laplace releases beside one took seconds for a bracket 40 % wide."""
    beside = losses.poisson_sampled(losses.laplace(3.5), 0.5) * 7
    run = losses.poisson_sampled(losses.gaussian(19.0), rate) + beside
    whole = getattr(losses.gaussian(19.0) + beside, side)
    low, high = getattr(run, side).epsilon(1e-30)
    assert high - low < 1e-9 * high
    assert low <= whole.epsilon(1e-30).upper
    assert high >= whole.epsilon(1e-30).lower * (1 - 2 * (1 - rate))


@pytest.mark.parametrize("gap", [1e-12, 1e-6, 0.25])
def test_one_such_sample_far_out_in_the_add_direction(gap: float) -> None:
    """What is left of exp(-epsilon) beside 1 - rate is the difference of floats, not of what they are below 1."""
    rate, mu = 1.0 - gap, 2.5
    one = losses.poisson_sampled(losses.gaussian(1 / mu), rate).add
    with mpmath.workdps(40):
        g = mpmath.mpf(rate)
        for epsilon in (0.6, -0.97 * math.log(1 - rate), -0.9999 * math.log(1 - rate)):
            a = mpmath.exp(epsilon)
            x = mpmath.log((1 / a - 1 + g) / g) / mu + mpmath.mpf(mu) / 2
            truth = mpmath.ncdf(x) - a * ((1 - g) * mpmath.ncdf(x) + g * mpmath.ncdf(x - mu))
            low, high = one.delta(epsilon)
            assert low <= truth <= high
            assert high - low < 1e-8 * high
