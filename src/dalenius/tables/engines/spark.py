"""Spark, a cluster or one machine: a DataFrame, or a table of a session.

Integers that overflow and casts out of range are errors in its default (ANSI) mode, sums have 64 bits. Columns are
renamed by position before anything names them: to Spark, names that differ in capitals only are one name. Its
timestamps are moments, and Ibis has set the session to UTC: they are read as such.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import ibis
import ibis.expr.operations as ops
import numpy as np
import sqlglot.expressions as sge
from numpy.typing import NDArray

from dalenius.errors import SourceError
from dalenius.tables.engines import sqltext
from dalenius.tables.engines.engine import Engine, limbs
from dalenius.tables.engines.opened import APART, Clean, Described, Opened, named_table, no_table
from dalenius.tables.engines.place import Place, plain_name
from dalenius.tables.facts.dates import Span
from dalenius.tables.facts.kinds import CLEAN, MOST, MOST_ITEMS, Kind
from dalenius.tables.facts.schema import Schema
from dalenius.tables.rows.spelling import FIRST, Ends, builtin
from dalenius.tables.rows.total import CASTS, COMMON, SCORED, SUMMED

INTEGERS: Mapping[str, str] = {
    "ByteType": "int8",
    "ShortType": "int16",
    "IntegerType": "int32",
    "LongType": "int64",
}
REBASE = (
    "spark.sql.parquet.datetimeRebaseModeInRead",
    "spark.sql.parquet.int96RebaseModeInRead",
    "spark.sql.avro.datetimeRebaseModeInRead",
)
"""Spark 3 fails on old dates in files unless told how to read them."""

MEND = "make_valid_utf8({0})"
MEND_3 = "decode(encode({0}, 'UTF-8'), 'UTF-8')"
"""What Spark 3 has in its place, and Spark 4 would fail on."""


class Spark(Engine):
    """A cluster, or one machine."""

    name = "pyspark"
    opened = "a Spark DataFrame"
    at_hand = False
    functions: ClassVar[Mapping[str, str]] = {
        "sha2": "si",
        "conv": "si",
        "hex": "s",
        "octet_length": "s",
        "get": "li",
        "size": "l",
        "char_length": "s",
        "translate": "s",
        **dict.fromkeys(("trim", "ltrim", "rtrim"), "s"),
        "substring": "si",
        "datediff": "d",
        "trunc": "ds",
    }
    casts = CASTS
    operations: ClassVar[Mapping[type[Any], str]] = {
        **COMMON,
        **SUMMED,
        **SCORED,
        ops.Substring: "si",
        ops.TryCast: "s",
        ops.BitwiseAnd: "i",
        ops.BitwiseRightShift: "i",
    }

    def opens(self, data: Any) -> bool:
        return type(data).__module__.partition(".")[0] == "pyspark"

    def open(self, data: Any, table: str | None, schema: Schema, beside: Any = None) -> Opened:
        called, frame = "data", data
        if not hasattr(data, "sparkSession"):
            if not hasattr(data, "table"):
                raise SourceError(
                    f"a {type(data).__name__} of Spark cannot be opened; give a DataFrame or a session."
                )
            called, frame = named_table(table, "a Spark session is given"), None
            with contextlib.suppress(Exception):
                parts = [part.replace("`", "``") for part in called.split(".")]
                quoted = ".".join(f"`{part}`" for part in parts)
                # What Spark does not know as a table it takes for a file of a format: `csv`.`/etc/passwd`.
                frame = data.table(quoted) if data.catalog.tableExists(quoted) else None
            if frame is None:
                raise no_table(called)
        if beside is not None and beside._session is not frame.sparkSession:
            raise SourceError(f"{APART}.")
        backend = _own(frame.sparkSession) if beside is None else beside
        return self.cleaned(backend, frame, called, owned=False, kept=frame)

    def place(self, data: Any, table: str | None) -> Place:
        if table is None:
            return Place("memory")
        where = "spark"
        with contextlib.suppress(Exception):  # a server that does not tell
            where = str(data.conf.get("spark.sql.warehouse.dir"))
        return Place("spark", where, plain_name(table, "default"))

    def place_given(self, backend: Any, table: str) -> Place:
        return Place("memory")

    def adopted(self, backend: Any, sql: str) -> tuple[Any, Any]:
        return _own(backend._session), backend._session.sql(sql)

    def described(self, backend: Any, relation: Any) -> list[Described]:
        session = relation.sparkSession
        for setting in REBASE:
            # Where a server does not let it be set, the table is its own affair.
            with contextlib.suppress(Exception):
                if session.conf.get(setting) == "EXCEPTION":
                    session.conf.set(setting, "CORRECTED")
        return [Described(f.name, f.dataType, f.nullable) for f in relation.schema.fields]

    def clean(self, dtype: Any, x: str) -> Clean:
        kind = type(dtype).__name__
        if kind == "BooleanType":
            return Clean("bool", "boolean", x)
        if kind in INTEGERS:
            return Clean("integer", INTEGERS[kind], f"CAST({x} AS BIGINT)")
        if kind == "DecimalType":
            return Clean("number", f"decimal({dtype.precision}, {dtype.scale})", f"CAST({x} AS DOUBLE)")
        if kind in ("FloatType", "DoubleType"):
            return Clean("number", "float32" if kind == "FloatType" else "float64", _finite(x), nan=True)
        if kind in ("StringType", "VarcharType"):
            if getattr(dtype, "collation", None) not in (None, "UTF8_BINARY"):
                return Clean(None, sqltext.UNUSABLE)
            # What is not UTF-8 is missing: mended, it could be taken for another text, or another unit.
            return Clean("text", "string", f"CASE WHEN {MEND.format(x)} = {x} THEN {x} END", nan=True)
        if kind == "DateType":
            return Clean("date", "date", sqltext.within(x, *sqltext.DAYS))
        if kind in ("TimestampType", "TimestampNTZType"):
            word = "TIMESTAMP_NTZ" if kind == "TimestampNTZType" else "TIMESTAMP"
            first, last = (moment.replace("TIMESTAMP", word) for moment in sqltext.MOMENTS)
            return Clean("timestamp", "timestamp(6)", sqltext.within(x, first, last))
        if kind == "ArrayType":
            item = self.clean(dtype.elementType, "e")
            if item.kind is not None:
                listed = f"transform(slice({x}, 1, {MOST_ITEMS}), e -> {item.sql})"
                return Clean(None, dtype.simpleString(), listed, items=item.kind)
        return Clean(None, dtype.simpleString())

    def collated(self, backend: Any, relation: Any, columns: Sequence[str]) -> set[str]:
        return set()  # the type tells, and `clean` has looked

    def view(self, backend: Any, relation: Any, columns: Sequence[str], forms: Sequence[Clean]) -> Any:
        session, view = relation.sparkSession, sqltext.view_name()
        relation.toDF(*columns).createOrReplaceTempView(f"{view}_raw")
        query = f"SELECT {sqltext.selected(forms)} FROM {view}_raw"
        if int(session.version.split(".")[0]) < 4:
            for x in (*columns, "e"):
                query = query.replace(MEND.format(x), MEND_3.format(x))
        session.sql(query).createOrReplaceTempView(view)
        return backend.table(view)

    def fetch(self, backend: Any, statement: Any) -> Any:
        return backend.to_pyarrow(statement)

    def blocks(self, backend: Any, statement: Any, size: int) -> Iterator[NDArray[np.int64]]:
        """Partition by partition: one of them must fit the memory."""
        backend._run_pre_execute_hooks(statement)
        rows = backend._session.sql(backend.compile(statement)).toLocalIterator()
        while block := list(itertools.islice(rows, size)):
            yield np.array(block, dtype=np.int64)

    def close(self, backend: Any) -> None:
        """The session is its owner's, always."""

    def digest(self, text: Any) -> Any:
        digits = builtin("sha2", "string", "int32", returns="string")(text, 256).left(6)
        return builtin("conv", "string", "int32", "int32", returns="string")(digits, 16, 10).try_cast("int64")

    def hexadecimal(self, text: Any) -> Any:
        return builtin("hex", "string", returns="string")(text)

    def length(self, text: Any) -> Any:
        return builtin("octet_length", "string", returns="int32")(text).cast("int64")

    def characters(self, text: Any) -> Any:
        return builtin("char_length", "string", returns="int32")(text).cast("int64")

    def trimmed(self, text: Any, ends: Ends) -> Any:
        name = {"both": "trim", "front": "ltrim", "back": "rtrim"}[ends]
        return builtin(name, "string", returns="string")(text)

    def days(self, date: Any) -> Any:
        return builtin("datediff", "date", "date", returns="int32")(date, ibis.literal(FIRST)).cast("int64")

    def beginning(self, date: Any, span: Span) -> Any:
        return builtin("trunc", "date", "string", returns="date")(date, span)

    def item(self, items: Any, kind: Kind, at: Any) -> Any:
        return builtin("get", f"array<{CLEAN[kind]}>", "int64", returns=CLEAN[kind])(items, at)

    def size(self, items: Any, kind: Kind) -> Any:
        return builtin("size", f"array<{CLEAN[kind]}>", returns="int32")(items).cast("int64")

    def once(self, rows: Any) -> Any:
        return rows

    def sum(self, x: Any, size: int) -> list[tuple[Any, int]]:
        return limbs(x, size)


def _own(session: Any) -> Any:
    """Ibis's way to a session, which reads constants as they are; any other that uses it is not touched."""
    import ibis.backends.pyspark as theirs
    from ibis.backends.sql.compilers.pyspark import PySparkCompiler

    ibis.pyspark  # noqa: B018 - with it Ibis knows the options that its compiler asks for

    class Compiler(PySparkCompiler):  # type: ignore[misc]
        __slots__ = ()

        def to_sqlglot(self, *arguments: Any, **options: Any) -> Any:
            return _unsubstituted(super().to_sqlglot(*arguments, **options))

    class Backend(theirs.Backend):  # type: ignore[misc]
        compiler = Compiler()

    return Backend().connect(session)


def _unsubstituted(statement: Any) -> Any:
    """A statement whose text constants have no ${...} in them: Spark puts settings, and the environment of its process,
    in the place of that before it reads a statement, so that whoever asks could ask about these."""
    statement = statement.copy()  # Ibis has one node in several places
    for node in list(statement.find_all(sge.Literal)):
        if node.is_string and "${" in node.this:
            first, *others = node.this.split("${")
            parts = [f"{first}$", *(f"{{{part}$" for part in others[:-1]), f"{{{others[-1]}"]
            node.replace(sge.Anonymous(this="concat", expressions=[*map(sge.Literal.string, parts)]))
    return statement


def _finite(x: str) -> str:
    x, most = f"CAST({x} AS DOUBLE)", f"CAST('{MOST}' AS DOUBLE)"
    return (
        f"CASE WHEN isnan({x}) THEN CAST(NULL AS DOUBLE) WHEN {x} > {most} THEN {most} "
        f"WHEN {x} < -{most} THEN -{most} ELSE {x} END"
    )
