"""The same answers computed row by row in plain Python, sharing no code with the engines.

Only what is public is taken from the package: the question, its measures and their grids. Arithmetic is that of
Python's floats, so values must be of ordinary size (nothing is tamed here).
"""

from __future__ import annotations

import datetime
import hashlib
import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from sqlglot import exp, parse_one

from dalenius.tables.ask.query import Query
from dalenius.tables.facts.keys import Discover, Keys
from dalenius.tables.facts.schema import Impute, Nulls
from dalenius.tables.facts.unit import Unit
from dalenius.tables.measures.bins import Bins
from dalenius.tables.measures.gridding import Value
from dalenius.tables.measures.measure import Measure, units
from dalenius.tables.rows.steps import Compute, Filter

Row = dict[str, Any]


def evaluate(rows: Iterable[Row], query: Query, unit: Unit) -> tuple[list[Any], dict[Measure, list[Any]]]:
    """The keys, and for every measure its integers by group."""
    wanted = list(query.measures)
    discovered = isinstance(query.keys, Discover)
    if discovered and units() not in wanted:
        wanted.append(units())
    columns = _columns(wanted)
    projected = []
    for row in rows:
        if any(row[column] is None for column in unit.columns):
            continue
        seen = _steps(dict(row), query)
        if seen is None:
            continue
        key = tuple(_declared(seen, name, query.table.schema.policy(name)) for name in query.columns)
        if None in key or (isinstance(query.keys, Keys) and key not in query.keys.rows):
            continue
        content = tuple(_content(column, seen, query) for column in columns)
        projected.append((tuple(row[column] for column in unit.columns), key, content))
    if unit.column is not None:
        only_units = all(m.kind == "units" for m in wanted)
        projected = _bounded(projected, query, unit, only_units)
    groups: dict[Any, list[Any]] = defaultdict(list)
    for who, key, content in projected:
        groups[key].append((who, dict(zip(columns, content, strict=True))))
    if discovered:
        keys = sorted(groups)
    elif query.keys is None:
        keys = [()]
    else:
        keys = list(query.keys.rows)
    return keys, {m: [_measured(m, groups[key], unit) for key in keys] for m in wanted}


def _columns(wanted: list[Measure]) -> list[Value | Bins | str]:
    values: list[Value | Bins | str] = list(dict.fromkeys(v for m in wanted for v in m.values))
    bins = list(dict.fromkeys(m.bins for m in wanted if m.bins is not None))
    shown = {c.text for c in (*values, *bins) if c.nullable}
    texts = [t for t in dict.fromkeys(t for m in wanted for t in m.given) if t not in shown]
    return [*values, *bins, *texts]


def _steps(row: Row, query: Query) -> Row | None:
    schema = query.table.schema
    for step in query.table.steps:
        if isinstance(step, Filter):
            if compute(step.condition, row, schema.policy) is not True:
                return None
        elif isinstance(step, Compute):
            row[step.name] = compute(step.text, row, schema.policy)
        else:
            ours = tuple(row[a] for a, _ in step.on)
            theirs = [b for _, b in step.on]
            match = [r for r in step.table.arrow.to_pylist() if tuple(r[b] for b in theirs) == ours]
            if None in ours or not match:
                if step.how == "inner":
                    return None
                match = [dict.fromkeys(step.table.names)]
            row |= {name: value for name, value in match[0].items() if name not in theirs}
    return row


def _content(column: Value | Bins | str, row: Row, query: Query) -> int | None:
    policy = query.table.schema.policy
    if isinstance(column, str):
        return None if compute(column, row, policy) is None else 1
    bare = parse_one(column.text, read="duckdb")
    if isinstance(bare, exp.Column):
        x = _declared(row, bare.name, column.nulls)
    else:
        x = compute(column.text, row, policy)
        x = column.nulls.value if x is None and isinstance(column.nulls, Impute) else x
    if x is None and column.nulls == "never":
        x = column.lower
    if x is None:
        return None
    if isinstance(x, bool):
        x = int(x)
    return column.bin(float(x)) if isinstance(column, Bins) else column.unit(x)


def _declared(row: Row, name: str, nulls: Nulls | None) -> Any:
    x = row[name]
    if isinstance(x, float) and math.isnan(x):
        x = None
    return nulls.value if x is None and isinstance(nulls, Impute) else x


PRIME, POINT, TWIST = 2**31 - 1, 1_640_531_527, 748_300_249


def _remainder(x: int) -> int:
    return int(math.copysign(abs(x) % PRIME, x))


def mix(integers: list[int]) -> int:
    state, *others = (_remainder(x) for x in integers)
    for x in others:
        state = _remainder(state * POINT + x)
    return _remainder(state * (state + TWIST))


def _bounded(rows: list[Any], query: Query, unit: Unit, only_units: bool) -> list[Any]:
    by_unit: dict[Any, list[Any]] = defaultdict(list)
    for row in dict.fromkeys(rows) if only_units else rows:
        by_unit[row[0]].append(row)
    kept = []
    for who, own in by_unit.items():
        integers = [_integer(part) for part in who]
        seed = integers[0] if len(integers) == 1 else mix(integers)
        most = unit.max_groups if only_units else unit.max_rows
        if query.columns and unit.max_groups < most:
            groups = sorted(
                {key for _, key, _ in own},
                key=lambda key: (mix([seed, *_mixed(key, query)]), _order(key, query)),
            )
            chosen = set(groups[: unit.max_groups])
            own = [row for row in own if row[1] in chosen]

        def rank(row: Any, seed: int = seed) -> Any:
            _, key, content = row
            plain = [-1 if x is None else x for x in content]
            nulls_first = [(x is not None, x or 0) for x in content]
            return mix([seed, *_mixed(key, query), *plain]), _order(key, query), nulls_first

        kept += sorted(own, key=rank)[:most]
    return kept


def _mixed(key: Any, query: Query) -> list[int]:
    if not query.columns:
        return []
    return [query.keys.rows.index(key)] if isinstance(query.keys, Keys) else [_integer(x) for x in key]


def _order(key: Any, query: Query) -> Any:
    return (_mixed(key, query), [x for x in key if isinstance(x, str)])


def _integer(x: Any) -> int:
    if isinstance(x, str):
        return int(hashlib.sha256(x.encode()).hexdigest()[:6], 16)
    if isinstance(x, datetime.date):
        return x.year * 10_000 + x.month * 100 + x.day
    return int(x)


def _measured(measure: Measure, rows: list[Any], unit: Unit) -> Any:
    if measure.kind == "units":
        return len(rows) if unit.column is None else len({who for who, _ in rows})

    def there(content: dict[Any, Any], text: str) -> bool:
        for column, x in content.items():
            same = column == text if isinstance(column, str) else column.text == text and column.nullable
            if same:
                return x is not None
        raise AssertionError(f"nothing shows whether {text} is there")

    rows = [content for _, content in rows if all(there(content, text) for text in measure.given)]
    if measure.kind == "count":
        return len(rows)
    if measure.bins is not None:
        counts = [0] * measure.bins.size
        for content in rows:
            counts[content[measure.bins]] += 1
        return counts
    if measure.kind == "sum":
        (value,) = measure.values
        return sum(content[value] + value.centre - measure.origin for content in rows)
    a, b = measure.values
    return sum(content[a] * content[b] for content in rows)


# Expressions


def compute(text: str, row: Row, policy: Callable[[str], Nulls | None]) -> Any:
    return _compute(parse_one(text, read="duckdb"), row, policy)


BINARY: dict[type, Callable[[Any, Any], Any]] = {
    exp.Add: lambda a, b: float(a) + float(b),
    exp.Sub: lambda a, b: float(a) - float(b),
    exp.Mul: lambda a, b: float(a) * float(b),
    exp.Div: lambda a, b: None if b == 0 else float(a) / float(b),
    exp.Mod: lambda a, b: int(math.fmod(a, b)),
    exp.EQ: lambda a, b: a == b,
    exp.NEQ: lambda a, b: a != b,
    exp.LT: lambda a, b: a < b,
    exp.LTE: lambda a, b: a <= b,
    exp.GT: lambda a, b: a > b,
    exp.GTE: lambda a, b: a >= b,
}


def _compute(tree: Any, row: Row, policy: Callable[[str], Nulls | None]) -> Any:
    def go(part: Any) -> Any:
        return _compute(part, row, policy)

    if isinstance(tree, exp.Column):
        return _declared(row, tree.name, policy(tree.name))
    if isinstance(tree, exp.Literal):
        return tree.this if tree.is_string else int(tree.this) if tree.this.isdigit() else float(tree.this)
    if isinstance(tree, exp.Boolean):
        return bool(tree.this)
    if isinstance(tree, exp.Null):
        return None
    if isinstance(tree, exp.Paren):
        return go(tree.this)
    if isinstance(tree, exp.And | exp.Or):
        a, b = go(tree.this), go(tree.expression)
        decisive = isinstance(tree, exp.Or)
        if decisive in (a, b):
            return decisive
        return None if a is None or b is None else not decisive
    if isinstance(tree, exp.Not):
        inner = go(tree.this)
        return None if inner is None else not inner
    if isinstance(tree, exp.Is):
        return go(tree.this) is None
    if isinstance(tree, exp.In):
        x = go(tree.this)
        return None if x is None else x in [go(v) for v in tree.expressions]
    if isinstance(tree, exp.Between):
        x, low, high = go(tree.this), go(tree.args["low"]), go(tree.args["high"])
        return None if x is None else low <= x <= high
    if isinstance(tree, exp.Case | exp.If):
        ifs = tree.args["ifs"] if isinstance(tree, exp.Case) else [tree]
        for branch in ifs:
            if go(branch.this) is True:
                return go(branch.args["true"])
        default = tree.args.get("default") if isinstance(tree, exp.Case) else tree.args.get("false")
        return None if default is None else go(default)
    if isinstance(tree, exp.Coalesce):
        return next((v for v in map(go, (tree.this, *tree.expressions)) if v is not None), None)
    if isinstance(tree, exp.Nullif):
        x = go(tree.this)
        return None if x == go(tree.expression) else x
    if isinstance(tree, exp.Least | exp.Greatest):
        found = [v for v in map(go, (tree.this, *tree.expressions)) if v is not None]
        return (min if isinstance(tree, exp.Least) else max)(found, default=None)
    if isinstance(tree, exp.Cast):
        return float(go(tree.this)) if go(tree.this) is not None else None
    if isinstance(tree, exp.Neg | exp.Abs | exp.Floor | exp.Ceil | exp.Sqrt):
        x = go(tree.this)
        return None if x is None else _one(tree, x)
    x, y = go(tree.this), go(tree.expression)
    return None if x is None or y is None else BINARY[type(tree)](x, y)


def _one(tree: Any, x: Any) -> Any:
    if isinstance(tree, exp.Neg):
        return -float(x)
    if isinstance(tree, exp.Abs):
        return abs(float(x))
    if isinstance(tree, exp.Sqrt):
        return math.sqrt(x) if x >= 0 else None
    return math.floor(x) if isinstance(tree, exp.Floor) else math.ceil(x)
