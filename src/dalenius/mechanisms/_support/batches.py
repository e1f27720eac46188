"""Many independent draws, a batch at a time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dalenius.core.arrays import Array

AT_ONCE = 1 << 20
"""Numbers held in memory together."""


def batched(draw: Callable[[int], Array], times: int, width: int) -> Array:
    """`draw(n)` until there are `times` draws, each of which takes `width` numbers."""
    rows = max(1, AT_ONCE // width)
    parts = [draw(min(rows, times - done)) for done in range(0, times, rows)]
    return np.concatenate(parts) if parts else draw(0)
