"""What a user promises: `PureDP`, `ApproxDP`, `ZCDP`, `GDP`, `RDP`, `TradeOff` and `AttackRisk`, one file a kind."""

from __future__ import annotations

from collections.abc import Mapping

from dalenius.calculus.guarantees.approx import ApproxDP
from dalenius.calculus.guarantees.attack_advantage import AttackAdvantage
from dalenius.calculus.guarantees.attack_auc import AttackAUC
from dalenius.calculus.guarantees.attack_posterior import AttackPosterior
from dalenius.calculus.guarantees.attack_power import AttackPower
from dalenius.calculus.guarantees.attack_risk import AttackRisk
from dalenius.calculus.guarantees.filter import Filter, Reserve
from dalenius.calculus.guarantees.gdp import GDP
from dalenius.calculus.guarantees.guarantee import Guarantee, Measure, budgets
from dalenius.calculus.guarantees.pure import PureDP
from dalenius.calculus.guarantees.rdp import RDP
from dalenius.calculus.guarantees.tradeoff import TradeOff
from dalenius.calculus.guarantees.zcdp import ZCDP
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.adjacency import adjacency as checked_adjacency
from dalenius.errors import InvalidParameter, LedgerError

__all__ = [
    "GDP",
    "KINDS",
    "RDP",
    "ZCDP",
    "ApproxDP",
    "AttackAUC",
    "AttackAdvantage",
    "AttackPosterior",
    "AttackPower",
    "AttackRisk",
    "Filter",
    "Guarantee",
    "Measure",
    "PureDP",
    "TradeOff",
    "filter_of",
    "from_record",
]

KINDS: Mapping[str, type[Guarantee]] = {
    kind.tag: kind
    for kind in (
        PureDP,
        ApproxDP,
        ZCDP,
        GDP,
        RDP,
        TradeOff,
        AttackAdvantage,
        AttackPower,
        AttackAUC,
        AttackPosterior,
    )
}
"""Every kind of guarantee by its tag, in the order in which messages list them."""


def from_record(content: object) -> Guarantee:
    """The guarantee that `Guarantee.record` wrote.

    Parameters
    ----------
    content
        What was recorded: {"kind": ..., ...}.

    Returns
    -------
    Guarantee
        The one that was recorded.

    Raises
    ------
    LedgerError
        If the kind is unknown, or the rest is not what its `record` writes.

    Examples
    --------
    >>> from_record({"kind": "zcdp", "rho": "0.5"})
    ZCDP(rho=0.5)
    """
    tag = content.get("kind") if isinstance(content, Mapping) else None
    kind = KINDS.get(tag) if isinstance(tag, str) else None
    if kind is None:
        raise LedgerError(f"{tag!r} is no kind of guarantee that this dalenius knows: {', '.join(KINDS)}.")
    return kind.from_record(content)


def filter_of(promise: object, adjacency: Adjacency = ADD_REMOVE, reserve: Reserve = 0) -> Filter:
    """The filter that keeps a promise over any number of releases.

    Parameters
    ----------
    promise
        PureDP, ApproxDP, ZCDP or GDP.
    adjacency
        Whose neighbours the promise is about.
    reserve
        For ApproxDP: the part of epsilon set aside for what is better paid like pure DP (`approx.ApproxFilter`).

    Returns
    -------
    Filter
        What says the cost of a release, and what is left.

    Raises
    ------
    InvalidParameter
        If the promise has no filter, or the reserve does not fit it.

    Examples
    --------
    >>> import dalenius as dp
    >>> budget = filter_of(dp.ZCDP(0.5))
    >>> budget.cost(dp.losses.gaussian(sigma=4.0) * 2)
    Cost(zcdp: rho 0.0625)
    """
    if not isinstance(promise, Guarantee):
        raise InvalidParameter(
            f"the budget is {promise!r}; it must be {budgets()}: dp.ApproxDP(1.0, 1e-6), for instance."
        )
    return promise.filter(checked_adjacency(adjacency), reserve)
