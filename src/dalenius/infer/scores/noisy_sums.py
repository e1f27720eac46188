"""Sums of scores with Gaussian noise: everything about the rows that anyone sees."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from dalenius.calculus import losses
from dalenius.calculus.loss import Loss
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.arrays import Reals
from dalenius.infer.scores.residual_scale import EDGES, ResidualScale
from dalenius.infer.scores.score import Score
from dalenius.infer.scores.source import Rows, bend_unit, longest, score_unit, square_unit
from dalenius.mechanisms import AnalyzeGauss, Gaussian
from dalenius.sums.grids import on_grid

ROOT_TWO = math.nextafter(math.sqrt(2), math.inf)
UP = 1 + 1e-14
"""More noise by as much as a few roundings may take away."""


@dataclass(frozen=True)
class Released:
    """Noisy sums at `theta`, in natural units, and the standard deviations of their noise.

    score : noise independent in every coordinate, of `score_sd`.
    bend, square : symmetric noise, of `bend_sd` and `square_sd` off the diagonal and sqrt(2) times that on it.

    What was not asked for is empty, with a standard deviation of 0.
    """

    theta: Reals
    score: Reals
    bend: Reals
    square: Reals
    score_sd: float
    bend_sd: float
    square_sd: float


NOTHING = np.empty(0)


@dataclass
class NoisySums:
    """Noisy sums over `rows`, each release mu-GDP for the mu it is asked for; all of them add up in `loss`.

    One row adds a score of norm B = steepest reach, a curvature of Frobenius norm sharpest reach^2 and a square of
    Frobenius norm B^2 at most. With replace-one, two rows' scores are 2 B apart at most, and two matrices a a^T and
    b b^T sqrt(2) times the larger squared norm, as are any two positive matrices no larger than that.
    """

    rows: Rows
    adjacency: Adjacency = ADD_REMOVE
    spent: list[float] = field(default_factory=list)

    def release(
        self,
        theta: Reals,
        score: Score,
        *,
        score_mu: float = 0.0,
        bend_mu: float = 0.0,
        square_mu: float = 0.0,
    ) -> Released:
        """The sums at theta rounded to its grid, each with noise for its own mu; 0 for those not wanted.

        Parameters
        ----------
        theta
            k p numbers, of any size; a function of what was released before, or public.
        score
            The loss.
        score_mu, bend_mu, square_mu
            What is spent on the sum of scores, of curvatures and of squared scores.

        Returns
        -------
        Released
            The noisy sums.
        """
        theta = on_grid(theta)
        self.spent += [mu for mu in (score_mu, bend_mu, square_mu) if mu > 0]
        totals = self.rows.totals(
            theta, score, want_score=score_mu > 0, want_bend=bend_mu > 0, want_square=square_mu > 0
        )
        reach = self.rows.standard.reach
        sums = bends = squares = NOTHING
        score_sd, bend_sd, square_sd = (
            self.score_sd(score, score_mu),
            self.bend_sd(score, bend_mu),
            self.square_sd(score, square_mu),
        )
        if score_mu > 0:
            unit = score_unit(score, reach)
            sums = Gaussian(
                sensitivity=self._apart(score),
                sigma=self._apart(score) / score_mu * UP,
                adjacency=self.adjacency,
            ).release(totals.score)
            sums = sums * unit
        if bend_mu > 0:
            bends = self._matrix(score, bend_mu).release(totals.bend)
            bends = bends * bend_unit(score, reach)
        if square_mu > 0:
            squares = self._matrix(score, square_mu).release(totals.square)
            squares = squares * square_unit(score, reach)
        return Released(theta, sums, bends, squares, score_sd, bend_sd, square_sd)

    def score_sd(self, score: Score, mu: float) -> float:
        """The standard deviation of the noise on a sum of scores, in natural units."""
        return self._apart(score) / mu * UP * score_unit(score, self.rows.standard.reach) if mu > 0 else 0.0

    def bend_sd(self, score: Score, mu: float) -> float:
        """The standard deviation of the noise on a sum of curvatures, off the diagonal."""
        if mu <= 0:
            return 0.0
        return self._matrix(score, mu).sigma * bend_unit(score, self.rows.standard.reach)

    def square_sd(self, score: Score, mu: float) -> float:
        """The standard deviation of the noise on a sum of squared scores, off the diagonal."""
        if mu <= 0:
            return 0.0
        return self._matrix(score, mu).sigma * square_unit(score, self.rows.standard.reach)

    def residual_scale(self, theta: Reals, mu: float) -> ResidualScale:
        """The scale of y - x.theta from noisy counts, for mu."""
        self.spent.append(mu)
        counts = self.rows.residual_counts(on_grid(theta), EDGES)
        return ResidualScale.of(noisy_counts(counts, mu, self.adjacency), counts_apart(self.adjacency) / mu)

    @property
    def loss(self) -> Loss:
        """What all releases so far have cost."""
        return losses.gaussian(1 / (math.hypot(*self.spent) * UP), adjacency=self.adjacency)

    def _apart(self, score: Score) -> float:
        """How far two neighbours' sums of scores can be apart, in units."""
        return longest(score.outcomes * self.rows.size) * (1 if self.adjacency is ADD_REMOVE else 2)

    def _matrix(self, score: Score, mu: float) -> AnalyzeGauss:
        apart = longest(score.outcomes * self.rows.size)
        if self.adjacency is not ADD_REMOVE:
            apart *= ROOT_TWO
        return AnalyzeGauss(
            sensitivity=apart, sigma=apart / (math.sqrt(2) * mu) * UP, adjacency=self.adjacency
        )


def noisy_counts(counts: Reals, mu: float, adjacency: Adjacency) -> Reals:
    """Counts of disjoint sets with noise: one row is in one of them, and a replaced one in another."""
    apart = counts_apart(adjacency)
    released: Reals = Gaussian(sensitivity=apart, sigma=apart / mu * UP, adjacency=adjacency).release(counts)
    return released


def counts_apart(adjacency: Adjacency) -> float:
    return 1.0 if adjacency is ADD_REMOVE else ROOT_TWO
