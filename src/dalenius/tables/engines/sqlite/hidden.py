"""Functions that a connection to SQLite was given under the names of SQLite's own."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

from dalenius.errors import SourceError

FUNCTIONS = "PRAGMA function_list"


def no_function_is_hidden(held: sqlite3.Connection) -> None:
    """Refuse a connection that has such a function: SQLite would call it in the place of its own, in every statement of
    ours. A `min` undoes the bounds of a question, and an `abs` may fail for one row."""
    with closing(sqlite3.connect(":memory:")) as plain:
        # As Ibis sets it; SQLite then calls its LIKE one that was added.
        plain.execute("PRAGMA case_sensitive_like = ON")
        known = _functions(plain)
    ours = {called for called, *_ in known}
    foreign = sorted({called for called, *_ in _functions(held) - known if called in ours})
    if foreign:
        raise SourceError(
            f"the connection has a function {foreign[0]!r}, and so has SQLite, which would call that of the connection "
            "in every question; give it another name, or give the path of the file and the table."
        )


def _functions(held: sqlite3.Connection) -> set[tuple[Any, ...]]:
    """The name of each, and all that tells it from others of this name."""
    cursor = held.cursor()
    cursor.row_factory = None
    return {(str(called).lower(), *others) for called, *others in cursor.execute(FUNCTIONS).fetchall()}
