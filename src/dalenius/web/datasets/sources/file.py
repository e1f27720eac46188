"""CSV and Parquet files under a folder of the settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from dalenius.errors import SourceError
from dalenius.tables.engines.duckdb import csv, parquet
from dalenius.tables.engines.place import name_of
from dalenius.web.datasets.faults import Faults
from dalenius.web.datasets.sources.folder import inside
from dalenius.web.datasets.sources.source import Allowed, Asked, Kind, Record, Tables, named

ENDINGS = (*csv.ENDINGS, *parquet.ENDINGS)


class Files(Kind):
    """One file, several of one table (a pattern), or one for each of several tables."""

    tag = "file"
    title = "CSV or Parquet file"
    asks: ClassVar[Sequence[Asked]] = (
        Asked(
            "files",
            "File",
            "Its path inside the folder, such as people.parquet or parts/*.parquet. Several tables of the same people: "
            "one line each, as visits = visits.parquet. The first line of a CSV file must name its columns: those "
            "who may ask see the names.",
            lines=True,
        ),
        Asked(
            "records",
            "Records of a CSV file",
            "Quoted: line breaks may stand inside quotes.",
            needed=False,
            choices=("lines", "quoted"),
        ),
    )

    def offered(self, allowed: Allowed) -> str | None:
        return None if allowed.source_folders else "the settings name no folder to read files from"

    def read(self, given: Mapping[str, Any], allowed: Allowed, faults: Faults) -> Record:
        kept = {}
        for name, path in named(given, "files", faults).items():
            where = faults.attempt("source.files", lambda path=path: self._file(path, allowed))  # type: ignore[misc]
            if where is not None:
                kept[name or name_of(where) or "data"] = where
        records = given.get("records") or "lines"
        if records not in ("lines", "quoted"):
            faults.add("source.records", "this must be lines or quoted.")
        return {"kind": self.tag, "files": kept, "records": records}

    def tables(self, record: Record, secret: str | None, allowed: Allowed) -> Tables:
        return {name: (self._file(path, allowed), None) for name, path in record["files"].items()}

    def words(self, record: Record) -> str:
        return ", ".join(record["files"].values())

    @staticmethod
    def _file(path: str, allowed: Allowed) -> str:
        if not path.lower().endswith(ENDINGS):
            raise SourceError(f"{path!r} does not end like a CSV or Parquet file ({', '.join(ENDINGS)}).")
        return inside(path, allowed)
