"""The strips under which discrete Gaussian integers are drawn.

Let rho(x) = exp(-x^2/(2 sigma^2)). The region above the integers and below rho is covered by horizontal
strips of the same area c (an integer times a height), so that a uniform strip, a uniform position and a
uniform height make a uniform point of the cover:

- strip i = 1..count: `width` blocks of 2^block integers around 0, thickness c / (width 2^block), stacked
  from height 0;
- strip 0, the tail: x > reach on the right and -x > reach (+ 1, if block > 0) on the left, the stairs
  stair 2^-j  on the j-th run of `step` integers, on either side; its area 4 step stair is c.

The cover is exact whatever the numbers: all that matters is that it leaves out nothing of the region.

- Every x up to reach but beyond the width of strip i has rho(x) at most the bottom of the strip.
- Every x beyond reach is below the stairs: rho(reach + 1) <= stair, and over a run -ln rho grows by at least
  step (reach + 1)/sigma^2 >= ln 2, its slope being at least (reach + 1)/sigma^2 there.

These inequalities are established in doubles with a relative margin of 1e-9; rounding is below 1e-12.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dalenius.core.arrays import Ints, Reals, Words

TOTAL = 255
MARGIN = 1e-9
FINEST = 1 << 21
"""Up to this sigma a block is one integer; above, a block is about sigma/2^15 of them."""


@dataclass(frozen=True)
class Strips:
    """A cover; strips beyond `count` (up to 255) are empty and lead to another try."""

    variance: Fraction
    rate: float
    block: int
    count: int
    reach: int
    step: int
    stair: Fraction
    area: Fraction
    width: Words
    sure: Ints
    bottom: Reals
    thickness: Reals

    BAND = 2.0**-42
    """Heights and rho are off by less than 2^-43 as doubles, together: in rho = exp(-z), z is off by a
    relative 2^-49.5 and z exp(-z) < 1/2, np.exp by 8 ulps (2^-49); a height below 2 is a sum of at most 255
    terms, each partial sum rounded (2^-44 at most), its word and the product rounded (2^-52)."""

    @property
    def log_stair(self) -> float:
        return math.log(self.stair)

    @property
    def shift(self) -> int:
        """Blocks of several integers lie in [-w, w): on the left the tail begins one further out."""
        return 1 if self.block else 0

    @property
    def widest(self) -> int:
        return int(self.width.max())

    def exactly(self, index: int) -> tuple[Fraction, Fraction]:
        """Bottom and thickness of a strip, as they are."""
        heights = [self.area / (int(n) << self.block) for n in self.width[1 : index + 1]]
        return sum(heights[:-1], Fraction(0)), heights[-1]

    @classmethod
    def of(cls, variance: Fraction) -> Strips:
        # Less than 1e-150 is all the same: only 0 is under the bell. The cover for 1e-150 covers it too.
        sigma = max(math.sqrt(float(variance)), 1e-150)
        block = max(0, int(sigma).bit_length() - 16) if sigma >= FINEST else 0
        area = _mass(sigma) / (0.985 * (TOTAL + 1))
        while True:
            strips = cls._build(variance, sigma, block, area)
            if strips is not None:
                return strips
            area *= 1.004

    @classmethod
    def _build(cls, variance: Fraction, sigma: float, block: int, area: float) -> Strips | None:
        """The cover by strips of this area, or None if there would be more than 255."""
        reach, step = _tail(sigma, area, block)
        width = np.zeros(TOTAL + 1, dtype=np.uint64)
        sure = np.full(TOTAL + 1, -1, dtype=np.int64)
        bottom, thickness = np.zeros(TOTAL + 1), np.zeros(TOTAL + 1)
        height, half = 0.0, reach
        for i in range(1, TOTAL + 1):
            blocks = 2 * half + 1 if block == 0 else 2 * (-(-(half + 1) >> block))
            bottom[i], thickness[i], width[i] = height, area / (blocks << block), blocks
            height += thickness[i]
            sure[i] = _inside(sigma, height * (1 + MARGIN))
            if height >= 1.0 + MARGIN:
                stair = Fraction(area) / (4 * step)
                return cls(
                    variance,
                    min(0.5 / sigma / sigma, 1e300),
                    block,
                    i,
                    reach,
                    step,
                    stair,
                    Fraction(area),
                    width,
                    sure,
                    bottom,
                    thickness,
                )
            half = min(reach, _inside(sigma, height * (1 - MARGIN)))
        return None


def _mass(sigma: float) -> float:
    """About the sum of rho over all integers."""
    if sigma > 4:
        return sigma * math.sqrt(2 * math.pi)
    return 1.0 + 2.0 * sum(math.exp(-0.5 * (k / sigma) * (k / sigma)) for k in range(1, 60))


def _inside(sigma: float, height: float) -> int:
    """The largest x with rho(x) >= height, for height < 1 to within rounding; -1 if there is none."""
    if height > 1:
        return -1
    x = int(sigma * math.sqrt(-2.0 * math.log(height)))
    z = (x + 1) / sigma
    return x + 1 if math.exp(-0.5 * z * z) >= height else x


def _tail(sigma: float, area: float, block: int) -> tuple[int, int]:
    """The nearest reach whose stairs cover what is beyond it, and the length of a run."""

    def step(reach: int) -> int:
        return math.floor(sigma * sigma * math.log(2.0) * (1 + MARGIN) / (reach + 1)) + 1

    def covers(reach: int) -> bool:
        z = (reach + 1) / sigma
        return math.log(area / (4 * step(reach))) + 0.5 * z * z * (1 - MARGIN) >= MARGIN

    high = bisect_left(range(int(64 * sigma) + 1), True, key=covers)
    # The first strip is a whole number of blocks, and the tail begins where it ends.
    high = ((high >> block) + 1 << block) - 1
    return high, step(high)
