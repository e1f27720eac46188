"""All data sets on a few points, and their neighbours."""

from __future__ import annotations

from itertools import combinations_with_replacement

import dalenius as dp
from dalenius.core.adjacency import Adjacency

Data = tuple[float, ...]


def all_sets(points: tuple[float, ...], largest: int) -> list[Data]:
    return [t for n in range(largest + 1) for t in combinations_with_replacement(points, n)]


def neighbours(data: Data, points: tuple[float, ...], adjacency: Adjacency) -> set[Data]:
    less = {data[:i] + data[i + 1 :] for i in range(len(data))}
    if adjacency is dp.ADD_REMOVE:
        return less | {tuple(sorted((*data, x))) for x in points}
    return {tuple(sorted((*rest, x))) for rest in less for x in points}
