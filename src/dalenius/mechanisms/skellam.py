"""The Skellam mechanism: noise for whole numbers that many parties can add in parts."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np

from dalenius.calculus import losses
from dalenius.calculus.calibrate import calibrate
from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.calculus.pairs.skellam import log_weights
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.checks import float_up
from dalenius.errors import InvalidParameter
from dalenius.mechanisms._support.exact_arrays import whole_numbers
from dalenius.mechanisms._support.grid_noise import coordinate_failure
from dalenius.mechanisms._support.whole_vectors import WholeVectorNoise
from dalenius.noise import skellam

MOST_VARIANCE = 2**30
"""Up to this variance noise is drawn."""
ENUMERATED = (1e-3, 1e6, 10**4)
"""The least and the largest variance, and the largest move, for which the law is written out."""
MODULUS = 2**48
MOST_MODULUS = 2**62


@dataclass(frozen=True, kw_only=True)
class Skellam(WholeVectorNoise):
    """Releases f(X) + k for whole-numbered f, k the difference of two Poisson numbers of mean variance/2 each.

    Independently in every coordinate.

    Neighbours (`adjacency`) move f by at most `sensitivity` in l2 norm: math.sqrt(2) for one unit moved from one cell
    of a histogram to another. A whole-numbered vector of squared length D^2 differs from 0 in at most D^2 places;
    `coordinates` says so if one record changes fewer (1: one cell of many, or a single number).

    Sums of independent Skellam numbers are Skellam, their variances added. So parties who do not trust each other,
    and a server that sees nothing but a secure sum, can make the noise together: each sends `share(value, parties)`,
    and `combine` reads the total, whose law is exactly that of `release` of the sum of the values (Agarwal, Kairouz
    and Liu 2021, "The Skellam Mechanism for Differentially Private Federated Learning").

    The noise is drawn exactly. Where one coordinate changes, the loss is the exact law (`losses.skellam`); else it is
    the bound on Renyi divergences of the paper, Theorem 3.5 (`losses.skellam_vector`).

    Parameters
    ----------
    sensitivity
        The most that one record changes f, in l2 norm.
    variance
        The variance of the noise in each coordinate, at most 2^30.
    coordinates
        The most coordinates that one record changes, if that is less than sensitivity^2.
    adjacency
        The neighbouring relation that the sensitivity is stated for.

    Examples
    --------
    >>> from dalenius.mechanisms import Skellam
    >>> m = Skellam(sensitivity=1, variance=100.0)
    >>> type(m.release(41)).__name__, m.loss.epsilon(1e-5) < 0.45
    ('int', True)
    """

    sensitivity: float
    variance: float
    coordinates: int | None = None
    adjacency: Adjacency = ADD_REMOVE
    _size = "variance"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.variance > MOST_VARIANCE:
            raise InvalidParameter.of(
                "variance",
                f"variance is {self.variance:g}; noise is drawn up to 2^30. Use coarser units: divide the values by a "
                "whole number before they are rounded.",
            )

    @cached_property
    def loss(self) -> Loss:
        """The worst-case privacy loss of one release."""
        squared, whole = self.squared, math.isqrt(self.squared)
        places = min(self.coordinates or squared, squared)
        least, most, steps = ENUMERATED
        if places == 1:
            if least <= self.variance <= most and whole <= steps:
                return losses.skellam(self.variance, whole, self.adjacency)
            squared = whole**2
        l2 = math.sqrt(squared) * (1 + 2.0**-50)
        l1 = min(float_up(Fraction(squared)), l2 * math.sqrt(places) * (1 + 2.0**-50))
        return losses.skellam_vector(self.variance, l2, max(l1, l2), self.adjacency)

    @classmethod
    def _least_noise(cls, guarantee: Guarantee, sensitivity: float, options: dict[str, Any]) -> float:
        build = cls._family(sensitivity, options)
        return calibrate(lambda noise: build(noise).loss, guarantee, start=float(sensitivity) ** 2)

    def accuracy(self, confidence: float = 0.95, size: int = 1) -> float:
        """The error that, with probability `confidence`, every one of `size` coordinates stays within.

        The least whole m with P(|k| <= m)^size >= confidence, found by summing the law; for a variance v below 1e-3 or
        beyond 1e6 from P(|k| >= m) <= 2 exp(sqrt(v^2 + m^2) - v - m asinh(m/v)), by Chernoff's method.

        Parameters
        ----------
        confidence
            The probability, strictly between 0 and 1.
        size
            The number of coordinates.

        Returns
        -------
        float
            The error, in the units of the value.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        """
        t = coordinate_failure(confidence, size)
        v = self.variance
        if not ENUMERATED[0] <= v <= ENUMERATED[1]:
            return float(_first(lambda m: _chernoff(v, m + 1) <= math.log(t / 2) - 1e-9))
        weight = np.exp(log_weights(v, 1)[0])
        beyond = np.append(np.cumsum(weight[:0:-1])[::-1], 0.0)  # of 1.., 2.., ...
        tail = 2 * beyond / (1 + 2 * beyond[0])
        return float(np.argmax(tail <= t * (1 - 1e-7)))

    def share(self, value: Any, parties: int, modulus: int = MODULUS) -> Any:
        """What one of `parties` sends into a secure sum: its own value with its part of the noise, modulo `modulus`.

        The part is Skellam noise of variance/parties, which hides nothing by itself: a share must go through a protocol
        that shows the sum alone. What the sum costs is `loss` if all parties add their part; `after_dropouts` says
        what is left if some do not.

        Parameters
        ----------
        value
            The party's integer, or array of integers.
        parties
            How many add noise.
        modulus
            The sum is known modulo this number, from 2 to 2^62; sums with noise from -modulus/2 to modulus/2 are told
            apart.

        Returns
        -------
        int or ndarray
            Whole numbers from 0 to modulus - 1, of the shape of the value.

        Raises
        ------
        InvalidParameter
            If a parameter is not one of those described.

        Examples
        --------
        >>> from dalenius.mechanisms import Skellam
        >>> m = Skellam(sensitivity=1, variance=4.0)
        >>> votes = [1, 0, 1, 1]
        >>> total = m.combine([m.share(vote, parties=4) for vote in votes])   # 3, and noise of variance 4
        >>> abs(total - 3) < 100
        True
        """
        parties, modulus = checks.count("parties", parties, least=1), _modulus(modulus)
        numbers = whole_numbers(value)
        part = skellam(Fraction(self.variance) / parties, numbers.shape)
        own = numbers.astype(object if numbers.dtype in (np.uint64, object) else np.int64)
        sent = np.mod(np.mod(own, modulus) + np.mod(part, modulus), modulus).astype(np.int64)
        return int(sent) if numbers.ndim == 0 else sent

    def combine(self, shares: Iterable[Any], modulus: int = MODULUS) -> Any:
        """The sum of all shares, or what a secure sum of them said, as a number from -modulus/2 to modulus/2.

        Parameters
        ----------
        shares
            The shares of all parties; or the one total that a protocol gave, in a list.
        modulus
            As for `share`.

        Returns
        -------
        int or ndarray
            The sum of the values with noise of the variance of the mechanism.

        Raises
        ------
        InvalidParameter
            If there are no shares, or they have different shapes.
        """
        modulus = _modulus(modulus)
        arrays = [whole_numbers(share, "a share") for share in shares]
        if not arrays or len({array.shape for array in arrays}) > 1:
            raise InvalidParameter.of(
                "shares", "shares must be one array or number for each party, all alike."
            )
        total = sum(np.mod(array.astype(object), modulus) for array in arrays) % modulus
        centred = np.asarray((total + modulus // 2) % modulus - modulus // 2).astype(np.int64)
        return int(centred) if centred.ndim == 0 else centred

    def after_dropouts(self, parties: int, present: int) -> Self:
        """The mechanism that a secure sum is if `present` of the parties added their part, and no others.

        Count those only whose part nobody else knows: a party that is not trusted hides nothing from itself.

        Parameters
        ----------
        parties
            The number that `share` was told.
        present
            How many added their part.

        Returns
        -------
        Skellam
            With that share of the variance, rounded down; its `loss` is what the sum cost.

        Raises
        ------
        InvalidParameter
            If a parameter is not one of those described.

        Examples
        --------
        >>> from dalenius.mechanisms import Skellam
        >>> m = Skellam(sensitivity=1, variance=100.0)
        >>> m.after_dropouts(parties=50, present=40).variance
        80.0
        """
        parties = checks.count("parties", parties, least=1)
        present = checks.count("present", present, least=1)
        if present > parties:
            raise InvalidParameter.of(
                "present", f"present is {present} of {parties} parties; it cannot be more."
            )
        return replace(self, variance=-float_up(-Fraction(self.variance) * present / parties))

    def _draw(self, shape: tuple[int, ...]) -> Any:
        return skellam(self.variance, shape)


def _modulus(modulus: object) -> int:
    found = checks.count("modulus", modulus, least=2)
    if found > MOST_MODULUS:
        raise InvalidParameter.of("modulus", f"modulus is {found}; it must be at most 2^62.")
    return found


def _chernoff(variance: float, m: int) -> float:
    """log of a bound on P(k >= m): min over x of v (cosh x - 1) - x m."""
    a = m / variance
    # sqrt(v^2 + m^2) - v, without cancellation
    return m * a / (math.hypot(1.0, a) + 1.0) - m * math.asinh(a)


def _first(holds: Any) -> int:
    """The least m >= 0 for which a property holds that holds from there on."""
    high = 1
    while not holds(high):
        high *= 2
    low = -1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
