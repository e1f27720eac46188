"""A convex symmetric body: the unit ball of a norm of your own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.spatial import ConvexHull, HalfspaceIntersection, QhullError

from dalenius.core.arrays import Array, Bools, Reals
from dalenius.errors import InvalidParameter
from dalenius.mechanisms._support.exact_arrays import real_numbers

Rows = tuple[tuple[float, ...], ...]

MIN_SHARE = 1e-6
"""A body must fill this much of its bounding box, or draws from it take too long."""


@dataclass(frozen=True)
class Hull:
    """A convex body {z : |a_i . z| <= b_i for every row i and |z_j| <= w_j}, bounded and with 0 inside.

    Make one with `Hull.of_vertices` (the convex hull of points and their negatives) or
    `Hull.of_half_spaces`. The numbers are taken exactly as they are, which is what makes a norm of it;
    `stretch` says how far a vertex given may lie outside, since half-spaces found from vertices are
    rounded.

    Parameters
    ----------
    normals
        The rows a_i.
    offsets
        The numbers b_i.
    widths
        The numbers w_j: a box around the body.
    stretch
        How far a vertex may lie outside.
    share
        The part of the box that the body fills.

    Examples
    --------
    >>> from dalenius.mechanisms import Hull
    >>> diamond = Hull.of_vertices([[1, 0], [0, 1]])
    >>> abs(diamond.norm([0.5, 0.5]) - 1) < 1e-9
    True
    """

    normals: Rows
    offsets: tuple[float, ...]
    widths: tuple[float, ...]
    stretch: Fraction = Fraction(1)
    share: float = 1.0

    @classmethod
    def of_vertices(cls, vertices: Any) -> Hull:
        """The convex hull of the points given and of their negatives.

        Parameters
        ----------
        vertices
            A matrix with one point in each row.

        Returns
        -------
        Hull
            The body.

        Raises
        ------
        InvalidParameter
            If the points lie in a subspace, or the body fills too little of its bounding box.
        """
        points = _matrix("vertices", vertices)
        both = np.concatenate((points, -points))
        widths = np.abs(points).max(axis=0) * (1 + 1e-9)
        if points.shape[1] == 1:
            return cls(((1.0,),), (float(widths[0]),), (float(widths[0]),))
        try:
            hull = ConvexHull(both)
        except QhullError:
            raise InvalidParameter(
                "vertices lie in a subspace; with their negatives they must span a body of full dimension."
            ) from None
        normals, offsets = _half(hull.equations[:, :-1], -hull.equations[:, -1])
        share = float(hull.volume / np.prod(2 * widths))
        body = cls(_rows(normals), tuple(offsets.tolist()), tuple(widths.tolist()), share=share)
        # Rounding may have left a vertex outside by a little; the widths are larger by 1e-9.
        stretch = max(Fraction(1), *(side for row in points.tolist() for side in body._sides(row)))
        return replace(body, stretch=stretch)._checked()

    @classmethod
    def of_half_spaces(cls, normals: Any, offsets: Any) -> Hull:
        """The body {z : |normals z| <= offsets}.

        Parameters
        ----------
        normals
            A matrix with one row for each half-space.
        offsets
            One positive number for each row.

        Returns
        -------
        Hull
            The body.

        Raises
        ------
        InvalidParameter
            If the body is not bounded, or fills too little of its bounding box.
        """
        rows = _matrix("normals", normals)
        limits = real_numbers(offsets, "offsets").astype(np.float64).ravel()
        if limits.shape != rows.shape[:1] or not (limits > 0).all():
            raise InvalidParameter("offsets must be one finite number above 0 for each row of normals.")
        widths = _widths(rows, limits)
        volume = 2 * widths[0]
        if rows.shape[1] > 1:
            spaces = np.concatenate((np.column_stack((rows, -limits)), np.column_stack((-rows, -limits))))
            corners = HalfspaceIntersection(spaces, np.zeros(rows.shape[1])).intersections
            volume = float(ConvexHull(corners).volume)
        share = float(volume / np.prod(2 * widths))
        return cls(_rows(rows), tuple(limits.tolist()), tuple(widths.tolist()), share=share)._checked()

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return len(self.widths)

    def norm(self, vector: Any) -> float:
        """The least r with `vector` in r times the body, to within rounding.

        Parameters
        ----------
        vector
            As many numbers as the body has dimensions.

        Returns
        -------
        float
            The norm.
        """
        z = np.asarray(vector, dtype=np.float64)
        return float(max(np.max(np.abs(self.matrix @ z) / self.limits), np.max(np.abs(z) / self.widths)))

    @cached_property
    def matrix(self) -> Reals:
        return np.array(self.normals)

    @cached_property
    def limits(self) -> Reals:
        return np.array(self.offsets)

    @cached_property
    def corner(self) -> Fraction:
        """The largest norm of a vector with entries up to 1 in size."""
        sums = [
            sum(abs(Fraction(a)) for a in row) / Fraction(b)
            for row, b in zip(self.normals, self.offsets, strict=True)
        ]
        return max(*sums, *(1 / Fraction(w) for w in self.widths))

    def contains(self, z: Array, radius: Array) -> Bools:
        """Whether row i of whole numbers z is in radius_i times the body: exactly.

        Products and sums in doubles, with the entries of z rounded, are off by less than
        (d + 4) 2^-53 sum |a_j z_j|; where that does not decide, fractions do. The box is left to who asks.

        Parameters
        ----------
        z
            Whole numbers, one point in each row.
        radius
            One whole number for each row.

        Returns
        -------
        ndarray
            One truth value for each row.
        """
        values, size = z.astype(np.float64), radius.astype(np.float64)
        left = np.abs(values @ self.matrix.T)
        error = (np.abs(values) @ np.abs(self.matrix).T) * ((self.dimension + 8) * 2.0**-53)
        right = np.multiply.outer(size, self.limits)
        error += right * 2.0**-51
        inside = np.asarray((left < right - error).all(axis=1))
        doubtful = ~inside & (left <= right + error).all(axis=1)
        for i in np.flatnonzero(doubtful):
            inside[i] = max(self._sides(z[i].tolist())) <= int(radius[i])
        return inside

    def _sides(self, z: Sequence[float]) -> list[Fraction]:
        """|a_i . z| / b_i for every row i, exactly."""
        exact = [Fraction(x) for x in z]
        return [
            abs(sum((Fraction(a) * x for a, x in zip(row, exact, strict=True)), Fraction(0))) / Fraction(b)
            for row, b in zip(self.normals, self.offsets, strict=True)
        ]

    def _checked(self) -> Hull:
        if self.share < MIN_SHARE:
            raise InvalidParameter(
                f"the body fills {self.share:.1e} of its bounding box; it must fill at least "
                f"{MIN_SHARE:g}. Choose coordinates along its axes, or a body with fewer dimensions."
            )
        return self


def _matrix(name: str, value: Any) -> Reals:
    rows = real_numbers(value, name).astype(np.float64)
    if rows.ndim != 2:
        raise InvalidParameter(f"{name} has shape {rows.shape}; it must be a matrix of finite numbers.")
    return rows


def _rows(matrix: Reals) -> Rows:
    return tuple(tuple(row) for row in matrix.tolist())


def _half(normals: Reals, offsets: Reals) -> tuple[Reals, Reals]:
    """One of each pair of opposite half-spaces, and of those that coincide up to rounding."""
    first = np.argmax(np.abs(normals) > 1e-9, axis=1)
    sign = np.sign(normals[np.arange(len(normals)), first])
    table = np.column_stack((normals * sign[:, None], offsets))
    _, index = np.unique(np.round(table, 9), axis=0, return_index=True)
    return table[index, :-1], table[index, -1]


def _widths(rows: Reals, limits: Reals) -> Reals:
    """A box around the body, by duality: e_j = rows^T y + rest gives |z_j| <= limits |y| + |rest| |z|."""
    d = rows.shape[1]
    highs, rests = np.empty(d), np.empty(d)
    for j in range(d):
        unit = np.zeros(d)
        unit[j] = 1.0
        # min limits (p + n) subject to rows^T (p - n) = e_j, p, n >= 0
        solution = linprog(
            np.concatenate((limits, limits)),
            A_eq=np.concatenate((rows, -rows)).T,
            b_eq=unit,
            bounds=(0, None),
        )
        if solution.x is None:
            raise InvalidParameter("the half-spaces leave a direction open; the body must be bounded.")
        y = solution.x[: len(rows)] - solution.x[len(rows) :]
        highs[j], rests[j] = limits @ np.abs(y), np.abs(unit - rows.T @ y).sum()
    slack = float(rests.max()) * float(highs.max()) * 2
    if not slack < 1e-7 * float(highs.min()):
        raise InvalidParameter("the half-spaces are too ill-conditioned to bound; rescale the coordinates.")
    return np.asarray(highs * (1 + 1e-6))
