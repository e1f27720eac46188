"""Counts of known, disjoint cells."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from dalenius.calculus.calibrate import calibrate
from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dalenius.core.arrays import Reals
from dalenius.errors import InvalidParameter
from dalenius.mechanisms._support.additive_noise import NoiseOnIntegers
from dalenius.mechanisms._support.exact_arrays import real_numbers
from dalenius.mechanisms._support.neighbouring_vectors import at_the_end
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian
from dalenius.mechanisms.geometric import Geometric
from dalenius.mechanisms.mechanism import Neighbours

Noise = Literal["geometric", "gaussian"]
LAWS: dict[str, type[Geometric | DiscreteGaussian]] = {"geometric": Geometric, "gaussian": DiscreteGaussian}


@dataclass(frozen=True, kw_only=True)
class Histogram(NoiseOnIntegers):
    """Releases the counts of disjoint cells, each with whole-numbered noise of its own.

    Give `scale` for geometric noise or `sigma` for discrete Gaussian noise. The cells are public and each record is
    counted in one of them at most. Adding or removing a record moves one count by 1; replacing one
    (`adjacency=REPLACE_ONE`) moves two, the loss of which is exactly that of two such counts: l1 sensitivity 2, l2
    sensitivity sqrt(2), however many cells there are (Dwork and Roth 2014, section
    3.3; Avella Medina 2025 has k epsilon, which is loose).

    `release` takes the counts, such as `numpy.bincount` gives for categories or `numpy.histogram` for
    public edges.

    Parameters
    ----------
    scale
        The scale of geometric noise.
    sigma
        The parameter of discrete Gaussian noise; give one of the two.
    adjacency
        The neighbouring relation: ADD_REMOVE or REPLACE_ONE.

    Examples
    --------
    >>> import numpy as np
    >>> from dalenius.mechanisms import Histogram
    >>> m = Histogram(scale=2.0)
    >>> m.release(np.bincount([0, 0, 2, 1, 0], minlength=4)).shape
    (4,)
    >>> m.loss.epsilon(delta=0.0)
    0.5
    """

    scale: float | None = None
    sigma: float | None = None
    adjacency: Adjacency = ADD_REMOVE

    def __post_init__(self) -> None:
        if (self.scale is None) == (self.sigma is None):
            raise InvalidParameter(
                f"scale is {self.scale} and sigma is {self.sigma}; give scale (geometric noise) or sigma "
                "(discrete Gaussian noise), and not both."
            )
        object.__setattr__(self, self._one._size, getattr(self._one, self._one._size))
        _ = self.loss

    @cached_property
    def loss(self) -> Loss:
        return self._one.loss * (2 if self.adjacency is REPLACE_ONE else 1)

    @property
    def noise(self) -> Noise:
        """The law of the noise."""
        return "geometric" if self.sigma is None else "gaussian"

    @staticmethod
    def proportions(released: Any) -> Reals:
        """Released counts as proportions: cut off at 0 and made to sum to 1 (post-processing; biased).

        Parameters
        ----------
        released
            Released counts.

        Returns
        -------
        ndarray
            Numbers that are not negative and add up to 1.

        Raises
        ------
        InvalidParameter
            If the counts are not finite numbers, or there are none.
        """
        counts = np.maximum(real_numbers(released, "released").astype(np.float64), 0.0)
        total = float(counts.sum())
        return np.asarray(counts / total) if total > 0 else np.full(counts.shape, 1.0 / counts.size)

    def accuracy(self, confidence: float = 0.95, size: int = 1) -> float:
        """The error that, with probability `confidence`, each of `size` counts stays within.

        Parameters
        ----------
        confidence
            The probability, strictly between 0 and 1.
        size
            The number of cells.

        Returns
        -------
        float
            The error of a count.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        """
        return self._one.accuracy(confidence, size)

    @classmethod
    def for_accuracy(
        cls,
        within: float,
        confidence: float = 0.95,
        *,
        size: int = 1,
        noise: Noise = "geometric",
        adjacency: Adjacency = ADD_REMOVE,
    ) -> Histogram:
        """The most noise with which all counts stay within an error.

        Parameters
        ----------
        within
            The error that no count may exceed.
        confidence
            The probability with which that must hold.
        size
            The number of cells.
        noise
            "geometric" or "gaussian".
        adjacency
            The neighbouring relation: ADD_REMOVE or REPLACE_ONE.

        Returns
        -------
        Histogram
            The mechanism.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        """
        kind = LAWS[checks.one_of("noise", noise, *LAWS)]
        one = kind.for_accuracy(within, confidence, sensitivity=1, size=size)
        return cls(**{kind._size: getattr(one, kind._size)}, adjacency=adjacency)

    @classmethod
    def calibrated(
        cls, guarantee: Guarantee, *, noise: Noise = "geometric", adjacency: Adjacency = ADD_REMOVE
    ) -> Histogram:
        """The least noise that keeps a guarantee.

        Parameters
        ----------
        guarantee
            What one release must satisfy.
        noise
            "geometric" or "gaussian".
        adjacency
            The neighbouring relation: ADD_REMOVE or REPLACE_ONE.

        Returns
        -------
        Histogram
            The mechanism.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        CannotMeet
            If no noise keeps the guarantee.
        """
        name = LAWS[checks.one_of("noise", noise, *LAWS)]._size

        def build(x: float) -> Histogram:
            return cls(**{name: x}, adjacency=adjacency)

        return build(calibrate(lambda x: build(x).loss, guarantee))

    @property
    def worst_pair(self) -> Neighbours:
        moved = [0, 1] if self.adjacency is REPLACE_ONE else [1, 1]
        return Neighbours(np.array([1, 0]), np.array(moved))

    @property
    def pairs(self) -> tuple[Neighbours, ...]:
        before, after = at_the_end(1, np.int64)
        if self.adjacency is REPLACE_ONE:
            before[0] = 1
        return self.worst_pair, Neighbours(before, after)

    @cached_property
    def _one(self) -> Geometric | DiscreteGaussian:
        if self.sigma is None:
            return Geometric(sensitivity=1, scale=self.scale or 0.0, adjacency=self.adjacency)
        return DiscreteGaussian(sensitivity=1, sigma=self.sigma, adjacency=self.adjacency)

    def _draw(self, shape: tuple[int, ...]) -> Any:
        return self._one._draw(shape)
