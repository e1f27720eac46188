"""The transform of a pair of Gaussian mixtures in ball arithmetic, and how it decays along a line.

With w_P and w_Q the densities by N(0, 1) of `gaussian_mixtures`, s = c + it and c > -1,

    M(s) = integral of f_s(x) dx,   f_s = w_P^(1+s) w_Q^-s phi,   |f_s| = f_c on the real axis.

Theorem. Let S and R be the largest shifts up and down, a max(S, R) < pi, |t| <= T, and f_c's logarithm have slope at
most -k beyond the last of the nodes x_j = j h and at least k before the first, k > 0. Then the trapezoid sum over these
nodes differs from M(s) by at most rho M(c) + tails, with

    rho   = 2 exp(a^2/2 + T a (S + R)) cos(a R / 2)^min(-c, 0) / (exp(2 pi a / h) - 1),
    tails = h (f_c(first) + f_c(last)) exp(-k h) / (1 - exp(-k h)).

Proof. On Im z = y, 0 < y <= a, the terms of w_P(z) have the moduli of those at x = Re z and arguments from 0 to
a S < pi: none cancels another, |w_P(z)| <= w_P(x) and 0 <= arg w_P(z) <= a S. The terms of w_Q(z) have arguments from
-a R to 0, a sector of half angle a R / 2 < pi / 2, on the middle of which each projects to cos(a R / 2) of itself at
least: so cos(a R / 2) w_Q(x) <= |w_Q(z)| <= w_Q(x). Neither vanishes, f_s is analytic in the strip, and

    |f_s(z)| = |w_P|^(1+c) |w_Q|^-c exp(-t arg w_P + t arg w_Q) |phi(z)|
             <= f_c(x) cos(a R / 2)^min(-c, 0) exp(T a (S + R)) exp(y^2 / 2);

below the axis likewise. That is the L1 norm which Trefethen and Weideman 2014, Theorem 5.1, ask for; f_s falls to 0
with |x| within the strip for f_c does. Beyond the last node f_c falls by exp(-k h) a node at least.  []

At t = 0 the sum itself is within rho M(c) + tails of M(c), so M(c) <= (sum + tails) / (1 - rho). Slopes: with
u = log f_c, u' = (1+c) r_P + c r_Q - x, where r_P is between the least and the largest shift and r_Q falls with x.

Weights are the fractions that floats are. Where those of a side sum to more than 1, by a rounding, what is too much is
taken from the least shift, as where they were rounded up: the rest of them still lies above what it was rounded from.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from dalenius.calculus.pairs.gaussian_mixtures import (
    GaussianMixturesPair,
    Side,
    largest_shift,
    least_shift,
)
from dalenius.calculus.pairs.mixture import REACH
from dalenius.calculus.pairs.near_the_line import near
from dalenius.calculus.pairs.pair import Ball, Decay, Reals, Transform

DIGITS = 60.0
"""The rule errs by exp(-DIGITS)."""
KEPT = 66.0
"""Nodes that weigh less than exp(-KEPT) of the heaviest are counted as errors."""
TOO_MANY = 500_000
FURTHER = 1.0
"""The nodes go so much further than the window of the floats."""
MOST_CELLS = 200_000
"""Cells times components of a bound on the decay; beyond, none is known."""
CELL = 0.1
"""Width of a cell, in units in which log densities bend by 1."""
WIDEST, HIGHEST = 1.4, 6.0
"""Lines beside the real axis: the angle by which the largest shift turns, and the height, at most."""
HEIGHTS, CLOSER = 6, 2.0
NEWTON = 6
RADII = tuple(2.0**-k for k in range(130, 20, -5))


class Law(NamedTuple):
    """One side in balls: shifts, their weights, and the weight of shift 0."""

    shifts: tuple[Ball, ...]
    weights: tuple[Ball, ...]
    rest: Ball

    def at(self, x: Ball) -> tuple[Ball, Ball]:
        """w at x and its derivative: the density by N(0, 1) of what is shifted up."""
        parts = [p * (s * (x - s / 2)).exp() for s, p in zip(self.shifts, self.weights, strict=True)]
        slope = sum((s * part for s, part in zip(self.shifts, parts, strict=True)), self.rest * 0)
        return sum(parts, self.rest), slope

    def weight(self, x: Ball) -> Ball:
        """w alone; x may be complex."""
        return sum(
            (p * (s * (x - s / 2)).exp() for s, p in zip(self.shifts, self.weights, strict=True)), self.rest
        )


def law_of(flint: Any, side: Side) -> Law:
    """The side with weights that sum to 1."""
    exact = {shift: Fraction(weight) for shift, weight in side}
    rest = 1 - sum(exact.values(), Fraction(0))
    for shift in sorted(exact):
        taken = min(exact[shift], max(-rest, Fraction(0)))
        exact[shift], rest = exact[shift] - taken, rest + taken

    def ball(x: Fraction) -> Ball:
        return flint.arb(flint.fmpq(x.numerator, x.denominator))

    return Law(tuple(map(flint.arb, exact)), tuple(map(ball, exact.values())), ball(rest))


def strip(pair: GaussianMixturesPair, c: float, reach: float) -> tuple[float, float]:
    """The a and the h of the rule: any would do, these err by exp(-DIGITS)."""
    s, r = largest_shift(pair.up), largest_shift(pair.down)
    a = min(2.5 / max(s, r), 8.5, math.sqrt(80.0 / max(c, 1.0)) / r if r > 0.0 else math.inf)
    growth = a * a / 2 + reach * a * (s + r) - max(c, 0.0) * math.log(math.cos(a * r / 2))
    return a, 2 * math.pi * a / (growth + DIGITS)


def window(pair: GaussianMixturesPair, c: float) -> tuple[float, float]:
    """Where the integrand is; further out its logarithm has slope REACH at least."""
    if c >= 0.0:
        low, high = pair._window(c)
    else:
        low = (1 + c) * least_shift(pair.up) + c * largest_shift(pair.down) - REACH
        high = (1 + c) * largest_shift(pair.up) + REACH
    return low - FURTHER, high + FURTHER


def heavy(pair: GaussianMixturesPair, c: float, h: float) -> tuple[int, int, Reals]:
    """The first and the last node, and which of them weigh something."""
    low, high = window(pair, c)
    first, last = math.floor(low / h), math.ceil(high / h)
    exponent = pair._exponent(c, np.arange(first, last + 1) * h)
    return first, last, exponent > exponent.max() - KEPT


def size(pair: GaussianMixturesPair, c: float, reach: float) -> float:
    """How many exponentials one value of the transform takes, or a number that is too many anyway."""
    (low, high), (_, h) = window(pair, c), strip(pair, c, reach)
    if high - low > TOO_MANY * h:
        return (high - low) / h
    return float(np.count_nonzero(heavy(pair, c, h)[2]))


def transform(flint: Any, pair: GaussianMixturesPair, c: float, reach: float) -> Transform:
    """s -> M(s), Re s = c and |Im s| <= reach: the trapezoid rule with its remainder as the radius."""
    arb, acb = flint.arb, flint.acb
    width, step = strip(pair, c, reach)
    first, last, heavies = heavy(pair, c, step)
    up, down = law_of(flint, pair.up), law_of(flint, pair.down)
    a, h, order = arb(width), arb(step), arb(c)
    scale = h / (2 * arb.pi()).sqrt()
    nodes, light, ends = [], arb(0), []
    for k, counts in zip(range(first, last + 1), heavies.tolist(), strict=True):
        x = h * k
        above, below = up.weight(x).log(), down.weight(-x).log()
        loss = above - below
        weight = (above + order * loss - x * x / 2).exp() * scale
        if counts:
            nodes.append((loss, weight))
        else:
            light += weight
        if k in (first, last):
            ends.append(weight)
    tails = sum(
        (
            _beyond(flint, weight, slope * h)
            for weight, slope in zip(ends, _slopes(flint, pair, c, h * first, h * last), strict=True)
        ),
        arb(0),
    )
    whole = sum((weight for _, weight in nodes), light)
    lean = (down.shifts or (arb(0),))[-1] * a
    turn = (up.shifts or (arb(0),))[-1] * a + lean
    growth = (a * a / 2 + arb(reach) * turn).exp() * (lean / 2).cos() ** min(-order, arb(0))
    rho = 2 * growth / ((2 * arb.pi() * a / h).exp() - 1)
    radius = (rho * (whole + tails) / (1 - rho) + tails + light).upper()
    off = acb(arb(0, radius), arb(0, radius))

    def mgf(s: Ball) -> Ball:
        tilt = s - order
        return sum((weight * (tilt * loss).exp() for loss, weight in nodes), acb(0)) + off

    return mgf


def _slopes(flint: Any, pair: GaussianMixturesPair, c: float, low: Ball, high: Ball) -> tuple[Ball, Ball]:
    """The least slope of log f_c before `low`, and of its negative beyond `high`."""
    arb = flint.arb
    order, down = arb(c), law_of(flint, pair.down)
    bottom, top = (1 + order) * arb(least_shift(pair.up)), (1 + order) * arb(largest_shift(pair.up))
    if c < 0.0:
        return bottom + order * arb(largest_shift(pair.down)) - low, high - top
    (w, grown), (v, more) = down.at(-low), down.at(-high)
    return bottom + order * grown / w - low, high - top - order * more / v


def _beyond(flint: Any, end: Ball, fall: Ball) -> Ball:
    """The sum of what falls by exp(-fall) a node, after a first that is not counted."""
    if not fall > 0:
        return flint.arb("inf")
    return end / (fall.exp() - 1)


def delta(flint: Any, pair: GaussianMixturesPair, epsilon: float) -> Ball | None:
    """P(X > x) - e^epsilon Q(X > x) where L(x) = epsilon; None where balls do not tell where that is.

    That is its largest value. With L(x - r) < epsilon < L(x + r), both by less than 1/2, it is at most r times the
    largest density of P around x above the value at x: a unit further on the difference changes by
    p - e^epsilon q = p (1 - exp(epsilon - L)).
    """
    arb = flint.arb
    up, down, e = law_of(flint, pair.up), law_of(flint, pair.down), arb(epsilon)
    if not pair.down and up.rest > 0 and not e > up.rest.log():
        return 1 - e.exp() if e < up.rest.log() else None
    start = float(pair._where(np.array([epsilon]))[0])
    if not math.isfinite(start):
        return None

    def gap(x: Ball) -> Ball:
        return up.weight(x).log() - down.weight(-x).log() - e

    x = arb(start)
    for _ in range(NEWTON):
        (w_p, d_p), (w_q, d_q) = up.at(x), down.at(-x)
        x = (x - gap(x) / (d_p / w_p + d_q / w_q)).mid()
    near_by = (r for r in map(arb, RADII) if -0.5 < gap(x - r) < 0 and 0 < gap(x + r) < 0.5)
    radius = next(near_by, None)
    if radius is None:
        return None
    value = _beyond_place(flint, up, x, 1) - e.exp() * _beyond_place(flint, down, x, -1)
    around = arb(x, radius)
    more = radius * up.weight(around) * (-around * around / 2).exp() / (2 * arb.pi()).sqrt()
    return value + arb(0, more.upper())


def _beyond_place(flint: Any, law: Law, x: Ball, sign: int) -> Ball:
    """The mass beyond x of the mixture, which is shifted up or down."""
    half = flint.arb(2).sqrt()
    parts = (p * ((x - sign * s) / half).erfc() for s, p in zip(law.shifts, law.weights, strict=True))
    return sum(parts, law.rest * (x / half).erfc()) / 2


def decay(flint: Any, pair: GaussianMixturesPair, c: float, top: Ball) -> Decay:
    return near(flint, pair, c, top, _far(flint, pair, c, top))


class Row(NamedTuple):
    """The L1 norm of f_s / M(c) on Im z = y by cells: at most the sum of weights exp(-t turns), and the rest."""

    weights: list[Ball]
    turns: list[Ball]
    rest: Ball
    log_weights: Reals
    """The same in floats, to choose a row by."""
    some_turns: Reals

    def at(self, t: Ball) -> Ball:
        return sum(
            (w * (-t * turn).exp() for w, turn in zip(self.weights, self.turns, strict=True)), self.rest
        )

    def roughly(self, t: float) -> float:
        return float(np.exp(np.minimum(self.log_weights - t * self.some_turns, 700.0)).sum()) + float(
            self.rest
        )


def _far(flint: Any, pair: GaussianMixturesPair, c: float, top: Ball) -> Transform:
    """|M(c + iu)| / M(c) for u >= t, by L1 norms on lines Im z = y > 0.

    Moving the line of integration there changes nothing, and |f_s(z)| = |w_P|^(1+c) |w_Q|^-c |phi(z)| exp(-u (arg w_P -
    arg w_Q)), which falls with u. While y max(S, R) < pi/2, arg w_P grows with x, for its derivative is
    Im w_P'/w_P = sum_jk of (s_j - s_k)/2 sin((s_j - s_k) y) e_j e_k / |w_P|^2, e_j the moduli of the terms; likewise
    -arg w_Q falls. So on a cell the turn is at least what that of w_P is at its left end and that of w_Q at its right.
    The log modulus U has |U''| <= bend, for (log w_P)'' is a sum of (s_j - s_k)^2 e_j e_k / |w_P|^2 times numbers of
    modulus 1, at most S^2/4 w_P(x)^2 / |w_P(z)|^2: on a cell of width g it is at most bend g^2/8 above its chord, and
    exp of a chord is below the chord of exp. Elsewhere f is at most what it is on the real axis, times
    exp(y^2/2) cos(y R/2)^-c.
    """
    arb = flint.arb
    s, r = largest_shift(pair.up), largest_shift(pair.down)
    bend = 1.0 + ((1 + c) * s * s + c * r * r) / 4 / math.cos(WIDEST / 2) ** 2
    low, high = window(pair, c)
    count = math.ceil((high - low) * math.sqrt(bend) / CELL) + 2
    if count * (2 + len(pair.up) + len(pair.down)) > MOST_CELLS:
        return lambda t: arb(1)
    up, down, order = law_of(flint, pair.up), law_of(flint, pair.down), arb(c)
    scale = (2 * arb.pi()).sqrt() * top
    places = np.linspace(low, high, count)
    exponent = pair._exponent(c, places)
    cut = np.flatnonzero(exponent > exponent.max() - KEPT)
    first, last = max(int(cut[0]) - 1, 0), min(int(cut[-1]) + 1, count - 1)
    x = [arb(value) for value in places.tolist()]

    def modulus(z: Ball, w_p: Ball, w_q: Ball) -> Ball:
        """U at z."""
        return ((1 + order) * abs(w_p).log() - order * abs(w_q).log() - (z * z).real / 2).exp() / scale

    def slack(y: Ball, gap: Ball) -> Ball:
        """exp(bend g^2 / 8)."""
        turned = (
            (1 + order) * (arb(s) / (y * s / 2).cos()) ** 2 + order * (arb(r) / (y * r / 2).cos()) ** 2
        ) / 4
        return ((1 + turned) * gap**2 / 8).exp()

    def light(indices: range) -> Ball:
        """The integral over cells on the real axis."""
        values = [modulus(v, up.weight(v), down.weight(-v)) for v in x[indices.start : indices.stop + 1]]
        cells = zip(indices, itertools.pairwise(values), strict=True)
        gaps = ((x[k + 1] - x[k], (f + g) / 2) for k, (f, g) in cells)
        return sum((gap * mean * slack(arb(0), gap) for gap, mean in gaps), arb(0))

    ends = [modulus(v, up.weight(v), down.weight(-v)) for v in (x[0], x[-1])]
    falls = _slopes(flint, pair, c, x[0], x[-1])
    if not all(fall > 0 for fall in falls):
        return lambda t: arb(1)
    outside = sum((f / fall for f, fall in zip(ends, falls, strict=True)), arb(0))
    outside += light(range(first)) + light(range(last, count - 1))

    def row(y: float) -> Row:
        height = arb(y)
        points = []
        for v in x[first : last + 1]:
            z = flint.acb(v, height)
            w_p, w_q = up.weight(z), down.weight(-z)
            points.append(
                (modulus(z, w_p, w_q), w_p.arg() if pair.up else arb(0), -w_q.arg() if pair.down else arb(0))
            )
        weights, turns = [], []
        for k, ((f, left, _), (g, _, right)) in enumerate(itertools.pairwise(points), start=first):
            gap = x[k + 1] - x[k]
            weights.append(gap * (f + g) / 2 * slack(height, gap))
            turns.append(left + right)
        rest = outside * (height**2 / 2).exp() / (height * r / 2).cos() ** order
        logs = np.array([float(w.log()) for w in weights])
        return Row(weights, turns, rest, logs, np.array([float(turn) for turn in turns]))

    widest = min(WIDEST / max(s, r), HIGHEST)
    rows = [row(widest * CLOSER**-k) for k in range(HEIGHTS)]

    def envelope(t: Ball) -> Ball:
        about = float(t)
        best = min(rows, key=lambda some: some.roughly(about))
        return best.at(t).min(arb(1))

    return envelope
