"""How far out rows weigh in full: as far as the promise can pay for.

Rows are weighted by min(1, (reach sqrt(p)/||x||)^2), x being standardised, so that ||x|| is sqrt(p) for a usual row.
With a longer reach fewer rows weigh less, and where the model is only an approximation, what is estimated is nearer to
what it is without weights. The noise of scores grows with the reach and that of curvatures with its square.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import chdtri

from dalenius.core import checks
from dalenius.core.adjacency import Adjacency
from dalenius.core.arrays import Reals
from dalenius.errors import InvalidParameter
from dalenius.infer.scores.noisy_sums import NoisySums
from dalenius.infer.scores.score import CurveScore
from dalenius.infer.scores.source import Source, Standard
from dalenius.sums.curves import Huber

REACHES = (1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0)
"""What is chosen from. Beyond 3 hardly a row of usual data would gain by it."""
WIDER = 1.1
"""How much wider than the shortest an interval may be expected to become."""
LEAST, MOST = 1e-3, 1e3
PROBE = 0.02
"""Of mu^2, for a look at the rows where more than 1 can be paid for: at a reach of 1 there is little noise."""
FLAT = CurveScore(Huber(1e9))
"""A loss that weighs all residuals alike."""
TAILS: Reals = (np.arange(400) + 0.5) / 400


@dataclass(frozen=True)
class Weights:
    """What weights leave of rows: E w |x|^2/p and E w^2 |x|^2/p of normal ones; a guess, for planning alone."""

    reach: float
    size: int
    curvature: float
    square: float

    @classmethod
    @lru_cache(maxsize=256)
    def of(cls, reach: float, size: int) -> Weights:
        """For `size` coefficients of an outcome."""
        lengths = np.asarray(chdtri(size, TAILS)) / size
        weights = np.minimum(1.0, reach**2 / lengths)
        return cls(reach, size, float(np.mean(weights * lengths)), float(np.mean(weights**2 * lengths)))

    @property
    def gain(self) -> float:
        """The curvature over that of reach 1."""
        return self.curvature / Weights.of(1.0, self.size).curvature


@dataclass(frozen=True)
class Probe:
    """The sum of w x x^T with a reach of 1 and noise of `sd`, over the number of rows.

    Where columns nearly depend on each other, or are rarely far from their centre, the curvature is less in some
    direction than that of independent normal ones, and a shorter reach is all that can be paid for.
    """

    matrix: Reals
    sd: float

    @classmethod
    def of(cls, source: Source, standard: Standard, mu: float, adjacency: Adjacency, count: float) -> Probe:
        """A release for mu."""
        sums = NoisySums(source.rows(standard), adjacency)
        released = sums.release(np.zeros(standard.size), FLAT, bend_mu=mu)
        return cls(released.bend / count, released.bend_sd / count)

    def least(self, weights: Weights) -> float:
        """The least eigenvalue to be expected with these weights, over that of independent normal columns; 1 at most.

        With a longer reach what far rows add grows with its square, up to the whole of a column.
        """
        diagonal = np.maximum(np.diag(self.matrix) - self.sd, self.sd)
        grown = np.minimum(diagonal * weights.reach**2, np.maximum(diagonal, weights.curvature))
        scale = np.sqrt(grown / diagonal)
        expected = (self.matrix - self.sd * np.eye(len(self.matrix))) * scale[:, None] * scale
        return min(1.0, max(float(np.linalg.eigvalsh(expected)[0]) / weights.curvature, 1e-9))


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
