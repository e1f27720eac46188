"""Counters in words: what a ledger keeps of a feed when it is opened."""

from __future__ import annotations

from collections.abc import Mapping

from dalenius.core.adjacency import Adjacency
from dalenius.core.record import JSON, exact
from dalenius.errors import InvalidParameter, LedgerDamaged
from dalenius.mechanisms import MatrixCounter, TreeCounter


def counter_record(counter: MatrixCounter | TreeCounter) -> dict[str, JSON]:
    """A counter with its settings; the adjacency is in the question."""
    settings: dict[str, JSON] = {"horizon": counter.horizon, "sensitivity": counter.sensitivity}
    if isinstance(counter, MatrixCounter):
        return {"kind": "square root", **settings, "sigma": exact(counter.sigma)}
    return {"kind": "tree", **settings, "scale": exact(counter.scale), "branches": counter.branches}


def read_counter(record: Mapping[str, JSON], adjacency: Adjacency) -> MatrixCounter | TreeCounter:
    """The counter that a feed was opened with."""
    try:
        kind, horizon, sensitivity = record["kind"], record["horizon"], record["sensitivity"]
        if kind == "square root":
            return MatrixCounter(
                horizon=horizon, sensitivity=sensitivity, adjacency=adjacency, sigma=float(record["sigma"])
            )
        if kind == "tree":
            return TreeCounter(
                horizon=horizon,
                sensitivity=sensitivity,
                adjacency=adjacency,
                scale=float(record["scale"]),
                branches=record["branches"],
            )
    except (KeyError, TypeError, ValueError, InvalidParameter):
        pass
    raise LedgerDamaged("the counter of a feed is not written as we write them.")
