"""Upper is upper: the divergences a loss tells, against ball arithmetic at random parameters.

Each family is written down again from its definition, in balls of 200 bits that hold the true value (Johansson 2017);
integrals are enclosed by Arb. A thousand points a view: none may be below the truth. That a view is of use, too, is
what `loose` says: how far above the truth it may be, relatively.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import numpy as np
import pytest
from flint import acb, arb

import dalenius as dp
from dalenius import losses as L
from dalenius.calculus.loss import Loss
from dalenius.calculus.pairs import mixture

Ball = Any
POINTS = 1000
BITS = 200


@pytest.fixture(autouse=True)
def precision() -> Iterator[None]:
    before = flint.ctx.prec
    flint.ctx.prec = BITS
    yield
    flint.ctx.prec = before


@dataclass(frozen=True)
class Known:
    """A loss and the truth about it: log M(s) and the expected loss, of its worse direction."""

    loss: Loss
    log_mgf: Callable[[float], Ball]
    kl: Callable[[], Ball]


Draw = Callable[[np.random.Generator], Known]


def _spread(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(math.log(low), math.log(high))))


def _times(rng: np.random.Generator) -> int:
    return int(_spread(rng, 1, 1e6)) if rng.random() < 0.5 else 1


def gaussian(rng: np.random.Generator) -> Known:
    n, mu = _times(rng), _spread(rng, 1e-6, 30)
    square = n * arb(mu) ** 2 / 2
    return Known(L.gdp(mu) * n, lambda s: square * arb(s) * (arb(s) + 1), lambda: square)


def laplace(rng: np.random.Generator) -> Known:
    n, scale = _times(rng), _spread(rng, 0.02, 1e5)
    e = 1 / arb(scale)

    def log_mgf(s: float) -> Ball:
        s = arb(s)
        return n * ((s + 1) / (2 * s + 1) * (s * e).exp() + s / (2 * s + 1) * (-(s + 1) * e).exp()).log()

    return Known(L.laplace(scale) * n, log_mgf, lambda: n * (e - 1 + (-e).exp()))


def _discrete(p: list[Ball], q: list[Ball], n: int) -> tuple[Callable[[float], Ball], Callable[[], Ball]]:
    logs = [(a, (a / b).log()) for a, b in zip(p, q, strict=True)]

    def log_mgf(s: float) -> Ball:
        return n * sum((a * (arb(s) * x).exp() for a, x in logs), arb(0)).log()

    return log_mgf, lambda: n * sum((a * x for a, x in logs), arb(0))


def pure(rng: np.random.Generator) -> Known:
    n, e = _times(rng), _spread(rng, 1e-6, 50)
    yes = 1 / (1 + (-arb(e)).exp())
    return Known(L.pure(e) * n, *_discrete([yes, 1 - yes], [1 - yes, yes], n))


def randomized_response(rng: np.random.Generator) -> Known:
    n, e, k = _times(rng), _spread(rng, 1e-4, 20), int(rng.integers(2, 9))
    loss = L.randomized_response(e, k, adjacency=dp.REPLACE_ONE) * n
    rest = 1 / (arb(e).exp() + k - 1)
    p = [arb(e).exp() * rest, rest, *[rest] * (k - 2)]
    q = [rest, arb(e).exp() * rest, *[rest] * (k - 2)]
    return Known(loss, *_discrete(p, q, n))


def geometric(rng: np.random.Generator) -> Known:
    n, scale, steps = _times(rng), _spread(rng, 0.05, 1e4), int(rng.integers(1, 6))
    r = (-1 / arb(scale)).exp()
    inner = [(1 - r) / (1 + r) * r**k for k in range(steps + 1)]
    # Outcomes at most 0, each one between, and from `steps` on.
    p = [r**steps / (1 + r), *(inner[steps - k] for k in range(1, steps)), 1 / (1 + r)]
    return Known(L.geometric(scale, steps) * n, *_discrete(p, p[::-1], n))


def from_pair(rng: np.random.Generator) -> Known:
    n, size = _times(rng), int(rng.integers(2, 7))
    width = _spread(rng, 1e-5, 8)
    p = rng.dirichlet(np.ones(size))
    q = p * np.exp(rng.uniform(-width, width, size))
    q /= q.sum()
    loss = L.from_pair(p.tolist(), q.tolist()) * n
    a, b = ([arb(float(x)) for x in side] for side in (p, q))
    a, b = [x / sum(a, arb(0)) for x in a], [x / sum(b, arb(0)) for x in b]
    (remove, kl), (add, kl_back) = _discrete(a, b, n), _discrete(b, a, n)
    return Known(loss, lambda s: remove(s).max(add(s)), lambda: kl().max(kl_back()))


def objective_perturbation(rng: np.random.Generator) -> Known:
    n, mu = _times(rng), _spread(rng, 1e-3, 10)
    c = 1 - _spread(rng, 1e-12, 1) if rng.random() < 0.5 else _spread(rng, 1e-4, 0.9)
    loss = L.objective_perturbation(1.0, 1.0, mu, c) * n
    offset, u = -(1 - arb(c)).log(), arb(mu)

    def log_mgf(s: float) -> Ball:
        s = arb(s)
        return n * (s * (offset + u**2 / 2) + (s * u) ** 2 / 2 + (1 + (s * u / arb(2).sqrt()).erf()).log())

    return Known(loss, log_mgf, lambda: n * (offset + u**2 / 2 + u * (2 / arb.pi()).sqrt()))


def sharp(rng: np.random.Generator) -> Known:
    n, mu, c = _times(rng), _spread(rng, 1e-3, 10), _spread(rng, 1e-4, 3)
    loss = L.objective_perturbation(1.0, 1.0, mu, c, bound="sharp") * n
    offset, u, root = (1 + arb(c)).log(), arb(mu), arb(2).sqrt()

    def phi(x: Ball) -> Ball:
        return (-x / root).erfc() / 2

    def remove(s: float) -> Ball:
        s = arb(s)
        tail = (u**2 * s * (s + 1) / 2).exp() * phi(u * (s + arb(0.5)))
        return n * (s * offset + (phi(-u / 2) + tail).log())

    def add(s: float) -> Ball:
        s = arb(s)
        return n * (s * u**2 / 2 + (s * u) ** 2 / 2 + (2 * phi(s * u)).log())

    def kl() -> Ball:
        # E max(N(a, u^2), 0) with a = u^2/2, and E |N(0, u^2)| beside u^2/2.
        over = u**2 / 2 * phi(u / 2) + u * (-(u**2) / 8).exp() / (2 * arb.pi()).sqrt()
        return n * (offset + over).max(u**2 / 2 + u * (2 / arb.pi()).sqrt())

    return Known(loss, lambda s: remove(s).max(add(s)), kl)


def _expected(f: Callable[[Ball], Ball], low: Ball, high: Ball) -> Ball:
    """The integral of f against the standard normal density, enclosed; parts keep it quick."""
    front = 1 / (2 * arb.pi()).sqrt()
    ends = [low + (high - low) * k / 4 for k in range(5)]
    parts = (
        acb.integral(
            lambda x, _: f(x) * (-x * x / 2).exp(), a, b, rel_tol=arb(2) ** -60, abs_tol=arb(2) ** -120
        )
        for a, b in itertools.pairwise(ends)
    )
    return front * sum((part.real for part in parts), arb(0))


REACH = 18
"""Standard deviations: what lies beyond is below exp(-162), less than a hundredth of the least M - 1 that is drawn."""


def sampled(rng: np.random.Generator) -> Known:
    n, mu, rate = _times(rng), _spread(rng, 0.05, 3), _spread(rng, 1e-6, 0.9)
    loss = L.poisson_sampled(L.gdp(mu), rate) * n
    u, g = arb(mu), arb(rate)

    def w(x: Ball) -> Ball:
        return 1 - g + g * (u * x - u * u / 2).exp()

    def log_mgf(s: float) -> Ball:
        high = (1 + arb(s)) * u + REACH
        remove = _expected(lambda x: ((1 + arb(s)) * w(x).log()).exp() - w(x), arb(-REACH), high)
        add = _expected(lambda x: (-arb(s) * w(x).log()).exp() - 1, -arb(s) * u - REACH, arb(REACH))
        return n * (1 + remove.max(add)).log()

    def kl() -> Ball:
        remove = _expected(lambda x: w(x) * w(x).log(), arb(-REACH), u + REACH)
        return n * remove.max(_expected(lambda x: -w(x).log(), arb(-REACH), arb(REACH)))

    return Known(loss, log_mgf, kl)


def subset(rng: np.random.Generator) -> Known:
    n, mu, rate = _times(rng), _spread(rng, 0.05, 3), _spread(rng, 1e-6, 0.9)
    loss = L.cp(L.gdp(mu, adjacency=dp.REPLACE_ONE), rate) * n
    u, g = arb(mu), arb(rate)

    def w(x: Ball) -> Ball:
        return 1 - g + g * (u * x - u * u / 2).exp()

    def gain(x: Ball, s: float) -> Ball:
        v = w(x).log()
        return w(x) * ((arb(s) * v).exp() - 1) + (-arb(s) * v).exp() - 1

    def log_mgf(s: float) -> Ball:
        return n * (1 + _expected(lambda x: gain(x, s), u / 2, (1 + arb(s)) * u + REACH)).log()

    def kl() -> Ball:
        return n * _expected(lambda x: (w(x) - 1) * w(x).log(), u / 2, u + REACH)

    return Known(loss, log_mgf, kl)


QUICK: tuple[Draw, ...] = (
    *(gaussian, laplace, pure, randomized_response, geometric, from_pair, objective_perturbation, sharp),
)
SLOW: tuple[Draw, ...] = (sampled, subset)
SHARE = {**dict.fromkeys(QUICK, 123), **dict.fromkeys(SLOW, 8)}
assert sum(SHARE.values()) == POINTS

FAMILIES = [pytest.param(draw, id=draw.__name__) for draw in SHARE]


def upper(ball: Ball) -> float:
    """Above the truth; the ball is narrow."""
    assert float(ball.rad()) <= 1e-14 * float(ball.abs_upper()) + 1e-60, ball
    return float(ball.lower())


@pytest.mark.parametrize("draw", FAMILIES)
def test_renyi(draw: Draw) -> None:
    rng = np.random.default_rng(1)
    for _ in range(SHARE[draw]):
        known, order = draw(rng), 1 + _spread(rng, 1e-7, 50)
        truth = upper(known.log_mgf(order - 1) / (arb(order) - 1))
        found = known.loss.renyi(order)
        assert found >= truth, (known.loss, order)
        assert found <= truth * (1 + 1e-3), (known.loss, order)


@pytest.mark.parametrize("draw", FAMILIES)
def test_kl(draw: Draw) -> None:
    rng = np.random.default_rng(2)
    for _ in range(SHARE[draw]):
        known = draw(rng)
        truth = upper(known.kl())
        assert truth <= known.loss.kl() <= truth * (1 + 1e-3), known.loss


@pytest.mark.parametrize("draw", FAMILIES)
def test_zcdp(draw: Draw) -> None:
    """At least the divergence over the order, at every order: at some, and at the limit 1."""
    rng = np.random.default_rng(3)
    for _ in range(SHARE[draw]):
        known, order = draw(rng), 1 + _spread(rng, 1e-4, 1e3)
        if draw in SLOW:
            order = min(order, 30.0)
        rho = known.loss.zcdp()
        assert rho >= upper(known.kl()), known.loss
        assert rho >= upper(known.log_mgf(order - 1) / ((arb(order) - 1) * arb(order))), (known.loss, order)


@pytest.mark.slow
def test_zcdp_of_pure_losses_is_the_divergence() -> None:
    """rho = n e tanh(e/2), to a part in 1e9, on a thousand random epsilons."""
    rng = np.random.default_rng(4)
    for _ in range(POINTS):
        n, e = _times(rng), _spread(rng, 1e-6, 50)
        truth = float((n * arb(e) * (arb(e) / 2).tanh()).upper())
        assert truth * (1 - 1e-15) <= (L.pure(e) * n).zcdp() <= truth * (1 + 1e-9), (n, e)
        assert not dp.ZCDP(truth * (1 - 1e-8)).holds(L.pure(e) * n)


def test_gdp_of_pure_losses() -> None:
    """Phi(mu/2) is at least the probability of a true answer, whose type I and II errors are equal there."""
    rng = np.random.default_rng(5)
    for _ in range(POINTS):
        e = _spread(rng, 1e-8, 600)
        mu = arb(L.pure(e).gdp())
        errs = 1 / (1 + arb(e).exp())
        assert (mu / 2 / arb(2).sqrt()).erfc() / 2 <= errs, e


def test_delta_at_infinity() -> None:
    rng = np.random.default_rng(6)
    for _ in range(POINTS):
        parts = [(_spread(rng, 1e-30, 0.3), _times(rng)) for _ in range(int(rng.integers(1, 6)))]
        loss = sum(
            (L.approx(0.1, delta) * n for delta, n in parts[1:]), L.approx(0.1, parts[0][0]) * parts[0][1]
        )
        finite = arb(1)
        for delta, n in parts:
            finite *= (1 - arb(delta)) ** n
        found = loss.delta_at_infinity()
        assert found >= float((1 - finite).lower()), parts
        assert found <= float((1 - finite).upper()) * (1 + 1e-14), parts


def test_delta_at_infinity_of_samples() -> None:
    """A product of two floats is seldom one: it is rounded up, and the lower end is not above it."""
    rng = np.random.default_rng(9)
    for _ in range(POINTS // 10):
        delta, rate = _spread(rng, 1e-25, 0.5), _spread(rng, 1e-5, 0.99)
        m, n = int(rng.integers(1, 50)), int(rng.integers(50, 500))
        p = rng.dirichlet(np.ones(4)) * 0.5
        shown = sum(map(Fraction, p.tolist()), Fraction(0))
        whole = L.approx(0.1, delta), L.approx(0.1, delta, adjacency=dp.REPLACE_ONE)
        found = (
            (L.from_pair([*p, 1 - p.sum()], [0, 0, 0, 0, 1]), shown),
            (L.poisson_sampled(whole[0], rate), Fraction(rate) * Fraction(delta)),
            (L.cp(whole[1], rate), Fraction(rate) * Fraction(delta)),
            (L.sampled_without_replacement(whole[1], m, n), Fraction(m, n) * Fraction(delta)),
        )
        for loss, truth in found:
            assert truth <= Fraction(loss.delta_at_infinity()) <= truth * (1 + Fraction(1, 10**14)), loss
            bounds = loss.delta_bounds(500.0)
            assert Fraction(bounds.lower) <= truth <= Fraction(bounds.upper)
        proof = found[1][0].delta_bounds(500.0, "proof")
        assert Fraction(proof.lower) <= found[1][1] <= Fraction(proof.upper)


def test_what_is_revealed_without_an_alarm() -> None:
    """At level 0 the power is delta at infinity, and what is left to a test is rounded down."""
    rng = np.random.default_rng(8)
    for _ in range(POINTS // 10):
        delta = _spread(rng, 1e-40, 0.9)
        loss = L.approx(_spread(rng, 1e-6, 5), delta)
        assert loss.power(0.0) >= delta
        assert loss.power(0.0) <= delta * (1 + 1e-14)
        assert arb(loss.tradeoff(0.0)) <= 1 - arb(delta)
        level = _spread(rng, 1e-30, 0.5)
        assert arb(loss.power(level)) >= 1 - arb(loss.tradeoff(level))


def test_a_small_delta_is_not_none() -> None:
    """One sampled Gaussian has no largest loss: delta is above 0 at every epsilon."""
    rng = np.random.default_rng(7)
    for _ in range(POINTS):
        loss = L.poisson_sampled(L.gaussian(_spread(rng, 0.2, 20)), _spread(rng, 1e-9, 0.99))
        assert loss.delta(_spread(rng, 1, 690)) > 0.0


def test_a_wrong_version_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Divergences computed from log M itself, as if rounding did not count: below the truth for many."""

    def naive(loss: Loss, order: float) -> float:
        s = np.array([order - 1.0])
        return float(
            max(sum(n * pair.log_mgf(s)[0] for pair, n in side.terms) for side in loss.directions) / s[0]
        )

    rng = np.random.default_rng(1)
    missed = 0
    for _ in range(200):
        known, order = pure(rng), 1 + _spread(rng, 1e-7, 50)
        missed += naive(known.loss, order) < upper(known.log_mgf(order - 1) / (arb(order) - 1))
    assert missed > 20


def test_orders_that_no_rule_integrates_cost_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """With little noise nearly all orders are of this kind; a rule for each of 400 took 20 s."""
    monkeypatch.setattr(mixture, "_log_moment_up", lambda *_: pytest.fail("a rule was made in vain"))
    assert L.poisson_sampled(L.gaussian(1e-3), 0.5).renyi(2.0) > 1e5


@pytest.mark.parametrize("epsilon", [-1e-5, -0.0056, -7.1, -14.0])
@pytest.mark.parametrize("base", [L.gaussian(1.7), L.laplace(0.4), L.pure(1.0)], ids=repr)
def test_rare_samples_at_negative_epsilons(base: Loss, epsilon: float) -> None:
    """Hardly any outcome is as unlikely as exp(epsilon) asks: delta is 1 - exp(epsilon), and at most the rate more."""
    low, high = L.poisson_sampled(base, 1e-12).delta_bounds(epsilon)
    gap = -math.expm1(epsilon)
    assert gap * (1 - 1e-14) <= low <= high <= min(1.0, gap * (1 + 1e-14) + 1e-12)
