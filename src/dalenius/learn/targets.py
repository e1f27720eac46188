"""Targets of a regression: clipped to public bounds and moved to [-1, 1], each on its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalenius.calculus import checks
from dalenius.calculus.errors import InvalidParameter
from dalenius.learn.curves import Reals
from dalenius.learn.rows import one_each

Bounds = tuple[float, float]


class Targets:
    """Numbers between two public bounds, and their places between -1 and 1."""

    def __init__(self, bounds: Any) -> None:
        if not isinstance(bounds, tuple | list) or len(bounds) != 2:
            raise InvalidParameter(
                f"target_bounds is {bounds!r}; it must be a pair (lowest, highest), both public."
            )
        low, high = (checks.number("target_bounds", b) for b in bounds)
        if not low < high:
            raise InvalidParameter(f"target_bounds is {bounds!r}; the first must be below the second.")
        self.middle, self.spread = (low + high) / 2, (high - low) / 2

    def to_unit(self, y: Any, rows: int) -> tuple[Reals, Reals]:
        """Targets in [-1, 1], and which of them are numbers at all."""
        found = numbers(y, rows)
        usable = np.isfinite(found)
        with np.errstate(over="ignore"):
            return np.clip(
                (np.where(usable, found, self.middle) - self.middle) / self.spread, -1.0, 1.0
            ), usable


def numbers(y: Any, rows: int) -> Reals:
    """One float per row; what cannot be read as one is NaN."""
    found = one_each(y, rows)
    try:
        return np.asarray(found, dtype=np.float64)
    except (TypeError, ValueError):
        return np.array([_number(v) for v in found])


def _number(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return float("nan")
