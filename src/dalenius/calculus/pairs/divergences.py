"""Renyi divergences of a sum of independent losses, and the rho and the mu that bound it; all rounded up."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from dalenius.calculus.pairs.pair import UNIT, Reals, Terms
from dalenius.core.checks import float_up


def reveals(terms: Terms) -> bool:
    """Whether some outcome is possible for one neighbour only: no Renyi divergence is finite then."""
    return any(pair.infinite > 0 and not pair.tail_only for pair, _ in terms)


def log_mgf(terms: Terms, s: Reals) -> Reals:
    """s times a bound on the Renyi divergence of order 1 + s, the tightest known term by term."""
    total = sum((n * pair.renyi_log_mgf(s) for pair, n in terms), np.zeros_like(s))
    return np.asarray(total * (1 + 4 * UNIT * (1 + len(terms))))


def renyi(terms: Terms, order: float) -> float:
    """An upper bound on the Renyi divergence of this order, from 1 up."""
    if reveals(terms):
        return math.inf
    if not terms:
        return 0.0
    # Divergences grow with the order, so a larger one bounds this; near order 1 rounding is divided by less there.
    least = float_up(Fraction(order) - 1)
    orders = np.geomspace(1e-9, 1.0, 37)
    s = np.append(orders[orders > least], least if least >= 1e-9 else 1e-9)
    return max(0.0, float((log_mgf(terms, s) / s).min()) * (1 + 4 * UNIT))


def gdp(terms: Terms) -> float:
    """A mu for which the sum is mu-GDP; inf when none is known."""
    if len(terms) == 1 and terms[0][1] == 1:
        return terms[0][0].gdp
    return math.hypot(*(math.sqrt(n) * pair.gdp for pair, n in terms)) * (1 + UNIT * (8 + len(terms)))


def zcdp(terms: Terms) -> float:
    """The least rho known: from the divergences, or term by term from the largest losses."""
    by_reach = sum(n * min(pair.zcdp, pair.zcdp_by_reach) for pair, n in terms)
    by_reach *= 1 + UNIT * (8 + 2 * len(terms))
    return min(_steepest(terms), math.inf if reveals(terms) else by_reach)


def _steepest(terms: Terms) -> float:
    """sup over orders of D_order / order: each cell of an order grid by the chord of its ends.

    log M is convex, so bounds on it at two orders bound it between them by the line through both.
    """
    if not terms:
        return 0.0
    slope = sum(n * pair.asymptote[0] for pair, n in terms)
    rise = sum(n * pair.asymptote[1] for pair, n in terms)
    if reveals(terms) or not math.isfinite(slope):
        return math.inf
    more = 1 + UNIT * (8 + 2 * len(terms))
    known = sum(n * pair.zcdp for pair, n in terms)
    if math.isfinite(known) and not any(pair.zcdp_is_loose for pair, _ in terms):
        return known if len(terms) == 1 and terms[0][1] == 1 else known * more
    far = min(max(1e3, 1e3 * rise / max(renyi(terms, 1.0), 1e-300)), 1e9)
    edges = 1.0 + np.concatenate(([0.0], np.geomspace(1e-4, far, 400)))
    best = (slope + rise / float(edges[-1])) * more

    def divergence(orders: Reals) -> Reals:
        """Of increasing orders; that of a larger one bounds that of a smaller."""
        s = orders - 1.0
        return np.minimum.accumulate((log_mgf(terms, s) / s)[::-1])[::-1]

    at = divergence(edges[1:]) * (1 + 8 * UNIT)
    left, right, at_right = edges[:-1], edges[1:], at
    at_left = np.append(at[0], at[:-1])  # divergences grow with the order
    for _ in range(12):
        reached = max(best, float((at_right / right).max()))
        bounds = _highest(left, right, at_left, at_right)
        open_ = bounds > reached * (1 + 1e-9)
        best = max(best, float(bounds[~open_].max(initial=0.0)))
        left, right, at_left, at_right = left[open_], right[open_], at_left[open_], at_right[open_]
        if not open_.any() or len(left) > 2000:
            break
        cuts = left[:, None] + (right - left)[:, None] * np.linspace(0.0, 1.0, 9)
        inner = divergence(cuts[:, 1:-1].ravel()).reshape(len(cuts), -1) * (1 + 8 * UNIT)
        values = np.concatenate((at_left[:, None], inner, at_right[:, None]), axis=1)
        left, right = cuts[:, :-1].ravel(), cuts[:, 1:].ravel()
        at_left, at_right = values[:, :-1].ravel(), values[:, 1:].ravel()
    return max(best, float(_highest(left, right, at_left, at_right).max(initial=0.0)))


def _highest(left: Reals, right: Reals, at_left: Reals, at_right: Reals) -> Reals:
    """The largest D_order / order between two orders, from the divergences there: of a chord, and by monotonicity.

    A chord a + b s of log M, divided by s (1 + s), has its largest value where b s^2 + 2 a s + a = 0 if a < 0; next to
    there it is flat, so roundings of s do no harm.
    """
    s, t = left - 1.0, right - 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        b = (at_right * t - at_left * s) / (t - s)
        a = at_left * s - b * s
        top = np.where((a < 0) & (b > 0), (-a + np.sqrt(np.maximum(a * a - a * b, 0.0))) / b, s)
        top = np.clip(np.nan_to_num(top, nan=0.0), s, t)
        chord = (at_left * s + b * (top - s)) / (top * (1 + top)) * (1 + 64 * UNIT)
    plain = at_right / left
    return np.asarray(np.where(np.isfinite(chord) & (s > 0), np.minimum(plain, chord), plain))
