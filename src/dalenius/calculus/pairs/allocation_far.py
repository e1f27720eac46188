"""One of t steps where there is hardly any noise: the step is found, and what is left is the choice, log t.

With W_i = exp(mu x_i - mu^2/2), S their sum and L = log(S/t), and c the step that the record takes part in:

- remove, from below: S >= W_c, so L is at least the loss of a step that is known, less log t. Of k steps out of t the
  ratio of the densities is at least that of k known ones over binom(t, k). It also is at least that of one step in each
  of k parts of m steps, times m^k/binom(t, k), the share of such choices: a random division into parts and then one
  step in each is a random choice of k, and all divisions are alike.
- remove, from above: unless another x_i is beyond mu/2, probability (t - 1) Phi(-mu/2) at most, the others add less
  than t to S; unless x_c < mu - a, probability Phi(-a), W_c >= exp(mu^2/2 - mu a) = t e^30 for
  a = mu/2 - (log t + 30)/mu. Then L is at most the known loss less log t, and e^-30 more.
- add, from above: -L <= log t + mu^2/2 - mu M, M the largest x_i, P(M <= x) = Phi(x)^t. With c = 2 log(t)/mu this is at
  most Phi(x - c) for x <= x_0, if it is at x_0: the difference d of the logarithms has the derivative
  t h(x) - h(x - c), h = phi/Phi, and h is log-concave, so that d rises first and then falls to 0, and is below 0 up to
  where it crosses. So M can be taken to be at least y + c for a normal y, unless y > x_0 - c, and -L to be at most
  mu^2/2 - mu y - log t: as in the other direction.

What is excluded counts as an infinite loss.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import gammaln, ndtr

from dalenius.calculus.pairs.atoms import Atoms
from dalenius.calculus.pairs.gaussian import GaussianPair
from dalenius.calculus.pairs.pair import UNIT, Bounds, Pair, Reals, Tilted

SURE = 30.0
"""The others are as much as e^-SURE of the step itself."""
LEAST = 1e-300
FEW = 10_000
"""Choices of so many are counted factor by factor."""


@dataclass(frozen=True)
class _ShiftedGaussianPair(Pair):
    """L ~ N(mu^2/2 - down, mu^2) under P, or +inf: a law of losses alone, which bounds one of a true pair.

    Under Q it would have a mass above 1; nothing is made of it but sums.
    """

    mu: float
    down: float
    infinite: float = 0.0

    @cached_property
    def _base(self) -> GaussianPair:
        return GaussianPair(self.mu)

    def delta(self, epsilon: float) -> Bounds:
        at, off = epsilon + self.down, 4 * UNIT * (abs(epsilon) + self.down)
        low, high = self._base.delta(at + off).lower, self._base.delta(at - off).upper
        return Bounds(low, min(1.0, (high + self.infinite) * (1 + 2 * UNIT)))

    def log_mgf(self, s: Reals) -> Reals:
        return self._base.log_mgf(s) - self.down * s

    def renyi_log_mgf(self, s: Reals) -> Reals:
        return np.full(len(s), math.inf)

    def tilted(self, c: float, t: Reals) -> Tilted:
        plain = self._base.tilted(c, t)
        phase = self.down * t
        values = plain.values * np.exp(-1j * phase)
        error = plain.error + UNIT * (8.0 + 4.0 * np.abs(phase)) * np.abs(plain.values)
        return Tilted(plain.log_scale - c * self.down, values, error)

    def envelope(self, c: float, t: Reals, times: int = 1) -> Reals:
        return self._base.envelope(c, t, times)

    def cells(self, edges: Reals) -> tuple[Reals, Reals]:
        p, q = self._base.cells(edges + self.down)
        return p, q * math.exp(self.down)


def known_choice(mu: float, steps: int, chosen: int) -> _ShiftedGaussianPair:
    """From below, in the remove direction: one of so many known steps, less its part of the log of the choices."""
    return _ShiftedGaussianPair(mu, _log_ways(steps, chosen) / chosen * (1 + 4 * UNIT))


def less_division(part: Atoms, steps: int, chosen: int) -> Atoms:
    """From below, in the remove direction: one step of each of `chosen` parts, less the logarithm of the divisions."""
    size = steps // chosen
    less = (_log_ways(steps, chosen) - chosen * math.log(size) * (1 - 4 * UNIT)) / chosen * (1 + 4 * UNIT)
    return Atoms(
        part.loss - less, part.mass, slack=part.slack, blur=part.blur + 2 * UNIT * (less + part.reach)
    )


def _log_ways(steps: int, chosen: int) -> float:
    """log of the number of choices, rounded up."""
    if chosen <= FEW:
        logs = [math.log((steps - j) / (j + 1)) for j in range(chosen)]
        return math.fsum(logs) + 4 * UNIT * (chosen + math.fsum(map(abs, logs)))
    # Each logarithm of a factorial is known to some roundings of itself.
    whole = float(gammaln(steps + 1))
    return whole - float(gammaln(chosen + 1)) - float(gammaln(steps - chosen + 1)) + 1e-13 * (1.0 + whole)


def found_step(mu: float, steps: int, added: bool) -> _ShiftedGaussianPair | None:
    """From above, of one of so many steps; None where that cannot be told."""
    choice = math.log(steps) * (1 - 4 * UNIT)
    if not added:
        a = mu / 2 - (choice + SURE) / mu - 1e-9
        missed = steps * float(ndtr(-mu / 2)) + float(ndtr(-a))
        return _ShiftedGaussianPair(mu, choice - 2 * math.exp(-SURE), missed * (1 + 1e-9) + LEAST)
    end, c = mu / 2 - 1.0, 2 * math.log(steps) / mu * (1 + 4 * UNIT)
    here, there = (-math.log1p(-float(ndtr(-x))) for x in (end, end - c))
    if steps * here < there * (1 + 1e-9):
        return None
    return _ShiftedGaussianPair(mu, choice, float(ndtr(c - end)) * (1 + 1e-9) + LEAST)
