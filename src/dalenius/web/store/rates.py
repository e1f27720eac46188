"""How often somebody came in the minute that runs: counted in the store, so that all workers count together."""

from __future__ import annotations

import time

from sqlalchemy import BigInteger, Column, Connection, Integer, Table, Text, delete
from sqlalchemy.dialects import postgresql, sqlite

from dalenius.web.store.subject import METADATA, Subject

WINDOW = 60
"""Seconds that are counted together."""

RATES = Table(
    "console_rates",
    METADATA,
    Column("who", Text, primary_key=True),
    Column("window", BigInteger, primary_key=True),
    Column("count", Integer, nullable=False),
)
SUBJECT = Subject("rates", (RATES,))


def window() -> int:
    """The number of the minute that runs."""
    return int(time.time()) // WINDOW


def add(connection: Connection, who: str, count: int = 1) -> int:
    """Count, and say how many it are now in this minute. What is long over is swept out."""
    now = window()
    new = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    row = new(RATES).values(who=who, window=now, count=count)
    change = row.on_conflict_do_update(
        index_elements=[RATES.c.who, RATES.c.window], set_={"count": RATES.c.count + row.excluded.count}
    )
    found: int = connection.execute(change.returning(RATES.c.count)).scalar_one()
    if found == count:  # once in a minute for each
        connection.execute(delete(RATES).where(RATES.c.window < now - 1))
    return found
