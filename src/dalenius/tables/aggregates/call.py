"""A call of a function in SQL, as an aggregate reads it: `mean(income, 0, 250000)`."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from dalenius.errors import QueryRefused
from dalenius.tables.rows.calendar import DATES_AS_TEXT, PARTED
from dalenius.tables.rows.expressions import DIALECT, quoted, written


@dataclass(frozen=True, eq=False)
class Order:
    """WITHIN GROUP (ORDER BY text)."""

    text: str
    descending: bool


@dataclass(frozen=True, eq=False)
class Call:
    """A function and its arguments, for an aggregate to read. unit: the columns of the units' id, if any."""

    tree: Any
    name: str
    arguments: tuple[Any, ...]
    unit: tuple[str, ...] = ()
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
        ends = self.arguments[first:end]
        if not ends:
            return None
        if any(isinstance(tree, exp.EQ) for tree in ends):
            raise QueryRefused(
                f"{self} has an argument with a name; there are none here. For adaptive=True, there are "
                "adaptive_median(income, 0, 250000) and adaptive_quantile(income, 0.9, 0, 250000); smooth_median, "
                "proposed_median and so on likewise."
            )
        if len(ends) != 2:
            raise QueryRefused("bounds are two numbers after the argument: mean(income, 0, 250000).")
        return _number(ends[0]), _number(ends[1])

    def listed(self, n: int) -> list[float] | None:
        """An argument that is a list of numbers, ARRAY[0, 5, 10]; None where it is none."""
        tree = self.arguments[n] if n < len(self.arguments) else None
        return [_number(each) for each in tree.expressions] if isinstance(tree, exp.Array) else None

    def constants(self, first: int) -> list[Any]:
        """Text, whole numbers, dates, or TRUE and FALSE, from there on."""
        return [_constant(tree) for tree in self.arguments[first:]]

    @property
    def column_names(self) -> list[str | None]:
        """The columns that the arguments are; None for one that is more than a column."""
        return [tree.name if isinstance(tree, exp.Column) else None for tree in self.arguments]

    def _argument(self, n: int) -> Any:
        if n >= len(self.arguments):
            raise QueryRefused(f"{self} lacks an argument.")
        return self.arguments[n]


def text_of(tree: Any) -> str:
    """An expression as text, which says all that the tree does."""
    if isinstance(tree, exp.Column) and not tree.table and tree.this.args.get("quoted"):
        return quoted(tree.name)
    text = written(tree)
    try:
        # What the parser reads and the writer leaves out, IGNORE NULLS for one, would be passed over.
        unknown = any(call.name.upper() not in PARTED for call in tree.find_all(exp.Anonymous))
        whole = unknown or _bare(parse_one(text, read=DIALECT)) == _bare(_with_cases(tree))
    except SqlglotError:
        whole = False
    if not whole:
        if tree.find(exp.ToChar, exp.TimeToStr) is not None:
            raise QueryRefused(DATES_AS_TEXT)
        raise QueryRefused(f"{text} is written in a way that is not available; use its plain form.")
    return text


def _bare(tree: Any) -> Any:
    """Names without their quotes: the writer puts some around words of SQL's, like "at"."""
    return tree.transform(
        lambda node: exp.Identifier(this=node.this) if isinstance(node, exp.Identifier) else node
    )


def _with_cases(tree: Any) -> Any:
    """As the writer writes some things: IF(a, b, c) as CASE WHEN a THEN b ELSE c END, some parts of dates by another
    word, DATE(t) and the constants of DATE_DIFF as casts, TRIM(BOTH FROM s) as TRIM(s)."""

    def case(node: Any) -> Any:
        if isinstance(node, exp.Extract):  # EXTRACT(DOW ...) as EXTRACT(DAYOFWEEK ...)
            return parse_one(written(node), read=DIALECT)
        if isinstance(node, exp.Date) and not node.expressions and not node.args.get("zone"):
            return exp.cast(node.this, "date", dialect=DIALECT)
        if isinstance(node, exp.Literal) and node.is_string and isinstance(node.parent, exp.DateDiff):
            return node if node.arg_key == "unit" else exp.cast(node, "date", dialect=DIALECT)
        if isinstance(node, exp.Trim) and str(node.args.get("position")).upper() == "BOTH":
            node.set("position", None)
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
        hint = f" Text is written in single quotes: '{tree.name}'." if isinstance(tree, exp.Column) else ""
        raise QueryRefused(f"{written(tree)} must be a number.{hint}")
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
    number = _number(tree)
    return int(written(tree)) if written(tree).lstrip("-").isdigit() else number
