"""Values on an integer grid, where sums and noise are exact."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from dalenius.core import checks
from dalenius.core.arrays import Array, Reals
from dalenius.errors import InvalidParameter
from dalenius.noise.chunks import LARGEST
from dalenius.noise.parameters import as_array, exact, positive

Norm = Literal["l1", "l2", "linf"]

FINE = 40
"""Digits of the smaller of sensitivity and scale below which `Grid.fine` does not look."""

LARGEST_DIGITS = 54
"""`Grid.fine` keeps the scale at most 2^54 units."""


@dataclass(frozen=True)
class Grid:
    """The multiples of a granularity; a value goes to the nearest one, halves upward.

    Parameters
    ----------
    granularity
        A Fraction, an integer or a float (taken at its exact value), above 0.
    bounds
        (lower, upper), to which values are clamped; None for no clamping.

    Examples
    --------
    >>> from dalenius.noise import Grid
    >>> grid = Grid(0.25, bounds=(0, 10))
    >>> grid.to_units([0.3, 0.375, 99.0]), grid.to_values([1, 2, 40])
    (array([ 1,  2, 40]), array([ 0.25,  0.5 , 10.  ]))
    >>> grid.steps(1)
    4
    """

    granularity: Fraction
    bounds: tuple[Fraction, Fraction] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "granularity", positive("granularity", self.granularity))
        if self.bounds is None:
            return
        try:
            lower, upper = self.bounds
        except (TypeError, ValueError):
            raise InvalidParameter("bounds must be a pair (lower, upper), or None.") from None
        pair = exact("the lower bound", lower), exact("the upper bound", upper)
        if pair[0] > pair[1]:
            raise InvalidParameter(f"bounds are ({lower}, {upper}); the lower must not be above the upper.")
        object.__setattr__(self, "bounds", pair)

    @classmethod
    def fine(cls, sensitivity: Any, scale: Any, size: int = 1) -> Grid:
        """A grid so fine that rounding to it costs next to nothing, chosen from public quantities only.

        The granularity is a power of two, about 2^-40 of the smaller of sensitivity and scale, finer for
        vectors of many coordinates; the scale is at most 2^54 of it, so that noise fits 64 bits.

        Parameters
        ----------
        sensitivity
            The most that one record changes a value.
        scale
            The scale of the noise to be added.
        size
            The number of coordinates.

        Returns
        -------
        Grid
            The grid.

        Raises
        ------
        InvalidParameter
            If a parameter is not one of those described.

        Examples
        --------
        >>> from dalenius.noise import Grid
        >>> Grid.fine(sensitivity=1, scale=2.0).granularity == Fraction(1, 2**40)
        True
        """
        least, noise = positive("sensitivity", sensitivity), positive("scale", scale)
        wanted = floor_log2(min(least, noise)) - FINE - (checks.count("size", size, 1) - 1).bit_length()
        power = max(wanted, floor_log2(noise) + 1 - LARGEST_DIGITS)
        return cls(Fraction(2) ** power)

    def to_units(self, values: Any) -> Any:
        """floor(x / granularity + 1/2) for each value x, exactly, after clamping to the bounds.

        Parameters
        ----------
        values
            Finite real numbers.

        Returns
        -------
        int or ndarray
            An int64 array of the same shape (Python integers in an object array if any exceeds 2^62), or one int.

        Raises
        ------
        InvalidParameter
            If a value is NaN or infinite (without saying which), or is not a real number.

        Examples
        --------
        >>> from dalenius.noise import Grid
        >>> Grid(0.25).to_units([0.3, 0.375])
        array([1, 2])
        """
        given = as_array("values", values)
        if given.dtype.kind == "O":
            units = self._by_fractions(given)
        elif given.dtype.kind in "iu":
            units = self._integers(given)
        elif given.dtype.kind == "f" and given.dtype.itemsize <= 8:
            units = self._floats(given.astype(np.float64))
        else:
            raise InvalidParameter(
                f"values have type {given.dtype}; they must be real numbers (at most float64)."
            )
        units = self._clamped(units)
        return int(units[()]) if units.ndim == 0 else units

    def to_values(self, units: Any) -> Any:
        """units * granularity as the nearest doubles.

        Parameters
        ----------
        units
            Integers.

        Returns
        -------
        float or ndarray
            The nearest doubles.

        Raises
        ------
        InvalidParameter
            If a parameter is not one of those described.

        Examples
        --------
        >>> from dalenius.noise import Grid
        >>> Grid(0.25).to_values(3)
        0.75
        """
        given = np.asarray(units)
        if given.dtype.kind not in "iuO":
            raise InvalidParameter(f"units have type {given.dtype}; they must be integers.")
        a, b = self.granularity.numerator, self.granularity.denominator
        power = _power_of_two(self.granularity)
        largest = max(abs(int(given.max())), abs(int(given.min()))) if given.size else 0
        if given.dtype.kind != "O" and max(largest, 1) * a < 2**53 and b < 2**53:
            # Both sides of the division are exact, so it is rounded once.
            values = given.astype(np.int64) * a / b
        elif given.dtype.kind != "O" and power is not None and abs(power) < 900:
            # Rounded once, then scaled exactly.
            values = np.ldexp(given.astype(np.float64), power)
        else:
            flat = [quotient(int(u) * a, b) for u in given.reshape(-1).tolist()]
            values = np.array(flat, dtype=np.float64).reshape(given.shape)
        return float(values) if np.ndim(values) == 0 else values

    def steps(self, sensitivity: Any, size: int = 1, norm: Norm = "l1") -> Any:
        """How far apart, in units, the rounded vectors of two neighbours can be: an upper bound, rounding
        included.

        Rounding commutes with whole shifts and is monotone, so
        coordinates at distance t (in units) round to at most ceil(t) < t + 1 apart. With D =
        sensitivity/granularity:

        - one coordinate, or "linf": ceil(D), an int;
        - "l1": the sum of ceil(t_i) is an integer below D + size, so at most ceil(D) + size - 1, an int;
        - "l2": at most D + sqrt(size), a Fraction just above it (ceil(D) for one coordinate).

        Parameters
        ----------
        sensitivity
            The most that one record changes the vector, in the norm.
        size
            The number of coordinates.
        norm
            The norm: "l1", "l2" or "linf".

        Returns
        -------
        int or Fraction
            The number of units.

        Raises
        ------
        InvalidParameter
            If a parameter is not one of those described.

        Examples
        --------
        >>> from dalenius.noise import Grid
        >>> Grid(0.25).steps(1)
        4
        """
        change = positive("sensitivity", sensitivity) / self.granularity
        size = checks.count("size", size, 1)
        checks.one_of("norm", norm, "l1", "l2", "linf")
        if norm == "linf" or (norm == "l1" and size == 1):
            return math.ceil(change)
        if norm == "l1":
            return math.ceil(change) + size - 1
        if size == 1:
            return Fraction(math.ceil(change))
        root = Fraction(math.isqrt((size << 64) - 1) + 1, 1 << 32)
        return change + root

    def _clamped(self, units: Array) -> Array:
        """Rounding is monotone: to clamp to the rounded bounds after it is to clamp to the bounds before."""
        if self.bounds is None:
            return units
        low, high = (self._unit(bound) for bound in self.bounds)
        if units.dtype == object:
            # A single number becomes a Python integer, which a ufunc takes for 64 bits.
            above = np.asarray(np.maximum(units, low), dtype=object)
            return _compact(np.asarray(np.minimum(above, high), dtype=object))
        if max(abs(low), abs(high)) < LARGEST:
            clipped: Array = np.clip(units, low, high)
            return clipped
        return _compact(np.minimum(np.maximum(units.astype(object), low), high))

    def _unit(self, x: Fraction) -> int:
        return math.floor(x / self.granularity + Fraction(1, 2))

    def _by_fractions(self, values: Array) -> Array:
        flat = np.empty(values.size, dtype=object)
        for i, x in enumerate(values.reshape(-1).tolist()):
            if not isinstance(x, int | float | Fraction) or isinstance(x, bool):
                raise InvalidParameter("values must be real numbers: integers, floats or Fractions.")
            if isinstance(x, float) and not math.isfinite(x):
                raise InvalidParameter(_NOT_FINITE)
            flat[i] = self._unit(Fraction(x))
        return _compact(flat.reshape(values.shape))

    def _integers(self, values: Array) -> Array:
        a, b = self.granularity.numerator, self.granularity.denominator
        if self.bounds is not None:
            # As for floats; and the bounds say how it is worked out, not the largest value.
            widest = np.iinfo(values.dtype)
            low, high = (
                max(widest.min, min(widest.max, end))
                for end in (math.floor(self.bounds[0]), math.ceil(self.bounds[1]))
            )
            values, largest = np.clip(values, low, high), max(abs(low), abs(high))
        else:
            largest = max(abs(int(values.max())), abs(int(values.min()))) if values.size else 0
        # floor(x b / a + 1/2) = floor((2 x b + a) / (2 a)), in 64 bits where nothing can wrap
        if a == 1 and largest * b < LARGEST:
            return np.asarray(values.astype(np.int64) * b)
        if 2 * largest * b + a < LARGEST and 2 * a < LARGEST:
            return np.asarray((2 * b * values.astype(np.int64) + a) // (2 * a))
        return self._by_fractions(values.astype(object))

    def _floats(self, values: Reals) -> Array:
        if not bool(np.isfinite(values).all()):
            raise InvalidParameter(_NOT_FINITE)
        if self.bounds is not None:
            # Only so that what is far outside needs no large integers; the bounds themselves come in
            # `_clamped`.
            values = np.clip(values, _down(self.bounds[0]), _up(self.bounds[1]))
        power = _power_of_two(self.granularity)
        if power is not None:
            return self._binary(values, power)
        return self._rational(values)

    def _binary(self, values: Reals, power: int) -> Array:
        """Granularity 2^power: x 2^-power is exact (or rounds to 0 anyway), and so is what follows."""
        with np.errstate(over="ignore"):
            scaled = np.ldexp(values, -power)
        if bool((np.abs(scaled) >= float(LARGEST)).any()):
            return self._by_fractions(values.astype(object))
        whole = np.floor(scaled)
        return np.asarray(whole.astype(np.int64) + (scaled - whole >= 0.5))

    def _rational(self, values: Reals) -> Array:
        """q = x / granularity is off by less than |q| 2^-51: only near a half is there doubt."""
        if not 1e-300 < self.granularity < 1e300:
            return self._by_fractions(values.astype(object))
        with np.errstate(over="ignore"):
            q = values / float(self.granularity)
        if bool((np.abs(q) >= float(LARGEST)).any()):
            return self._by_fractions(values.astype(object))
        whole = np.floor(q)
        rest = q - whole
        units = np.asarray(whole.astype(np.int64) + (rest >= 0.5))
        error = np.abs(q) * 2.0**-50
        doubt = (np.abs(rest - 0.5) <= error) | (error > 0.25)
        if bool(doubt.any()):
            distinct, where = np.unique(values[doubt], return_inverse=True)
            exactly = np.array([self._unit(Fraction(x)) for x in distinct.tolist()], dtype=np.int64)
            units[doubt] = exactly[where.reshape(-1)]
        return units


_NOT_FINITE = "values must be finite numbers; some are NaN or infinite."


def _compact(units: Array) -> Array:
    """As int64 if all are within 2^62."""
    if all(-LARGEST <= u <= LARGEST for u in units.reshape(-1).tolist()):
        return units.astype(np.int64)
    return units


def _power_of_two(x: Fraction) -> int | None:
    a, b = x.numerator, x.denominator
    if a & (a - 1) or b & (b - 1):
        return None
    power = a.bit_length() - b.bit_length()
    return power if abs(power) < 2000 else None


def floor_log2(x: Fraction) -> int:
    """floor(log2(x))."""
    power = x.numerator.bit_length() - x.denominator.bit_length()
    return power if Fraction(2) ** power <= x else power - 1


def quotient(a: int, b: int) -> float:
    """a / b as the nearest double, an infinity beyond all of them."""
    try:
        return a / b
    except OverflowError:
        return math.inf if a > 0 else -math.inf


def _down(x: Fraction) -> float:
    return math.nextafter(quotient(x.numerator, x.denominator), -math.inf)


def _up(x: Fraction) -> float:
    return math.nextafter(quotient(x.numerator, x.denominator), math.inf)
