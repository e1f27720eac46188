"""The chain of a ledger's entries, read and checked.

Everything here is the same for both kinds of store. A reader or writer takes its view of the ledger (a writer the one
write lock), finds in it the last entry this process has checked, reads on from there to the head, and checks all that
too; balances are what the checked chain adds up to (`session.memory`). A writer then appends, and commits.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any

from dalenius.errors import InvalidParameter, LedgerDamaged, LedgerError
from dalenius.session.entries import KINDS, SCHEMA, Entry, Kind, other_version
from dalenius.session.memory import Memory, memory_of
from dalenius.session.rows import Head, Rows
from dalenius.session.store import Store

BATCH = 5_000
"""Entries read in one go: a writer waits no longer than that takes."""


class Chain:
    """The entries of an open ledger."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._memory: Memory | None = None
        self._held = threading.local()
        with self.reading() as rows:
            self.id = str(rows.memory.id)

    def close(self) -> None:
        """Let go of the store. Everything is on record already."""
        self.store.close()
        self._memory = None

    def __reduce__(self) -> Any:
        raise TypeError(
            "a ledger cannot be pickled or copied: it is a connection. Open it again where it is needed: "
            "dp.Ledger.open(...)."
        )

    def checkpoint(self) -> str:
        """The last entry. Kept elsewhere, it proves later that nothing up to it was changed.

        Returns
        -------
        str
            "SEQ:HASH".
        """
        with self.reading() as rows:
            seq, hash = rows.last()
        return f"{seq}:{hash}"

    def require(self, checkpoint: str) -> None:
        """Refuse a ledger that does not contain a checkpoint.

        Parameters
        ----------
        checkpoint
            What `checkpoint()` gave earlier.

        Raises
        ------
        LedgerDamaged
            If the ledger does not contain it.
        """
        seq, hash = read_checkpoint(checkpoint)
        with self.reading() as rows:
            held = rows.memory.hash_of(seq)
        if held != hash:
            raise LedgerDamaged(
                f"the ledger {self.store.label!r} does not contain the checkpoint {checkpoint!r}: it is an "
                "older copy, or was changed. Nothing is released; restore the ledger that has it."
            )

    def append(self, rows: Rows, kind: Kind, account: int, key: str, body: Mapping[str, object]) -> Entry:
        """Add an entry inside a writing transaction.

        Parameters
        ----------
        rows
            The transaction.
        kind
            What sort of entry it is.
        account
            The number of the entry that opened its account; 0 where it belongs to none.
        key
            What it is found again by.
        body
            Its content.

        Returns
        -------
        Entry
            The entry, chained to the one before.

        Raises
        ------
        LedgerError
            If no entry is of this kind, or the ledger was closed.
        """
        if kind not in KINDS:
            raise LedgerError(f"an entry cannot be of kind {kind!r}; it must be one of {', '.join(KINDS)}.")
        if rows.memory.closings:
            raise LedgerError(
                f"the ledger {self.store.label!r} was closed, and goes on in {rows.memory.closings[0]['place']!r}."
            )
        seq, hash = rows.last()
        entry = Entry.after(seq, hash, kind, account, key, body)
        rows.add(entry)
        rows.added.append(entry)
        return entry

    @contextlib.contextmanager
    def writing(self) -> Iterator[Rows]:
        """The only writer, on a ledger that was just checked."""
        with self._checked(self.store.writing) as rows:
            yield rows
            if rows.added:
                rows.confirm()
        rows.memory.add(rows.added)  # durable now: this process has seen it

    def reading(self) -> AbstractContextManager[Rows]:
        """A consistent view of a ledger that was just checked; inside `one_view`, that view."""
        process, rows = getattr(self._held, "view", (None, None))
        if rows is not None and process == os.getpid():
            return contextlib.nullcontext(rows)
        return self._checked(self.store.reading)

    @contextlib.contextmanager
    def one_view(self) -> Iterator[None]:
        """All that this thread reads inside is of one moment, and read in one transaction; others wait for it.

        Nothing can be written inside.
        """
        with self.reading() as rows:
            before = getattr(self._held, "view", (None, None))
            self._held.view = (os.getpid(), rows)
            rows.kept = {} if rows.kept is None else rows.kept
            try:
                yield
            finally:
                self._held.view = before

    @contextlib.contextmanager
    def _checked(self, view: Callable[[], AbstractContextManager[Rows]]) -> Iterator[Rows]:
        """A view in which everything up to the head is read, from an entry on that was checked, and checked."""
        memory = self._known()
        seq, hash, least = memory.start()
        with view() as rows:
            rows.memory = memory
            head, batch = self._read_on(rows, memory, seq, hash)
            while len(batch) == BATCH:
                head, batch = self._read_on(rows, memory, batch[-1].seq, batch[-1].hash)
            self._check_end(head, batch, least)
            rows.end = head.seq
            yield rows

    def _known(self) -> Memory:
        """The memory of this ledger; if it knows nothing yet, after all of the ledger was read."""
        if self._memory is None:
            self._memory = memory_of(self.store.place)
        memory = self._memory
        seq, hash, _ = memory.start()
        unread = seq == 0
        while unread:
            # In views of their own, so that writers get their turn.
            with self.store.reading() as rows:
                _, batch = self._read_on(rows, memory, seq, hash)
            unread = len(batch) == BATCH
            if unread:
                seq, hash = batch[-1].seq, batch[-1].hash
        return memory

    def _read_on(self, rows: Rows, memory: Memory, seq: int, hash: str) -> tuple[Head, list[Entry]]:
        """The head, and the entries from one on that must be there: checked, and in the memory."""
        head, batch = rows.tail(seq, BATCH)
        if head.version != SCHEMA:
            raise other_version(self.store.label, head.version)
        if seq and (not batch or (batch[0].seq, batch[0].hash) != (seq, hash)):
            raise self._went_back()
        memory.add(batch)
        return head, batch

    def _check_end(self, head: Head, batch: list[Entry], least: int) -> None:
        """The head is the last entry, and what this process saw before is there."""
        if not batch or (head.seq, head.hash) != (batch[-1].seq, batch[-1].hash):
            raise LedgerDamaged(
                f"the end of the ledger {self.store.label!r} is missing or was changed (its head is entry "
                f"{head.seq!r}). Nothing is released; run `dalenius ledger verify`."
            )
        if head.seq < least:
            raise self._went_back()

    def _went_back(self) -> LedgerDamaged:
        return LedgerDamaged(
            f"the ledger {self.store.label!r} went back in time: entries this process has seen are gone or changed. "
            "Nothing is released; restore the ledger that has them."
        )


def read_checkpoint(text: object) -> tuple[int, str]:
    """The parts of "SEQ:HASH"."""
    parts = re.fullmatch(r"\s*([0-9]{1,18}):([0-9a-f]{64})\s*", text) if isinstance(text, str) else None
    if parts is None:
        raise InvalidParameter(f"the checkpoint is {text!r}; it must be SEQ:HASH as `ledger show` prints it.")
    return int(parts[1]), parts[2]
