"""Junction trees and the models on them, against brute force over tiny domains."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dalenius.queries.marginals.fit import Target, fit
from dalenius.queries.marginals.graphical_model import GraphicalModel
from dalenius.queries.marginals.junction_tree import JunctionTree, Room, Scope


@st.composite
def graphs(draw: st.DrawFn) -> tuple[tuple[int, ...], list[Scope]]:
    shape = tuple(draw(st.lists(st.integers(1, 3), min_size=1, max_size=5)))
    every = [
        *combinations(range(len(shape)), 2),
        *combinations(range(len(shape)), 3),
    ]
    chosen = draw(st.lists(st.sampled_from(every), max_size=5, unique=True)) if every else []
    return shape, [*((v,) for v in range(len(shape))), *chosen]


@given(graphs(), st.integers(0, 60))
@settings(max_examples=100)
def test_there_is_room_where_a_tree_with_one_scope_more_is_within_the_limit(
    graph: tuple[tuple[int, ...], list[Scope]], limit: int
) -> None:
    sizes, scopes = graph
    shape = tuple(size + 1 for size in sizes)  # with one value alone, a larger clique may have fewer cells
    room = Room(shape, [scope for scope in scopes if len(scope) > 1], limit)
    for scope in combinations(range(len(shape)), 2):
        assert room.has(scope) == (JunctionTree.of(shape, [*scopes, scope]).cells <= limit)


def dense(shape: tuple[int, ...], potentials: dict[Scope, np.ndarray]) -> np.ndarray:
    total = np.zeros(shape)
    for scope, potential in potentials.items():
        total = total + potential.reshape([shape[v] if v in scope else 1 for v in range(len(shape))])
    return np.exp(total)


def summed(table: np.ndarray, scope: Scope) -> np.ndarray:
    return table.sum(axis=tuple(v for v in range(table.ndim) if v not in scope))


@given(graphs())
@settings(max_examples=60)
def test_the_tree_holds_every_scope_and_shared_columns_lie_on_the_way(
    graph: tuple[tuple[int, ...], list[Scope]],
) -> None:
    shape, scopes = graph
    tree = JunctionTree.of(shape, scopes)
    assert all(tree.home(scope) is not None for scope in scopes)
    assert len(tree.edges) == len(tree.cliques) - 1
    assert not any(set(a) <= set(b) for a in tree.cliques for b in tree.cliques if a is not b)
    for v in range(len(shape)):
        holding = {i for i, clique in enumerate(tree.cliques) if v in clique}
        joined = [edge for edge in tree.edges if v in edge.separator]
        assert all({edge.child, edge.parent} <= holding for edge in joined)
        assert len(joined) == len(holding) - 1  # a forest with one part: all that hold v are connected


@given(graphs(), st.integers(0, 2**32))
@settings(max_examples=60)
def test_marginals_are_those_of_the_whole_table(
    graph: tuple[tuple[int, ...], list[Scope]], number: int
) -> None:
    shape, scopes = graph
    draw = np.random.default_rng(number)
    potentials = {scope: 3 * draw.normal(size=[shape[v] for v in scope]) for scope in scopes}
    model = GraphicalModel.of(JunctionTree.of(shape, scopes), potentials)
    table = dense(shape, potentials)
    assert np.isclose(model.log_partition, np.log(table.sum()), atol=1e-9)
    table /= table.sum()
    for size in range(len(shape) + 1):
        for scope in combinations(range(len(shape)), size):
            assert np.allclose(model.marginal(scope), summed(table, scope), atol=1e-12)


@given(graphs(), st.integers(0, 2**32))
@settings(max_examples=25)
def test_the_fit_satisfies_the_optimality_conditions(
    graph: tuple[tuple[int, ...], list[Scope]], number: int
) -> None:
    shape, scopes = graph
    draw = np.random.default_rng(number)
    table = draw.integers(0, 50, size=shape)
    targets = [
        Target(scope, summed(table, scope) + draw.normal(0, 2, [shape[v] for v in scope]), 2.0)
        for scope in scopes
    ]
    total = max(1.0, float(table.sum()))
    found = fit(JunctionTree.of(shape, scopes), targets, total, {}, 2000, lambda _: 0.05)
    for target in targets:
        wanted = target.counts + (total - target.counts.sum()) / target.counts.size
        pull = found.counts(target.scope) - wanted + 0.05 * 4 * found.potentials[target.scope]
        assert np.abs(pull).max() <= 1e-2 * (1 + np.abs(wanted).max())


def test_the_fit_finds_the_table_that_exact_marginals_determine() -> None:
    draw = np.random.default_rng(0)
    first, second = draw.random((3, 4)), draw.random((4, 2))
    second /= second.sum(axis=1, keepdims=True)
    table = 1000 * first[:, :, None] * second[None] / first.sum()
    scopes: list[Scope] = [(0, 1), (1, 2)]
    targets = [Target(scope, summed(table, scope), 1.0) for scope in scopes]
    found = fit(JunctionTree.of((3, 4, 2), scopes), targets, 1000.0, {}, 2000, lambda _: 1e-9)
    assert np.allclose(found.counts((0, 1, 2)), table, atol=0.05)
