"""Checks of what priors are given."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalenius.core import checks
from dalenius.errors import InvalidParameter


def positive_pair(name: str, given: object) -> tuple[float, float]:
    """Two numbers above 0."""
    first, second = positive_numbers(name, given, 2)
    return first, second


def positive_numbers(name: str, given: object, size: int) -> tuple[float, ...]:
    """So many numbers above 0."""
    if not isinstance(given, Sequence | np.ndarray) or isinstance(given, str) or len(given) != size:
        raise InvalidParameter.of(
            name, f"{name} is {checks.shown(given)}; it must be {size} numbers above 0."
        )
    return tuple(checks.positive(name, each) for each in given)
