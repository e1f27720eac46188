"""What the chain of a ledger adds up to, as this process has checked it, entry by entry.

A database finds rows by its indexes and by the pages it has at hand; either may be wrong without an error. So a
balance is never looked up. It is the sum of the charges in the chain, each hashed and joined to the one before it, from
the first entry on: all of them when the ledger is opened, and after that only those that were added since.

The hash of every entry is kept. What is read again later (an answer on record) must have the same one; and a ledger
that lacks the last entry seen here, or has another in its place, went back in time, whoever put it there.

One memory serves all ledgers that are open at one place in a process. What is not kept: anything of a ledger that
nobody in the process has open. Against what happens then there are checkpoints.
"""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from dalenius.errors import LedgerDamaged
from dalenius.session.entries import FIRST, KINDS, SCHEMA, START, Entry, digest
from dalenius.session.standing import Standing, Sums, Unfounded, plus, sums_of, written

SIZE = 32
"""Bytes of a hash."""


@dataclass
class Tally:
    """One account, added up."""

    opening: dict[str, Any]
    standing: Standing | None = None
    """What may be spent of it by now; None for accounts of version 1, to which nothing is charged."""
    total: Sums = field(default_factory=dict)
    by: dict[str, Sums] = field(default_factory=dict)
    charges: int = 0
    answers: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """The entries that answer a question, by its key."""
    answered: int = 0
    failed: int = 0
    """How many of the answers say that the computation failed."""
    pending: dict[int, str] = field(default_factory=dict)
    """Charges without an answer, and their keys."""


class Memory:
    """The chain up to its last entry that was checked."""

    def __init__(self, say: Callable[[str], None] | None = None, version: int = SCHEMA) -> None:
        """say: what to do with a problem; else it is raised. version: of the entries."""
        self.version = version
        self._say = say or _refuse
        self._listening = say is not None
        self._lock = threading.Lock()
        self.last: tuple[int, str] = (0, START)
        """The last entry that was seen, for ever: number and hash."""
        self._clear()

    def _clear(self) -> None:
        self.seq, self.hash = 0, START
        self.id: str | None = None
        self.closings: list[dict[str, Any]] = []
        """What the entries say by which the ledger was closed; nothing is charged after that."""
        self.accounts: dict[int, Tally] = {}
        self.datasets: dict[str, int] = {}
        self._hashes = bytearray()
        self._busy = False

    # -- what is known ------------------------------------------------------------------------------

    def hash_of(self, seq: int) -> str | None:
        """The hash that entry has; None if it was never seen."""
        if not 1 <= seq <= self.seq:
            return None
        return self._hashes[(seq - 1) * SIZE : seq * SIZE].hex()

    def spent(self, account: int, who: str | None = None) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
        """What was charged to an account, in all and by each analyst (or one of them); exact decimals."""
        tally = self.accounts[account]
        by = dict(tally.by) if who is None else {name: tally.by[name] for name in (who,) if name in tally.by}
        return written(tally.total), {name: written(sums) for name, sums in by.items()}

    # -- what is new --------------------------------------------------------------------------------

    def start(self) -> tuple[int, str, int]:
        """Where to read on: number and hash of an entry that the ledger must have; and the last it must have.

        To be asked before a view of the ledger is taken: later another thread may have seen more than the view has.
        """
        with self._lock:
            if self._busy:  # adding ended in the middle, by damage or in a fork: all of it once more
                self._clear()
            return self.seq, self.hash, self.last[0]

    def add(self, entries: Iterable[Entry]) -> None:
        """Check and add what follows; what is known already must be the same."""
        with self._lock:
            self._busy = True
            for entry in entries:
                if entry.seq <= self.seq and not self._listening:
                    self._same(entry)
                else:
                    self._next(entry)
            self._busy = False
            if self.seq >= self.last[0]:
                self.last = (self.seq, self.hash)

    def _same(self, entry: Entry) -> None:
        if self.hash_of(entry.seq) != entry.hash or not entry.is_of(self.version):
            self._say(f"entry {entry.seq} is not the one this process has seen")

    def _next(self, entry: Entry) -> None:
        intact = entry.is_of(self.version)
        if not intact:
            self._say(f"entry {entry.seq!r} was changed")
        if entry.seq != self.seq + 1:
            self._say(_missing(self.seq, entry.seq))
        if entry.previous != self.hash:
            self._say(f"entry {entry.seq!r} does not continue the chain: it, or one before it, was replaced")
        if entry.seq == self.last[0] and entry.hash != self.last[1]:
            self._say(f"entry {entry.seq} is not the one this process has seen: the ledger was rewritten")
        if intact:
            try:
                self._meaning(entry, entry.read())
            except LedgerDamaged as problem:
                if not self._listening:
                    raise
                self._say(str(problem))
            except (KeyError, TypeError, ValueError, AttributeError):
                self._say(f"entry {entry.seq} is not an entry as we write them")
            self._hashes += bytes.fromhex(entry.hash)
        self.seq, self.hash = entry.seq, entry.hash

    def _meaning(self, entry: Entry, body: dict[str, Any]) -> None:
        # Version 1 has no kind of its own for this, and reads no further where an opening is not the first entry.
        closing = entry.kind == ("open" if self.version == FIRST else "close") and entry.seq > 1
        if ((entry.kind == "open") != (entry.seq == 1) or self.closings) and not closing:
            self._say(f"entry {entry.seq} is of kind {entry.kind!r}, out of its place")
        kinds = {
            "account": self._account,
            "charge": self._charge,
            "answer": self._answer,
            "steward": self._steward,
        }
        if closing:
            self.closings.append(body)
        elif entry.kind == "open":
            self.id = str(body["ledger"])
        elif entry.kind in kinds:
            kinds[entry.kind](entry, body)
        else:
            known = ", ".join(KINDS)
            self._say(
                f"entry {entry.seq} is of kind {entry.kind!r}, and this dalenius knows {known}: install a newer one"
            )

    def _account(self, entry: Entry, body: dict[str, Any]) -> None:
        if entry.key != digest(body["dataset"]) or entry.key in self.datasets:
            self._say(f"entry {entry.seq} opens an account that another entry opened")
        self.datasets.setdefault(entry.key, entry.seq)
        self.accounts[entry.seq] = Tally(body, None if self.version == FIRST else Standing.of(body))

    def _charge(self, entry: Entry, body: dict[str, Any]) -> None:
        tally = self.accounts.get(entry.account)
        if tally is None:
            self._say(f"entry {entry.seq} is a charge to no account")
            return
        if entry.key != digest(body["question"]):
            self._say(f"entry {entry.seq} is filed under another question")
        cost, who = sums_of(body["cost"]), body["analyst"] or ""
        total, mine = plus(tally.total, cost), plus(tally.by.get(who, {}), cost)
        stated = {name: sums_of(sums) for name, sums in body["by"].items()}
        others = (tally.by.get(name) == sums for name, sums in stated.items() if name != who)
        if sums_of(body["spent"]) != total or stated.get(who) != mine or not all(others):
            self._say(f"entry {entry.seq} does not add up: what it says is spent is not what was charged")
        refusal = tally.standing.refusal(who, total, mine) if tally.standing is not None else None
        if refusal is not None:
            self._say(f"entry {entry.seq} is a charge that was not allowed: {refusal}")
        tally.total, tally.by[who] = total, mine
        tally.charges += 1
        tally.pending[entry.seq] = entry.key

    def _steward(self, entry: Entry, body: dict[str, Any]) -> None:
        tally = self.accounts.get(entry.account)
        if tally is None or tally.standing is None:
            self._say(f"entry {entry.seq} is about no account")
            return
        try:
            tally.standing = tally.standing.after(body, tally.total)
        except Unfounded as problem:
            self._say(f"entry {entry.seq} was not allowed: {problem}")

    def _answer(self, entry: Entry, body: dict[str, Any]) -> None:
        tally = self.accounts.get(entry.account)
        if tally is None or tally.pending.pop(body["charge"], None) != entry.key:
            self._say(f"entry {entry.seq} is an answer without a charge of its own")
        if tally is not None:
            tally.answers[entry.key] = (*tally.answers.get(entry.key, ()), entry.seq)
            tally.answered += 1
            tally.failed += body.get("failed") is True

    # -- processes ----------------------------------------------------------------------------------

    def in_child(self) -> None:
        """After a fork: a thread that was adding is not here to go on, or to give the lock back."""
        self._lock = threading.Lock()


def _missing(seq: int, following: object) -> str:
    if isinstance(following, int) and following > seq:
        return f"entries {seq + 1} to {following - 1} are missing"
    return f"an entry numbered {following!r} follows entry {seq}"


def _refuse(problem: str) -> None:
    raise LedgerDamaged(
        f"the ledger is damaged: {problem}. Nothing is released; run `dalenius ledger verify`, and restore a copy that "
        "verifies and is at least as recent."
    )


_memories: weakref.WeakValueDictionary[str, Memory] = weakref.WeakValueDictionary()


def memory_of(place: str) -> Memory:
    """The one memory of what is open at this place in this process."""
    return _memories.setdefault(place, Memory())


def is_known(place: str) -> bool:
    """Whether a ledger is open there, in this process; one that only waits to be collected is not."""
    if place in _memories:
        gc.collect()
    return place in _memories


def in_child() -> None:
    for memory in list(_memories.values()):
        memory.in_child()
