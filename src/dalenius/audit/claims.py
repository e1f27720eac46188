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
    if isinstance(claim, Mechanism):
        claim = claim.loss
    if isinstance(claim, int | float) and not isinstance(claim, bool):
        claim = PureDP(claim)
    match claim:
        case PureDP():
            return audit.epsilon_at(0.0) > claim.epsilon
        case ApproxDP():
            return audit.delta(claim.epsilon) > claim.delta
        case GDP():
            return audit.gdp > claim.mu
        case TradeOff():
            return any(claim.f(one) > two for one, two in audit.points)
        case Guarantee():
            return _beaten(audit, claim.loss())
        case Loss():
            return _beaten(audit, claim)
    raise InvalidParameter(
        f"the claim is {claim!r}; it must be a loss, a guarantee such as dalenius.PureDP(1.0), a mechanism, "
        "or an epsilon."
    )


def as_loss(claim: Claim) -> Loss:
    """The worst loss a claim allows."""
    match claim:
        case Mechanism():
            return claim.loss
        case Guarantee():
            return claim.loss()
        case Loss():
            return claim
    return PureDP(claim).loss()


def _beaten(audit: Audit, loss: Loss) -> bool:
    """The loss's trade-off curve is a lower bound on the errors of every attack, in either direction.

    Both the curve and the points are symmetric, so half of the points are enough.
    """
    return any(loss.tradeoff(one) > two for one, two in audit.points if 0.0 < one <= two)
