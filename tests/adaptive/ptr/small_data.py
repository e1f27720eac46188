"""All data sets over a tiny domain, their neighbours, and true distances between them, by search."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations_with_replacement
from typing import Any

import dalenius as dp

Data = tuple[Any, ...]


def data_sets(domain: Iterable[Any], sizes: Iterable[int]) -> list[Data]:
    """Every multiset of each of these sizes, as a sorted tuple."""
    values = sorted(domain)
    return [x for n in sizes for x in combinations_with_replacement(values, n)]


def neighbours(x: Data, domain: Iterable[Any], adjacency: dp.Adjacency) -> Iterator[Data]:
    """Every neighbour, once or more often."""
    shorter = [x[:i] + x[i + 1 :] for i in range(len(x))]
    if adjacency is dp.ADD_REMOVE:
        yield from shorter
        yield from (tuple(sorted((*x, v))) for v in domain)
    else:
        yield from (tuple(sorted((*y, v))) for y in shorter for v in domain)


def local_sensitivity(
    f: Callable[[Data], Any], x: Data, domain: Iterable[Any], adjacency: dp.Adjacency
) -> Any:
    """The furthest that one change moves f."""
    return max((abs(f(y) - f(x)) for y in neighbours(x, domain, adjacency)), default=0)


def distances(
    sets: list[Data], bad: Callable[[Data], bool], domain: Iterable[Any], adjacency: dp.Adjacency
) -> dict[Data, int]:
    """How many changes each data set is from one that is bad, going through the sets given alone."""
    known, values = set(sets), list(domain)
    found = {x: 0 for x in sets if bad(x)}
    queue = deque(found)
    while queue:
        x = queue.popleft()
        for y in neighbours(x, values, adjacency):
            if y in known and y not in found:
                found[y] = found[x] + 1
                queue.append(y)
    return found
