"""What the best of a random number of trials tells: its privacy profile from that of one trial.

With L the loss of a trial, K the number of trials, phi the generating function of K and G(x) the largest mass that a
neighbour's trial can give to a set of mass x,

    delta(epsilon) <= E[h(e^-L)],   h(t) = max over x of phi'(1 - x) (1 - e^(epsilon - c(x)) t)_+,
    c(x) = log phi'(1 - x) - log phi'(1 - G(x)),

and the expectation is at most a sum over the chords of h, each times the profile of a trial at one point. The proof,
and why lines over G and cells of x give an upper bound, is in docs/proofs/best-of-trials.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np

from dalenius.calculus.loss import Loss
from dalenius.calculus.losses.tables import epsilon_grid
from dalenius.calculus.pairs.atoms import Atoms
from dalenius.calculus.pairs.bracket import Bracket
from dalenius.calculus.pairs.pair import Reals
from dalenius.calculus.pairs.tabulate import symmetric_above

CELLS = 500
"""Of x, each narrower than its lower end by 3 % or so."""
ROUNDING = 1 + 1e-9
FAR, SMALL, LAST = 500.0, 300.0, 250.0
"""Exponents of what is taken for infinite, for next to nothing, and the last epsilon looked at: all within floats."""
POINTS = 120
"""Where the profile of the best is worked out, for its loss."""


class BestOf:
    """The profile of the best of K trials, `log_weight(x)` being log phi'(1 - x), for any x >= 0."""

    def __init__(self, trials: tuple[Loss, ...], log_weight: Callable[[Reals], Reals]) -> None:
        self.trials, self.log_weight = trials, log_weight
        points = np.unique(np.concatenate([epsilon_grid(loss) for loss in trials]))
        high = np.array([max(loss.delta(float(e)) for loss in trials) for e in points])
        # Both halves of the profile: that below 0 follows from that above, the directions being covered alike.
        self.slopes = np.concatenate((-points[:0:-1], points))
        self.deltas = np.concatenate(((-np.expm1(-points) + np.exp(-points) * high)[:0:-1], high))

    @cached_property
    def _cells(self) -> tuple[Reals, Reals]:
        """For each cell of x: the largest log weight, and the largest c."""
        most = math.exp(float(self.log_weight(np.zeros(1))[0]))
        ends = np.concatenate(([0.0], np.geomspace(1e-4 / most, 1.0, CELLS)))
        # A line over x gives a c that is monotone in a cell (a ratio of two linear functions, or linear): ends suffice.
        at = self.log_weight(ends) - self.log_weight(
            np.exp(self.slopes)[:, None] * ends + self.deltas[:, None]
        )
        c = np.maximum(at[:, :-1], at[:, 1:]).min(axis=0)
        return self.log_weight(ends[:-1]), np.maximum(c, 0.0)

    def delta(self, epsilon: float) -> float:
        """At most so much, at an epsilon of 0 or more."""
        log_weight, c = self._cells
        # Where c is beyond floats, 1 is taken for what the weight is multiplied with.
        far = c > FAR
        rest = float(np.exp(log_weight[far]).max(initial=0.0))
        log_weight, c = log_weight[~far], c[~far]
        if not len(c):
            return min(1.0, rest * ROUNDING)
        height, steep = np.exp(log_weight), np.exp(log_weight + epsilon - c)
        # Chords between 0, e^-s for the slopes s of the table, and the point from which on h is 0.
        end = math.exp(
            max(float(c.max(initial=0.0)) - epsilon, -SMALL)
        )  # a larger one than needed is right, too
        t = np.exp(-self.slopes[::-1])
        inside = (t < end) & (t > 0) & (np.diff(t, prepend=0.0) > 0)
        t, deltas = (
            np.append(t[inside], end),
            np.append(self.deltas[::-1][inside], self._delta(-math.log(end))),
        )
        h = np.append((height - steep * t[:-1, None]).max(axis=1, initial=0.0), 0.0)
        slope = np.diff(np.concatenate(([float(height.max())], h))) / np.diff(np.concatenate(([0.0], t)))
        bends = np.maximum(np.diff(np.append(slope, 0.0)), 0.0)
        return min(1.0, (rest + float(bends @ (t * deltas))) * ROUNDING)

    def _delta(self, epsilon: float) -> float:
        """The profile of a trial between the points of its table: convex in e^epsilon, so below chords."""
        if epsilon >= self.slopes[-1]:
            return float(self.deltas[-1])
        if epsilon <= self.slopes[0]:
            return 1.0
        return float(np.interp(math.exp(epsilon), np.exp(self.slopes), self.deltas)) * ROUNDING

    def loss(self, expression: str, at: float = 0.0, largest: float = math.inf) -> Loss:
        """The loss of the best; `at` is an epsilon at which its delta should be no larger than it has to be.

        `largest` is an epsilon at which delta is known to be 0, where there is one.
        """
        c = self._cells[1]
        # Beyond the largest loss of a trial and the largest c nothing is left but what a trial gives away.
        end = min(float(self.slopes[-1]) + float(c[c <= FAR].max(initial=0.0)), largest, LAST)
        reach = min(2 * float(self.slopes[-1]) + at, largest, LAST)
        grid = np.linspace(0.0, 1.0, POINTS)
        points = np.unique(np.concatenate((grid**1.5 * reach, grid[::2] * end, [0.0, at, end])))
        heights = np.array([self.delta(float(e)) for e in points])
        if largest <= LAST:
            # A profile that ends at E is below that of randomized response with E, too.
            points = np.append(points[points < largest], largest)
            pure = -np.expm1(points - largest) / (1 + math.exp(-largest))
            heights = np.append(heights[: len(points) - 1], 0.0)
            heights = np.minimum(heights, pure * (1 + 1e-12))
        # From below nothing is claimed: the order of the outcomes may be such that the best tells little.
        pair = Bracket(Atoms(np.zeros(1), np.ones(1)), symmetric_above(points, heights))
        return Loss.symmetric(pair, self.trials[0].adjacency, expression)
