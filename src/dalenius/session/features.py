"""What a model learns from: numbers with public bounds, and categories from public lists, a 1 among zeros for each.

A category is a condition, `"sex" = 'F'`, computed in the engine like any other expression: it exists for every row, a
row whose value is not listed has zeros, and one whose value is missing is missing in all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from dalenius.core.checks import shown
from dalenius.errors import InvalidParameter, QueryRefused
from dalenius.session.coded_columns import constant_text
from dalenius.session.columns import named_columns
from dalenius.tables.ask.query import Table
from dalenius.tables.facts.kinds import NUMERIC
from dalenius.tables.facts.schema import Column, categories_of
from dalenius.tables.rows.expressions import LONGEST, quoted
from dalenius.tables.rows.scope import Scope

MOST = 1500
"""Numbers that a row with categories may have; far fewer are wise. PostgreSQL hands out 1664 columns, SQLite 2000."""

Ends = tuple[float, float] | None


@dataclass(frozen=True)
class Features:
    """sums: every number of a row, an expression with its bounds. listed: of every column, its categories or None.
    names: what every column is called in a frame to predict from."""

    sums: tuple[tuple[str, Ends], ...]
    listed: tuple[tuple[Any, ...] | None, ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, given: Any, table: Table) -> Features:
        """Columns or expressions: as a list, or with bounds, categories or a `Column` beside each."""
        scope = table.scope()
        sums: list[tuple[str, Ends]] = []
        listed: list[tuple[Any, ...] | None] = []
        names: list[str] = []
        for text, how in named_columns("features", given).items():
            ends, categories = _read(scope, text, how)
            listed.append(categories)
            names.append(scope.named(text) or text)
            if categories is None:
                sums.append((text, ends))
            else:
                sums += [(condition, None) for condition in _conditions(scope, text, categories)]
        if len(sums) > MOST and len(sums) > len(listed):
            raise InvalidParameter(
                f"the features are {len(sums)} numbers with their categories; at most {MOST} are allowed. List fewer."
            )
        return cls(tuple(sums), tuple(listed), tuple(names))

    def contrasts(self, table: Table) -> tuple[tuple[tuple[str, Ends], ...], Table]:
        """The same for a regression with a constant: of each list all categories but the first, which the others are
        compared with; and the rows whose values are listed, since another value would count as the first."""
        kept: list[tuple[str, Ends]] = []
        rest = list(self.sums)
        for categories in self.listed:
            own, rest = rest[: len(categories or "1")], rest[len(categories or "1") :]
            if categories is not None:
                table = table.filter(" OR ".join(condition for condition, _ in own))
            kept += own if categories is None else own[1:]
        if not kept:
            raise InvalidParameter("the features are one category, which there is no other to compare with.")
        return tuple(kept), table


def label_code(table: Table, text: str, classes: Sequence[Any]) -> str:
    """The number of a row's class, in the language of expressions; -1 for another label, and for a missing one."""
    conditions = _conditions(table.scope(), text, _checked(text, classes))
    cases = " ".join(f"WHEN {condition} THEN {code}" for code, condition in enumerate(conditions))
    code = f"COALESCE(CASE {cases} ELSE -1 END, -1)"
    if len(code) > LONGEST:
        raise InvalidParameter(f"target {text!r} has more classes than one expression can hold; name fewer.")
    return code


def _read(scope: Scope, text: str, how: Any) -> tuple[Ends, tuple[Any, ...] | None]:
    """Bounds, or categories; neither where the schema's bounds, or those of a condition, are meant."""
    if isinstance(how, Column):
        if how.categories is None and how.bounds is None:
            raise InvalidParameter(
                f"feature {text!r} is given a Column without bounds and without categories."
            )
        return (None, _checked(text, how.categories)) if how.categories else (how.bounds, None)
    if how is not None:
        items = list(how) if isinstance(how, Iterable) and not isinstance(how, str) else [None]
        if all(isinstance(item, str | bool) for item in items):
            return None, _checked(text, items)
        return how, None
    name = scope.named(text)
    facts = None if name is None else scope.schema[name]
    if name is None or facts is None or facts.bounds is not None:
        return None, None
    kind = scope.column(name).kind
    if facts.categories is not None and kind != "bool":
        return None, _checked(text, facts.categories)
    if kind == "text":
        raise QueryRefused(
            f"feature {text!r} is text, and its categories must be public: list them in the schema, or as "
            f"features={{{text!r}: ['a', 'b']}}."
        )
    return None, None


def _checked(text: str, given: Any) -> tuple[Any, ...]:
    categories = categories_of(given) or ()
    if not all(isinstance(value, str | int) for value in categories):
        raise InvalidParameter(
            f"{text!r} has dates for categories; make conditions of them: \"day = DATE '2024-01-01'\"."
        )
    return categories


def _conditions(scope: Scope, text: str, categories: Sequence[Any]) -> list[str]:
    """One for each category. Of an expression that is not of their type, they are refused."""
    name = scope.named(text)
    term = scope.column(name) if name is not None else scope.declared(text, "drop", f"feature {text!r}")
    kinds = {"text": str, "bool": bool, "integer": int}
    fits = term.kind in kinds and all(type(value) is kinds[term.kind] for value in categories)
    if term.kind == "bool" and not fits:
        raise QueryRefused(
            f"{text!r} is a condition, which is 1 or 0, and cannot have the categories {shown(tuple(categories))}; "
            "name a column that holds them."
        )
    if not fits and not (term.kind in NUMERIC and all(type(value) is int for value in categories)):
        raise QueryRefused(
            f"{text!r} is of type {term.kind}, and cannot have the categories {shown(tuple(categories))}."
        )
    x = quoted(name) if name is not None else f"({text})"
    return [f"{x} = {constant_text(value)}" for value in categories]
