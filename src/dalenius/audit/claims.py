"""Claims a set of attacks may refute."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dalenius.calculus.guarantees import GDP, ApproxDP, Guarantee, PureDP, TradeOff
from dalenius.calculus.loss import Loss
from dalenius.errors import InvalidParameter
from dalenius.mechanisms.mechanism import Mechanism

if TYPE_CHECKING:
    from dalenius.audit.result import Audit

Claim = Loss | Guarantee | Mechanism | float


def refuted(audit: Audit, claim: Claim) -> bool:
    """Whether some measured attack beats what the claim allows."""
    match _stated(claim):
        case PureDP(epsilon=epsilon):
            return audit.epsilon_at(0.0) > epsilon
        case ApproxDP(epsilon=epsilon, delta=delta):
            return audit.delta(epsilon) > delta
        case GDP(mu=mu):
            return audit.gdp > mu
        case TradeOff(f=f):
            return any(f(one) > two for one, two in audit.points)
    return _beaten(audit, as_loss(claim))


def as_loss(claim: Claim) -> Loss:
    """The worst loss a claim allows."""
    stated = _stated(claim)
    return stated if isinstance(stated, Loss) else stated.loss()


def _stated(claim: Claim) -> Loss | Guarantee:
    if isinstance(claim, Mechanism):
        return claim.loss
    if isinstance(claim, Loss | Guarantee):
        return claim
    if not isinstance(claim, bool) and isinstance(claim, int | float):
        return PureDP(claim)
    raise InvalidParameter(
        f"the claim is {claim!r}; it must be a loss, a guarantee such as dalenius.PureDP(1.0), a mechanism, "
        "or an epsilon."
    )


def _beaten(audit: Audit, loss: Loss) -> bool:
    """The loss's trade-off curve is a lower bound on the errors of every attack, in either direction.

    Both the curve and the points are symmetric, so half of the points are enough.
    """
    return any(loss.tradeoff(one) > two for one, two in audit.points if 0.0 < one <= two)
