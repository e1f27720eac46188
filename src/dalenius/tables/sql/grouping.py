"""GROUP BY an expression: SELECT DATE_TRUNC('month', day) AS month, COUNT(*) FROM visits GROUP BY month.

GROUP BY names it as the SELECT list does, by its place there, or writes it out once more; it becomes a column of its
own that is computed before rows are grouped. A name that is both a column's and an expression's is refused where the
column is computed: SQL's dialects do not agree which of the two is meant.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from dalenius.errors import QueryRefused
from dalenius.tables.rows.expressions import written


def by_expression(select: Any) -> Any:
    """The SELECT with every expression of GROUP BY written out, where it is named or numbered."""
    select = select.copy()
    named = {
        item.alias.lower(): item.this
        for item in select.expressions
        if isinstance(item, exp.Alias) and not _is_plain(item)
    }
    for item in _items(select):
        meant = None
        if isinstance(item, exp.Column) and not item.table:
            meant = named.get(item.name.lower())
        elif isinstance(item, exp.Literal) and not item.is_string and item.this.isdigit():
            place = int(item.this)
            listed = select.expressions[place - 1] if 1 <= place <= len(select.expressions) else None
            meant = None if listed is None or _is_plain(listed) else listed.unalias()
        if meant is not None:
            if meant.find(exp.AggFunc) is not None or isinstance(meant, exp.Star):
                raise QueryRefused(f"GROUP BY {written(item)} names {written(meant)}, which is an aggregate.")
            item.replace(meant.copy())
    return select


def taken_out(select: Any) -> dict[str, Any]:
    """The expressions of GROUP BY that stand in the SELECT list, by name; in the SELECT there are columns instead."""
    computed: dict[str, Any] = {}
    for item in list(select.expressions):
        inner = item.unalias()
        grouped = [one for one in _items(select) if one == inner]
        if not grouped or _is_plain(item) or isinstance(inner, exp.Literal):
            continue
        name = item.alias if isinstance(item, exp.Alias) else _name(inner)
        if name in computed:
            raise QueryRefused(f"two columns are called {name!r}; give each a name with AS.")
        computed[name] = inner.copy()
        for one in (*grouped, item):
            one.replace(exp.column(name, quoted=True))
    return computed


def _is_plain(item: Any) -> bool:
    """Whether it is a column under its own name; under another it is computed, like any expression."""
    inner = item.unalias()
    named = item.alias if isinstance(item, exp.Alias) else inner.name
    return isinstance(inner, exp.Column) and named.lower() == inner.name.lower()


def _items(select: Any) -> list[Any]:
    """What GROUP BY lists, also inside of CUBE and ROLLUP."""
    group = select.args.get("group")
    listed = [] if group is None else group.expressions
    inside = [item.expressions if isinstance(item, exp.Cube | exp.Rollup) else [item] for item in listed]
    return [item for items in inside for item in items]


def _name(tree: Any) -> str:
    """month, of DATE_TRUNC('month', day) and of EXTRACT(MONTH FROM day); else the function and its columns."""
    unit = tree.args.get("unit") or (tree.this if isinstance(tree, exp.Extract) else None)
    if unit is not None:
        return str(unit.name).lower()
    word = str(tree.this) if isinstance(tree, exp.Anonymous) else type(tree).__name__
    return "_".join([word.lower(), *(column.name for column in tree.find_all(exp.Column))])
