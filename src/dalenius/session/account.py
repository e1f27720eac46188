"""An account: one dataset's budget in a ledger, and the only way to spend it.

The order is the point. Charge, then touch the data, then record the answer, then hand it over:

- a crash after the charge wastes budget; there is no moment at which data was touched and nothing charged;
- an answer that could not be recorded is not handed over, so every answer anybody has is in the ledger;
- the identical question is answered from the record, for nothing: repeating an answer reveals nothing new.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dalenius.calculus.errors import BudgetExceeded, InvalidParameter, LedgerDamaged, LedgerError
from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.session.budget import Filter
from dalenius.session.cost import Cost
from dalenius.session.entries import digest, now
from dalenius.session.store import Rows

if TYPE_CHECKING:
    from dalenius.session.ledger import Ledger

MOST = 50_000_000
"""Longest question or answer, in characters; more is a file, not an entry."""


@dataclass(frozen=True)
class Ticket:
    """The right to look at the data once: a charge that is already durable."""

    seq: int
    account: int
    key: str
    cost: Cost


@dataclass(frozen=True)
class Reply:
    """An answer, and the charge that was made for it now; None when it was on record."""

    answer: str
    ticket: Ticket | None

    @property
    def is_free(self) -> bool:
        return self.ticket is None


@dataclass(frozen=True)
class Balance:
    """What is spent of an account: in all, and by each analyst who has spent."""

    total: Cost
    by: Mapping[str, Cost]

    def of(self, analyst: str | None) -> Cost:
        """What one analyst has spent."""
        return self.by.get(analyst or "", replace(self.total, amount=Fraction(0), delta=Fraction(0)))


class Account:
    """The budget of one dataset; make one with `Ledger.account`."""

    def __init__(
        self,
        ledger: Ledger,
        seq: int,
        dataset: str,
        filter: Filter,
        limit: Cost,
        shares: Mapping[str, Fraction],
        analyst: str | None,
        unit: str,
    ) -> None:
        self.ledger, self.seq, self.dataset, self.filter = ledger, seq, dataset, filter
        self.limit, self.shares, self.analyst, self.unit = limit, shares, analyst, unit

    def __repr__(self) -> str:
        who = f", analyst={self.analyst!r}" if self.analyst else ""
        return f"Account({self.dataset!r}, {self.filter.promise!r}{who})"

    @property
    def promise(self) -> Guarantee:
        """What the people in the data are promised."""
        return self.filter.promise

    # -- what is spent ----------------------------------------------------------------------------

    def balance(self) -> Balance:
        """What is spent at this moment, exactly."""
        with self.ledger.reading() as rows:
            return read_balance(*rows.memory.spent(self.seq), self.filter)

    @property
    def spent(self) -> Guarantee:
        """What everything charged so far promises, by all analysts, rounded up."""
        return self.filter.spent(self.balance().total)

    @property
    def remaining(self) -> Guarantee:
        """What this analyst may still spend, rounded down."""
        return self.filter.left(self.left())

    def left(self) -> Cost:
        """What this analyst may still spend, exactly."""
        return self._left(self.balance())

    def allowance(self, analyst: str | None = None) -> Cost:
        """What an analyst may spend in all: their share, or the whole budget where there are no shares."""
        if not self.shares:
            return self.limit
        if analyst is None or analyst not in self.shares:
            raise InvalidParameter(
                f"this budget is shared by {listed(self.shares)}; open the account as one of them."
            )
        return self.limit.share(self.shares[analyst])

    # -- asking -----------------------------------------------------------------------------------

    def ask(self, question: str, cost: Cost | Loss, compute: Callable[[], str]) -> Reply:
        """The recorded answer, or charge, compute and record a new one.

        `compute` is called only after the charge is durable, and what it returns (JSON text) is handed over
        only after it is recorded. If `compute` or the recording fails the charge stays.
        """
        charged = self._charge(question, self._cost(cost), recall=True)
        if isinstance(charged, str):
            return Reply(charged, None)
        answer = compute()
        self.record(charged, answer)
        return Reply(answer, charged)

    def charge(self, question: str, cost: Cost | Loss) -> Ticket:
        """Take the cost from the budget; when this returns, the charge is durable and data may be touched.

        Raises BudgetExceeded, and charges nothing, if it does not fit. Raises LedgerError if the ledger
        cannot be written: then nothing may be released.
        """
        charged = self._charge(question, self._cost(cost), recall=False)
        assert isinstance(charged, Ticket)
        return charged

    def record(self, ticket: Ticket, answer: str) -> None:
        """Keep the answer, as JSON text, next to its charge; only then may it be handed over.

        If this raises, the charge stays and the answer must not be released.
        """
        _checked_text("the answer", answer)
        try:
            json.loads(answer)
        except ValueError:
            raise InvalidParameter("the answer is not JSON text; the charge for it is kept.") from None
        with self.ledger.writing() as rows:
            charge = rows.get(ticket.seq)
            if (
                charge is None
                or charge.kind != "charge"
                or (charge.account, charge.key) != (self.seq, ticket.key)
                or ticket.account != self.seq
            ):
                raise LedgerError("the ticket is not for a charge in this account; charge first.")
            for earlier in rows.every("answer", self.seq, ticket.key):
                if earlier.content()["charge"] == ticket.seq:
                    raise LedgerError("this charge has its answer already; charge again for another one.")
            body = {"charge": ticket.seq, "answer": answer, "time": now()}
            self.ledger.append(rows, "answer", self.seq, ticket.key, body)

    def recorded(self, question: str) -> str | None:
        """The answer to the identical question, if there is one; free."""
        key = digest(_checked_text("the question", question))
        with self.ledger.reading() as rows:
            return self._recorded(rows, key)

    # -- inside -----------------------------------------------------------------------------------

    def _charge(self, question: str, cost: Cost, recall: bool) -> Ticket | str:
        key = digest(_checked_text("the question", question))
        with self.ledger.reading() as rows:
            known, balance = self._recorded(rows, key), self._balance(rows)
        if recall and known is not None:
            return known
        # Spent never falls, so a refusal that was right a moment ago is right now: no lock needed for it.
        self._fitting(balance, cost)
        with self.ledger.writing() as rows:
            if recall:
                known = self._recorded(rows, key)
                if known is not None:  # somebody else asked the same at the same time, and was quicker
                    return known
            after = self._fitting(self._balance(rows), cost)
            body = {
                "analyst": self.analyst,
                "question": question,
                "cost": cost.written(),
                "spent": after.total.written(),
                "by": {self.analyst or "": after.of(self.analyst).written()},
                "time": now(),
            }
            entry = self.ledger.append(rows, "charge", self.seq, key, body)
        return Ticket(entry.seq, self.seq, key, cost)

    def _fitting(self, balance: Balance, cost: Cost) -> Balance:
        """The balance after the cost, if it fits the budget and the analyst's share."""
        mine = balance.of(self.analyst) + cost
        total = balance.total + cost
        if not total.fits(self.limit) or not mine.fits(self.allowance(self.analyst)):
            left = self._left(balance)
            whose = f" of the share of {self.analyst!r}" if self.shares else ""
            raise BudgetExceeded(
                f"the release costs {cost.text()}, and {left.text(up=False)} is left{whose} (enough for "
                f"{self.filter.left(left)!r}). Nothing was charged; ask for less accuracy or fewer answers."
            )
        return Balance(total, {**balance.by, self.analyst or "": mine})

    def _left(self, balance: Balance) -> Cost:
        left = balance.total.below(self.limit)
        if not self.shares or self.analyst is None:
            return left
        mine = balance.of(self.analyst).below(self.allowance(self.analyst))
        return replace(left, amount=min(left.amount, mine.amount), delta=min(left.delta, mine.delta))

    def _balance(self, rows: Rows) -> Balance:
        """What is spent in all, and by this analyst: the sum of the charges in the chain."""
        total, by = rows.memory.spent(self.seq, self.analyst or "")
        return read_balance(total, by, self.filter)

    def _recorded(self, rows: Rows, key: str) -> str | None:
        found = rows.first("answer", self.seq, key)
        return None if found is None else str(found.content()["answer"])

    def _cost(self, cost: Cost | Loss) -> Cost:
        if isinstance(cost, Loss):
            return self.filter.cost(cost)
        if not isinstance(cost, Cost):
            raise InvalidParameter(
                f"the cost is {cost!r}; pass a Loss, or a Cost from account.filter.cost()."
            )
        return cost


def read_balance(total: Mapping[str, str], by: Mapping[str, Mapping[str, str]], filter: Filter) -> Balance:
    """What is spent, from the sums of the chain."""
    zero = filter.nothing
    none = zero.written()
    try:
        return Balance(
            zero.read({**none, **total}), {who: zero.read({**none, **sums}) for who, sums in by.items()}
        )
    except InvalidParameter:
        raise LedgerDamaged("the charges of the ledger are not of the kind its account says.") from None


def listed(names: Iterable[str]) -> str:
    """Names for a message; what a terminal would obey is written out."""
    return ", ".join(name if name.isprintable() else ascii(name) for name in sorted(names))


def _checked_text(name: str, text: Any) -> str:
    if not isinstance(text, str) or not text:
        raise InvalidParameter(f"{name} must be a text that is not empty.")
    if len(text) > MOST:
        raise InvalidParameter(f"{name} has {len(text)} characters; a ledger keeps at most {MOST}.")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidParameter(
            f"{name} holds half a character (a lone surrogate); write it as UTF-8."
        ) from None
    return text
