"""Which column a name in a SELECT means: `state`, `people.state`, `regions.code`.

The private table and those joined to it each have a name of their own (their alias, if they have one). A
question has one flat list of columns: those of the private table under their names, those of joined tables under
theirs unless these are taken, then as `table.column`. A name that no table has, or more than one, is refused.

The column that a public table is joined on is also there, under its qualified name: after LEFT JOIN it is null
where nothing matched, and ours is not.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from dalenius.core.nearest import meant as meant_by
from dalenius.errors import QueryRefused
from dalenius.tables.ask.query import COMPARED, Table, check_missing
from dalenius.tables.facts.nearest import alike, nearest
from dalenius.tables.rows.expressions import check_quotes, quoted, written


@dataclass(frozen=True)
class _Named:
    """A table as the question calls it, and its columns with their flat names."""

    alias: str
    columns: dict[str, str]


class Names:
    """The tables of a FROM clause."""

    def __init__(self, table: Table, alias: str) -> None:
        self.tables = [_Named(alias, {name: name for name in table.names})]
        self.hidden: set[tuple[str, str]] = set()
        """Columns (alias, name) that USING has made one with ours: only a qualifier reaches them."""

    def find(self, node: Any) -> str:
        """The flat name of a column."""
        if not isinstance(node.this, exp.Identifier):
            raise QueryRefused(f"{written(node)} is not a column.")
        for part in ("db", "catalog"):
            if node.args.get(part):
                raise QueryRefused(
                    f"{written(node)}: name a column as table.column, with the table as FROM calls it."
                )
        searched = [self.named(node.table)] if node.table else self.tables
        meant = [
            (table, column)
            for table in searched
            for column in alike(node.name, table.columns)
            if node.table or (table.alias, column) not in self.hidden
        ]
        if not meant:
            known = [column for table in searched for column in table.columns]
            of = f" in {node.table}" if node.table else ""
            if node.this.args.get("quoted") and not node.table and isinstance(node.parent, COMPARED):
                written_out = exp.Literal.string(node.name).sql()
                raise QueryRefused(
                    f"there is no column {node.name!r}; text is written in single quotes: {written_out}."
                )
            whole = node
            while isinstance(whole.parent, exp.Binary):
                whole = whole.parent
            check_quotes(written(whole), known)
            if not node.table:
                check_missing(node.name)
            beside = isinstance(node.parent, COMPARED) and meant_by(node.name, known) is None
            text = (
                f" Text is written in single quotes: {exp.Literal.string(node.name).sql()}." if beside else ""
            )
            raise QueryRefused(f"there is no column {node.name!r}{of}; {nearest(node.name, known)}.{text}")
        if len(meant) > 1:
            which = " or ".join(f"{quoted(table.alias)}.{quoted(column)}" for table, column in meant)
            raise QueryRefused(f"the column {node.name!r} is ambiguous; write {which}.")
        table, column = meant[0]
        return table.columns[column]

    def named(self, alias: str) -> _Named:
        """The table a qualifier means."""
        for table in self.tables:
            if table.alias.lower() == alias.lower():
                return table
        known = [table.alias for table in self.tables]
        raise QueryRefused(f"there is no table {alias!r} in FROM or JOIN; {nearest(alias, known)}.")

    def add(
        self,
        alias: str,
        names: Iterable[str],
        using: Iterable[str],
        *,
        called: str | None = None,
        apart: Iterable[str] = (),
    ) -> dict[str, str]:
        """One more table: the flat names of its columns. Those in `using` are one with ours.

        called: what flat names say for the table, other than its alias. apart: columns that have a qualified name
        always.
        """
        if any(table.alias.lower() == alias.lower() for table in self.tables):
            raise QueryRefused(f"two tables are called {alias!r}; give one another name with AS.")
        taken = {flat.lower() for table in self.tables for flat in table.columns.values()}
        columns: dict[str, str] = {}
        shared = set(using)
        qualified = {*shared, *apart}
        for name in names:
            flat = name
            if name in qualified or name.lower() in taken:
                flat = f"{called or alias}.{name}"
            while flat.lower() in taken:
                flat += "'"
            taken.add(flat.lower())
            columns[name] = flat
        self.tables.append(_Named(alias, columns))
        self.hidden |= {(alias, name) for name in shared}
        return columns
