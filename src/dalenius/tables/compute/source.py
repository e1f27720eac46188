"""Where the data is: one Source over a CSV or Parquet file, a frame, a database or a Spark cluster, through
Ibis.

    Source.open("people.parquet")                           a path or a glob; .csv, .csv.gz, .tsv as well
    Source.open(frame)                                      pandas, Polars, Arrow
    Source.open("people.duckdb", table="people")            or "people.sqlite"
    Source.open("postgresql://user@host/db", table="people")        or table="schema.people"
    Source.open(spark_frame)                                a Spark DataFrame; or a session and the name of a table
    Source.open(ibis_table)                                 of any of these engines
    Source.open_together({"visits": ("visits.parquet", None), "purchases": ("purchases.csv", None)})        in one place

Opening reads the names and types of columns and no rows, except for a CSV file, which is read whole, and for columns of
Python objects. Names and types are taken to be public. One record can only spoil itself: what cannot be read as a value
of its column is missing, whatever it is, and follows the column's policy for nulls. How each thing is opened is in
`dalenius.tables.engines`; what may be relied on afterwards in `dalenius.tables.facts.kinds`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import ibis
import numpy as np
from numpy.typing import NDArray

from dalenius.core.quiet import quiet
from dalenius.errors import InvalidParameter, SourceError
from dalenius.tables.ask.query import Table
from dalenius.tables.engines import engine_for, give, is_ibis, place_of
from dalenius.tables.engines.engine import Engine
from dalenius.tables.engines.failure import sealed
from dalenius.tables.engines.opened import APART, Opened
from dalenius.tables.engines.place import Place, former_names
from dalenius.tables.facts.kinds import Field
from dalenius.tables.facts.nearest import nearest
from dalenius.tables.facts.public import PublicTable
from dalenius.tables.facts.schema import Schema

BLOCK = 2**14
"""Rows that are in memory at a time."""


@dataclass(frozen=True, eq=False)
class Source:
    """A table in an engine. Made by `Source.open`.

    rows: the Ibis table, of clean columns under internal names; engine: what runs questions about it; name:
    what to call the table in a question.
    """

    rows: Any = field(repr=False)
    engine: Engine = field(repr=False)
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
    together: dict[str, Source] = field(default_factory=dict, repr=False)
    """The tables that were opened with this one in one place, itself among them, by name; empty for one alone."""
    _turns: dict[int, threading.Lock] = field(default_factory=dict, repr=False)
    """A lock for each process: one that a fork took along may be held for ever."""

    @classmethod
    def open(
        cls, data: Any, *, table: str | None = None, schema: Schema | str | Path | None = None
    ) -> Source:
        """Open whatever holds the data; see the head of this module. schema: public facts, or their file."""
        facts = Schema.load(schema) if isinstance(schema, str | Path) else schema or Schema()
        return cls._of(data, table, _quietly(lambda: _open(data, table, facts)), facts)

    @classmethod
    def open_together(
        cls,
        tables: Mapping[str, tuple[Any, str | None]],
        schemas: Mapping[str, Schema | str | Path | None] | None = None,
    ) -> Source:
        """Several tables in one place: the first of them, which knows the others (`together`).

        tables: by name, what holds each and, in a database, what it is called there. schemas: public facts of each.
        """
        facts = {
            name: Schema.load(given) if isinstance(given, str | Path) else given or Schema()
            for name, given in ((name, (schemas or {}).get(name)) for name in tables)
        }
        _in_one_place(tables)
        made: dict[str, Source] = {}
        beside: Any = None
        for name, (data, table) in tables.items():
            opened = _quietly(partial(_open, data, table, facts[name], beside))
            first, beside = beside is None, opened.backend
            opened = replace(opened, name=name, owned=opened.owned and first)
            made[name] = cls._of(data, table, opened, facts[name], together=made)
        first_of_all = next(iter(made.values()))
        for source in made.values():  # one connection has one queue
            object.__setattr__(source, "_turns", first_of_all._turns)
        return first_of_all

    @classmethod
    def _of(
        cls,
        data: Any,
        table: str | None,
        opened: Opened,
        facts: Schema,
        together: dict[str, Source] | None = None,
    ) -> Source:
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
            together={} if together is None else together,
        )

    def table(self, schema: Schema | None = None) -> Table:
        """The table as something to ask about."""
        return Table(self.name, self.fields, self.schema if schema is None else schema)

    def called(self, name: str) -> Source:
        """The table of that name among those opened together; a table that is alone is what it is."""
        if self.together and name not in self.together:
            raise InvalidParameter(
                f"the question is about a table {name!r}; {nearest(name, self.together)}. Take tables from this "
                "session: s.table[...]."
            )
        return self.together[name] if self.together else self

    def outline(self) -> Source:
        """All of it that is public, and no way to the rows: enough to plan with, in another process, too."""
        made: dict[str, Source] = {}
        for name, source in (self.together or {self.name: self}).items():
            made[name] = replace(
                source,
                rows=None,
                _backend=None,
                _owned=False,
                _uploaded={},
                _kept=None,
                together=made if self.together else {},
                _turns={},
            )
        return made[self.name]

    @property
    def given(self) -> tuple[Any, ...]:
        """The relations that statements may read from."""
        return tuple(one.rows for one in self.together.values()) or (self.rows,)

    def upload(self, public: PublicTable) -> Any:
        """A public table inside the engine; sent once."""
        if public.digest not in self._uploaded:
            self._uploaded[public.digest] = ibis.memtable(public.arrow)
        return self._uploaded[public.digest]

    def fetch(self, rows: Any) -> Any:
        """Run it; the result in Arrow. An engine's complaint may quote the data, so it is not passed on."""
        # One question at a time: a connection that is busy would fail a question that was charged.
        with self._turns.setdefault(os.getpid(), threading.Lock()):
            return sealed(lambda: self.engine.fetch(self._backend, rows))

    def blocks(self, rows: Any, size: int = BLOCK) -> Iterator[NDArray[np.int64]]:
        """Run it, and hand out its rows of whole numbers a block at a time; it must be read to its end, or closed."""
        with self._turns.setdefault(os.getpid(), threading.Lock()):
            blocks = sealed(lambda: self.engine.blocks(self._backend, rows, size))
            while (block := sealed(lambda: next(blocks, None))) is not None:
                yield block

    def answers(self) -> bool:
        """Whether the connection still works: a server that was started again has ended it."""
        return self.engine.answers(self._backend)

    def close(self) -> None:
        """Close the connection. A connection that was given stays open."""
        if self._owned:
            self.engine.close(self._backend)


def _open(data: Any, table: str | None, schema: Schema, beside: Any = None) -> Opened:
    engine = engine_for(data)
    if is_ibis(data):
        return engine.open_given(data, beside)
    return engine.open(data, table, schema, beside)


def _in_one_place(tables: Mapping[str, tuple[Any, str | None]]) -> None:
    """Refuse tables that no engine could join: from where they are, before any is opened."""
    engines = {engine_for(data).name for data, _ in tables.values()}
    given = {is_ibis(data) for data, _ in tables.values()}
    places = {None if table is None else place_of(data, table).where for data, table in tables.values()}
    if len(engines) > 1 or len(given) > 1 or (given == {False} and len(places) > 1):
        where = "; ".join(f"{name!r} is in {engine_for(data).name}" for name, (data, _) in tables.items())
        raise SourceError(f"{APART} ({where}). Copy them to one of these first.")


def _quietly(action: Callable[[], Opened]) -> Opened:
    """Open; whatever goes wrong is told without its cause, which may quote the data or a password.

    Some sources are read when they are opened: no warning tells of a row.
    """
    try:
        with quiet():
            return action()
    except SourceError:
        raise
    except ModuleNotFoundError as missing:
        complaint = f"the package {missing.name} is not installed; install the extra of dalenius that has it."
    except Exception as problem:
        words = give()
        complaint = (
            f"the data could not be opened ({type(problem).__name__}); check that it is what its name says, and that "
            f"it may be read. {words[0].upper()}{words[1:]}."
        )
    # Outside the handler: the original must not hang on as the context of this one.
    raise SourceError(complaint)
