"""The epsilon that keeps a guarantee or reaches an accuracy."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from dalenius.calculus.calibrate import calibrate
from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.errors import CannotMeet, InvalidParameter

M = TypeVar("M")

LARGEST_SCALE = 2.0**56


def checked_epsilon(value: object) -> float:
    """An epsilon that promises something and allows something."""
    epsilon = checks.positive("epsilon", value, "With epsilon 0 the data cannot be looked at.")
    return checks.moderate("epsilon", epsilon)


def checked_confidence(value: object) -> float:
    """A probability strictly between 0 and 1."""
    allowed = "a number strictly between 0 and 1"
    result = checks.number("confidence", value, allowed)
    if not 0 < result < 1:
        raise InvalidParameter(f"confidence is {result}; it must be {allowed}.")
    return result


def scale_for(sensitivity: float, epsilon: float) -> float:
    """sensitivity / epsilon, rounded up, if exact noise can have that scale."""
    scale = checks.ratio_up(sensitivity, epsilon)
    if not 0 < scale <= LARGEST_SCALE:
        raise InvalidParameter(
            f"epsilon is {epsilon:g} for a sensitivity of {sensitivity:g}; noise of scale {scale:g} "
            "is needed and exact noise goes up to 2^56. Use other units, or another epsilon."
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


def least_epsilon(
    build: Callable[[float], M], error: Callable[[M], float], within: object, fixed: float = 0.0
) -> M:
    """The mechanism with the least epsilon whose error fits: `fixed` plus something inverse to epsilon."""
    limit = checks.positive("within", within, "No noise is that accurate.")
    if limit <= fixed:
        raise InvalidParameter(f"within is {limit:g}; it must be above {fixed:g}, which no epsilon removes.")
    rest = error(build(1.0)) - fixed
    if rest <= 1e-12 * limit:
        raise CannotMeet("every epsilon is that accurate; there is nothing to calibrate.")
    epsilon, mechanism = rest / (limit - fixed), build(rest / (limit - fixed))
    for _ in range(100):
        if error(mechanism) <= limit:
            return mechanism
        epsilon *= 1 + 1e-13
        mechanism = build(epsilon)
    raise CannotMeet(f"no epsilon near {epsilon:g} is within {limit:g}.")
