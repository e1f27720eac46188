"""What each person sends, with noise of their own."""

from __future__ import annotations

import math

import numpy as np

from dalenius.core.adjacency import REPLACE_ONE
from dalenius.core.arrays import Reals
from dalenius.core.quiet import beyond_floats
from dalenius.infer.scores.score import Score
from dalenius.infer.scores.source import Standard
from dalenius.mechanisms.gaussian import Gaussian

ROOM = 1 + 1e-9
"""Norms are worked out in doubles: they are taken to be larger by this."""


class People:
    """One standardised row each. Nothing but `scores` and `bends` leaves them.

    A person's score has norm B = steepest reach at most, so that another record moves it by 2 B; a person's curvature,
    a matrix of rank one with trace C = sharpest reach^2 at most, moves by sqrt(2) C in Frobenius norm, or C if it is a
    single number. Each message is put on a grid with exact Gaussian noise, drawn anew for every person and round.
    """

    def __init__(self, features: Reals, responses: Reals, standard: Standard, score: Score) -> None:
        self.score, self.reach = score, standard.reach
        self.rows, self.weights = standard.weighted(features)
        y = standard.responses(responses)
        odd = ~np.isfinite(y)
        self.rows[odd] = 0.0  # such a person sends noise about 0
        self.responses = np.where(odd, 0.0, y)

    def score_message(self, mu: float) -> Gaussian:
        """The mechanism of one score, mu-GDP."""
        return _mechanism(2 * self.score.steepest * self.reach, mu)

    def bend_message(self, mu: float) -> Gaussian:
        """The mechanism of one curvature, mu-GDP."""
        farthest = math.sqrt(2) if self.rows.shape[1] > 1 else 1.0
        return _mechanism(farthest * self.score.sharpest * self.reach**2, mu)

    @beyond_floats
    def scores(self, theta: Reals, mu: float) -> Reals:
        """Everybody's score at theta, with noise: n x p."""
        slopes = _bounded(self.score.slopes(self._predictors(theta), self.responses), self.score.steepest)
        clean = (slopes * self.weights)[:, None] * self.rows
        return np.asarray(self.score_message(mu).release(clean))

    @beyond_floats
    def bends(self, theta: Reals, mu: float) -> Reals:
        """The mean of everybody's noisy curvature at theta: p x p."""
        roots = self.score.roots(self._predictors(theta), self.responses)
        sides = _bounded(roots, math.sqrt(self.score.sharpest))[:, None] * self.rows
        first, second = np.triu_indices(self.rows.shape[1])
        stretch = np.where(first == second, 1.0, math.sqrt(2))  # so that lengths are Frobenius norms
        sent = self.bend_message(mu).release(sides[:, first] * sides[:, second] * stretch)
        mean = np.empty((self.rows.shape[1],) * 2)
        mean[first, second] = mean[second, first] = sent.mean(axis=0) / stretch
        return mean

    def _predictors(self, theta: Reals) -> Reals:
        return np.asarray((self.rows @ theta) / self.weights)


def _bounded(values: Reals, most: float) -> Reals:
    """Whatever a score returns: what is not a number is 0."""
    return np.clip(np.nan_to_num(values), -most, most)


def _mechanism(sensitivity: float, mu: float) -> Gaussian:
    return Gaussian(sensitivity=sensitivity * ROOM, sigma=sensitivity * ROOM / mu, adjacency=REPLACE_ONE)
