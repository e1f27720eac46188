"""The operations that questions are made of, all total; nothing else is handed to an engine.

An operation is total when it has a value (or null) for every argument it can meet: no row can make it fail. Most are so
in every engine. Those that are not are total on the arguments `terms`, `gridding` and `bins` give them, whatever the
order of evaluation, because what would make them fail is taken out of the argument itself:

    +  -  *  /      of doubles: magnitudes within 2^-1000 and 2^1000 (terms.tame, TooFar): no overflow, no underflow (an
                    error in PostgreSQL); below / there is NULLIF(x, 0)
    +  -  *  %      of integers: within 63 bits (gridding's clamped steps, bounding.mix); % by a positive constant
    FLOOR, CEIL     to 64-bit integers: of doubles clamped to 2^62 at most
    SQRT            of CASE WHEN x >= 0 THEN x END
    EXP             of doubles clamped to 30 either way (compute.totals)
    year, month, …  of dates and timestamps within the years 1 to 9999 (reading); so are their beginnings (spelling)
    CAST            only as listed: to a wider type, of a constant, of a timestamp to its date, of a truth value
    SUM             of integers with room for all rows (engine.ROWS)

`check` walks a statement down to the relation it reads from and refuses any operation, or argument type, that is not
listed. What is below that relation is the owner's: a view that fails for a value fails here too (docs/sharp-edges.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ibis.expr.operations as ops

from dalenius.errors import QueryRefused

ANY = "fgisbdtnu0"
"""Doubles, shorter floats (g), integers, text (s), truth values, dates, timestamps, decimals (n), uuids, null (0);
beside these there are lists (l) and bytes (x)."""

COMMON: Mapping[type[Any], str] = {
    **dict.fromkeys((ops.Add, ops.Subtract, ops.Multiply), "fi"),
    ops.Divide: "f",
    ops.Modulus: "i",
    **dict.fromkeys((ops.Abs, ops.Floor, ops.Ceil, ops.Sqrt), "f"),
    **dict.fromkeys((ops.Less, ops.LessEqual, ops.Greater, ops.GreaterEqual), "fidtn"),
    **dict.fromkeys((ops.Equals, ops.NotEquals), "fisbdt"),
    **dict.fromkeys((ops.And, ops.Or, ops.Not), "b"),
    **dict.fromkeys((ops.IsNull, ops.NotNull, ops.SearchedCase, ops.Coalesce), ANY),
    ops.NullIf: "fisbdt",
    **dict.fromkeys((ops.Least, ops.Greatest), "fi"),
    ops.InValues: "isbd",
    **dict.fromkeys((ops.ExtractYear, ops.ExtractQuarter, ops.ExtractMonth, ops.ExtractDay), "dt"),
    ops.ExtractWeekOfYear: "d",
    **dict.fromkeys((ops.ExtractHour, ops.ExtractMinute, ops.ExtractSecond), "t"),
    **dict.fromkeys((ops.StringContains, ops.StartsWith, ops.EndsWith), "s"),
    ops.Literal: "",
}
"""What expressions compile to, the same on every engine; and the types of arguments."""

SUMMED: Mapping[type[Any], str] = {
    ops.Sum: "i",
    ops.Count: ANY,
    ops.CountStar: ANY,
    ops.CountDistinct: "isu",
    **dict.fromkeys((ops.RowNumber, ops.DenseRank), ""),
    **dict.fromkeys((ops.WindowFunction, ops.SortKey), "isfbdt"),
}
"""What rows are counted, ranked and summed by."""

SCORED: Mapping[type[Any], str] = {ops.Exp: "f"}
"""What the steps of a fit also need. Engines may differ in the last bit of it."""

CASTS = frozenset({"ii", "if", "ff", "gf", "nf", "bi", "us", "td", "dd"})
"""From what to what; text only when it is a constant of the question."""

ON_GRIDS = frozenset({"fi"})
"""Beside these, outside of expressions: doubles clamped to a grid, whole and within 2^62."""

RELATIONS = (
    *(ops.Project, ops.Filter, ops.JoinChain, ops.JoinLink, ops.JoinReference),
    *(ops.Aggregate, ops.Distinct, ops.DropColumns, ops.InMemoryTable),
)


def check(
    expression: Any,
    listed: Mapping[type[Any], str] = COMMON,
    functions: Mapping[str, str] | None = None,
    casts: frozenset[str] = CASTS,
    given: Any = None,
) -> None:
    """Refuse an Ibis expression with an operation that is not listed. given: the relations the walk stops at."""
    relations = () if given is None else given if isinstance(given, tuple) else (given,)
    stack, seen = [expression.op()], {relation.op() for relation in relations}
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, ops.Field):
            if given is not None:
                stack.append(node.rel)
            continue
        if not _total(node, listed, functions or {}, casts):
            types = [str(child.dtype) for child in node.__children__ if isinstance(child, ops.Value)]
            raise QueryRefused(
                f"{type(node).__name__} of {', '.join(types)} is not among the operations known to be total."
            )
        stack.extend(node.__children__)


def _total(
    node: Any, listed: Mapping[type[Any], str], functions: Mapping[str, str], casts: frozenset[str]
) -> bool:
    if isinstance(node, ops.Limit):
        return bool(node.n == 2**62 and node.offset == 0)  # all rows; which ones are taken would be chance
    if not isinstance(node, ops.Value):
        return type(node) in RELATIONS
    arguments = [letter(child.dtype) for child in node.__children__ if isinstance(child, ops.Value)]
    if isinstance(node, ops.Cast):
        constant = isinstance(node.arg, ops.Literal)
        return constant or arguments[0] + letter(node.to) in casts
    is_function = isinstance(node, ops.ScalarUDF)
    allowed = functions.get(node.__func_name__) if is_function else listed.get(type(node))
    return allowed is not None and set(arguments) <= set(allowed)


def letter(dtype: Any) -> str:
    """The kind of a type, as one letter; "?" for one that nothing is computed of."""
    if dtype.is_floating():
        return "f" if dtype.is_float64() else "g"
    signs = {
        "i": dtype.is_integer(),
        "s": dtype.is_string(),
        "b": dtype.is_boolean(),
        "d": dtype.is_date(),
        "t": dtype.is_timestamp(),
        "n": dtype.is_decimal(),
        "u": dtype.is_uuid(),
        "x": dtype.is_binary(),
        "l": dtype.is_array(),
        "0": dtype.is_null(),
    }
    return next((sign for sign, holds in signs.items() if holds), "?")
