"""The store of a ledger, by its path or its address."""

from __future__ import annotations

import os
import uuid

from dalenius.core import checks
from dalenius.errors import InvalidParameter, LedgerDamaged, LedgerError
from dalenius.session import postgres
from dalenius.session.address import is_address, read_address
from dalenius.session.entries import SCHEMA, START, Entry, now
from dalenius.session.memory import is_known
from dalenius.session.sqlite import SqliteStore
from dalenius.session.store import Store

PATIENCE = 60.0
"""Seconds to wait for a lock, a thread or a server before giving up."""


def store_at(where: str | os.PathLike[str], create: bool = False, patience: float = PATIENCE) -> Store:
    """The store of a ledger, unchecked; `Ledger.open` checks."""
    store = new_store(where, patience)
    if not store.exists():
        if not create:
            raise LedgerError(f"there is no ledger at {store.label!r}.")
        if is_known(store.place) and not store.exists():  # or another thread made it, a moment ago
            raise LedgerDamaged(
                "the ledger that this process has open at this place is gone, and a new one would forget what was "
                "spent. Nothing is released; restore it, or close it first."
            )
        body = {"ledger": uuid.uuid4().hex, "version": SCHEMA, "converted_from": None, "time": now()}
        store.create([Entry.after(0, START, "open", 0, "", body)], SCHEMA)
    return store


def new_store(where: str | os.PathLike[str], patience: float) -> Store:
    """The store at a place, whether there is a ledger or not."""
    text = place_text(where)
    if is_address(where) and not os.path.lexists(text):
        postgres.needed()
        return postgres.PostgresStore(read_address(text), patience)
    if text == ":memory:":
        raise InvalidParameter("a ledger in memory would forget what was spent; name a file.")
    path = checks.path("the ledger", text).absolute()
    # The real file: SQLite names its journal after it, and so must every process. A link that leads nowhere is not
    # a place for a new ledger.
    return SqliteStore(path.resolve() if path.exists() or not os.path.lexists(path) else path, patience)


def place_text(where: object) -> str:
    """The path or the address of a ledger as text; what is neither is refused."""
    text = os.fspath(where) if isinstance(where, str | os.PathLike) else None
    if not isinstance(text, str) or not text.strip():
        raise InvalidParameter(
            f"the ledger is of type {type(where).__name__}, or empty; it must be a path, a postgresql:// URL, or an "
            "opened dp.Ledger."
        )
    if "\0" in text or any("\ud800" <= sign <= "\udfff" for sign in text):
        # It is not shown: it may be an address with a password in it.
        raise InvalidParameter(
            "the ledger's name holds a character that no name of a file or a server can hold."
        )
    return text
