"""Text that compares equal without being the same.

Under a collation that ignores capitals or accents, 'a' equals 'A'. One row would then match two public keys, and two
persons' ids would be one: one person could count twice. Columns with such a collation are not used.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dalenius.tables.kinds import Field

UNUSABLE = "text under a collation in which different texts are equal"

POSTGRES = """
    SELECT a.attname
    FROM pg_attribute a
    LEFT JOIN pg_collation c ON c.oid = a.attcollation
    LEFT JOIN pg_type t ON t.oid = a.atttypid
    LEFT JOIN pg_type b ON b.oid = t.typbasetype
    WHERE a.attrelid = %s::regclass AND a.attnum > 0
      AND (NOT coalesce(c.collisdeterministic, true) OR t.typname = 'citext' OR b.typname = 'citext')
"""
POSTGRES_ANY = """
    SELECT EXISTS (SELECT 1 FROM pg_collation WHERE NOT collisdeterministic)
        OR EXISTS (SELECT 1 FROM pg_type WHERE typname = 'citext')
"""
DUCKDB_ANY = """
    SELECT current_setting('default_collation') NOT IN ('', 'binary')
        OR EXISTS (SELECT 1 FROM duckdb_tables() WHERE sql ILIKE '%collate%')
        OR EXISTS (SELECT 1 FROM duckdb_views() WHERE NOT internal AND sql ILIKE '%collate%')
"""


def usable(fields: tuple[Field, ...], backend: Any, rows: Any, relation: str | None) -> tuple[Field, ...]:
    """The fields, those of text that cannot be relied on without a kind.

    relation: the name of the table in the database, when it is one; None for any other Ibis expression.
    """
    texts = {f.name for f in fields if f.kind == "text"}
    if not texts:
        return fields
    odd = _odd(backend, rows, relation, texts)
    return tuple(replace(f, kind=None, dtype=UNUSABLE) if f.name in odd else f for f in fields)


def _odd(backend: Any, rows: Any, relation: str | None, texts: set[str]) -> set[str]:
    if backend.name == "duckdb":
        return texts if backend.con.execute(DUCKDB_ANY).fetchall()[0][0] else set()
    if backend.name == "postgres":
        with backend.con.cursor() as cursor:
            if relation is None:
                return texts if cursor.execute(POSTGRES_ANY).fetchone()[0] else set()
            return {name for (name,) in cursor.execute(POSTGRES, (relation,)).fetchall()}
    described = backend._session.sql(backend.compile(rows)).schema.fields
    return {f.name for f in described if getattr(f.dataType, "collation", None) not in (None, "UTF8_BINARY")}
