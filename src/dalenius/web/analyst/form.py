"""A question put together in a form: Python's own words make it, so that it is the same question as in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from dalenius.core.checks import either, shown
from dalenius.errors import InvalidParameter
from dalenius.tables import aggregates as ask
from dalenius.tables.aggregates.aggregate import Aggregate
from dalenius.tables.ask.query import Query, Table

MOST = 20
"""Conditions, groups and numbers in one form."""


class Condition(BaseModel):
    """A row counts only if its column compares so with the value."""

    model_config = ConfigDict(extra="forbid")
    column: str = Field(max_length=200, description="its name")
    compares: str = Field(
        "=", max_length=20, description="one of =, <>, <, <=, >, >=, in, is missing, is not missing"
    )
    value: str = Field("", max_length=1000, description="as typed; for in, values with commas between them")


class Asked(BaseModel):
    """One number of each group."""

    model_config = ConfigDict(extra="forbid")
    what: str = Field(
        max_length=20, description="count, sum, mean, median, quantile, variance, std, count_distinct, ..."
    )
    column: str = Field("", max_length=1000, description="a column, or an expression of columns")
    name: str = Field(
        "", max_length=100, description="its column in the answer; made from the above if left out"
    )
    low: float | None = Field(
        None, description="values are clamped to these bounds; those of the schema if left out"
    )
    high: float | None = Field(None, description="see low")
    level: float | None = Field(None, description="of a quantile: 0.9 for the ninth decile")


class Form(BaseModel):
    """A question as a form has it."""

    model_config = ConfigDict(extra="forbid")
    table: str | None = Field(None, max_length=200, description="of a data set with several tables")
    where: list[Condition] = Field([], max_length=MOST, description="all of them hold of a row that counts")
    by: list[str] = Field(
        [], max_length=MOST, description="columns; their groups are the categories of the schema"
    )
    ask: list[Asked] = Field(min_length=1, max_length=MOST, description="the numbers of each group")


@dataclass(frozen=True)
class What:
    """A kind of number that the form offers, and what it needs."""

    title: str
    make: Callable[..., Aggregate]
    column: str = ""
    """ "number" or "any" kind of column, or "condition"; none if empty."""
    bounds: bool = False
    level: bool = False


WHATS: Mapping[str, What] = {
    "count": What("number of rows", ask.count),
    "mean": What("mean", ask.mean, "number", bounds=True),
    "sum": What("sum", ask.sum, "number", bounds=True),
    "median": What("median", ask.median, "number", bounds=True),
    "quantile": What("quantile", ask.quantile, "number", bounds=True, level=True),
    "std": What("standard deviation", ask.std, "number", bounds=True),
    "variance": What("variance", ask.variance, "number", bounds=True),
    "proportion": What("share of rows where", ask.proportion, "condition"),
    "count_distinct": What("number of people or units", ask.count_distinct),
}
COMPARES = ("=", "<>", "<", "<=", ">", ">=", "in", "is missing", "is not missing")


def question(tables: Table, form: Form) -> Query:
    """The question of a form. What cannot be asked is refused in the words of Python."""
    table = tables if form.table is None else tables[form.table]
    for condition in form.where:
        table = table.filter(_condition(table, condition))
    asked: dict[str, Aggregate] = {}
    for each in form.ask:
        name = each.name.strip() or _name(each, asked)
        if name in asked:
            raise InvalidParameter.of("ask", f"two numbers are called {shown(name)}; give each its own name.")
        asked[name] = _aggregate(each)
    return (table.group_by(*form.by) if form.by else table).agg(**asked)


def _name(asked: Asked, taken: Mapping[str, Any]) -> str:
    plain = "".join(sign if sign.isalnum() else "_" for sign in asked.column).strip("_")
    first = "_".join(part for part in ("n" if asked.what == "count" else asked.what, plain[:40]) if part)
    return next(
        name for n in range(1, MOST + 2) if (name := first if n == 1 else f"{first}_{n}") not in taken
    )


def _aggregate(asked: Asked) -> Aggregate:
    what = WHATS.get(asked.what)
    if what is None:
        raise InvalidParameter.of("what", f"what is {shown(asked.what)}; it must be {either(list(WHATS))}.")
    given: dict[str, Any] = {}
    if (asked.low is None) != (asked.high is None):
        raise InvalidParameter.of(
            "low", f"the {what.title} has one bound; give both, or none for those of the schema."
        )
    if asked.low is not None:
        if not what.bounds:
            raise InvalidParameter.of("low", f"the {what.title} takes no bounds; leave them out.")
        given["bounds"] = (asked.low, asked.high)
    if (asked.level is not None) != what.level:
        needs = "needs a level, as 0.9" if what.level else "takes no level; leave it out"
        raise InvalidParameter.of("level", f"the {what.title} {needs}.")
    if what.level:
        given["level"] = asked.level
    column = asked.column.strip()
    if bool(column) != bool(what.column):
        needs = "is of a column; choose one" if what.column else "is of no column; leave it empty"
        raise InvalidParameter.of("column", f"the {what.title} {needs}.")
    return what.make(column, **given) if column else what.make(**given)


def _condition(table: Table, condition: Condition) -> str:
    compares = condition.compares.strip().lower()
    if compares not in COMPARES:
        raise InvalidParameter.of(
            "compares", f"compares is {shown(condition.compares)}; it must be {either(COMPARES)}."
        )
    scope = table.scope()
    name = scope.resolve(condition.column)
    column = quoted(name)
    if compares in ("is missing", "is not missing"):
        return f"{column} IS {'NOT ' if 'not' in compares else ''}NULL"
    kind = scope.column(name).kind or ""
    if kind == "timestamp":
        column, kind = f"CAST({column} AS DATE)", "date"
    if compares == "in":
        values = [part.strip() for part in condition.value.split(",") if part.strip()]
        if not values:
            raise InvalidParameter.of("value", f"{name} in: give values with commas between them.")
        return f"{column} IN ({', '.join(literal(name, kind, value) for value in values)})"
    return f"{column} {compares} {literal(name, kind, condition.value)}"


def quoted(name: str) -> str:
    """A column's name inside an expression, whatever its letters."""
    return '"' + name.replace('"', '""') + '"'


def literal(name: str, kind: str, value: str) -> str:
    """A value as the column's kind writes it; what is typed is never read as more than a value."""
    typed = value.strip()
    if kind in ("integer", "number"):
        try:
            number = float(typed)
        except ValueError:
            raise InvalidParameter.of(
                "value", f"{name} is compared with {shown(typed)}; it holds numbers."
            ) from None
        if number != number or number in (float("inf"), float("-inf")):
            raise InvalidParameter.of(
                "value", f"{name} is compared with {shown(typed)}; it holds finite numbers."
            )
        return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)
    if kind == "bool":
        if typed.lower() not in ("true", "false"):
            raise InvalidParameter.of(
                "value", f"{name} is compared with {shown(typed)}; it is true or false."
            )
        return typed.upper()
    text = "'" + value.replace("'", "''") + "'"
    if kind == "date":
        return "DATE '" + typed.replace("'", "''") + "'"
    return text
