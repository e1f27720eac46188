"""A private bound on the mechanism's loss as a test: pass if the bound is within the limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dalenius.adaptive.ptr.parts import PrivateBound, PrivateTest, checked_part
from dalenius.calculus.loss import Loss
from dalenius.core import checks


@dataclass(frozen=True)
class BoundTest(PrivateTest):
    """Passes if a private upper bound on the loss is at most `limit` (Redberg 2023, Theorem 3.5.7).

    Data with a loss above the limit pass only if the bound is false of them.

    Parameters
    ----------
    bound
        States an upper bound on a number: the mechanism's loss at the data, or what decides it.
    limit
        Data with a number up to this keep the mechanism's budget.

    Examples
    --------
    >>> import dalenius as dp
    >>> from dalenius.adaptive.ptr import BoundTest, NoisyUpperBound
    >>> spread = NoisyUpperBound(
    ...     statistic=max, noise=dp.mechanisms.Laplace(sensitivity=1, scale=1.0), failure=1e-3)
    >>> test = BoundTest(spread, limit=50.0)
    >>> test.passes([1.0, 2.0]), test.passes([1000.0]), test.wrong_pass
    (True, False, 0.001)
    """

    bound: PrivateBound
    limit: float

    def __post_init__(self) -> None:
        checked_part("bound", self.bound, PrivateBound, "dp.adaptive.ptr.NoisyUpperBound(...)")
        object.__setattr__(self, "limit", checks.number("limit", self.limit))

    @property
    def loss(self) -> Loss:
        return self.bound.loss

    @property
    def wrong_pass(self) -> float:  # type: ignore[override]
        return self.bound.failure

    def passes(self, data: Any) -> bool:
        return bool(self.bound.release(data) <= self.limit)
