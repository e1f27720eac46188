"""A subject of the store: its tables, and the steps by which older ones become those of today."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection, MetaData, Table

METADATA = MetaData()
"""All tables are in it, so that one may refer to another's. Names begin with console_."""

Step = Callable[[Connection], None]


@dataclass(frozen=True)
class Subject:
    """Tables that change together. Its version is written into the store: 1, and one more for each step.

    A step changes tables from one version to the next by statements of its own: it must not use the `Table`s here,
    which are those of today. Steps are never changed or removed once released.
    """

    name: str
    tables: tuple[Table, ...]
    steps: tuple[Step, ...] = ()

    @property
    def version(self) -> int:
        """The version of the tables as they are declared."""
        return 1 + len(self.steps)
