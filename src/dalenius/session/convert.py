"""From a ledger of version 1, which dalenius 0.1 wrote, to one of version 2: by command, never silently.

    old is open      ->  old is closed     ->  new is there, closed  ->  old says so  ->  new is open
    (version 1)          (version 101)         (version 102)                              (version 2)

Each arrow is one durable transaction, and after each the conversion may be killed: the next run goes on from there. At
no moment are two ledgers open, so that nothing can be spent twice:

- before anything is changed, all of the old ledger is put into the words of version 2 once, for nothing but to see that
  it can be;
- the old ledger is closed first, under its write lock and after the last charge in it was checked: by a final entry
  that names the new ledger, which no reader of version 0.1 accepts at its place, and by the version of its head, which
  0.1 looks at in every transaction and refuses ("install a newer dalenius"), also where it had the ledger open;
- the entry names one new ledger, by its identity and its place, and no run makes another;
- the new one is made whole, and opened only when the old one says that it is there; after that it is not made again.

What cannot be prevented, here as elsewhere: an old copy of the old ledger that is put back is open. A checkpoint that
was kept elsewhere shows it.
"""

from __future__ import annotations

import os
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from dalenius.errors import InvalidParameter, LedgerDamaged, LedgerError
from dalenius.session.chain import BATCH
from dalenius.session.entries import CLOSED, FIRST, SCHEMA, START, Entry, Kind, digest, now, other_version
from dalenius.session.memory import Memory
from dalenius.session.rows import Rows
from dalenius.session.store import Store
from dalenius.session.stores import PATIENCE, new_store
from dalenius.session.verify import Verification, verified
from dalenius.session.version1 import ADJACENCIES, body_of
from dalenius.session.version1_sessions import WRONG, in_version_2


@dataclass(frozen=True)
class Conversion:
    """What was done. old, new: the ledgers' names. again: whether an earlier run had finished it."""

    old: str
    new: str
    accounts: int
    charges: int
    answers: int
    checkpoint: str
    """Of the new ledger."""
    again: bool


def convert(
    old: str | os.PathLike[str], new: str | os.PathLike[str], *, patience: float = PATIENCE
) -> Conversion:
    """Make a ledger of version 2 from one of version 1, and close the old one for ever.

    The new ledger has the same accounts, limits and shares, and every charge and answer: so what was spent, in all and
    by each analyst, is spent there, and what was answered is answered from the record. But for questions with a join,
    searches, and models with a function in them, whose keys cannot be made anew from what version 1 kept: they stay to
    be read, and are charged again when they are asked again.

    Parameters
    ----------
    old : str or path
        A ledger that dalenius 0.1 wrote: a file, or a postgresql:// URL. It must be sound.
    new : str or path
        Where there is no ledger yet: a file, or a postgresql:// URL of another database.
    patience : float
        Seconds to wait for others.

    Returns
    -------
    Conversion
        What was converted, and the checkpoint of the new ledger.

    Raises
    ------
    LedgerDamaged
        If the old ledger is not sound; nothing is changed.
    LedgerError
        If a ledger cannot be used, or the old one was converted to another place.
    InvalidParameter
        If there is a ledger at `new` that does not come from this conversion.

    Examples
    --------
    >>> convert("people.ledger", "people-2.ledger")  # doctest: +SKIP
    Conversion(old='people.ledger', new='people-2.ledger', ...)
    """
    before, after = new_store(old, patience), new_store(new, patience)
    try:
        if not before.exists():
            raise LedgerError(f"there is no ledger at {before.label!r}.")
        if before.place == after.place:
            raise InvalidParameter("the new ledger must be at another place than the old one.")
        return _Conversion(before, after).run()
    finally:
        before.close()
        after.close()


class _Conversion:
    def __init__(self, old: Store, new: Store) -> None:
        self.old, self.new = old, new
        self.memory = Memory(version=FIRST)

    def run(self) -> Conversion:
        version = self._version(self.old)
        if version not in (FIRST, CLOSED + FIRST):
            if version == SCHEMA:
                raise InvalidParameter(f"the ledger {self.old.label!r} is of version {SCHEMA} already.")
            raise other_version(self.old.label, version)
        self._read_old()
        if not self.memory.closings:
            if self.new.exists():
                raise InvalidParameter(f"there is something at {self.new.label!r} already; name a new place.")
            self.new.check_room()
            self._rehearse()
            self._close()
        closing = self.memory.closings[0]
        if closing["place_digest"] != digest(self.new.place):
            raise LedgerError(
                f"the ledger {self.old.label!r} is closed, and was converted to {closing['place']!r}; name that place, "
                "as it was named then. Two new ledgers would be two budgets."
            )
        finished = len(self.memory.closings) > 1
        if not self.new.exists():
            if finished:
                raise LedgerDamaged(
                    f"the ledger {self.old.label!r} was converted to {self.new.label!r}, and that ledger is gone. "
                    "Restore it: one made anew would forget what was spent in it."
                )
            self.new.create(self._entries(closing), CLOSED + SCHEMA)
        made = self._check_new(closing)
        if not finished:
            self._finish(made)
        again = self._version(self.new) == SCHEMA
        if not again:
            with self.new.writing() as rows:
                rows.set_version(SCHEMA)
        counts = made.accounts, made.charges, made.answers
        return Conversion(self.old.label, self.new.label, *counts, made.checkpoint, again)

    # -- the old one ----------------------------------------------------------------------------------

    def _read_old(self) -> None:
        """All of it, checked: the chain, the sums, and that nothing is spent beyond a budget."""
        read = verified(self.old, version=FIRST, closed=True)
        if not read.ok:
            raise LedgerDamaged(
                f"the ledger {self.old.label!r} is not sound, and was left as it is: {read.problems[0]}. Restore a "
                "copy that verifies and is at least as recent."
            )
        with self.old.reading() as rows:
            self._read_on(rows)

    def _read_on(self, rows: Rows) -> None:
        """What was added since; in a transaction, so that it is the end of it."""
        self.memory.add(_each(rows, self.memory.seq))
        head = rows.head()
        if (head.seq, head.hash) != (self.memory.seq, self.memory.hash):
            raise LedgerDamaged(f"the end of the ledger {self.old.label!r} is missing or was changed.")

    def _rehearse(self) -> None:
        """Make all entries of the new ledger and keep none: once the old one is closed, there must be a new one."""
        try:
            for _ in self._entries({"to": "", "time": ""}):
                pass
        except WRONG as problem:
            raise LedgerDamaged(
                f"the ledger {self.old.label!r} holds an entry that is not as dalenius 0.1 wrote them, and was left as "
                f"it is: {problem}."
            ) from None

    def _close(self) -> None:
        """The last that is charged in it was charged before."""
        with self.old.writing() as rows:
            self._read_on(rows)
            if self.memory.closings:  # another conversion was quicker
                return
            body = {
                "closed": True,
                "to": uuid.uuid4().hex,
                "version": SCHEMA,
                "place": self.new.label,
                "place_digest": digest(self.new.place),
                "time": now(),
            }
            self._mark(rows, body)
            rows.set_version(CLOSED + FIRST)
        with self.old.reading() as rows:
            self._read_on(rows)

    def _finish(self, made: Verification) -> None:
        """From now on the new ledger is not made again."""
        with self.old.writing() as rows:
            self._read_on(rows)
            if len(self.memory.closings) == 1:
                to = self.memory.closings[0]["to"]
                self._mark(rows, {"converted": True, "to": to, "checkpoint": made.checkpoint, "time": now()})

    def _mark(self, rows: Rows, body: dict[str, Any]) -> None:
        rows.add(Entry.after(self.memory.seq, self.memory.hash, "open", 0, "", body, FIRST))

    # -- the new one ----------------------------------------------------------------------------------

    def _entries(self, closing: dict[str, Any]) -> Iterator[Entry]:
        """The entries of the old ledger, each with the number it had, in the words and the chain of version 2."""
        seq, hash = 0, START
        with self.old.reading() as rows:
            sessions = self._sessions(rows)
            for entry in _each(rows):
                if entry.kind == "open" and entry.seq > 1:
                    return
                if not entry.is_of(FIRST) or self.memory.hash_of(entry.seq) != entry.hash:
                    raise LedgerDamaged(f"entry {entry.seq} of the old ledger was changed.")
                body = self._first(entry, closing) if entry.seq == 1 else body_of(entry)
                key, kind = entry.key, cast(Kind, entry.kind)
                texts = sessions.get(body["charge"] if kind == "answer" else entry.seq)
                if texts is not None and kind in ("charge", "answer"):
                    key = digest(texts["charge"])
                    body["question" if kind == "charge" else "answer"] = texts[kind]
                made = Entry.after(seq, hash, kind, entry.account, key, body)
                seq, hash = made.seq, made.hash
                yield made

    def _sessions(self, rows: Rows) -> dict[int, dict[str, str]]:
        """What a session asked in a charge and was told in its answer, in version 2; by the number of the charge."""
        sessions, asked = {}, {}
        for entry in _each(rows):
            body = entry.read()
            if entry.kind == "charge":
                asked[entry.seq] = body["question"]
            elif entry.kind == "answer" and not body.get("failed"):
                adjacency = ADJACENCIES[self.memory.accounts[entry.account].opening["adjacency"]]
                texts = in_version_2(asked[body["charge"]], body["answer"], adjacency)
                if texts is not None:
                    sessions[body["charge"]] = dict(zip(("charge", "answer"), texts, strict=True))
        return sessions

    def _first(self, entry: Entry, closing: dict[str, Any]) -> dict[str, Any]:
        last = self.memory.seq - len(self.memory.closings)
        origin = {
            "ledger": entry.read()["ledger"],
            "version": FIRST,
            "checkpoint": f"{last}:{self.memory.hash_of(last)}",
        }
        return {"ledger": closing["to"], "version": SCHEMA, "converted_from": origin, "time": closing["time"]}

    def _check_new(self, closing: dict[str, Any]) -> Verification:
        """The one of this conversion, sound, and with all that was spent."""
        version = self._version(self.new)
        if version not in (SCHEMA, CLOSED + SCHEMA):
            raise InvalidParameter(f"there is another ledger at {self.new.label!r}; name a new place.")
        memory = Memory()
        with self.new.reading() as rows:
            memory.add(_each(rows))
        if memory.id != closing["to"]:
            raise InvalidParameter(
                f"the ledger at {self.new.label!r} does not come from this conversion; put it elsewhere first."
            )
        for seq, tally in self.memory.accounts.items():
            there = memory.accounts.get(seq)
            if there is None or any(
                not Counter(sums) <= Counter(there.by.get(who)) for who, sums in tally.by.items()
            ):
                raise LedgerDamaged(f"the ledger at {self.new.label!r} lacks charges of the old one.")
        read = verified(self.new, closed=True)
        if not read.ok:
            raise LedgerDamaged(f"the ledger at {self.new.label!r} is not sound: {read.problems[0]}.")
        return read

    def _version(self, store: Store) -> Any:
        with store.reading() as rows:
            return rows.head().version


def _each(rows: Rows, last: int = 0) -> Iterator[Entry]:
    """The entries after this one, in order; not checked."""
    while batch := rows.tail(last + 1, BATCH)[1]:
        yield from batch
        last = batch[-1].seq
