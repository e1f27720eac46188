"""The engines questions run on: one file or folder for each, which knows all about it, found here by its name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from dalenius.errors import SourceError
from dalenius.tables.engines.duckdb import DuckDB
from dalenius.tables.engines.engine import Engine
from dalenius.tables.engines.place import Place
from dalenius.tables.engines.postgres import Postgres
from dalenius.tables.engines.spark import Spark
from dalenius.tables.engines.sqlite import SQLite

KNOWN: dict[str, Engine] = {engine.name: engine for engine in (SQLite(), Spark(), Postgres(), DuckDB())}
"""In the order in which they are asked; a file that ends in .db is DuckDB's unless it begins as SQLite's do."""


def give() -> str:
    """What can be opened, in words."""
    return f"give {', '.join(engine.opened for engine in reversed(KNOWN.values()))}, or an Ibis table of one of these"


def engine_of(name: str) -> Engine:
    """The engine of that name, as Ibis spells it; any other is refused, never taken for one of these."""
    if name not in KNOWN:
        raise SourceError(f"{name!r} is not an engine questions can run on; there are {', '.join(KNOWN)}.")
    return KNOWN[name]


def engine_for(data: Any) -> Engine:
    """The engine that opens some data; refused when there is none. Nothing is connected to, and no row read."""
    if is_ibis(data):
        return engine_of(data.get_backend().name)
    one_column = type(data).__name__ == "Series"
    for engine in KNOWN.values() if not one_column else ():
        if engine.opens(data):
            return engine
    if not isinstance(data, str | Path):
        rows = isinstance(data, list | tuple) or hasattr(data, "__array__")
        frame = (
            " Make a frame of it: pandas.DataFrame(data, columns=[...])." if rows and not one_column else ""
        )
        frame = " Make a frame of it: data.to_frame()." if one_column else frame
        raise SourceError(f"data of type {type(data).__name__} cannot be opened; {give()}.{frame}")
    text = str(data)
    if "://" in text:
        raise SourceError(
            f"an address that begins with {text.split('://')[0]}:// cannot be opened; {give()}."
        )
    read = READ_BY_PANDAS.get(Path(text).suffix.lower())
    hint = (
        "" if read is None else f" Or read it yourself: dp.Session(pandas.{read}({text!r}), name=..., ...)."
    )
    if LIKE_AN_ADDRESS.search(text):  # in which a password may stand
        raise SourceError(
            f"what is given is neither the name of a file nor an address that is known; {give()}."
        )
    raise SourceError(f"{text!r} does not end like a CSV, Parquet, DuckDB or SQLite file; {give()}.{hint}")


LIKE_AN_ADDRESS = re.compile("@|password|postgres", re.IGNORECASE)


READ_BY_PANDAS = {
    ".dta": "read_stata",
    ".feather": "read_feather",
    ".json": "read_json",
    ".ods": "read_excel",
    ".sas7bdat": "read_sas",
    ".sav": "read_spss",
    ".xls": "read_excel",
    ".xlsx": "read_excel",
}
"""What no engine reads, by the ending, and what makes a frame of it."""


def place_of(data: Any, table: str | None = None) -> Place:
    """Where the data is; what is not at a place of its own is in memory."""
    engine = engine_for(data)
    if not is_ibis(data):
        return engine.place(data, table)
    try:
        schema = data.op().namespace.database
        name = data.op().name if schema is None else f"{schema}.{data.op().name}"
        return engine.place_given(data.get_backend(), name)
    except Exception:  # not a named table, or a connection that does not tell
        return Place("memory")


def is_ibis(data: Any) -> bool:
    """Whether something is a table of Ibis; anything else of Ibis is refused."""
    if type(data).__module__.partition(".")[0] != "ibis":
        return False
    if not hasattr(data, "get_backend") or not hasattr(data, "schema"):
        raise SourceError(f"a {type(data).__name__} of Ibis cannot be opened; give a table.")
    return True
