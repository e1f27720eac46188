"""Longer neighbouring inputs for the audit: vectors that differ in one or two coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalenius.core.arrays import Array
from dalenius.mechanisms.mechanism import Neighbours

LENGTH = 12
"""Coordinates of a vector."""


def spread(by: Any, kind: type = float) -> Neighbours:
    """Vectors of which the first and the last coordinate differ, each by this much."""
    return _moved([0, -1], by, kind)


def at_the_end(by: Any, kind: type = float) -> Neighbours:
    """Vectors of which the last coordinate differs by this much."""
    return _moved([-1], by, kind)


def _moved(places: list[int], by: Any, kind: type) -> Neighbours:
    after: Array = np.zeros(LENGTH, dtype=kind)
    after[places] = by
    return Neighbours(np.zeros(LENGTH, dtype=kind), after)
