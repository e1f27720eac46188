"""How many groups a unit may be in, after steps that keep fewer of its rows and make several of each."""

from __future__ import annotations

import dalenius as dp


def test_a_bound_on_groups_outlives_fewer_rows() -> None:
    """One row of ten items enters two groups, where two were said; not ten."""
    unit = dp.Unit("id", max_rows=4, max_groups=2)
    assert unit.at_most(1).times(10) == dp.Unit("id", max_rows=10, max_groups=2)
    assert unit.times(10).at_most(1).times(3) == dp.Unit("id", max_rows=3, max_groups=2)
    assert unit.at_most(1) == dp.Unit("id", max_rows=1, max_groups=1)


def test_without_one_it_goes_with_the_rows() -> None:
    unit = dp.Unit("id", max_rows=4)
    assert unit.at_most(1).times(10) == dp.Unit("id", max_rows=10)
    each = dp.Unit("id", max_rows={"visits": 1, "sales": 3}, max_groups=2)
    assert each.of("visits").times(3) == dp.Unit("id", max_rows=3, max_groups=2)
