"""The noise of mechanisms, to be simulated: by quantiles of uniform numbers, so that it can be reproduced.

This is post-processing. Nothing drawn here protects anybody, and nothing comes from the room of the noise that does.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtri

from dalenius.calculus import losses
from dalenius.calculus.loss import Loss
from dalenius.core.arrays import Reals
from dalenius.errors import InvalidParameter
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian
from dalenius.mechanisms.gaussian import Gaussian
from dalenius.mechanisms.geometric import Geometric
from dalenius.mechanisms.laplace import Laplace
from dalenius.mechanisms.mechanism import Mechanism

SUMMED = 1e4
"""Up to this sigma the law of whole-numbered Gaussian noise is summed; beyond, it is normal to 1e-9 of sigma."""


class NoiseLaw(ABC):
    """The law of the noise in one released number."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """Of the noise."""

    @abstractmethod
    def quantile(self, u: Reals) -> Reals:
        """The noise whose distribution function is u."""

    @abstractmethod
    def log_density(self, noise: Reals) -> Reals:
        """Up to a constant."""


@dataclass(frozen=True)
class GaussianLaw(NoiseLaw):
    """N(0, sigma^2)."""

    sigma: float

    @property
    def variance(self) -> float:
        return self.sigma**2

    def quantile(self, u: Reals) -> Reals:
        return np.asarray(self.sigma * ndtri(u))

    def log_density(self, noise: Reals) -> Reals:
        return np.asarray(-0.5 * (noise / self.sigma) ** 2)


@dataclass(frozen=True)
class LaplaceLaw(NoiseLaw):
    """Density proportional to exp(-|x| / scale)."""

    scale: float

    @property
    def variance(self) -> float:
        return 2 * self.scale**2

    def quantile(self, u: Reals) -> Reals:
        side = u - 0.5
        tail = np.maximum(1 - 2 * np.abs(side), 1e-300)
        return np.asarray(-np.sign(side) * self.scale * np.log(tail))

    def log_density(self, noise: Reals) -> Reals:
        return np.asarray(-np.abs(noise) / self.scale)


@dataclass(frozen=True)
class GeometricLaw(LaplaceLaw):
    """The same on whole numbers: the nearest of them, in the sense that P(k) is proportional to exp(-|k| / scale)."""

    @property
    def variance(self) -> float:
        q = math.exp(-1 / self.scale)
        return 2 * q / (1 - q) ** 2

    def quantile(self, u: Reals) -> Reals:
        q = math.exp(-1 / self.scale)
        low = np.minimum(u, 1 - u)  # P(k <= -m) = q^m / (1 + q)
        size = np.maximum(np.floor(np.log(np.maximum(low, 1e-300) * (1 + q)) / math.log(q)) + 0.0, 0.0)
        return np.asarray(np.where(u < 0.5, -size, size))


@dataclass(frozen=True)
class DiscreteGaussianLaw(GaussianLaw):
    """P(k) proportional to exp(-k^2 / (2 sigma^2)) on whole numbers."""

    def quantile(self, u: Reals) -> Reals:
        if self.sigma > SUMMED:
            return np.rint(super().quantile(u))
        far = (len(self._below) - 1) // 2
        return np.asarray(np.searchsorted(self._below, u).clip(0, 2 * far) - far, dtype=float)

    @cached_property
    def _below(self) -> Reals:
        far = math.ceil(12 * self.sigma) + 2
        chance = np.exp(-0.5 * (np.arange(-far, far + 1) / self.sigma) ** 2)
        below: Reals = np.cumsum(chance) / chance.sum()
        return below

    @property
    def variance(self) -> float:
        return self.sigma**2 if self.sigma > 1 else float(self._summed_variance)

    @cached_property
    def _summed_variance(self) -> float:
        k = np.arange(-40.0, 41.0)
        chance = np.exp(-0.5 * (k / self.sigma) ** 2)
        return float((chance * k**2).sum() / chance.sum())


LAWS: dict[type[Mechanism], Callable[[Any], NoiseLaw]] = {
    Gaussian: lambda m: GaussianLaw(m.sigma),
    Laplace: lambda m: LaplaceLaw(m.scale),
    Geometric: lambda m: GeometricLaw(m.scale),
    DiscreteGaussian: lambda m: DiscreteGaussianLaw(m.sigma),
}
"""One for each mechanism that adds independent noise to every coordinate."""


def noise_laws(mechanism: object, size: int) -> tuple[NoiseLaw, ...]:
    """The law of each of `size` released numbers: of one mechanism for all of them, or one for each."""
    given = _listed(mechanism)
    if len(given) not in (1, size):
        raise InvalidParameter.of(
            "mechanism",
            f"{len(given)} mechanisms were given for {size} released numbers; give one for all, or one for each.",
        )
    laws = tuple(_law(each) for each in given)
    return laws * size if len(laws) == 1 else laws


def release_loss(mechanism: object) -> Loss:
    """What the release cost: of all mechanisms together."""
    return losses.total([each.loss for each in _listed(mechanism)])


def _listed(mechanism: object) -> list[Mechanism]:
    given: list[Any] = (
        list(mechanism) if isinstance(mechanism, Sequence) and not isinstance(mechanism, str) else [mechanism]
    )
    if not given or not all(isinstance(each, Mechanism) for each in given):
        raise InvalidParameter.of(
            "mechanism",
            "mechanism must be what made the release, such as dalenius.mechanisms.Gaussian(...), or a list of them, "
            "one for each number.",
        )
    return given


def _law(mechanism: Mechanism) -> NoiseLaw:
    if type(mechanism) not in LAWS:
        known = ", ".join(sorted(kind.__name__ for kind in LAWS))
        raise InvalidParameter.of(
            "mechanism",
            f"the noise of {type(mechanism).__name__} cannot be simulated here; use one of {known}.",
        )
    return LAWS[type(mechanism)](mechanism)


class Noise:
    """The noise of all released numbers."""

    def __init__(self, laws: Sequence[NoiseLaw]) -> None:
        self.laws = tuple(laws)
        self.variance = np.array([law.variance for law in laws])

    def draw(self, rng: np.random.Generator, size: int) -> Reals:
        """size x d."""
        u = rng.random((size, len(self.laws)))
        return np.column_stack([law.quantile(u[:, k]) for k, law in enumerate(self.laws)])

    def log_density(self, noise: Reals) -> Reals:
        """Of vectors along the last axis."""
        return np.asarray(sum(law.log_density(noise[..., k]) for k, law in enumerate(self.laws)))
