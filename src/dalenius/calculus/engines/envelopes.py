"""What is cut off along the line, in ball arithmetic: bounds on |M(c + it)| / M(c) that fall with t.

The same bounds as `Pair.envelope`, whose proofs stand there, written for balls.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dalenius.calculus.engines.contour import Contour
from dalenius.calculus.pairs.bounded_range import BoundedRangePair
from dalenius.calculus.pairs.gaussian import GaussianPair
from dalenius.calculus.pairs.half_normal import HalfNormalPair
from dalenius.calculus.pairs.laplace import LaplacePair
from dalenius.calculus.pairs.mixture import REACH, window
from dalenius.calculus.pairs.pair import Pair
from dalenius.calculus.pairs.rectified import RectifiedPair
from dalenius.calculus.pairs.sampled import SampledPair

Ball = Any
Bound = Callable[[Ball, Ball], Ball]

CELLS = 120
GROWTH = 1.15
LEVEL = 0.8
MOST_CELLS = 100


def cut_off(flint: Any, line: Contour, terms: Sequence[tuple[Pair, Ball, int]]) -> Ball:
    """The sum over the nodes after the last, relative to M(c) exp(-c e). terms: pairs, M(c), how often.

    Nodes in a cell are at most its width / h + 1, each with |1/(s(s+1))| <= 1/t^2 and weight h/pi; beyond the last
    cell the bound stays. Where every term has atoms they are left out of the sum, and |prod M - prod A| is at
    most prod |M| + prod A(c), or, with |M| <= A(c) + rest, prod (A(c) + rest) - prod A(c).
    """
    arb = flint.arb
    h = 2 * arb.pi() / arb(line.period)
    bounds = [(_envelope(flint, pair, line.c, top), n) for pair, top, n in terms]
    shares = None
    if line.atoms is not None:
        shares = [(_share(flint, pair, line.c, top), n) for pair, top, n in terms]
    total: Ball = arb(0)
    left = h * (int(line.nodes[-1]) + 1)
    for cell in range(CELLS + 1):
        piece: Ball = arb(1)
        right = left * arb(GROWTH) if cell < CELLS else None
        for envelope, n in bounds:
            bound = envelope(left, right)
            piece *= bound.min(arb(1)) ** n if shares is None else bound**n
        if shares is not None:
            still: Ball = arb(1)
            for share, n in shares:
                still *= share**n
            piece = (piece - still).min(piece.min(arb(1)) + still)
        if right is None:
            total += piece * (1 / left + h / left**2)
            break
        total += (right - left + h) * piece / left**2
        left = right
    return total / arb.pi()


def square_of(flint: Any, pair: GaussianPair) -> Ball:
    """mu^2, which is kept exactly."""
    return flint.arb(flint.fmpq(pair.square.numerator, pair.square.denominator))


def _share(flint: Any, pair: Pair, c: float, top: Ball) -> Ball:
    """A(c) / M(c), A the transform of the atoms."""
    from dalenius.calculus.engines.proof import transform

    assert pair.atomic is not None
    return transform(flint, pair.atomic, c, 0.0)(flint.acb(flint.arb(c))).real / top


def _envelope(flint: Any, pair: Pair, c: float, top: Ball) -> Bound:
    """(t, end) -> a bound on |M(c + iu)| / M(c) for u from t to the end, None for all u >= t.

    With atoms it is one on |M - A| / M(c) + A(c) / M(c).
    """
    arb = flint.arb
    x = arb(c)
    if isinstance(pair, GaussianPair):
        square = square_of(flint, pair)
        return lambda t, _: (-square * t**2 / 2).exp()
    if isinstance(pair, LaplacePair):
        e, y = arb(pair.shift), x + arb(0.5)
        fall = (-2 * y * e).exp()
        bottom = (1 + fall) / 2 + (1 - fall) / (4 * y)
        return lambda t, _: ((1 + fall) / 2 + arb(0.5) / t) / bottom
    if isinstance(pair, BoundedRangePair):
        y = x + arb(0.5)
        return lambda t, _: 2 * y / (1 - (-2 * y * arb(pair.eta)).exp()) / t
    if isinstance(pair, HalfNormalPair):
        mu = arb(pair.mu)
        peak = 1 / (mu * (2 * arb.pi()).sqrt() * (1 + (x * mu / arb(2).sqrt()).erf()) / 2)
        return lambda t, _: 2 * peak / t
    if isinstance(pair, RectifiedPair):
        mu, root = arb(pair.mu), arb(2).sqrt()
        atom = (mu / 2 / root).erfc() / 2 * (-x * (x + 1) * mu**2 / 2).exp()
        tail = (1 + (mu * (x + arb(0.5)) / root).erf()) / 2
        return lambda t, _: (atom + 2 / (mu * (2 * arb.pi()).sqrt()) / t) / (atom + tail)
    if isinstance(pair, SampledPair) and isinstance(pair.base, GaussianPair):
        far = _of_sampled(flint, pair.base.mu, pair.rate, -c if pair.added else 1.0 + c, top)
        return _near(flint, pair, c, top, far)
    return lambda t, _: arb(1)  # atoms do not decay


def _near(flint: Any, pair: SampledPair, c: float, top: Ball, far: Callable[[Ball], Ball]) -> Bound:
    """The bound for large t; where it says too little, values of M, and how fast it can move.

    exp(-s a) M(s) / M(c) moves by at most the root of E (L - a)^2 per unit of t, the law tilted by c; and
    d^2 x^2 / 2 <= cosh(d x) - 1 bounds that by three values of M on the real axis, whatever a and d.
    """
    from dalenius.calculus.engines.proof import transform

    arb, acb = flint.arb, flint.acb

    def mgf(at: float) -> Ball:
        return transform(flint, pair, at, 0.0)(acb(arb(at))).real / top

    log_m = pair.log_mgf(np.array([c - 1e-3, c, c + 1e-3]))
    mean = float(log_m[2] - log_m[0]) / 2e-3
    spread = max(float(log_m[2] - 2 * log_m[1] + log_m[0]) / 1e-6, 1e-12) ** 0.5
    d = min(0.5 / spread, 0.5)
    shift = (arb(mean) * arb(d)).exp()
    square = (mgf(c + d) / shift + mgf(c - d) * shift - 2) / arb(d) ** 2
    pace = square.max(arb(0)).sqrt()

    def bound(t: Ball, end: Ball) -> Ball:
        best = far(t)
        if end is None or best < arb(LEVEL):
            return best
        value = transform(flint, pair, c, float(end.upper()))
        room = 1.0 - float((abs(value(acb(arb(c), t))) / top).mid())
        # A third of the room goes to what happens between the points.
        cells = math.ceil(1.5 * float((pace * (end - t)).upper()) / max(room, 1e-3))
        if cells > MOST_CELLS:
            return best
        worst: Ball = arb(0)
        for k in range(cells):
            middle = t + (end - t) * (2 * k + 1) / (2 * cells)
            worst = worst.max(abs(value(acb(arb(c), middle))) / top)
        return best.min(worst + pace * (end - t) / (2 * cells))

    return bound


def _of_sampled(flint: Any, mu: float, rate: float, m: float, top: Ball) -> Callable[[Ball], Ball]:
    """The bound for large t of `mixture.envelope_for`: what lies left of some x_0, and the variation of the rest."""
    arb = flint.arb
    bend = 1.0 + (abs(m) + 1.0) * mu * mu / 4
    low, high = window(mu, rate, m)
    low, high = low - mu, high + mu
    x = np.linspace(low, high, math.ceil((high - low) * math.sqrt(bend) / 0.2) + 2)
    gap = arb(float(x[1])) - arb(float(x[0]))
    slack = (arb(bend) * gap**2 / 8 * (1 + arb(1e-6))).exp()
    g, u, order = arb(rate), arb(mu), arb(m)
    f, peaks = [], []
    for value in x.tolist():
        v = arb(value)
        z = (u * v - u * u / 2).exp()
        w = 1 - g + g * z
        f.append((order * w.log() - v * v / 2).exp() / (2 * arb.pi()).sqrt() / top * slack)
        peaks.append(f[-1] * w / (u * g * z))
    left, largest = [f[0] / arb(REACH)], [peaks[-1]]
    for a, b in itertools.pairwise(f):
        left.append(left[-1] + gap * (1 + arb(1e-9)) * a.max(b))
    for peak in reversed(peaks[:-1]):
        largest.append(largest[-1].max(peak))
    largest.reverse()
    modes = 1 if (m + 1.0) * mu * mu / 4 <= 1.0 - 1e-9 else 2
    some = np.unique(np.linspace(0, len(x) - 1, 48).astype(int)).tolist()
    lines = [(left[k], 2 * (modes + 1) * largest[k]) for k in some]

    def envelope(t: Ball) -> Ball:
        best: Ball = arb(1)
        for missed, variation in lines:
            best = best.min(missed + variation / t)
        return best

    return envelope
