"""Targets of a regression: clipped to public bounds and moved to [-1, 1], each on its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalenius.calculus.pairs.pair import Reals
from dalenius.core import checks
from dalenius.core.quiet import quiet
from dalenius.errors import InvalidParameter
from dalenius.learn.data.rows import labels_of, number

Bounds = tuple[float, float]


class Targets:
    """Numbers between two public bounds, and their places between -1 and 1."""

    def __init__(self, bounds: Any, name: str = "target_bounds") -> None:
        self.limits = low, high = checks.interval(name, bounds)
        self.middle, self.spread = low / 2 + high / 2, high / 2 - low / 2
        if not 1e-100 <= self.spread <= 1e100:
            raise InvalidParameter(
                f"{name} is {bounds!r}; they must be from 1e-100 to 1e100 apart. Scale the numbers by a public one."
            )

    def to_unit(self, y: Any, rows: int) -> tuple[Reals, Reals]:
        """Targets in [-1, 1], and which of them are numbers at all."""
        values = numbers(y, rows)
        usable = np.isfinite(values)
        with np.errstate(all="ignore"):
            return np.clip(
                (np.where(usable, values, self.middle) - self.middle) / self.spread, -1.0, 1.0
            ), usable


def numbers(y: Any, rows: int) -> Reals:
    """One float per row; what cannot be read as one is NaN."""
    values = labels_of(y, rows, numeric=True)
    if values.dtype.kind in "biuf":
        return np.asarray(values, dtype=np.float64)
    with quiet():  # of a single value
        return np.array([number(value) for value in values], dtype=np.float64)
