"""The K-norm mechanism: noise shaped like the set in which a record can move the answer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from scipy.special import betainc, gammaincinv

from dalenius.calculus import losses
from dalenius.calculus.guarantees import PureDP
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.arrays import Array
from dalenius.core.bisection import change_point
from dalenius.core.checks import float_up
from dalenius.errors import InvalidParameter
from dalenius.mechanisms._support.exact_arrays import real_numbers
from dalenius.mechanisms._support.exact_sums import noisy_reals
from dalenius.mechanisms._support.grid_noise import coordinate_failure
from dalenius.mechanisms._support.hull import Hull
from dalenius.mechanisms._support.neighbouring_vectors import spread
from dalenius.mechanisms._support.polytope_noise import Polytope
from dalenius.mechanisms._support.scaled_noise import ScaledNoise
from dalenius.mechanisms.laplace import Laplace
from dalenius.mechanisms.mechanism import Neighbours
from dalenius.noise.grid import Grid, floor_log2
from dalenius.noise.norm_noise import norm_units

Norm = Literal["l1", "l2", "linf"]

TICKS, MAX_TICKS = 36, 54
"""The smaller of sensitivity and scale is about 2^36 ticks of a hull's norm; the scale at most 2^54."""
FINE, COARSE = 17, 12
"""Rounding to the grid costs a relative 2^-17 of noise; 2^-12 where more would need very fine grids."""
WIDE = 34
"""Entries of up to about 2^34 grid steps are cheap to draw: doubles decide how nearly all of them round."""
MIN_WIDE, MAX_WIDE = 20, 46
"""The limits of that number: entries, up to sqrt(d) or d times as large, fit 62 bits."""


@dataclass(frozen=True, kw_only=True)
class KNorm(ScaledNoise):
    """Releases the vector f(X) + V with density proportional to exp(-||V||_K / scale).

    Neighbours (`adjacency`) move f by at most `sensitivity` in the norm: "l1", "l2", "linf", or a `Hull` whose unit
    ball is given by vertices or half-spaces. sensitivity/scale-DP (Hardt and Talwar 2010), and no less private than
    Laplace noise of that scale on one number, which is the loss: going from one answer to the other in n equal
    steps, each step is (sensitivity/(scale n))-DP, and the trade-off curve of such a chain tends to that of the
    Laplace mechanism (Dong, Roth and Su 2022, on group privacy; Awan 2025, Lemma 11 and Theorem 13.3).

    Exact on a grid, in any dimension: for "l2" and "linf" a continuous vector is rounded exactly to the grid
    the data is on, which is post-processing of the mechanism above. For "l1" it is `Laplace`. For a hull the
    noise is a vector of whole numbers with P(z) proportional to exp(-h(z)/s), h(z) the norm rounded up to
    whole ticks, drawn from the hull's bounding box by rejection with exact coins: keep it to about ten
    dimensions. docs/mechanisms-on-a-grid.md says why the stated loss is an upper bound.

    Parameters
    ----------
    sensitivity
        The most that one record changes f, in the norm.
    scale
        What the norm is divided by in the exponent.
    norm
        "l1", "l2", "linf" or a `Hull`.
    adjacency
        The neighbouring relation that the sensitivity is stated for.

    Examples
    --------
    >>> from dalenius.mechanisms import KNorm
    >>> m = KNorm(sensitivity=1, scale=2.0, norm="linf")
    >>> m.loss.epsilon(delta=0.0), m.release([1.0, 2.0, 3.0]).shape
    (0.5, (3,))
    """

    sensitivity: float
    scale: float
    norm: Norm | Hull = "l2"
    adjacency: Adjacency = ADD_REMOVE
    _stated_by, _max_ratio = (PureDP,), 1e9

    def __post_init__(self) -> None:
        if not isinstance(self.norm, Hull) and not checks.is_one_of(self.norm, "l1", "l2", "linf"):
            raise InvalidParameter(f"norm is {self.norm!r}; it must be 'l1', 'l2', 'linf' or a Hull.")
        super().__post_init__()

    @cached_property
    def loss(self) -> Loss:
        """The worst-case privacy loss of one release."""
        return losses.laplace(self.scale, self.sensitivity, self.adjacency)

    def release(self, value: Any) -> Any:
        """The vector with noise.

        Parameters
        ----------
        value
            An array of any shape, taken as one vector.

        Returns
        -------
        ndarray
            The vector with noise, as doubles.

        Raises
        ------
        InvalidParameter
            If the value is not of the kind described.
        """
        return self.releases(value, 1)[0]

    def releases(self, value: Any, times: int) -> Any:
        """`times` independent releases of one vector, along the first axis.

        Parameters
        ----------
        value
            As for `release`.
        times
            The number of releases.

        Returns
        -------
        ndarray
            The releases, along the first axis.

        Raises
        ------
        InvalidParameter
            If the value is not of the kind described.
        """
        numbers, times = real_numbers(value), checks.count("times", times)
        size = self._dimension(numbers)
        if self.norm == "l1":
            return self._laplace.releases(numbers, times)
        plan = self._plan(size)
        return noisy_reals(plan.grid, numbers, plan.draw(times).reshape(times, *numbers.shape))

    def accuracy(self, confidence: float = 0.95, size: int = 1) -> float:
        """The error that, with probability `confidence`, every one of `size` coordinates stays within.

        "l1": as for `Laplace`. "linf": exact, as the norm of V is gamma distributed with `size` degrees.
        "l2": each coordinate is the gamma norm times a coordinate of a uniform direction, with a union
        bound over coordinates. A hull: the gamma quantile of the norm times its widest extent, which is
        loose.

        Parameters
        ----------
        confidence
            The probability, strictly between 0 and 1.
        size
            The number of coordinates.

        Returns
        -------
        float
            The error, in the units of the value.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        """
        t = coordinate_failure(confidence, size)
        if self.norm == "l1":
            return self._laplace.accuracy(confidence, size)
        plan = self._plan(checks.count("size", size, least=1))
        steps = plan.reach * (1 + 1e-7) * self._quantile(confidence, t, size) + 2
        return float_up(plan.grid.granularity * Fraction(steps))

    @property
    def worst_pair(self) -> Neighbours:
        if isinstance(self.norm, Hull):
            direction = np.zeros(self.norm.dimension)
            direction[0] = 1.0
            far = direction * (self.sensitivity / self.norm.norm(direction) * (1 - 1e-9))
            return Neighbours(np.zeros(len(far)), far)
        return Neighbours(np.zeros(1), np.array([self.sensitivity]))

    @property
    def pairs(self) -> tuple[Neighbours, ...]:
        if isinstance(self.norm, Hull):
            return (self.worst_pair,)
        share = {"l1": 0.5, "l2": 0.7071, "linf": 1.0}[self.norm]
        return self.worst_pair, spread(self.sensitivity * share)

    @property
    def _laplace(self) -> Laplace:
        return Laplace(sensitivity=self.sensitivity, scale=self.scale, adjacency=self.adjacency)

    def _dimension(self, numbers: Array) -> int:
        if numbers.ndim == 0:
            raise InvalidParameter(
                "value is a single number; it must be a vector (use Laplace for one number)."
            )
        if isinstance(self.norm, Hull) and numbers.size != self.norm.dimension:
            raise InvalidParameter(
                f"value has {numbers.size} coordinates; it must have {self.norm.dimension}, as the hull has."
            )
        return int(numbers.size)

    def _quantile(self, confidence: float, t: float, size: int) -> float:
        """How many scales the largest coordinate reaches, in units of the widest extent of the body."""
        norm = float(gammaincinv(size, confidence))
        if self.norm != "l2" or size == 1:
            return norm
        return min(norm, _coordinate(t, size))

    def _plan(self, size: int) -> _Rounded | _Ticks:
        """Grid, noise and scale for vectors of this many coordinates."""
        if not isinstance(self.norm, Hull):
            return _Rounded.of(self.sensitivity, self.scale, "linf" if size == 1 else self.norm, size)
        if size != self.norm.dimension:
            raise InvalidParameter(f"size is {size}; it must be {self.norm.dimension}, as the hull has.")
        return _Ticks.of(self.sensitivity, self.scale, self.norm)


@dataclass(frozen=True)
class _Rounded:
    """A continuous vector rounded to the grid of the data: data + [s Z] = [data + s Z], post-processing.

    Rounded neighbours are at most D = grid.steps(sensitivity, size, norm) steps apart, and s, a whole number
    of steps, is at least D scale/sensitivity: D/s is at most sensitivity/scale. All but a relative
    sqrt(size) step/sensitivity of s is the scale asked for.
    """

    grid: Grid
    norm: Norm
    size: int
    units: int

    @classmethod
    def of(cls, sensitivity: float, scale: float, norm: Norm, size: int) -> _Rounded:
        corner = math.isqrt(size - 1) + 1 if norm == "l2" else 1
        ratio = floor_log2(Fraction(scale) * corner / Fraction(sensitivity)) + 1
        spread = (corner if norm == "l2" else size).bit_length()
        wide = min(max(min(ratio + FINE, WIDE - spread), ratio + COARSE, MIN_WIDE), MAX_WIDE)
        grid = Grid(Fraction(2) ** (floor_log2(Fraction(scale)) - wide))
        steps = Fraction(grid.steps(sensitivity, size, norm))
        return cls(grid, norm, size, math.ceil(steps * Fraction(scale) / Fraction(sensitivity)))

    @property
    def reach(self) -> float:
        """How far a coordinate reaches for a norm of one scale, in grid steps."""
        return float(self.units)

    def draw(self, count: int) -> Array:
        return norm_units(self.size, self.norm, count, self.units)


@dataclass(frozen=True)
class _Ticks:
    """Whole-numbered noise in a hull: Lemma 4."""

    grid: Grid
    body: Polytope
    units: float

    @classmethod
    def of(cls, sensitivity: float, scale: float, hull: Hull) -> _Ticks:
        moved, noise = Fraction(sensitivity), Fraction(scale)
        least = floor_log2(min(moved, noise))
        tick = Fraction(2) ** max(least - TICKS, floor_log2(noise) - MAX_TICKS)
        step = Fraction(2) ** (floor_log2(tick / hull.corner))
        # Rounding moves the norm by at most step * corner <= tick.
        ticks = math.ceil(moved * hull.stretch / tick) + 1
        hops = math.isqrt(ticks)
        hop = -(-ticks // hops) + 2
        units = float_up((hops + 1) * hop * noise / moved)
        return cls(Grid(step), Polytope(hull, int(tick / step)), units)

    @property
    def reach(self) -> float:
        return self.units * float(self.body.extent)

    def draw(self, count: int) -> Array:
        return self.body.draw(self.units, count)


def _coordinate(t: float, size: int) -> float:
    """x with P(|R T| > x) <= t, R gamma of `size` degrees, T a coordinate of a uniform direction; rounded up.

    P(|R T| > x) = E P(T^2 > (x/R)^2), T^2 ~ Beta(1/2, (size-1)/2), over quantiles of R: the tail grows with
    R, so the upper end of each cell bounds it.
    """
    cells = 4000
    levels = np.concatenate((np.arange(1, cells) / cells, 1 - np.geomspace(1 / cells, 1e-16, 200)[1:]))
    radius = np.append(gammaincinv(size, levels), np.inf)
    mass = np.diff(np.concatenate(([0.0], levels, [1.0])))

    def tail(x: float) -> float:
        inside = np.where(radius > x, (x / np.maximum(radius, x)) ** 2, 1.0)
        return float(mass @ (1.0 - betainc(0.5, (size - 1) / 2, inside)))

    guess = float(gammaincinv(size, 1 - min(t, 0.5) / 2))
    return change_point(lambda x: tail(x) > t, guess, relative=1e-9)[1]
