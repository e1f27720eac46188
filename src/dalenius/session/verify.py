"""Verify a ledger from its first entry to its last: the chain, the sums, and that answers were paid for."""

from __future__ import annotations

import os
from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from dalenius.calculus.guarantees import Filter
from dalenius.calculus.guarantees.cost import Cost
from dalenius.core.notebook import printed
from dalenius.errors import DaleniusError, LedgerDamaged
from dalenius.session.account import State, read_balance
from dalenius.session.address import UNNAMED, is_address
from dalenius.session.chain import BATCH, read_checkpoint
from dalenius.session.entries import CLOSED, SCHEMA, START, other_version
from dalenius.session.memory import Memory, Tally
from dalenius.session.rows import Head
from dalenius.session.standing import Standing
from dalenius.session.store import Store
from dalenius.session.stores import PATIENCE, place_text, store_at
from dalenius.session.terms import read_terms
from dalenius.session.version1 import account_of

MOST_PROBLEMS = 100


@dataclass
class Verification:
    """What was found. `ok` means: nothing was changed, removed or spent beyond a budget."""

    label: str
    entries: int = 0
    accounts: int = 0
    charges: int = 0
    answers: int = 0
    failures: int = 0
    """Charges whose computation failed: they are kept, and have no answer."""
    checkpoint: str = f"0:{START}"
    problems: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.problems

    def __str__(self) -> str:
        if self.problems:
            return "\n- ".join(("Not sound:", *self.problems))
        counts = (
            (self.entries, "entry", "entries"),
            (self.accounts, "account", "accounts"),
            (self.charges, "charge", "charges"),
            (self.answers, "answer", "answers"),
        )
        told = ", ".join(f"{n} {one if n == 1 else many}" for n, one, many in counts)
        return f"Sound: {told}.\nCheckpoint: {self.checkpoint}"

    def _repr_html_(self) -> str:
        """What a notebook shows: the same lines as `print`."""
        return printed(self)

    @property
    def unanswered(self) -> int:
        """Charges without an answer: a crash, a failed computation, or work under way."""
        return self.charges - self.answers


def verify(
    where: str | os.PathLike[str], checkpoint: str | None = None, patience: float = PATIENCE
) -> Verification:
    """Read everything and check it; problems are listed, not raised.

    An edit, a removal, an insertion or a swap breaks the chain of hashes. A missing tail shows against the
    head, which is kept apart. Somebody who may write the database can rewrite all of it consistently: only a
    `checkpoint` kept elsewhere shows that.

    Parameters
    ----------
    where
        A path, or a postgresql:// URL. A ledger that is too damaged to be opened can be verified like this.
    checkpoint
        What `Ledger.checkpoint` gave earlier; the ledger must contain it.
    patience
        How long, in seconds, to wait for others.

    Returns
    -------
    Verification
        Whether it is sound (`ok`), and what is wrong (`problems`); `print` it.

    Raises
    ------
    LedgerError
        If there is no ledger, what is there is another file (`NotALedger`), or it cannot be read.

    Examples
    --------
    >>> import tempfile, dalenius as dp
    >>> folder = tempfile.TemporaryDirectory()
    >>> dp.Ledger.open(folder.name + "/people.ledger").close()
    >>> dp.verify_ledger(folder.name + "/people.ledger").ok
    True
    """
    read_checkpoint(checkpoint or f"0:{START}")
    try:
        store = store_at(where, create=False, patience=patience)
    except LedgerDamaged as problem:
        return Verification(UNNAMED if is_address(where) else place_text(where), problems=[str(problem)])
    try:
        return verified(store, checkpoint)
    finally:
        store.close()


verify_ledger = verify
"""The name at the front door."""


def verified(
    store: Store, checkpoint: str | None = None, *, version: int = SCHEMA, closed: bool = False
) -> Verification:
    """The same, of a store that is open. version, closed: for conversions, which read old and closed ones, too."""
    wanted = None if checkpoint is None else read_checkpoint(checkpoint)
    return _Reader(store, wanted, version, (version, CLOSED + version) if closed else (version,)).read()


class _Enough(Exception):
    """So many problems that it is no use to go on."""


class _Reader:
    def __init__(
        self, store: Store, wanted: tuple[int, str] | None, version: int, heads: Container[object]
    ) -> None:
        self.store, self.wanted, self.version, self.heads = store, wanted, version, heads
        self.result = Verification(store.label)
        # Its own: what the process knows already is read once more, too.
        self.memory = Memory(self._say, version)

    def read(self) -> Verification:
        memory, result = self.memory, self.result
        try:
            self._replay()
            for seq, tally in memory.accounts.items():
                self._account(seq, tally)
            result.problems += self.store.complaints()
        except LedgerDamaged as problem:
            result.problems.append(str(problem))
        except _Enough:
            result.problems.append("there may be more; this is where reading stopped")
        result.accounts = len(memory.accounts)
        result.charges = sum(tally.charges for tally in memory.accounts.values())
        result.failures = sum(tally.failed for tally in memory.accounts.values())
        result.answers = sum(tally.answered for tally in memory.accounts.values()) - result.failures
        result.checkpoint = f"{memory.seq}:{memory.hash}"
        return result

    def _replay(self) -> None:
        memory, seq = self.memory, 0
        while True:
            # Entries never change, so a view per batch is as good as one view of all: and writers go on.
            with self.store.reading() as rows:
                head, batch = rows.tail(seq + 1, BATCH)
            if head.version not in self.heads:
                self._say(str(other_version(self.store.label, head.version)).rstrip("."))
                return
            if not batch:
                break
            seq = max(seq + 1, batch[-1].seq)  # on, whatever a damaged file says
            self.result.entries += len(batch)
            memory.add(batch)
            wanted, hash = self.wanted or (0, "")
            if any(entry.seq == wanted and entry.hash != hash for entry in batch):
                self._say(f"entry {wanted} is not the one of the checkpoint: the ledger was rewritten")
        self._end(head)

    def _end(self, head: Head) -> None:
        last = self.memory.seq
        if last == 0:
            self._say("it has no entries, and a ledger always has its first: it was emptied")
        if (head.seq, head.hash) != (last, self.memory.hash):
            self._say(
                f"the head says that entry {head.seq!r} is the last, and it is {last}: the end was cut off or changed"
            )
        if self.wanted is not None and self.wanted[0] > last:
            self._say(
                f"the checkpoint is entry {self.wanted[0]}, and the ledger ends at {last}: it is an old copy"
            )

    def _account(self, seq: int, tally: Tally) -> None:
        """What the account promised, and what was spent of it. Sums only grow: the last ones tell of all."""
        try:
            self._promise(seq, tally)
        except (KeyError, TypeError, ValueError, AttributeError, DaleniusError):
            self._say(f"entry {seq} is not an account as we write them")

    def _promise(self, seq: int, tally: Tally) -> None:
        body = tally.opening if self.version == SCHEMA else account_of(tally.opening)
        filter, limit, shares = read_terms(body)
        most = self._most(body, limit) if body.get("plan") is not None else limit
        # The limit of an approx budget is found by a search; another version may end an ulp away.
        allowed = filter.limit.amount * (1 + Fraction(1, 10**9))
        if not most.fits(replace(filter.limit, amount=allowed)):
            self._say(f"entry {seq} allows more than it promises")
        if sum((part for part in shares.values() if isinstance(part, Fraction)), Fraction(0)) > 1:
            self._say(f"entry {seq} gives away more than the whole budget")
        self._spent(seq, tally, filter, body, shares)

    def _most(self, body: Mapping[str, Any], limit: Cost) -> Cost:
        """All that a plan may ever open."""
        ceiling = limit.read({**limit.nothing.written(), **body["plan"]["most"]})
        return ceiling * (int(body["plan"]["renewals"]) + 1)

    def _spent(
        self, seq: int, tally: Tally, filter: Filter, body: Mapping[str, Any], shares: Mapping[str, object]
    ) -> None:
        """What was charged, against what is open now; that it was so at every charge is checked as entries are read."""
        standing = tally.standing or Standing.of({**body, "promise": None})
        state = State(filter, read_balance(*self.memory.spent(seq), filter), standing)
        if not state.balance.total.fits(state.limit):
            self._say(f"the charges to {body['dataset']!r} (entry {seq}) overspend its budget")
        for who, spent in state.balance.by.items() if shares else ():
            if who not in standing.shares or not spent.fits(state.allowance(who)):
                self._say(f"the charges of {who!r} to {body['dataset']!r} overspend their share")

    def _say(self, problem: str) -> None:
        self.result.problems.append(problem)
        if len(self.result.problems) >= MOST_PROBLEMS:
            raise _Enough
