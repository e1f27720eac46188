"""Where a falling function takes a value: many functions at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dalenius.core.arrays import Bools, Reals


def halved(outside: Callable[[Reals], Bools], low: Reals, high: Reals, steps: int = 60) -> Reals:
    """Where a condition ends that holds at low, but not at high."""
    for _ in range(steps):
        middle = (low + high) / 2
        still = outside(middle)
        low, high = np.where(still, middle, low), np.where(still, high, middle)
    return high


def crossing(f: Callable[[Reals], Reals], low: Reals, high: Reals, wanted: float, steps: int = 12) -> Reals:
    """The x between low and high at which f(x), falling, is `wanted`; the end that is nearer where it never is.

    False position in the Illinois version (Dowell and Jarratt 1971), and a halving every third step.
    """
    above, below = f(low) - wanted, f(high) - wanted
    nothing = np.where(above <= 0, -1, np.where(below >= 0, 1, 0))
    ends = np.where(nothing < 0, low, high)
    last = np.zeros(len(low))
    for step in range(steps):
        gap = above - below
        share = np.where(gap > 0, above / np.where(gap > 0, gap, 1.0), 0.5)
        share = np.full(len(low), 0.5) if step % 3 == 2 else np.clip(share, 1e-3, 1 - 1e-3)
        x = low + share * (high - low)
        value = f(x) - wanted
        up = value > 0
        # The end that stays twice counts half: the next step then goes beyond the root.
        below = np.where(up, np.where(last > 0, below / 2, below), value)
        above = np.where(up, value, np.where(last < 0, above / 2, above))
        low, high = np.where(up, x, low), np.where(up, high, x)
        last = np.where(up, 1.0, -1.0)
    return np.where(nothing != 0, ends, (low + high) / 2)
