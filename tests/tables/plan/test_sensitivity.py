"""Sensitivities against brute force on tiny tables: no neighbour moves a measure further."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest

from dalenius.core.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dalenius.tables.facts.unit import Unit
from dalenius.tables.measures.measure import Measure, ValueSum, units
from dalenius.tables.plan.sensitivity import Sensitivity, sensitivity


class Ranged(ValueSum):
    """A sum whose row range is set by hand."""

    span = (0, 0)

    @property
    def range(self) -> tuple[int, int]:
        return self.span


def measure(low: int, high: int) -> Measure:
    made = Ranged()
    object.__setattr__(made, "span", (low, high))
    return made


def contributions(low: int, high: int, rows: int, cells: int) -> list[np.ndarray]:
    """Everything one unit can add: up to `rows` rows, each low, high or something between in one cell."""
    one = [(cell, value) for cell in range(cells) for value in {low, high, (low + high) // 2}]
    found = []
    for size in range(rows + 1):
        for chosen in itertools.combinations_with_replacement(one, size):
            total = np.zeros(cells, dtype=int)
            for cell, value in chosen:
                total[cell] += value
            found.append(total)
    return found


@pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE])
@pytest.mark.parametrize(("low", "high"), [(1, 1), (-3, 3), (0, 5), (-1, 4), (2, 7), (-6, -2)])
@pytest.mark.parametrize(("rows", "cells"), [(1, 1), (1, 3), (2, 2), (3, 1)])
def test_sums(adjacency: Adjacency, low: int, high: int, rows: int, cells: int) -> None:
    unit = Unit("id", max_rows=rows)
    found = sensitivity(measure(low, high), unit, adjacency, cells)
    possible = contributions(low, high, rows, cells)
    others = possible if adjacency is REPLACE_ONE else [np.zeros(cells, dtype=int)]
    moved = [a - b for a in possible for b in others]
    assert found.l1 == max(int(np.abs(d).sum()) for d in moved)
    assert found.l2_squared == max(int((d**2).sum()) for d in moved)


@pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE])
def test_distinct_units_count_once_in_each_group(adjacency: Adjacency) -> None:
    unit = Unit("id", max_rows=5, max_groups=2)
    cells = 4
    possible = [np.array(present) for present in itertools.product((0, 1), repeat=cells) if sum(present) <= 2]
    others = possible if adjacency is REPLACE_ONE else [np.zeros(cells, dtype=int)]
    moved = [a - b for a in possible for b in others]
    found = sensitivity(units(), unit, adjacency, cells)
    assert found == Sensitivity(
        max(int(np.abs(d).sum()) for d in moved), max(int((d**2).sum()) for d in moved)
    )


def test_the_root_is_rounded_up() -> None:
    for square in (1, 2, 3, 49, 10**12 + 1, 2 * (2**24) ** 2, (2**40) ** 2):
        root = Sensitivity(1, square).l2
        assert root**2 >= square or root == square**0.5
        assert root <= square**0.5 * (1 + 1e-15)


def test_norms_are_the_least_doubles_that_are_large_enough() -> None:
    """Squares of whole numbers beyond 2^53 among them, for which no double is the root."""
    rnd = random.Random(1)
    squares = [n * n for n in (1, 3, 2**53 - 1, 2**61 + 3, 10**15 + 1)]
    for square in [*squares, *(rnd.getrandbits(rnd.randrange(1, 200)) + 1 for _ in range(2000))]:
        root = Sensitivity(1, square).l2
        assert Fraction(root) ** 2 >= square > Fraction(math.nextafter(root, 0.0)) ** 2
