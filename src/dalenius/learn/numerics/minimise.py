"""Minimise a ridge-regularised GLM objective plus a linear term, to within a given distance.

The solver is free: what is released depends on the minimiser alone (plus noise that covers the tolerance), so nothing
here needs to be private, only convergent. How close a point is to the minimum is judged by its gradient, and where
rounding keeps that from becoming small (many rows), by the gradient and the Hessian (`left_over`).

Many rows are minimised quickly, from the minimum and the Hessian of a part of them, one pass over the rows per step and
nothing kept per row; where that fails, and for few rows, carefully: Newton directions with a line search along the
scores, two passes per step and a few numbers per row; and where that fails too, by way of larger ridges.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, cg

from dalenius.calculus.pairs.pair import Reals
from dalenius.learn.data.rows import Records
from dalenius.sums.curves import Curve

CHUNK = 1 << 13
"""Rows taken together."""
NUMBERS = 1 << 17
"""Numbers taken together (1 MB) where they are to stay in the cache between the two products of a gradient."""
THIN = 11
"""Many rows are minimised starting from every so-many-th of them."""
SKETCH = 50
"""So many rows per column have a Hessian that serves for all, until progress stalls."""
MOST_COLUMNS = 2000
"""Beyond this many a Hessian is too large to factor: conjugate gradients instead."""
MOST_STEPS = 400
FASTER = 4.0
"""From one ridge to the next, where the minimum is found by way of larger ones; a power of two, so that division ends
exactly where multiplication began."""


@dataclass
class Objective:
    """sum_i f(x_i.theta; y_i) + (ridge/2)|theta|^2 + noise.theta."""

    records: Records
    curve: Curve
    ridge: float
    noise: Reals

    def scores(self, theta: Reals) -> Reals:
        """x.theta of every row."""
        scores = np.empty(len(self.records))
        for part in self._parts():
            scores[part] = self.records.scores(theta, part)
        return scores

    def slopes(self, scores: Reals) -> Reals:
        """f' of every row."""
        return self.curve.slope(scores, self.records.labels)

    def gradient(self, theta: Reals, slopes: Reals) -> Reals:
        total = Total(self.ridge * theta + self.noise)
        for part in self._parts():
            total.add(self.records.combined(slopes[part], part))
        return total.value

    def gradient_at(self, theta: Reals) -> Reals:
        """The gradient in one pass over the rows, nothing kept."""
        total = Total(self.ridge * theta + self.noise)
        together = max(1, NUMBERS // len(theta))
        for start in range(0, len(self.records), together):
            part = slice(start, start + together)
            scores = self.records.scores(theta, part)
            total.add(self.records.combined(self.curve.slope(scores, self.records.labels[part]), part))
        return total.value

    def accurate_gradient(self, theta: Reals) -> Reals:
        """The gradient, every sum of rows accurate to 2^-52 of what its terms add up to without their signs.

        Rows and slopes are whole numbers of 2^-22 and 2^-18 of the largest there are, plus small rests. The products
        of whole numbers are added without rounding; the rests are so small that their rounding does not count.
        What is left is the rounding of single records, each on its own.
        """
        total = Total(self.ridge * theta + self.noise)
        steepest = self.curve.steepest
        for part in self._parts(together=min(CHUNK, 1 << 12)):
            rows = self.records.rows(part)
            slopes = self.curve.slope(rows @ theta, self.records.labels[part])
            row_step = 2.0 ** (math.frexp(float(np.abs(rows).max()))[1] - 22)
            slope_step = 2.0 ** (math.frexp(steepest)[1] - 18)
            coarse_rows = np.rint(rows / row_step)
            coarse = np.rint(slopes / slope_step)
            slopes -= coarse * slope_step
            rows -= coarse_rows * row_step
            total.add((coarse @ coarse_rows) * (row_step * slope_step))
            total.add((slopes @ coarse_rows) * row_step)
            total.add((slopes + coarse * slope_step) @ rows)
        return total.value

    def least_hessian(self, theta: Reals, radius: float) -> Reals:
        """A matrix that the Hessian is nowhere below within `radius` of theta: from a part of the rows."""
        size = len(theta)
        total = self.ridge * np.eye(size)
        for part in self._parts(THIN if len(self.records) > THIN * SKETCH * size else 1):
            rows = self.records.rows(part)
            reach = radius * np.sqrt(np.einsum("ij,ij->i", rows, rows)) * (1 + 1e-9)
            bend = self.curve.least_bend(rows @ theta, self.records.labels[part], reach)
            total += (rows * bend[:, None]).T @ rows
        return np.asarray(total)

    def thinned(self, every: int) -> Objective:
        """The objective of every so-many-th row, ridge and noise shrunk to match."""
        return Objective(self.records.thinned(every), self.curve, self.ridge / every, self.noise / every)

    def hessian(self, scores: Reals, every: int = 1) -> Reals:
        """The Hessian, or an estimate from every `every`-th row."""
        size = len(self.noise)
        total = np.zeros((size, size))
        for part in self._parts(every):
            total += self.records.gram(self.curve.bend(scores[part], self.records.labels[part]), part)
        return np.asarray(total * every + self.ridge * np.eye(size))

    def curvature(self, scores: Reals) -> Callable[[Reals], Reals]:
        """The Hessian as a map of vectors, two passes each."""
        bend = self.curve.bend(scores, self.records.labels)

        def times(v: Reals) -> Reals:
            total = self.ridge * v
            for part in self._parts():
                total = total + self.records.combined(bend[part] * self.records.scores(v, part), part)
            return np.asarray(total)

        return times

    def _parts(self, every: int = 1, together: int = CHUNK) -> Iterator[slice]:
        for start in range(0, len(self.records), together * every):
            yield slice(start, start + together * every, every)


class Total:
    """A sum of vectors that carries along what rounding took away: as if added in twice the precision."""

    def __init__(self, start: Reals) -> None:
        self.sum, self.lost = start, np.zeros_like(start)

    def add(self, part: Reals) -> None:
        """Two-sum of Knuth."""
        total = self.sum + part
        new = total - self.sum
        self.lost += (self.sum - (total - new)) + (part - new)
        self.sum = total

    @property
    def value(self) -> Reals:
        return np.asarray(self.sum + self.lost)


def nothing_found(like: Reals) -> Reals:
    """What is released where no minimum was found. It must never be: that would depend on the data."""
    return np.zeros_like(like)


def minimiser(objective: Objective, tolerance: float) -> tuple[Reals, float]:
    """A point, and a number that it is within 1/ridge times of the minimum; the caller decides whether that will do."""
    theta, norm = quick(objective, tolerance)
    if norm < np.inf:
        theta, norm = polished(objective, tolerance, theta)
    if norm > tolerance:
        with contextlib.suppress(
            np.linalg.LinAlgError
        ):  # a Hessian that rounding made singular, far from the minimum
            theta, norm = careful(objective, tolerance, theta)
    return (theta, norm) if norm <= tolerance else continued(objective, tolerance)


def continued(objective: Objective, tolerance: float) -> tuple[Reals, float]:
    """From a ridge that outweighs the rows to the one asked for, each minimum the start of the next.

    Where a small ridge leaves the objective next to flat (the straight parts of a hinge), Newton's directions lead far
    away and back. From the minimum of four times the ridge they do not.
    """
    theta, ridge = np.zeros(len(objective.noise)), objective.ridge
    while ridge < objective.curve.sharpest * len(objective.records):
        ridge *= FASTER
    while ridge > objective.ridge:
        theta, _ = careful(replace(objective, ridge=ridge), 0.1 * tolerance, theta)
        ridge /= FASTER
    return careful(objective, tolerance, theta)


def polished(objective: Objective, tolerance: float, theta: Reals) -> tuple[Reals, float]:
    """The last steps, and the last word, by gradients that are accurate."""
    best, lowest, norm, solve = theta, objective.noise, np.inf, None
    while True:
        gradient = objective.accurate_gradient(theta)
        size = float(np.linalg.norm(gradient))
        if not size < 0.5 * norm:
            return best, min(norm, left_over(objective, best, lowest, tolerance))
        best, lowest, norm = theta, gradient, size
        if norm <= tolerance:
            return best, norm
        if solve is None:
            solve = _solver(objective, objective.scores(theta), _thinning(objective))
        theta = theta - solve(gradient)


def left_over(objective: Objective, theta: Reals, gradient: Reals, tolerance: float) -> float:
    """ridge times a bound on the distance of theta from the minimum; above `tolerance` where that is not shown.

    The gradient g alone shows |g|. Its floor, though, is the Hessian times the rounding of theta, and grows with the
    number of rows, where theta is as good as ever. Let H be a matrix that the Hessian is nowhere below within r =
    tolerance/ridge of theta, and m = sqrt(g^T H^-1 g). If m < r sqrt(ridge), the minimum is within m/sqrt(ridge): go
    from theta towards it, along the unit vector v. The slope starts at g.v >= -m sqrt(h), h = v^T H v >= ridge, and
    grows by h at least per unit of length, so that it is positive from m/sqrt(h) on, which is before r.
    """
    norm = float(np.linalg.norm(gradient))
    if norm <= tolerance or len(theta) > MOST_COLUMNS or not np.isfinite(norm):
        return norm
    hessian = objective.least_hessian(theta, tolerance / objective.ridge)
    square = float(gradient @ cho_solve(cho_factor(hessian), gradient))
    left = float(np.sqrt(max(square, 0.0) * objective.ridge))
    return left if left <= tolerance else norm


def quick(objective: Objective, tolerance: float) -> tuple[Reals, float]:
    """Steps from the minimum of a part of the rows, with the Hessian of that part mended by what the steps show.

    BFGS that keeps every pair and starts from that Hessian instead of a multiple of the identity. Gives up
    (any point, any norm) where the gradient does not fall: too few rows, or a part that is not like the whole.
    """
    theta = np.zeros(len(objective.noise))
    if not THIN * max(4000, SKETCH * len(theta)) <= len(objective.records) or len(theta) > MOST_COLUMNS:
        return theta, np.inf
    part = objective.thinned(THIN)
    first = float(np.linalg.norm(part.gradient_at(theta)))
    theta, _ = minimiser(part, 1e-4 * first)
    factor = cho_factor(part.hessian(part.scores(theta)) * THIN)
    pairs: list[tuple[Reals, Reals, float]] = []
    best, gradient = theta, objective.gradient_at(theta)
    norm = float(np.linalg.norm(gradient))
    while norm > tolerance:
        step = mended(lambda g: np.asarray(cho_solve(factor, g)), pairs, gradient)
        theta = best - step
        after = objective.gradient_at(theta)
        size = float(np.linalg.norm(after))
        if not size < 0.5 * norm:
            break
        pairs.append((-step, after - gradient, float(step @ (gradient - after))))
        best, gradient, norm = theta, after, size
    return best, norm


def mended(
    solve: Callable[[Reals], Reals], pairs: list[tuple[Reals, Reals, float]], gradient: Reals
) -> Reals:
    """The BFGS step: the inverse of a Hessian, updated by pairs (step, change of gradient, product)."""
    left, shares = gradient.copy(), []
    for step, change, product in reversed(pairs):
        shares.append(float(step @ left) / product)
        left -= shares[-1] * change
    solution = solve(left).copy()
    for (step, change, product), share in zip(pairs, reversed(shares), strict=True):
        solution += (share - float(change @ solution) / product) * step
    return solution


def careful(objective: Objective, tolerance: float, theta: Reals) -> tuple[Reals, float]:
    """The directions are Newton's, first with the Hessian of a sample of rows, then with that of all of them.

    A Hessian is kept as long as it serves; the length of a step makes the slope along it small. The objective is
    strongly convex: this converges from anywhere.
    """
    scores = objective.scores(theta)
    slopes = objective.slopes(scores)
    every = _thinning(objective)
    best, norm, slow, solve = (theta, np.inf), np.inf, 0, None
    for _ in range(MOST_STEPS):
        gradient = objective.gradient(theta, slopes)
        before, norm = norm, float(np.linalg.norm(gradient))
        if norm < best[1]:
            best = theta, norm
        if norm <= tolerance or (slow > 5 and slow % 3 == 0):
            # The scores were carried along, or rounding is all that is left: look again.
            solution, left = polished(objective, tolerance, theta)
            if left <= tolerance:
                return solution, left
            scores = objective.scores(theta)
            slopes = objective.slopes(scores)
            gradient = objective.gradient(theta, slopes)
            norm = float(np.linalg.norm(gradient))
        if norm > (0.15 if every > 1 else 0.3) * before:
            slow, solve = slow + 1, None
            every = 1 if slow > 3 else every
            if slow > 30 and norm < 100 * tolerance:
                break  # rounding is all that is left
        if solve is None:
            solve = _solver(objective, scores, every)
        step = solve(gradient)
        change = objective.scores(step)
        length, slopes = _length(objective, theta, scores, step, change, -float(gradient @ step))
        theta, scores = theta - length * step, scores - length * change
    return polished(objective, tolerance, best[0])


def _thinning(objective: Objective) -> int:
    """Every so-many-th row will do for a Hessian."""
    return max(1, len(objective.records) // max(4000, SKETCH * len(objective.noise)))


def _solver(objective: Objective, scores: Reals, every: int) -> Callable[[Reals], Reals]:
    """Gradients to Newton steps."""
    if len(objective.noise) <= MOST_COLUMNS:
        factor = cho_factor(objective.hessian(scores, every))
        return lambda gradient: np.asarray(cho_solve(factor, gradient))
    return lambda gradient: _conjugate_gradients(objective, scores, gradient)


def _conjugate_gradients(objective: Objective, scores: Reals, gradient: Reals) -> Reals:
    size, length = len(gradient), float(np.linalg.norm(gradient))
    hessian = LinearOperator((size, size), matvec=objective.curvature(scores), dtype=np.float64)
    solution, _ = cg(hessian, gradient, rtol=math.sqrt(min(0.01, length / (1 + length))), maxiter=250)
    return np.asarray(solution)


def _length(
    objective: Objective, theta: Reals, scores: Reals, step: Reals, change: Reals, first: float
) -> tuple[float, Reals]:
    """A length t at which the slope along theta - t step is a tenth of what it was (half, for t = 1), and f' there."""
    along, across = float(step @ step) * objective.ridge, float(step @ theta) * objective.ridge
    across += float(step @ objective.noise)

    def slope(t: float) -> tuple[float, Reals]:
        slopes = objective.slopes(scores - t * change)
        return t * along - across - float(slopes @ change), slopes

    at, slopes = slope(1.0)
    if abs(at) <= 0.5 * abs(first):
        return 1.0, slopes
    low, high, low_slope, high_slope = 0.0, 1.0, first, at
    while high_slope < 0 and high < 1e6:
        low, low_slope, high = high, high_slope, 2 * high
        high_slope, slopes = slope(high)
    t = high
    for trial in range(40):
        share = low_slope / (low_slope - high_slope) if trial % 3 != 2 and high_slope > low_slope else 0.5
        t = low + (high - low) * min(max(share, 0.02), 0.98)
        at, slopes = slope(t)
        if abs(at) <= 0.1 * abs(first):
            break
        if at < 0:
            low, low_slope = t, at
        else:
            high, high_slope = t, at
    return t, slopes
