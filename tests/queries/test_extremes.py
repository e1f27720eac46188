"""Promises and histograms at the ends of what numbers can hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.queries import AdaptiveMarginals, Domain, MatrixMechanism, PerQuery, Workload

DOMAIN = Domain({"a": 3, "b": 4})
PAIRS = Workload.marginals(DOMAIN, 2)


@pytest.mark.parametrize("promise", [dp.ZCDP(1e4), dp.PureDP(1e4), dp.GDP(100.0)], ids=repr)
@pytest.mark.parametrize("kind", [MatrixMechanism, PerQuery])
def test_hardly_any_noise_leaves_the_counts(kind: Any, promise: dp.Guarantee) -> None:
    counts = np.arange(12)
    assert np.allclose(kind(PAIRS, promise).release(counts).answers(), counts, atol=1e-6)


@pytest.mark.parametrize("size", [1e-13, 1e-40, 1e-300])
@pytest.mark.parametrize(
    "kind", [dp.PureDP, dp.GDP, lambda size: dp.ZCDP(size**2)], ids=["pure", "gdp", "zcdp"]
)
def test_a_promise_too_small_for_any_noise_is_refused_before_the_data(kind: Any, size: float) -> None:
    with pytest.raises(InvalidParameter):
        AdaptiveMarginals(PAIRS, kind(size))


def test_counts_beyond_all_people_do_not_wrap_around() -> None:
    total = Workload.marginals(DOMAIN, 0)
    for full in (np.full(12, 2**63 - 1), np.full(12, 2**64 - 1, dtype=np.uint64)):
        for mechanism in (PerQuery(total, dp.PureDP(1.0)), MatrixMechanism(total, dp.PureDP(1.0))):
            assert mechanism.release(full).answers()[0] > 2**60
