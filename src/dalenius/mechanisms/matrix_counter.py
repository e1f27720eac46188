"""Running totals with Gaussian noise, by the square root of the matrix of prefix sums."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.signal import lfilter

from dalenius.calculus import losses
from dalenius.calculus.calibrate import calibrate
from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE
from dalenius.core.arrays import Ints, Reals
from dalenius.errors import TooLittleNoise, TooMuchNoise
from dalenius.mechanisms._support.counter import Counter
from dalenius.noise import discrete_gaussian

ENTRY, WEIGHT = 2**13, 2**10
"""Entries and weights are rounded to multiples of one over these."""

LARGEST_NOISE = 2.0**56
"""Draws of a larger one would not fit 64 bits: to be known before anything is paid for."""


@dataclass(frozen=True, kw_only=True)
class MatrixCounter(Counter):
    """Releases x_1, x_1 + x_2, ... as numbers come in, with Gaussian noise that grows like log(horizon)/pi.

    Measured is y = C D x + noise, discrete Gaussian, where C is the lower triangular Toeplitz matrix with entries
    c_0 = 1, c_k = c_(k-1) (2k - 1)/(2k), the square root of the matrix of prefix sums (Fichtenberger, Henzinger and
    Upadhyay 2023, "Constant matters"), and D scales its columns, which get shorter towards the end, to one length
    (Henzinger, Kalinin and Upadhyay 2025); both rounded to whole numbers. The totals are A D^-1 C^-1 y, with A the
    matrix of prefix sums: unbiased whatever the rounding. y_t needs no later number than x_t.

    Loss. A record in step j moves y by `sensitivity` times column j of C D, from whose integers the longest length is
    taken; with REPLACE_ONE it leaves one step and enters another, and as no entry is negative that is at most sqrt(2)
    columns long. The noise is `sigma` times that, so that the loss is that of one number of sensitivity 1 with noise
    sigma (docs/mechanisms-on-a-grid.md, Lemma 3). It covers all steps together. A record that comes late, or goes,
    is in some of the rows of its column only, which is shorter.

    Parameters
    ----------
    horizon
        Steps in all, 8192 at most.
    sensitivity
        The most that one record changes the number of its step; a whole number.
    adjacency
        The neighbouring relation: ADD_REMOVE or REPLACE_ONE.
    sigma
        The noise, in multiples of what one record changes: the sigma of `losses.gaussian`.

    Examples
    --------
    >>> from dalenius.mechanisms import MatrixCounter
    >>> year = MatrixCounter(horizon=365, sigma=5.0)
    >>> len(year.release([40, 52, 47])), bool(year.standard_errors().max() < 14)
    (3, True)
    >>> year.loss.epsilon(1e-6) < 1.0
    True
    """

    sigma: float

    def __post_init__(self) -> None:
        super().__post_init__()
        sigma = checks.positive("sigma", self.sigma, "Noise of scale 0 hides nothing.")
        if not 1e-4 <= sigma <= 1e6:
            kind = TooLittleNoise if sigma < 1 else TooMuchNoise
            raise kind.of("sigma", f"sigma is {sigma}; it must be from 1e-4 to 1e6.")
        object.__setattr__(self, "sigma", sigma)
        if self._noise > LARGEST_NOISE:
            raise TooMuchNoise.of(
                "sigma",
                f"sigma is {sigma} and sensitivity {self.sensitivity}: such noise does not fit 64 bits.",
            )
        _ = self.loss

    @classmethod
    def calibrated(cls, guarantee: Guarantee, *, horizon: int, **options: Any) -> Self:
        """The least noise that keeps a guarantee, for all steps together.

        Parameters
        ----------
        guarantee
            What all that is ever released must satisfy.
        horizon
            As for the mechanism.
        **options
            The other parameters of the mechanism.

        Returns
        -------
        Self
            A counter whose loss satisfies the guarantee.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        CannotMeet
            If no Gaussian noise keeps the guarantee.
        """
        sigma = calibrate(losses.gaussian, guarantee)
        return cls(horizon=horizon, sigma=sigma * (1 + 1e-6), **options)

    @cached_property
    def _entries(self) -> Ints:
        """c_0, c_1, ... in whole numbers."""
        k = np.arange(1, self.horizon)
        roots = np.cumprod(np.concatenate(([1.0], (2 * k - 1) / (2 * k))))
        rounded: Ints = np.rint(ENTRY * roots).astype(np.int64)
        return rounded

    @cached_property
    def _squares(self) -> Ints:
        """Of the lengths of the columns of C, the first one first; below 2^40."""
        return np.asarray(np.cumsum(self._entries**2)[::-1])

    @cached_property
    def _weights(self) -> Ints:
        """The diagonal of D in whole numbers, rounded down: no column becomes longer than the first."""
        weights: Ints = np.floor(WEIGHT * np.sqrt(self._squares[0] / self._squares)).astype(np.int64)
        return weights

    @cached_property
    def _squared(self) -> int:
        """The most that a record moves y by, squared."""
        longest = max(int(s) * int(w) ** 2 for s, w in zip(self._squares, self._weights, strict=True))
        return longest * self.sensitivity**2 * (1 if self.adjacency is ADD_REMOVE else 2)

    @cached_property
    def _noise(self) -> float:
        """The parameter of the noise, in steps of the grid of y."""
        return self.sigma * math.sqrt(self._squared)

    @cached_property
    def loss(self) -> Loss:
        """Of all steps together."""
        # The rows of one unit may be in as many streams beside each other, and move all later steps of each.
        places = 2 * self.horizon * self.sensitivity
        return losses.discrete_gaussian_vector(self._noise, self._squared, places, self.adjacency)

    def _measured(self, numbers: Ints, done: int) -> list[Ints]:
        shape = numbers.shape[1:]
        weighted = numbers.reshape(len(numbers), -1) * self._weights[: len(numbers), None]
        noise = np.asarray(discrete_gaussian(self._noise, (len(numbers) - done, 1, weighted.shape[1])))
        sums = [self._entries[t::-1] @ weighted[: t + 1] for t in range(done, len(numbers))]
        return [(y + z).reshape(1, *shape) for y, z in zip(sums, noise, strict=True)]

    @cached_property
    def _inverse(self) -> Reals:
        """The first column of C^-1, a Toeplitz matrix too."""
        entries = self._entries / self._entries[0]
        inverse = np.zeros(self.horizon)
        inverse[0] = 1.0
        for k in range(1, self.horizon):
            inverse[k] = -entries[1 : k + 1] @ inverse[k - 1 :: -1]
        return np.asarray(inverse / self._entries[0])

    def _numbers(self, step: int) -> int:
        return 1

    def totals(self, measured: Sequence[Ints]) -> Reals:
        listed = self._as_measured(measured)
        steps = len(listed)
        if steps == 0:
            return np.zeros(0)
        y = np.concatenate(listed)
        # C u = y, solved from the first step on: later steps change no earlier total, not even in its last digit.
        u = lfilter([1.0], self._entries[:steps].astype(float), y, axis=0)
        back = u / self._weights[:steps].reshape(-1, *[1] * (y.ndim - 1))
        return np.asarray(np.cumsum(back, axis=0))

    def standard_errors(self, since: int = 0) -> Reals:
        since = self._since(since)
        # A record of noise in y_j moves the sum over s = since, ..., t by the sum of the inverse's entries (s - j)
        # over the weights of s, for s >= j.
        variances = np.zeros(self.horizon - since)
        for j in range(self.horizon):
            first = max(j, since)
            moved = np.cumsum(self._inverse[first - j : self.horizon - j] / self._weights[first:])
            variances[first - since :] += moved**2
        return np.asarray(self._noise * np.sqrt(variances))

    def step_errors(self) -> Reals:
        spread = np.sqrt(np.cumsum(self._inverse**2))
        return np.asarray(self._noise * spread / self._weights)
