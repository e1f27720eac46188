"""Columns that tell units apart."""

from __future__ import annotations

from collections.abc import Iterable

from dalenius.errors import QueryRefused
from dalenius.tables.facts.kinds import Field
from dalenius.tables.facts.schema import HOW_TO_DECLARE, Schema


def check_ids(fields: Iterable[Field], schema: Schema, columns: Iterable[str]) -> None:
    """Refuse columns that cannot tell units apart together: first an id, then what else makes a unit, dates as well."""
    fields = tuple(fields)
    for place, column in enumerate(columns):
        check_id(fields, schema, column, dates=place > 0)


def check_id(fields: Iterable[Field], schema: Schema, column: str, dates: bool = False) -> None:
    """Refuse a column that cannot tell units apart: by its name, type and policy."""
    known = {f.name: f for f in fields}
    field = known.get(column)
    if field is None:
        raise QueryRefused(f"there is no column {column!r} to tell units by; there are {', '.join(known)}.")
    if field.kind not in ("integer", "text", *["date"] * dates) and field.dtype != "uint64":
        allowed = "whole numbers, text or dates" if dates else "whole numbers or text"
        raise QueryRefused(f"the unit's column {column!r} has type {field.dtype}; ids must be {allowed}.")
    if field.nullable and schema.policy(column) not in ("drop", "never"):
        raise QueryRefused(
            f"the unit's column {column!r} can hold null, and no policy says what becomes of rows without an id; "
            f"{HOW_TO_DECLARE} (a constant cannot stand for a person)."
        )
