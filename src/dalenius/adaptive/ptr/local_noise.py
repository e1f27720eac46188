"""A statistic plus Laplace noise for a proposed local sensitivity."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from dalenius.adaptive.ptr.parts import Stable
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.mechanisms import Laplace


@dataclass(frozen=True, kw_only=True)
class LocalNoise(Stable):
    """statistic(data) + Laplace(scale): within budget where no neighbour's statistic is further than `sensitivity`."""

    sensitivity: float
    scale: float
    bounds: tuple[float, float]
    adjacency: Adjacency = ADD_REMOVE

    def __post_init__(self) -> None:
        object.__setattr__(self, "bounds", checks.interval("bounds", self.bounds))
        object.__setattr__(self, "sensitivity", self._noise.sensitivity)
        object.__setattr__(self, "scale", self._noise.scale)

    @cached_property
    def _noise(self) -> Laplace:
        return Laplace(sensitivity=self.sensitivity, scale=self.scale, adjacency=self.adjacency)

    @property
    def budget(self) -> Loss:
        return self._noise.loss

    @abstractmethod
    def statistic(self, data: Any) -> Fraction:
        """What is released, before noise, exactly; within the bounds."""

    def release(self, data: Any) -> float:
        return float(self._noise.release(self.statistic(data)))

    def releases(self, data: Any, times: int) -> Any:
        return self._noise.releases(self.statistic(data), times)
