"""One point of a large grid by the exponential mechanism, drawn exactly without looking at most of the points.

The grid has 2^AXIS_BITS points per axis in the cube (-1, 1)^d; those outside the unit ball do not count. A point
theta is to be drawn with probability proportional to exp(score(theta)/scale). The cube is cut into boxes, each with a
bound that no score in it exceeds. A box is drawn with probability proportional to (number of its points) *
exp(bound/scale), then one of its points uniformly, and that is kept with probability exp((score - bound)/scale);
otherwise all is drawn anew. This is rejection sampling: given that a point is kept, it has exactly the law above,
whatever the boxes and bounds are, be they fitted to the data or to earlier draws. They decide only how long it takes.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dalenius.calculus.pairs.pair import Reals
from dalenius.noise import bernoulli_exp, noisy_argmax, uniform_integers

Ints = NDArray[np.int64]

AXIS_BITS = 20
ENOUGH = 0.3
"""Boxes are cut until about this part of the draws will be kept ..."""
MOST_BOXES = 1 << 13
"""... or there are so many; twice as many whenever PATIENCE draws in a row were not kept."""
PATIENCE = 50


class Score(Protocol):
    """What is known of the score of theta; theta is `whole` 2^-AXIS_BITS."""

    @property
    def weights(self) -> Reals:
        """How much the bounds suffer from the width of a box, per axis."""

    def bounds(self, middle: Reals, half: Reals) -> Reals:
        """One per box [middle - half, middle + half]: at least the score of every point in it, as given by `at`."""

    def at(self, whole: Ints) -> Fraction:
        """The score of a point, exactly."""


class Boxes:
    """Boxes of 2^k points per axis; their bounds, and the scores of their middles (roughly)."""

    def __init__(self, score: Score, corner: Ints, side: Ints) -> None:
        self.score, self.corner, self.side = score, corner, side
        middle = (2 * corner + side - (1 << AXIS_BITS)) * 2.0**-AXIS_BITS
        half = (side - 1) * 2.0**-AXIS_BITS
        self.bound = score.bounds(middle, half)
        self.rough = score.bounds(middle, np.zeros_like(half))
        self.count = np.prod(side.astype(np.float64), axis=1)

    @property
    def open(self) -> Any:
        """Which can be cut further with profit."""
        return ((self.side - 1) * self.score.weights).max(axis=1) > 0

    def cut(self, chosen: Any) -> Boxes:
        """The chosen boxes replaced by their halves, those outside the ball left out."""
        corner, side = self.corner[chosen], self.side[chosen]
        axis = np.argmax((side - 1) * self.score.weights, axis=1)
        rows = np.arange(len(axis))
        side[rows, axis] //= 2
        upper = corner.copy()
        upper[rows, axis] += side[rows, axis]
        corner, side = np.concatenate((corner, upper)), np.concatenate((side, side))
        inside = nearest(corner, side) <= 1 << (2 * AXIS_BITS)
        return Boxes(self.score, corner[inside], side[inside])

    def replaced(self, chosen: Any) -> Boxes:
        """These boxes, the chosen ones cut."""
        new, kept = self.cut(chosen), ~chosen
        for name in ("corner", "side", "bound", "rough", "count"):
            setattr(new, name, np.concatenate((getattr(self, name)[kept], getattr(new, name))))
        return new


def nearest(corner: Ints, side: Ints) -> Ints:
    """The square of the distance of a box from 0, in units of 2^-AXIS_BITS."""
    low = 2 * corner + 1 - (1 << AXIS_BITS)
    high = low + 2 * (side - 1)
    gap = np.maximum(np.maximum(low, -high), 0)
    return np.asarray((gap * gap).sum(axis=1))


def draw(score: Score, size: int, scale: float) -> Ints:
    """A grid point of the unit ball, in units of 2^-AXIS_BITS, with probability proportional to exp(score/scale)."""
    whole_cube = np.zeros((1, size), dtype=np.int64), np.full((1, size), 1 << AXIS_BITS, dtype=np.int64)
    boxes, most = Boxes(score, *whole_cube), MOST_BOXES
    while True:
        boxes, most = refined(boxes, scale, most), 2 * most
        point = _kept(boxes, scale)
        if point is not None:
            return point
        boxes = halved(boxes, scale)


def halved(boxes: Boxes, scale: float) -> Boxes:
    """The boxes that weigh most cut once more: that their middles look good (`refined` asks no more) is not enough."""
    logs = np.log(boxes.count) + boxes.bound / scale
    weight = np.exp(logs - logs.max())
    chosen = boxes.open & (weight >= weight.sum() / (2 * len(weight)))
    return boxes.replaced(chosen) if chosen.any() else boxes


def _kept(boxes: Boxes, scale: float) -> Ints | None:
    """The first draw that is kept, if it comes soon enough."""
    for _ in range(PATIENCE):
        box = int(noisy_argmax(boxes.bound, scale, base=boxes.count))
        places = [int(uniform_integers(0, int(side))) for side in boxes.side[box]]
        theta: Ints = 2 * (boxes.corner[box] + np.array(places, dtype=np.int64)) + 1 - (1 << AXIS_BITS)
        if int((theta * theta).sum()) <= 1 << (2 * AXIS_BITS):
            behind = Fraction(float(boxes.bound[box])) - boxes.score.at(theta)
            if bernoulli_exp(behind / Fraction(scale)):
                return theta
    return None


def refined(boxes: Boxes, scale: float, most: int) -> Boxes:
    """Cut until most of the weight lies in boxes over which the score hardly varies, or there are `most`."""
    while len(boxes.bound) < most:
        logs = np.log(boxes.count) + boxes.bound / scale
        weight = np.exp(logs - logs.max())
        gap = (boxes.bound - boxes.rough) / scale
        if float(weight @ np.exp(-gap)) >= ENOUGH * float(weight.sum()):
            break
        loose = weight * -np.expm1(-gap)
        chosen = boxes.open & (loose >= loose.sum() / (2 * len(loose)))
        if not chosen.any():
            break
        boxes = boxes.replaced(chosen)
    return boxes
