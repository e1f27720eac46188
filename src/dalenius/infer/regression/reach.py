"""How far out rows weigh in full: as far as the number of rows, the promise and the number of coefficients can pay for.

Rows are weighted by min(1, (reach sqrt(p)/||x||)^2), x being standardised, so that ||x|| is sqrt(p) for a usual row.
With a longer reach fewer rows weigh less, and where the model is only an approximation, what is estimated is nearer to
what it is without weights. The noise of scores grows with the reach and that of curvatures with its square.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri

from dalenius.core import checks
from dalenius.core.arrays import Reals
from dalenius.errors import InvalidParameter

REACHES = (1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0)
"""What is chosen from. Beyond 3 hardly a row of usual data would gain by it."""
WIDER = 1.1
"""How much wider than the shortest an interval may be expected to become."""
LEAST, MOST = 1e-3, 1e3
TAILS: Reals = (np.arange(400) + 0.5) / 400


@dataclass(frozen=True)
class Weights:
    """What weights leave of rows: E w |x|^2/p and E w^2 |x|^2/p of normal ones; a guess, for planning alone."""

    reach: float
    curvature: float
    square: float

    @classmethod
    def of(cls, reach: float, size: int) -> Weights:
        """For `size` coefficients of an outcome."""
        lengths = np.asarray(chdtri(size, TAILS)) / size
        weights = np.minimum(1.0, reach**2 / lengths)
        return cls(reach, float(np.mean(weights * lengths)), float(np.mean(weights**2 * lengths)))

    def gain(self, size: int) -> float:
        """The curvature over that of reach 1."""
        return self.curvature / Weights.of(1.0, size).curvature


def checked_reach(value: object) -> float | None:
    """The argument, if it is None or a size that means something."""
    if value is None:
        return None
    found = checks.positive("reach", value)
    if not LEAST <= found <= MOST:
        raise InvalidParameter.of(
            "reach", f"reach is {checks.shown(value)}; it must be between {LEAST:g} and {MOST:g}."
        )
    return found


def longest_reach(size: int, roomy: Callable[[Weights], bool], width: Callable[[Weights], float]) -> float:
    """The longest reach that there is room for, with intervals hardly wider than the shortest; 1 where there is none.

    Parameters
    ----------
    size
        Coefficients of an outcome.
    roomy
        Whether curvature can be expected to stand out of its noise by far.
    width
        The standard error that can be expected.

    Returns
    -------
    float
        One of `REACHES`.
    """
    some = [weights for weights in (Weights.of(reach, size) for reach in REACHES) if roomy(weights)]
    if not some:
        return 1.0
    enough = WIDER * min(map(width, some))
    return max(weights.reach for weights in some if width(weights) <= enough)
