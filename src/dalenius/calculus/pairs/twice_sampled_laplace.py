"""Two steps of sampled Laplace noise, both in the continuous part of the loss: their share of delta.

With z and z' the losses of the two Laplace pairs, l the logarithm of w = 1 - g + g exp(z), and X = x, or -x in the add
direction, the outcomes on the edge of the region that counts have l(z) + l(z') = X; z = z' = middle on the diagonal.

- Where both losses are beyond x/2: a product of two ranges, (P - exp(x/2) Q) (P + exp(x/2) Q), P and Q their masses,
  of which the first factor is the share of one step at x/2.
- Elsewhere one integral over the smaller of the two, a, up to the middle; the other is b(a) on the edge, with
  exp(b) = (exp(X)/w(a) - (1-g))/g, and what lies beyond has a closed form. As q = g exp(z)/w grows with z,
  |b'| = q(a)/q(b) <= 1.

For complex a = u + iv, |v| <= h, w(a) is within q(u) h of w(u), relatively, and so exp(b) is within q(u)/q(b) h/(1-h)
of its value at u: less than a half on the ellipses below, which reach beyond the middle by 0.16 at most, h < 0.27.
"""

from __future__ import annotations

import math

import numpy as np

from dalenius.calculus.pairs.mixture import log_mixture
from dalenius.calculus.pairs.pair import UNIT, Reals
from dalenius.calculus.pairs.sampled import before_sampling

RULES = [(0.05, np.polynomial.legendre.leggauss(10), 8.0), (0.2, np.polynomial.legendre.leggauss(30), 3.0)]
"""Half width of panels, nodes and weights, and the parameter of their Bernstein ellipses."""


def two_continuous(
    e: float, rate: float, added: bool, x: Reals, half: tuple[Reals, Reals]
) -> tuple[Reals, Reals]:
    """Bounds at many x; `half` are those of one step at x/2."""
    sign = -1.0 if added else 1.0
    total = sign * x
    middle, off_middle = _loss_before(total / 2, rate, e)
    top, _ = log_mixture(np.array([e]), rate)
    low, _ = _loss_before(total - float(top[0]), rate, e)
    low = np.minimum(np.maximum(low, -e), e)
    end = np.minimum(np.maximum(middle, low), e)
    # The square: P- and Q-masses beyond the middle, v = exp(-z/2) being uniform.
    edge = np.minimum(np.maximum(middle, -e), e)
    if added:
        mass = -0.5 * np.expm1(-(edge + e) / 2)
        grown = 0.5 * np.expm1((edge + e) / 2) * math.exp(-e)  # mean of exp(z)
    else:
        mass = 0.5 * math.exp(-e) * np.expm1((e - edge) / 2)
        grown = -0.5 * np.expm1((edge - e) / 2)
    mixed = (1 - rate) * mass + rate * grown
    both = (mass + np.exp(x / 2) * mixed) if added else (mixed + np.exp(x / 2) * mass)
    slack = UNIT * (64 + 8 * np.abs(x) + 8 * e) + off_middle
    wide = float(((end - low) / 2).max(initial=0.0))
    radius, (nodes, weights), rho = next((rule for rule in RULES if wide <= rule[0]), RULES[-1])
    count = max(1, math.ceil(wide / radius))
    r = (end - low) / (2 * count)
    place = (1 + 2 * np.arange(count)[:, None] + nodes).ravel()
    a = low[:, None] + r[:, None] * place
    log_w = log_mixture(a, rate)[0]
    b, off = _loss_before(total[:, None] - log_w, rate, e)
    factor = np.tile(weights, count) * r[:, None]
    if added:
        # Density of b, of the outcomes beyond, and db/da.
        outer = np.exp(total[:, None] - 3 * log_w - e / 2 + a - 1.5 * b) * (rate / 4)
        inner = math.exp(-e) * np.expm1((a + e) / 2) ** 2
        lower, upper = outer * inner * (1 - 2 * off), outer * inner * (1 + 2 * off)
    else:
        outer = np.exp(log_w - (a + e) / 2) * (rate / 4)
        lower = outer * np.expm1((np.minimum(b + off, e) - e) / 2) ** 2
        upper = outer * np.expm1((np.minimum(b, e) - off - e) / 2) ** 2
    slack_two = UNIT * (64 + 8 * np.abs(x) + 8 * e + len(place))
    # The middle is off by a little, and the integrand there is at most twice that at any node near it.
    moved = 8 * off_middle * upper.max(axis=1, initial=0.0) * (end > low)
    missed = (
        64
        / 15
        * count
        * r
        * rho ** (-2 * len(nodes))
        / (1 - rho**-2)
        * _largest(e, rate, added, total, low, end, r)
    )
    first = (half[0] * both * (1 - slack), half[1] * both * (1 + slack))
    second = ((lower * factor).sum(axis=1), (upper * factor).sum(axis=1))
    inside = middle < e if not added else middle > -e
    least = np.where(inside, first[0] + second[0] * (1 - slack_two) - moved - missed, 0.0)
    most = np.where(inside, first[1] + second[1] * (1 + slack_two) + moved + missed, 0.0)
    return np.maximum(least, 0.0), most + 1e-300


def _loss_before(y: Reals, rate: float, e: float) -> tuple[Reals, Reals]:
    """The loss that sampling turns into y, and how far rounding may move it, within (-e, e)."""
    z = np.maximum(before_sampling(y, rate), -e - 1.0)
    gain = np.abs(np.expm1(np.minimum(y, 700.0)))
    far = np.exp(-np.maximum(z, -e))
    return z, UNIT * (8 + 4 * np.abs(z) + 16 * (gain / rate + 1 + np.abs(y) * (gain + 1) / rate) * far)


def _largest(e: float, rate: float, added: bool, total: Reals, low: Reals, end: Reals, r: Reals) -> Reals:
    """A bound on the integrand on all ellipses: they reach 3.1 r beyond the ends, and b moves by 16 r there at most."""
    beyond = 3.1 * r
    if added:
        near = (end + e) / 2 + 8 * r
        log_w = log_mixture(np.maximum(low - beyond, -e - 1.0), rate)[0]
        size = np.exp(total - 3 * log_w - e / 2 + end + beyond - 1.5 * (end - 16 * r)) * (rate / 4)
        return np.asarray(size * 8.0 * math.exp(-e) * (near * np.exp(near)) ** 2)
    near = (e - end) / 2 + 8 * r
    size = np.exp(log_mixture(end + beyond, rate)[0] - (low - beyond + e) / 2) * (rate / 4)
    return np.asarray(size * (near * np.exp(near)) ** 2)
