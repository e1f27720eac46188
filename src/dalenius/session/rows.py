"""The entries of a ledger as one transaction sees them, in the SQL that both of our databases understand."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from dalenius.errors import LedgerDamaged
from dalenius.session.entries import SCHEMA, Entry, digest
from dalenius.session.memory import Memory

COLUMNS = "seq, kind, account, key, body, previous, hash"


@dataclass(frozen=True)
class Head:
    """The last entry, kept apart from the entries so that a missing tail shows."""

    version: Any
    """A whole number, unless the file is damaged."""
    seq: int
    hash: str


class Rows(ABC):
    """The entries as one transaction sees them.

    Which entries there are is known from the memory of the chain, never from an index of the database; an entry that is
    read must be the one that was checked there.
    """

    place = ""
    """What stands before the names of the tables."""
    mark = "?"
    """How the database writes a parameter."""

    memory: Memory
    """The chain; set by the ledger, which has checked it up to the end of this view."""
    end = 0
    """The last entry of this view: another thread may have added to the memory since it was taken."""

    kept: dict[int, Entry] | None = None
    """Entries that this view has read and checked, where one view serves several looks (`Chain.one_view`)."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.added: list[Entry] = []
        """What this transaction has added; in the memory once it is durable."""

    @abstractmethod
    def run(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """The rows of a statement."""

    # -- as the database has it -----------------------------------------------------------------------

    def head(self) -> Head:
        """The head alone."""
        return self.tail(1, 1)[0]

    def tail(self, seq: int, limit: int) -> tuple[Head, list[Entry]]:
        """The head, and entries from this one on, in their order; not checked."""
        columns = ", ".join(f"e.{name}" for name in COLUMNS.split(", "))
        m = self.mark
        lines = self.run(
            f"SELECT h.version, h.seq, h.hash, {columns} FROM {self.place}head h "
            f"LEFT JOIN {self.place}entries e ON e.seq >= {m} ORDER BY e.seq LIMIT {m}",
            (seq, limit),
        )
        if not lines:
            raise LedgerDamaged("the ledger has lost its head. Nothing is released; restore it from a copy.")
        return Head(*lines[0][:3]), [Entry._make(line[3:]) for line in lines if line[3] is not None]

    def fill(self, entries: Iterable[Entry], version: int) -> None:
        """Put the entries of a new ledger into its tables, and the version into its head."""
        for entry in entries:
            self.add(entry)
        if version != SCHEMA:
            self.set_version(version)

    def add(self, entry: Entry) -> None:
        """Append; a trigger in the database checks the chain and moves the head."""
        marks = ", ".join([self.mark] * 7)
        self.run(f"INSERT INTO {self.place}entries ({COLUMNS}) VALUES ({marks})", entry)

    @abstractmethod
    def set_version(self, version: int) -> None:
        """Give the head another version, which a trigger refuses otherwise: for conversions alone."""

    def confirm(self) -> None:
        """Before a commit: that what was added is there, where the database may be damaged and not say so."""
        return

    # -- as it was checked ----------------------------------------------------------------------------

    def last(self) -> tuple[int, str]:
        """Number and hash of the last entry, with what this transaction has added."""
        if self.added:
            return self.added[-1].seq, self.added[-1].hash
        return self.memory.seq, self.memory.hash

    def get(self, seq: int) -> Entry | None:
        """An entry of the chain."""
        if seq > self.end or self.memory.hash_of(seq) is None:
            return None
        if self.kept is not None and seq in self.kept:
            return self.kept[seq]
        lines = self.run(f"SELECT {COLUMNS} FROM {self.place}entries WHERE seq = {self.mark}", (seq,))
        if len(lines) != 1:
            raise _changed(seq)
        entry = self.same(Entry._make(lines[0]), seq)
        if self.kept is not None:
            self.kept[seq] = entry
        return entry

    def same(self, entry: Entry, seq: int | None = None) -> Entry:
        """An entry that was read, if it is the one of the chain: an error if not."""
        checked = entry.is_intact and self.memory.hash_of(entry.seq) == entry.hash
        if not checked or seq not in (None, entry.seq):
            raise _changed(entry.seq if seq is None else seq)
        return entry

    def accounts(self) -> list[Entry]:
        """All entries that opened an account, in order."""
        return self._each(list(self.memory.datasets.values()))  # a copy: another thread may add

    def opening(self, dataset: str) -> Entry | None:
        """The entry that opened the account of a dataset, if there is one."""
        return self.get(self.memory.datasets.get(digest(dataset), 0))

    def answers(self, account: int, key: str) -> list[Entry]:
        """All answers to a question in an account, in order."""
        tally = self.memory.accounts.get(account)
        return self._each(() if tally is None else tally.answers.get(key, ()))

    def _each(self, seqs: Iterable[int]) -> list[Entry]:
        return [entry for seq in seqs if (entry := self.get(seq)) is not None]


def _changed(seq: object) -> LedgerDamaged:
    return LedgerDamaged(
        f"entry {seq!r} of the ledger is gone or was changed. Nothing is released; run `dalenius ledger verify`, and "
        "restore a copy that verifies and is at least as recent."
    )
