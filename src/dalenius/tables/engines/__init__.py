"""The engines questions run on: one file for each, which lists all it is ever asked to compute."""

from __future__ import annotations

from dalenius.errors import SourceError
from dalenius.tables.engines.duckdb import DuckDB
from dalenius.tables.engines.engine import Engine
from dalenius.tables.engines.postgres import Postgres
from dalenius.tables.engines.spark import Spark

KNOWN: dict[str, Engine] = {"duckdb": DuckDB(), "postgres": Postgres(), "pyspark": Spark()}


def engine_of(name: str) -> Engine:
    """The engine of that name, as Ibis spells it; any other is refused, never taken for one of these."""
    if name not in KNOWN:
        raise SourceError(f"{name!r} is not an engine questions can run on; there are {', '.join(KNOWN)}.")
    return KNOWN[name]
