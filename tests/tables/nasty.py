"""A table of everything that makes engines disagree or fail, and questions about it.

Doubles at both ends of their range, NaN and infinities, integers at the ends of 64 bits, null everywhere, text beyond
ASCII, dates, decimals; ids that are null, negative, text.
"""

from __future__ import annotations

import datetime
import math
import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa

from dalenius.tables import (
    Query,
    Schema,
    Table,
    Unit,
    bounds,
    correlation,
    count,
    count_distinct,
    covariance,
    discover,
    histogram,
    impute,
    mean,
    median,
    proportion,
    quantiles,
    std,
    sum,
    variance,
)

SCHEMA = Schema(nulls="drop")
TYPES = {
    "id": (pa.int64(), "bigint"),
    "name": (pa.string(), "text"),
    "a": (pa.float64(), "double precision"),
    "i": (pa.int64(), "bigint"),
    "h": (pa.int16(), "smallint"),
    "f": (pa.float32(), "real"),
    "d": (pa.date32(), "date"),
    "t": (pa.timestamp("us"), "timestamp"),
    "k": (pa.string(), "text"),
    "g": (pa.int32(), "integer"),
    "flag": (pa.bool_(), "boolean"),
    "dec": (pa.decimal128(12, 2), "numeric(12,2)"),
}


def arrow(rows: int = 300, seed: int = 1) -> pa.Table:
    rnd = random.Random(seed)
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(n) for n in (-800, -31, 0, 59, 60, 365, 800)]
    moments = [datetime.datetime(day.year, day.month, day.day, 23, 59, 59) for day in days]
    doubles = [None, math.nan, math.inf, -math.inf, 0.0, -0.0, 1e308, -1e308, 5e-324, -5e-324, 1e-200, 1e150]
    doubles += [0.1, 0.3, 2.5, -2.5, 0.15, 123456.789, *(rnd.uniform(-10, 10) for _ in range(20))]
    whole = [None, 2**63 - 1, -(2**63), 0, 1, -1, 7, 2**53 + 1, *(rnd.randrange(-20, 100) for _ in range(20))]
    pools: dict[str, list[Any]] = {
        "id": [None, *range(-5, 30)],
        "name": [None, "", "é", "a", "b", "Z", "z", "ü€", "o'b\"\\", "𝄞"],
        "a": doubles,
        "i": whole,
        "h": [None, *range(-3, 40)],
        "f": [None, math.nan, 0.1, 0.2, -7.5, 1e38, 1e-40],
        "d": [None, *days],
        "t": [None, *moments],
        "k": [None, "x", "y", "z", "é"],
        "g": [None, 1, 2, 3, 9],
        "flag": [None, True, False],
        "dec": [None, Decimal("1.25"), Decimal("-99.99"), Decimal("9999999999.99"), Decimal("0.07")],
    }
    schema = pa.schema([(name, kind) for name, (kind, _) in TYPES.items()])
    return pa.table({name: [rnd.choice(pools[name]) for _ in range(rows)] for name in TYPES}, schema=schema)


AROUND = (-5, 5)
KEYS = ["x", "é", "absent"]
REGIONS = {"k": ["x", "y", "é"], "area": [1.5, 2.5, 0.0], "region": ["n", "s", "n"]}

NUMBERS = [
    *(
        "a",
        "i",
        "h",
        "f",
        "dec",
        "a + i",
        "a * i",
        "a / i",
        "a * a * a * a",
        "a / (a - a)",
        "dec * 2 - a",
        "f * f",
    ),
    *("sqrt(a)", "abs(a)", "abs(i)", "-a", "-i", "floor(a)", "ceil(a * 1000)", "i % 7", "least(a, i, 2)"),
    *(
        "greatest(a, f)",
        "coalesce(a, i, 0)",
        "nullif(i, 1)",
        "f + 0.1",
        "(a + f) * (a - f) / i",
        "i * i * i * i",
    ),
    *("year(d)", "extract(month from t)", "extract(quarter from d)", "day(d)", "cast(flag as integer)"),
    *("case when a > 1 then i when flag then h else a end", "if(k = 'x', 1, 0)", "cast(h as double) / 3"),
]
CONDITIONS = [
    *(
        "a >= 1",
        "i < 5",
        "a < i",
        "h >= i",
        "f = 0.1",
        "a in (2.5, 0.1)",
        "i in (1, 7)",
        "dec > 1.25",
        "a * 2 > f",
    ),
    *(
        "k = 'é'",
        "k <> 'x'",
        "k in ('x', 'y')",
        "name = 'o''b\"\\'",
        "name like 'ü%'",
        "name like '%€'",
        "name like '%b%'",
    ),
    *(
        "flag",
        "not flag",
        "flag = true",
        "a > 1 or flag",
        "a is null",
        "a is not null and i is null",
        "a between 0 and 1",
    ),
    *(
        "d >= '2020-03-01'",
        "d between date '2019-01-01' and date '2020-06-01'",
        "cast(t as date) = d",
        "year(t) = 2020",
    ),
]

Case = tuple[str, Callable[[Table], Query], Unit]


def cases() -> list[Case]:
    """(name, question, unit): every aggregate, every rule of the language, every kind of key and unit."""
    by_id = Unit("id", max_rows=3, max_groups=2)
    by_name = Unit("name", max_rows=5, max_groups=1)
    found: list[Case] = []

    def add(name: str, ask: Callable[[Table], Query], unit: Unit) -> None:
        found.append((name, ask, unit))

    for start in range(0, len(NUMBERS), 6):
        some = NUMBERS[start : start + 6]
        add(
            f"sums {start}",
            lambda t, some=some: t.agg(**{f"s{n}": sum(x, AROUND) for n, x in enumerate(some)}),
            Unit.rows(),
        )
        add(
            f"squares {start}",
            lambda t, some=some: t.group_by("k", keys=KEYS).agg(
                n=count(), **{f"v{n}": variance(x, (-1000, 100_000)) for n, x in enumerate(some)}
            ),
            by_id,
        )
    for start in range(0, len(CONDITIONS), 5):
        some = CONDITIONS[start : start + 5]
        add(
            f"conditions {start}",
            lambda t, some=some: t.group_by("g", keys=[9, 1, 77]).agg(
                n=count(), **{f"p{n}": proportion(x) for n, x in enumerate(some)}
            ),
            by_name,
        )
    for condition in ("a >= 1", "name like '%€' or f > 0", "d >= '2020-03-01' and not flag"):
        add(
            f"filter {condition}",
            lambda t, condition=condition: t.filter(condition).agg(n=count(), m=mean("a", AROUND)),
            by_id,
        )
    for x in ("a", "i", "f", "a / i"):
        add(f"histogram {x}", lambda t, x=x: t.agg(h=histogram(x, 7, (-1, 1)), n=count(x)), by_id)
        add(
            f"quantiles {x}",
            lambda t, x=x: t.agg(q=quantiles(x, [0.1, 0.5], AROUND), s=std(x, AROUND)),
            Unit.rows(),
        )
    add(
        "edges",
        lambda t: t.agg(h=histogram("a", edges=[-1, 0, 0.1, 0.3, 2.5]), m=median("h", (0, 40))),
        Unit.rows(),
    )
    add("bounds", lambda t: t.agg(b=bounds("a"), c=bounds("i")), Unit.rows())
    add(
        "together",
        lambda t: t.group_by("k", "g", keys={"k": ["x", "y"], "g": [1, 2]}).agg(
            c=covariance("a", "i", AROUND, AROUND),
            r=correlation("a", "h", AROUND, (0, 40)),
            u=count_distinct(),
        ),
        by_id,
    )
    add("units", lambda t: t.group_by("k", keys=KEYS).agg(u=count_distinct()), by_id)
    add("dates", lambda t: t.group_by("d", keys=[datetime.date(2020, 1, 1)]).agg(n=count("a")), Unit.rows())
    add("truth", lambda t: t.group_by("flag", keys=[True, False]).agg(n=count(), m=mean("a > 0")), by_name)
    add(
        "discovered",
        lambda t: t.group_by("k", "g", keys=discover()).agg(n=count(), m=mean("a", AROUND)),
        by_id,
    )
    add(
        "discovered units",
        lambda t: t.group_by("name", "d", "flag", keys=discover()).agg(u=count_distinct()),
        by_id,
    )
    add(
        "imputed",
        lambda t: t.agg(
            m=mean("a", AROUND, nulls=impute(3)),
            n=mean("i", AROUND, nulls="never"),
            o=mean("a * i", AROUND, nulls=impute(1)),
            c=covariance("a", "i", AROUND, AROUND, nulls=impute(2)),
        ),
        by_name,
    )
    add(
        "joined",
        lambda t: (
            t.join_public(REGIONS, on="k")
            .with_columns(per="a / area", big="per > 1")
            .filter("region <> 'q'")
            .group_by("region", keys=["n", "s"])
            .agg(n=count(), m=mean("per", AROUND), p=proportion("big"))
        ),
        by_id,
    )
    add(
        "left",
        lambda t: t.join_public({"key": ["x"], "area": [2.0]}, on={"k": "key"}, how="left").agg(
            n=count(), c=count("area"), m=mean("a * area", AROUND)
        ),
        by_id,
    )
    return found
