"""delta(epsilon) in ball arithmetic: every operation carries its own error, so the result is a proof.

The float engines pick the line, the step and the cut, any of which is valid; here the sums behind them are
evaluated anew with python-flint's balls (Johansson 2017): the moment generating functions with their
quadrature remainders, the aliasing series, the discrete parts, and the tail cut off along the line by the
decay of the characteristic functions (`Pair.decay_in_balls`). What is known by a Renyi curve is bounded at one
order, which floats pick, in balls. A loss with a part that only floats know (a tabulated profile, a curve
given as a function, the lattice engine) is refused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dalenius.calculus.engines.contour import Contour
from dalenius.calculus.engines.lattice import common_spacing
from dalenius.calculus.pairs.pair import Ball, Bounds, Pair, Terms
from dalenius.errors import UnsupportedComposition

if TYPE_CHECKING:
    from dalenius.calculus.engines.accountant import Sum

PRECISION = 160
MOST_NODES = 150_000
MOST_EXPONENTIALS = 500_000
"""Exponentials in ball arithmetic, a few microseconds each, that a proof may take for sampled pairs."""
CELLS = 120
GROWTH = 1.15
"""The tail is bounded cell by cell, each this much longer than the last."""


def delta_bounds(terms: Sum, epsilon: float) -> Bounds:
    """Bounds on delta(epsilon) of the sum, infinite mass included."""
    flint = _flint()
    with flint.ctx.workprec(PRECISION):
        return _enclosed(flint, terms, epsilon)


def check(pair: Pair, beside_revealing: bool) -> None:
    """Refuse a pair that only floats know: one between two others that were tabulated or that rest on a probability
    from SciPy, or a Renyi curve beside a loss that has none."""
    if beside_revealing and not pair.has_law:
        raise UnsupportedComposition(
            "a Renyi curve is composed with a loss that may reveal everything, which is done in floating point; use "
            "engine='auto'."
        )
    if not pair.is_provable:
        raise UnsupportedComposition(
            "a part of this loss was computed in floating point (a table, or a probability such as that of a full "
            "batch), so nothing can be proved about it; its brackets from engine='auto' allow for the rounding."
        )


def _flint() -> Any:
    try:
        import flint
    except ImportError:
        raise ImportError("proofs need ball arithmetic: pip install 'dalenius[proof]'") from None
    return flint


def _enclosed(flint: Any, terms: Sum, epsilon: float) -> Bounds:
    finite = ((1 - _between(flint, pair.infinite_bounds)) ** n for pair, n in terms.terms)
    infinite = 1 - math.prod(finite, start=flint.arb(1))
    if epsilon >= terms.largest or terms.infinite == 1.0:
        return _floats(infinite)
    if len(terms.terms) == 1 and terms.terms[0][1] == 1:
        closed = terms.terms[0][0].delta_in_balls(flint, epsilon)
        if closed is not None:
            return _floats(closed)
    if terms.spacing is not None:
        return _floats(infinite + _on_lattice(flint, terms.terms, epsilon))
    terms.plain_lines.delta(epsilon)
    line = terms.plain_lines.line
    scattered = line is not None and line.atoms is not None and common_spacing(line.atoms) is None
    if line is None or scattered or line.nodes[-1] > MOST_NODES or _work(line) > MOST_EXPONENTIALS:
        raise UnsupportedComposition(
            "this sum needs the lattice engine, which is not proved in ball arithmetic; its brackets from "
            "engine='grid' are certified up to the rounding of double precision."
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
    return float(line.nodes[-1]) * sum(pair.work_in_balls(line.c, reach) for pair, _ in line.moments.terms)


def _on_line(flint: Any, line: Contour, epsilon: float) -> tuple[Ball, Ball]:
    """The trapezoid sum, and what was cut off."""
    arb, acb = flint.arb, flint.acb
    c, e = arb(line.c), arb(epsilon)
    step = 2 * arb.pi() / arb(line.period)
    transforms = [(pair.in_balls(flint, line.c, float(line.t[-1])), n) for pair, n in line.moments.terms]
    discrete_parts = [(atoms.in_balls(flint, line.c, 0.0), n) for atoms, n in line.atoms or ()]
    total: Ball = arb(0)
    for k in range(int(line.nodes[-1]) + 1):
        s = acb(c, step * int(k))
        value = math.prod((mgf(s) ** n for mgf, n in transforms), start=acb(1))
        if discrete_parts:
            value -= math.prod((mgf(s) ** n for mgf, n in discrete_parts), start=acb(1))
        term = (value * (-s * e).exp() / (s * (s + 1))).real
        total += term if k == 0 else 2 * term
    tops = [mgf(acb(c)).real for mgf, _ in transforms]
    top = math.prod((value**n for value, (_, n) in zip(tops, transforms, strict=True)), start=arb(1))
    terms = [(pair, value, n) for (pair, n), value in zip(line.moments.terms, tops, strict=True)]
    return total / arb(line.period), _cut_off(flint, line, terms) * top * (-c * e).exp()


def _cut_off(flint: Any, line: Contour, terms: Sequence[tuple[Pair, Ball, int]]) -> Ball:
    """The sum over the nodes after the last, relative to M(c) exp(-c e). terms: pairs, M(c), how often.

    Nodes in a cell are at most its width / h + 1, each with |1/(s(s+1))| <= 1/t^2 and weight h/pi; beyond the last
    cell the bound stays. Where every term has atoms they are left out of the sum, and |prod M - prod A| is at
    most prod |M| + prod A(c), or, with |M| <= A(c) + rest, prod (A(c) + rest) - prod A(c).
    """
    arb = flint.arb
    h = 2 * arb.pi() / arb(line.period)
    bounds = [(pair.decay_in_balls(flint, line.c, top), n) for pair, top, n in terms]
    shares = None
    if line.atoms is not None:
        shares = [(_share(flint, pair, line.c, top), n) for pair, top, n in terms]
    total: Ball = arb(0)
    left = h * (int(line.nodes[-1]) + 1)
    for cell in range(CELLS + 1):
        right = left * arb(GROWTH) if cell < CELLS else None
        most = [(envelope(left, right), n) for envelope, n in bounds]
        if shares is None:
            piece = math.prod((bound.min(arb(1)) ** n for bound, n in most), start=arb(1))
        else:
            piece = math.prod((bound**n for bound, n in most), start=arb(1))
            still = math.prod((share**n for share, n in shares), start=arb(1))
            piece = (piece - still).min(piece.min(arb(1)) + still)
        if right is None:
            total += piece * (1 / left + h / left**2)
            break
        total += (right - left + h) * piece / left**2
        left = right
    return total / arb.pi()


def _share(flint: Any, pair: Pair, c: float, top: Ball) -> Ball:
    """A(c) / M(c), A the transform of the atoms."""
    assert pair.atomic is not None
    return pair.atomic.in_balls(flint, c, 0.0)(flint.acb(flint.arb(c))).real / top


def _aliases(flint: Any, line: Contour, epsilon: float) -> Ball:
    """The sum over m != 0 of exp(c m T) D(e + m T), by Chernoff bounds at the two best s."""
    arb, acb = flint.arb, flint.acb
    total: Ball = arb(0)
    for offset, best in line.aliases:
        if offset == math.inf:
            return arb(1)
        x, top = arb(best), arb(1)
        if best > 0:
            top = (x * x.log() - (1 + x) * (1 + x).log() - x * arb(epsilon)).exp()
            for pair, n in line.moments.terms:
                top *= pair.in_balls(flint, best, 0.0)(acb(x)).real ** n
        total += top / ((abs(x - arb(line.c)) * arb(line.period)).exp() - 1)
    return total


def renyi_bound(terms: Terms, epsilon: float, s: float) -> float:
    """exp(K(s) - s epsilon) s^s / (1+s)^(1+s), an upper bound on delta(epsilon), K known by Renyi curves."""
    flint = _flint()
    with flint.ctx.workprec(PRECISION):
        x = flint.arb(s)
        total = sum((n * pair.renyi_in_balls(flint, s) for pair, n in terms), flint.arb(0))
        value = (total - x * flint.arb(epsilon) + x * x.log() - (1 + x) * (1 + x).log()).exp()
        return min(1.0, _floats(value).upper)


def _on_lattice(flint: Any, terms: Terms, epsilon: float) -> Ball:
    """D(epsilon) of atoms on one lattice: multiply their polynomials out."""
    arb = flint.arb
    product: Ball = flint.arb_poly([1])
    offset: Ball = arb(0)
    spacing = arb(1)
    for term, n in terms:
        pair = term.as_atoms
        assert pair is not None
        assert pair.lattice is not None
        assert pair.index is not None
        first = int(pair.index.min())
        mass = [arb(0)] * (int(pair.index.max()) - first + 1)
        for j, p in zip(pair.index, pair.mass, strict=True):
            mass[int(j) - first] += arb(float(p)) * (1 + arb(0, pair.slack))
        product *= flint.arb_poly(mass) ** n
        offset += n * (arb(pair.lattice.offset, pair.radius) + first * arb(pair.lattice.spacing))
        if len(pair.loss) > 1:
            spacing = arb(pair.lattice.spacing)
    total: Ball = arb(0)
    for j, p in enumerate(product.coeffs()):
        excess = offset + j * spacing - arb(epsilon)
        if not excess < 0:
            total += p * (1 - (-excess).exp()).max(arb(0)) if not excess > 0 else p * (1 - (-excess).exp())
    return total


def _between(flint: Any, bounds: Bounds) -> Ball:
    """The ball of all numbers between two floats."""
    return flint.arb(bounds.lower).union(flint.arb(bounds.upper))


def _floats(ball: Ball) -> Bounds:
    """The ball's ends as floats, rounded outward."""
    low, high = float(ball.lower()), float(ball.upper())
    if math.isnan(low) or math.isnan(high):
        return Bounds(0.0, 1.0)
    return Bounds(max(0.0, math.nextafter(low, -math.inf)), math.nextafter(high, math.inf))
