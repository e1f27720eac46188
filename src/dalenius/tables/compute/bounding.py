"""Contribution bounding: at most `max_rows` rows of one unit, in at most `max_groups` groups.

THE RULE. The rows reach this point as the integers the measures need: the unit's id, the group (the position of
its public key), and the value or bin of every argument. Each row gets a rank among the rows of its unit:

1. When max_groups is below max_rows, the groups of a unit are ordered by mix(id, group), then by group, and
   rows outside the first `max_groups` of them are left out.
2. The rows of a unit are ordered by mix(id, group, values), then by group, then by the values one after the
   other, and rows after the first `max_rows` are left out.

`mix` is a fixed public function of integers (below), which stands in for a random order: without it the least
values would be kept and every sum pulled down.

`in_order` takes the groups in the order of their keys instead, and rows by group first: the first of a unit are kept.
Where groups are days, what is kept of one day does not depend on later ones.

WHY IT IS PRIVATE. Which rows of a unit are kept depends on the multiset of rows of that unit alone. Ranks are
taken within the unit; the order is by the contents of rows, never by where or when they are stored; and rows
that still tie are equal in everything the measures look at, so it does not matter which of them is kept. Write
B for the map from the rows of one unit to the kept ones. Then for neighbouring tables the kept rows differ in
B(rows of one unit) only: added or removed under ADD_REMOVE, exchanged for B(other rows) under REPLACE_ONE. B
keeps at most max_rows rows in at most max_groups groups. This needs nothing from `mix`, not even that it mixes.

WHY IT IS THE SAME EVERYWHERE. Everything ordered is an integer, and nulls come first by request: collations and
the engines' own hash functions play no part. (Discovered text keys are ordered by 24 bits of their SHA-256 and
only then as text, see `Engine.digest`.)

Rows whose id is null belong to nobody who could be protected; the id needs a policy for them (`nulls="drop"`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ibis

from dalenius.tables.rows.terms import integer

UNIT, SEED = "__unit", "__seed"

PRIME = 2**31 - 1
POINT = 1_640_531_527
TWIST = 748_300_249
"""Below 2^30, so that s * (s + TWIST) stays below 2^63 for |s| < 2^31."""


def unit_names(columns: int) -> tuple[str, ...]:
    """What the columns of the id are called among the rows."""
    return tuple(UNIT if place == 0 else f"{UNIT}{place}" for place in range(columns))


def seed(integers: Sequence[Any]) -> Any:
    """One integer made of those of the id's columns; that of one column as it is."""
    return integers[0] if len(integers) == 1 else mix(integers)


def mix(integers: Sequence[Any]) -> Any:
    """Integers to one integer below 2^31: a polynomial in them at a fixed point, modulo a prime, times itself
    plus a twist.

    Products stay below 2^63, so that no engine overflows. Without the last step, a linear function of the id,
    one of two rows would come first for most units.
    """
    state, *others = (x % PRIME for x in integers)
    for x in others:
        state = (state * POINT + x) % PRIME
    return (state * (state + TWIST)) % PRIME


def bounded(
    rows: Any,
    max_rows: int,
    max_groups: int,
    mixed: Sequence[str],
    group: Sequence[str],
    values: Sequence[str],
    in_order: bool = False,
    units: Sequence[str] = (UNIT,),
) -> Any:
    """The rows that are kept.

    rows: an Ibis table with the unit's id as `units`, and an integer made of it as `__seed`. mixed: integer
    columns made of the group; group: columns that identify it. values: integer columns, null where a value is
    missing. Together with the group they are all that measures look at.
    """
    if group and max_groups < max_rows:
        rows = rows.mutate(__g=integer(0) if in_order else mix(_mixable(rows, [SEED, *mixed])))
        order = ibis.window(group_by=list(units), order_by=[rows["__g"], *_ordered(rows, group)])
        rows = rows.mutate(__rank=ibis.dense_rank().over(order))
        rows = rows.filter(rows["__rank"] < max_groups).drop("__rank", "__g")
    rows = rows.mutate(__h=mix(_mixable(rows, [SEED, *mixed, *values])))
    first = _ordered(rows, group) if in_order else []
    order = ibis.window(
        group_by=list(units), order_by=[*first, rows["__h"], *_ordered(rows, [*group, *values])]
    )
    rows = rows.mutate(__rank=ibis.row_number().over(order))
    return rows.filter(rows["__rank"] < max_rows).drop("__rank", "__h")


def _mixable(rows: Any, columns: Sequence[str]) -> list[Any]:
    return [ibis.coalesce(rows[c], integer(-1)) for c in columns]


def _ordered(rows: Any, columns: Sequence[str]) -> list[Any]:
    return [ibis.asc(rows[c], nulls_first=True) for c in columns]
