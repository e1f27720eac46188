"""What the mechanisms that draw a point of a public interval share."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from dalenius.calculus.loss import Loss
from dalenius.calculus.losses import bounded_range
from dalenius.mechanisms._support.epsilon_mechanism import EpsilonMechanism
from dalenius.mechanisms._support.interval_grid import IntervalGrid


class IntervalMechanism(EpsilonMechanism):
    """A dataclass with the fields `bounds` and `granularity` as well."""

    bounds: tuple[float, float]
    granularity: Any

    def __post_init__(self) -> None:
        points = IntervalGrid.of(self.bounds, self.granularity)
        object.__setattr__(self, "bounds", points.bounds)
        object.__setattr__(self, "granularity", points.granularity)
        super().__post_init__()

    @cached_property
    def points(self) -> IntervalGrid:
        """The candidates."""
        return IntervalGrid(self.bounds, self.granularity)

    def _loss_at(self, epsilon: float) -> Loss:
        return bounded_range(epsilon, self.adjacency)
