"""A stream of vectors, whose weighted sums are released step by step."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from scipy.signal import lfilter

from dalenius.core.arrays import Ints, Reals
from dalenius.errors import InvalidParameter
from dalenius.mechanisms._support.toeplitz_strategies import SPLIT, Filter, Strategy


def measured(row: Ints, state: Ints, noise: Ints) -> Reals:
    """The sum over k of c_k x_k, with noise, as doubles: a function of the exact sum alone.

    x = h 2^24 + l; both parts are multiplied by themselves, the noise goes to the lower one, and what it has above 24
    digits is carried over before anything is rounded.
    """
    high = np.tensordot(row, state >> SPLIT, axes=1)
    low = np.tensordot(row, state & ((1 << SPLIT) - 1), axes=1) + noise
    high, low = high + (low >> SPLIT), low & ((1 << SPLIT) - 1)
    return np.asarray(np.ldexp(high.astype(np.float64), SPLIT) + low)


class CorrelatedStream:
    """Takes the sum of one step after another, and says the weighted sum so far; see `CorrelatedGaussian.start`.

    It keeps as many vectors as the strategy has bands or buffers, twice. It cannot be copied or saved, and a forked
    child may not go on with it: two copies would measure the same steps and be paid for once. Threads may share one.

    Parameters
    ----------
    shape
        Of the vector of one step.
    steps
        How many there are.
    strategy
        C.
    granularity
        The step of the grid, over that of the entries of C.
    weights
        Of the sums: numerator and denominator of a recursion.
    units
        Puts a vector on the grid.
    draw
        Noise for so many coordinates, of a shape.

    Examples
    --------
    >>> from dalenius.mechanisms import CorrelatedGaussian
    >>> stream = CorrelatedGaussian(steps=100, sigma=2.0).start()
    >>> float(stream.add(1000.0)) > 900, len(stream)
    (True, 1)
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        steps: int,
        strategy: Strategy,
        granularity: float,
        weights: Filter,
        units: Callable[[Any], Ints],
        draw: Callable[[int, tuple[int, ...]], Ints],
    ) -> None:
        self._shape, self._size, self._steps = shape, int(np.prod(shape, dtype=int)), steps
        self._strategy, self._granularity, self._weights = strategy, granularity, weights
        self._units, self._draw = units, draw
        self._state = strategy.start(self._size)
        self._inverse, self._memory = (
            np.zeros((max(map(len, recursion)) - 1, self._size)) for recursion in (strategy.undone, weights)
        )
        self._done, self._process, self._lock = 0, os.getpid(), threading.RLock()

    def __len__(self) -> int:
        """Steps so far."""
        return self._done

    def add(self, value: Any) -> Reals:
        """The weighted sum after one more step, with noise.

        Parameters
        ----------
        value
            The sum of what the records of this step contribute, each at most `clip` long.

        Returns
        -------
        ndarray
            The weighted sum of all steps so far, with noise: what may be shown.

        Raises
        ------
        InvalidParameter
            If the value is not of the shape that the stream was started with, or not finite; if there have been all
            steps already; if the stream was started in another process.
        """
        if os.getpid() != self._process:  # before the lock, which nobody here may ever give back
            raise InvalidParameter(
                "this stream was started in another process, which may still go on with it; start another one here, "
                "which costs as much again."
            )
        units = self._units(value)
        if units.shape != self._shape:
            raise InvalidParameter(f"value has shape {units.shape}; this stream takes {self._shape}.")
        with self._lock:
            if self._done >= self._steps:
                raise InvalidParameter(f"this stream has had all of its {self._steps} steps.")
            self._done += 1
            self._state = self._strategy.next(self._state, units.reshape(-1))
            y = measured(self._strategy.row, self._state, self._draw(self._size, (self._size,)))
            entry, self._inverse = lfilter(*self._strategy.undone, y[None], axis=0, zi=self._inverse)
            total, self._memory = lfilter(*self._weights, entry, axis=0, zi=self._memory)
        return np.asarray(total[0] * self._granularity).reshape(self._shape)

    def _once(self, *_: object) -> NoReturn:
        raise InvalidParameter("a stream cannot be copied or saved: both copies would be paid for once.")

    __copy__ = __deepcopy__ = __reduce_ex__ = _once
