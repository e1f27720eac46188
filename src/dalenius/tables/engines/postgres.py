"""A table of a PostgreSQL server, through its own expressions: CASE decides for each value, before any cast.

Doubles that overflow or underflow are errors, sums of integers are decimals without limit. NaN is null, infinity the
largest value of its kind, and so are numbers beyond doubles and dates beyond the calendar. Text must be stored as UTF-8
(so that `convert_to` has nothing to convert, and nothing that it could not), under a collation in which different texts
differ. It is compared by its bytes then: two columns of different collations cannot be compared at all, which the
server finds out when the first row is there, so that one person's row would decide whether a question fails.
"""

from __future__ import annotations

import getpass
import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

import ibis
import ibis.expr.operations as ops
import numpy as np
import sqlglot.expressions as sge
from numpy.typing import NDArray

from dalenius.errors import SourceError
from dalenius.tables.engines import sqltext
from dalenius.tables.engines.engine import Engine, wide_sum
from dalenius.tables.engines.fences import fenced
from dalenius.tables.engines.opened import Clean, Described, Opened, named_table, no_table
from dalenius.tables.engines.place import Place, is_plain, plain_name
from dalenius.tables.engines.search_path import found, no_function_is_hidden, schema_of
from dalenius.tables.facts.dates import Span
from dalenius.tables.facts.kinds import CLEAN, LONGEST_TEXT, MOST, MOST_ITEMS, Kind
from dalenius.tables.facts.schema import Schema
from dalenius.tables.rows.spelling import FIRST, Ends, builtin
from dalenius.tables.rows.total import CASTS, COMMON, SCORED, SUMMED

ADDRESSES = ("postgresql://", "postgres://")
HERE = ("", "127.0.0.1", "::1", "/var/run/postgresql", "/tmp")
"""What PostgreSQL's library also calls localhost."""

INTEGERS: Mapping[str, str] = {"int2": "int16", "int4": "int32", "int8": "int64"}
TINY = "1e-300"
"""Nearer to zero, numerics are zero: a cast to doubles would fail on the smallest."""

ALL = 2**62
"""More rows than there are."""

HEAD = 19
"""Bytes before the first row of a binary COPY; after the last row there are two."""

TYPES = "SELECT oid, CASE typtype WHEN 'e' THEN 'enum' ELSE typname END FROM pg_type WHERE oid = ANY(%s)"
FULL = "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND attnotnull"
COLLATED = """
    SELECT a.attname FROM pg_attribute a JOIN pg_collation c ON c.oid = a.attcollation
    WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT c.collisdeterministic
"""
ANY_COLLATED = "SELECT EXISTS (SELECT 1 FROM pg_collation WHERE NOT collisdeterministic)"


class Postgres(Engine):
    """A server."""

    name = "postgres"
    opened = "a postgresql:// address and a table"
    at_hand = False
    functions: ClassVar[Mapping[str, str]] = {
        "convert_to": "s",
        "sha256": "x",
        "get_byte": "xi",
        "encode": "xs",
        "octet_length": "s",
        "cardinality": "l",
        "char_length": "s",
        "translate": "s",
        **dict.fromkeys(("btrim", "ltrim", "rtrim"), "s"),
        "substring": "si",
        "date_mi": "d",
        "date_trunc": "st",
    }
    casts = CASTS | {"is", "dt"}
    operations: ClassVar[Mapping[type[Any], str]] = {
        **COMMON,
        **SUMMED,
        **SCORED,
        ops.ArrayIndex: "li",
    }

    def opens(self, data: Any) -> bool:
        return isinstance(data, str | Path) and str(data).startswith(ADDRESSES)

    def open(self, data: Any, table: str | None, schema: Schema, beside: Any = None) -> Opened:
        import psycopg

        called = named_table(table, "the address names a database")
        backend = self._connected(str(data)) if beside is None else beside
        try:
            schema_and_name = found(backend.con, sqltext.qualified(called))
            relation = ".".join(map(sqltext.name, schema_and_name))
            described = self.described(backend, relation) if relation else []
        except psycopg.Error:
            described = []
        if not described:
            backend.disconnect()
            raise no_table(called)
        if "." not in called and schema_and_name[0] != "public":  # its place would be that of another table
            backend.disconnect()
            raise SourceError(
                f"the table {called!r} is in the schema {schema_and_name[0]!r}; name both: "
                f"table={'.'.join(schema_and_name)!r}."
            )
        return self.cleaned(backend, relation, called)

    def _connected(self, address: str) -> Any:
        import psycopg

        try:
            connection = psycopg.connect(address, autocommit=True, connect_timeout=30, client_encoding="utf8")
        except psycopg.Error:
            connection = None
        if connection is None:  # no chained exception: the address may hold a password
            at = f" at {urlsplit(address).hostname}" if is_plain(address) else ""
            raise SourceError(f"no connection to PostgreSQL{at}; check address and password.")
        return _own(connection)

    def place(self, data: Any, table: str | None) -> Place:
        """Host, port and database, however they are written; never a user, a password or an option."""
        try:
            from psycopg.conninfo import conninfo_to_dict

            parts: dict[str, Any] = dict(conninfo_to_dict(str(data)))
        except Exception:  # it cannot be connected to either
            parts = {}
        where = _server(parts.get("host"), parts.get("port"), parts.get("dbname") or parts.get("user"))
        if parts.get("service"):
            where = f"service {parts['service']}"
        return Place("postgres", where, plain_name(table, "public"))

    def place_given(self, backend: Any, table: str) -> Place:
        info = backend.con.info
        schema = None if "." in table else schema_of(backend.con, sqltext.name(table))
        named = table if schema is None else f"{schema}.{table}"
        return Place("postgres", _server(info.host, info.port, info.dbname), plain_name(named, "public"))

    def adopted(self, backend: Any, sql: str) -> tuple[Any, Any]:
        no_function_is_hidden(backend.con)
        return _own(backend.con), f"({sql})"

    def described(self, backend: Any, relation: Any) -> list[Described]:
        """A domain is described as what it is made of."""
        with backend.con.cursor() as cursor:
            described = cursor.execute(f"SELECT * FROM {relation} AS t LIMIT 0").description
            codes = [column.type_code for column in described]
            names = dict(cursor.execute(TYPES, (codes,)).fetchall())
            rows = cursor.execute(FULL, (relation,)).fetchall() if _is_table(relation) else []
        full = {name for (name,) in rows}
        return [Described(c.name, _type(c, names[c.type_code]), c.name not in full) for c in described]

    def clean(self, dtype: Any, x: str) -> Clean:
        if dtype == "bool":
            return Clean("bool", "boolean", x)
        if dtype in INTEGERS:
            return Clean("integer", INTEGERS[dtype], f"CAST({x} AS BIGINT)")
        if dtype in ("float4", "float8"):
            shown = "float32" if dtype == "float4" else "float64"
            value = _number(f"CAST({x} AS DOUBLE PRECISION)", "DOUBLE PRECISION")
            return Clean("number", shown, value, nan=True)
        if dtype == "numeric":
            return Clean("number", "decimal", _number(x, "DECIMAL"), nan=True)
        if dtype.startswith("decimal("):  # never infinite, and within doubles
            value = f"CASE WHEN {x} < CAST('NaN' AS DECIMAL) THEN CAST({x} AS DOUBLE PRECISION) END"
            return Clean("number", dtype, value, nan=True)
        if dtype in ("text", "varchar"):
            held = f"CASE WHEN OCTET_LENGTH({x}) <= {LONGEST_TEXT} THEN CAST({x} AS TEXT) END"
            return Clean("text", "string", f'({held}) COLLATE "C"')
        if dtype in ("uuid", "enum"):
            shown = "uuid" if dtype == "uuid" else "string"
            return Clean("text", shown, f'CAST({x} AS TEXT) COLLATE "C"')
        if dtype == "date":
            return Clean("date", "date", sqltext.within(x, *sqltext.DAYS))
        if dtype == "timestamp":
            return Clean("timestamp", "timestamp(6)", sqltext.within(x, *sqltext.MOMENTS))
        if dtype.startswith("_"):
            item = self.clean(dtype[1:], "e")
            if item.kind is not None:
                read = f"unnest({x}) WITH ORDINALITY AS u(e, n) WHERE n <= {MOST_ITEMS} ORDER BY n"
                listed = f"CASE WHEN {x} IS NOT NULL THEN ARRAY(SELECT {item.sql} FROM {read}) END"
                return Clean(None, dtype, listed, items=item.kind)
        return Clean(None, sqltext.UNUSABLE if dtype in ("bpchar", "citext", "name") else dtype)

    def collated(self, backend: Any, relation: Any, columns: Sequence[str]) -> set[str]:
        with backend.con.cursor() as cursor:
            if cursor.execute("SHOW server_encoding").fetchall()[0][0] != "UTF8":
                return set(columns)  # anything may be in it, and there is nothing that reads all of that
            if _is_table(relation):
                return {name for (name,) in cursor.execute(COLLATED, (relation,)).fetchall()}
            return set(columns) if cursor.execute(ANY_COLLATED).fetchall()[0][0] else set()

    def view(self, backend: Any, relation: Any, columns: Sequence[str], forms: Sequence[Clean]) -> Any:
        source = f"{relation} AS t({', '.join(columns)})" if columns else f"{relation} AS t"
        query = f"SELECT {sqltext.selected(forms)} FROM {source}"
        return backend.sql(query, schema=sqltext.types(forms))

    def fetch(self, backend: Any, statement: Any) -> Any:
        return backend.to_pyarrow(statement)

    def blocks(self, backend: Any, statement: Any, size: int) -> Iterator[NDArray[np.int64]]:
        """By COPY in its binary form: a head, then rows that have one length where nothing is null."""
        backend._run_pre_execute_hooks(statement)
        field = np.dtype([("bytes", ">i4"), ("value", ">i8")])
        row = np.dtype([("fields", ">i2"), ("field", field, (len(statement.columns),))])
        copied = f"COPY ({backend.compile(statement)}) TO STDOUT (FORMAT BINARY)"
        with backend.con.cursor() as cursor, cursor.copy(copied) as copy:
            sent, kept, head = iter(copy), b"", HEAD
            while piece := b"".join(itertools.islice(sent, size)):
                kept, head = kept + piece[head:], 0
                rows = np.frombuffer(kept, row, len(kept) // row.itemsize)
                kept = kept[rows.nbytes :]
                if len(rows):
                    yield rows["field"]["value"].astype(np.int64)

    def answers(self, backend: Any) -> bool:
        import psycopg

        if backend.con.info.transaction_status == psycopg.pq.TransactionStatus.ACTIVE:
            return True  # it is at work
        try:
            backend.con.execute("SELECT 1")
        except psycopg.Error:
            return False
        return True

    def close(self, backend: Any) -> None:
        backend.disconnect()

    def digest(self, text: Any) -> Any:
        sha = builtin("sha256", "binary", returns="binary")(_bytes(text))
        byte = builtin("get_byte", "binary", "int32", returns="int32")
        return sum(byte(sha, i).cast("int64") * 256 ** (2 - i) for i in range(3))

    def hexadecimal(self, text: Any) -> Any:
        return builtin("encode", "binary", "string", returns="string")(_bytes(text), "hex")

    def length(self, text: Any) -> Any:
        return builtin("octet_length", "string", returns="int32")(text).cast("int64")

    def characters(self, text: Any) -> Any:
        return builtin("char_length", "string", returns="int32")(text).cast("int64")

    def trimmed(self, text: Any, ends: Ends) -> Any:
        name = {"both": "btrim", "front": "ltrim", "back": "rtrim"}[ends]
        return builtin(name, "string", "string", returns="string")(text, " ")

    def days(self, date: Any) -> Any:
        """By the function that the operator - of two dates stands for."""
        return builtin("date_mi", "date", "date", returns="int32")(date, ibis.literal(FIRST)).cast("int64")

    def beginning(self, date: Any, span: Span) -> Any:
        """Of a timestamp without a zone: a date would be given that of the session first."""
        truncated = builtin("date_trunc", "string", "timestamp(6)", returns="timestamp(6)")
        return truncated(span, date.cast("timestamp(6)")).cast("date")

    def item(self, items: Any, kind: Kind, at: Any) -> Any:
        return items[at]

    def size(self, items: Any, kind: Kind) -> Any:
        return builtin("cardinality", f"array<{CLEAN[kind]}>", returns="int32")(items).cast("int64")

    def once(self, rows: Any) -> Any:
        return rows.limit(
            ALL
        )  # else the planner writes each column out where it is mentioned, and all of theirs

    def sum(self, x: Any, size: int) -> list[tuple[Any, int]]:
        return wide_sum(x, size)


def _own(connection: Any) -> Any:
    """Ibis's way to a connection, with fences between queries; any other that uses it is not touched."""
    import ibis.backends.postgres as theirs
    from ibis.backends.sql.compilers.postgres import PostgresCompiler

    class Compiler(PostgresCompiler):  # type: ignore[misc]
        __slots__ = ()

        def to_sqlglot(self, *arguments: Any, **options: Any) -> Any:
            return _escaped(fenced(super().to_sqlglot(*arguments, **options), offset=0))

    class Backend(theirs.Backend):  # type: ignore[misc]
        compiler = Compiler()

    return Backend.from_connection(connection)


def _escaped(statement: Any) -> Any:
    """Text with a backslash in it as E'...', which every server reads alike.

    Where standard_conforming_strings is off, as a database or a user may have it, a quote after a backslash would not
    end a constant, and what somebody asked would be read as SQL.
    """
    for node in list(statement.find_all(sge.Literal)):
        if node.is_string and "\\" in node.this:
            node.replace(sge.ByteString(this=node.this))
    return statement


def _bytes(text: Any) -> Any:
    return builtin("convert_to", "string", "string", returns="binary")(text, "UTF8")


def _number(x: str, form: str) -> str:
    """Doubles from doubles or numerics. PostgreSQL takes NaN to be above all else, and x is named seldom: each mention
    multiplies with those of the question."""

    def constant(text: str) -> str:
        return f"CAST('{text}' AS {form})"

    small = (
        f"WHEN ABS({x}) < {constant(TINY)} THEN CAST('0' AS DOUBLE PRECISION) " if form == "DECIMAL" else ""
    )
    clamped = f"LEAST(GREATEST({x}, {constant(str(-MOST))}), {constant(str(MOST))})"
    return f"CASE {small}WHEN {x} < {constant('NaN')} THEN CAST({clamped} AS DOUBLE PRECISION) END"


def _is_table(relation: str) -> bool:
    """Whether it is the name of a table, and not a query in brackets."""
    return not relation.startswith("(")


def _type(column: Any, name: str) -> str:
    narrow = name == "numeric" and column.precision is not None and column.precision <= 38
    return f"decimal({column.precision}, {column.scale})" if narrow and 0 <= column.scale <= 38 else str(name)


def _server(host: Any, port: Any, database: Any) -> str:
    hosts = [one.lower() for one in str(host or "").split(",")]
    hosts = ["localhost" if one in HERE else one for one in hosts]
    ports = str(port or os.environ.get("PGPORT") or 5432)
    return f"postgresql://{','.join(hosts)}:{ports}/{database or getpass.getuser()}"
