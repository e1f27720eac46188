"""The epsilon that keeps a guarantee, and the scale of noise that it asks for."""

from __future__ import annotations

from collections.abc import Callable

from dalenius.calculus.calibrate import calibrate
from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.errors import CannotMeet, InvalidParameter

LARGEST_SCALE = 2.0**56


def scale_for(sensitivity: float, epsilon: float) -> float:
    """sensitivity / epsilon, rounded up, if exact noise can have that scale."""
    scale = checks.ratio_up(sensitivity, epsilon)
    if not 0 < scale <= LARGEST_SCALE:
        raise InvalidParameter.of(
            "epsilon",
            f"epsilon is {epsilon:g} for a sensitivity of {sensitivity:g}; noise of scale {scale:g} "
            "is needed and exact noise goes up to 2^56. Use other units, or another epsilon.",
        )
    return scale


def affordable(guarantee: Guarantee, family: Callable[[float], Loss]) -> float:
    """The largest epsilon whose loss keeps the promise."""
    if not isinstance(guarantee, Guarantee):
        raise InvalidParameter(
            f"guarantee is {checks.shown(guarantee)}; it must be a promise such as dalenius.PureDP(1.0)."
        )
    pure = guarantee.as_pure()
    if pure is not None:
        if pure.epsilon == 0:
            raise CannotMeet(f"{guarantee} allows no dependence on the data: nothing can be learned from it.")
        if guarantee.holds(family(pure.epsilon)):
            return pure.epsilon
    return calibrate(family, guarantee)
