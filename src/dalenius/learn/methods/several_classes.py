"""How a model of several classes is fitted, and what that costs: all scores at once, or one class after another."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from dalenius.calculus.guarantees import GDP, Guarantee
from dalenius.calculus.loss import Loss
from dalenius.calculus.pairs.pair import Reals
from dalenius.errors import CannotMeet
from dalenius.learn.data.parameters import MOST_RATIO
from dalenius.learn.data.rows import RecordBlocks, Records
from dalenius.learn.methods.noisy_newton import NoisyNewton
from dalenius.learn.methods.objective_perturbation import ObjectivePerturbation
from dalenius.learn.methods.plan import Method
from dalenius.learn.methods.pure_objective_perturbation import PureObjectivePerturbation
from dalenius.learn.numerics.links import Multinomial
from dalenius.sums.curves import Curve, Weighted


@dataclass(frozen=True)
class AllAtOnce:
    """One perturbed objective for the scores of all classes together; paid once."""

    inner: ObjectivePerturbation | PureObjectivePerturbation

    @property
    def loss(self) -> Loss:
        return self.inner.loss

    def fit(self, records: Records | RecordBlocks, link: Multinomial) -> Reals:
        """Coefficients, classes x columns, each column summing to 0."""
        theta = self.inner.fit(records, link)
        return np.asarray(link.basis @ theta.reshape(link.outputs, -1))


@dataclass(frozen=True)
class OneByOne:
    """Every class against the rest, each with noise of its own; the loss is that of all of them."""

    inner: ObjectivePerturbation | PureObjectivePerturbation | NoisyNewton
    classes: int

    @property
    def loss(self) -> Loss:
        return self.inner.loss * self.classes

    def fit(self, records: Records | RecordBlocks, curve: Weighted) -> Reals:
        """Coefficients, classes x columns; labels are class numbers."""
        return np.array([self._one(records, replace(curve, positive=k)) for k in range(self.classes)])

    def _one(self, records: Records | RecordBlocks, curve: Weighted) -> Reals:
        if isinstance(records, Records):
            return self.inner.fit(records, curve)
        assert not isinstance(self.inner, NoisyNewton)
        return self.inner.fit(records, curve)


@lru_cache(maxsize=64)
def all_at_once(guarantee: Guarantee, link: Multinomial, square: float, noise_ratio: float) -> AllAtOnce:
    """For rows of this squared norm at most, the constant included.

    The more directions, the more noise it takes before a moderate ridge is enough: about as their cube root.
    """
    gradient, smooth = link.steepest * math.sqrt(square), link.sharpest * square
    if guarantee.as_pure() is not None:
        return AllAtOnce(
            PureObjectivePerturbation.calibrated(guarantee, gradient, smooth, noise_ratio, link.outputs)
        )
    try:
        if isinstance(guarantee, GDP):
            raise CannotMeet("no finite mu is known")
        return AllAtOnce(
            ObjectivePerturbation.calibrated(
                guarantee,
                gradient,
                smooth,
                min(noise_ratio * link.outputs ** (1 / 3), MOST_RATIO),
                link.outputs,
            )
        )
    except CannotMeet:
        raise CannotMeet(
            f"the objective of all classes together cannot keep {guarantee}; ask for ApproxDP(epsilon, delta), "
            "ZCDP(rho) or PureDP(epsilon), or use dp.learn.OneVsRest, which keeps it by noisy descent."
        ) from None


@lru_cache(maxsize=64)
def one_by_one(
    guarantee: Guarantee, curve: Curve, square: float, noise_ratio: float, method: Method, classes: int
) -> OneByOne:
    """The method for a promise about all of them, as `plan` has it for one."""
    if method not in ("auto", "objective", "descent"):
        raise CannotMeet(f"method {method!r} is for two classes; use 'auto', 'objective' or 'descent'.")
    gradient, smooth = curve.steepest * math.sqrt(square), curve.sharpest * square
    if method != "descent":
        pure = guarantee.as_pure()
        if pure is not None:
            each = pure.divided(classes * (1 + 1e-12))
            return OneByOne(
                PureObjectivePerturbation.calibrated(each, gradient, smooth, noise_ratio), classes
            )
        if method == "objective" or not isinstance(guarantee, GDP):
            try:
                inner = ObjectivePerturbation.calibrated(
                    guarantee, gradient, smooth, noise_ratio, copies=classes
                )
                return OneByOne(inner, classes)
            except CannotMeet:
                if method == "objective":
                    raise
    whole = NoisyNewton.calibrated(guarantee, gradient)
    # The squares of the mus add up.
    return OneByOne(NoisyNewton(whole.mu / math.sqrt(classes) * (1 - 1e-12), gradient), classes)
