"""The lattice engine is the fallback: it may be wide, not large."""

from __future__ import annotations

import tracemalloc

import dalenius as dp

MOST = 300e6


def test_a_search_on_the_grid_stays_small() -> None:
    """Several epsilons of a sum whose jumps are rare and huge, each with a lattice of its own."""
    base = dp.losses.gaussian(sigma=1.4, adjacency=dp.REPLACE_ONE)
    loss = dp.losses.sampled_without_replacement(base, 69_000, 10**9) * 4
    tracemalloc.start()
    try:
        deltas = [loss.remove.delta(epsilon, "grid").upper for epsilon in (1e-4, 1e-2, 0.3)]
        assert tracemalloc.get_traced_memory()[1] < MOST
    finally:
        tracemalloc.stop()
    assert sorted(deltas, reverse=True) == deltas
