"""The tables of a session that has several."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from dalenius.errors import QueryRefused
from dalenius.tables.ask.query import Table
from dalenius.tables.facts.nearest import alike, nearest


class Tables(Mapping[str, Table]):
    """Tables by name, to ask about: `s.table["visits"]`."""

    def __init__(self, tables: Mapping[str, Table]) -> None:
        self._tables = dict(tables)

    def __getitem__(self, name: str) -> Table:
        meant = alike(str(name), self._tables)
        if len(meant) != 1:
            raise QueryRefused(f"there is no table {name!r}; {nearest(str(name), self._tables)}.")
        return self._tables[meant[0]]

    def __contains__(self, name: object) -> bool:
        return name in self._tables

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def __getattr__(self, name: str) -> NoReturn:
        if not hasattr(Table, name):
            raise AttributeError(name)
        listed = ", ".join(self._tables)
        first = next(iter(self._tables))
        raise QueryRefused(
            f"this session has several tables ({listed}); say which is meant: s.table[{first!r}].{name}(...)."
        )

    def __repr__(self) -> str:
        return f"<Tables: {', '.join(self._tables)}>"


def is_several(data: Any, table: Any) -> bool:
    """Whether several tables are given: by name, or as names in one database. A mapping of columns is one table."""
    if isinstance(table, list | tuple | Mapping):
        return True
    return isinstance(data, Mapping) and bool(data) and all(map(_is_table, data.values()))


def _is_table(value: Any) -> bool:
    return isinstance(value, str | os.PathLike | Mapping) or hasattr(value, "columns")


def listed_tables(data: Any, table: Any) -> dict[str, tuple[Any, str | None]]:
    """By name, what holds each table and what it is called in a database."""
    if isinstance(table, Mapping):
        return {str(name): (data, str(own)) for name, own in table.items()}
    if isinstance(table, list | tuple):
        return {str(name): (data, str(name)) for name in table}
    return {str(name): (held, None) for name, held in data.items()}
