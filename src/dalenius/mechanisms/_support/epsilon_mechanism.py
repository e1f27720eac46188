"""Mechanisms with one parameter, epsilon: its checks, and the epsilon for a guarantee or an accuracy."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, Self

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.adjacency import Adjacency
from dalenius.core.adjacency import adjacency as checked_adjacency
from dalenius.errors import CannotMeet, InvalidParameter
from dalenius.mechanisms._support.epsilon_calibration import affordable
from dalenius.mechanisms.mechanism import Mechanism


class EpsilonMechanism(Mechanism):
    """A dataclass with the fields `epsilon` and `adjacency`."""

    epsilon: float
    adjacency: Adjacency
    _accuracy_options: ClassVar[tuple[str, ...]] = ("size",)
    """What `accuracy` takes beside the confidence."""

    def __post_init__(self) -> None:
        why = "With epsilon 0 the data cannot be looked at."
        epsilon = checks.moderate("epsilon", checks.positive("epsilon", self.epsilon, why))
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "adjacency", checked_adjacency(self.adjacency))

    @abstractmethod
    def accuracy(self, confidence: float = 0.95) -> float:
        """The error that a release stays within with this probability."""

    @abstractmethod
    def _loss_at(self, epsilon: float) -> Loss:
        """The loss of the same mechanism with another epsilon."""

    @cached_property
    def loss(self) -> Loss:
        """The worst-case privacy loss of one release."""
        return self._loss_at(self.epsilon)

    def _error_without_noise(self, confidence: float, **options: Any) -> float:
        """The part of `accuracy` that no epsilon removes."""
        return 0.0

    @classmethod
    def for_accuracy(cls, within: float, confidence: float = 0.95, **options: Any) -> Self:
        """The least epsilon that is accurate enough.

        Parameters
        ----------
        within
            The error allowed, as `accuracy` states it.
        confidence
            The probability with which the error must stay within that.
        **options
            The parameters of the mechanism other than epsilon, and what `accuracy` takes beside the confidence.

        Returns
        -------
        Self
            The mechanism with the least epsilon whose `accuracy` is at most `within`.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range, or no epsilon is that accurate.
        CannotMeet
            If every epsilon is that accurate.
        """
        about = {name: options.pop(name) for name in cls._accuracy_options if name in options}
        make: Any = cls
        one: Any = make(epsilon=1.0, **options)
        fixed = one._error_without_noise(confidence, **about)
        limit = checks.positive("within", within, "No noise is that accurate.")
        if limit <= fixed:
            raise InvalidParameter(
                f"within is {limit:g}; it must be above {fixed:g}, which no epsilon removes."
            )
        rest = one.accuracy(confidence, **about) - fixed
        if rest <= 1e-12 * limit:
            raise CannotMeet("every epsilon is that accurate; there is nothing to calibrate.")
        epsilon = rest / (limit - fixed)  # the rest of the error is inverse to epsilon
        for _ in range(100):
            mechanism: Self = replace(one, epsilon=epsilon)
            if mechanism.accuracy(confidence, **about) <= limit:
                return mechanism
            epsilon *= 1 + 1e-13
        raise CannotMeet(f"no epsilon near {epsilon:g} is within {limit:g}.")

    @classmethod
    def calibrated(cls, guarantee: Guarantee, **options: Any) -> Self:
        """The largest epsilon that keeps a guarantee.

        Parameters
        ----------
        guarantee
            What one release must satisfy.
        **options
            The parameters of the mechanism other than epsilon.

        Returns
        -------
        Self
            A mechanism whose loss satisfies the guarantee, with hardly anything to spare.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        CannotMeet
            If no epsilon keeps the guarantee.
        """
        make: Any = cls
        one: Any = make(epsilon=1.0, **options)
        mechanism: Self = replace(one, epsilon=affordable(guarantee, one._loss_at))
        return mechanism
