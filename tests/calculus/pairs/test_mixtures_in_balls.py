"""Mixtures of Gaussians in ball arithmetic, against mpmath: transforms, their decay, and delta from the densities."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import mpmath as mp
import pytest

import dalenius as dp
from dalenius import losses
from dalenius.calculus.pairs.bracket import Bracket
from dalenius.calculus.pairs.gaussian_mixtures import GaussianMixturesPair, Side
from dalenius.calculus.pairs.gaussian_mixtures_in_balls import law_of
from dalenius.calculus.pairs.pair import Bounds
from dalenius.calculus.pairs.revealed import RevealedPair
from dalenius.errors import UnsupportedComposition

flint = pytest.importorskip("flint")
arb, acb = flint.arb, flint.acb
Mixture = GaussianMixturesPair


@pytest.fixture(autouse=True)
def _digits() -> Any:
    with mp.workdps(32), flint.ctx.workprec(160):
        yield


def group(sigma: float, rate: float, size: int) -> Side:
    return tuple(
        (j / sigma, math.comb(size, j) * rate**j * (1 - rate) ** (size - j)) for j in range(1, size + 1)
    )


RARE, OFTEN, ALL = group(20.0, 1e-6, 3), group(1.3, 0.3, 4), ((0.75, 0.25), (2.0, 0.75))
PAIRS = {
    "rare, remove": Mixture(RARE, ()),
    "rare, add": Mixture((), RARE),
    "rare, replaced": Mixture(RARE, RARE),
    "often, remove": Mixture(OFTEN, ()),
    "often, add": Mixture((), OFTEN),
    "often, replaced": Mixture(OFTEN, OFTEN),
    "little noise": Mixture((), group(0.3, 0.2, 2)),
    "little noise, replaced": Mixture(((1 / 0.3, 0.9),), ((1 / 0.3, 0.9),)),
    "a group of eight": Mixture(group(0.8, 0.05, 8), ()),
    "all are shifted": Mixture(ALL, ()),
    "two kinds": Mixture(((0.5, 0.2), (0.9, 0.3)), ((1.5, 0.01),)),
}


def wrong(pair: Mixture) -> Mixture:
    """The least shift of either side weighs 1 % less or more."""
    return Mixture(
        *(
            ((side[0][0], (1.01 if side != ALL else 0.99) * side[0][1]), *side[1:]) if side else ()
            for side in (pair.up, pair.down)
        )
    )


def law(side: Side, sign: int) -> list[tuple[Any, Any]]:
    """Shifts and weights, what is missing from 1 not shifted."""
    rest = 1 - mp.fsum(mp.mpf(weight) for _, weight in side)
    return [(mp.mpf(0), rest), *((sign * mp.mpf(shift), mp.mpf(weight)) for shift, weight in side)]


def density(side: Side, sign: int, x: Any) -> Any:
    """By N(0, 1)."""
    return mp.fsum(weight * mp.exp(shift * x - shift**2 / 2) for shift, weight in law(side, sign))


def loss(pair: Mixture, x: Any) -> Any:
    return mp.log(density(pair.up, 1, x) / density(pair.down, -1, x))


def integral(f: Callable[[Any], Any], low: float, high: float, pieces: int) -> Any:
    marks = mp.linspace(low, high, pieces + 1)
    return mp.fsum(mp.quad(f, [a, b], maxdegree=4, method="gauss-legendre") for a, b in pairwise(marks))


def transform(pair: Mixture, c: float, t: float) -> Any:
    """M(c + it), an integral from where nothing is left to where nothing is left."""
    s = mp.mpc(c, t)

    def f(x: Any) -> Any:
        above, below = density(pair.up, 1, x), density(pair.down, -1, x)
        return mp.exp((1 + s) * mp.log(above) - s * mp.log(below) - x * x / 2) / mp.sqrt(2 * mp.pi)

    most = max(shift for shift, _ in pair.up + pair.down)
    low, high = -15 - abs(c) * most, 15 + (2 + 2 * abs(c)) * most
    return integral(f, low, high, math.ceil((high - low) * max(1.0, most, abs(t) * most / 2) / 3))


def holds(ball: Any, value: Any) -> bool:
    """Whether the ball holds a number known to 22 digits or so."""
    off = arb(0, 1e-22)
    known = acb(arb(str(mp.re(value))) + off, arb(str(mp.im(value))) + off)
    return bool((ball - known).contains(0))


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize(("order", "turns"), [(2.0, 0.5), (-0.3, 3.0)])
def test_transforms(name: str, order: float, turns: float) -> None:
    """c and t in units of the largest shift; c below 0 down to -1 serves bounds on how fast M moves."""
    pair = PAIRS[name]
    c = order if order < 0 else order / pair._reach_of_shifts
    t = turns / pair._reach_of_shifts
    ball = pair.in_balls(flint, c, max(t, 1e-3))(acb(arb(c), arb(t)))
    top = pair.in_balls(flint, c, 0.0)(acb(arb(c))).real
    assert ball.real.rad() < 1e-22 * top
    assert holds(ball, transform(pair, c, t))
    off = wrong(pair).in_balls(flint, c, max(t, 1e-3))(acb(arb(c), arb(t)))
    assert not holds(off, transform(pair, c, t))


@pytest.mark.parametrize("name", [name for name in PAIRS if not name.startswith("rare")])
def test_the_transform_decays_as_promised(name: str) -> None:
    """The bound is above |M(c + iu)| / M(c) for all u from t to the end, and not by much where it is large."""
    pair = PAIRS[name]
    c = 1.0 / pair._reach_of_shifts
    logs = [pair.in_balls(flint, k * c, 0.0)(acb(arb(k * c))).real.log() for k in (0.99, 1.0, 1.01)]
    top = logs[1].exp()
    spread = float((logs[0] - 2 * logs[1] + logs[2]) / (c * c) * 10_000) ** 0.5
    decay = pair.decay_in_balls(flint, c, top)
    for unit in (0.2, 0.7, 2.0, 6.0):
        t, end = unit / spread, 1.2 * unit / spread
        bound, beyond = decay(arb(t), arb(end)), decay(arb(t), None)
        value = pair.in_balls(flint, c, 3.0 * end)
        sizes = [abs(value(acb(arb(c), arb(t + (end - t) * k / 8)))) / top for k in range(9)]
        further = [abs(value(acb(arb(c), arb(t * k)))) / top for k in (1, 1.5, 2, 3)]
        assert all(size < bound + arb(1e-20) for size in sizes)
        assert all(size < beyond + arb(1e-20) for size in further)
        assert unit > 1.0 or float(bound) < 1.0 - 0.25 * (1.0 - float(sizes[0]))


# -- delta from the densities ------------------------------------------------------------------------------


def above(side: Side, sign: int, x: Any) -> Any:
    return mp.fsum(weight * mp.ncdf(shift - x) for shift, weight in law(side, sign))


def one_release(pair: Mixture, y: Any) -> Any:
    """P(X > x) - e^y Q(X > x) at the x where the loss is y, by bisection: x to half the digits is enough at the top."""
    low, high = mp.mpf(-40), mp.mpf(60)
    for _ in range(mp.mp.prec // 2 + 16):
        middle = (low + high) / 2
        low, high = (middle, high) if loss(pair, middle) < y else (low, middle)
    return above(pair.up, 1, high) - mp.exp(y) * above(pair.down, -1, high)


def proof(pair: Any, times: int, epsilon: float) -> Bounds:
    run = dp.Loss.symmetric(pair, dp.REPLACE_ONE, "mixture") * times
    return run.remove.delta(epsilon, "proof")


@pytest.mark.parametrize("name", PAIRS)
def test_one_release(name: str) -> None:
    pair = PAIRS[name]
    for place in (-1.5, 0.5, 4.0, 9.0):
        epsilon = float(loss(pair, mp.mpf(place)))
        bounds, truth = proof(pair, 1, epsilon), one_release(pair, mp.mpf(epsilon))
        assert bounds.lower <= truth <= bounds.upper
        assert bounds.upper - bounds.lower <= 1e-15 * bounds.upper + 1e-48


@pytest.mark.parametrize(
    ("pair", "epsilon"),
    [
        (Mixture(((0.25, 0.25), (0.5, 0.25)), ((0.25, 0.25), (0.5, 0.25))), 0.75),
        (Mixture(((0.125, 0.5), (0.25, 0.125)), ()), 0.5),
        (Mixture((), ((0.125, 0.5), (0.375, 0.125))), 0.25),
    ],
    ids=["replaced", "remove", "add"],
)
def test_two_releases(pair: Mixture, epsilon: float) -> None:
    """The losses of both add up: the mean of the delta of one at what the other leaves of epsilon."""
    with mp.workdps(18):

        def f(x: Any) -> Any:
            return density(pair.up, 1, x) * mp.npdf(x) * one_release(pair, epsilon - loss(pair, x))

        marks = mp.linspace(-14, 15, 26)
        truth = mp.fsum(mp.quad(f, [a, b], maxdegree=3, method="gauss-legendre") for a, b in pairwise(marks))
    bounds = proof(pair, 2, epsilon)
    assert bounds.lower <= truth * (1 + mp.mpf(10) ** -14)
    assert truth * (1 - mp.mpf(10) ** -14) <= bounds.upper
    assert bounds.upper - bounds.lower <= 1e-7 * bounds.upper
    off = proof(wrong(pair), 2, epsilon)
    assert not off.lower <= truth <= off.upper


def test_all_outcomes_count_below_the_least_loss() -> None:
    bounds = proof(PAIRS["often, remove"], 1, -3.0)
    assert bounds.lower <= -mp.expm1(-3) <= bounds.upper <= bounds.lower * (1 + 1e-15)


# -- what is around them -----------------------------------------------------------------------------------


def test_weights_that_sum_to_more_than_one() -> None:
    """What is too much comes off the least shift: the others are those of the floats."""
    side = ((1.0, 0.1), (2.0, 0.2), (3.0, 0.7000000000000001))
    known = law_of(flint, side)
    assert sum(Fraction(weight) for _, weight in side) > 1
    assert known.rest == 0
    assert (sum(known.weights, arb(0)) - 1).contains(0)
    assert known.weights[1:] == (arb(0.2), arb(0.7000000000000001))
    assert 0.1 - 1e-15 < known.weights[0] < 0.1


def test_what_tells_which_mixture_it_is() -> None:
    """The mean of deltas and of transforms; a pair that has no proof leaves the whole without."""
    one, other = PAIRS["often, replaced"], PAIRS["two kinds"]
    pair = RevealedPair((0.75, 0.25), (one, other))
    bounds = proof(pair, 1, 0.5)
    truth = 0.75 * one_release(one, mp.mpf(0.5)) + 0.25 * one_release(other, mp.mpf(0.5))
    assert bounds.lower <= truth <= bounds.upper <= bounds.lower * (1 + 1e-15)
    at = acb(arb(1.5), arb(0.5))
    found = pair.in_balls(flint, 1.5, 1.0)(at)
    assert holds(found, 0.75 * transform(one, 1.5, 0.5) + 0.25 * transform(other, 1.5, 0.5))
    run = dp.Loss.symmetric(pair, dp.REPLACE_ONE, "revealed") * 30
    long, usual = run.remove.delta(9.0, "proof"), run.remove.delta(9.0)
    assert long.lower <= usual.upper
    assert usual.lower <= long.upper
    assert long.upper - long.lower < 1e-6 * long.upper
    assert not RevealedPair(
        (0.5, 0.5), (one, Bracket(PAIRS["rare, add"], RevealedPair((1.0,), (one,))))
    ).is_provable


def test_rounded_ends_are_proved_and_probabilities_from_scipy_are_not() -> None:
    """Probabilities that do not sum to 1 in floats make a bracket of two mixtures, each exact."""
    chances = [0.5304569532491548, 0.027126591661843356, 0.1178016484755311, 0.32461480661347075]
    assert sum(map(Fraction, chances)) != 1
    step = losses.mixture_of_gaussians(2.0, [0.0, 2.5, 0.5, 2.75], chances)
    (pair, _), *_ = step.terms_remove
    assert isinstance(pair, Bracket)
    for run in (step, step * 100):
        proved, usual = run.remove.delta(1.0, "proof"), run.remove.delta(1.0)
        assert proved.lower <= usual.upper
        assert usual.lower <= proved.upper
        assert proved.upper - proved.lower < 1e-9 * proved.upper
    cut = losses.truncated_poisson(sigma=1.0, rate=0.01, n=10_000, most=130)
    with pytest.raises(UnsupportedComposition, match="a probability such as that of a full batch"):
        cut.remove.delta(1.0, "proof")
