"""delta(epsilon) of a sum of losses that live on one lattice, and of any sum rounded onto one.

On a lattice of spacing l the line integral of `contour` folds into one period: with N nodes,
T = N l, the trapezoid rule over all integers becomes a finite sum

    1/N * sum_k M(s_k) exp(-s_k e) G(s_k),   s_k = c + 2 pi i k / T,
    G(s) = exp(-s r) [1/(1 - exp(-s l)) - exp(-r)/(1 - exp(-(s+1) l))],

where r in [0, l) is the distance from e up to the next lattice point. It still equals
sum_m exp(c m T) D(e + m T), so the same aliasing bounds hold and nothing is truncated.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.fft import next_fast_len

from dalenius.calculus.engines.contour import Aliases, Contour, least_period
from dalenius.calculus.engines.saddle import Moments, Saddle
from dalenius.calculus.pairs.pair import UNIT, Bounds, Complexes, Pair, Reals, Terms, Tilted

MOST_POINTS = 2**20


class LatticeLine(Contour):
    """The contour of a sum all of whose terms are Atoms on lattices of the same spacing."""

    def __init__(self, moments: Moments, saddle: Saddle, spacing: float) -> None:
        self.moments, self.terms, self.c, self.spacing = moments, moments.terms, saddle.c, spacing
        # A period shorter than needed only loosens the lower bound: aliases are added, never lost.
        needed = least_period(saddle) / spacing
        self.period_is_short = needed > MOST_POINTS
        self.feasible = True
        self.size = max(8, next_fast_len(math.ceil(min(needed, MOST_POINTS)), real=True))
        self.period = self.size * spacing
        self.truncation = 0.0
        self.aliases = Aliases.of(saddle, moments.log_mass, self.period)
        self.offset = sum(n * pair.lattice.offset for pair, n in moments.terms)  # type: ignore[attr-defined]
        # How far the sum may be from the lattice, or the lattice from where floats say it is.
        self.blur = sum(
            n * (pair.blur + 8 * UNIT * abs(pair.lattice.offset))  # type: ignore[attr-defined]
            for pair, n in moments.terms
        )
        self.last_once = self.size % 2 == 0
        self._evaluate(2 * math.pi / self.period * np.arange(self.size // 2 + 1))

    def _tilted(self, pair: Pair, t: Reals) -> Tilted:
        atoms = pair.as_atoms
        assert atoms is not None
        assert atoms.lattice is not None
        line = atoms.along_period(self.c, self.size)
        # The offsets are put back once, in the kernel: here the sum lives on spacing * integers.
        return Tilted(line.log_scale - self.c * atoms.lattice.offset, line.values, line.error)

    def _turning(self, t: Reals) -> Reals:
        return np.zeros_like(t)  # phases are whole turns of a lattice index, reduced exactly

    def _trapezoid(self, epsilon: float) -> Bounds:
        return self._sum(epsilon, *self._kernel(self.s, epsilon), self.truncation)

    def _kernel(self, s: Complexes, epsilon: float) -> tuple[Complexes, float, Reals]:
        """G(s) exp(-s (e - offset)) without its real exponent, and that exponent.

        And a bound on its error: by blur and roundings `above` is off by at most d. (Losses that are off by d
        are as good as an epsilon that is, for D falls with epsilon.) An epsilon within d above a lattice
        point is taken for the point. From there to the right the kernel is continuous and changes by at most
        1 / |1 - exp(-(s+1) l)| per unit; further left, if d is as large as l, by exp(2 c d) times as much.
        """
        above = epsilon - self.offset
        d = self.blur + 8 * UNIT * (abs(epsilon) + abs(above))
        first = math.ceil((above - d) / self.spacing)
        rest = max(0.0, first * self.spacing - above)
        fall = np.exp(-s * self.spacing)
        numerator = -math.expm1(-rest) - fall * math.exp(-rest) * math.expm1(rest - self.spacing)
        right = -np.expm1(-(s + 1) * self.spacing)
        bottom = -np.expm1(-s * self.spacing) * right
        turns = self.nodes * (first % self.size) % self.size
        kernel = numerator / bottom * np.exp(-2j * math.pi / self.size * turns) / self.size
        off = 2 * d * math.exp(min(2 * self.c * d, 700.0)) / (self.size * np.abs(right))
        return kernel, -self.c * first * self.spacing, off


def common_spacing(terms: Terms) -> float | None:
    """The lattice spacing shared by all terms, if they are all Atoms on one lattice."""
    spacings = set()
    for pair, _ in terms:
        atoms = pair.as_atoms
        if atoms is None or atoms.lattice is None:
            return None
        if len(atoms.loss) > 1:
            spacings.add(atoms.lattice.spacing)
    if len(spacings) > 1:
        return None
    return spacings.pop() if spacings else 1.0
