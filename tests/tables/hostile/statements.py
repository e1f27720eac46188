"""Statements that are compiled once and asked of many sources, which differ in rows and in the name of a relation.

Compiling with Ibis is most of the work of a question about a few rows. On DuckDB the text is then handed to the
connection as it is; that this gives what the product's own way gives is checked on every first table.
"""

from __future__ import annotations

import re
from typing import Any

from dalenius.tables import Source


class Statements:
    """What was compiled for the first source."""

    def __init__(self, first: Source) -> None:
        self.first, self.name = first, relation(first)
        self.texts: dict[Any, str] = {}
        self._remember(first)

    def over(self, source: Source) -> Source | Rows:
        """Something to fetch the same statements from, of the rows of this source."""
        if source.engine.name == "duckdb":
            return Rows(self, source)
        if source is not self.first:
            self._remember(source)
        return source

    def text(self, statement: Any, name: str) -> str:
        key = statement.op()
        if key not in self.texts:
            self.texts[key] = type(self.first._backend).compile(self.first._backend, statement.as_table())
        return self.texts[key] if name == self.name else re.sub(rf"\b{self.name}\b", name, self.texts[key])

    def _remember(self, source: Source) -> None:
        """The first source, and servers, have their own ways to fetch; only compiling is replaced there."""
        name = relation(source)
        source._backend.compile = lambda statement, **_: self.text(statement, name)


class Rows:
    """Stands for a Source of DuckDB in what was prepared for another one."""

    def __init__(self, statements: Statements, source: Source) -> None:
        self.statements, self.backend, self.name = statements, source._backend, relation(source)
        self.parsed: dict[str, Any] = {}

    def fetch(self, statement: Any) -> Any:
        from ibis.backends.duckdb.converter import DuckDBPyArrowData

        text = self.statements.text(statement, self.name)
        if text not in self.parsed:
            self.backend._run_pre_execute_hooks(statement)
            (self.parsed[text],) = self.backend.con.extract_statements(text)
        table = self.backend.con.execute(self.parsed[text]).to_arrow_table()
        return statement.__pyarrow_result__(table, data_mapper=DuckDBPyArrowData)


def relation(source: Source) -> str:
    """What is another one in every source: the name of its view, or of the database that holds its table."""
    found = source.rows.op()
    name = str(getattr(found, "name", ""))
    return str(found.namespace.catalog) if name == "clean" else name
