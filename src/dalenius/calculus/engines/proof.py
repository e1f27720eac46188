"""delta(epsilon) in ball arithmetic: every operation carries its own error, so the result is a proof.

The float engines pick the line, the step and the cut, any of which is valid; here the sums behind them are
evaluated anew with python-flint's balls (Johansson 2017): the moment generating functions with their
quadrature remainders, the aliasing series, the discrete parts, and the tail cut off along the line by the
envelopes of the characteristic functions (`envelopes.py`). What is known by a Renyi curve is bounded at one
order, which floats pick, in balls. A loss with a part that only floats know (a tabulated profile, a curve
given as a function, the lattice engine) is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dalenius.calculus.engines.contour import Contour
from dalenius.calculus.engines.envelopes import cut_off, square_of
from dalenius.calculus.engines.lattice import common_spacing
from dalenius.calculus.pairs.atoms import Atoms
from dalenius.calculus.pairs.bounded_range import BoundedRangePair
from dalenius.calculus.pairs.bracket import Bracket
from dalenius.calculus.pairs.gaussian import GaussianPair
from dalenius.calculus.pairs.half_normal import HalfNormalPair
from dalenius.calculus.pairs.laplace import LaplacePair
from dalenius.calculus.pairs.mixture import REACH, size_for, window
from dalenius.calculus.pairs.pair import UNIT, Bounds, Pair, Terms
from dalenius.calculus.pairs.rectified import RectifiedPair
from dalenius.calculus.pairs.renyi import RenyiPair
from dalenius.calculus.pairs.sampled import SampledPair
from dalenius.errors import UnsupportedComposition

if TYPE_CHECKING:
    from dalenius.calculus.engines.accountant import Sum

BITS = 160
MOST_NODES = 150_000
MOST_WORK = 500_000
"""Exponentials in ball arithmetic, a few microseconds each, that a proof may take for sampled pairs."""


Ball = Any
"""A flint arb or acb; the library has no useful types."""


def delta_bounds(terms: Sum, epsilon: float) -> Bounds:
    """Bounds on delta(epsilon) of the sum, infinite mass included."""
    flint = _flint()
    before = flint.ctx.prec
    flint.ctx.prec = BITS
    try:
        return _enclosed(flint, terms, epsilon)
    finally:
        flint.ctx.prec = before


def check(pair: Pair, beside_revealing: bool) -> None:
    """Refuse a pair that only floats know: one between two others that were tabulated, or a Renyi curve beside
    a loss that has none."""
    if beside_revealing and isinstance(pair, RenyiPair):
        raise UnsupportedComposition(
            "a Renyi curve is composed with a loss that may reveal everything, which is done in floating point; use "
            "engine='auto'."
        )
    exact = isinstance(pair, RenyiPair | BoundedRangePair) or pair.lower is pair.upper
    if isinstance(pair, Bracket) or not exact:
        raise UnsupportedComposition(
            "a part of this loss was tabulated in floating point, so nothing can be proved about it; its brackets from "
            "engine='auto' allow for the rounding."
        )


def _flint() -> Any:
    try:
        import flint
    except ImportError:
        raise ImportError("proofs need ball arithmetic: pip install 'dalenius[proof]'") from None
    return flint


def _enclosed(flint: Any, terms: Sum, epsilon: float) -> Bounds:
    finite: Ball = flint.arb(1)
    for pair, n in terms.terms:
        finite *= (1 - flint.arb(pair.infinite)) ** n
    infinite = 1 - finite
    if epsilon >= terms.largest or terms.infinite == 1.0:
        return _floats(infinite)
    if terms.spacing is not None:
        return _floats(infinite + _on_lattice(flint, terms.terms, epsilon))
    terms.delta(epsilon, "contour")
    line = terms.lines.line
    scattered = line is not None and line.atoms is not None and common_spacing(line.atoms) is None
    if line is None or scattered or line.nodes[-1] > MOST_NODES or _work(line) > MOST_WORK:
        raise UnsupportedComposition(
            "this sum needs the lattice engine, which is not proved in ball arithmetic; its brackets "
            "from engine='grid' are "
            "certified up to the rounding of double precision."
        )
    value, slack = _on_line(flint, line, epsilon)
    total = value
    if line.atoms is not None:
        total += _on_lattice(flint, line.atoms, epsilon)
    high = _floats(infinite + total + slack)
    low = _floats(infinite + total - slack - _aliases(flint, line, epsilon))
    return Bounds(max(0.0, low.lower), min(1.0, high.upper))


def _work(line: Contour) -> float:
    """Nodes along the line times nodes of the quadrature, for pairs that are integrals themselves."""
    reach = float(line.t[-1])
    sampled = [pair for pair, _ in line.moments.terms if isinstance(pair, SampledPair)]
    orders = [(pair, -line.c if pair.added else 1.0 + line.c) for pair in sampled]
    sizes = [
        size_for(pair.base.mu, pair.rate, m, reach)
        for pair, m in orders
        if isinstance(pair.base, GaussianPair)
    ]
    return float(line.nodes[-1]) * sum(sizes)


def _on_line(flint: Any, line: Contour, epsilon: float) -> tuple[Ball, Ball]:
    """The trapezoid sum, and what was cut off."""
    arb, acb = flint.arb, flint.acb
    c, e = arb(line.c), arb(epsilon)
    step = 2 * arb.pi() / arb(line.period)
    transforms = [(transform(flint, pair, line.c, float(line.t[-1])), n) for pair, n in line.moments.terms]
    discrete_parts = [(transform(flint, atoms, line.c, 0.0), n) for atoms, n in line.atoms or ()]
    total: Ball = arb(0)
    for k in range(int(line.nodes[-1]) + 1):
        s = acb(c, step * int(k))
        value = acb(1)
        for mgf, n in transforms:
            value *= mgf(s) ** n
        if discrete_parts:
            discrete = acb(1)
            for mgf, n in discrete_parts:
                discrete *= mgf(s) ** n
            value -= discrete
        term = (value * (-s * e).exp() / (s * (s + 1))).real
        total += term if k == 0 else 2 * term
    top: Ball = arb(1)
    for mgf, n in transforms:
        top *= mgf(acb(c)).real ** n
    lost = cut_off(
        flint,
        line,
        [
            (pair, mgf(acb(c)).real, n)
            for (pair, n), (mgf, _) in zip(line.moments.terms, transforms, strict=True)
        ],
    )
    return total / arb(line.period), lost * top * (-c * e).exp()


def _aliases(flint: Any, line: Contour, epsilon: float) -> Ball:
    """The sum over m != 0 of exp(c m T) D(e + m T), by Chernoff bounds at the two best s."""
    arb, acb = flint.arb, flint.acb
    total: Ball = arb(0)
    for offset, best in line.aliases:
        if offset == math.inf:
            return arb(1)
        x, period = arb(best), arb(line.period)
        top: Ball = arb(1)
        for pair, n in line.moments.terms:
            top *= (transform(flint, pair, best, 0.0)(acb(x)).real if best > 0 else arb(1)) ** n
        peak = (x * x.log() - (1 + x) * (1 + x).log() - x * arb(epsilon)).exp() if best > 0 else arb(1)
        total += top * peak / ((abs(x - arb(line.c)) * period).exp() - 1)
    return total


def renyi_bound(terms: Terms, epsilon: float, s: float) -> float:
    """exp(K(s) - s epsilon) s^s / (1+s)^(1+s), an upper bound on delta(epsilon), K known by Renyi curves."""
    flint = _flint()
    before = flint.ctx.prec
    flint.ctx.prec = BITS
    try:
        x = flint.arb(s)
        total: Ball = flint.arb(0)
        for pair, n in terms:
            total += n * _log_mgf(flint, pair, s)
        value = (total - x * flint.arb(epsilon) + x * x.log() - (1 + x) * (1 + x).log()).exp()
        return min(1.0, _floats(value).upper)
    finally:
        flint.ctx.prec = before


def _log_mgf(flint: Any, pair: Pair, s: float) -> Ball:
    """s times a bound on the Renyi divergence of order 1 + s."""
    x = flint.arb(s)
    if isinstance(pair, RenyiPair):
        if not math.isfinite(pair.slope):
            raise UnsupportedComposition(
                "a Renyi curve given as a function is known in floats only, so nothing can be proved about it; use "
                "engine='auto', or losses.zcdp."
            )
        return flint.arb(pair.slope) * x * (1 + x)
    own = transform(flint, pair, s, 0.0)(flint.acb(x)).real.log()
    if isinstance(pair, BoundedRangePair):
        eta = flint.arb(pair.eta)
        return own.min(eta**2 / 8 * x * (1 + x)).min(eta * x)
    return own


def _on_lattice(flint: Any, terms: Terms, epsilon: float) -> Ball:
    """D(epsilon) of atoms on one lattice: multiply their polynomials out."""
    arb = flint.arb
    product: Ball = flint.arb_poly([1])
    offset: Ball = arb(0)
    spacing = arb(1)
    for pair, n in terms:
        assert isinstance(pair, Atoms)
        assert pair.lattice is not None
        assert pair.index is not None
        first = int(pair.index.min())
        mass = [arb(0)] * (int(pair.index.max()) - first + 1)
        for j, p in zip(pair.index, pair.mass, strict=True):
            mass[int(j) - first] += arb(float(p)) * (1 + arb(0, pair.slack))
        product *= flint.arb_poly(mass) ** n
        offset += n * (arb(pair.lattice.offset, _radius(pair)) + first * arb(pair.lattice.spacing))
        if len(pair.loss) > 1:
            spacing = arb(pair.lattice.spacing)
    total: Ball = arb(0)
    for j, p in enumerate(product.coeffs()):
        excess = offset + j * spacing - arb(epsilon)
        if not excess < 0:
            total += p * (1 - (-excess).exp()).max(arb(0)) if not excess > 0 else p * (1 - (-excess).exp())
    return total


def transform(flint: Any, pair: Pair, c: float, reach: float) -> Callable[[Ball], Ball]:
    """s -> a ball that holds M(s) of the pair, for Re s = c and |Im s| <= reach."""
    arb, acb = flint.arb, flint.acb
    if isinstance(pair, GaussianPair):
        square = square_of(flint, pair)
        return lambda s: (square * s * (s + 1) / 2).exp()
    if isinstance(pair, LaplacePair):
        e = arb(pair.shift)

        def laplace(s: Ball) -> Ball:
            y = s + acb(0.5)
            fall = (-2 * y * e).exp()
            return (s * e).exp() * ((1 + fall) / 2 + (1 - fall) / (4 * y))

        return laplace
    if isinstance(pair, BoundedRangePair):
        eta = arb(pair.eta)

        def bounded(s: Ball) -> Ball:
            y = s + acb(0.5)
            return (eta / 2).exp() / (eta.exp() - 1) * (y * eta).sinh() / y

        return bounded
    if isinstance(pair, HalfNormalPair):
        mu, offset = arb(pair.mu), arb(pair.offset)

        def half_normal(s: Ball) -> Ball:
            return (s * (offset + mu**2 / 2) + (s * mu) ** 2 / 2).exp() * (1 + (s * mu / arb(2).sqrt()).erf())

        return half_normal
    if isinstance(pair, RectifiedPair):
        mu, offset = arb(pair.mu), arb(pair.offset)

        def rectified(s: Ball) -> Ball:
            z = mu * (s + acb(0.5)) / arb(2).sqrt()
            tie = (1 - (mu / 2 / arb(2).sqrt()).erf()) / 2
            return (s * offset).exp() * (tie + (mu**2 * s * (s + 1) / 2).exp() * (1 + z.erf()) / 2)

        return rectified
    if isinstance(pair, Atoms) and len(pair.loss) <= 2000:
        losses = [arb(float(x), _radius(pair)) for x in pair.loss]
        masses = [arb(float(p)) * (1 + arb(0, pair.slack)) for p in pair.mass]
        return lambda s: sum((p * (s * x).exp() for x, p in zip(losses, masses, strict=True)), acb(0))
    if isinstance(pair, SampledPair) and isinstance(pair.base, GaussianPair):
        return _sampled(flint, pair.base.mu, pair.rate, pair.added, c, reach)
    raise UnsupportedComposition(
        f"no proof in ball arithmetic is written for {type(pair).__name__}; use engine='grid' for an "
        f"independent check."
    )


def _sampled(
    flint: Any, mu: float, rate: float, added: bool, c: float, reach: float
) -> Callable[[Ball], Ball]:
    """The trapezoid rule of `pairs.sampled` with its remainder as the radius of the ball."""
    arb, acb = flint.arb, flint.acb
    m = -c if added else 1.0 + c
    strip = min(2.5 / mu, 8.5, math.sqrt(80.0 / max(-m, 1.0)) / mu)
    growth = strip**2 / 2 + reach * mu * strip + min(0.0, m) * math.log(math.cos(mu * strip / 2))
    h = 2 * math.pi * strip / (growth + 60.0)
    low, high = window(mu, rate, m)
    # The window ends where the log integrand falls with slope REACH; four more units take it down by
    # exp(-46) more.
    first, last = math.floor((low - 4.0) / h), math.ceil((high + 4.0) / h)
    g, shift, step = arb(rate), arb(mu), arb(h)
    nodes = []
    weight: Ball = arb(0)
    for k in range(first, last + 1):
        x = step * k
        log_w = (1 - g + g * (shift * x - shift**2 / 2).exp()).log()
        gauss = (-x * x / 2).exp() * step / (2 * arb.pi()).sqrt()
        size = gauss * (log_w * arb(m)).exp()
        weight += size
        nodes.append((log_w, gauss, size))
    # Remainder: 2 exp(a^2/2 + |t| mu a) cos(mu a / 2)^min(m, 0) M(c) / (exp(2 pi a / h) - 1), and both tails.
    a = arb(strip)
    spread = (a * a / 2 + arb(reach) * shift * a).exp() * (shift * a / 2).cos() ** min(arb(m), arb(0))
    rest = 2 * spread / ((2 * arb.pi() * a / step).exp() - 1)
    ends = nodes[0][2] + nodes[-1][2]
    tails = ends / (1 - (-arb(REACH) * step).exp())
    radius = (rest * 2 * weight + tails).upper()

    def mgf(s: Ball) -> Ball:
        order = -s if added else 1 + s
        total = sum((gauss * (order * log_w).exp() for log_w, gauss, _ in nodes), acb(0))
        return total + acb(arb(0, radius), arb(0, radius))

    return mgf


def _radius(pair: Atoms) -> float:
    """How far losses may be from the floats, or from the points of the lattice, that stand for them."""
    return pair.blur + 4 * UNIT * float(np.abs(pair.loss).max(initial=0.0))


def _floats(ball: Ball) -> Bounds:
    """The ball's ends as floats, rounded outward."""
    low, high = float(ball.lower()), float(ball.upper())
    if math.isnan(low) or math.isnan(high):
        return Bounds(0.0, 1.0)
    return Bounds(max(0.0, math.nextafter(low, -math.inf)), math.nextafter(high, math.inf))
