"""Words that the SQL box completes: functions, and the words of a SELECT."""

from __future__ import annotations

from dalenius.tables.aggregates import KINDS

SELECT = (
    "SELECT", "FROM", "WHERE", "GROUP BY", "AS", "AND", "OR", "NOT", "IN", "BETWEEN", "IS NULL", "IS NOT NULL", "CASE",
    "WHEN", "THEN", "ELSE", "END", "CAST", "DATE", "TRUE", "FALSE", "CUBE", "ROLLUP", "JOIN", "LEFT JOIN", "ON",
    "USING",
)  # fmt: skip
FUNCTIONS = tuple(sorted({name.upper() for kind in KINDS for name in kind.sql_names if " " not in name}))
