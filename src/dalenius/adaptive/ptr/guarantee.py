"""What a release after a private test costs.

Let the answer of a test have the loss T and the mechanism, on data that keep its budget, the loss B; data that do not
keep it pass with probability at most w. Write H_a(P||Q) for the integral of (p - a q)+, a = e^epsilon.

**One proposal** (`after_test`; sharper than Redberg 2023, Theorem 3.5.3). Take neighbours X, X', in this order. If X or
X' keeps the budget, T + B dominates: the mechanism is run after the test, which is composition. If neither does, they
pass with probabilities p, p' <= w. A refusal is one and the same outcome, so that for a >= 1

    H_a <= (1 - p - a (1 - p'))+ + p = max(p, 1 - a (1 - p')) <= w.

The larger of the two holds for all neighbours. With T = (e, d) and B = (e', d') it is (e + e', max(d + d', w)); the
thesis has d + d' + w, and d + max(d', w) in its proof. It is at most T + B with an outcome of infinite loss that brings
the profile up to w in the end.

If a loss is known in one direction only (data-dependent Renyi bounds of PATE), X must keep the budget for the pair (X,
X'). Where it does not, X' may, and then p' <= t = 1 - f(w), f being the trade-off curve of T: a test of level w has no
more power. H_a is then at most max(w, 1 - a (1 - t)), which is below the above if T + B is at least t at the corner
a = (1 - w)/(1 - t), since it falls; if it is not, t takes the place of w. This is always done.

**A uniform bound** (`after_statement`; Redberg 2023, Theorem B.2.4). A statement s with loss T is false for X with
probability at most w; where it is true the mechanism chosen by it has the loss B at X. The part of H_a where s is true
is at most that of T + B, the rest at most w: H_a <= H_a(T + B) + w. The three deltas add, and with them all of the
profile (T + B + approx(0, w) would be a little too small: its profile is w + (1 - w) H_a).

**Renyi divergences** (`after_test_renyi`). If there is a bound e(a) on the divergence D_a of the mechanism between any
neighbours, no delta is needed. Where neither X nor X' keeps the budget,

    exp((a-1) D_a) <= (1-p)^a (1-p')^(1-a) + p^a p'^(1-a) exp((a-1) e(a)),

and by D_b(T) at an order b > a, p' >= p^(b/(b-1)) exp(-D_b(T)), so that p^a p'^(1-a) <= p^((b-a)/(b-1)) exp((a-1)
D_b(T)). The first term is largest at p = 0 and p' = t, the second at p = w:

    exp((a-1) D_a) <= (1-t)^(1-a) + min over b > a of w^((b-a)/(b-1)) exp((a-1)(D_b(T) + e(a))).

For a test that is pure e^, b = inf: w exp((a-1)(e^ + e(a))), as in Redberg 2023, Theorem B.2.5. That theorem has the
same for every test with D_a(T) = e^, which is false: it would need b = a, where the power of w is 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dalenius.calculus import losses
from dalenius.calculus.loss import Loss
from dalenius.calculus.losses.tables import epsilon_grid
from dalenius.calculus.pairs.bracket import Bracket
from dalenius.calculus.pairs.tabulate import symmetric_above, symmetric_below
from dalenius.core import checks
from dalenius.errors import InvalidParameter

ORDERS = (1.05, 1.2, 1.5, 2.0, 3.0, 5.0, 9.0, 17.0, 33.0, 65.0, 257.0, 1025.0)
"""Tried for b - a + 1."""


@lru_cache(maxsize=256)
def after_test(test: Loss, wrong_pass: float, budget: Loss) -> Loss:
    """The loss of a mechanism with this budget, run if a test passes.

    Parameters
    ----------
    test
        The loss of the answer.
    wrong_pass
        At most how likely data that do not keep the budget are to pass.
    budget
        The loss of the mechanism on data that keep it.

    Returns
    -------
    Loss
        What the answer and the release, or the refusal, cost together.

    Raises
    ------
    InvalidParameter
        If the test promises nothing.
    """
    kept = test + budget
    wrong = checks.failure_probability("wrong_pass", wrong_pass)
    reach = _power(test, wrong)
    corner = max(0.0, math.log1p(-wrong) - math.log1p(-reach))
    if kept.delta_bounds(corner).lower < reach:
        wrong = max(wrong, reach)
    infinite = kept.delta_at_infinity()
    if infinite >= wrong:
        return kept
    return kept + losses.approx(0.0, (wrong - infinite) / (1 - infinite) * (1 + 2.0**-50), kept.adjacency)


@lru_cache(maxsize=256)
def after_statement(statement: Loss, failure: float, budget: Loss) -> Loss:
    """The loss of a mechanism chosen by a private statement, within this budget where the statement is true.

    Parameters
    ----------
    statement
        The loss of the statement.
    failure
        At most how likely it is to be false.
    budget
        The loss of the mechanism it chooses, on data of which it is true.

    Returns
    -------
    Loss
        What the statement and the release cost together.

    Raises
    ------
    InvalidParameter
        If the failure is not a probability below 1.
    """
    kept = statement + budget
    failure = checks.failure_probability("failure", failure)
    if failure == 0.0:
        return kept
    grid = epsilon_grid(kept)
    bounds = [kept.delta_bounds(float(e)) for e in grid]
    high = np.array([b.upper for b in bounds])
    below = symmetric_below(grid, np.array([b.lower for b in bounds]), high)
    above = symmetric_above(grid, (high + failure) * (1 + 2.0**-50))
    name = f"after_statement({statement.expression}, {budget.expression}, failure={failure:.12g})"
    return Loss.symmetric(Bracket(below, above), kept.adjacency, name)


def after_test_renyi(test: Loss, wrong_pass: float, budget: Loss, worst: Loss) -> Loss:
    """The loss of a mechanism run if a test passes, by Renyi divergences, without any delta.

    Parameters
    ----------
    test
        The loss of the answer.
    wrong_pass
        At most how likely data that do not keep the budget are to pass.
    budget
        The loss of the mechanism on data that keep it.
    worst
        The loss of the mechanism on any data.

    Returns
    -------
    Loss
        What the answer and the release, or the refusal, cost together.

    Raises
    ------
    InvalidParameter
        If the test promises nothing.
    AdjacencyMismatch
        If the losses are stated for different neighbouring relations.
    """
    kept = test + budget
    _ = kept + worst
    wrong = checks.failure_probability("wrong_pass", wrong_pass)
    return losses.rdp(_Divergence(test, kept, worst, wrong, _power(test, wrong)), kept.adjacency)


@dataclass(frozen=True)
class _Divergence:
    """The Renyi divergence of a release after a test, as a function of the order."""

    test: Loss
    kept: Loss
    worst: Loss
    wrong: float
    reach: float

    def __call__(self, order: float) -> float:
        a = float(order)
        return max(self.kept.renyi(a), _log_sum(self._refused(a), self._passed(a)) / (a - 1)) * (1 + 1e-14)

    def _refused(self, a: float) -> float:
        return -(a - 1) * math.log1p(-self.reach)

    def _passed(self, a: float) -> float:
        if self.wrong == 0.0:
            return -math.inf

        def at(share: float, divergence: float) -> float:
            return share * math.log(self.wrong) + (a - 1) * (divergence + self.worst.renyi(a))

        orders = [a + x - 1 for x in ORDERS]
        return min(
            at(1.0, self.test.epsilon(0.0)), *(at((b - a) / (b - 1), self.test.renyi(b)) for b in orders)
        )


def _log_sum(x: float, y: float) -> float:
    return math.inf if math.inf in (x, y) else float(np.logaddexp(x, y))


def _power(test: Loss, wrong: float) -> float:
    """The most with which data pass whose neighbours pass with probability `wrong` at most."""
    reach = 1.0 - test.tradeoff(wrong)
    if not reach < 1.0:
        raise InvalidParameter("the test's loss promises nothing: data that must be refused may always pass.")
    return reach
