"""JOIN with public tables, and with private ones of the same units: which columns a question means, and what they are
called from then on."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

from sqlglot import exp

from dalenius.errors import QueryRefused
from dalenius.tables.ask.query import Table
from dalenius.tables.facts.nearest import alike, nearest
from dalenius.tables.facts.problems import Problems
from dalenius.tables.facts.public import PublicTable
from dalenius.tables.rows.expressions import quoted, written
from dalenius.tables.sql.qualified import Names


def joined(select: Any, asked: Table | Mapping[str, Table], public: Mapping[str, Any]) -> tuple[Any, Table]:
    """The SELECT with every column under its flat name, and the table with the others joined to it."""
    private: Mapping[str, Table] = {asked.name: asked} if isinstance(asked, Table) else asked
    source = select.args.get("from_")
    if source is None or not isinstance(source.this, exp.Table):
        listed = " or ".join(map(repr, private))
        raise QueryRefused(f"FROM must name the table {listed} and nothing else.")
    table = _private(source.this, private)
    if table is None:
        called = next(iter(private)) if len(private) == 1 else ""
        known = f"it is called {called!r}: write FROM {_identifier(called)}" if called else ""
        known = known or nearest(source.this.name, private)
        raise QueryRefused(f"there is no private table {written(source.this)}; {known}.")
    names = Names(table, source.this.alias or source.this.name)
    joins: list[_PublicJoined | _PrivateJoined] = []
    for join in select.args.get("joins") or ():
        other = _private(join.this, private)
        if other is None:
            joins.append(_PublicJoined(join, names, public, private))
        else:
            joins.append(_PrivateJoined(join, names, other))
    used, problems = {flat for join in joins for flat, _ in join.on}, Problems()
    resolved = select.copy()
    for part in (*resolved.expressions, resolved.args.get("where"), resolved.args.get("group")):
        for column in list(part.find_all(exp.Column)) if part is not None else ():
            if isinstance(column.this, exp.Star):
                continue
            flat = problems.attempt(partial(names.find, column))
            if flat is None:
                continue
            used.add(flat)
            if column.table or flat != column.name:
                column.replace(exp.column(flat, quoted=True))
    problems.raise_any()
    for joining in joins:
        table = joining.added_to(table, used)
    return resolved, table


class _Joined:
    """One JOIN: what it is joined on. known: the columns of the table that is joined."""

    def __init__(self, join: Any, names: Names, known: tuple[str, ...]) -> None:
        side, kind = (join.args.get("side") or "").upper(), (join.args.get("kind") or "").upper()
        plain = (side, kind) in {("", ""), ("", "INNER"), ("LEFT", ""), ("LEFT", "OUTER")}
        if not plain or join.args.get("method"):
            raise QueryRefused("only JOIN and LEFT JOIN are available.")
        self.how: Literal["inner", "left"] = "left" if side == "LEFT" else "inner"
        self.alias, self.names, self.known = join.this.alias_or_name, names, known
        using, condition = join.args.get("using"), join.args.get("on")
        if using:
            self.on = [self._using(item) for item in using]
        elif condition is not None:
            self.on = [self._pair(part) for part in _conjuncts(condition)]
        else:
            raise QueryRefused("a JOIN needs USING (column) or ON ours = theirs.")
        self.using = [theirs for _, theirs in self.on] if using else []

    def _using(self, item: Any) -> tuple[str, str]:
        return self.names.find(exp.column(item.name)), self._own(item.name)

    def _pair(self, condition: Any) -> tuple[str, str]:
        if isinstance(condition, exp.Paren):
            return self._pair(condition.this)
        a, b = condition.this, condition.args.get("expression")
        if isinstance(condition, exp.EQ) and isinstance(a, exp.Column) and isinstance(b, exp.Column):
            for ours, theirs in ((a, b), (b, a)):
                if self._is_own(theirs) and not self._is_own(ours):
                    return self.names.find(ours), self._own(theirs.name)
        raise QueryRefused(
            f"ON {written(condition)} is refused: write ON column = {self.alias}.column, joined by AND."
        )

    def _is_own(self, column: Any) -> bool:
        """Whether a name means the table that is being joined."""
        if column.table:
            return bool(column.table.lower() == self.alias.lower())
        here = bool(alike(column.name, self.known))
        before = any(alike(column.name, table.columns) for table in self.names.tables)
        if here and before:
            raise QueryRefused(f"the column {column.name!r} is ambiguous; write table.{column.name}.")
        return here

    def _own(self, name: str) -> str:
        meant = alike(name, self.known)
        if len(meant) != 1:
            raise QueryRefused(f"there is no column {name!r} in {self.alias}; {nearest(name, self.known)}.")
        return meant[0]


class _PrivateJoined(_Joined):
    """With another private table of the session: its columns are called as `Table.join` calls them, whatever alias the
    text has for it, so that the same question has one record."""

    def __init__(self, join: Any, names: Names, other: Table) -> None:
        super().__init__(join, names, other.names)
        self.other = other
        apart = {theirs for _, theirs in self.on}
        self.flat = names.add(self.alias, other.names, self.using, called=other.name, apart=apart)

    def added_to(self, table: Table, used: set[str]) -> Table:
        return table.join(self.other, on=self.on, how=self.how)


class _PublicJoined(_Joined):
    """With a public table, whose columns are renamed where they must be."""

    def __init__(
        self, join: Any, names: Names, public: Mapping[str, Any], private: Mapping[str, Table]
    ) -> None:
        self.data = _public(join.this, public, private)
        self.theirs = PublicTable.of(self.data)
        super().__init__(join, names, self.theirs.names)
        self.flat = names.add(self.alias, self.theirs.names, self.using)

    def added_to(self, table: Table, used: set[str]) -> Table:
        return table.join_public(self.renamed(used), on=self.pairs(used), how=self.how)

    def _kept(self, used: set[str]) -> dict[str, str]:
        """The columns joined on that the question also looks at: they stay, under their flat names."""
        return {theirs: self.flat[theirs] for _, theirs in self.on if self.flat[theirs] in used}

    def pairs(self, used: set[str]) -> list[tuple[str, str]]:
        kept = self._kept(used)
        return [(ours, _key(theirs) if theirs in kept else theirs) for ours, theirs in self.on]

    def renamed(self, used: set[str]) -> Any:
        """The public table with its columns under their flat names; as it is where they have them."""
        kept, keys = self._kept(used), {theirs for _, theirs in self.on}
        columns = {}
        for name in self.theirs.names:
            if name not in keys or name in kept:
                columns[self.flat[name]] = name
            if name in keys:
                columns[_key(name) if name in kept else name] = name
        if all(flat == name for flat, name in columns.items()):
            return self.data
        arrow = self.theirs.arrow.select(list(columns.values()))
        return arrow.rename_columns(list(columns))


def _key(name: str) -> str:
    return f"{name} (joined on)"


def _private(named: Any, private: Mapping[str, Table]) -> Table | None:
    """The private table that is named; its name may have points in it."""
    if not isinstance(named, exp.Table):
        return None
    meant = alike(".".join(part.name for part in named.parts), private)
    return private[meant[0]] if len(meant) == 1 else None


def _public(named: Any, public: Mapping[str, Any], private: Mapping[str, Table]) -> Any:
    known = ", ".join(public) or "none are given"
    if not isinstance(named, exp.Table) or named.args.get("db"):
        raise QueryRefused(f"{written(named)} is not one of the public tables ({known}).")
    meant = alike(named.name, public)
    if len(meant) != 1:
        many = f"; {nearest(named.name, public)}" if public else ""
        raise QueryRefused(
            f"{written(named)} is not one of the public tables ({known}){many}. Only those can be joined, and private "
            f"tables of the same units that the session was opened with ({', '.join(private)})."
        )
    return public[meant[0]]


def _conjuncts(tree: Any) -> list[Any]:
    while isinstance(tree, exp.Paren):
        tree = tree.this
    if not isinstance(tree, exp.And):
        return [tree]
    return [part for side in tree.flatten() for part in _conjuncts(side)]


def _identifier(name: str) -> str:
    """A name as SQL needs it: in quotes where it is not a plain word."""
    return name if name.isidentifier() and name.isascii() else quoted(name)
