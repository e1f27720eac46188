"""Contribution bounding: which rows of a unit are kept, and that nobody else has a say in it."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

from dalenius.tables import Schema, Source, Unit, count, count_distinct, sum
from dalenius.tables.compute import exact
from tests.tables import reference

SCHEMA = Schema(nulls="drop")


def table(rows: list[tuple[Any, str, int]]) -> pa.Table:
    ids, groups, values = zip(*rows, strict=True) if rows else ((), (), ())
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "g": pa.array(groups, pa.string()),
            "x": pa.array(values, pa.int64()),
        }
    )


def kept(rows: list[tuple[Any, str, int]], unit: Unit, keys: list[str]) -> dict[str, tuple[int, int, int]]:
    """Per group: rows, distinct units, sum of x."""
    source = Source.open(table(rows))
    query = (
        source.table(SCHEMA)
        .group_by("g", keys=keys)
        .agg(n=count(), u=count_distinct(), s=sum("x", (0, 10**6)))
    )
    found = exact.evaluate(source, query, unit)
    counts = zip(*(found[m].tolist() for m in query.measures), strict=True)
    return dict(zip((key for (key,) in found.keys), counts, strict=True))


def some(seed: int, size: int = 300) -> list[tuple[Any, str, int]]:
    rnd = random.Random(seed)
    return [(rnd.randrange(20), rnd.choice("abcdef"), rnd.randrange(1000)) for _ in range(size)]


@pytest.mark.parametrize(("max_rows", "max_groups"), [(1, 1), (3, 1), (4, 2), (5, 5), (1000, 3)])
def test_bounds_hold(max_rows: int, max_groups: int) -> None:
    rows = [row for row in some(1) if row[0] == 7]
    assert len(rows) > 10
    groups = kept(rows, Unit("id", max_rows=max_rows, max_groups=max_groups), list("abcdef"))
    assert 0 < sum_of(n for n, _, _ in groups.values()) <= max_rows
    assert len([1 for n, _, _ in groups.values() if n]) <= max_groups
    if max_rows < len(rows) and max_groups == max_rows:
        assert sum_of(n for n, _, _ in groups.values()) == max_rows  # nothing is thrown away without need


def sum_of(numbers: Any) -> int:
    total = 0
    for number in numbers:
        total += number
    return total


def test_other_units_have_no_say() -> None:
    """What is kept of unit 7 is the same alone as in company: the answer is a sum over units."""
    rows = some(2)
    unit = Unit("id", max_rows=4, max_groups=2)
    whole = kept(rows, unit, list("abcdef"))
    apart = [kept([row for row in rows if row[0] == who], unit, list("abcdef")) for who in range(20)]
    for key, (n, u, s) in whole.items():
        assert n == sum_of(part[key][0] for part in apart)
        assert u == sum_of(part[key][1] for part in apart)
        assert s == sum_of(part[key][2] for part in apart)


def test_neither_order_nor_storage_has_a_say() -> None:
    rows = some(3)
    unit = Unit("id", max_rows=3, max_groups=2)
    shuffled = random.Random(4).sample(rows, len(rows))
    assert kept(rows, unit, list("abcdef")) == kept(shuffled, unit, list("abcdef"))


def test_rows_that_do_not_count_take_no_place() -> None:
    """Rows outside the keys or the filter are left out before the bound is applied."""
    rows = [(1, "a", 5)] * 50 + [(1, "b", 1)]
    assert kept(rows, Unit("id", max_rows=1), ["b"])["b"] == (1, 1, 1)


def test_equal_rows_are_kept_up_to_the_bound() -> None:
    assert kept([(1, "a", 5)] * 10, Unit("id", max_rows=3), ["a"])["a"] == (3, 1, 15)


def test_rows_without_an_id_are_left_out() -> None:
    assert kept([(None, "a", 5)] * 10 + [(1, "a", 1)], Unit("id", max_rows=3), ["a"])["a"] == (1, 1, 1)


def test_the_choice_does_not_favour_values() -> None:
    """Of two rows either is kept about equally often over units, whatever their values: the sum is not pulled down.

    20 000 units, two rows each, one kept: the count of those that keep the larger is Binomial(20 000, 1/2) under a
    random choice; beyond 6 standard deviations, probability 2e-9.
    """
    for small, large in ((0, 1), (3, 900), (10, 11)):
        rows = [(who, "a", x) for who in range(20_000) for x in (small, large)]
        n, _, s = kept(rows, Unit("id", max_rows=1), ["a"])["a"]
        assert n == 20_000
        larger = (s - small * n) / (large - small)
        assert abs(larger - n / 2) < 6 * (n / 4) ** 0.5


def test_the_choice_does_not_favour_groups() -> None:
    rows = [(who, g, 0) for who in range(20_000) for g in "ab"]
    groups = kept(rows, Unit("id", max_rows=2, max_groups=1), ["a", "b"])
    assert groups["a"][0] + groups["b"][0] == 20_000
    assert abs(groups["a"][0] - 10_000) < 6 * (20_000 / 4) ** 0.5


def test_the_least_values_would_be_favoured_without_mixing() -> None:
    """The control: ordered by value alone, the same test fails."""
    rows = [(who, x) for who in range(1000) for x in (3, 900)]
    least = sum_of(min(x for w, x in rows[2 * who : 2 * who + 2]) for who in range(1000))
    assert abs((least - 3 * 1000) / 897 - 500) > 6 * (1000 / 4) ** 0.5


def test_only_units_counted_keeps_whole_groups() -> None:
    """When only units are counted, many rows in one group do not push a unit out of another."""
    source = Source.open(table([(1, "a", x) for x in range(50)] + [(1, "b", 1), (2, "b", 1)]))
    query = source.table(SCHEMA).group_by("g", keys=["a", "b"]).agg(u=count_distinct())
    found = exact.evaluate(source, query, Unit("id", max_rows=2, max_groups=2))
    assert found[query.measures[0]].tolist() == [1, 2]


def test_text_ids() -> None:
    rows = [{"id": who, "g": "a", "x": x} for who in ("", "é", "a", "A", "𝄞") for x in range(5)]
    source = Source.open(pa.Table.from_pylist(rows))
    query = source.table(SCHEMA).group_by("g", keys=["a"]).agg(s=sum("x", (0, 9)), u=count_distinct())
    unit = Unit("id", max_rows=2)
    _, values = reference.evaluate(rows, query, unit)
    found = exact.evaluate(source, query, unit)
    assert {m: v.tolist() for m, v in found.values.items()} == values
    assert found[query.measures[1]].tolist() == [5]


def test_ids_at_the_ends_of_64_bits() -> None:
    rows = [{"id": who, "x": x} for who in (2**63 - 1, -(2**63), 0, -1) for x in (1, 2, 3)]
    source = Source.open(pa.Table.from_pylist(rows))
    query = source.table(SCHEMA).agg(s=sum("x", (0, 9)), n=count())
    unit = Unit("id", max_rows=2)
    assert exact.evaluate(source, query, unit).values[query.measures[1]].tolist() == [8]
    assert reference.evaluate(rows, query, unit)[1] == {
        m: v.tolist() for m, v in exact.evaluate(source, query, unit).values.items()
    }
