"""An Ibis table of an engine that is known, on a connection that was given and stays open."""

from __future__ import annotations

from typing import Any

from dalenius.errors import SourceError
from dalenius.tables.opening import duckdb, postgres, spark
from dalenius.tables.opening.opened import Opened
from dalenius.tables.portable import ENGINES


def open_ibis(data: Any) -> Opened:
    """The table's own SQL, with its columns taken by position."""
    if not hasattr(data, "get_backend") or not hasattr(data, "schema"):
        raise SourceError(f"a {type(data).__name__} of Ibis cannot be opened; give a table.")
    backend = data.get_backend()
    if backend.name not in ENGINES:
        raise SourceError(
            f"Ibis tables of {backend.name} cannot be opened; exact sums are known to agree on DuckDB, PostgreSQL and "
            "Spark only."
        )
    called = data.get_name() if hasattr(data.op(), "name") else "data"
    backend._run_pre_execute_hooks(data)  # tables in memory that the expression uses
    sql = backend.compile(data)
    if backend.name == "duckdb":
        duckdb.trust_values(backend)
        return duckdb.cleaned(backend, f"({sql})", called, list(data.columns), owned=False, kept=data)
    if backend.name == "pyspark":
        return spark.cleaned(backend._session.sql(sql), called, backend)
    return postgres.cleaned(backend, f"({sql})", called, None, owned=False, kept=data)
