"""Poisson sampling before Laplace noise, by quadrature.

With e = 1 / scale and z the loss of the Laplace pair, z is -e with W-probability 1/2, e with exp(-e)/2, and has
density exp(-(z + e)/2)/4 in between, W the law without the record. The sampled loss is the logarithm of
w = 1 - g + g exp(z), and its moments are those of w under W: of two atoms and of an integral over a bounded interval.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from dalenius.calculus.pairs import mixture
from dalenius.calculus.pairs.atoms import Atoms, Lattice
from dalenius.calculus.pairs.laplace import LaplacePair
from dalenius.calculus.pairs.mixture import CUT, MOST_WORK, Envelope, Law, Rule
from dalenius.calculus.pairs.pair import UNIT, Pair, Reals, Tilted
from dalenius.calculus.pairs.panels import NODES, RHO, WEIGHTS
from dalenius.calculus.pairs.sampled import SampledPair, before_sampling
from dalenius.calculus.pairs.twice_sampled_laplace import two_continuous

MOST_PANELS = 4000
EVEN = 0.3
"""An interval no longer than this has panels of one width: what limits them hardly differs between its ends."""
MUCH = 0.006
"""Nodes are few here: lines may be longer than for `mixture.MUCH`."""


@dataclass(frozen=True)
class SampledLaplacePair(SampledPair):
    """One direction of a Poisson-sampled Laplace pair."""

    base: LaplacePair

    @property
    def _sign(self) -> float:
        return -1.0 if self.added else 1.0

    def _order(self, c: float) -> float:
        """The power of w whose mean is M(c)."""
        return -c if self.added else 1.0 + c

    @cached_property
    def atomic(self) -> Atoms:
        e, order = self.base.shift, self._order(0.0)
        log_w, noise = log_mixture(np.array([-e, e]), self.rate)
        mass = 0.5 * np.exp(order * log_w) * np.array([1.0, math.exp(-e)])
        loss, mass = (-log_w[::-1], mass[::-1]) if self.added else (log_w, mass)
        lattice = Lattice(float(loss[1] - loss[0]), float(loss[0]))
        blur = UNIT * float(noise.max() + 4 * np.abs(loss).max())
        slack = UNIT * (16 + 4 * e + float(noise.max()))
        return Atoms(loss, mass, 0.0, lattice, np.arange(2), slack, blur)

    def continuous_delta(self, x: Reals) -> tuple[Reals, Reals]:
        # The P-mean of (1 - exp(x - L))_+ is g/2 (1 - exp((m - e)/2))^2, m the loss that sampling turns into x, as
        # long as m is in (-e, e); in the add direction exp(x) g/2 (exp(m'/2) - exp(-e/2))^2, m' that of -x.
        e, g, half = self.base.shift, self.rate, -0.5 * math.expm1(-self.base.shift)
        sign = self._sign
        m = np.maximum(before_sampling(sign * x, g), -e - 1.0)
        y = np.abs(np.expm1(np.minimum(sign * x, 700.0)))
        # A few roundings of the argument of the logarithm, which may cancel against 1, and of the logarithm.
        off = UNIT * (
            8 + 4 * np.abs(m) + 16 * (y / g + 1 + np.abs(x) * (y + 1) / g) * np.exp(-np.maximum(m, -e))
        )

        def at(m: Reals) -> Reals:
            inside = np.minimum(np.maximum(m, -e), e)
            if self.added:
                inner = 0.5 * g * np.exp(x - e) * np.expm1((inside + e) / 2) ** 2
                return np.where(m < e, inner, half * np.maximum(-np.expm1(x), 0.0))
            inner = 0.5 * g * np.expm1((inside - e) / 2) ** 2
            return np.where(m > -e, inner, half * np.maximum(-np.expm1(x), 0.0))

        slack = UNIT * (32 + 4 * np.abs(x))
        return at(m + sign * off) * (1 - slack), at(m - sign * off) * (1 + slack) + 1e-300

    counts_two = True

    def two_continuous_delta(self, x: Reals) -> tuple[Reals, Reals]:
        return two_continuous(self.base.shift, self.rate, self.added, x, self.continuous_delta(x / 2))

    def mirrored(self) -> Pair:
        from dalenius.calculus.pairs.subset_laplace import SubsetLaplacePair

        return SubsetLaplacePair(self)

    def log_mgf(self, s: Reals) -> Reals:
        return log_moments(self.base.shift, self.rate, s, self.added)

    def renyi_log_mgf(self, s: Reals) -> Reals:
        known = [log_moment_up(self.base.shift, self.rate, x, self.added) for x in s.tolist()]
        return np.asarray(np.minimum(np.array(known), super().renyi_log_mgf(s)))

    def tilted(self, c: float, t: Reals) -> Tilted | None:
        rule = quadrature(self.base.shift, self.rate, self.added, c, float(np.max(np.abs(t))))
        if rule is None or len(t) * len(rule.loss) > MOST_WORK:
            return None
        return rule.along(t)

    def envelope(self, c: float, t: Reals, times: int = 1) -> Reals:
        if times >= mixture.MANY and self.base.shift >= 6 * MUCH:  # else atoms are nearly all
            uniform = uniform_for(self.base.shift, self.rate, self.added, c)
            if uniform.serves(times, MUCH):
                return uniform.on(t)
        return envelope_for(self.base.shift, self.rate, self.added, c, mixture.level_for(times)).on(t)

    def beside_atoms(self, c: float, t: Reals) -> Reals:
        return decay(self.base.shift, self.rate, self.added, c)(t)


def log_mixture(z: Reals, rate: float) -> tuple[Reals, Reals]:
    """log w and its error in rounding units, when z is off by a few of its own.

    For rates below 1/2, log1p(g expm1(z)) is good to a few roundings of itself, and of z times the derivative.
    """
    log_w, _ = mixture.log_mixture(z, rate)
    share = np.exp(np.minimum(math.log(rate) + z - log_w, 0.0))
    return log_w, 12 * np.abs(log_w) + 8 * share * (np.abs(z) + 1) + 8 * (rate > 0.5)


class Interval(NamedTuple):
    """Nodes for the integral of exp(-z/2) w^(m + it) over an interval, and what the rule may miss.

    The miss is relative to the largest value of the integrand, which is exp(top).
    """

    z: Reals
    weights: Reals
    top: float
    missed: float
    half: float
    """Half the width of the widest panel."""


def nodes_between(
    rate: float, order: float, ends: tuple[float, float], reach: float, cut: float = CUT
) -> Interval | None:
    """Gauss-Legendre panels, for |t| <= reach.

    On the Bernstein ellipse of a panel of half width r, which reaches `long` r beyond its middle and b = `tall` r
    <= 1.4 above, |w|^2 is w(Re z)^2 (1 - 4 q (1 - q) sin(Im z / 2)^2), q = g exp(z)/w, and |arg w| is largest at the
    upper right corner of the box around it. Between the nodes and out to the ends of the ellipse u = m log w - z/2
    moves by at most (1/2 + |m| q) times the distance, q taken at the right end, itself at most long r - 0.99 r; the
    rule errs by at most 64/15 r RHO^-2n/(1 - RHO^-2) times the largest modulus (Trefethen 2013, Theorem 19.3).

    u' = m q - 1/2 and q grows: u has no maximum inside, and where it is below its larger end by `cut` is an interval.
    """
    long, tall = (RHO + 1 / RHO) / 2, (RHO - 1 / RHO) / 2

    def height(z: float) -> float:
        return order * mixture.log_mixture_at(z, rate) - z / 2

    low, high = ends
    top = max(height(low), height(high))
    pieces, missed = [ends], 0.0
    if top - min(height(low), height(high)) > cut or abs(order) * (high - low) > cut:
        pieces = _above(height, ends, top - cut, order, rate)
        missed = (high - low) * math.exp(-cut)
    widest = 1.4 / tall
    centres: list[float] = []
    halves: list[float] = []
    growths: list[float] = []

    def moves(right: float, r: float) -> tuple[float, float, float]:
        """How far the phase turns, u climbs and |w|^m falls short on a panel whose ellipse ends at `right`."""
        right = math.exp(min(right, 700.0)) * rate
        q = right / (1.0 - rate + right)
        turn = reach * math.atan2(right * math.sin(tall * r), 1.0 - rate + right * math.cos(tall * r))
        shrunk = -4 * min(q * (1 - q), 0.25) if q < 0.5 else -1.0
        fall = min(0.0, order) / 2 * math.log1p(shrunk * math.sin(tall * r / 2) ** 2)
        return turn, (0.5 + abs(order) * q) * r, fall

    def shorter(turn: float, steep: float, fall: float) -> float:
        return max(0.3, min(15.9 / max(turn, 15.0), 7.9 / max(steep, 7.0), math.sqrt(7.9 / max(fall, 7.0))))

    if high - low <= EVEN:
        # All of them grow with the right end: what is narrow enough there is so everywhere.
        for at, end in pieces:
            r = min(widest, (end - at) / 2)
            while max((now := moves(end + (long - 1) * r, r))[0] / 16.0, now[1] / 8.0, now[2] / 8.0) > 1.0:
                r *= shorter(*now)
            count = math.ceil((end - at) / (2 * r)) if end > at else 0
            if len(centres) + count > MOST_PANELS:
                return None
            if count:
                r = (end - at) / (2 * count)
                turn, steep, fall = moves(end + (long - 1) * r, r)
                centres += (at + r * (2 * np.arange(count) + 1)).tolist()
                halves += [r] * count
                growths += [turn + (long - 0.99) * steep + fall] * count
        pieces = []
    for at, end in pieces:
        while at < end:
            rest = (end - at) / 2
            r = min(widest, rest)
            while True:
                turn, steep, fall = moves(at + (1 + long) * r, r)
                if turn <= 16.0 and steep <= 8.0 and fall <= 8.0:
                    break
                r *= shorter(turn, steep, fall)
            if len(centres) >= MOST_PANELS or at + r == at:
                return None
            growth = turn + (long - 0.99) * steep + fall
            centres.append(at + r)
            halves.append(r)
            growths.append(growth)
            at = end if r == rest else at + 2 * r
    half = np.array(halves)
    z = np.array(centres)[:, None] + half[:, None] * NODES
    u = order * mixture.log_mixture(z, rate)[0] - z / 2
    each = np.exp(u.max(axis=1) - top + np.array(growths)) * half
    missed += 64 / 15 * RHO ** (-2 * len(NODES)) / (1 - RHO**-2) * float(each.sum())
    return Interval(z.ravel(), (half[:, None] * WEIGHTS).ravel(), top, missed, float(half.max()))


def _above(
    height: Callable[[float], float], ends: tuple[float, float], level: float, order: float, rate: float
) -> list[tuple[float, float]]:
    """Pieces at the ends that hold all z with height(z) >= level; the height is convex or falls."""
    low, high = ends

    def crossing(outside: float, inside: float) -> float:
        """A place from which the height stays below the level on the way to `inside`, where it is below."""
        for _ in range(40):
            middle = (outside + inside) / 2
            outside, inside = (outside, middle) if height(middle) < level else (middle, inside)
        return inside

    bottom = high
    if order > 0.5:  # u' = 0 where q = 1 / (2 m)
        odds = math.log((1 - rate) / rate) - math.log(2 * order - 1)
        bottom = min(max(odds, low), high)
    if height(bottom) >= level:
        return [ends]
    pieces = []
    if height(low) >= level:
        pieces.append((low, crossing(low, bottom)))
    if height(high) >= level:
        pieces.append((crossing(high, bottom), high))
    return pieces


def quadrature(e: float, rate: float, added: bool, c: float, reach: float) -> Rule | None:
    """M(c + it) for |t| <= reach: the two atoms, and panels in between.

    As long as phases turn little, one rule serves them all.
    """
    wide = mixture.log_mixture_at(e, rate) - mixture.log_mixture_at(-e, rate)
    if wide > 1e-200 and reach * wide < LITTLE_TURN:
        reach = LITTLE_TURN / wide
    return _quadrature(e, rate, added, c, reach)


LITTLE_TURN = 4.0
"""Phases that turn by no more between the ends need no narrower panels."""


@lru_cache(maxsize=256)
def _quadrature(e: float, rate: float, added: bool, c: float, reach: float) -> Rule | None:
    order = -c if added else 1.0 + c
    inside = nodes_between(rate, order, (-e, e), reach)
    if inside is None:
        return None
    z = np.concatenate(([-e, e], inside.z))
    log_w, noise = log_mixture(z, rate)
    weights = np.concatenate(([0.5, 0.5], inside.weights / 4))
    # exp(-(z + e)/2) is 1 at the lower atom, exp(-e) at the upper one.
    exponent = order * log_w - (z + e) / 2 + np.log(weights)
    outside = inside.missed * math.exp(inside.top - e / 2 - float(exponent.max())) / 4
    loss = -log_w if added else log_w
    return Rule(loss, exponent, np.full(len(z), order), noise, np.sqrt(np.abs(z) + e), outside)


def variation_between(
    e: float, rate: float, order: float, ends: tuple[float, float], log_scale: float
) -> float:
    """Total variation of the density exp(-(z + e)/2)/4 w^m |dz/dL| of L over a range of z, relative to exp(log_scale).

    dz/dL = w/(g exp(z)). Its logarithm has the slope (m + 1) q - 3/2 by z, and turns at most once: the variation is
    that of a curve through its ends and this point, and of both ends to 0.
    """
    low, high = ends
    places = [low, high]
    if order > 0.5:
        turn = math.log((1 - rate) / rate) + math.log(1.5) - math.log(order - 0.5)
        if low < turn < high:
            places.insert(1, turn)
    z = np.array(places)
    log_w, _ = mixture.log_mixture(z, rate)
    density = (order + 1) * log_w - 1.5 * z - e / 2 - math.log(4 * rate) - log_scale
    height = np.exp(np.minimum(density, 700.0)) * (1 + 1e-9)
    return float(height[0] + height[-1] + np.abs(np.diff(height)).sum()) * (1 + 1e-8)


@lru_cache(maxsize=256)
def decay(e: float, rate: float, added: bool, c: float) -> Callable[[Reals], Reals]:
    """A bound on |M(c + it)|/M(c) from t on: the atoms, and a density in L of bounded variation."""
    order = -c if added else 1.0 + c
    rule = quadrature(e, rate, added, c, 0.0)
    if rule is None:
        return np.ones_like
    variation = variation_between(e, rate, order, (-e, e), rule.log_scale)
    atoms = float(rule.weights[:2].sum()) * (1 + 1e-12)
    rest = float(rule.weights[2:].sum()) * (1 + 1e-12) + rule.fixed

    def smooth(t: Reals) -> Reals:
        return np.asarray(np.minimum(1.0, atoms + np.minimum(rest, variation / np.maximum(t, 1e-300))))

    return smooth


@lru_cache(maxsize=64)
def envelope_for(e: float, rate: float, added: bool, c: float, level: float) -> Envelope:
    """That for large t; below, the law of the rule."""
    smooth = decay(e, rate, added, c)

    def law(reach: float) -> Law | None:
        fine = quadrature(e, rate, added, c, reach)
        return None if fine is None else Law(fine.loss, fine.weights, fine.fixed + fine.per_t * reach)

    first = quadrature(e, rate, added, c, 0.0)
    if first is None:
        return Envelope(np.zeros(1), np.ones(1), smooth)
    return Envelope(*stepped(first.spread, smooth, law, level), smooth)


@lru_cache(maxsize=64)
def uniform_for(e: float, rate: float, added: bool, c: float) -> mixture.Uniform:
    """As `mixture.uniform_for`, between the atoms: m log w has no curvature above |m|/4 in z."""
    order = -c if added else 1.0 + c
    rule = quadrature(e, rate, added, c, 0.0)
    if rule is None:
        return mixture.NOTHING
    z = np.linspace(-e, e, 65)
    log_w, _ = mixture.log_mixture(z, rate)
    log_density = order * log_w - (z + e) / 2 - math.log(4) - rule.log_scale
    dip = max(order, 0.0) * float(z[1] - z[0]) ** 2 / 32
    variance = mixture.variance_of(rule.weights, rule.loss)
    return mixture.uniform_in(log_density, log_w, math.log(rate) + z - log_w, dip, variance)


MOST_CELLS = 600


def stepped(
    spread: float, smooth: Callable[[Reals], Reals], law: Callable[[float], Law | None], level: float
) -> tuple[Reals, Reals]:
    """`mixture.stepped`, with finer cells where these say little, up to where the bound for large t says more."""
    breaks, values = mixture.stepped(spread, smooth, law, level)
    little = np.flatnonzero((values > 0.95) & (breaks * spread > 0.05))
    ends = 0.05 / spread * 1.1 ** np.arange(120.0)
    enough = np.flatnonzero(smooth(ends) <= 0.9)
    if len(little) == 0 or len(enough) == 0:
        return breaks, values
    start, end = float(breaks[little[0]]), float(ends[enough[0]])
    cells = math.ceil((end - start) * spread / 0.1)
    fine = law(end) if 0 < cells <= MOST_CELLS else None
    if fine is None:
        return breaks, values
    edges = np.linspace(start, end, cells + 1)
    bounds = np.minimum(np.append(fine.on_cells(edges) * (1 + 1e-12), 1.0), 1.0)
    return np.concatenate((breaks[: little[0]], edges)), np.concatenate((values[: little[0]], bounds))


def _excess(s: Reals, z: Reals, rate: float, added: bool) -> Reals:
    """w^m - 1 - m (w - 1), whose mean is M(s) - 1, m = 1 + s, or -s in the add direction: two terms, none below 0.

    With y = w - 1 and X(v) = exp(v) - 1 - v they are w X(s log w) + s ((1 + y) log(1 + y) - y), and
    X(-s log w) + s (y - log(1 + y)).
    """
    log_w, _ = mixture.log_mixture(z, rate)
    factor, first = _excess_parts(z, log_w, rate, added)
    return np.asarray(
        factor * _beyond_linear(np.multiply.outer(-s if added else s, log_w)) + np.multiply.outer(s, first)
    )


def _excess_parts(z: Reals, log_w: Reals, rate: float, added: bool) -> tuple[Reals, Reals]:
    """What X(+-s log w) and s are multiplied by in `_excess`."""
    y = rate * np.expm1(z)
    if added:
        gap = np.where(np.abs(y) < 0.05, y * y * _series(-y, GAP), y - log_w)
        return np.ones_like(y), gap
    entropy = np.where(np.abs(y) < 0.05, y * y * _series(-y, ENTROPY), (1 + y) * log_w - y)
    return 1 + y, entropy


GAP = [1 / (k + 2) for k in range(13)]
ENTROPY = [1 / ((k + 2) * (k + 1)) for k in range(13)]
BEYOND_LINEAR = [1 / math.factorial(k + 2) for k in range(9)]


def _beyond_linear(v: Reals) -> Reals:
    """exp(v) - 1 - v."""
    small = np.abs(v) < 0.05
    value = np.expm1(v)
    value -= v
    x = v[small]
    value[small] = x * x * _series(x, BEYOND_LINEAR)
    return value


def _series(x: Reals, coefficients: list[float]) -> Reals:
    value = np.full_like(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        value *= x
        value += coefficient
    return value


COARSE, COARSE_WEIGHTS = np.polynomial.legendre.leggauss(16)


def depth_for(length: float, steepest: float) -> int:
    """How far `graded_nodes` go down where an integrand may fall as exp(-steepest z) from an end."""
    return max(0, math.ceil(math.log2(max(steepest * length / 8, 1.0))))


def graded_nodes(ends: tuple[float, float], depth: int) -> tuple[Reals, Reals]:
    """Nodes and weights of panels that grow from both ends, `depth` times by a factor of two."""
    low, high = ends
    length = high - low
    edges = np.concatenate(([0.0], length / 2 * 0.5 ** np.arange(depth, -1.0, -1.0)))
    parts = max(1, math.ceil(length / 8))
    if parts > 1:
        edges = np.concatenate([np.linspace(a, b, parts + 1)[:-1] for a, b in itertools.pairwise(edges)])
        edges = np.append(edges, length / 2)
    half, centre = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
    inside = (centre[:, None] + half[:, None] * COARSE).ravel()
    weights = (half[:, None] * COARSE_WEIGHTS).ravel()
    return np.concatenate((low + inside, high - inside)), np.concatenate((weights, weights))


def log_moments(e: float, rate: float, s: Reals, added: bool) -> Reals:
    """log M(s) for real s, to about 1e-13 of itself where s > 0 and s log w is moderate."""
    steepest = 0.5 + (1.0 + float(np.abs(s).max())) * math.exp(
        math.log(rate) + e - mixture.log_mixture_at(e, rate)
    )
    nodes = _moment_nodes(e, rate, added, depth_for(2 * e, steepest))
    result = np.empty(len(s))
    near = (s >= 0) & (s * nodes.most < 300.0)
    if near.any():
        x = s[near]
        with np.errstate(invalid="ignore"):
            beyond = _beyond_linear(np.multiply.outer(-x if added else x, nodes.log_w))
            result[near] = np.log1p(beyond @ nodes.weights + x * nodes.first)
    if not near.all():
        far = s[~near]
        exponent = np.multiply.outer(-far if added else 1.0 + far, nodes.log_w) + nodes.log_mass
        top = exponent.max(axis=1)
        result[~near] = top + np.log(np.exp(exponent - top[:, None]).sum(axis=1))
    return result


class MomentNodes(NamedTuple):
    """What `log_moments` needs of its nodes, whatever s is."""

    log_w: Reals
    log_mass: Reals
    weights: Reals
    """Of X(+-s log w), see `_excess`."""
    first: float
    """The mean of what s is multiplied by there."""
    most: float
    """The largest |log w|."""


@lru_cache(maxsize=64)
def _moment_nodes(e: float, rate: float, added: bool, depth: int) -> MomentNodes:
    z, weights = graded_nodes((-e, e), depth)
    mass = np.concatenate(([0.5, 0.5 * math.exp(-e)], weights * np.exp(-(z + e) / 2) / 4))
    z = np.concatenate(([-e, e], z))
    log_w, _ = mixture.log_mixture(z, rate)
    with np.errstate(all="ignore"):  # what overflows, or is 0, is not looked at where that matters
        factor, first = _excess_parts(z, log_w, rate, added)
        return MomentNodes(
            log_w, np.log(mass), factor * mass, float(first @ mass), float(np.abs(log_w).max(initial=0.0))
        )


def log_moment_up(e: float, rate: float, s: float, added: bool) -> float:
    """log M(s) rounded up, s > 0.

    M - 1 is the mean of `_excess`, good to a few roundings of itself and, w being off by a few, to (2 + |m log w|)
    times as many. It is m (m - 1) (w - 1)^2 times a mean of (1 + x (w - 1))^(m - 2) over x in [0, 1], of weight
    1 - x; on the ellipses of the panels that bounds it, for 1 + x (w - 1) is a mixture as well.
    """
    order = -s if added else 1.0 + s
    inside = nodes_between(rate, order, (-e, e), 0.0, math.inf)
    if inside is None:
        return math.inf
    beyond, above = ((RHO + 1 / RHO) / 2 - 1) * inside.half, (RHO - 1 / RHO) / 2 * inside.half
    edge = mixture.log_mixture(np.array([-e - beyond, e + beyond]), rate)[0]
    if (abs(order) + 2) * float(np.abs(edge).max()) > 300.0 or e > 300.0:
        return math.inf
    z = np.concatenate(([-e, e], inside.z))
    mass = np.concatenate(([0.5, 0.5 * math.exp(-e)], inside.weights * np.exp(-(inside.z + e) / 2) / 4))
    log_w, _ = mixture.log_mixture(z, rate)
    excess = _excess(np.array([s]), z, rate, added)[0]
    off = UNIT * (64 + 32 * (2 + np.abs(order * log_w)) * (1 + np.abs(z)))
    if rate > 0.5:
        off = off * (1 + 1 / np.exp(log_w))
    total = float(mass @ (excess * (1 + off))) * (1 + (len(z) + 8) * UNIT)
    change = rate * (math.expm1(e + beyond) + above * math.exp((e + beyond) / 2))
    # |w| >= w sqrt(1 - 4 q (1 - q) sin(b/2)^2).
    share = min(0.25, float(np.exp(math.log(rate) + e + beyond - edge[1])))
    down = 0.5 * math.log1p(-4 * share * math.sin(above / 2) ** 2)
    power = (order - 2) * (float(edge[1]) if order > 2 else float(edge[0]) + down)
    if power > 600.0:
        return math.inf
    largest = abs(order * (order - 1)) / 2 * change**2 * math.exp(power + beyond / 2)
    total += 64 / 15 * 2 * e * RHO ** (-2 * len(NODES)) / (1 - RHO**-2) * largest / 4
    return math.log1p(total) * (1 + 4 * UNIT)
