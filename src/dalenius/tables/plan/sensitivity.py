"""How far one unit can move a measure, all groups together: exact integers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction

from dalenius.core.adjacency import REPLACE_ONE, Adjacency
from dalenius.core.checks import float_up
from dalenius.tables.facts.unit import Unit
from dalenius.tables.measures.measure import Measure


@dataclass(frozen=True)
class Sensitivity:
    """l1 norm, and the square of the l2 norm, of the change of all cells of a measure between neighbours.

    groups: in how many groups there is a change. rows: how many rows come to one of them, or leave it, or both.
    """

    l1: int
    l2_squared: int
    groups: int = field(default=1, compare=False)
    rows: int = field(default=1, compare=False)

    @property
    def l2(self) -> float:
        """The l2 norm, rounded up to a double."""
        # The root in whole 2^-bits, of which there are more than 2^60: exact where the norm is a double.
        bits = max(0, 60 - self.l2_squared.bit_length() // 2)
        root = math.isqrt(self.l2_squared << 2 * bits)
        root += root * root < self.l2_squared << 2 * bits
        return float_up(Fraction(root, 2**bits))

    def times(self, levels: int) -> Sensitivity:
        """Of the same counts released several times, at different resolutions."""
        return replace(self, l1=self.l1 * levels, l2_squared=self.l2_squared * levels)


def sensitivity(measure: Measure, unit: Unit, adjacency: Adjacency, cells: int) -> Sensitivity:
    """Of a measure with so many cells (groups times bins).

    A unit brings at most m = `max_rows` rows, each an integer of [low, high] in one cell, or nothing. What it
    adds up to is a point of the convex hull of the points m v e_k (v in [low, high], e_k a cell) and 0; norms
    are convex, so their largest value over one such point, or over the difference of two (replace-one), is
    attained at those corners: m |v|, or m |v| in one cell and m |v'| in another, or m (v - v') in the same
    one. Distinct units count once in each of at most `max_groups` groups.
    """
    l1, l2_squared = _norms(measure, unit, adjacency, cells)
    units = 2 if adjacency is REPLACE_ONE else 1
    groups = min(units * unit.max_groups, max(cells // measure.size, 1))
    return Sensitivity(l1, l2_squared, groups, unit.max_rows)


def _norms(measure: Measure, unit: Unit, adjacency: Adjacency, cells: int) -> tuple[int, int]:
    replaced = adjacency is REPLACE_ONE
    if measure.once:
        groups = min(unit.max_groups, cells)
        most = min(2 * groups, cells) if replaced else groups
        return most, most
    low, high, rows = min(measure.low, 0), max(measure.high, 0), unit.max_rows
    largest, width = rows * max(-low, high), rows * (high - low)
    if not replaced:
        return largest, largest**2
    if cells == 1:
        return width, width**2
    return 2 * largest, max(2 * largest**2, width**2)
