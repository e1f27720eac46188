"""Text that compares equal without being the same.

Under a collation that ignores capitals or accents, 'a' equals 'A'; to PostgreSQL's char(3), 'ab' equals 'ab '. One row
would then match two public keys, and two persons' ids would be one: one person could count twice. Columns in which
this can happen are not used.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dalenius.errors import SourceError
from dalenius.tables.kinds import Field

UNUSABLE = (
    "text in which different texts can be equal (a collation, char(n), citext), "
    "that is no plain text, or is not in UTF-8"
)

POSTGRES_TEXT = (25, 1043, 2950)
"""The types text, varchar and uuid, by their fixed numbers."""

POSTGRES = """
    SELECT a.attname FROM pg_attribute a JOIN pg_collation c ON c.oid = a.attcollation
    WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT c.collisdeterministic
"""
POSTGRES_ANY = "SELECT EXISTS (SELECT 1 FROM pg_collation WHERE NOT collisdeterministic)"
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
    looks = {"duckdb": _duckdb, "postgres": _postgres, "pyspark": _spark}
    if backend.name not in looks:
        raise SourceError(f"how {backend.name} compares text is not known; it cannot be used.")
    odd = looks[backend.name](backend, rows, relation, texts)
    return tuple(replace(f, kind=None, dtype=UNUSABLE) if f.name in odd & texts else f for f in fields)


def _duckdb(backend: Any, rows: Any, relation: str | None, texts: set[str]) -> set[str]:
    return texts if backend.con.execute(DUCKDB_ANY).fetchall()[0][0] else set()


def _postgres(backend: Any, rows: Any, relation: str | None, texts: set[str]) -> set[str]:
    with backend.con.cursor() as cursor:
        if cursor.execute("SHOW server_encoding").fetchall()[0][0] != "UTF8":
            return texts  # anything may be in it, and there is nothing that reads all of that
        cursor.execute(backend.compile(rows.limit(0)))
        odd = {column.name for column in cursor.description if column.type_code not in POSTGRES_TEXT}
        if relation is not None:
            return odd | {name for (name,) in cursor.execute(POSTGRES, (relation,)).fetchall()}
        return texts if cursor.execute(POSTGRES_ANY).fetchall()[0][0] else odd


def _spark(backend: Any, rows: Any, relation: str | None, texts: set[str]) -> set[str]:
    described = backend._session.sql(backend.compile(rows)).schema.fields
    return {f.name for f in described if getattr(f.dataType, "collation", None) not in (None, "UTF8_BINARY")}
