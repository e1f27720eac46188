"""Quantiles with noise for how sensitive they are at the data at hand: smooth sensitivity, and propose-test-release.

Groups are released one by one, each from its own counts. A neighbour changes the counts of at most `groups` of them,
and in each by at most `rows` rows that come, or leave, or both (`Sensitivity`); so one group is a
`statistics.BinnedQuantile` of units with that many rows, and all of them together cost `groups` times as much as one.
docs/proofs/adaptive-quantiles.md has the proof.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalenius.adaptive import Refusal, SmoothGaussian, SmoothLaplaceLogNormal, SmoothStudentT
from dalenius.adaptive.ptr import GaussianDistanceTest, LocalBinnedQuantile, ProposeTestRelease
from dalenius.adaptive.smooth.noise import SmoothNoise
from dalenius.adaptive.statistics import BinnedQuantile
from dalenius.calculus import losses
from dalenius.calculus.guarantees import GDP, ZCDP, Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core.adjacency import Adjacency
from dalenius.core.record import JSON, exact
from dalenius.errors import CannotMeet, InvalidParameter, TooMuchNoise
from dalenius.intervals.laws import Law, Normal
from dalenius.tables.measures.measure import NoisyQuantile, ProposedQuantile, SmoothQuantile
from dalenius.tables.measures.tree import Reals
from dalenius.tables.plan.noise import Noise
from dalenius.tables.plan.sensitivity import Sensitivity

MOST_DISTANCES = 2**17
"""A test that needs data further from instability than that is not worth its while."""

SHARE = 0.5
"""The part of mu^2 that a test costs; the rest is for the noise."""


@dataclass(frozen=True)
class PerGroup(Noise):
    """A mechanism that is run on the counts of every group. joint: the loss of all groups together."""

    joint: Loss = field(kw_only=True)

    @property
    def loss(self) -> Loss:
        return self.joint

    @property
    def moved(self) -> float | None:
        return float(self.measure.proposed) if isinstance(self.measure, ProposedQuantile) else None

    def release(self, counts: Reals) -> Reals:
        """Half bins; NaN for a refusal."""
        rows = np.asarray(counts).reshape(len(counts), -1).astype(np.int64)
        drawn = [self.mechanism.release(row) for row in rows]
        return np.array([math.nan if isinstance(one, Refusal) else one for one in drawn], dtype=float)

    def accuracy(self, confidence: float) -> float:
        return self.law.reach(1 - confidence)[1]


@dataclass(frozen=True)
class SecretSpread(Law):
    """Noise in proportion to the smooth sensitivity of the data, which nobody may know: sigma is not a number.

    noise: the kind. beta, scale, shape: its parameters; shape stands for degrees of freedom, too, and is 0 where there
    is none.
    """

    noise: str
    beta: float
    scale: float
    shape: float

    tag = "smooth"

    def record(self) -> dict[str, JSON]:
        numbers = {"beta": self.beta, "scale": self.scale, "shape": self.shape}
        return {**super().record(), "noise": self.noise, **{word: exact(x) for word, x in numbers.items()}}

    @classmethod
    def from_record(cls, content: Mapping[str, JSON]) -> SecretSpread:
        numbers = (float(content[word]) for word in ("beta", "scale", "shape"))
        return cls(float(content["sigma"]), content["noise"], *numbers)

    @property
    def fourth(self) -> float:
        raise TypeError("the spread of this noise is not known; this is a defect")

    def reach(self, failure: float) -> tuple[float, float]:
        return math.inf, math.inf


def smooth_noise(
    measure: SmoothQuantile, moved: Sensitivity, adjacency: Adjacency, group: Guarantee, delta: float = 0.0
) -> Noise:
    """For what one group may cost: with a delta, in GDP but for a chance of that."""
    statistic = _statistic(measure, moved, adjacency)
    try:
        made = _smooth(statistic, group, delta)
    except CannotMeet:
        raise TooMuchNoise(
            f"no noise in proportion to the smooth sensitivity keeps {group!r} for one group; use a larger budget, "
            "or adaptive='rank'."
        ) from None
    loss = made.loss
    if isinstance(made, SmoothGaussian):
        loss = losses.gdp(made.mu(delta), adjacency) + losses.approx(0.0, delta, adjacency)
    shape = float(getattr(made, "shape", getattr(made, "df", 0.0)))
    law = SecretSpread(math.nan, _NAMES[type(made)], made.beta, made.scale, shape)
    return PerGroup(measure, made, moved, law, joint=loss * moved.groups)


def _smooth(statistic: BinnedQuantile, group: Guarantee, delta: float) -> SmoothNoise:
    if isinstance(group, ZCDP):
        return SmoothLaplaceLogNormal.for_even_gaps(group, statistic=statistic)
    if isinstance(group, GDP) and delta > 0:
        return SmoothGaussian.within(group.mu, delta, statistic=statistic)
    return SmoothStudentT.for_even_gaps(group, statistic=statistic)


_NAMES: Mapping[type[Any], str] = {
    SmoothStudentT: "student_t",
    SmoothGaussian: "gaussian",
    SmoothLaplaceLogNormal: "laplace_log_normal",
}
"""What they are called in records."""


def proposed_noise(
    measure: ProposedQuantile, moved: Sensitivity, adjacency: Adjacency, mu: float, delta: float
) -> Noise:
    """For the mu of one group, and the probability that data pass the test that should not."""
    if not delta > 0:
        raise no_delta()
    deviation = 1 / (mu * SHARE**0.5)
    statistic = _statistic(measure, moved, adjacency)
    halves = measure.proposed
    noise = LocalBinnedQuantile(
        statistic=statistic, sensitivity=halves, sigma=halves / (mu * (1 - SHARE) ** 0.5), furthest=1
    )
    furthest = GaussianDistanceTest(mechanism=noise, sigma=deviation, wrong_pass=delta).furthest
    if furthest > MOST_DISTANCES:
        raise TooMuchNoise(
            f"the test would need data {furthest} units away from instability; use a larger budget, or "
            "adaptive='rank'."
        )
    noise = LocalBinnedQuantile(statistic=statistic, sensitivity=halves, sigma=noise.sigma, furthest=furthest)
    test = GaussianDistanceTest(mechanism=noise, sigma=deviation, wrong_pass=delta)
    made = ProposeTestRelease(mechanism=noise, test=test)
    # Normal noise is within its budget both ways, so that `ptr.guarantee` needs no more than this.
    loss = test.loss + noise.budget + losses.approx(0.0, delta, adjacency)
    return PerGroup(measure, made, moved, Normal(noise.sigma), joint=loss * moved.groups)


def no_delta() -> InvalidParameter:
    """What a proposal answers where nothing may go wrong."""
    return InvalidParameter(
        "adaptive='propose' spends some delta: data that do not bear the proposal pass its test with a small "
        "probability. Use a session with an ApproxDP budget, and pay in ApproxDP or GDP; or adaptive='smooth', or "
        "adaptive='rank'."
    )


def _statistic(measure: NoisyQuantile, moved: Sensitivity, adjacency: Adjacency) -> BinnedQuantile:
    return BinnedQuantile(level=measure.level, size=measure.size, max_rows=moved.rows, adjacency=adjacency)
