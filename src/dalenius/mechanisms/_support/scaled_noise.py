"""Noise of one number, `scale`, `sigma` or `variance`: its checks, and the size for a guarantee or an accuracy."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import Any, ClassVar, Literal, Self

from dalenius.calculus.calibrate import calibrate
from dalenius.calculus.guarantees import Guarantee
from dalenius.core import checks
from dalenius.core.adjacency import Adjacency
from dalenius.core.bisection import change_point
from dalenius.core.checks import float_up
from dalenius.errors import CannotMeet
from dalenius.mechanisms._support.grid_noise import MAX_NOISE_RATIO, check_noise_ratio
from dalenius.mechanisms.mechanism import Mechanism


class ScaledNoise(Mechanism):
    """A dataclass with the fields `sensitivity`, `scale`, `sigma` or `variance`, and `adjacency`.

    A subclass says in `_size` which of these it has, and in `_stated_by` which guarantees are themselves the ratio of
    sensitivity to noise, so that none has to be searched for.
    """

    sensitivity: float
    adjacency: Adjacency
    _size: ClassVar[Literal["scale", "sigma", "variance"]] = "scale"
    _stated_by: ClassVar[tuple[type[Guarantee], ...]] = ()
    _max_ratio: ClassVar[float] = MAX_NOISE_RATIO

    def __post_init__(self) -> None:
        object.__setattr__(self, "sensitivity", self._checked_sensitivity(self.sensitivity))
        noise = checks.positive(self._size, getattr(self, self._size), "Noise of scale 0 hides nothing.")
        object.__setattr__(self, self._size, noise)
        check_noise_ratio(self._size, noise, self.sensitivity, self._max_ratio)
        _ = self.loss

    @staticmethod
    def _checked_sensitivity(value: object) -> float:
        return checks.positive("sensitivity", value)

    @abstractmethod
    def accuracy(self, confidence: float = 0.95, size: int = 1) -> float:
        """The error that, with probability `confidence`, every one of `size` coordinates stays within."""

    @classmethod
    def for_accuracy(
        cls, within: float, confidence: float = 0.95, *, sensitivity: float, size: int = 1, **options: Any
    ) -> Self:
        """The most noise with which all coordinates stay within an error.

        Parameters
        ----------
        within
            The error that no coordinate may exceed.
        confidence
            The probability with which that must hold.
        sensitivity
            As for the mechanism.
        size
            The number of coordinates.
        **options
            The other parameters of the mechanism.

        Returns
        -------
        Self
            The noisiest mechanism whose `accuracy(confidence, size)` is at most `within`.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        CannotMeet
            If no noise is that accurate.
        """
        build = cls._family(sensitivity, options)
        unit = build(checks.positive("sensitivity", sensitivity)).accuracy(confidence, size)
        noise = checks.positive("within", within) * sensitivity / unit
        for _ in range(100):  # the error all but grows in proportion
            mechanism = build(noise)
            reached = mechanism.accuracy(confidence, size)
            if reached <= within:
                return mechanism
            noise *= min(within / reached, 1 - 1e-13)
        raise CannotMeet(f"no noise stays within {within:g}; ask for less accuracy or less confidence.")

    @classmethod
    def calibrated(cls, guarantee: Guarantee, *, sensitivity: float, **options: Any) -> Self:
        """The least noise that keeps a guarantee.

        Parameters
        ----------
        guarantee
            What one release must satisfy.
        sensitivity
            As for the mechanism.
        **options
            The other parameters of the mechanism.

        Returns
        -------
        Self
            A mechanism whose loss satisfies the guarantee, with hardly anything to spare.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        CannotMeet
            If no noise keeps the guarantee.
        """
        sensitivity = cls._checked_sensitivity(sensitivity)
        ratio = guarantee.size if isinstance(guarantee, cls._stated_by) else None
        if ratio:
            noise = float_up(Fraction(sensitivity) / Fraction(ratio))
        else:
            noise = cls._least_noise(guarantee, sensitivity, options)
        build = cls._family(sensitivity, options)
        for _ in range(100):  # a rounding or two may be missing
            mechanism = build(noise)
            if guarantee.holds(mechanism.loss):
                return mechanism
            noise *= 1 + 2.0**-52
        raise CannotMeet(f"no noise of about {noise:g} keeps {guarantee}.")

    @classmethod
    def _least_noise(cls, guarantee: Guarantee, sensitivity: float, options: dict[str, Any]) -> float:
        """Found at sensitivity 1: the loss depends on the ratio alone."""
        build = cls._family(1.0, options)
        unit = calibrate(lambda noise: build(noise).loss, guarantee)
        return float_up(Fraction(unit) * Fraction(sensitivity))

    @classmethod
    def _family(cls, sensitivity: float, options: dict[str, Any]) -> Callable[[float], Self]:
        """The mechanism as a function of its noise."""
        make: Any = cls
        return lambda noise: make(sensitivity=sensitivity, **{cls._size: noise}, **options)


class ScaledIntegerNoise(ScaledNoise):
    """The same for whole numbers, whose loss depends on more than the ratio and whose errors are whole."""

    @classmethod
    def for_accuracy(
        cls, within: float, confidence: float = 0.95, *, sensitivity: float, size: int = 1, **options: Any
    ) -> Self:
        whole = math.floor(checks.nonnegative("within", within))
        build = cls._family(sensitivity, options)

        def accurate(noise: float) -> bool:
            return build(noise).accuracy(confidence, size) <= whole

        return build(change_point(accurate, max(whole, 0.3) / 2, relative=1e-12, factor=1.5)[0])

    @classmethod
    def _least_noise(cls, guarantee: Guarantee, sensitivity: float, options: dict[str, Any]) -> float:
        build = cls._family(sensitivity, options)
        return calibrate(lambda noise: build(noise).loss, guarantee, start=float(sensitivity))
