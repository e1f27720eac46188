"""Public keys that follow from what a column is computed as, and from the bounds of a date column.

CASE WHEN age < 30 THEN 'young' ELSE 'old' END is one of two texts.
EXTRACT(MONTH FROM day) is 1 to 12 whatever the data; DATE_TRUNC('month', day) is one of the months within the bounds
that the schema states for `day`, or in no group. Nothing here looks at a row.
"""

from __future__ import annotations

import datetime
from typing import Any

from sqlglot import exp

from dalenius.tables.facts.dates import SPANS, listed
from dalenius.tables.facts.schema import Schema
from dalenius.tables.rows.calendar import PARTED, PARTS, RANGES, SAME
from dalenius.tables.rows.expressions import parse

FUNCTIONS: dict[type, str] = {
    exp.Year: "YEAR",
    exp.Quarter: "QUARTER",
    exp.Month: "MONTH",
    exp.Week: "WEEK",
    exp.WeekOfYear: "WEEK",
    exp.Day: "DAY",
    exp.DayOfMonth: "DAY",
    exp.DayOfWeek: "DAYOFWEEK",
    exp.DayOfWeekIso: "ISODOW",
    exp.DayOfYear: "DAYOFYEAR",
    exp.Hour: "HOUR",
    exp.Minute: "MINUTE",
    exp.Second: "SECOND",
}
"""EXTRACT, as a function for each part."""


def extracted(tree: Any) -> Any:
    """MONTH(d), DATE_PART('month', d) and EXTRACT(month FROM d) as the last of these: one question has one text."""
    root = exp.Paren(this=tree.copy())
    for node in reversed(list(root.find_all(exp.Extract, exp.Anonymous, *FUNCTIONS))):
        given = [part for part, value in node.args.items() if value]
        word, of = "", node.this
        if isinstance(node, exp.Extract):
            word, of = str(node.this), node.expression
        elif isinstance(node, exp.Anonymous):
            named = str(node.this).upper() in PARTED and len(node.expressions) == 2
            if named and isinstance(node.expressions[0], exp.Literal) and node.expressions[0].is_string:
                word, of = node.expressions[0].this, node.expressions[1]
        elif given == ["this"]:
            word = FUNCTIONS[type(node)]
        word = SAME.get(word.upper(), word.upper())
        if word in PARTS:
            node.replace(exp.Extract(this=exp.var(word), expression=of.copy()))
    return root.this.pop()


def keys_of(text: str, schema: Schema) -> tuple[Any, ...] | None:
    """The keys of an expression in its canonical text; None where none are known."""
    tree = parse(text)
    if isinstance(tree, exp.Case):
        return _outcomes(tree)
    if isinstance(tree, exp.Column) and not tree.table and schema[tree.name].categories is not None:
        return schema[tree.name].categories
    if isinstance(tree, exp.TimestampTrunc | exp.DateTrunc):
        ends = _ends(tree.this, schema)
        named = [span for span in (*SPANS, "day") if span == tree.args["unit"].name.lower()]
        return tuple(listed(named[0], *ends)) if ends and named else None  # type: ignore[arg-type]
    part = str(tree.this).upper() if isinstance(tree, exp.Extract) else FUNCTIONS.get(type(tree))
    if part is not None:
        name = SAME.get(part, part)
        ends = _ends(tree.expression if isinstance(tree, exp.Extract) else tree.this, schema)
        if name == "YEAR":
            return tuple(range(ends[0].year, ends[1].year + 1)) if ends else None
        return tuple(RANGES[name]) if name in RANGES else None
    ends = _ends(tree, schema)
    return tuple(listed("day", *ends)) if ends else None


def _outcomes(tree: Any) -> tuple[Any, ...] | None:
    """What CASE may come to, where all of that are texts and whole numbers."""
    given = [branch.args["true"] for branch in tree.args["ifs"]]
    if tree.args.get("default") is not None:
        given.append(tree.args["default"])
    given = [one for one in given if not isinstance(one, exp.Null)]
    if not all(isinstance(one, exp.Literal) and (one.is_string or one.this.isdigit()) for one in given):
        return None
    return tuple(dict.fromkeys(one.this if one.is_string else int(one.this) for one in given)) or None


def _ends(tree: Any, schema: Schema) -> tuple[datetime.date, datetime.date] | None:
    """The first and the last day of a column, or of its date."""
    while isinstance(tree, exp.Paren | exp.Cast):
        if isinstance(tree, exp.Cast) and tree.args["to"].this != exp.DataType.Type.DATE:
            return None
        tree = tree.this
    return schema[tree.name].days if isinstance(tree, exp.Column) and not tree.table else None
