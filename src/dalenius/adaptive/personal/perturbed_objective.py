"""What objective perturbation cost one person.

Released is a point near the minimiser theta of sum f(x.theta; y) + (ridge/2)|theta|^2 + b.theta, b ~ N(0, sigma^2 I).
With g = f' x the gradient of a record at theta, A the Hessian without the record (ridge included), and b the noise
that belongs to theta and the data (Redberg 2023, Corollary 2.3.2, with signs as in
docs/proofs/objective-perturbation.md):

    in the data      log p(with) - log p(without) = +b.g/sigma^2 + |g|^2/(2 sigma^2) + log(1 + f'' x.A^-1 x)
    not in the data  log p(without) - log p(with) = -b.g/sigma^2 + |g|^2/(2 sigma^2) - log(1 + f'' x.A^-1 x)

The determinant's part lies between 0 and log(1 + f''|x|^2/ridge), since A >= ridge: no condition on the ridge is
needed. For a person named beforehand b.x is a normal number, although f' depends on b; for everybody at once |b.x| is
at most |b||x|, and at most max|b_j| |x|_1.

What is bounded. The fit releases theta + error + N(0, output_sigma^2 I), the error of the solver being at most
tolerance/ridge. The bound is on the loss of the pair (theta, what was released): somebody who saw the exact minimiser
as well learns at least as much. The second of the pair is a Gaussian release whose centre moves by 2 tolerance/ridge
at most, and theta lies within `reach` of what was released, so slope and bend are taken at their largest within that
reach.

With noise of density exp(-|b|/scale) instead, |b| moves by |g| at most: the first two terms are |g|/scale, always.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from dalenius.adaptive.personal import quantiles
from dalenius.adaptive.personal.curvature import Curvature
from dalenius.adaptive.personal.record import Fields
from dalenius.adaptive.personal.release import Release, Statement, padded, reached
from dalenius.adaptive.personal.slopes import Slope
from dalenius.calculus.pairs.pair import Reals
from dalenius.core import checks
from dalenius.core.record import JSON, exact
from dalenius.errors import InvalidParameter

SOLVER = 0.01
"""The share of the failure probability for each of the two events that the output noise brings."""
CURVATURE = 0.1
"""The same for each event that a released Hessian brings."""
FARTHEST = 1e-25
"""A Hessian is released as it is at its least wherever the minimiser can be, but for this probability."""
ROUNDING = 1e-10
"""theta is only known up to so much of its length, as rows and coefficients were rescaled."""


@dataclass(frozen=True)
class PerturbedObjective(Release):
    """One fit by objective perturbation. `scale` is sigma, or the scale of K-norm noise; `rows` those of one person."""

    tag = "perturbed_objective"

    fields: Fields
    slope: Slope
    theta: tuple[float, ...]
    noise: Literal["gaussian", "k_norm"]
    scale: float
    ridge: float
    gradient_bound: float
    smoothness: float
    tolerance: float = 0.0
    output_scale: float = 0.0
    rounding: float = 0.0
    """How far theta may have been moved by writing it in other units."""
    row_rounding: float = 0.0
    label_rounding: float = 0.0
    rows: int = 1
    gradient_sigma: float | None = None
    """Where the gradient at theta was released as well, with noise of this size."""
    curvature: Curvature | None = None

    def __post_init__(self) -> None:
        for word in NUMBERS[:4]:
            checks.positive(word, getattr(self, word))
        for word in NUMBERS[4:]:
            checks.nonnegative(word, getattr(self, word))
        if self.tolerance > 0:
            checks.positive("output_scale", self.output_scale)
        if self.gradient_sigma is not None:
            checks.positive("gradient_sigma", self.gradient_sigma)
        checks.count("rows", self.rows, least=1)
        if len(self.theta) != self.fields.size or not np.isfinite(self.theta).all():
            raise InvalidParameter(f"theta must be {self.fields.size} finite numbers, one for each column.")
        if self.noise not in ("gaussian", "k_norm"):
            raise InvalidParameter(f"noise is {self.noise!r}; it must be 'gaussian' or 'k_norm'.")
        if self.curvature is not None and len(self.curvature.square) != self.fields.size:
            raise InvalidParameter("the released Hessian is not of the size of theta.")

    def constants(self, statement: Statement) -> dict[str, Any]:
        size, left = len(self.theta), statement
        known = self.rounding + ROUNDING * float(np.linalg.norm(self.theta))
        found: dict[str, Any] = {"reach": known, "extra": 0.0, "curvature": None}
        if self.tolerance > 0:
            away, found["extra"] = self._output(size, statement)
            found["reach"] += away
            left = statement.part(1 - 2 * SOLVER)
        if self.curvature is not None:
            if statement.failure < FARTHEST:
                raise InvalidParameter(
                    f"a report with a Hessian needs a failure probability above {FARTHEST:g}."
                )
            found["curvature"] = self.curvature.constants(self.ridge, statement.part(CURVATURE))
            left = left.part(1 - 2 * CURVATURE / (1 - 2 * SOLVER if self.tolerance > 0 else 1))
        if self.noise == "gaussian":
            # Rows of one person need not be alike: each is a direction of its own.
            ball, box = replace(left, people=left.people * self.rows).directions(size)
            return {**found, "ball": ball, "box": box, "scale": self.precision, "square": 0.5}
        return {**found, "ball": 1.0, "box": None, "scale": self.scale, "square": 0.0}

    @property
    def precision(self) -> float:
        """The noise of all that was released of the gradient: two independent looks are one with less noise.

        Given theta, b and a release -b + N(0, s^2) add up to a look at the gradient with variance 1/(1/sigma^2 +
        1/s^2); so releasing the gradient can only raise the bound on the whole, whatever came out.
        """
        if self.gradient_sigma is None:
            return self.scale
        return self.scale / math.hypot(1.0, self.scale / self.gradient_sigma)

    def _output(self, size: int, statement: Statement) -> tuple[float, float]:
        """How far theta may be from what was released, and what the output noise itself cost."""
        part, away = statement.part(SOLVER), self.tolerance / self.ridge
        moved = 2 * away / self.output_scale
        if self.noise == "k_norm":
            noise = quantiles.norm_noise_length(size, part.failure)
            return away + self.output_scale * noise, moved
        # The direction in which the solver's error moves is nobody's own: it needs all of them at once for everybody.
        far = part.directions(size)[0]
        return away + self.output_scale * quantiles.length(size, part.failure), moved**2 / 2 + moved * far

    def bound(self, constants: Mapping[str, Any], rows: Reals, labels: Reals, member: bool | None) -> Reals:
        size = np.linalg.norm(rows, axis=1) + self.row_rounding
        low, high, bend = self._slopes(constants, rows, labels)
        steep = np.maximum(np.abs(low), np.abs(high))
        flat = np.where(low * high > 0, np.minimum(np.abs(low), np.abs(high)), 0.0)
        scale, square = constants["scale"] / self.rows, constants["square"]
        linear = steep * reached(rows, constants["ball"], constants["box"], self.row_rounding) / scale
        most, least = square * (steep * size / scale) ** 2, square * (flat * size / scale) ** 2
        inside, outside, extra = self._leverage(constants, rows, bend)
        absent = np.maximum(linear + most, linear - least + outside)
        found = absent if member is False else linear + most + inside
        return np.asarray(padded(found + extra + constants["extra"]))

    def _slopes(self, constants: Mapping[str, Any], rows: Reals, labels: Reals) -> tuple[Reals, Reals, Reals]:
        """The least and the largest slope, and the largest bend, wherever the minimiser and the fit's row may be."""
        theta, size = np.array(self.theta), np.linalg.norm(rows, axis=1) + self.row_rounding
        reach = constants["reach"] * size + self.row_rounding * float(np.linalg.norm(theta))
        return self.slope.near(rows @ theta, labels, reach, self.label_rounding)

    def _leverage(self, constants: Mapping[str, Any], rows: Reals, bend: Reals) -> tuple[Reals, Reals, Reals]:
        """The determinant's part for a record in the data, and not in it; and what releasing the Hessian cost."""
        square = (np.linalg.norm(rows, axis=1) + self.row_rounding) ** 2
        most = self.rows * np.log1p(bend * square / self.ridge)
        if constants["curvature"] is None:
            return most, most, np.zeros(len(rows))
        leverage = self.rows * bend * Curvature.leverage(constants["curvature"], rows)
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = np.where(leverage < 1, -np.log1p(-np.minimum(leverage, 1.0)), np.inf)
        outside = self.rows * np.log1p(leverage / self.rows)
        cost = Curvature.cost(constants["curvature"], self.rows * bend * square)
        return np.minimum(most, inside), np.minimum(most, outside), cost

    def worst(self, constants: Mapping[str, Any]) -> float:
        share = self.rows * self.gradient_bound / constants["scale"]
        found = share * constants["ball"] + constants["square"] * share**2 + constants["extra"]
        if constants["curvature"] is not None:
            found += float(Curvature.cost(constants["curvature"], np.array([self.rows * self.smoothness]))[0])
        return float(padded(found + self.rows * math.log1p(self.smoothness / self.ridge)))

    def record(self) -> dict[str, JSON]:
        return {
            "fields": self.fields.record(),
            "loss": self.slope.record(),
            "theta": [exact(value) for value in self.theta],
            "noise": self.noise,
            **{word: exact(getattr(self, word)) for word in NUMBERS},
            "rows": self.rows,
            "gradient_sigma": None if self.gradient_sigma is None else exact(self.gradient_sigma),
            "curvature": None if self.curvature is None else self.curvature.record(),
        }

    @classmethod
    def from_record(cls, record: Mapping[str, JSON]) -> PerturbedObjective:
        gradient, curvature = record["gradient_sigma"], record["curvature"]
        return cls(
            Fields.from_record(record["fields"]),
            Slope.from_record(record["loss"]),
            tuple(float(value) for value in record["theta"]),
            record["noise"],
            **{word: float(record[word]) for word in NUMBERS},
            rows=int(record["rows"]),
            gradient_sigma=None if gradient is None else float(gradient),
            curvature=None if curvature is None else Curvature.from_record(curvature),
        )


NUMBERS = (
    "scale",
    "ridge",
    "gradient_bound",
    "smoothness",
    "tolerance",
    "output_scale",
    "rounding",
    "row_rounding",
    "label_rounding",
)
