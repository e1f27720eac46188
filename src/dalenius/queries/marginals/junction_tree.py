"""Junction trees: the cliques on which a graphical model is computed exactly."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

Scope = tuple[int, ...]
"""Columns of a marginal, by position, in increasing order."""


@dataclass(frozen=True)
class Edge:
    """A clique, the clique it hangs from, and what they share."""

    child: int
    parent: int
    separator: Scope


@dataclass(frozen=True)
class JunctionTree:
    """Maximal cliques of a triangulated graph, joined so that what two share lies in all between them.

    (Lauritzen and Spiegelhalter 1988; Koller and Friedman 2009, chapter 10.) Every scope given to `of` lies within a
    clique, and every column of the shape is in one.
    """

    shape: tuple[int, ...]
    cliques: tuple[Scope, ...]
    edges: tuple[Edge, ...]
    """From the leaves to the root, the first clique: each child comes before its parent does as a child."""

    @classmethod
    def of(cls, shape: Sequence[int], scopes: Iterable[Scope]) -> JunctionTree:
        """The tree in which every scope has a clique: the better of two greedy orders of elimination."""
        neighbours = _graph(len(shape), scopes)
        found = min(
            (_cliques(shape, neighbours, fill) for fill in (False, True)), key=lambda c: _cells(shape, c)
        )
        return cls(tuple(shape), tuple(found), _spanning(found))

    @cached_property
    def cells(self) -> int:
        """The numbers that the cliques hold together."""
        return _cells(self.shape, self.cliques)

    def home(self, scope: Scope) -> int | None:
        """The smallest clique that holds a scope, if there is one."""
        if scope not in self._homes:
            wanted = set(scope)
            homes = [i for i, clique in enumerate(self.cliques) if wanted <= set(clique)]
            smallest = min(
                homes, key=lambda i: math.prod(self.shape[v] for v in self.cliques[i]), default=None
            )
            self._homes[scope] = smallest
        return self._homes[scope]

    @cached_property
    def _homes(self) -> dict[Scope, int | None]:
        return {}


class Room:
    """Which scopes a tree has room for beside those that it holds, within a limit on its cells.

    Columns that no scope joins to another cost their own cells whatever else is there: trees are made of the others.
    """

    def __init__(self, shape: Sequence[int], scopes: Sequence[Scope], most_cells: int) -> None:
        self.shape, self.scopes, self.most_cells = shape, list(scopes), most_cells
        self.joined = {v for scope in self.scopes for v in scope}
        self.cells, self.parts = self._cells(), list[set[int]]()
        for scope in self.scopes:
            touching = [part for part in self.parts if part & set(scope)]
            self.parts = [part for part in self.parts if part not in touching]
            self.parts.append(set(scope).union(*touching))

    def has(self, scope: Scope) -> bool:
        """Whether a tree that holds this one, too, has no more cells than the limit."""
        if not any(len(part & set(scope)) > 1 for part in self.parts):
            # It joins parts that were apart: one clique more, which may take the place of single columns.
            alone = sum(self.shape[v] for v in scope if v not in self.joined)
            return self.cells - alone + math.prod(self.shape[v] for v in scope) <= self.most_cells
        return self._cells(scope) <= self.most_cells

    def _cells(self, *further: Scope) -> int:
        joined = sorted(self.joined.union(*further))
        place = {v: k for k, v in enumerate(joined)}
        scopes = [tuple(place[v] for v in scope) for scope in (*self.scopes, *further)]
        tree = JunctionTree.of([self.shape[v] for v in joined], scopes)
        return tree.cells + sum(size for v, size in enumerate(self.shape) if v not in place)


def _graph(columns: int, scopes: Iterable[Scope]) -> list[set[int]]:
    neighbours: list[set[int]] = [set() for _ in range(columns)]
    for scope in scopes:
        for a, b in combinations(scope, 2):
            neighbours[a].add(b)
            neighbours[b].add(a)
    return neighbours


def _cells(shape: Sequence[int], cliques: Iterable[Scope]) -> int:
    return sum(math.prod(shape[v] for v in clique) for clique in cliques)


def _cliques(shape: Sequence[int], graph: list[set[int]], by_fill: bool) -> list[Scope]:
    """Eliminate columns one by one, the cheapest first; what each is joined to then is a clique."""
    graph = [set(joined) for joined in graph]
    left = set(range(len(graph)))
    cliques: list[Scope] = []

    def cost(v: int) -> tuple[int, int, int]:
        size = math.prod(shape[u] for u in graph[v]) * shape[v]
        fill = sum(b not in graph[a] for a, b in combinations(sorted(graph[v]), 2)) if by_fill else 0
        return fill, size, v

    while left:
        v = min(left, key=cost)
        clique = {v, *graph[v]}
        if not any(clique <= set(known) for known in cliques):
            cliques.append(tuple(sorted(clique)))
        for a in graph[v]:
            graph[a] |= graph[v] - {a}
            graph[a].discard(v)
        left.remove(v)
    return cliques


def _spanning(cliques: Sequence[Scope]) -> tuple[Edge, ...]:
    """A spanning tree of largest separators, which makes the running intersection hold."""
    inside, outside = [0], set(range(1, len(cliques)))
    edges: list[Edge] = []
    while outside:
        child, parent = max(
            ((c, p) for c in outside for p in inside),
            key=lambda pair: (len(set(cliques[pair[0]]) & set(cliques[pair[1]])), -pair[0], -pair[1]),
        )
        separator = tuple(sorted(set(cliques[child]) & set(cliques[parent])))
        edges.append(Edge(child, parent, separator))
        inside.append(child)
        outside.remove(child)
    return tuple(reversed(edges))
