"""Where the data is: one Source over a CSV or Parquet file, a frame, a database or a Spark cluster, through
Ibis.

    Source.open("people.parquet")                           a path or a glob; .csv, .csv.gz, .tsv as well
    Source.open(frame)                                      pandas, Polars, Arrow
    Source.open("people.duckdb", table="people")
    Source.open("postgresql://user@host/db", table="people")        or table="schema.people"
    Source.open(spark_frame)                                a Spark DataFrame; or a session and the name of a table
    Source.open(ibis_table)                                 of DuckDB, PostgreSQL or Spark

Opening reads the names and types of columns and no rows, except for a CSV file, which is read whole, and for columns of
Python objects. Names and types are taken to be public. One record can only spoil itself: what cannot be read as a value
of its column is missing, whatever it is, and follows the column's policy for nulls. How each thing is opened is in
`dalenius.tables.opening`; what may be relied on afterwards in `dalenius.tables.kinds`.
"""

from __future__ import annotations

import glob
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dalenius.errors import SourceError
from dalenius.tables.failure import sealed
from dalenius.tables.kinds import Field
from dalenius.tables.opening import csv, duckdb, frames, given, parquet, postgres, spark
from dalenius.tables.opening.opened import GIVE, Opened
from dalenius.tables.place import Place, file_name, former_names, place_of
from dalenius.tables.public import PublicTable
from dalenius.tables.query import Table
from dalenius.tables.schema import Schema

DATABASES = (".duckdb", ".ddb", ".db")
ELSEWHERE = ("s3://", "gs://", "https://", "http://", "file://", "hf://")


@dataclass(frozen=True, eq=False)
class Source:
    """A table in an engine. Made by `Source.open`.

    rows: the Ibis table, of clean columns under internal names; engine: "duckdb", "postgres" or "pyspark"; name:
    what to call the table in a question.
    """

    rows: Any = field(repr=False)
    engine: str
    name: str
    fields: tuple[Field, ...] = field(repr=False)
    schema: Schema = field(repr=False)
    _backend: Any = field(repr=False)
    _owned: bool = field(default=False, repr=False)
    _uploaded: dict[str, Any] = field(default_factory=dict, repr=False)
    _kept: Any = field(default=None, repr=False)
    place: Place = field(default_factory=lambda: Place("memory"), repr=False)
    """Where the data is, for a ledger to remember."""
    former: frozenset[str] = field(default=frozenset(), repr=False)
    """What earlier versions called it."""
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
            opened.rows,
            opened.engine,
            opened.name,
            opened.fields,
            facts,
            opened.backend,
            opened.owned,
            _kept=opened.kept,
            place=place_of(data, table),
            former=frozenset(former_names(data)),
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
        # One question at a time: a connection that is busy would fail a question that was charged.
        with self._turns.setdefault(os.getpid(), threading.Lock()):
            return sealed(lambda: self._backend.to_pyarrow(rows))

    def close(self) -> None:
        """Close the connection. A connection that was given stays open."""
        if self._owned:
            self._backend.disconnect()


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


def _open(data: Any, table: str | None, schema: Schema) -> Opened:
    if isinstance(data, str | Path):
        return _by_text(str(data), table, schema)
    module = type(data).__module__.partition(".")[0]
    if module == "ibis":
        return given.open_ibis(data)
    if module == "pyspark":
        return spark.open_spark(data, table)
    if module in ("pandas", "polars", "pyarrow") or isinstance(data, dict):
        return frames.open_frame(data, module, schema)
    raise SourceError(f"data of type {type(data).__name__} cannot be opened; {GIVE}.")


def _by_text(text: str, table: str | None, schema: Schema) -> Opened:
    if text.startswith(("postgresql://", "postgres://")):
        return postgres.open_postgres(text, table)
    if "://" in text and not text.startswith(ELSEWHERE):
        raise SourceError(f"an address that begins with {text.split('://')[0]}:// cannot be opened; {GIVE}.")
    ending = text.lower()
    if ending.endswith(DATABASES):
        return duckdb.open_database(text, table)
    if table is not None:
        raise SourceError("a table is named, but the data is one file; leave the table out.")
    if not ending.endswith((*csv.ENDINGS, *parquet.ENDINGS)):
        raise SourceError(f"{text!r} does not end like a CSV, Parquet or DuckDB file; {GIVE}.")
    if "://" not in text and not Path(text).is_file() and not glob.glob(text, recursive=True):
        raise SourceError(f"there is no file {text!r}; check the path.")
    if ending.endswith(parquet.ENDINGS):
        return parquet.open_parquet(text, file_name(text))
    return csv.open_csv(text, schema, file_name(text))
