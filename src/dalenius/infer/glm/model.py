"""What the generalized linear models share: stages and result."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dalenius.core.adjacency import ADD_REMOVE
from dalenius.core.arrays import Reals
from dalenius.infer.glm.plan import CurvedScore, Plan
from dalenius.infer.regression.reach import PROBE, Probe
from dalenius.infer.regression.settings import Regression
from dalenius.infer.result import Result
from dalenius.infer.scores.averaged_newton import averaged_newton
from dalenius.infer.scores.noisy_sums import NoisySums
from dalenius.infer.scores.sandwich import Fit
from dalenius.infer.scores.score import Score
from dalenius.infer.scores.source import Source, Standard
from dalenius.infer.scores.standardise import looks, standardise

LOOKS, LEAST_LOOKS, MOST_LOOKS = 30.0, 0.03, 0.2
"""Counts for centres and scales get so much that their noise is 1/30 of the number of rows, within these shares."""
TOO_FEW = (
    "too few rows for this promise and so many coefficients, as can be said beforehand; use more rows, fewer columns, "
    "a weaker promise or a shorter reach=, or name public centres and scales (x_center=, x_scale=)."
)
BENT = 2.5
"""How many errors the squared length of the last steps may be."""
NOT_THERE = (
    "the steps did not arrive: the estimate was still moving, as it does where the features tell the outcomes apart "
    "(nearly) without fail and there is no finite estimate, or where scales are far off."
)
NOT_CLEAR = (
    "the released curvature does not stand out of its noise, because columns nearly depend on each other, an outcome "
    "is rare, or scales are far off; use fewer columns, a shorter reach= or better x_center= and x_scale=."
)


@dataclass(frozen=True, kw_only=True)
class GeneralizedLinearModel(Regression):
    """Settings of a generalized linear model, its cost and its release; subclasses know score and responses."""

    stands_out: ClassVar[float] = 1.5
    """How many times the largest eigenvalue of the noise, 2 sd sqrt(p), the least curvature is expected to have."""
    nearest: ClassVar[float] = 0.8
    """How much noise the last steps may start with, in standardised coordinates, before the loss bends too much."""
    shifted: ClassVar[bool] = False
    """Whether responses are brought to their centre and scale, too."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.score

    @property
    @abstractmethod
    def score(self) -> Score:
        """The loss."""

    def scored(self, standard: Standard) -> Score:
        """The loss in standardised units."""
        return self.score

    def far_score(self, standard: Standard) -> Score:
        """The loss of the first steps, for rows that are still far away."""
        return self.scored(standard)

    @abstractmethod
    def typical_curvature(self, score: Score, center: float) -> float:
        """That of a usual row in its linear predictor: a guess, for planning alone."""

    def start(self, size: int, center: float) -> Reals:
        """Where the steps start: zeros, or what belongs to the centre of the responses, the constant last."""
        return np.zeros(size * self.score.outcomes)

    @property
    def response_unit(self) -> tuple[float, float] | None:
        """Centre and scale of the responses, where they are public or not needed; None to find them privately."""
        return 0.0, 1.0

    def labels(self, names: Sequence[str]) -> list[str]:
        """The names of the coefficients."""
        return list(names)

    def notes(self, reach: float) -> list[str]:
        """What a reader must know."""
        return [
            f"Rows more than {reach:g} times as far from the centre as usual ones weigh less. If the model holds, that "
            "does not change what is estimated; if it is an approximation, it is the best one for the other rows."
        ]

    def release_from(self, source: Source, names: Sequence[str], rows: int | None = None) -> Result:
        public = self.public_columns(source.columns)
        count, mu = self.counted(source, rows)
        standard, center, mu = self._standard(source, public, mu, count)
        loss, far = (
            CurvedScore(score, self.typical_curvature(score, center))
            for score in (self.scored(standard), self.far_score(standard))
        )
        plan = Plan(
            count,
            mu,
            standard.size,
            self.adjacency,
            loss,
            far,
            self.stands_out,
            self.nearest,
            self.reach or 1.0,
        )
        if self.reach is None and plan.reaching().reach > 1:
            probe = Probe.of(source, standard, mu * math.sqrt(PROBE), self.adjacency, count)
            plan = replace(plan, mu=mu * math.sqrt(1 - PROBE), probe=probe).reaching()
        standard = replace(standard, reach=plan.reach * standard.reach)
        sums, score = NoisySums(source.rows(standard), self.adjacency), loss.score
        start = self.start(standard.size, center)
        near = plan.steps.taken(sums, far.score, start, plan.mu * math.sqrt(plan.steps.share))
        fit = averaged_newton(sums, score, near, plan.left, plan.shares, count)
        back, shift = standard.original()
        back = np.kron(np.eye(score.outcomes), back).astype(np.float64)
        params, covariance, degrees = fit.of(back)
        reason = ""
        if not plan.feasible:
            reason = TOO_FEW
        elif not fit.law.curvature.clear:
            reason = NOT_CLEAR
        elif not arrived(near, fit):
            reason = NOT_THERE
        return Result(
            self.labels([*names, "const"] if self.intercept else list(names)),
            params + np.tile(shift, score.outcomes),
            loss=self.loss,
            method=f"{self.word}, averaged noisy Newton steps",
            covariance=None if reason else covariance,
            df=None if reason else degrees,
            reason=reason,
            nobs=count,
            nobs_noisy=self.adjacency is ADD_REMOVE,
            notes=self.notes(plan.reach),
        )

    def _standard(
        self, source: Source, public: tuple[Reals, Reals] | None, mu: float, count: float
    ) -> tuple[Standard, float, float]:
        """How rows are standardised with a reach of 1, the centre of the responses, and the mu that is left."""
        columns = source.columns
        private = list(range(columns)) if public is None else []
        guides: Sequence[tuple[float, float] | None] = self.bounds or (None,) * columns
        limits = list(guides) if private else []
        if self.response_unit is None:
            private, limits = [*private, columns], [*limits, self.response_bounds]
        found: list[tuple[float, float]] = []
        left = mu
        if private:
            double = 1.0 if self.adjacency is ADD_REMOVE else 2.0
            needed = double / 2 * looks(limits) * len(private) * (LOOKS / (max(count, 1.0) * mu)) ** 2
            share = min(MOST_LOOKS, max(needed, LEAST_LOOKS))
            found = standardise(source, private, limits, mu * math.sqrt(share), self.adjacency)
            left = mu * math.sqrt(1 - share)
        center, unit = self.response_unit or found[-1]
        if public is None:
            public = np.array([c for c, _ in found[:columns]]), np.array([s for _, s in found[:columns]])
        response = (center, unit) if self.shifted else (0.0, 1.0)
        return self.standard(*public, *response), center, left


def arrived(near: Reals, fit: Fit) -> bool:
    """Whether the last steps were so short that what the loss bends along them is small beside the error.

    Along a step of length d the curvature changes by a factor e^d at most, and averaged steps from a start at distance
    d are off by about d^2/5.
    """
    moved = float(np.sum((fit.theta - near) ** 2))
    return moved <= BENT * math.sqrt(float(np.trace(fit.law.covariance)))
