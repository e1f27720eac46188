"""The noise of a plan in numbers a person can weigh."""

from __future__ import annotations

import math
from collections.abc import Iterable

from dalenius.tables.plan.noise import Noise

DEPENDS = "depends on the data"
HEAD = ("measure", "one unit moves it by", "noise (standard deviation)")


def in_numbers(noises: Iterable[Noise]) -> list[tuple[str, str, str]]:
    """For each measure, in its own units: what it is, how far one unit moves it, and how much noise it gets."""
    found = []
    for noise in noises:
        worth, of_one = float(noise.measure.granularity), noise.moved
        moved = DEPENDS if of_one is None else f"{of_one * worth:.6g}"
        spread = DEPENDS if math.isnan(noise.sigma) else f"{noise.sigma * worth:.6g}"
        found.append((noise.measure.label, moved, spread))
    return found
