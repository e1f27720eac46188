"""What the canonical noises share: the law is cut into grid steps, and cutting is post-processing.

Let N be canonical noise for a trade-off curve f: T(N, N + m) >= f for 0 <= m <= 1 (Awan and Vadhan 2023).
With values on a grid where the sensitivity is at most w steps, value + floor(w N) = floor(value + w N) is
post-processing of value + w N, which is f-DP. So a sampler of floor(w N) is all that is needed, and the
result is f-DP with nothing added for the grid. The steps left out, half a step on average, are put back.
"""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.core import checks
from dalenius.mechanisms._support.exact_arrays import real_numbers
from dalenius.mechanisms._support.exact_sums import noisy_reals
from dalenius.mechanisms.mechanism import Mechanism
from dalenius.noise import Grid


class RoundedNoise(Mechanism):
    """Real numbers plus sensitivity * N in every coordinate, N a canonical noise."""

    sensitivity: float

    @property
    @abstractmethod
    def _grid(self) -> Grid:
        """The grid, from public numbers alone."""

    @abstractmethod
    def _cells(self, count: int) -> NDArray[Any]:
        """floor(w N) for so many independent N, w = `_wide`."""

    @property
    def _wide(self) -> int:
        """The sensitivity in grid steps, rounded up to an even number."""
        steps = int(self._grid.steps(self.sensitivity))
        return steps + steps % 2

    def _far(self, x: float) -> float:
        """The error that |N| <= x allows: both roundings to the grid add half a step."""
        return float(self._grid.granularity * (self._wide * Fraction(x) + 1)) * (1 + 1e-15)

    def release(self, value: Any) -> Any:
        """The value (a number, or an array of any shape) with noise in every coordinate, as doubles."""
        result = self.releases(value, 1)[0]
        return float(result) if np.ndim(value) == 0 else result

    def releases(self, value: Any, times: int) -> Any:
        """`times` independent releases of one value, along the first axis."""
        numbers, times = real_numbers(value), checks.count("times", times)
        shape = (times, *numbers.shape)
        # The middle of the step.
        return noisy_reals(self._grid, numbers, self._cells(prod(shape)).reshape(shape), offset=0.5)
