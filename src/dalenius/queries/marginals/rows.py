"""Rows from a graphical model, with counts as near to those expected as whole numbers can be."""

from __future__ import annotations

import numpy as np

from dalenius.core.arrays import Ints, Reals
from dalenius.queries.marginals.graphical_model import GraphicalModel
from dalenius.queries.marginals.junction_tree import Scope


def sample(model: GraphicalModel, rows: int, draw: np.random.Generator) -> Ints:
    """Codes of `rows` rows: column by column along the tree, given those columns of its clique that are drawn.

    Rows that agree in the given columns share out the values of the next one in proportion, each value the whole
    number below or above its expectation. So marginals within a clique carry hardly any sampling error, where
    independent draws would add one of sqrt(count) to every cell.
    """
    tree = model.tree
    found = np.zeros((rows, len(tree.shape)), dtype=np.int64)
    known: list[int] = []
    for i, clique in _from_the_root(model):
        for v in clique:
            if v in known:
                continue
            given = tuple(u for u in clique if u in known)
            joint = _joint(model, i, (*given, v))
            found[:, v] = _shared_out(found[:, given], joint, draw)
            known.append(v)
    return found


def _from_the_root(model: GraphicalModel) -> list[tuple[int, Scope]]:
    order = [0, *(edge.child for edge in reversed(model.tree.edges))]
    return [(i, model.tree.cliques[i]) for i in order]


def _joint(model: GraphicalModel, clique: int, columns: Scope) -> Reals:
    scope = model.tree.cliques[clique]
    table = model.beliefs[clique].sum(axis=tuple(k for k, v in enumerate(scope) if v not in columns))
    kept = [v for v in scope if v in columns]
    return np.asarray(table.transpose([kept.index(v) for v in columns]))


def _shared_out(given: Ints, joint: Reals, draw: np.random.Generator) -> Ints:
    """A value for each row: in every group of equal `given`, by systematic sampling in a random order."""
    rows, values = len(given), joint.shape[-1]
    tables = joint.reshape(-1, values)
    group = (
        np.ravel_multi_index(tuple(given.T), joint.shape[:-1])
        if given.shape[1]
        else np.zeros(rows, dtype=np.int64)
    )
    weight = tables.sum(axis=1, keepdims=True)
    overall = tables.sum(axis=0)
    # A group that the model says is empty, and that rounding filled, follows the column as a whole.
    below = np.where(weight > 0, np.cumsum(tables, axis=1), np.cumsum(overall))
    below /= below[:, -1:]
    order = np.lexsort((draw.random(rows), group))
    sizes = np.bincount(group, minlength=len(tables))
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    rank = np.empty(rows)
    rank[order] = np.arange(rows) - np.repeat(starts, sizes)
    shift = draw.random(len(tables))
    place = (rank + shift[group]) / sizes[group]
    # The rows of one group go up the steps of its distribution in equal strides.
    flat = (below + np.arange(len(tables))[:, None]).ravel()
    code = np.searchsorted(flat, np.minimum(place, np.nextafter(1.0, 0)) + group, side="right")
    return np.asarray(np.minimum(code - group * values, values - 1))
