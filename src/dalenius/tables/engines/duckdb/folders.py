"""A folder of Parquet files, as Spark, pandas and Arrow write a table in parts: all of those in it and below it.

Folders inside that are called `year=2024` are columns of that name, as in Hive. A folder stands for the pattern
`folder/**/*.parquet`: that is what is opened, and what a ledger remembers.
"""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import Any

from dalenius.errors import SourceError
from dalenius.tables.engines.place import local


def is_folder(data: Any) -> bool:
    return isinstance(data, str | Path) and os.path.isdir(local(str(data)))


def pattern(folder: str) -> str:
    """The files of a folder; refused where there are none, or where some of them are of the past."""
    folder = local(folder)
    if os.path.isdir(os.path.join(folder, "_delta_log")):
        raise SourceError(
            f"{folder!r} is a Delta table, whose files are also those of earlier versions; give a Spark DataFrame or "
            "an Arrow table of the version that you mean."
        )
    files = os.path.join(glob.escape(os.path.realpath(folder)), "**", "*.parquet")
    if next(glob.iglob(files, recursive=True, include_hidden=True), None) is None:
        raise SourceError(
            f"{folder!r} is a folder without .parquet files; name the files in it: "
            f"{os.path.join(folder, '*.csv')!r}, or with those in folders below "
            f"{os.path.join(folder, '**', '*.csv')!r}, in quotes on a command line."
        )
    return files
