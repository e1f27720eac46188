"""Calls of aggregates: from a function in SQL to the aggregate that it asks for."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from dalenius.core.nearest import meant
from dalenius.errors import QueryRefused
from dalenius.tables.aggregates import Aggregate, named
from dalenius.tables.rows.expressions import DIALECT, quoted, written
from dalenius.tables.sql.select import plain

EXTREMES = "the least and the greatest value belong to one person; use bounds(...) or a quantile such as 0.01"
REFUSED: Mapping[type, str] = {
    exp.Min: EXTREMES,
    exp.Max: EXTREMES,
    exp.ArrayAgg: "a list of values shows rows of the data",
    exp.GroupConcat: "a list of values shows rows of the data",
    exp.AnyValue: "it shows a row of the data",
    exp.First: "it shows a row of the data",
    exp.Last: "it shows a row of the data",
}


@dataclass(frozen=True, eq=False)
class Order:
    """WITHIN GROUP (ORDER BY text)."""

    text: str
    descending: bool


@dataclass(frozen=True, eq=False)
class Call:
    """A function and its arguments, for an aggregate to read. unit: the id of units, where they have one."""

    tree: Any
    name: str
    arguments: tuple[Any, ...]
    unit: str | None = None
    order: Order | None = None

    def __str__(self) -> str:
        return written(self.tree)

    def at_most(self, most: int) -> Call:
        """The call, if it has no more arguments."""
        if len(self.arguments) > most:
            raise QueryRefused(
                f"{self.name} takes {most or 'no'} argument{'s' * (most != 1)}, not {len(self.arguments)}."
            )
        return self

    def text(self, n: int) -> str:
        """An argument as an expression."""
        return text_of(self._argument(n))

    def number(self, n: int) -> float:
        """An argument that must be a number."""
        return _number(self._argument(n))

    def bounds(self, first: int, end: int | None = None) -> tuple[float, float] | None:
        """Two numbers from there on, if anything is there."""
        found = self.arguments[first:end]
        if not found:
            return None
        if len(found) != 2:
            raise QueryRefused("bounds are two numbers after the argument: mean(income, 0, 250000).")
        return _number(found[0]), _number(found[1])

    def constants(self, first: int) -> list[Any]:
        """Text, whole numbers, dates, or TRUE and FALSE, from there on."""
        return [_constant(tree) for tree in self.arguments[first:]]

    @cached_property
    def column_names(self) -> list[str | None]:
        """The columns that the arguments are; None for one that is more than a column."""
        return [tree.name if isinstance(tree, exp.Column) else None for tree in self.arguments]

    def _argument(self, n: int) -> Any:
        if n >= len(self.arguments):
            raise QueryRefused(f"{self} lacks an argument.")
        return self.arguments[n]


def aggregate(tree: Any, unit: str | None = None) -> Aggregate:
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
    kind = named().get(call.name)
    if kind is None:
        raise _unknown(tree)
    return kind.from_sql(call)


def _call(tree: Any, unit: str | None) -> Call:
    if isinstance(tree, exp.Count):
        return _count(tree, unit)
    if isinstance(tree, exp.WithinGroup):
        return _within_group(tree)
    if isinstance(tree, exp.Anonymous):
        plain(tree, "this", "expressions")
        return Call(tree, str(tree.this).lower(), tuple(tree.expressions), unit)
    raise _unknown(tree)


def _unknown(tree: Any) -> QueryRefused:
    known = ", ".join(sorted(name for name in named() if name.isidentifier() and "percentile" not in name))
    called = str(tree.this).lower() if isinstance(tree, exp.Anonymous) else ""
    close = meant(called, named())
    hint = "there are" if close is None else f"did you mean {close}? There are"
    return QueryRefused(f"{written(tree)} is not an aggregate that can be released; {hint} {known}.")


def _count(tree: Any, unit: str | None) -> Call:
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


def text_of(tree: Any) -> str:
    """An expression as text, which says all that the tree does."""
    if isinstance(tree, exp.Column) and not tree.table and tree.this.args.get("quoted"):
        return quoted(tree.name)
    text = written(tree)
    try:
        # What the parser reads and the writer leaves out, IGNORE NULLS for one, would be passed over.
        whole = tree.find(exp.Anonymous) is not None or parse_one(text, read=DIALECT) == _with_cases(tree)
    except SqlglotError:
        whole = False
    if not whole:
        raise QueryRefused(f"{tree.sql()} is written in a way that is not available; use its plain form.")
    return text


def _with_cases(tree: Any) -> Any:
    """IF(a, b, c) is written as CASE WHEN a THEN b ELSE c END."""

    def case(node: Any) -> Any:
        if not isinstance(node, exp.If) or isinstance(node.parent, exp.Case):
            return node
        branch = exp.If(this=node.this, true=node.args["true"])
        return exp.Case(ifs=[branch], default=node.args.get("false"))

    return tree.copy().transform(case)


def _number(tree: Any) -> float:
    sign = 1.0
    while isinstance(tree, exp.Neg | exp.Paren):
        sign = -sign if isinstance(tree, exp.Neg) else sign
        tree = tree.this
    if not isinstance(tree, exp.Literal) or tree.is_string:
        raise QueryRefused(f"{written(tree)} must be a number.")
    return sign * float(tree.this)


def _constant(tree: Any) -> Any:
    """A literal as a constant of Python."""
    if isinstance(tree, exp.Boolean):
        return bool(tree.this)
    if isinstance(tree, exp.Literal) and tree.is_string:
        return tree.this
    if isinstance(tree, exp.Cast) and tree.is_type("date") and isinstance(tree.this, exp.Literal):
        try:
            return datetime.date.fromisoformat(tree.this.this)
        except ValueError:
            raise QueryRefused(f"{written(tree)} is not a date; write it like DATE '2024-12-31'.") from None
    found = _number(tree)
    return int(written(tree)) if written(tree).lstrip("-").isdigit() else found
