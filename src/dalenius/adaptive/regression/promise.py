"""Which promises a regression that adapts can keep."""

from __future__ import annotations

from dalenius.calculus.guarantees import ApproxDP, Guarantee
from dalenius.core import checks
from dalenius.errors import CannotMeet, InvalidParameter


def with_delta(promise: object) -> ApproxDP:
    """The promise, if it is (epsilon, delta) with both above 0: the private bounds may be false."""
    if not isinstance(promise, Guarantee):
        raise InvalidParameter.of(
            "promise",
            f"promise is {checks.shown(promise)}; it must be a promise such as dalenius.ApproxDP(1.0, 1e-5).",
        )
    if not isinstance(promise, ApproxDP) or promise.delta == 0 or promise.epsilon == 0:
        raise CannotMeet(f"{promise} cannot be kept here; ask for ApproxDP(epsilon, delta), both above 0.")
    return promise
