"""Which method fits a linear model under which promise."""

from __future__ import annotations

from dataclasses import asdict
from functools import lru_cache
from typing import Literal, Protocol, get_args

from dalenius.calculus.guarantees import GDP, Guarantee
from dalenius.calculus.loss import Loss
from dalenius.calculus.pairs.pair import Reals
from dalenius.core.checks import shown
from dalenius.errors import CannotMeet, InvalidParameter
from dalenius.learn.data.rows import Records
from dalenius.learn.methods.descent import Descent, NoisyDescent
from dalenius.learn.methods.noisy_newton import NoisyNewton
from dalenius.learn.methods.objective_perturbation import ObjectivePerturbation
from dalenius.learn.methods.output_perturbation import OutputPerturbation
from dalenius.learn.methods.pure_objective_perturbation import PureObjectivePerturbation
from dalenius.sums.curves import Curve

Named = Literal["auto", "objective", "kifer", "descent", "output"]
Method = Named | Descent


class Plan(Protocol):
    """How a model is fitted and what that costs, settled before the data is looked at."""

    @property
    def loss(self) -> Loss: ...

    def fit(self, records: Records, curve: Curve) -> Reals: ...


def checked_method(method: object) -> Method:
    """A method by its name, or one that was set up."""
    if isinstance(method, Descent) or (isinstance(method, str) and method in get_args(Named)):
        return method  # type: ignore[return-value]
    raise InvalidParameter(
        f"method is {shown(method)}; it must be 'auto', 'objective', 'kifer', 'descent' or 'output', or "
        "dp.learn.Descent(...)."
    )


@lru_cache(maxsize=64)
def plan(
    guarantee: Guarantee, gradient_bound: float, smoothness: float, noise_ratio: float, method: Method
) -> Plan:
    """The method for a promise, calibrated: objective perturbation wherever it can keep it.

    PureDP: with K-norm noise. GDP, and whatever else a perturbed objective cannot keep: noisy descent.
    """
    if isinstance(method, Descent):
        return NoisyDescent.calibrated(guarantee, gradient_bound, **asdict(method))
    if method == "kifer":
        return ObjectivePerturbation.kifer(guarantee, gradient_bound, smoothness)
    if method == "output":
        return OutputPerturbation.calibrated(guarantee, gradient_bound, smoothness)
    if method != "descent":
        if guarantee.as_pure() is not None:
            return PureObjectivePerturbation.calibrated(guarantee, gradient_bound, smoothness, noise_ratio)
        if method == "objective" or not isinstance(guarantee, GDP):
            try:
                return ObjectivePerturbation.calibrated(guarantee, gradient_bound, smoothness, noise_ratio)
            except CannotMeet:
                if method == "objective":
                    raise
    return NoisyNewton.calibrated(guarantee, gradient_bound)
