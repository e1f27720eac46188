"""Noise in proportion to the smooth sensitivity: what the mechanisms with one kind of noise each share."""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dalenius.adaptive.statistics import Statistic
from dalenius.adaptive.statistics.statistic import certain_beta, checked_beta
from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.adjacency import Adjacency
from dalenius.errors import CannotMeet, InvalidParameter
from dalenius.mechanisms import Mechanism, Neighbours
from dalenius.noise.affine import Law, rounded_affine

LARGEST_SCALE = 1e9
BETAS = np.geomspace(1e-3, 4.0, 150)
"""Smoothnesses that `planned` tries."""


class SmoothNoise(Mechanism):
    """A dataclass with the fields `statistic`, `beta` and `scale`: releases f(X) + scale S(X) Z.

    S is the beta-smooth sensitivity of the statistic f, which the mechanism works out from the data. Between
    neighbours f moves by at most S, both here and there, and log S by at most beta: in units of the smaller of the two
    scales the noise is moved by at most 1/scale, and it is stretched by at most e^beta. The loss is that of moving and
    stretching Z.
    """

    statistic: Statistic[Any]
    beta: float
    scale: float
    _precision: ClassVar[float] = 1e-13
    """Relative error of `_largest_shift` as a bound on the one whose loss keeps the guarantee."""

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        if not isinstance(self.statistic, Statistic):
            raise InvalidParameter.of(
                "statistic",
                f"statistic is {checks.shown(self.statistic)}; it must be one of dalenius.adaptive.statistics.",
            )
        set_(self, "beta", checked_beta(self.beta))
        set_(self, "scale", checks.positive("scale", self.scale))
        if self.scale > LARGEST_SCALE:
            raise InvalidParameter.of("scale", f"scale is {self.scale:g}; it must be at most 1e9.")

    @property
    def adjacency(self) -> Adjacency:
        """The neighbouring relation, that of the statistic."""
        return self.statistic.adjacency

    @cached_property
    def loss(self) -> Loss:
        """The worst-case privacy loss of one release."""
        # Rounded up for what the quotient and the smooth sensitivity are off by in doubles.
        return self._loss(1.0 / self.scale * (1 + 2.0**-40), certain_beta(self.beta))

    @abstractmethod
    def _loss(self, shift: float, beta: float) -> Loss:
        """The loss of noise of scale 1 moved by `shift` and stretched by e^beta."""

    @property
    @abstractmethod
    def _law(self) -> Law:
        """Z."""

    @abstractmethod
    def _sizes(self) -> NDArray[np.float64]:
        """Numbers all about as likely to be |Z|."""

    @classmethod
    @abstractmethod
    def _largest_shift(cls, guarantee: Guarantee, beta: float, **options: Any) -> float:
        """The largest 1/scale that keeps a guarantee, or about that; 0 where none does."""

    def release(self, value: Any) -> float:
        """One private answer.

        Parameters
        ----------
        value
            One number for each record; there may be none.

        Returns
        -------
        float
            A multiple of the granularity of the statistic, between its bounds.

        Raises
        ------
        InvalidParameter
            If the value is not a list of finite numbers.
        """
        return float(self.releases(value, 1)[0])

    def releases(self, value: Any, times: int) -> Any:
        """`times` independent answers: together they cost `loss * times`.

        Parameters
        ----------
        value
            As for `release`.
        times
            The number of releases.

        Returns
        -------
        ndarray
            The releases, along the first axis.

        Raises
        ------
        InvalidParameter
            If the value is not of the kind described.
        """
        count = checks.count("times", times)
        centre, sensitivity = self.statistic.measured(value, self.beta)
        spread, answers = Fraction(self.scale) * Fraction(sensitivity), self.statistic.answers
        units = rounded_affine(self._law, centre, spread, count, answers.lowest, answers.highest)
        return answers.values(units)

    @classmethod
    def calibrated(
        cls, guarantee: Guarantee, *, statistic: Statistic[Any], beta: float, **options: Any
    ) -> Self:
        """The least noise that keeps a guarantee, for a given smoothness.

        Parameters
        ----------
        guarantee
            What one release must satisfy.
        statistic
            What is released.
        beta
            The smoothness: with less of it the sensitivity is larger, with more of it the scale.
        **options
            The other parameters of the mechanism.

        Returns
        -------
        Self
            The mechanism.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        CannotMeet
            If no noise of this kind and smoothness keeps the guarantee.
        """
        checked_guarantee(guarantee)
        beta = checked_beta(beta)
        options = cls._completed(guarantee, beta, options)
        shift = cls._largest_shift(guarantee, certain_beta(beta), **options)
        growth, make = cls._precision, cls
        while shift > 1 / LARGEST_SCALE and growth < 1:
            mechanism = make(statistic=statistic, beta=beta, scale=1 / shift, **options)
            if guarantee.holds(mechanism.loss):
                return mechanism
            shift, growth = shift * (1 - growth), 2 * growth
        raise CannotMeet(
            f"no {cls.__name__} with beta = {beta:g} keeps {guarantee}; take a smaller beta or another noise."
        )

    @classmethod
    def planned(
        cls, guarantee: Guarantee, *, statistic: Statistic[Any], reference: Any, **options: Any
    ) -> Self:
        """The smoothness, and the noise to go with it, that would err least on public data.

        Parameters
        ----------
        guarantee
            What one release must satisfy.
        statistic
            What is released.
        reference
            Public numbers, as many as there will be records, about as they are expected to be. Never the data itself.
        **options
            The other parameters of the mechanism.

        Returns
        -------
        Self
            Of the mechanisms that keep the guarantee, the one with the least noise on the reference.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        CannotMeet
            If no noise of this kind keeps the guarantee.
        """
        checked_guarantee(guarantee)
        data = statistic.prepared(reference)

        def error(beta: float) -> float:
            shift = cls._largest_shift(
                guarantee, certain_beta(beta), **cls._completed(guarantee, beta, options)
            )
            return statistic.smooth_steps(data, beta) / shift if shift > 1 / LARGEST_SCALE else np.inf

        best = min(BETAS.tolist(), key=error)
        return cls.calibrated(guarantee, statistic=statistic, beta=best, **options)

    @classmethod
    def for_even_gaps(cls, guarantee: Guarantee, *, statistic: Statistic[Any], **options: Any) -> Self:
        """The smoothness, and the noise to go with it, for numbers that lie evenly around the statistic.

        Then A_k grows like k + 1, however many numbers there are and wherever they are: nothing about them need be
        known, and the choice depends on the guarantee alone.

        Parameters
        ----------
        guarantee
            What one release must satisfy.
        statistic
            What is released.
        **options
            The other parameters of the mechanism.

        Returns
        -------
        Self
            The mechanism.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        CannotMeet
            If no noise of this kind keeps the guarantee.
        """
        checked_guarantee(guarantee)

        def error(beta: float) -> float:
            shift = cls._largest_shift(
                guarantee, certain_beta(beta), **cls._completed(guarantee, beta, options)
            )
            return even_gaps(beta) / shift if shift > 1 / LARGEST_SCALE else np.inf

        best = min(BETAS.tolist(), key=error)
        return cls.calibrated(guarantee, statistic=statistic, beta=best, **options)

    @classmethod
    def _completed(cls, guarantee: Guarantee, beta: float, options: dict[str, Any]) -> dict[str, Any]:
        """The parameters beside beta and scale, those that were not given chosen."""
        return options

    def typical_error(self, reference: Any) -> float:
        """The mean absolute error on these numbers, clamped to the bounds: for public data, to plan with.

        Parameters
        ----------
        reference
            Public numbers. The error at private data is itself private.

        Returns
        -------
        float
            The mean of the smaller of |noise| and the width of the bounds.

        Raises
        ------
        InvalidParameter
            If the reference is not a list of finite numbers.
        """
        return self._mean_error(self.statistic.measured(reference, self.beta).sensitivity) * float(
            self.statistic.answers.granularity
        )

    def _mean_error(self, sensitivity: float) -> float:
        answers = self.statistic.answers
        return float(
            np.minimum(self.scale * sensitivity * self._sizes(), answers.highest - answers.lowest).mean()
        )

    @property
    def worst_pair(self) -> Neighbours:
        return self.statistic.worst_pair

    @property
    def pairs(self) -> tuple[Neighbours, ...]:
        """Those of the statistic: one where the noise is moved, and one where it is stretched."""
        return self.statistic.pairs


def even_gaps(beta: float) -> float:
    """max over k of exp(-beta k) (k + 1)."""
    k = max(0, math.floor(1 / beta - 1))
    return max(math.exp(-beta * j) * (j + 1) for j in (k, k + 1))


def checked_guarantee(value: object) -> None:
    """Refuse what is not a promise."""
    if not isinstance(value, Guarantee):
        raise InvalidParameter.of(
            "guarantee",
            f"guarantee is {checks.shown(value)}; it must be a promise such as dalenius.PureDP(1.0).",
        )
