from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalenius.errors import InvalidParameter
from dalenius.web.jobs.slots import Slots, on_the_tick

seconds = st.floats(1e-3, 1e5)


@settings(max_examples=200)
@given(seconds, seconds, st.floats(0.0, 1e6))
def test_an_outcome_leaves_at_the_first_boundary_that_is_not_before_it(
    first: float, more: float, after: float
) -> None:
    slots = Slots(first, first + more)
    after = min(after, 20 * slots.boundary(slots.last))
    k = slots.index(after)
    assert slots.boundary(k) >= after
    assert k == 0 or slots.boundary(k - 1) < after
    # Work that is given up at its limit is settled by the last boundary, if that takes less than the limit itself.
    assert slots.index(2 * slots.limit) <= slots.last
    pairs = {(j, k) for k in range(slots.last + 1) for j in range(k + 1)}
    assert slots.outcomes == 2 * len(pairs) + slots.last + 1
    # A charge comes at one of as few moments, each before the boundary that an outcome of its time leaves at.
    charge = slots.charge(after)
    moments = [slots._charge(k) for k in range(slots.index(charge) + 1)]
    assert charge == min(moment for moment in moments if moment >= after)
    assert charge < slots.boundary(slots.index(charge))


def test_boundaries_are_exact_where_the_logarithm_is_not() -> None:
    for first in (0.1, 0.3, 1.0, 2.5):
        slots = Slots(first, 1e6)
        assert [slots.index(slots.boundary(k)) for k in range(20)] == list(range(20))
    assert on_the_tick(10.0, 0.5) == 10.0
    assert on_the_tick(10.01, 0.5) == 10.5


def test_a_limit_before_the_first_slot_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="raise the limit"):
        Slots(10.0, 5.0)
