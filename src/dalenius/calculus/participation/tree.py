"""Trees of partial sums: column t of C has a 1 for every node that step t is in."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dalenius.calculus.participation.schedule import Schedule, Squares


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
    if schedule.multiples and schedule.every:
        attained = _moved(schedule, min(b, schedule.steps), sizes)
        return Squares(attained, attained)
    upper = 0
    for size, room in zip(sizes, rooms, strict=True):
        full, nodes = k // room, schedule.steps // size
        upper += nodes * room**2 if full >= nodes else full * room**2 + (k % room) ** 2
    return Squares(_moved(schedule, 1, sizes), Fraction(upper))


def _moved(schedule: Schedule, starts: int, sizes: list[int]) -> Fraction:
    """The most that a pattern moves the nodes that begins with one of the first steps and goes on as soon as it may."""
    first = np.arange(starts)[:, None]
    places = first + schedule.separation * np.arange(schedule.longest)
    total = np.zeros(starts, np.int64)
    for size in sizes:
        nodes = schedule.steps // size
        complete = places < nodes * size
        # Participations in each node, for each pattern.
        keys, counts = np.unique((places // size + nodes * first)[complete], return_counts=True)
        np.add.at(total, keys // nodes, counts**2)
    return Fraction(int(total.max()))
