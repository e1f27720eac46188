"""Where PostgreSQL looks for what is named without a schema: tables of the user, functions of PostgreSQL alone.

Anybody who may create a function in a schema of the search path could have it called in the place of PostgreSQL's own,
by giving it arguments that fit better, and with our rights: it could read the table, and tell of each row.
"""

from __future__ import annotations

from typing import Any

from dalenius.errors import SourceError

NAMED = """
    SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = %s
"""
SCHEMA_OF = """
    SELECT n.nspname FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
    WHERE c.oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass(%s)::pg_catalog.oid
"""
HIDING = """
    WITH others AS (
        SELECT 'pg_proc'::regclass AS kind, oid, pronamespace AS at, proowner AS owner, proname AS called,
            ARRAY(SELECT unnest(proargtypes)) AS taken FROM pg_proc
        UNION ALL
        SELECT 'pg_operator'::regclass, oid, oprnamespace, oprowner, oprname, ARRAY[oprleft, oprright]
        FROM pg_operator
    )
    SELECT others.at::regnamespace || '.' || others.called FROM others
    WHERE others.at IN (SELECT oid FROM pg_namespace WHERE nspname = ANY (%s))
    AND others.at <> 'pg_catalog'::regnamespace
    AND EXISTS (
        SELECT 1 FROM others own
        WHERE own.at = 'pg_catalog'::regnamespace AND own.kind = others.kind AND own.called = others.called
    )
    AND NOT EXISTS (
        SELECT 1 FROM pg_type t
        WHERE t.oid = ANY (others.taken) AND t.typtype <> 'd' AND t.typnamespace <> 'pg_catalog'::regnamespace
    )
    AND NOT (
        EXISTS (SELECT 1 FROM pg_depend d WHERE d.classid = others.kind AND d.objid = others.oid AND d.deptype = 'e')
        AND (
            pg_get_userbyid(others.owner) = current_user
            OR others.owner = (SELECT datdba FROM pg_database WHERE datname = current_database())
            OR (SELECT rolsuper FROM pg_roles WHERE oid = others.owner)
        )
    )
    ORDER BY 1 LIMIT 1
"""
"""Functions and operators that are called as one of PostgreSQL's, for values that it has, too. Not those of extensions,
but for what somebody else put there: whoever owns an extension may add functions of their own to it."""


def found(connection: Any, called: str) -> tuple[str, ...]:
    """Schema and name of a table, or nothing; from then on functions and operators are those of PostgreSQL alone: the
    path is for finding the table, and no function is looked for there."""
    connection.execute("RESET search_path")
    ((at,),) = connection.execute("SELECT pg_catalog.to_regclass(%s)::pg_catalog.oid", (called,)).fetchall()
    connection.execute("SET search_path = pg_catalog")
    named = connection.execute(NAMED, (at,)).fetchall()
    return named[0] if named else ()


def schema_of(connection: Any, called: str) -> str | None:
    """Where the search path finds a table."""
    with connection.cursor() as cursor:
        schemas = cursor.execute(SCHEMA_OF, (called,)).fetchall()
    return schemas[0][0] if schemas else None


def no_function_is_hidden(connection: Any) -> None:
    """Refuse a connection that was given, and whose search path leads to a function under the name of PostgreSQL's.

    Its path stays as it is: what was made with it may need it.
    """
    with connection.cursor() as cursor:
        ((path,),) = cursor.execute("SELECT pg_catalog.current_schemas(true)::pg_catalog.text[]").fetchall()
        path = [schema for schema in path if not schema.startswith("pg_temp_")]
        ((before,),) = cursor.execute("SELECT pg_catalog.current_setting('search_path')").fetchall()
        cursor.execute("SELECT pg_catalog.set_config('search_path', 'pg_catalog', false)")
        try:
            hiding = cursor.execute(HIDING, (path,)).fetchall()
        finally:
            cursor.execute("SELECT pg_catalog.set_config('search_path', %s, false)", (before,))
    way = (
        "open the connection with search_path=pg_catalog and name the table with its schema, or give the address and "
        "the name of the table."
    )
    if path[0] != "pg_catalog":
        raise SourceError(f"the search path of the connection has {path[0]!r} before pg_catalog: {way}")
    if hiding:
        raise SourceError(
            f"the database has {hiding[0][0]!r}, and PostgreSQL has one of that name, in whose place it could be "
            f"called in every question: {way}"
        )
