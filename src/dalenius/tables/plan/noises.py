"""How a measure is released for a price: which mechanism, and the law of what comes out.

A price is a part of a budget, in its currency. There are four ways of release: noise added to every integer, the
choice of one bin of each group, and a quantile of each group with noise for how sensitive it is there (`adaptive`).

    currency    added                                chosen
    epsilon     geometric, or Laplace on a grid      exponential noise: permute and flip
    mu^2        Gaussian                             exponential noise, with the epsilon that is mu-GDP
    rho         Gaussian, with mu^2 = 2 rho          Gumbel noise: the exponential mechanism

    currency    smooth                               proposed
    epsilon     Student's t                          -
    mu^2        Student's t, for the epsilon that    Gaussian, where there is a delta
                is mu-GDP; Gaussian with a delta
    rho         Laplace-log-normal                   -

A choice, all groups together. A neighbour adds at most b_g and takes at most a_g of the rows of group g, so that each
score of the group moves within [-a_g, b_g]; the sum of all a_g + b_g is at most the l1 sensitivity d of the counts.
With noise of scale s the loss of group g is that of a choice with parameter (a_g + b_g) / s: for exponential noise it
is within that parameter in both directions (`mechanisms.PermuteAndFlip`), for Gumbel noise it varies by at most as
much over the outcomes (`mechanisms.Exponential`). Groups are chosen independently, losses and their ranges add, and
so the parameter of the whole is d / s:

Scores that are ranks move by at most w (a_g + b_g) up or down, w being the larger of the level and 1 - level
(`measures.measure.BinOfRank`), so that 2 w d takes the place of d.

- epsilon-DP for exponential noise with s = d / epsilon (basic composition);
- mu-GDP for exponential noise with mu = 2 Phi^-1(e^epsilon / (1 + e^epsilon)): whatever is epsilon-DP is dominated by
  randomized response (Kairouz, Oh and Viswanath, "The Composition Theorem for Differential Privacy", 2015), and that
  by the Gaussian pair with the same point on the diagonal;
- epsilon^2/8-zCDP for Gumbel noise (Cesar and Rogers, "Bounding, Concentrating, and Truncating: Unifying Privacy Loss
  Composition for Data Analytics", 2021, on the bounded range of Durfee and Rogers 2019).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from dalenius.calculus.guarantees import GDP, ZCDP, Guarantee, PureDP
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.checks import float_up
from dalenius.core.record import JSON, exact
from dalenius.errors import InvalidParameter, TooMuchNoise
from dalenius.intervals.laws import Law, Normal, TwoSidedExponential, TwoSidedGeometric
from dalenius.mechanisms import Gaussian, Geometric, Laplace, ReportNoisyMax
from dalenius.noise import noisy_argmax
from dalenius.tables.measures.measure import ChosenBin, Measure, ProposedQuantile, SmoothQuantile
from dalenius.tables.measures.tree import Reals
from dalenius.tables.plan.adaptive import SecretSpread, no_delta, proposed_noise, smooth_noise
from dalenius.tables.plan.noise import Noise
from dalenius.tables.plan.sensitivity import Sensitivity

SMALL = 1000
"""Whole-numbered noise (Geometric) up to this l1 sensitivity; beyond, Laplace on a fine grid costs the same."""

LARGEST_SCALE = 2.0**55
"""Of the noise of a choice."""

HAIR = 1 - 1e-12
"""Taken off what may be spent, so that rounding never makes a release dearer than its price."""

SHADE = 1 - 1e-9
"""The same for a delta, which is rounded more often."""


class Choice(Noise):
    """One bin of every group: that with the largest noisy score. What leaves is the position of a bin."""

    def release(self, counts: Reals) -> Reals:
        assert isinstance(self.measure, ChosenBin)
        scores = self.measure.scores(np.asarray(counts).reshape(len(counts), -1))
        chosen = noisy_argmax(scores, self.mechanism.scale, noise=self.mechanism.noise)
        return np.asarray(chosen, dtype=float)

    def accuracy(self, confidence: float) -> float:
        """How far the score of the bin chosen is below the best, but for this chance: a number of rows."""
        return self.law.reach(1 - confidence)[1]


@dataclass(frozen=True)
class LargestOfMany(Law):
    """The law of a choice among `size` bins. sigma: of the noise of each count, none of which leaves. noise, scale: of
    that noise."""

    noise: Literal["laplace", "exponential", "gumbel"]
    scale: float
    size: int

    tag = "choice"

    def record(self) -> dict[str, JSON]:
        return {**super().record(), "noise": self.noise, "scale": exact(self.scale), "bins": self.size}

    @classmethod
    def from_record(cls, content: Mapping[str, JSON]) -> LargestOfMany:
        return cls(float(content["sigma"]), content["noise"], float(content["scale"]), int(content["bins"]))

    @property
    def fourth(self) -> float:
        raise TypeError("a choice is not a sum with noise; this is a defect")

    def reach(self, failure: float) -> tuple[float, float]:
        """How far the best score may be above that of the bin that was chosen: a number of rows."""
        unit = ReportNoisyMax(sensitivity=self.scale, epsilon=1.0, noise=self.noise, monotone=True)
        return 0.0, unit.accuracy(1 - failure, size=self.size)


LAWS: Mapping[str, type[Law]] = {
    law.tag: law for law in (Normal, TwoSidedExponential, TwoSidedGeometric, LargestOfMany, SecretSpread)
}
"""By the words for them in records."""


@dataclass(frozen=True)
class Price(ABC):
    """What may be spent on one measure: an amount of a currency, and a probability of doing worse than that."""

    amount: float
    delta: float = 0.0

    @abstractmethod
    def added(self, measure: Measure, moved: Sensitivity, adjacency: Adjacency, levels: int) -> Noise:
        """Noise on every integer."""

    @abstractmethod
    def chosen(self, measure: ChosenBin, moved: Sensitivity, adjacency: Adjacency) -> Noise:
        """One bin of every group."""

    @abstractmethod
    def smooth(self, measure: SmoothQuantile, moved: Sensitivity, adjacency: Adjacency) -> Noise:
        """A quantile of every group, with noise in proportion to its smooth sensitivity."""

    def proposed(self, measure: ProposedQuantile, moved: Sensitivity, adjacency: Adjacency) -> Noise:
        """A quantile of every group, with noise for a proposed sensitivity, or a refusal."""
        raise no_delta()


class Epsilon(Price):
    """A part of a PureDP budget."""

    def added(self, measure: Measure, moved: Sensitivity, adjacency: Adjacency, levels: int) -> Noise:
        scale = moved.l1 / (self.amount * HAIR)
        if moved.l1 <= SMALL:
            made = Geometric(sensitivity=moved.l1, scale=scale, adjacency=adjacency)
            return Noise(measure, made, moved, TwoSidedGeometric.of_scale(made.scale), levels)
        laplace = Laplace(sensitivity=moved.l1, scale=scale, adjacency=adjacency)
        return Noise(measure, laplace, moved, TwoSidedExponential(laplace.scale * 2**0.5), levels)

    def chosen(self, measure: ChosenBin, moved: Sensitivity, adjacency: Adjacency) -> Noise:
        settings = _selection(measure, moved, adjacency, self.amount)
        made = ReportNoisyMax(epsilon=self.amount * HAIR, noise="exponential", **settings)
        return _choice(measure, made, moved, made.scale)

    def smooth(self, measure: SmoothQuantile, moved: Sensitivity, adjacency: Adjacency) -> Noise:
        return smooth_noise(measure, moved, adjacency, PureDP(self.amount * HAIR / moved.groups))


class SquaredMu(Price):
    """A part of the mu^2 of a GDP budget."""

    def added(self, measure: Measure, moved: Sensitivity, adjacency: Adjacency, levels: int) -> Noise:
        sigma = moved.l2 / (self.amount * HAIR) ** 0.5
        made = Gaussian(sensitivity=moved.l2, sigma=sigma, adjacency=adjacency)
        return Noise(measure, made, moved, Normal(made.sigma), levels)

    def chosen(self, measure: ChosenBin, moved: Sensitivity, adjacency: Adjacency) -> Noise:
        mu = (self.amount * HAIR) ** 0.5
        settings = _selection(measure, moved, adjacency, mu / 2)
        made = ReportNoisyMax.calibrated(GDP(mu), noise="exponential", **settings)
        return _choice(measure, made, moved, made.scale)

    def smooth(self, measure: SmoothQuantile, moved: Sensitivity, adjacency: Adjacency) -> Noise:
        mu = (self.amount * HAIR / moved.groups) ** 0.5
        return smooth_noise(measure, moved, adjacency, GDP(mu), self.delta * SHADE / moved.groups)

    def proposed(self, measure: ProposedQuantile, moved: Sensitivity, adjacency: Adjacency) -> Noise:
        mu = (self.amount * HAIR / moved.groups) ** 0.5
        return proposed_noise(measure, moved, adjacency, mu, self.delta * SHADE / moved.groups)


class TwiceRho(SquaredMu):
    """A part of 2 rho of a ZCDP budget: the mu^2 of the Gaussian noise that costs as much."""

    def chosen(self, measure: ChosenBin, moved: Sensitivity, adjacency: Adjacency) -> Noise:
        epsilon = (4 * self.amount * HAIR) ** 0.5  # epsilon^2 / 8 is rho
        made = ReportNoisyMax(
            epsilon=epsilon, noise="gumbel", **_selection(measure, moved, adjacency, epsilon)
        )
        return _choice(measure, made, moved, made.scale * math.pi / 6**0.5)

    def smooth(self, measure: SmoothQuantile, moved: Sensitivity, adjacency: Adjacency) -> Noise:
        return smooth_noise(measure, moved, adjacency, ZCDP(self.amount / 2 * HAIR / moved.groups))


def _choice(measure: ChosenBin, made: ReportNoisyMax, moved: Sensitivity, sigma: float) -> Noise:
    return Choice(measure, made, moved, LargestOfMany(sigma, made.noise, made.scale, measure.size))


def _selection(
    measure: ChosenBin, moved: Sensitivity, adjacency: Adjacency, epsilon: float
) -> dict[str, Any]:
    """With these the scale of the noise is the range of the scores over epsilon; see the head of this module."""
    if moved.l1 > epsilon * LARGEST_SCALE:
        raise TooMuchNoise(
            f"epsilon would be {epsilon:g} for a sensitivity of {moved.l1:g}; exact noise goes up to a scale of "
            f"{LARGEST_SCALE:g}. Use a larger budget."
        )
    if measure.swing is not None:
        return {"sensitivity": float_up(measure.swing * moved.l1), "monotone": False, "adjacency": adjacency}
    monotone = adjacency is ADD_REMOVE
    sensitivity = float(moved.l1) if monotone else moved.l1 / 2
    return {"sensitivity": sensitivity, "monotone": monotone, "adjacency": adjacency}


PRICES: Mapping[type[Guarantee], Callable[[Any], Price]] = {
    PureDP: lambda budget: Epsilon(budget.epsilon),
    ZCDP: lambda budget: TwiceRho(2 * budget.rho),
    GDP: lambda budget: SquaredMu(budget.mu**2),
}
"""What each promise is as a price; others are none."""


def price_of(budget: Guarantee, delta: float = 0.0) -> Price:
    """What a release with this budget may spend, and the probability with which it may do worse."""
    budget = budget.as_pure() or budget
    rule = PRICES.get(type(budget))
    if rule is None:
        raise InvalidParameter(f"{budget!r} is not a price; use PureDP, ZCDP or GDP.")
    made = rule(budget)
    if not made.amount > 0:
        raise InvalidParameter(f"the budget of the release is {budget!r}; it must be above 0.")
    return replace(made, delta=delta)
