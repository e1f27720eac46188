"""min sum (b - A x)^2 over 0 <= x <= 1, for matrices of 0 and 1, by accelerated projected gradients.

The sum is that around the means, and m times the squared error of the mean answer: of the one direction in which such a
matrix is long. That part gets no more weight than makes it as steep as the rest: the minimiser is the same where
answers are exact, and hardly another where they are not, as one sum among m says little. What is left of a random
matrix has singular values near sqrt(m)/2 (1 +- sqrt(n/m)): some dozens of steps are enough, and no matrix of n x n is
made (Beck and Teboulle 2009; restarts after O'Donoghue and Candes 2015).
"""

from __future__ import annotations

import numpy as np

from dalenius.core.arrays import Array, Bools, Reals

STEPS, NEAR = 300, 1e-4
"""Steps at most; the largest change of a coordinate at which they end."""


def least_squares(queries: Bools, answers: Reals) -> Reals:
    """The minimiser, to three or four digits."""
    a = queries.astype(np.float32)
    middle: Array = (queries.sum(axis=0) / len(queries)).astype(np.float32)
    b = (answers - answers.mean()).astype(np.float32)
    n = a.shape[1]

    def ahead(x: Array) -> Array:
        return np.asarray(a @ x - np.float32(middle @ x))

    def back(residual: Array) -> Array:
        return np.asarray(residual @ a - middle * residual.sum())

    # The longest direction, with a margin; a power method comes near it from below.
    probe: Array = np.asarray(np.random.default_rng(0).normal(size=n), dtype=np.float32)
    for _ in range(8):
        probe = back(ahead(probe / max(1e-30, float(np.linalg.norm(probe)))))
    steepest, along = 1.1 * float(np.linalg.norm(probe)), float(middle @ middle)
    if steepest <= 1e-6 * len(a) * along:  # all questions are alike
        steepest = len(a) * along
    whole = min(float(len(a)), steepest / max(1e-30, along))  # the weight of the mean answer
    mean = float(answers.mean())
    step = 1.0 / max(1e-30, steepest + whole * along)

    def slope(x: Array) -> Array:
        """Downhill."""
        return np.asarray(back(b - ahead(x)) + np.float32(whole * (mean - float(middle @ x))) * middle)

    x: Array = np.full(n, 0.5, dtype=np.float32)
    before = x
    momentum = 1.0
    for _ in range(STEPS):
        faster = (1.0 + (1.0 + 4.0 * momentum**2) ** 0.5) / 2
        point = x + np.float32((momentum - 1.0) / faster) * (x - before)
        moved = np.clip(point + np.float32(step) * slope(point), 0.0, 1.0)
        if float((point - moved) @ (moved - x)) > 0:
            faster = 1.0  # it went past the minimum
        before, x, momentum = x, moved, faster
        if float(np.max(np.abs(x - before), initial=0.0)) < NEAR:
            break
    return x.astype(np.float64)
