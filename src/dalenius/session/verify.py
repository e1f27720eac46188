"""Verify a ledger from its first entry to its last: the chain, the sums, and that answers were paid for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from dalenius.calculus.errors import LedgerDamaged
from dalenius.session.account import Balance, read_balance
from dalenius.session.budget import Filter
from dalenius.session.cost import Cost
from dalenius.session.entries import SCHEMA, START, Entry, digest
from dalenius.session.ledger import PATIENCE, read_checkpoint, read_filter, store_at
from dalenius.session.store import Store

BATCH = 5_000
"""Entries read in one go: a writer waits no longer than that takes."""

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
    """
    wanted = None if checkpoint is None else read_checkpoint(checkpoint)
    try:
        store = store_at(where, create=False, patience=patience)
    except LedgerDamaged as problem:
        return Verification(os.fspath(where), problems=[str(problem)])
    try:
        return _Reader(store, wanted).read()
    finally:
        store.close()


@dataclass
class _Open:
    """An account while it is being replayed."""

    filter: Filter
    limit: Cost
    shares: Mapping[str, Fraction]
    balance: Balance


class _Reader:
    def __init__(self, store: Store, wanted: tuple[int, str] | None) -> None:
        self.store, self.wanted = store, wanted
        self.found = Verification(store.label)
        self.accounts: dict[int, _Open] = {}
        self.datasets: set[str] = set()
        self.unanswered: dict[int, tuple[int, str]] = {}
        self.seq, self.hash = 0, START

    def read(self) -> Verification:
        try:
            self._replay()
            self.found.problems += self.store.complaints()
        except LedgerDamaged as problem:
            self._say(str(problem))
        self.found.checkpoint = f"{self.seq}:{self.hash}"
        return self.found

    def _replay(self) -> None:
        with self.store.reading() as rows:
            head = rows.head()
        if head.version != SCHEMA:
            self._say(f"the schema version is {head.version}, and this dalenius reads {SCHEMA}")
            return
        while True:
            # Entries never change, so a view per batch is as good as one view of all: and writers go on.
            with self.store.reading() as rows:
                batch = rows.after(self.seq, BATCH)
                if not batch:
                    head = rows.head()
                    break
            for entry in batch:
                self._entry(entry)
                if len(self.found.problems) >= MOST_PROBLEMS:
                    self._say("there may be more; this is where reading stopped")
                    return
        if (head.seq, head.hash) != (self.seq, self.hash):
            self._say(
                f"the head says that entry {head.seq} is the last, and it is {self.seq}: the end was cut off "
                "or changed"
            )
        if self.wanted is not None:
            seq, _ = self.wanted
            if seq > self.seq:
                self._say(
                    f"the checkpoint is entry {seq}, and the ledger ends at {self.seq}: it is an old copy"
                )

    def _entry(self, entry: Entry) -> None:
        self.found.entries += 1
        if entry.seq != self.seq + 1:
            self._say(f"entries {self.seq + 1} to {entry.seq - 1} are missing")
        if entry.previous != self.hash:
            self._say(f"entry {entry.seq} does not continue the chain: it, or one before it, was replaced")
        if not entry.is_intact:
            self._say(f"entry {entry.seq} was changed")
        elif self.wanted is not None and entry.seq == self.wanted[0] and entry.hash != self.wanted[1]:
            self._say(f"entry {entry.seq} is not the one of the checkpoint: the ledger was rewritten")
        self.seq, self.hash = entry.seq, entry.hash
        if entry.is_intact:
            try:
                self._meaning(entry, entry.content())
            except (KeyError, TypeError, ValueError, AttributeError):
                self._say(f"entry {entry.seq} is not an entry as we write them")

    def _meaning(self, entry: Entry, body: dict[str, Any]) -> None:
        if (entry.kind == "open") != (entry.seq == 1):
            self._say(f"entry {entry.seq} is of kind {entry.kind!r}, out of its place")
        if entry.kind == "account":
            self._account(entry, body)
        elif entry.kind == "charge":
            self._charge(entry, body)
        elif entry.kind == "answer":
            self._answer(entry, body)

    def _account(self, entry: Entry, body: dict[str, Any]) -> None:
        self.found.accounts += 1
        filter = read_filter(body)
        limit = filter.nothing.read(body["limit"])
        shares = {name: Fraction(part) for name, part in body["shares"].items()}
        # The limit of an approx budget is found by a search; another version may end an ulp away.
        allowed = filter.limit.amount * (1 + Fraction(1, 10**9))
        if not limit.fits(replace(filter.limit, amount=allowed)):
            self._say(f"entry {entry.seq} allows more than it promises")
        if sum(shares.values()) > 1:
            self._say(f"entry {entry.seq} gives away more than the whole budget")
        if entry.key != digest(body["dataset"]) or entry.key in self.datasets:
            self._say(f"entry {entry.seq} opens an account that another entry opened")
        self.datasets.add(entry.key)
        self.accounts[entry.seq] = _Open(filter, limit, shares, Balance(filter.nothing, {}))

    def _charge(self, entry: Entry, body: dict[str, Any]) -> None:
        self.found.charges += 1
        account = self.accounts.get(entry.account)
        if account is None:
            self._say(f"entry {entry.seq} is a charge to no account")
            return
        self.unanswered[entry.seq] = (entry.account, entry.key)
        cost = account.filter.nothing.read(body["cost"])
        who = body["analyst"] or ""
        before = account.balance
        expected = Balance(before.total + cost, {**before.by, who: before.of(who) + cost})
        told = read_balance(entry, account.filter)
        if told != expected:
            self._say(f"entry {entry.seq} does not add up: what it says is spent is not what was charged")
        if not expected.total.fits(account.limit):
            self._say(f"entry {entry.seq} overspends the budget")
        if account.shares:
            share = account.shares.get(who)
            if share is None or not expected.of(who).fits(account.limit.share(share)):
                self._say(f"entry {entry.seq} overspends an analyst's share")
        if entry.key != digest(body["question"]):
            self._say(f"entry {entry.seq} is filed under another question")
        account.balance = expected

    def _answer(self, entry: Entry, body: dict[str, Any]) -> None:
        failed = body.get("failed", False)
        self.found.failures += bool(failed)
        self.found.answers += not failed
        if self.unanswered.pop(body["charge"], None) != (entry.account, entry.key):
            self._say(f"entry {entry.seq} is an answer without a charge of its own")

    def _say(self, problem: str) -> None:
        self.found.problems.append(problem)
