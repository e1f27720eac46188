"""Weighted sums that keep growing: sums over s <= t of a_(t-s) x_s, with the weights of a recursion."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.signal import fftconvolve, lfilter

from dalenius.calculus.participation.square_root import square_root
from dalenius.core import checks
from dalenius.core.arrays import Reals
from dalenius.errors import InvalidParameter


@dataclass(frozen=True)
class RunningWeights:
    """a(z) = 1/((1 - decay z)(1 - momentum z)), or (1 - decay^w z^w)/(1 - decay z) for a window of w steps."""

    decay: float = 1.0
    momentum: float = 0.0
    window: int | None = None

    def __post_init__(self) -> None:
        share = "a number in (0, 1]"
        object.__setattr__(self, "decay", checks.within("decay", self.decay, share, lambda x: 0 < x <= 1))
        object.__setattr__(
            self, "momentum", checks.within("momentum", self.momentum, "in [0, 1)", lambda x: 0 <= x < 1)
        )
        if self.window is not None:
            object.__setattr__(self, "window", checks.count("window", self.window, least=1))
            if self.momentum:
                raise InvalidParameter.of("window", "a window has no momentum: give one of them.")

    @cached_property
    def numerator(self) -> Reals:
        if self.window is None:
            return np.ones(1)
        return np.concatenate(([1.0], np.zeros(self.window - 1), [-(self.decay**self.window)]))

    @cached_property
    def denominator(self) -> Reals:
        factors = [1.0, -self.decay], [1.0, -self.momentum]
        return np.asarray(np.convolve(*factors)) if self.momentum else np.array(factors[0])

    def weights(self, count: int) -> Reals:
        """a_0, a_1, ..."""
        one = np.zeros(count)
        one[0] = 1.0
        return np.asarray(lfilter(self.numerator, self.denominator, one))

    def square_root(self, count: int) -> Reals:
        """The first coefficients of the square root of a(z), or of a(z) without its window."""
        root, k = np.array(square_root(count)), np.arange(count)
        column = root * self.decay**k
        return np.asarray(fftconvolve(column, root * self.momentum**k)[:count]) if self.momentum else column

    def noise(self, undone: tuple[Reals, Reals], steps: int) -> Reals:
        """The first column of A C^-1, C^-1 as a recursion: how noise in one measurement enters the sums."""
        one = np.zeros(steps)
        one[0] = 1.0
        return np.asarray(lfilter(self.numerator, self.denominator, lfilter(*undone, one)))
