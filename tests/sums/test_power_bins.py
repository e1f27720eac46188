"""Which bins hold nearly all values."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dalenius.sums.power_bins import EDGES, held


def test_edges() -> None:
    assert len(EDGES) == 202
    assert all(a < b for a, b in itertools.pairwise(EDGES))
    assert (EDGES[0], EDGES[101]) == (-(2.0**60), 2.0**-40)


@pytest.mark.parametrize(
    ("counts", "most", "share", "ends"),
    [
        ([0, 5, 90, 5, 0], 1.0, 0.99, (1, 3)),
        ([0, 5, 90, 5, 0], 6.0, 0.99, (2, 2)),  # what noise could have made is dropped
        ([0, 5, 90, 5, 0], 1.0, 0.5, (2, 2)),
        ([0, 0, 7], 1.0, 0.99, (2, 2)),
        ([3, 0, 0], 1.0, 0.99, (0, 0)),
        ([1, 1, 1], 1.0, 0.99, (-1, -1)),
        ([-9, -9, -9], -5.0, 0.99, (-1, -1)),
        ([0.1] * 10, 0.05, np.nextafter(1.0, 0.0), (0, 9)),  # no share is so near 1 that nothing reaches it
    ],
)
def test_held(counts: list[float], most: float, share: float, ends: tuple[int, int]) -> None:
    first, last = held(np.array([counts, counts], dtype=float), most, share)
    assert list(zip(first.tolist(), last.tolist(), strict=True)) == [ends, ends]
