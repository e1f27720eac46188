"""The least epsilon for a delta: where certified bounds on delta(epsilon) cross it."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Literal

from scipy.optimize import brentq

from dalenius.calculus.pairs.pair import TINY, UNIT, Bounds

MOST_EVALUATIONS = 20
BACK = 8.0
"""Where nothing is left of delta, the next step is shorter by this factor."""
OFF = 1e-6
"""How far log delta may be from the target at an answer, beside what its bounds and the tolerance leave."""
FAR = 0.1
"""Where log delta is further than this from the target on one side, interpolation is not trusted blindly."""
SHARE = 0.2
"""Of the width that the bounds themselves leave: no closer need the search come to where they cross."""


def crossings(
    bounds: Callable[[float], Bounds],
    target: float,
    guess: tuple[float, float],
    largest: float,
    ends: tuple[bool, ...] = (True, False),
) -> Bounds | None:
    """Both ends at once, where log delta is smooth: every evaluation serves the upper end and the lower.

    Or the upper end (True) or the lower one (False) alone. Inverse interpolation through the points evaluated so far
    foretells where the upper (or lower) bound on delta crosses the target. A little beyond that place is evaluated, and
    is the answer if the bound there agrees. None where this does not settle within `MOST_EVALUATIONS`: `least_epsilon`
    takes more of them, and nothing surprises it.

    `guess` is an epsilon and the rate at which log delta falls there.
    """
    points: dict[float, Bounds] = {}
    log_target = math.log(target)
    start, rate = guess
    if start <= 0.0 and bounds(0.0).upper <= target:
        return Bounds(0.0, 0.0)
    x = start if 0.0 < start < largest else largest / 2 if start > 0.0 else min(1.0 / rate, largest / 2)
    answer, lost = [], 0
    for upper in ends:
        away = 1.0 if upper else -1.0
        while True:
            if x not in points:
                if not 0.0 < x < largest or len(points) + lost >= MOST_EVALUATIONS:
                    return None
                delta = bounds(x)
                while not TINY < delta.lower <= delta.upper < 1.0:
                    # Too far out for digits, as where log delta falls ever faster: back to where there are some.
                    near = max((y for y in points if y < x), default=x)
                    if near == x or delta.upper >= target or len(points) + lost >= MOST_EVALUATIONS:
                        return None
                    lost, x = lost + 1, near + (x - near) / BACK
                    delta = bounds(x)
                points[x] = delta
            heights = {
                y: math.log(delta.upper if upper else delta.lower) - log_target for y, delta in points.items()
            }
            root, slope = _foretold(heights, rate)
            if not slope > 0.0:
                return None
            nearest = points[min(points, key=lambda y: abs(y - root))]
            left = SHARE * math.log(nearest.upper / nearest.lower) / slope
            tolerance = 4 * UNIT * root + min(max(left, 1e-12 * root), 1e-10 * root)
            # Interpolation may settle at a point where nothing crosses.
            most_off = 16 * slope * tolerance + math.log(nearest.upper / nearest.lower) + OFF
            good = [
                y
                for y, delta in points.items()
                if (delta.upper <= target if upper else delta.lower >= target)
                and abs(y - root) <= 4 * tolerance
                and abs(heights[y]) <= most_off
            ]
            if good:
                answer.append(min(good) if upper else max(good))
                plain = float(f"{answer[0]:.10g}")
                # What was calibrated to an epsilon has that epsilon, and not a hair more, if the bound there agrees.
                if upper and 0.0 < answer[0] - plain <= 4 * tolerance and bounds(plain).upper <= target:
                    answer[0] = plain
                break
            x = root + away * tolerance
            if min(abs(x - y) for y in points) <= tolerance:
                x = _middle(heights, x)
            if x <= 0.0:
                if bounds(0.0).upper <= target:
                    return Bounds(0.0, 0.0)
                x = min(points) / 8
            elif x >= largest:
                x = (max(points) + largest) / 2
            if x in points:
                return None
    return Bounds(min(answer), answer[0])


def _foretold(heights: dict[float, float], rate: float) -> tuple[float, float]:
    """Where the heights, which fall, will be 0, by inverse interpolation, and how fast they fall there.

    Between two regimes they fall much faster on one side than on the other. There the interval that holds the place is
    halved, unless the third point agrees that inverse interpolation is safe (Chandrupatla 1997).
    """
    left = max((point for point in heights.items() if point[1] > 0.0), default=None)
    right = min((point for point in heights.items() if point[1] < 0.0), default=None)
    if left is not None and right is not None and max(left[1], -right[1]) > FAR and len(heights) > 2:
        return _between(heights, left, right)
    near = sorted(heights.items(), key=lambda point: abs(point[1]))[:3]
    (x, f), rest = near[0], near[1:]
    if not rest:
        return x + f / rate, rate
    y, g = rest[0]
    if f == g:
        return x, math.nan
    slope = (f - g) / (y - x)
    root = x + f / slope
    if len(rest) == 2:
        z, h = rest[1]
        if h in (f, g):
            return x, math.nan
        bend = ((z - y) / (h - g) - (y - x) / (g - f)) / (h - f)
        root += bend * f * g
    if left is not None and right is not None and not left[0] <= root <= right[0]:
        return _between(heights, left, right)
    return root, slope


def _middle(heights: dict[float, float], x: float) -> float:
    """Halfway between the two points that hold the place, where they are further apart than interpolation can tell."""
    left = max((point for point in heights.items() if point[1] > 0.0), default=None)
    right = min((point for point in heights.items() if point[1] < 0.0), default=None)
    if left is None or right is None or not left[0] < right[0] or left[1] - right[1] <= FAR:
        return x
    return (left[0] + right[0]) / 2


def _between(
    heights: dict[float, float], left: tuple[float, float], right: tuple[float, float]
) -> tuple[float, float]:
    """The same, between two points with heights of either sign, the nearest that there are."""
    middle = (left[0] + right[0]) / 2
    others = [point for point in heights.items() if point not in (left, right)]
    if not others:  # roundings of a chord
        return middle, (left[1] - right[1]) / (right[0] - left[0])
    z, h = min(others, key=lambda point: abs(point[0] - middle))
    # The third point is on the side of one of the two: x is that one, y the other.
    (x, f), (y, g) = (left, right) if h > 0.0 else (right, left)
    slope = (left[1] - right[1]) / (right[0] - left[0])
    xi, phi = (x - y) / (z - y), (f - g) / (h - g)
    if h == f or not (phi**2 < xi and (1 - phi) ** 2 < 1 - xi):
        return middle, slope
    root = y - g / (f - g) * (x - y)
    root += ((z - y) / (h - g) - (x - y) / (f - g)) / (h - f) * f * g
    return (root if left[0] < root < right[0] else middle), slope


def least_epsilon(
    bounds: Callable[[float], Bounds],
    target: float,
    guess: tuple[float, float],
    largest: float,
    side: Literal["lower", "upper"],
) -> float:
    """Solve bounds(e).side = target; the answer is on the certified side and never below 0.

    Upper: bounds(answer).upper <= target was evaluated. Lower: bounds(answer).lower >= target was.
    `guess` is an epsilon and the rate at which log delta falls there.
    """
    upper = side == "upper"

    @cache
    def excess(epsilon: float) -> float:
        value = bounds(epsilon).upper if upper else bounds(epsilon).lower
        apart = math.log(max(value, TINY)) - math.log(target)
        # The sign is that of the comparison, not of rounded logarithms.
        return max(apart, TINY) if value > target else min(apart, -TINY) if value < target else 0.0

    x, rate = min(max(guess[0], 0.0), largest), max(guess[1], 1e-3)
    low = high = x
    tolerance = 1e-12 * max(1.0, x)
    step = 1.5 * abs(excess(x)) / rate + tolerance
    if excess(x) > 0:
        while excess(high) > 0:
            if high >= largest or high > LARGEST_EPSILON:
                return math.inf if upper else high
            low, high, step = high, min(high + step, largest), 4 * step
    else:
        while excess(low) <= 0:
            if low <= 0:
                return 0.0
            low, high, step = max(low - step, 0.0), low, 4 * step
    if high == largest and excess(high) < -700.0 and high - low > 20 * tolerance:
        # Nothing is left at the end, and logarithms would lead nowhere near it. But delta is convex in
        # exp(epsilon): where its chord from `low` to the end meets the target, it is below.
        above = bounds(low).upper if upper else bounds(low).lower
        chord = high + math.log1p(target / above * math.expm1(low - high))
        low, high = (low, chord) if excess(chord) <= 0 else (chord, high)
    tolerance = 1e-12 * max(1.0, low)  # the guess may have been far above
    if high - low > 20 * tolerance:
        root = _crossing(excess, low, high, largest, tolerance) if excess(high) < 0 else high
        # The root is good to the tolerance; step to the certified side of it.
        while (excess(root) > 0) if upper else (excess(root) < 0):
            root = min(root + tolerance, high) if upper else max(root - tolerance, low)
            tolerance *= 2
        return root
    return high if upper else low


def _crossing(excess: Callable[[float], float], low: float, high: float, end: float, within: float) -> float:
    """Where `excess` changes its sign. Near the largest loss log delta is linear in the log of the distance."""
    if not high < end < 2 * high - low:
        return float(brentq(excess, low, high, xtol=within, rtol=1e-13))
    near, far = math.log(end - high), math.log(end - low)
    root = brentq(lambda z: excess(end - math.exp(z)), near, far, xtol=within / (end - low), rtol=1e-13)
    return min(max(end - math.exp(root), low), high)


LARGEST_EPSILON = 1e18
"""Epsilons beyond this are not told apart from infinity."""
