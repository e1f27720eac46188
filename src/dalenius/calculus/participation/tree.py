"""Trees of partial sums: column t of C has a 1 for every node that step t is in."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dalenius.calculus.participation.schedule import Schedule, Squares

MOST_WORK = 10**8
"""Comparisons of participations with each other; beyond, evenly spaced patterns are not written out."""


def node_sizes(steps: int, branches: int) -> list[int]:
    """Leaves of a node, by level: nodes that the steps complete."""
    sizes = [1]
    while sizes[-1] * branches <= steps:
        sizes.append(sizes[-1] * branches)
    return sizes


def tree_squares(branches: int, schedule: Schedule) -> Squares:
    """A record that is m times among the leaves of a node moves it by m at most, and by m if it always adds the same.

    In a node of w leaves there is room for min(k, ceil(w / b)) participations, so that the squares of one level add
    up to at most those of k participations that fill one node after another. With b a power of the number of branches
    the pattern 0, b, 2b, ... does that on every level. Where distances are multiples of b, and all that fit are
    allowed, the b longest patterns are written out.
    """
    k, b = schedule.longest, schedule.separation
    sizes = node_sizes(schedule.steps, branches)
    rooms = [min(k, -(-size // b)) for size in sizes]
    if schedule.multiples and schedule.every and b * k * sum(rooms) <= MOST_WORK:
        attained = _moved(schedule, np.arange(b), sizes, rooms)
        return Squares(attained, attained)
    upper = 0
    for size, room in zip(sizes, rooms, strict=True):
        full, nodes = k // room, schedule.steps // size
        upper += nodes * room**2 if full >= nodes else full * room**2 + (k % room) ** 2
    return Squares(_moved(schedule, np.zeros(1, np.int64), sizes, rooms), Fraction(upper))


def _moved(schedule: Schedule, starts: np.ndarray, sizes: list[int], rooms: list[int]) -> Fraction:
    """The most that a pattern with these starts, and all distances equal to the separation, moves the nodes."""
    places = starts[:, None] + schedule.separation * np.arange(schedule.longest)
    total = np.zeros(len(starts), np.int64)
    for size, room in zip(sizes, rooms, strict=True):
        node, complete = places // size, places < schedule.steps // size * size
        total += complete.sum(axis=1)
        for lag in range(1, room):
            total += 2 * ((node[:, lag:] == node[:, :-lag]) & complete[:, lag:]).sum(axis=1)
    return Fraction(int(total.max()))
