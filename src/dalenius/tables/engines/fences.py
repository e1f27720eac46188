"""Fences between a query and the queries inside of it: what one of them computes is computed once a row.

PostgreSQL and SQLite would otherwise write an inner query's columns out wherever the outer one mentions them, and those
of the queries inside of that again: ten mentions of ten mentions are a hundred evaluations of each row. Neither merges
a query that has a limit of its own, even one that leaves nothing out, with one outside that has one too. DuckDB keeps
projections apart. So does Spark where a column is mentioned more than once, but for fractions and filters that it moves
to where the data is.
"""

from __future__ import annotations

from typing import Any

import sqlglot.expressions as sge


def fenced(statement: Any, **limits: int) -> Any:
    """A SELECT in which every query has these limits. limits: `offset=0`, `limit=-1`."""
    statement = statement.copy()  # Ibis has one node in several places
    for query in statement.find_all(sge.Select):
        for part, number in limits.items():
            fence = sge.Offset if part == "offset" else sge.Limit
            query.set(part, fence(expression=sge.Literal.number(number)))
    return statement
