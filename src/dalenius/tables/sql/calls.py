"""Calls of aggregates: from a function in SQL to the aggregate that it asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlglot import exp

from dalenius.core.nearest import meant
from dalenius.errors import QueryRefused
from dalenius.tables.aggregates import NAMED, Aggregate
from dalenius.tables.aggregates.call import Call, Order, text_of
from dalenius.tables.rows.expressions import written
from dalenius.tables.sql.select import plain

EXTREMES = "the least and the greatest value belong to one person; use bounds(...) or a quantile such as 0.01"
REFUSED: Mapping[type, str] = {
    exp.Min: EXTREMES,
    exp.Max: EXTREMES,
    exp.ArrayAgg: "a list of values shows rows of the data",
    exp.GroupConcat: "a list of values shows rows of the data",
    exp.AnyValue: "it shows a row of the data",
    exp.CountIf: "write SUM(age > 30), or PROPORTION(age > 30) for the share",
    exp.First: "it shows a row of the data",
    exp.Last: "it shows a row of the data",
}


def aggregate(tree: Any, unit: tuple[str, ...] = ()) -> Aggregate:
    """The aggregate a function call asks for."""
    for function, reason in REFUSED.items():
        if isinstance(tree, function):
            raise QueryRefused(f"{written(tree)} is refused: {reason}.")
    if isinstance(tree, exp.Window):
        raise QueryRefused(f"{written(tree)} is refused: window functions look at other rows.")
    if isinstance(tree, exp.Filter):
        raise QueryRefused(
            f"{written(tree)} is refused: write the condition inside, as in SUM(CASE WHEN a > 1 THEN x END), or in "
            "WHERE."
        )
    call = _call(tree, unit)
    kind = NAMED.get(call.name)
    if kind is None:
        raise _unknown(tree)
    return kind.from_sql(call)


def _call(tree: Any, unit: tuple[str, ...]) -> Call:
    if isinstance(tree, exp.Count):
        return _count(tree, unit)
    if isinstance(tree, exp.WithinGroup):
        return _within_group(tree)
    if isinstance(tree, exp.Anonymous):
        plain(tree, "this", "expressions")
        return Call(tree, str(tree.this).lower(), tuple(tree.expressions), unit)
    raise _unknown(tree)


def _unknown(tree: Any) -> QueryRefused:
    made = tree.find(exp.AggFunc)
    if made is not None and made is not tree and not isinstance(tree, exp.Anonymous):
        return QueryRefused(
            f"{written(tree)} is not an aggregate that can be released: it is computed of {written(made)}. Ask for the "
            "aggregates, and compute with the answer: ratio('a', 'b', per=1000), shares('n'), or to_pandas()."
        )
    known = ", ".join(sorted(name for name in NAMED if name.isidentifier() and "percentile" not in name))
    called = str(tree.this).lower() if isinstance(tree, exp.Anonymous) else ""
    close = meant(called, NAMED)
    hint = "there are" if close is None else f"did you mean {close}? There are"
    return QueryRefused(f"{written(tree)} is not an aggregate that can be released; {hint} {known}.")


def _count(tree: Any, unit: tuple[str, ...]) -> Call:
    inner = plain(tree, "this", "expressions", "big_int").this
    if inner is None or isinstance(inner, exp.Star):
        return Call(tree, "count", ())
    if isinstance(inner, exp.Distinct):
        return Call(tree, "count distinct", tuple(inner.expressions), unit)
    return Call(tree, "count", (inner, *tree.expressions))


def _within_group(tree: Any) -> Call:
    function, order = plain(tree, "this", "expression").this, tree.expression
    names = {exp.PercentileCont: "percentile_cont", exp.PercentileDisc: "percentile_disc"}
    if type(function) not in names or not isinstance(order, exp.Order):
        raise QueryRefused(
            f"{written(tree)} is not available; use PERCENTILE_CONT(level) WITHIN GROUP (ORDER BY x)."
        )
    if len(order.expressions) != 1 or function.args.get("expression") is not None:
        raise QueryRefused(f"{written(tree)} is refused: WITHIN GROUP orders by one expression.")
    ordered = order.expressions[0]
    by = Order(text_of(ordered.this), bool(ordered.args.get("desc")))
    return Call(tree, names[type(function)], (function.this,), order=by)
