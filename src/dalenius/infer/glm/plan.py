"""How the budget of a generalized linear model is divided, and how far rows reach: from public facts alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

from dalenius.core import notebook
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.infer.glm.far_steps import FarSteps
from dalenius.infer.regression.plan import expected
from dalenius.infer.regression.reach import Probe, Weights, longest_reach
from dalenius.infer.scores.averaged_newton import Shares
from dalenius.infer.scores.score import Score

MANY_STEPS = FarSteps()
FEW_STEPS = FarSteps(scores=(0.03, 0.05, 0.08), bends=(0.04, 0.02, 0.03))
"""Where noise is larger than what a fourth step would mend."""
BLURRED = 0.2
"""So much noise in a coordinate, in standardised ones, after the last of many steps, and few are better."""
WEIGHTED = 0.55
"""About what weights of reach 1 leave of the curvature in standardised coordinates: a guess, for planning alone."""
LEAST_BEND, MOST_BEND, SQUARE = 0.12, 0.4, 0.12
"""Shares of the last steps' mu^2 for curvature and squared scores; the rest is for the steps."""
PLENTY = 32 / 9
"""How many times the least share the curvature gets where there is enough: 1.9 times the least precision."""
ROOM = 9.0
"""The same for a reach beyond 1: far rows may have less curvature than usual ones, and columns depend on each other."""

SEEN = 3.0
"""The same, for what was seen of the rows."""


@dataclass(frozen=True)
class CurvedScore:
    """The score of a loss, and the curvature that a usual row has in its linear predictor."""

    score: Score
    curvature: float


@dataclass(frozen=True, repr=False)
class Plan:
    """For `size` coefficients an outcome, of `count` rows, with mu for all steps together."""

    count: float
    mu: float
    size: int
    adjacency: Adjacency
    loss: CurvedScore
    far: CurvedScore
    stands_out: float
    nearest: float
    reach: float = 1.0
    probe: Probe | None = None

    def __repr__(self) -> str:
        many = f"{self.size} coefficient{'s' * (self.size != 1)}"
        return f"<Plan of {many} of about {self.count:.4g} rows: {expected(self.feasible)}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: what is known, and how mu^2 is divided."""
        left, shares = 1 - self.steps.share, self.shares
        divided = {
            "for the first steps": self.steps.share,
            "for the curvature": left * shares.bend,
            "for the steps that count": left * shares.steps,
            "for squared scores": left * shares.square,
        }
        return notebook.table(
            [
                ("plan", expected(self.feasible)),
                ("coefficients", str(self.size)),
                ("rows, about", f"{self.count:.4g}"),
                ("mu", f"{self.mu:.4g}"),
                ("reach of a row", f"{self.reach:.4g}"),
                *((name, f"{share:.1%} of mu^2") for name, share in divided.items()),
            ]
        )

    def reaching(self) -> Plan:
        """The same, as far out as can be paid for."""
        some = longest_reach(self.size, lambda w: self._at(w).roomy, lambda w: self._at(w).standard_error)
        return replace(self, reach=some)

    def _at(self, weights: Weights) -> Plan:
        return replace(self, reach=weights.reach)

    @cached_property
    def steps(self) -> FarSteps:
        """The first steps."""
        return MANY_STEPS if self._blurred(MANY_STEPS) < BLURRED else FEW_STEPS

    @property
    def left(self) -> float:
        """The mu of the steps that count."""
        return self.mu * math.sqrt(1 - self.steps.share)

    @property
    def shares(self) -> Shares:
        """How their mu^2 is divided."""
        bend = min(MOST_BEND, max(self._wanted, LEAST_BEND))
        return Shares(bend, 1 - bend - SQUARE, SQUARE)

    @property
    def feasible(self) -> bool:
        """Whether an interval can be expected."""
        return self._least <= MOST_BEND and self._blurred(self.steps) <= self.nearest

    @property
    def roomy(self) -> bool:
        """Whether it can be expected by far, with columns that depend on each other, too."""
        return max(ROOM * self._least, self._wanted) <= MOST_BEND and self.steps is MANY_STEPS

    @property
    def standard_error(self) -> float:
        """What can be expected where it is largest, in standardised coordinates; slopes vary as they curve."""
        sampling = self.loss.curvature * self._weights.square * max(self.count, 1.0)
        noise = self._score_sd(self.loss, self.left * math.sqrt(self.shares.steps))
        return math.sqrt(self._seen * sampling + noise**2) / (self._seen * self._curvature(self.loss))

    @property
    def _wanted(self) -> float:
        """The share that curvature is to get."""
        return self._least * max(PLENTY if self.reach <= 1 else ROOM, SEEN / self._seen**2)

    @cached_property
    def _seen(self) -> float:
        """The least curvature over that of independent columns, as far as it is known."""
        return 1.0 if self.probe is None else self.probe.least(self._weights)

    @cached_property
    def _weights(self) -> Weights:
        return Weights.of(self.reach, self.size)

    def _curvature(self, loss: CurvedScore) -> float:
        """Of all rows together, in a direction."""
        return WEIGHTED * self._weights.gain * max(self.count, 1.0) * loss.curvature

    def _score_sd(self, loss: CurvedScore, mu: float) -> float:
        double = 1 if self.adjacency is ADD_REMOVE else 2
        return double * loss.score.steepest * self.reach * math.sqrt(self.size) / mu

    def _blurred(self, steps: FarSteps) -> float:
        """The noise in a coordinate after the last of some steps."""
        return self._score_sd(self.far, self.mu * math.sqrt(steps.scores[-1])) / self._curvature(self.far)

    @cached_property
    def _least(self) -> float:
        """The share that curvature needs for its least eigenvalue to stand out of its noise."""
        root_two = math.sqrt(2) if self.adjacency is ADD_REMOVE else 1.0
        bend_sd = self.loss.score.sharpest * self.reach**2 * self.size / (root_two * self.left)
        noise = 2 * math.sqrt(self.size * self.loss.score.outcomes) * bend_sd
        return (self.stands_out * noise / self._curvature(self.loss)) ** 2
