"""Small things the ledger's tests share."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from fractions import Fraction

import dalenius as dp
from dalenius.calculus.guarantees.cost import Cost
from dalenius.session.account import Account
from dalenius.session.ledger import Ledger


def rho(amount: str) -> Cost:
    """A cost in rho."""
    return Cost("zcdp", Fraction(amount))


def opened(place: str, budget: float = 1.0, **more: object) -> Account:
    """An account with a zCDP budget, on a ledger of its own."""
    return Ledger.open(place, patience=20).account("people", dp.ZCDP(budget), **more)  # type: ignore[arg-type]


def is_postgres(place: str) -> bool:
    return place.startswith("postgresql://")


def by_hand(place: str, *statements: str, guarded: bool = True) -> list[Sequence[object]]:
    """Run SQL on the database behind the ledger's back; unguarded, the triggers are switched off first.

    Tables are written `{entries}` and `{head}`. The rows of the last statement are returned.
    """
    if is_postgres(place):
        return _by_hand_postgres(place, statements, guarded)
    connection = sqlite3.connect(place, isolation_level=None)
    try:
        kept = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        if not guarded:
            for name, _ in kept:
                connection.execute(f"DROP TRIGGER {name}")
        rows: list[Sequence[object]] = []
        for statement in statements:
            rows = connection.execute(statement.format(entries="entries", head="head")).fetchall()
        if not guarded:
            for _, sql in kept:
                connection.execute(sql)
        return rows
    finally:
        connection.close()


def _by_hand_postgres(place: str, statements: Sequence[str], guarded: bool) -> list[Sequence[object]]:
    import psycopg

    tables = ("dalenius.entries", "dalenius.head")
    with psycopg.connect(place, autocommit=True) as connection:
        if not guarded:
            for table in tables:
                connection.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER".encode())
        rows: list[Sequence[object]] = []
        for statement in statements:
            cursor = connection.execute(statement.format(entries=tables[0], head=tables[1]).encode())
            rows = list(cursor.fetchall()) if cursor.description else []
        if not guarded:
            for table in tables:
                connection.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER".encode())
        return rows
