"""The same statement without deep nesting: SQLite before 3.46 parses no more than a hundred levels of it.

Queries inside of queries become common table expressions, one beside the other, and what is deep within an expression
becomes a column of one more such table.
"""

from __future__ import annotations

from typing import Any

import sqlglot.expressions as sge
from sqlglot.optimizer.eliminate_subqueries import eliminate_subqueries

DEEP = 12
"""Levels of one expression; each takes up to five of the parser's."""

WHOLE = (sge.AggFunc, sge.Window, sge.Star)


def flat(statement: Any) -> Any:
    """A SELECT, flattened."""
    statement = eliminate_subqueries(statement.copy())  # Ibis has one node in several places
    given = list(statement.ctes)
    tables: list[Any] = []
    for table in given:
        _lift(table.this, tables)
        tables.append(table)
    _lift(statement, tables)
    if tables:
        statement.set("with_", sge.With(expressions=tables))
    return statement


def _lift(select: Any, tables: list[Any]) -> None:
    """Columns for what is deep in a SELECT, in tables that are put before it."""
    source = select.args.get("from_")
    if source is None or select.args.get("joins"):
        return
    while deep := _deep(select):
        table = source.this
        name, alias = f"__flat{len(tables)}", table.alias_or_name
        columns: dict[str, Any] = {}
        for node in deep:
            column = columns.setdefault(
                node.sql("sqlite"), (f"__deep{len(tables)}_{len(columns)}", node.copy())
            )
            node.replace(sge.column(column[0], table=alias, quoted=True))
        selected = [sge.Star(), *(sge.alias_(node, called, quoted=True) for called, node in columns.values())]
        inner = sge.Select(expressions=selected, from_=sge.From(this=table.copy()))
        tables.append(sge.CTE(this=inner, alias=sge.TableAlias(this=sge.to_identifier(name, quoted=True))))
        source.set("this", sge.to_table(name, alias=sge.to_identifier(alias, quoted=True)))


def _deep(select: Any) -> list[Any]:
    """Parts of the expressions that are deep enough to be lifted, and have none within."""
    deep: list[Any] = []
    for root in (*select.expressions, *filter(None, [select.args.get("where")])):
        _height(root, deep)
    return deep


def _height(node: Any, deep: list[Any]) -> int:
    """How many levels an expression has; those that are to be lifted are noted."""
    before = len(deep)
    height = 1 + max((_height(child, deep) for child in node.iter_expressions()), default=0)
    if height >= DEEP and len(deep) == before and _liftable(node):
        deep.append(node)
    return height


def _liftable(node: Any) -> bool:
    return isinstance(node, sge.Condition) and not isinstance(node, sge.If) and not node.find(*WHOLE)
