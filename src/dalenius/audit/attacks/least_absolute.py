"""min sum |b - A x| over 0 <= x <= 1: linear-programming decoding, by a primal-dual interior-point method.

Written with u - v = b - A x, u, v >= 0, the optimum is max b.y - sum (A'y)_+ over -1 <= y <= 1. A step of Newton's
method on the conditions (1 - y) u = (1 + y) v = x z = (1 - x) w = mu, A'y = w - z needs one matrix A'DA + E of the size
of x, D and E diagonal, whatever the number of answers (Portnoy and Koenker 1997 do the same for quantile regression;
predictor and corrector after Mehrotra 1992). Some twenty steps give nine digits; a simplex method visits thousands of
corners.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from dalenius.core.arrays import Reals

STEPS, GAP, NEAR = 100, 1e-9, 0.9995
"""Steps at most; the relative gap between primal and dual that ends them; how far to go towards the boundary."""

Move = tuple[Reals, Reals, Reals, Reals, Reals, Reals]
"""Of x, u, v (the primal part), y, z, w (the dual part)."""


def least_absolute(matrix: Reals, answers: Reals) -> tuple[Reals, float]:
    """The minimiser, and how far its sum is above a lower bound on the least sum, relative to 1 + the sum."""
    point = _Point(matrix, answers)
    best, best_gap, bound = point.x, np.inf, 0.0
    for _ in range(STEPS):
        total = float(np.abs(answers - matrix @ point.x).sum())
        bound = max(bound, float(answers @ point.y - np.maximum(matrix.T @ point.y, 0.0).sum()))
        gap = (total - bound) / (1.0 + total)
        if gap < best_gap:
            best, best_gap = point.x, gap
        if gap <= GAP:
            break
        try:
            point.step()
        except (
            LinAlgError
        ):  # fewer questions than unknown numbers: many x are as good, and their matrix is singular
            break
    return best, best_gap


class _Point:
    """A point between the bounds: x in (0, 1), y in (-1, 1), and u, v, z, w above 0."""

    def __init__(self, matrix: Reals, answers: Reals) -> None:
        self.matrix, self.answers = matrix, answers
        m, n = matrix.shape
        self.x, self.y = np.full(n, 0.5), np.zeros(m)
        residual = answers - matrix @ self.x
        scale = max(1.0, float(np.abs(residual).mean()))
        self.u, self.v = np.maximum(residual, 0.0) + scale, np.maximum(-residual, 0.0) + scale
        self.z, self.w = np.full(n, scale), np.full(n, scale)

    def step(self) -> None:
        """Towards the conditions at a smaller mu: a step to mu = 0 on trial tells how small."""
        x, u, v, y, z, w = self.x, self.u, self.v, self.y, self.z, self.w
        up, down, left = 1.0 - y, 1.0 + y, 1.0 - x
        self._factorise()
        products = (up * u, down * v, x * z, left * w)
        dx, du, dv, dy, dz, dw = self._newton(*(-p for p in products))
        along, across = self._room((dx, du, dv, dy, dz, dw))
        tried = (
            (up - across * dy) @ (u + along * du)
            + (down + across * dy) @ (v + along * dv)
            + (x + along * dx) @ (z + across * dz)
            + (left - along * dx) @ (w + across * dw)
        )
        now = sum(float(p.sum()) for p in products)
        aim = (float(tried) / now) ** 3 * now / (2 * (len(x) + len(y)))
        second = (-dy * du, dy * dv, dx * dz, -dx * dw)
        move = self._newton(*(aim - p - s for p, s in zip(products, second, strict=True)))
        along, across = (min(1.0, NEAR * room) for room in self._room(move))
        self.x, self.u, self.v = (a + along * d for a, d in zip((x, u, v), move[:3], strict=True))
        self.y, self.z, self.w = (a + across * d for a, d in zip((y, z, w), move[3:], strict=True))

    def _factorise(self) -> None:
        a, x, y = self.matrix, self.x, self.y
        self._d = 1.0 / (self.u / (1.0 - y) + self.v / (1.0 + y))
        root = a * np.sqrt(self._d)[:, None]
        square = root.T @ root
        square[np.diag_indices(len(x))] += self.z / x + self.w / (1.0 - x)
        self._factor = cho_factor(square, overwrite_a=True, check_finite=False)

    def _newton(self, cu: Reals, cv: Reals, cz: Reals, cw: Reals) -> Move:
        """The step that makes the four products larger by these, and the equations true."""
        a, x, u, v, z, w = self.matrix, self.x, self.u, self.v, self.z, self.w
        up, down, left = 1.0 - self.y, 1.0 + self.y, 1.0 - x
        h = self.answers - a @ x - u + v - cu / up + cv / down
        g = w - z - a.T @ self.y - cz / x + cw / left
        dx = cho_solve(self._factor, a.T @ (self._d * h) - g, check_finite=False)
        dy = self._d * (h - a @ dx)
        return dx, (cu + u * dy) / up, (cv - v * dy) / down, dy, (cz - z * dx) / x, (cw + w * dx) / left

    def _room(self, move: Move) -> tuple[float, float]:
        """The longest steps of the primal and the dual part, 1e9 at most, that stay between the bounds."""
        dx, du, dv, dy, dz, dw = move
        primal = ((self.u, du), (self.v, dv), (self.x, dx), (1.0 - self.x, -dx))
        dual = ((1.0 - self.y, -dy), (1.0 + self.y, dy), (self.z, dz), (self.w, dw))
        along, across = (
            1.0 / max(1e-9, *(float(np.max(-d / value)) for value, d in part)) for part in (primal, dual)
        )
        return along, across
