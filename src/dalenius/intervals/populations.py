"""The mean and the variance of the population that rows were drawn from, from noisy sums.

Each is an inverted test: every value of which it is not too improbable that so much, or so little, was released. The
law of what is released is worked out as if that value were the truth: the rows of a population with this variance vary
by the fourth moment that goes with it, and counts and sums are where they most likely were (a score test, Rao 1948).

Rows may be all at the two bounds, or in between; the sum of squares tells as far as noise lets it. The probability of a
sum is the mean of both, by how far each is believed (`shares.at_ends`).

Near an end of what can be, too little is released by noise alone, which says nothing. There the chance to be wrong
belongs to the other side: how it is divided depends on the value, not on what was released, so that intervals are
never empty and hold as often as they should (Feldman and Cousins 1998).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import numpy as np
from scipy.special import ndtr, ndtri

from dalenius.core.arrays import Bools, Reals
from dalenius.intervals.laws import Noisy, beyond
from dalenius.intervals.moments import Deviations
from dalenius.intervals.roots import crossing, halved
from dalenius.intervals.shares import Share, at_ends

STEPS = 24
"""To each end."""

BELIEVED = 0.7
"""From here on a variance is that of rows at the two bounds: its test is another, and a mean of two tests is none."""


Test = Callable[[Reals, int], tuple[Reals, Reals]]
"""Of one value a group, and a side: the chance that as much (1) or as little (-1) is released, and the standard
deviation of the estimate."""


def mean(
    top: Noisy,
    bottom: Noisy,
    square: Noisy | None,
    drawn: tuple[Reals, Reals, Reals],
    failure: float,
    edge: float,
) -> tuple[Reals, Reals]:
    """The ends of the interval, for bounds -1 and 1.

    top, bottom, square: sum, count and sum of squares. drawn: how much the sum around m varies with the rows, as a
    polynomial of m. edge: see `Noisy.edge`.
    """
    ends = at_ends(top, bottom, square)
    some, share = _of_ends(top, bottom, ends > 1e-9)
    n = np.where(bottom.values > 0, bottom.values, 1.0)

    def test(m: Reals, side: int) -> tuple[Reals, Reals]:
        noise = top.variance + m**2 * bottom.variance
        variance = np.maximum(noise + drawn[0] + drawn[1] * m + drawn[2] * m**2, 1e-300)
        z = (side * (top.values - m * n) - edge) / np.sqrt(variance)
        peak = (top.fourth + m**4 * bottom.fourth) / variance**2
        chance = (1 - ends) * beyond(peak, z)
        if some.any():
            p = (1 + m[some]) / 2
            chance[some] += ends[some] * (share.more(p) if side > 0 else share.less(p))
        return chance, np.sqrt(variance) / n

    low, high = _inverted(test, len(n), -1.0, failure)
    return np.where(bottom.values > 0, low, -1.0), np.where(bottom.values > 0, high, 1.0)


def variance(parts: Deviations, binary: bool, failure: float, edge: Reals | float) -> tuple[Reals, Reals]:
    """The ends of the interval, between 0 and 1 for bounds -1 and 1."""
    at = at_ends(parts.x, parts.n, None if binary else parts.product)
    ends, share = _of_ends(parts.x, parts.n, at > BELIEVED)
    top, bottom = parts.top, parts.bottom
    some = (bottom > 0) & (parts.n.values > 2)
    b = np.where(some, bottom, 1.0)

    def test(c: Reals, side: int) -> tuple[Reals, Reals]:
        gap = top - c * b
        likely = parts.moved(c, gap / _variance(parts, b, c))
        variance = _variance(likely, likely.n.values * (likely.n.values - 1), c)
        z = (side * gap - edge) / np.sqrt(variance)
        # Cornish and Fisher: products of noises lean to one side.
        lean = np.clip(side * likely.third(c) / variance**1.5, -1.0, 1.0)
        chance = beyond(likely.fourth(c) / variance**2, z - lean / 6 * (np.minimum(z**2, 9.0) - 1))
        if ends.any():
            p = (1 - np.sqrt(np.clip(1 - c[ends], 0.0, 1.0))) / 2
            chance[ends] = share.more_even(p) if side > 0 else share.less_even(p)
        return chance, np.sqrt(variance) / b

    low, high = _inverted(test, len(b), 0.0, failure)
    return np.where(some, low, 0.0), np.where(some, high, 1.0)


def _of_ends(top: Noisy, bottom: Noisy, some: Bools) -> tuple[Bools, Share]:
    """These groups, and the share of rows at the upper bound in them."""
    return some, Share(replace(top, values=top.values[some]), replace(bottom, values=bottom.values[some]))


def _variance(parts: Deviations, b: Reals, c: Reals) -> Reals:
    """Of A - c B, noise and drawing of rows, if c is the truth."""
    noise = parts.variances()
    drawn = (b * c) ** 2 * parts.bulge_of(c) / parts.size
    return np.asarray(np.maximum(noise[0] + noise[1] * c + noise[2] * c**2 + drawn, 1e-300))


def _inverted(test: Test, number: int, least: float, failure: float) -> tuple[Reals, Reals]:
    """The values between `least` and 1 that pass. They are looked for by their angles: sampling errors of shares and of
    variances are then the same everywhere, or nearly."""

    def value(angle: Reals) -> Reals:
        return np.asarray(least + (1 - least) * np.sin(angle) ** 2)

    def over(angle: Reals, side: int) -> Reals:
        """Normal quantiles of chances, less of those allowed: near to straight lines."""
        chance, error = test(value(angle), side)
        much, little = _allowed(error, value(angle), least, failure)
        return np.asarray(side * (_quantile(much if side > 0 else little) - _quantile(chance)))

    start, end = np.zeros(number), np.full(number, np.pi / 2)
    low = crossing(lambda x: over(x, 1), start, end, 0.0, STEPS)
    high = crossing(lambda x: over(x, -1), start, end, 0.0, STEPS)
    return value(low), value(high)


def _quantile(chance: Reals) -> Reals:
    return np.asarray(ndtri(np.clip(chance, 1e-300, 1 - 1e-16)))


def _allowed(error: Reals, value: Reals, least: float, failure: float) -> tuple[Reals, Reals]:
    """The chances to be wrong for too much and for too little."""
    places, shares = _divided(failure)
    error = np.maximum(error, 1e-300)
    little = np.interp((value - least) / error, places, shares)
    much = np.interp((1 - value) / error, places, shares)
    total = np.maximum(little + much, 1e-300)
    little = np.where(little + much > 0, little / total, 0.5)
    return failure * (1 - little), failure * little


@lru_cache(maxsize=64)
def _divided(failure: float) -> tuple[Reals, Reals]:
    """The part of the chance to be wrong that is for too little released, by the distance from the lower end.

    Feldman and Cousins' for a normal law: of a value d > 0, x between d - b and d + a is not too improbable, where
    both ends are as likely compared with the likeliest value, which is 0 for x < 0: b = (a^2 + d^2) / (2 d).
    """
    d = np.linspace(0.0, -float(ndtri(failure / 2)), 65)[1:-1]

    def below(a: Reals) -> Reals:
        return np.asarray(ndtr(-(a**2 + d**2) / (2 * d)))

    a = halved(lambda a: ndtr(-a) + below(a) > failure, np.zeros(len(d)), np.full(len(d), 40.0))
    shares = below(a) / failure
    return np.concatenate(([0.0], d, [-float(ndtri(failure / 2))])), np.concatenate(([0.0], shares, [0.5]))
