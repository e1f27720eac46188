"""An embedded DuckDB, set up to decide by values alone."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Hashable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any
from weakref import WeakSet

import duckdb
import ibis

from dalenius.core.quiet import quiet
from dalenius.errors import SourceError
from dalenius.tables.engines.engine import interruptible
from dalenius.tables.engines.place import is_address, shown
from dalenius.tables.engines.sqltext import name, numbers, text

BY_STATISTICS = "filter_pushdown,statistics_propagation,join_filter_pushdown,filter_pullup"
MISTAKEN = "top_n_window_elimination"
"""Without filter_pushdown, DuckDB 2.0 takes `row_number() - 1 < k` for the first k - 1 rows."""
TAKEN = ("memory", "temp", "system")
"""Names that DuckDB has for databases of its own."""
FUNCTIONS = """
    SELECT function_name, parameter_types, varargs, return_type, extension_name, internal
    FROM system.main.duckdb_functions()
"""
"""All functions. Where it is named in full, no database has another one; and no function is called here, which one of a
database might stand for."""


@cache
def spill() -> Path:
    """A folder of ours alone, for what does not fit the memory; it goes away with the process."""
    folder, owner = Path(tempfile.mkdtemp(prefix="dalenius-spill-")), os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # a forked child that ends leaves it to its parent
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return folder


def connect() -> Any:
    """An embedded DuckDB. It makes its own folder to spill into when it must, and removes it when closed."""
    folder = str(spill() / str(next(numbers)))
    backend = ibis.duckdb.connect(temp_directory=folder, preserve_insertion_order=False)
    OWN.add(backend)
    run(backend, "SET enable_progress_bar = false")
    run(backend, "SET python_enable_replacements = false")  # no table is a variable of Python's
    trust_values(backend)
    return backend


OWN: WeakSet[Any] = WeakSet()
"""Connections that nobody else uses."""


@contextmanager
def one_thread(backend: Any) -> Iterator[None]:
    """Rows that are taken one block after the other: one thread makes them as fast, and keeps one part of a file in
    memory where each thread has its own. A connection that was given is left as it is."""
    if backend not in OWN:
        yield
        return
    run(backend, "SET threads = 1")
    try:
        yield
    finally:
        with suppress(Exception):  # it was closed meanwhile, or failed already
            run(backend, "RESET threads")


def attach(backend: Any, path: str) -> None:
    """A database file, to be read only. A process may do so as often as it likes, unless it also writes the file."""
    stem = Path(path).stem
    alias = name(f"{stem}_db" if stem.lower() in TAKEN else stem)
    run(backend, f"ATTACH {text(path)} AS {alias} (READ_ONLY)")
    run(backend, f"USE {alias}")


def no_function_is_hidden(backend: Any) -> None:
    """Refuse a connection that has a function of its own under the name of one of DuckDB's.

    DuckDB would take it in the place of its own, in every statement of ours: a macro `least` undoes the bounds of a
    question, and one that reads a file puts that in the place of a column. A function in Python is told apart by what
    DuckDB has without it, for it says of itself that it is DuckDB's own.
    """
    ours: set[str] = set()
    others: dict[str, str] = {}
    for called, kind, added in _functions(backend.con):
        if added or kind in _plain():
            ours.add(called.lower())
        else:
            others[called] = called.lower()
    foreign = sorted(called for called, folded in others.items() if folded in ours)
    if foreign:
        raise SourceError(
            f"the database has a function {foreign[0]!r}, and so has DuckDB, which would use that of the database in "
            "every question; rename it there (DROP MACRO, CREATE MACRO; in Python remove_function), or copy the table "
            "to another file."
        )


def _functions(held: Any) -> list[tuple[str, Hashable, bool]]:
    """The name of each, all that tells it from others of this name, and whether an extension has added it."""
    return [
        (called, (called.lower(), tuple(types), *others, internal), bool(extension and internal))
        for called, types, *others, extension, internal in held.execute(FUNCTIONS).fetchall()
    ]


@cache
def _plain() -> frozenset[Hashable]:
    """All functions that DuckDB has by itself."""
    with duckdb.connect() as held:
        return frozenset(kind for _, kind, _ in _functions(held))


def trust_values(backend: Any) -> None:
    """Let DuckDB decide by values alone, and never by the statistics of a file or a table.

    Statistics are of what is stored; what is read may be another value (text that was mended, an infinite moment), and
    one row's statistics would then decide what becomes of the others.
    """
    run(backend, f"SET disabled_optimizers = '{BY_STATISTICS},{MISTAKEN}'")


def reaching(backend: Any, path: str) -> Any:
    """A connection that can read what is at an address: by an extension of DuckDB's, which nobody is made to
    install."""
    if is_address(path) and not _loads(backend):
        raise SourceError(
            f"{shown(path)!r} is an address, which DuckDB reads by its extension httpfs, and it is not installed here. "
            "Install it once, where there is a network: duckdb.sql('INSTALL httpfs'); or copy the data to a file."
        )
    return backend


def _loads(backend: Any) -> bool:
    with suppress(Exception):
        run(backend, "LOAD httpfs")
        return True
    return False


def run(backend: Any, statement: str) -> list[tuple[Any, ...]]:
    """The rows of a statement."""
    return interruptible(lambda: list(backend.con.execute(statement).fetchall()), backend.con.interrupt)


def table(backend: Any, called: str, *database: str) -> Any:
    """The Ibis table of a table or view. Ibis asks for its columns in a way that DuckDB calls deprecated."""
    with quiet():
        return backend.table(called, database=database)
