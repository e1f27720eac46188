"""delta(epsilon) of losses with atoms on no common lattice: a line that a little Gaussian noise cuts short.

Atoms do not decay along the line of `contour`, so it cannot be cut. Compose the loss L with that of a Gaussian
pair, Z ~ N(v/2, v) with a tiny v: the transform gains exp(v s (s+1) / 2), which ends the line at a few
1/sqrt(v). Composition with anything tells no less, so what the line then gives is an upper bound. It is above the
truth by little. Write x = L - e, tau^2 = v. By Black and Scholes

    E (1 - exp(-x - Z))_+ = Phi(x/tau + tau/2) - exp(-x) Phi(x/tau - tau/2),

whose derivative by tau is phi(x/tau + tau/2), because phi(y) = exp(-x) phi(y - tau) at y = x/tau + tau/2. As tau -> 0
it tends to (1 - exp(-x))_+. So the excess at x is

    int_0^tau phi(x/u + u/2) du,   phi(x/u + u/2) = exp(-x^2/(2 u^2) - x/2 - u^2/8) / sqrt(2 pi),

which lies between 0 and tau exp(-x^2/(2 tau^2) - x/2) / sqrt(2 pi) = v exp(v/8) times the density of x + Z at 0. Taking
the mean over L, with f the density of L + Z,

    D_smoothed(e) - v exp(v/8) f(e) <= D(e) <= D_smoothed(e).

No smoothness of L is assumed, and f is read off the same line, with 1 for the kernel 1/(s (s+1)): the trapezoid
rule gives sum_m exp(c m T) f(e + m T), all of it nonnegative, hence an upper bound on f(e). (This is how Esseen bounds
the concentration of a law by its transform, with a Gaussian that is there already.) Beyond t the nodes add at
most exp(-v t^2/2) / (pi v t) to it, relative to M(c) exp(-c e); where the other terms end the line before the Gaussian
does, their envelopes say less.

On the line through the saddle c, f is about c (1 + c) D, and -D' about c D: the bracket is v (1 + c) wide in epsilon,
whatever the law, and v is chosen for that.
"""

from __future__ import annotations

import math

import numpy as np

from dalenius.calculus.engines.contour import Contour, exp_up
from dalenius.calculus.engines.saddle import Moments, Saddle
from dalenius.calculus.pairs.gaussian import GaussianPair
from dalenius.calculus.pairs.pair import UNIT, Bounds, Reals

WIDTH = 2.5e-7
"""Width of the bracket of epsilon aimed at, relative to an epsilon of LEAST or more."""
LEAST = 1e-3

LOOSE, LOOSER = 1e-5, 1e-3
"""And that of delta, relative; the second where terms that jump make every node dear."""

MOST_WORK = 150_000_000
"""Nodes times losses that one line may cost."""

MOST_NODES = 300_000

REFINEMENTS = 3
"""How often a line whose bracket came out wide is drawn anew."""

ORDINARY = 256
"""What a loss that is no list of atoms is taken to cost at a node."""


class Smoothing(Contour):
    """The line of a measure of losses and a tiny Gaussian one, which the line of that measure is made with.

    What is said above of the mean over L holds for measures of any mass.
    """

    loose, most_growth = LOOSE, math.inf
    """How much noise delta bears, and how often that a line may have before it is given up."""
    beside = False
    """Whether the delta of the saddle is that of other measures, too, beside which this one may be little."""

    def _lay_smoothed(self, saddle: Saddle, noise: GaussianPair) -> None:
        """Draw the line with this noise; the saddle knows of it."""
        raise NotImplementedError

    def _choose(self, saddle: Saddle) -> None:
        """Draw the line with as much noise as epsilon allows."""
        aim = WIDTH * max(saddle.epsilon, LEAST)
        # At the largest loss c is huge, and roundings of c times epsilon are what limits the bracket of delta.
        loose = max(self.loose, min(64 * UNIT * self.c * abs(saddle.epsilon), 0.1))
        variance = min(aim, loose / self.c) / (1 + self.c)
        for _ in range(REFINEMENTS):
            self._smooth(saddle, variance)
            if not self.feasible:
                break
            # Where few atoms carry the mass near epsilon, the density is larger than an even spread would make it.
            bounds, excess = self._smoothed(saddle.epsilon)
            whole = exp_up(min(saddle.log_delta, 0.0)) if self.beside else 0.0
            allowed = aim * self.c * max(bounds.upper, whole)
            if excess <= 2 * allowed or allowed == 0.0:
                return
            variance = self.variance / min(excess / allowed, 8.0) ** 2
        most = min(1.0, self.most_growth * variance)
        while self.is_long and self.variance < most:
            self._smooth(saddle, 2 * self.variance)

    def _smooth(self, saddle: Saddle, variance: float) -> None:
        self.is_long = False
        noise = GaussianPair(math.sqrt(variance))
        self.variance = noise.mu**2
        added = self.variance / 2 * saddle.s * (saddle.s + 1)
        log_mgf = saddle.log_mgf + self.variance / 2 * self.c * (self.c + 1)
        self._flat = None
        self._lay_smoothed(saddle._replace(k=saddle.k + added * (1 + 8 * UNIT), log_mgf=log_mgf), noise)

    def _first_good(self, edges: Reals, pieces: Reals, log_share: float) -> tuple[float, float]:
        reach, tail = super()._first_good(edges, pieces, log_share)
        self.is_long = math.isinf(reach)
        if not self.is_long:
            self.tail_of_density = self._density_beyond(edges, pieces, reach)
        return reach, tail

    def _density_beyond(self, edges: Reals, pieces: Reals, reach: float) -> float:
        """What the nodes beyond `reach` add to the density: in each cell at most its width / h + 1 of weight h / pi."""
        v = self.variance
        cells = np.minimum(pieces, np.exp(-v * edges**2 / 2)) * (np.append(np.diff(edges), 0.0) + self.step)
        inside = float(cells[:-1][edges[:-1] >= reach].sum()) / math.pi
        last = float(edges[-1])
        beyond, at_once = (math.exp(-v * t**2 / 2) / (math.pi * v * t) for t in (last, reach))
        return min(inside + beyond, at_once) * (1 + 1e-9)

    def delta(self, epsilon: float) -> Bounds:
        (lower, upper), excess = self._smoothed(epsilon)
        return Bounds(max(0.0, lower - excess), upper)

    def _smoothed(self, epsilon: float) -> tuple[Bounds, float]:
        """Bounds on D_smoothed, and how much larger than D it is at most."""
        kernel, exponent, off = self._kernel(self.s, epsilon)
        low, high = self._sum(epsilon, kernel, exponent, off, self.truncation)
        density = self._sum(
            epsilon, kernel * self.s * (self.s + 1), exponent, off, self.tail_of_density
        ).upper
        excess = self.variance * math.exp(self.variance / 8) * density * (1 + 8 * UNIT)
        return Bounds(low - self.aliases.at(epsilon), min(1.0, high)), excess


class SmoothedLine(Smoothing):
    """The contour of a sum of losses and a tiny Gaussian one."""

    most_nodes = MOST_NODES

    def __init__(self, moments: Moments, saddle: Saddle) -> None:
        self.moments, self.c = moments, saddle.c
        size = sum(len(pair.as_atoms.loss) if pair.as_atoms else ORDINARY for pair, _ in moments.terms)
        self.tiers = ((1e-10, min(self.most_nodes, MOST_WORK // size)),)
        self._choose(saddle)

    def _lay_smoothed(self, saddle: Saddle, noise: GaussianPair) -> None:
        self.terms = (*self.moments.terms, (noise, 1))
        self._lay(saddle)


class RoughLine(SmoothedLine):
    """One with a little more noise, whose bracket of epsilon is as narrow."""

    loose = LOOSER
