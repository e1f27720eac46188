"""Tables of the Spark that the server's own environment names (SPARK_REMOTE), where the settings allow it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, ClassVar

from dalenius.errors import SourceError
from dalenius.web.datasets.faults import Faults
from dalenius.web.datasets.sources.source import Allowed, Asked, Kind, Record, Tables, named


class SparkTables(Kind):
    """There is one Spark; a steward names tables of it."""

    tag = "spark"
    title = "Spark"
    asks: ClassVar[Sequence[Asked]] = (
        Asked(
            "tables",
            "Table",
            "Such as people or survey.people. Several tables of the same people: one line each, as visits = visits.",
            lines=True,
        ),
    )

    def offered(self, allowed: Allowed) -> str | None:
        return None if "spark" in allowed.source_schemes else "the console was not started with --spark"

    def read(self, given: Mapping[str, Any], allowed: Allowed, faults: Faults) -> Record:
        tables = {
            name or called.rpartition(".")[2]: called
            for name, called in named(given, "tables", faults).items()
        }
        if (lacks := self.offered(allowed)) is not None:
            faults.add("source.tables", f"{lacks}.")
        return {"kind": self.tag, "tables": tables}

    def tables(self, record: Record, secret: str | None, allowed: Allowed) -> Tables:
        if self.offered(allowed) is not None:
            raise SourceError("the console was not started with --spark.")
        spark = connected()
        return {name: (spark, called) for name, called in record["tables"].items()}

    def words(self, record: Record) -> str:
        return f"{', '.join(record['tables'].values())} in Spark"


@cache
def connected() -> Any:
    """The session, one for the process."""
    made = None
    try:
        from pyspark.sql import SparkSession

        made = SparkSession.builder.getOrCreate()
    except Exception:  # Spark's complaints may hold addresses and paths
        pass
    if made is None:
        raise SourceError("Spark cannot be reached; ask who runs this console.")
    return made
