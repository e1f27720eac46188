"""Where the data is: one Source over a CSV or Parquet file, a frame, a database or a Spark cluster, through
Ibis.

    Source.open("people.parquet")                           a path or a glob; .csv, .csv.gz, .tsv as well
    Source.open(frame)                                      pandas, Polars, Arrow
    Source.open("people.duckdb", table="people")
    Source.open("postgresql://user@host/db", table="people")        or table="schema.people"
    Source.open(spark_frame)                                a Spark DataFrame; or a session and the name of a table
    Source.open(ibis_table)                                 of DuckDB, PostgreSQL or Spark

Opening reads the names and types of columns and no rows, except for a CSV file, whose types DuckDB guesses from
its first rows unless the schema states them. Names and types are taken to be public. A value of a CSV file that
does not read as the type of its column is null, wherever in the file it stands, and follows the column's policy
for nulls; a line that cannot be split into columns is left out.
"""

from __future__ import annotations

import atexit
import csv
import glob
import gzip
import itertools
import os
import shutil
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from dalenius.calculus.errors import QueryFailed, SourceError
from dalenius.tables.collations import usable
from dalenius.tables.kinds import Field, Kind, field_of
from dalenius.tables.portable import ENGINES
from dalenius.tables.public import PublicTable
from dalenius.tables.query import Table
from dalenius.tables.schema import Schema

CSV = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".csv.zst")
PARQUET = (".parquet", ".pq")
DATABASES = (".duckdb", ".ddb", ".db")
WHOLE = r"^\s*[-+]?\d+\s*$"
CSV_TYPES: dict[Kind, str] = {
    "integer": "int64",
    "number": "float64",
    "text": "string",
    "bool": "boolean",
    "date": "date",
    "timestamp": "timestamp",
}
GIVE = (
    "give the path of a CSV or Parquet file, a pandas, Polars or Arrow frame, a DuckDB file and a table, an Ibis "
    "table, a postgresql:// address and a table, or a Spark DataFrame"
)


_numbers = itertools.count()


@dataclass(frozen=True, eq=False)
class Source:
    """A table in an engine. Made by `Source.open`.

    rows: the Ibis table; engine: "duckdb", "postgres" or "pyspark"; name: what to call the table in a question.
    """

    rows: Any = field(repr=False)
    engine: str
    name: str
    fields: tuple[Field, ...] = field(repr=False)
    schema: Schema = field(repr=False)
    _backend: Any = field(repr=False)
    _owned: bool = field(default=False, repr=False)
    _uploaded: dict[str, Any] = field(default_factory=dict, repr=False)
    _turns: dict[int, threading.Lock] = field(default_factory=dict, repr=False)
    """A lock for each process: one that a fork took along may be held for ever."""

    @classmethod
    def open(
        cls, data: Any, *, table: str | None = None, schema: Schema | str | Path | None = None
    ) -> Source:
        """Open whatever holds the data; see the head of this module. schema: public facts, or their file."""
        facts = Schema.load(schema) if isinstance(schema, str | Path) else schema or Schema()
        try:
            import ibis  # noqa: F401
        except ModuleNotFoundError:
            raise SourceError("tables need Ibis and DuckDB: pip install 'dalenius[tables]'.") from None
        opened = _quietly(lambda: _open(data, table, facts))
        return cls(
            opened.rows, opened.engine, opened.name, opened.fields, facts, opened.backend, opened.owned
        )

    def table(self, schema: Schema | None = None) -> Table:
        """The table as something to ask about."""
        return Table(self.name, self.fields, self.schema if schema is None else schema)

    def upload(self, public: PublicTable) -> Any:
        """A public table inside the engine; sent once."""
        import ibis

        if public.digest not in self._uploaded:
            self._uploaded[public.digest] = ibis.memtable(public.arrow)
        return self._uploaded[public.digest]

    def fetch(self, rows: Any) -> Any:
        """Run it; the result in Arrow. An engine's complaint may quote the data, so it is not passed on."""
        failed = False
        try:
            # One question at a time: a connection that is busy would fail a question that was charged.
            with self._turns.setdefault(os.getpid(), threading.Lock()):
                return self._backend.to_pyarrow(rows)
        except Exception:
            failed = True
        # Outside the handler: the original must not hang on as the context of this one.
        if failed:
            raise QueryFailed(
                "the engine could not carry the question out. What it said is withheld, because it may quote the data: "
                "look in its log, or run the question in the engine itself, where the data may be seen."
            )

    def close(self) -> None:
        """Close the connection. A connection that was given stays open."""
        if self._owned:
            self._backend.disconnect()


@dataclass(frozen=True)
class _Opened:
    rows: Any
    engine: str
    name: str
    fields: tuple[Field, ...]
    backend: Any
    owned: bool


def _quietly(action: Callable[[], Any]) -> Any:
    """Open; whatever goes wrong is told without its cause, which may quote the data or a password."""
    try:
        return action()
    except SourceError:
        raise
    except ModuleNotFoundError as missing:
        complaint = f"the package {missing.name} is not installed; install the extra of dalenius that has it."
    except Exception as problem:
        complaint = (
            f"the data could not be opened ({type(problem).__name__}); check that it is what its name says, and that "
            f"it may be read. {GIVE[0].upper()}{GIVE[1:]}."
        )
    # Outside the handler: the original must not hang on as the context of this one.
    raise SourceError(complaint)


def _open(data: Any, table: str | None, schema: Schema) -> _Opened:
    if isinstance(data, str | Path):
        return _by_text(str(data), table, schema)
    module = type(data).__module__.partition(".")[0]
    if module == "ibis":
        return _ibis(data)
    if module == "pyspark":
        return _spark(data, table)
    if module in ("pandas", "polars", "pyarrow") or isinstance(data, dict):
        return _frame(data, module)
    raise SourceError(f"data of type {type(data).__name__} cannot be opened; {GIVE}.")


def _by_text(text: str, table: str | None, schema: Schema) -> _Opened:
    if text.startswith(("postgresql://", "postgres://")):
        return _postgres(text, table)
    if "://" in text and not text.startswith(("s3://", "gs://", "https://", "http://", "file://", "hf://")):
        raise SourceError(f"an address that begins with {text.split('://')[0]}:// cannot be opened; {GIVE}.")
    ending = text.lower()
    if ending.endswith(DATABASES):
        return _duckdb_file(text, table)
    if table is not None:
        raise SourceError("a table is named, but the data is one file; leave the table out.")
    if not ending.endswith((*CSV, *PARQUET)):
        raise SourceError(f"{text!r} does not end like a CSV, Parquet or DuckDB file; {GIVE}.")
    if "://" not in text and not Path(text).is_file() and not glob.glob(text, recursive=True):
        raise SourceError(f"there is no file {text!r}; check the path.")
    return _parquet(text) if ending.endswith(PARQUET) else _csv(text, schema)


@cache
def _spill() -> Path:
    """A folder of ours alone, for what does not fit the memory; it goes away with the process."""
    folder = Path(tempfile.mkdtemp(prefix="dalenius-spill-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _duckdb(path: str | None = None) -> Any:
    """An embedded DuckDB. It makes its own folder to spill into when it must, and removes it when closed."""
    import ibis

    settings = {
        "temp_directory": str(_spill() / str(next(_numbers))),
        "preserve_insertion_order": False,
    }
    backend = ibis.duckdb.connect(*([] if path is None else [path]), read_only=path is not None, **settings)
    backend.con.execute("SET enable_progress_bar = false").fetchall()
    return backend


def _parquet(path: str) -> _Opened:
    backend = _duckdb()
    return _opened(backend, backend.read_parquet(path), _stem(path))


def _csv(path: str, schema: Schema) -> _Opened:
    """Every column is read as text and then as its type, null where that fails: no row can make the query
    fail. Names and separator are those of the first line, which is public; quotes are doubled inside quotes. A record
    with too many or too few fields is left out.
    """
    backend = _duckdb()
    options: dict[str, Any] = {"ignore_errors": True, "header": True, "quote": '"', "escape": '"'}
    first = _first_line(path)
    if first is not None:
        options["delim"] = max(",;\t|", key=first.count)
        (names,) = csv.reader([first], delimiter=options["delim"])
        named = names and all(names) and first.count('"') % 2 == 0
        if not named or len({name.lower() for name in names}) < len(names):
            raise SourceError(
                f"the first line of {path!r} must name every column, each with a name of its own; add or change names."
            )
    # Dates written in another way than 2020-12-31 would not be read below: they stay text.
    guessed = backend.read_csv(path, **options, dateformat="%Y-%m-%d").schema()
    if first is not None and list(guessed) != names:
        guessed = dict.fromkeys(names, "string")  # the guess took a row for something else
    if first is not None:
        options |= {"auto_detect": False, "columns": dict.fromkeys(names, "VARCHAR")}
    text = backend.read_csv(path, **options if first is not None else {**options, "all_varchar": True})
    columns = {}
    for name, dtype in guessed.items():
        declared = schema[name].type
        wanted = dtype if declared is None else CSV_TYPES[declared]
        columns[name] = text[name] if str(wanted) == "string" else text[name].try_cast(wanted)
        if str(wanted).startswith("int"):  # a cast would round 6.7
            columns[name] = text[name].re_search(WHOLE).ifelse(columns[name], None)
    return _opened(backend, text.select(**columns), _stem(path))


def _first_line(path: str) -> str | None:
    """The first line of a file, or of the first of several; None where only the engine can read it."""
    found = sorted(glob.glob(path, recursive=True)) if "://" not in path else []
    if not found and "://" not in path and Path(path).is_file():
        found = [path]
    if not found or found[0].lower().endswith(".zst"):
        return None
    opener: Any = gzip.open if found[0].lower().endswith(".gz") else open
    with opener(found[0], "rt", encoding="utf-8-sig", errors="replace", newline=None) as file:
        return str(file.readline()).rstrip("\n")


def _duckdb_file(path: str, table: str | None) -> _Opened:
    if not Path(path).is_file():
        raise SourceError(f"there is no file {path!r}; check the path.")
    if table is None:
        raise SourceError(f"{path!r} is a database; name the table in it: table='people'.")
    backend = _duckdb(path)
    return _named(backend, table)


def _frame(data: Any, module: str) -> _Opened:
    import pyarrow as pa

    if module == "polars":
        data = data.collect() if hasattr(data, "collect") else data
        arrow = data.to_arrow()
    elif module == "pandas":
        arrow = _from_pandas(data)
    else:
        arrow = data if isinstance(data, pa.Table) else pa.table(data)
    if len(set(arrow.column_names)) != len(arrow.column_names):
        raise SourceError("the frame has two columns of the same name; rename one.")
    backend = _duckdb()
    backend.con.register("data", arrow)
    opened = _opened(backend, backend.table("data"), "data")
    if module != "pandas":
        return opened
    # NumPy's integers and truth values have no way to say "missing".
    full = {
        str(name)
        for name, dtype in data.dtypes.items()
        if isinstance(dtype, np.dtype) and dtype.kind in "iub"
    }
    fields = tuple(replace(f, nullable=f.nullable and f.name not in full) for f in opened.fields)
    return replace(opened, fields=fields)


def _from_pandas(frame: Any) -> Any:
    import pyarrow as pa

    columns = {}
    for position, name in enumerate(frame.columns):
        try:
            columns[str(name)] = pa.Array.from_pandas(frame.iloc[:, position])
        except pa.ArrowException:
            columns[str(name)] = None
        if columns[str(name)] is None:
            raise SourceError(
                f"column {str(name)!r} of the frame holds values of several types, or of one that has no equal in a "
                "database; make it a column of numbers, text, dates, or of True and False."
            )
    if len(columns) < len(frame.columns):
        raise SourceError("the frame has two columns of the same name; rename one.")
    return pa.table(columns)


def _postgres(address: str, table: str | None) -> _Opened:
    import ibis
    import psycopg

    if table is None:
        raise SourceError("the address names a database; name the table in it: table='people'.")
    try:
        connection = psycopg.connect(address, autocommit=True, connect_timeout=30)
    except psycopg.Error:
        connection = None
    if connection is None:  # no chained exception: the address may hold a password
        raise SourceError(
            f"no connection to PostgreSQL at {urlsplit(address).hostname}; check address and password."
        )
    backend = ibis.postgres.from_connection(connection)
    return _named(backend, table)


def _spark(data: Any, table: str | None) -> _Opened:
    import ibis

    if hasattr(data, "sparkSession"):  # a DataFrame
        backend = ibis.pyspark.connect(data.sparkSession)
        view = f"dalenius_{next(_numbers)}"
        data.createOrReplaceTempView(view)
        return _opened(backend, backend.table(view), "data", owned=False)
    if not hasattr(data, "table"):
        raise SourceError(
            f"a {type(data).__name__} of Spark cannot be opened; give a DataFrame or a session."
        )
    if table is None:
        raise SourceError(
            "a Spark session is given; name the table in it: table='people', or give a DataFrame."
        )
    return _named(ibis.pyspark.connect(data), table, owned=False)


def _ibis(data: Any) -> _Opened:
    if not hasattr(data, "get_backend") or not hasattr(data, "schema"):
        raise SourceError(f"a {type(data).__name__} of Ibis cannot be opened; give a table.")
    backend = data.get_backend()
    if backend.name not in ENGINES:
        raise SourceError(
            f"Ibis tables of {backend.name} cannot be opened; exact sums are known to agree on DuckDB, PostgreSQL and "
            "Spark only."
        )
    return _opened(backend, data, data.get_name() if hasattr(data.op(), "name") else "data", owned=False)


def _named(backend: Any, table: str, *, owned: bool = True) -> _Opened:
    *place, name = table.split(".")
    try:
        rows = backend.table(name, database=".".join(place) if place else None)
    except Exception:
        rows = None
    if rows is None:
        raise SourceError(
            f"there is no table {table!r} in the database, or it may not be read; check its name."
        )
    quoted = ".".join('"' + part.replace('"', '""') + '"' for part in (*place, name))
    return _opened(backend, rows, table, quoted, owned=owned)


def _opened(
    backend: Any, rows: Any, name: str, relation: str | None = None, *, owned: bool = True
) -> _Opened:
    fields = tuple(field_of(column, dtype) for column, dtype in rows.schema().items())
    if backend.name == "pyspark":
        fields = tuple(
            _spark_field(f, dtype) for f, dtype in zip(fields, rows.schema().values(), strict=True)
        )
    fields = usable(fields, backend, rows, relation)
    return _Opened(rows, backend.name, name, fields, backend, owned)


def _spark_field(told: Field, dtype: Any) -> Field:
    """Spark's timestamps are moments, and Ibis has set the session to UTC: they are read as such."""
    if dtype.is_timestamp() and dtype.timezone == "UTC":
        return Field(told.name, "timestamp", "timestamp", told.nullable)
    return told


def _stem(path: str) -> str:
    return Path(path.split("*")[0].rstrip("/")).name.split(".")[0] or "data"
