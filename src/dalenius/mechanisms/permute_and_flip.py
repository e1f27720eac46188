"""Permute and flip."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalenius.calculus.loss import Loss
from dalenius.calculus.losses import laplace
from dalenius.core.arrays import Reals
from dalenius.mechanisms._support.selection import Selection


@dataclass(frozen=True, kw_only=True)
class PermuteAndFlip(Selection):
    """Tries the candidates in random order and takes i with probability exp((u_i - max u) / scale).

    The scale is 2 sensitivity / epsilon. Released: one index (or one of the candidates given), never a score.
    `sensitivity` bounds how far one record moves any single score; `monotone=True` (add/remove neighbours
    whose scores all move the same way) drops the factor 2. For each epsilon and any scores the chosen score
    is at least as good, in expectation, as the exponential mechanism's (McKenna and Sheldon 2020).

    Sampling: the largest of u_i plus exponential noise of mean 2 sensitivity/epsilon has the same law (Ding,
    Kifer, Steinke, Wang, Xiao and Zhang 2021); it is drawn with as many bits as it takes to be certain.

    Loss: epsilon-DP, and no worse than the Laplace mechanism with that epsilon, `laplace(1/epsilon)`. For a
    set E of candidates let A be the largest noisy score in E, B the largest outside, Z = A - B; E is chosen
    when Z > 0. A neighbour moves A and B by at most `sensitivity` each, so it moves Z by at most 2
    sensitivity = epsilon scales. The density of A is P(exactly one noisy score of E is above) / scale <= P(A
    is above) / scale everywhere, likewise for B, so the density of Z is at most min(P(Z <= z), P(Z >
    z)) / scale; for Laplace noise that is an equality. Hence P(E) rises no further along the shift than a
    Laplace distribution function does. It holds for every E, which is a bound on the trade-off curve, and two
    candidates attain it. It is NOT `bounded_range(epsilon)`: two tied candidates, one of which then falls
    behind by 2 sensitivity, have losses epsilon and -log(2 - e^-epsilon), further apart than epsilon.

    One choice: prefer this. Many choices under one budget of ZCDP or ApproxDP: `Exponential` is cheaper.

    Parameters
    ----------
    sensitivity
        The most that one record changes a single score.
    epsilon
        The privacy parameter; the release is epsilon-DP.
    monotone
        Whether a record moves no two scores in opposite directions (ADD_REMOVE only).
    adjacency
        The neighbouring relation that the sensitivity is stated for.

    Examples
    --------
    >>> from dalenius.mechanisms import Exponential, PermuteAndFlip
    >>> choose = PermuteAndFlip(sensitivity=1, epsilon=1.0)
    >>> choose.release([10.0, 200.0, 30.0])
    1
    >>> choose.expected_gap(size=10) < Exponential(sensitivity=1, epsilon=1.0).expected_gap(size=10)
    True
    """

    _noise = "exponential"

    def _loss_at(self, epsilon: float) -> Loss:
        return laplace(1.0, epsilon, self.adjacency)

    def _before(self) -> Reals:
        # From behind by epsilon scales to level: chances exp(-epsilon)/2 and 1/2.
        return np.array([0.0, self.sensitivity * (1 if self.monotone else 2)])
