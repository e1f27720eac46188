"""Graphical models on a junction tree: log-linear distributions and their marginals, exactly."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dalenius.core.arrays import Reals
from dalenius.queries.marginals.junction_tree import Edge, JunctionTree, Scope

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True)
class GraphicalModel:
    """p(x) proportional to exp(sum of theta_r(x_r)), with its marginals, by messages over a junction tree and back."""

    tree: JunctionTree
    log_partition: float
    beliefs: tuple[Reals, ...]
    """The marginal of every clique, as probabilities."""

    @classmethod
    def of(cls, tree: JunctionTree, potentials: Mapping[Scope, Reals]) -> GraphicalModel:
        """The model with these potentials, each of whose scopes has a clique."""
        shape = tree.shape
        tables = [np.zeros([shape[v] for v in clique]) for clique in tree.cliques]
        for scope, potential in potentials.items():
            home = tree.home(scope)
            if home is None:
                raise ValueError("a potential's columns are in no clique of the tree")
            tables[home] += _within(potential, scope, tree.cliques[home])
        upward: dict[int, Reals] = {}
        for k, edge in enumerate(tree.edges):
            upward[k] = _log_sum(tables[edge.child], _dropped(tree, edge.child, edge.separator))
            tables[edge.parent] += _within(upward[k], edge.separator, tree.cliques[edge.parent])
        top = float(tables[0].max())
        log_partition = top + math.log(float(np.exp(tables[0] - top).sum()))
        tables[0] = np.exp(tables[0] - log_partition)
        for k in reversed(range(len(tree.edges))):
            edge = tree.edges[k]
            downward = _project(tables[edge.parent], tree.cliques[edge.parent], edge.separator)
            with np.errstate(divide="ignore"):
                change = np.log(downward) - upward[k]
            tables[edge.child] = np.exp(
                tables[edge.child] + _within(change, edge.separator, tree.cliques[edge.child])
            )
        return cls(tree, log_partition, tuple(tables))

    def marginal(self, scope: Scope) -> Reals:
        """The distribution of some columns: within a clique a sum, across cliques by elimination along the tree."""
        scope = tuple(scope)
        home = self.tree.home(scope)
        if home is not None:
            return _project(self.beliefs[home], self.tree.cliques[home], scope)
        return self._across(scope)

    def _across(self, scope: Scope) -> Reals:
        """Pass tables over the wanted columns and the separators up the tree, conditional on the parent's part."""
        tree, wanted = self.tree, set(scope)
        carried: dict[int, list[tuple[Scope, Reals]]] = {i: [] for i in range(len(tree.cliques))}
        for edge in tree.edges:
            below = set(self._columns_below[edge.child]) - set(edge.separator)
            if not (below & wanted):
                continue
            conditional = self.conditionals[edge]
            parts = [*carried[edge.child], (tree.cliques[edge.child], conditional)]
            held = {v for columns, _ in parts for v in columns}
            keep = tuple(sorted((held & wanted) | set(edge.separator)))
            carried[edge.parent].append((keep, _contract(parts, keep)))
        parts = [*carried[0], (tree.cliques[0], self.beliefs[0])]
        return _contract(parts, scope)

    @cached_property
    def _columns_below(self) -> list[set[int]]:
        found = [set(clique) for clique in self.tree.cliques]
        for edge in self.tree.edges:
            found[edge.parent] |= found[edge.child]
        return found

    @cached_property
    def conditionals(self) -> dict[Edge, Reals]:
        """Every clique but the root given what it shares with its parent."""
        found = {}
        for edge in self.tree.edges:
            belief, clique = self.beliefs[edge.child], self.tree.cliques[edge.child]
            given = _within(_project(belief, clique, edge.separator), edge.separator, clique)
            found[edge] = np.divide(belief, given, out=np.zeros_like(belief), where=given > 0)
        return found


def _dropped(tree: JunctionTree, clique: int, kept: Scope) -> tuple[int, ...]:
    return tuple(i for i, v in enumerate(tree.cliques[clique]) if v not in kept)


def _log_sum(table: Reals, axes: tuple[int, ...]) -> Reals:
    if not axes:
        return table.copy()
    top = table.max(axis=axes, keepdims=True)
    with np.errstate(divide="ignore"):
        found = np.log(np.exp(table - top).sum(axis=axes, keepdims=True)) + top
    return np.asarray(found.squeeze(axis=axes))


def _within(table: Reals, scope: Scope, clique: Scope) -> Reals:
    """A table over part of a clique, with axes of length 1 for the other columns; both in increasing order."""
    position = {v: i for i, v in enumerate(scope)}
    return table.reshape([table.shape[position[v]] if v in position else 1 for v in clique])


def _project(table: Reals, clique: Scope, scope: Scope) -> Reals:
    """The sum over the columns that are not in the scope, whose axes come in its order."""
    axes = tuple(i for i, v in enumerate(clique) if v not in scope)
    summed = table.sum(axis=axes)
    kept = [v for v in clique if v in scope]
    return np.asarray(summed.transpose([kept.index(v) for v in scope]))


def _contract(parts: Sequence[tuple[Scope, Reals]], keep: Scope) -> Reals:
    """The sum of a product of tables over all columns but those to keep."""
    columns = sorted({v for scope, _ in parts for v in scope})
    letter = {v: LETTERS[i] for i, v in enumerate(columns)}
    text = ",".join("".join(letter[v] for v in scope) for scope, _ in parts)
    goal = "".join(letter[v] for v in keep)
    tables = [table for _, table in parts]
    return np.asarray(np.einsum(f"{text}->{goal}", *tables, optimize="greedy"))
