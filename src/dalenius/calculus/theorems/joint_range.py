"""The joint range of one Renyi divergence and one hockey-stick divergence. Internal to the conversions.

Write gamma = e^epsilon and M = E_Q[(dP/dQ)^a] = e^((a-1) D_a(P||Q)). Which delta = H_gamma(P||Q) can occur
together with which M? Let A = {dP/dQ > gamma}, p = P(A), q = Q(A): then p - gamma q = delta. Merging
outcomes into A and its complement keeps delta (on the complement dP <= gamma dQ, which survives merging)
and does not raise M (data processing). So the least M at a given delta is attained by a binary pair:

    m(delta) = min over p in [delta, 1] of  p^a q^(1-a) + (1-p)^a (1-q)^(1-a),   q = (p - delta)/gamma.

M is jointly convex in (P, Q), hence in (p, delta), so m is convex, m(0) = 1 is its minimum, and m
increases. Hence D_a(P||Q) <= r forces H_gamma(P||Q) <= delta exactly when m(delta) >= e^((a-1) r): no
further convex hull is needed, and the bound is attained (Asoodeh et al. 2021).

Put p = delta s. The derivative of M in p has the sign of
    x^(a-1) (s-a)/(s-1) - y^(a-1) (a - (a-1) y/gamma),   x = p/q,  y = (1-p)/(1-q),
negative for s <= a, positive at p = 1, and increasing: bisection finds its one zero in (a, 1/delta).
"""

from __future__ import annotations

import math

from dalenius.calculus.theorems.numerics import ULP
from dalenius.core.bisection import last_true


def excluded(log_delta: float, epsilon: float, order: float, divergence: float) -> bool:
    """Whether D_order <= divergence rules out a hockey-stick divergence above exp(log_delta).

    Errs towards False: the comparison must win by more than its rounding error. The position of the
    minimum is known to a few ulps and enters to second order only, far below that error.
    """
    a = order
    delta = math.exp(log_delta)
    budget = (a - 1) * divergence
    if delta * a >= 1:
        # No zero of the derivative in range: the least M is at p = 1.
        if delta >= 1:
            return True
        least = (a - 1) * (epsilon - math.log1p(-delta))
        return least > budget + 16 * ULP * (abs(least) + abs(budget))
    log_s = _log_zero(log_delta, epsilon, a)
    inverse_s = math.exp(-log_s)
    p = min(1.0, math.exp(log_delta + log_s))
    q = math.exp(log_delta + log_s - epsilon) * (1 - inverse_s)
    first = log_delta + (a - 1) * epsilon + log_s - (a - 1) * math.log1p(-inverse_s)
    size = abs(log_delta) + (a - 1) * epsilon + 2 * abs(log_s) + (a - 1) * abs(math.log1p(-inverse_s))
    second = a * math.log1p(-p) - (a - 1) * math.log1p(-q) if p < 1 else -math.inf
    if budget < 1:
        # Near M = 1 the comparison of M - 1 keeps the accuracy that comparing logarithms would lose.
        if first > 1:
            return True
        big, small, target = math.exp(first), math.expm1(second), math.expm1(budget)
        error = 16 * ULP * (big * (1 + size) + a * (p + q) * (1 + abs(log_delta) + log_s) + target)
        return big + small > target + error
    total = max(first, second) + math.log1p(math.exp(-abs(first - second)))
    moved = a * (p + q) * (1 + abs(log_delta) + log_s)
    return total > budget + 16 * ULP * (1 + size + budget + moved)


def _log_zero(log_delta: float, epsilon: float, a: float) -> float:
    """log s at the zero of the derivative, by bisection on w = log(s/a - 1)."""
    log_a = math.log(a)

    def rising(w: float) -> bool:
        log_s = log_a + (math.log1p(math.exp(w)) if w < 700 else w)
        inverse_s = math.exp(-log_s)
        p = math.exp(log_delta + log_s)
        if p >= 1:
            return True
        q = math.exp(log_delta + log_s - epsilon) * (1 - inverse_s)
        log_x = epsilon - math.log1p(-inverse_s)
        log_y = math.log1p(-p) - math.log1p(-q)
        # (s - a)/(s - 1) with s - a = a e^w.
        left = (a - 1) * (log_x - log_y) + log_a + w - log_s - math.log1p(-inverse_s)
        return left > math.log(a - (a - 1) * math.exp(log_y - epsilon))

    low, high = -745.0, max(-log_delta - log_a, 0.0) + 1
    high, low = last_true(rising, high, low, steps=70)
    w = (low + high) / 2
    log_s = log_a + (math.log1p(math.exp(w)) if w < 700 else w)
    return min(log_s, -log_delta)
