"""The mean of rows between -1 and 1, or of the population they were drawn from, from noisy sums."""

from __future__ import annotations

import numpy as np

from dalenius.core.arrays import Reals
from dalenius.intervals import populations
from dalenius.intervals.laws import Noisy, truncated_mean
from dalenius.intervals.ratios import interval


def mean(
    top: Noisy,
    bottom: Noisy,
    square: Noisy | None,
    failure: float,
    sampling: bool,
    within: tuple[float, float] = (-1.0, 1.0),
    edge: float = 0.0,
) -> tuple[Reals, Reals, Reals, Reals]:
    """Estimate, standard error and ends of the interval of S/N.

    top, bottom, square: sum, count and sum of squares; no squares where all rows are at -1 or 1, and the interval is
    that of a share. sampling: of the population, whose variance is estimated from the sum of squares. edge: see
    `Noisy.edge`.
    """
    s, n = top.values, bottom.values
    usable = n > max(1.0, bottom.sigma)
    ratio = np.clip(np.where(usable, s / np.where(usable, n, 1.0), 0.0), *within)
    c = (np.full(len(s), top.variance), np.zeros(len(s)), np.full(len(s), bottom.variance))
    if sampling:
        drawn = _drawn(top, bottom, square, ratio)
        low, high = populations.mean(top, bottom, square, drawn, failure, edge)
        c = (c[0] + drawn[0], c[1] + drawn[1], c[2] + drawn[2])
    else:
        low, high = interval(s, n, c, lambda m: top.fourth + m**4 * bottom.fourth, failure, within, edge)
    error = np.sqrt(np.maximum(c[0] + c[1] * ratio + c[2] * ratio**2, 0.0))
    error = np.where(usable, np.minimum(error / np.where(usable, n, 1.0), 1.0), 1.0)
    return ratio, error, np.minimum(low, ratio), np.maximum(high, ratio)


def _drawn(top: Noisy, bottom: Noisy, square: Noisy | None, ratio: Reals) -> tuple[Reals, Reals, Reals]:
    """The variance of S - m N that comes from drawing the rows, as a polynomial of m.

    It is the sum of squares around m, as Student's; but for values that are at either bound, of which there are as
    many at the upper one as m says, that is n (1 - m^2), as Wilson's. The more they are, the more of the second.
    """
    n = np.maximum(bottom.values, 0.0)
    around = squares(top, bottom, square, ratio)
    share = np.clip(around / np.maximum(n * (1 - ratio**2), 1e-12), 0.0, 1.0)
    ends = share**4
    student = (around + n * ratio**2, -2 * n * ratio, n)
    wilson = (n * share, 0.0 * n, -n * share)
    first, second, third = ((1 - ends) * a + ends * b for a, b in zip(student, wilson, strict=True))
    return first, second, third


def squares(top: Noisy, bottom: Noisy, square: Noisy | None, ratio: Reals) -> Reals:
    """The sum of squares around the mean: as estimated, brought to where it can be.

    It is between 0 and n (1 - mean^2) (Bhatia and Davis 2000). Of what the noise leaves open the mean is taken, as if
    all in between were equally likely.
    """
    n = np.maximum(bottom.values, 0.0)
    most = n * (1 - ratio**2)
    if square is None:
        return np.asarray(most)
    around = square.values - n * ratio**2
    noise = np.sqrt(square.variance + 4 * ratio**2 * top.variance + ratio**4 * bottom.variance)
    return truncated_mean(around, noise, most)
