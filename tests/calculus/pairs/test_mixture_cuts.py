"""Parts of mixtures of Gaussians between soft cuts: transforms, bounds on them, and what they add up to."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import dalenius as dp
from dalenius.calculus.engines.accountant import Direction, Sum
from dalenius.calculus.pairs.atoms import Atoms
from dalenius.calculus.pairs.gaussian import GaussianPair
from dalenius.calculus.pairs.gaussian_mixtures import GaussianMixturesPair, Side
from dalenius.calculus.pairs.mixture_cuts import TALL, MixtureCuts, MixturePart, _Look, cuts_for
from dalenius.calculus.pairs.pair import UNIT, Terms
from dalenius.calculus.pairs.revealed import RevealedPair
from dalenius.calculus.pairs.soft_envelope import WIDEST, Shifted

BOTH: tuple[Side, Side] = ((1.0, 1e-3),), ((1.0, 1e-3),)
UNEVEN: tuple[Side, Side] = ((0.4, 2e-3), (1.7, 1e-4)), ((0.3, 1e-2), (2.4, 1e-5))
GROUP: tuple[Side, Side] = ((0.9, 4e-4), (1.8, 6e-8), (2.7, 4e-12)), ()
ADDED: tuple[Side, Side] = (), ((0.5, 1e-3), (2.0, 2e-4))
CASES = [BOTH, UNEVEN, GROUP, ADDED]


def cuts_of(case: tuple[Side, Side], level: float) -> MixtureCuts:
    return cuts_for(*case, level)


def exact(part: MixturePart, s: complex) -> mpmath.mpc:
    """The transform by quadrature of its definition: densities from scratch, in 30 digits."""
    cuts = part.cuts
    up, down = cuts.up, cuts.down
    a, mu = mpmath.mpf(cuts.sharpness), mpmath.mpf(cuts.mu)
    turned = -1 if not up else 1

    def density(side: Side, sign: int, x: mpmath.mpf) -> mpmath.mpf:
        rest = 1 - sum(mpmath.mpf(weight) for _, weight in side)
        return rest * mpmath.npdf(x) + sum(
            mpmath.mpf(weight) * mpmath.npdf(x, sign * mpmath.mpf(shift), 1) for shift, weight in side
        )

    def weigh(x: mpmath.mpf, cut: float | None, without: int) -> mpmath.mpf:
        if cut is None:
            return mpmath.mpf(without)
        return mpmath.gammainc(a, 0, a * mpmath.exp(mu * (x - cut)), regularized=True)

    def integrand(x: mpmath.mpf) -> mpmath.mpc:
        # x is counted in the direction of the jumps
        at = turned * x
        p, q = density(up, 1, at), density(down, -1, at)
        share = weigh(x, part.low, 1) - weigh(x, part.high, 0)
        return share * p * mpmath.exp(mpmath.mpmathify(s) * (mpmath.log(p) - mpmath.log(q)))

    places = {-12.0, -6.0, -3.0, 0.0, 3.0, 6.0, 9.0, 14.0}
    for cut in (part.low, part.high):
        if cut is not None:
            places |= {cut - 1.0, cut - 0.3, cut, cut + 0.3}
    with mpmath.workdps(30):
        return mpmath.quad(integrand, sorted(places), maxdegree=6)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("between", [False, True])
def test_transforms_are_those_of_their_definition(case: tuple[Side, Side], between: bool) -> None:
    cuts = cuts_of(case, 5e-3)
    part = cuts.between(2e-3, 2e-2) if between else cuts.below(5e-3)
    c = 40.0
    truth = exact(part, c)
    assert float(part.log_mgf(np.array([c]))[0]) == pytest.approx(
        float(mpmath.log(truth)), rel=1e-12, abs=1e-12
    )
    for t in (3.0, 150.0):
        found = part.tilted(c, np.array([t]))
        assert found is not None
        value = exact(part, complex(c, t)) / mpmath.exp(found.log_scale)
        assert abs(complex(value) - found.values[0]) <= found.error[0] < 1e-9


@pytest.mark.parametrize("case", CASES)
def test_parts_in_a_row_add_up(case: tuple[Side, Side]) -> None:
    cuts = cuts_of(case, 1e-2)
    t = np.linspace(0.0, 400.0, 50)
    c = 60.0
    whole, low, rest = (
        part.tilted(c, t) for part in (cuts.below(3e-2), cuts.below(1e-2), cuts.between(1e-2, 3e-2))
    )
    assert whole is not None
    assert low is not None
    assert rest is not None
    together = low.values * math.exp(low.log_scale - whole.log_scale)
    together += rest.values * math.exp(rest.log_scale - whole.log_scale)
    assert np.all(np.abs(together - whole.values) <= whole.error + low.error + rest.error + 1e-13)
    assert np.abs(low.values - whole.values).max() > 1e-9


@pytest.mark.parametrize("case", CASES)
def test_nothing_decays_more_slowly_than_its_bound(case: tuple[Side, Side]) -> None:
    cuts = cuts_of(case, 1e-2)
    edges = np.geomspace(1.0, 3e3, 60)
    for part in (cuts.below(1e-2), cuts.between(5e-3, 5e-2), cuts.between(1e-2, math.inf), cuts.whole()):
        for c in (0.5, 5.0):
            found = part.tilted(c, np.concatenate((edges, np.sqrt(edges[1:] * edges[:-1]))))
            assert found is not None
            size = np.abs(found.values) - found.error
            for times in (1, 1000):
                bound = part.envelope(c, edges, times)
                assert np.all(size[:60] <= bound + 1e-15)
                assert np.all(size[60:] <= bound[:-1] + 1e-15)
                assert bound[-1] < 0.95


@pytest.mark.parametrize("case", CASES)
def test_what_lies_beyond_a_level_is_bounded(case: tuple[Side, Side]) -> None:
    for level in (1e-3, 3e-2, 0.5):
        cuts = cuts_of(case, level)
        truth = float(cuts.between(level, math.inf).log_mgf(np.zeros(1))[0])
        assert truth <= cuts.log_beyond(level) <= truth + 2.0 + 0.1 * abs(truth)


def test_levels_hold_the_mass_they_are_asked_for() -> None:
    for case in CASES:
        cuts = cuts_of(case, 1e-2)
        for mass in (1e-5, 1e-20):
            assert cuts.log_beyond(cuts.highest(mass)) == pytest.approx(math.log(mass), rel=0.35)


@pytest.mark.parametrize("added", [False, True])
def test_one_shift_is_the_sampled_gaussian(added: bool) -> None:
    """A family of its own, with formulas of its own: at random points both say the same."""
    rng = np.random.default_rng(17)
    for _ in range(12):
        rate, mu = 10 ** rng.uniform(-6, -0.5), float(np.exp(rng.uniform(-3, 1)))
        steps, delta = int(10 ** rng.uniform(0, 6)), 10 ** rng.uniform(-20, -1)
        side: Side = ((mu, rate),)
        mixed: Terms = ((GaussianMixturesPair((), side) if added else GaussianMixturesPair(side, ()), steps),)
        plain: Terms = ((GaussianPair(mu).sampled(rate, added), steps),)
        one, other = Direction(mixed).epsilon(delta), Direction(plain).epsilon(delta)
        assert one.lower <= other.upper
        assert other.lower <= one.upper
        assert one.upper - one.lower <= 1e-6 * max(one.upper, 1e-3)


@pytest.mark.parametrize("rate", [1e-5, 4.2e-4, 0.02, 0.3])
@pytest.mark.parametrize("mu", [0.3, 1.7, 4.0])
def test_moments_reach_all_of_the_integrand(rate: float, mu: float) -> None:
    """Where w_Q^-s falls steeply its window once ended too early, and epsilon came out too small."""
    s = np.geomspace(0.1, 3000.0, 20)
    mixed = GaussianMixturesPair((), ((mu, rate),))
    truth = GaussianPair(mu).sampled(rate, True).log_mgf(s)
    assert np.allclose([mixed._log_moment(x) for x in s.tolist()], truth, rtol=1e-11, atol=1e-13)
    assert np.allclose(mixed.log_mgf(s), truth, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("case", [BOTH, UNEVEN])
@pytest.mark.parametrize("epsilon", [2e-3, 0.05])
def test_two_releases(case: tuple[Side, Side], epsilon: float) -> None:
    """D of two is the mean under P of D of one at epsilon - L."""
    pair = GaussianMixturesPair(*case)
    one = pair.delta(epsilon)
    assert one is not None
    known = Sum(((pair, 2),)).delta(epsilon)
    x = np.linspace(-14.0, 18.0, 6401)
    loss = pair._loss(x).log
    density = np.exp(pair._exponent(0.0, x)) / math.sqrt(2 * math.pi)
    ends = [pair.delta(epsilon - y) for y in loss.tolist()]
    low = sum(p * end.lower for p, end in zip(density, ends, strict=True) if end is not None) * (x[1] - x[0])
    high = sum(p * end.upper for p, end in zip(density, ends, strict=True) if end is not None) * (x[1] - x[0])
    assert known.lower <= high * (1 + 1e-9)
    assert low * (1 - 1e-9) <= known.upper
    assert known.upper - known.lower <= 1e-8 * known.upper
    assert known.lower > one.upper


@pytest.mark.parametrize(
    ("loss", "delta"),
    [
        (dp.losses.poisson_sampled(dp.losses.gaussian(1.0), 1e-5, dp.REPLACE_ONE) * 10**5, 1e-6),
        (dp.losses.poisson_sampled(dp.losses.gaussian(0.5), 1e-6, dp.REPLACE_ONE) * 10**6, 1e-6),
        (dp.losses.poisson_sampled_group(1.0, 1e-4, 4) * 10**4, 1e-6),
        (dp.losses.poisson_sampled_group(1.0, 1e-5, 4, adjacency=dp.REPLACE_ONE) * 10**5, 1e-9),
        (dp.losses.mixture_of_gaussians(2.0, [0, 1, 3], [1 - 1.1e-4, 1e-4, 1e-5]) * 10**6, 1e-20),
    ],
)
def test_rare_mixtures_have_six_digits(loss: dp.Loss, delta: float) -> None:
    known = loss.epsilon_bounds(delta)
    assert known.upper - known.lower <= 1e-6 * max(known.upper, 1e-3)
    grid = loss.delta_bounds(known.upper, engine="grid")
    assert grid.lower <= delta <= grid.upper


def test_what_is_revealed_is_cut_with_each() -> None:
    """Half of the time nothing is told: then half of the mass beside the other pair's."""
    law = GaussianMixturesPair(*BOTH)
    pair = RevealedPair((0.75, 0.25), (law, GaussianMixturesPair(*UNEVEN)))
    cuts = pair.cuts(1e-2)
    assert cuts is not None
    t = np.linspace(0.0, 300.0, 30)
    below, between = cuts.below(1e-2).tilted(20.0, t), cuts.between(1e-2, math.inf).tilted(20.0, t)
    whole = pair.tilted(20.0, t)
    assert below is not None
    assert between is not None
    assert whole is not None
    for one in (below, between, whole):
        assert one.values[0] == pytest.approx(1.0, abs=1e-12)  # however many are multiplied, it stays 1
    together = below.values * math.exp(below.log_scale - whole.log_scale)
    together += between.values * math.exp(between.log_scale - whole.log_scale)
    assert np.all(np.abs(together - whole.values) <= below.error + between.error + whole.error + 1e-13)


def test_many_revealed_steps_have_six_digits() -> None:
    step = dp.losses.truncated_poisson(1.8, 4.65e-5, 214_976, 15, adjacency=dp.REPLACE_ONE)
    for pair in (step.terms_remove[0][0].lower, step.terms_remove[0][0].upper):
        known = Direction(((pair, 6_590_843),)).epsilon(1e-10)
        assert known.upper - known.lower <= 1e-6 * max(known.upper, 1e-3)


def test_law_that_is_hardly_unshifted_is_kept_whole() -> None:
    assert GaussianMixturesPair(((1.0, 0.6),), ()).cuts(1e-2) is None
    assert RevealedPair((0.5, 0.5), (GaussianPair(1.0), GaussianPair(2.0))).cuts(1e-2) is None


@pytest.mark.parametrize("shift", [3.0, 9.0, 19.4])
@pytest.mark.parametrize("added", [False, True])
def test_windows_between_two_far_cuts_hold_all_that_is_there(shift: float, added: bool) -> None:
    """Right of the low cut what pushes ends at once; windows once ended there, and moments came out too small."""
    side: Side = ((shift, 1e-3),)
    up, down = ((), side) if added else (side, ())
    level = float(cuts_for(up, down, 1.0).away(12.8))
    for cuts in (cuts_for(up, down, level), GaussianPair(shift).sampled(1e-3, added).cuts(level)):
        assert cuts is not None
        part = cuts.between(level, 3 * level)
        assert isinstance(part, Shifted)
        gap = part.narrowest / 20
        x = gap * np.arange(round(10.0 / gap), round(40.0 / gap))
        fixed, grown = part.look(x)
        exponent = fixed + part.order(1e-3) * grown
        top = float(exponent.max())
        truth = top + math.log(float(np.exp(exponent - top).sum()) * gap / math.sqrt(2 * math.pi))
        assert float(part.log_mgf(np.array([1e-3]))[0]) == pytest.approx(truth, rel=0, abs=3e-12)


def test_panels_at_sharp_cuts_are_not_calm() -> None:
    """Small shifts have sharp cuts, and zeta is large there: it once counted as small where it was clipped."""
    cuts = cuts_for(((0.05, 1e-3),), (), 1e-5)
    assert cuts.sharpness > 1500
    part = cuts.below(float(cuts.away(1.0)))
    assert part.high is not None
    x = np.linspace(-8.0, 8.0, 50)
    look = _Look(part, 2.0, 0.0, 0.0, x, np.zeros(49), 0.0)
    growth = look(np.array([part.high - 3.0, -40.0]), np.full(2, 3.0))[1]
    theta = cuts.mu * TALL * 3.0
    assert growth[0] >= -cuts.sharpness * math.log(math.cos(theta))
    assert growth[1] < 20.0


def test_cuts_that_are_close_cancel() -> None:
    """D is a small difference then, and the error says so."""
    cuts = cuts_of(BOTH, 1e-2)
    t = np.array([0.0, 50.0])
    for ratio in (1 + 1e-5, 1 + 1e-6):
        part = cuts.between(1e-2, 1e-2 * ratio)
        found = part.tilted(20.0, t)
        assert found is not None
        truth = [exact(part, complex(20.0, y)) / mpmath.exp(found.log_scale) for y in t.tolist()]
        off = np.abs(np.array([complex(y) for y in truth]) - found.values)
        assert np.all(off <= found.error)


def test_slopes_beside_the_real_line_are_bounded() -> None:
    """V turns beside the real line as W does: there its slope is more than on it."""
    for case in (BOTH, UNEVEN):
        part = cuts_of(case, 1e-2).below(1e-2)
        c, y = 40.0, WIDEST / part.cuts.mu
        x = np.linspace(-8.0, 12.0, 41)
        shift, weight = np.array(part.cuts.falling).T
        terms = weight * np.exp(np.multiply.outer(-(x + 1j * y), shift) - shift**2 / 2)
        beside = (terms @ shift / (1 - weight.sum() + terms.sum(axis=1))).real
        most = [part.slopes(z, c)[1] for z in x.tolist()]
        assert np.all(np.array(most) >= (1 + c) * part.cuts.mu + c * beside - 1e-9)


def test_rare_laws_keep_the_digits_of_their_atoms() -> None:
    """The logarithm of a tiny weight is off by more than a few units, and so are the masses."""
    rare = Atoms(np.array([2.0]), np.array([1.0]))
    pair = RevealedPair((1.0, 2.397e-30), (Atoms(np.zeros(1), np.ones(1)), rare))
    atoms = pair.atomic
    assert atoms is not None
    off = abs(Fraction(float(atoms.mass[1])) / Fraction(2.397e-30) - 1)
    assert off > 60 * Fraction(UNIT)
    assert off <= Fraction(atoms.slack) < Fraction(1, 10**12)


@pytest.mark.parametrize(
    ("sigma", "rate", "n", "most", "steps", "delta"),
    [
        (2.475, 2.163e-4, 462_303, 190, 3523, 7.8e-30),
        (0.4146, 3.7e-7, 270_301_965, 189, 8_723_536, 8e-18),
        (0.7184, 1.997e-6, 50_069_036, 170, 22, 5.6e-28),
        (0.8888, 1.0588e-7, 94_449_516, 20, 208_830, 3.9e-26),
    ],
)
def test_jumps_down_are_cut_after_jumps_up(
    sigma: float, rate: float, n: int, most: int, steps: int, delta: float
) -> None:
    """Cut at the same levels, the many jumps down drown the few ones up in rounding: no bracket, or after 20 s."""
    pair = dp.losses.truncated_poisson(sigma, rate, n, most).terms_add[0][0].upper
    known = Direction(((pair, steps),)).epsilon(delta)
    assert known.upper - known.lower <= 1e-6 * max(known.upper, 1e-3)


def test_what_layers_say_from_above_is_kept_where_they_are_wide() -> None:
    """Far beyond where delta vanishes nothing is left from below; a line with noise said 2e-17 there."""
    pair = dp.losses.truncated_poisson(2.475, 2.163e-4, 462_303, 190).terms_add[0][0].upper
    far = Sum(((pair, 3523),))
    assert far.bound_by_layers(0.106) < 1e-50
    assert Direction(((pair, 3523),)).stays_below(0.106, 1e-30)
