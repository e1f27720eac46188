"""Minimise a ridge-regularised objective of several scores by passes over blocks of rows.

As in `minimise`, the solver is free: what is released depends on the minimum alone, plus noise that covers the
tolerance. No pass holds more than one block of rows written out, and nothing is kept per row: the rows may be in
memory, or come from a file each time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from dalenius.calculus.pairs.pair import Reals
from dalenius.learn.data.rows import Records
from dalenius.learn.numerics.links import Link
from dalenius.learn.numerics.minimise import Total, mended, nothing_found

TOGETHER = 1 << 12
"""Rows taken together."""
MOST_NUMBERS = 2500
"""So many coefficients have a Hessian; more have its diagonal."""
MOST_STEPS = 400
SKETCH = 40
"""Rows a coefficient that suffice for a Hessian to start from."""
FASTER = 16.0


@dataclass(frozen=True)
class Passes:
    """sum of link(Theta x; y) + (ridge/2)|Theta|^2 + noise.Theta; Theta is outputs x columns, written as one vector.

    `blocks()` gives the rows anew for every pass, in the same order.
    """

    blocks: Callable[[], Iterable[Records]]
    link: Link
    ridge: float
    noise: Reals

    def gradient(self, theta: Reals) -> Reals:
        """In one pass; sums of blocks carry along what rounding takes away, and those in a block are made of parts.

        As in `minimise.Objective.accurate_gradient`: the products of whole numbers (22 and 18 bits, 2^12 rows) are
        added without rounding, and the rests are small. Rows that are alike would round alike, beyond the tolerance.
        """
        shape = self._shape(theta)
        total = Total(self.ridge * theta + self.noise)
        for rows, labels in self.parts():
            slopes = self.link.slopes(rows @ shape.T, labels)
            coarse_rows, row_step = _whole(rows, 22)
            coarse, step = _whole(slopes, 18)
            total.add((coarse.T @ coarse_rows).ravel() * (row_step * step))
            total.add(((slopes - coarse * step).T @ coarse_rows).ravel() * row_step)
            total.add((slopes.T @ (rows - coarse_rows * row_step)).ravel())
        return total.value

    def hessian(self, theta: Reals, every: int = 1, reach: float | None = None) -> Reals:
        """Of every so-many-th row. With `reach`, a matrix that it is nowhere below within so much of theta."""
        shape, size, d = self._shape(theta), len(theta), len(theta) // self.link.outputs
        total = np.zeros((size, size))
        for rows, labels in self.parts(every):
            bends = self._bends(rows, labels, shape, reach)
            for a in range(self.link.outputs):
                for b in range(a + 1):
                    corner = (rows * bends[:, a, b, None]).T @ rows
                    total[a * d : (a + 1) * d, b * d : (b + 1) * d] += corner
                    if b < a:
                        total[b * d : (b + 1) * d, a * d : (a + 1) * d] += corner.T
        times = 1 if reach is not None else every  # a part of the rows is below all of them
        return np.asarray(total * times + self.ridge * np.eye(size))

    def diagonal(self, theta: Reals, every: int = 1) -> Reals:
        """That of the Hessian."""
        shape, total = self._shape(theta), np.zeros((self.link.outputs, len(theta) // self.link.outputs))
        for rows, labels in self.parts(every):
            total += np.einsum(
                "naa,nd->ad", self.link.bends(rows @ shape.T, labels), rows * rows, optimize=True
            )
        return np.asarray(total.ravel() * every + self.ridge)

    def parts(self, every: int = 1) -> Iterator[tuple[Reals, Reals]]:
        """Rows written out, and labels, a few thousand at a time."""
        for block in self.blocks():
            for start in range(0, len(block), TOGETHER * every):
                part = slice(start, start + TOGETHER * every, every)
                yield block.rows(part), block.labels[part]

    def thinning(self) -> int:
        """Every so-many-th row will do for a Hessian to start from."""
        return max(1, sum(map(len, self.blocks())) // max(8000, SKETCH * len(self.noise)))

    def _shape(self, theta: Reals) -> Reals:
        return theta.reshape(self.link.outputs, -1)

    def _bends(self, rows: Reals, labels: Reals, shape: Reals, reach: float | None) -> Reals:
        if reach is None:
            return self.link.bends(rows @ shape.T, labels)
        far = reach * np.sqrt(np.einsum("ij,ij->i", rows, rows)) * (1 + 1e-9)
        return self.link.least_bends(rows @ shape.T, labels, far)


def _whole(numbers: Reals, bits: int) -> tuple[Reals, float]:
    """Whole numbers of so many bits, and the step that they count."""
    step = 2.0 ** max(math.frexp(float(np.abs(numbers).max(initial=0.0)))[1] - bits, -500)  # never 0
    return np.rint(numbers / step), step


def close_minimum(objective: Passes, tolerance: float) -> Reals:
    """A point within `tolerance`/ridge of the minimum; zeros where none is found, which no data are known to cause.

    A quarter of the tolerance is left for what rounding does to the noise and to the gradient.
    """
    theta = np.zeros(len(objective.noise))
    try:
        found, left = minimised(objective, 0.5 * tolerance, theta)
        if left > 0.75 * tolerance:
            found, left = _by_larger_ridges(objective, 0.5 * tolerance)
    except (np.linalg.LinAlgError, ValueError):  # a Hessian that rounding made singular, or not finite
        return nothing_found(theta)
    return found if left <= 0.75 * tolerance else nothing_found(theta)


def minimised(objective: Passes, tolerance: float, theta: Reals) -> tuple[Reals, float]:
    """A point, and a number that it is within 1/ridge times of the minimum.

    Quasi-Newton steps from the Hessian of a part of the rows, mended by what the steps show (`minimise.mended`); from
    the Hessian of all of them where that is slow. Along a direction the length is such that the slope is at most half
    of what it was: each trial is a pass, and its gradient the next one's start.
    """
    every, solve = objective.thinning(), None
    pairs: list[tuple[Reals, Reals, float]] = []
    gradient = objective.gradient(theta)
    norm, slow = float(np.linalg.norm(gradient)), 0
    best = theta, gradient, norm
    for _ in range(MOST_STEPS):
        if norm <= tolerance:
            return theta, norm
        if solve is None:
            solve = _solver(objective, theta, every)
            pairs = []
        step = mended(solve, pairs, gradient)
        new, after = _along(objective, theta, step, gradient)
        size, product = float(np.linalg.norm(after)), float((new - theta) @ (after - gradient))
        if product > 0:
            pairs.append((new - theta, after - gradient, product))
        slow = slow + 1 if size > 0.3 * norm else 0
        theta, gradient, norm = new, after, size
        if norm < best[2]:
            best = theta, gradient, norm
        if slow and norm < 1e4 * tolerance:
            left = _left_over(objective, best[0], best[1], tolerance)
            if left <= tolerance:
                return best[0], left
        if slow >= 4:
            every, solve, slow = 1, None, 0
    return best[0], _left_over(objective, best[0], best[1], tolerance)


def _left_over(objective: Passes, theta: Reals, gradient: Reals, tolerance: float) -> float:
    """As `minimise.left_over`, where it is proved."""
    norm = float(np.linalg.norm(gradient))
    if norm <= tolerance or len(theta) > MOST_NUMBERS or not np.isfinite(norm):
        return norm
    hessian = objective.hessian(theta, reach=tolerance / objective.ridge)
    square = float(gradient @ cho_solve(cho_factor(hessian), gradient))
    left = float(np.sqrt(max(square, 0.0) * objective.ridge))
    return left if left <= tolerance else norm


def _by_larger_ridges(objective: Passes, tolerance: float) -> tuple[Reals, float]:
    """From a ridge that outweighs the rows to the one asked for, each minimum the start of the next."""
    theta, ridge = np.zeros(len(objective.noise)), objective.ridge
    while ridge < sum(map(len, objective.blocks())):
        ridge *= FASTER
    while ridge > objective.ridge:
        theta, _ = minimised(replace(objective, ridge=ridge), 0.1 * tolerance, theta)
        ridge /= FASTER
    return minimised(objective, tolerance, theta)


def _solver(objective: Passes, theta: Reals, every: int) -> Callable[[Reals], Reals]:
    if len(theta) > MOST_NUMBERS:
        diagonal = objective.diagonal(theta, every)
        return lambda gradient: gradient / diagonal
    factor: Any = cho_factor(objective.hessian(theta, every))
    return lambda gradient: np.asarray(cho_solve(factor, gradient))


def _along(objective: Passes, theta: Reals, step: Reals, gradient: Reals) -> tuple[Reals, Reals]:
    """A point theta - t step where the slope is at most half of what it was, and the gradient there."""
    first = -float(gradient @ step)
    low, high, t = 0.0, np.inf, 1.0
    for _ in range(40):
        new = theta - t * step
        after = objective.gradient(new)
        at = -float(after @ step)
        if abs(at) <= 0.5 * abs(first):
            break
        if at < 0:
            low = t
        else:
            high = t
        t = 2 * t if high == np.inf else low + (high - low) * (0.5 if low > 0 else 0.25)
    return new, after
