"""An account: one dataset's budget in a ledger, and the only way to spend it.

The order is the point. Charge, then touch the data, then record the answer, then hand it over:

- a crash after the charge wastes budget; there is no moment at which data was touched and nothing charged;
- an answer that could not be recorded is not handed over, so every answer anybody has is in the ledger;
- the identical question is answered from the record, for nothing: repeating an answer reveals nothing new.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from dalenius.calculus.guarantees import Filter, Guarantee, filter_of, from_record
from dalenius.calculus.guarantees.cost import Cost
from dalenius.calculus.guarantees.guarantee import READ
from dalenius.calculus.loss import Loss
from dalenius.core.habits import absent
from dalenius.core.quiet import quiet
from dalenius.errors import BudgetExceeded, EngineFailed, InvalidParameter, LedgerDamaged, LedgerError
from dalenius.session import acts
from dalenius.session.entries import Entry, digest, now, user_word
from dalenius.session.rows import Rows
from dalenius.session.standing import Standing, Sums, written
from dalenius.session.terms import Held, listed, planned
from dalenius.tables.engines.failure import FAILED

if TYPE_CHECKING:
    from dalenius.session.ledger import Ledger

MOST = 50_000_000
"""Longest question or answer, in characters; more is a file, not an entry."""

AGAIN = 5.0
"""Seconds in which a ledger that could not keep an answer is asked again; its patience, where that is shorter."""

WHERE = "where is the data of this account?"
"""The question under which a ledger keeps where the data is, once that is not what the account was opened with."""


@dataclass(frozen=True)
class Ticket:
    """The right to look at the data once: a charge that is already durable."""

    seq: int
    account: int
    key: str
    cost: Cost


@dataclass(frozen=True)
class Reply:
    """An answer, the charge that was made for it now (None when it was on record), and when it was given."""

    answer: str
    ticket: Ticket | None
    time: str | None = None

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
        return self.by.get(analyst or "", self.total.nothing)

    def plus(self, analyst: str | None, cost: Cost) -> Balance:
        """After one more charge."""
        return Balance(self.total + cost, {**self.by, analyst or "": self.of(analyst) + cost})


@dataclass(frozen=True)
class State:
    """An account at one moment: what is spent of it, and what may be by then."""

    filter: Filter
    balance: Balance
    standing: Standing

    @property
    def limit(self) -> Cost:
        """What may have been spent in all."""
        return read_cost(self.standing.limit, self.filter)

    @property
    def most(self) -> Cost:
        """What may ever be spent: what the promise is about."""
        return read_cost(self.standing.most, self.filter)

    @property
    def budget(self) -> Guarantee:
        """The budget of one round: as the account was opened, or as it was raised."""
        return from_record(self.standing.budget)

    def allowance(self, analyst: str | None) -> Cost:
        """What an analyst may spend in all: their share, which is nothing if only others have one, or the whole budget
        where there are no shares."""
        return self._allowed(self.standing.allowance(analyst or ""), analyst)

    def first_allowance(self, analyst: str | None) -> Cost:
        """The same of the budget as it was opened: no raise and no renewal moves it."""
        return self._allowed(self.standing.first_allowance(analyst or ""), analyst)

    def _allowed(self, allowed: Sums | None, analyst: str | None) -> Cost:
        if allowed is None and analyst is not None:
            return self.filter.nothing
        if allowed is None:
            raise InvalidParameter(
                f"this budget is shared by {listed(self.standing.shares)}; open the account as one of them: "
                "analyst=..., or --analyst."
            )
        return read_cost(allowed, self.filter)

    def left(self, analyst: str | None) -> Cost:
        """What an analyst may still spend; of a shared budget, to nobody in particular, what all together may."""
        if self.standing.closed:
            return self.filter.nothing
        left = self.balance.total.below(self.limit)
        if not self.standing.shares or analyst is None:
            return left
        return left.least(self.balance.of(analyst).below(self.allowance(analyst)))


HINTS = {
    "close": "an account is closed for ever: write close_for_ever()",
    "log": "write account.ledger.log(account.dataset)",
    "raise_to": "write raise_budget(dp.ZCDP(1.0)), up to the ceiling that was settled at the opening",
    "share": "write grant_share('ana', dp.ZCDP(0.1))",
}
"""What a steward may look for."""


@dataclass(eq=False, repr=False)
class Account:
    """The budget of one dataset; make one with `Ledger.account`."""

    ledger: Ledger
    seq: int
    dataset: str
    filter: Filter
    shares: Mapping[str, Held]
    analyst: str | None
    unit: str

    if not TYPE_CHECKING:  # with it type checkers would take every name for one that is there

        def __getattr__(self, name: str) -> NoReturn:
            raise absent("an account", name, dir(type(self)), HINTS)

    def __repr__(self) -> str:
        who = f", analyst={self.analyst!r}" if self.analyst else ""
        return f"Account({self.dataset!r}, {self.filter.promise!r}{who})"

    def _repr_html_(self) -> str:
        """What a notebook shows: the promise, what is spent and what is left."""
        from dalenius.session.report import account_html

        return account_html(self)

    @property
    def promise(self) -> Guarantee:
        """What people are promised about all that may ever be charged, raises and renewals included."""
        return self.filter.promise

    def own_filter(self, opening: Mapping[str, Any]) -> Filter:
        """The filter of the budget that the account was opened with."""
        return filter_of(
            planned(opening)[0], self.filter.adjacency, (opening.get("plan") or opening)["reserve"] or 0
        )

    # -- what is spent ----------------------------------------------------------------------------

    def state(self) -> State:
        """What is spent at this moment, and what may be."""
        with self.ledger.reading() as rows:
            return self._state(rows, everybody=True)

    def balance(self) -> Balance:
        """What is spent at this moment, exactly."""
        return self.state().balance

    @property
    def limit(self) -> Cost:
        """What may have been spent by now, in all, exactly: the promise, unless the steward has more to open."""
        return self.state().limit

    @property
    def budget(self) -> Guarantee:
        """The budget that is open: as the account was opened or was raised; of one round, where it is renewed."""
        return self.state().budget

    @property
    def is_closed(self) -> bool:
        """Whether it was closed: then nothing more is charged, ever."""
        return self.state().standing.closed

    @property
    def spent(self) -> Guarantee:
        """What was charged so far, to all analysts, written as a promise and rounded up.

        It is the promise of a budget that ends here. The releases keep it if it was settled beforehand to stop at
        this total; at a moment chosen by the answers only `promise` holds (docs/ledger.md).
        """
        return self.filter.spent(self.balance().total).read(up=True)

    @property
    def remaining(self) -> Guarantee:
        """What this analyst may still spend, rounded down."""
        return self.filter.left(self.left()).read(up=False)

    @property
    def may_spend(self) -> bool:
        """Whether anything can be charged to this analyst: not once it was closed, nor if only others have shares."""
        standing = self.state().standing
        return not standing.closed and standing.allowance(self.analyst or "") is not None

    def left(self) -> Cost:
        """What this analyst may still spend, exactly."""
        return self.state().left(self.analyst)

    def allowance(self, analyst: str | None = None) -> Cost:
        """What an analyst may spend in all: their share, or the whole budget where there are no shares."""
        return self.state().allowance(analyst)

    # -- what a steward does -----------------------------------------------------------------------

    def check_opened(self) -> None:
        """Refuse where the ledger has no such account yet."""

    def raise_budget(self, budget: Guarantee, *, note: str | None = None) -> Guarantee:
        """Open more of what was promised: a larger budget, up to the ceiling that the account was opened with.

        The promise does not change: it is that of the ceiling, and was from the first day (`session.standing`).

        Parameters
        ----------
        budget
            The new one, of the same kind, not below the old one and not above the ceiling.
        note
            Why; it is kept.

        Returns
        -------
        Guarantee
            What is left then, to this analyst.

        Raises
        ------
        InvalidParameter
            If it is above the ceiling, below the old budget, or the account is closed; nothing is changed.

        Examples
        --------
        >>> import tempfile, dalenius as dp
        >>> folder = tempfile.TemporaryDirectory()
        >>> ledger = dp.Ledger.open(folder.name + "/people.ledger")
        >>> account = ledger.account("people", dp.ZCDP(0.5), ceiling=dp.ZCDP(1.0))
        >>> account.promise, account.raise_budget(dp.ZCDP(0.75), note="a second survey")
        (ZCDP(rho=1.0), ZCDP(rho=0.75))
        """
        return acts.raise_budget(self, budget, note)

    def renew(self, *, note: str | None = None) -> Guarantee:
        """Open the budget once more, as often as was settled when the account was opened; what was left stays.

        No theorem resets a person: k renewals are a promise of k + 1 budgets, which `promise` is from the first day.

        Parameters
        ----------
        note
            Why; it is kept.

        Returns
        -------
        Guarantee
            What is left then, to this analyst.

        Raises
        ------
        InvalidParameter
            If it was renewed as often as was settled, or is closed; nothing is changed.

        Examples
        --------
        >>> import tempfile, dalenius as dp
        >>> folder = tempfile.TemporaryDirectory()
        >>> ledger = dp.Ledger.open(folder.name + "/people.ledger")
        >>> account = ledger.account("people", dp.ZCDP(0.5), renewals=1)
        >>> account.promise, account.remaining, account.renew()
        (ZCDP(rho=1.0), ZCDP(rho=0.5), ZCDP(rho=1.0))
        """
        return acts.renew(self, note)

    def grant_share(self, analyst: str, share: Guarantee, *, note: str | None = None) -> Guarantee:
        """Let an analyst spend so much more, out of what is left; from then on only those with a share may spend.

        Parameters
        ----------
        analyst
            Who.
        share
            How much, of the budget's kind; it is added to what they have.
        note
            Why; it is kept.

        Returns
        -------
        Guarantee
            What is left to that analyst then.

        Raises
        ------
        InvalidParameter
            If it is more than is left, or the account is closed; nothing is changed.

        Examples
        --------
        >>> import tempfile, dalenius as dp
        >>> folder = tempfile.TemporaryDirectory()
        >>> ledger = dp.Ledger.open(folder.name + "/people.ledger")
        >>> ledger.account("people", dp.ZCDP(0.5)).grant_share("ana", dp.ZCDP(0.2))
        ZCDP(rho=0.2)
        """
        return acts.grant_share(self, analyst, share, note)

    def close_for_ever(self, *, note: str | None = None) -> None:
        """End the account: nothing more is charged to it, ever. What was answered can be read again, for nothing.

        Parameters
        ----------
        note
            Why; it is kept.

        Examples
        --------
        >>> import tempfile, dalenius as dp
        >>> folder = tempfile.TemporaryDirectory()
        >>> ledger = dp.Ledger.open(folder.name + "/people.ledger")
        >>> account = ledger.account("people", dp.ZCDP(0.5))
        >>> account.close_for_ever(note="the survey has ended")
        >>> account.is_closed, account.remaining
        (True, ZCDP(rho=0.0))
        """
        acts.close_for_ever(self, note)

    # -- asking -----------------------------------------------------------------------------------

    def ask(self, question: str, cost: Cost | Loss, compute: Callable[[], str]) -> Reply:
        """The recorded answer, or charge, compute and record a new one.

        `compute` is called only after the charge is durable, and what it returns (JSON text) is handed over
        only after it is recorded. If `compute` or the recording fails the charge stays. Whatever goes wrong in
        `compute`, whether and how may depend on the data: so it is always told by the same words, and the ledger
        keeps no more than that it happened.
        """
        charged = self._charge(question, self._cost(cost), recall=True)
        if isinstance(charged, Entry):
            body = charged.content()
            return Reply(str(body["answer"]), None, body.get("time"))
        answer = None
        try:
            with quiet():  # a warning (or, where they are errors, a failure) would tell of one row
                answer = _checked_answer(compute())
        except Exception:
            pass
        except BaseException:  # Ctrl-C and its like, which come from outside, pass
            self._fail(charged)
            raise
        if answer is None:
            self._fail(charged)
            raise EngineFailed(FAILED)
        return Reply(answer, charged, self._recorded_at_last(charged, answer))

    def keep(self, question: str, answer: str) -> str:
        """The answer on record; if there is none, this one, from now on, at no cost: an earlier charge covers it.

        One transaction looks and writes, so that of several answers only one is ever handed over.
        """
        key, checked = digest(_checked_text("the question", question)), _checked_answer(answer)
        with self.ledger.writing() as rows:
            known = self._recorded(rows, key)
            if known is not None:
                return str(known.content()["answer"])
            nothing = self.filter.nothing
            charge = self._append(rows, key, question, nothing, self._fitting(self._state(rows), nothing))
            body = {"charge": charge.seq, "answer": checked, "time": now()}
            self.ledger.append(rows, "answer", self.seq, key, body)
        return checked

    def charge(self, question: str, cost: Cost | Loss) -> Ticket:
        """Take the cost from the budget; when this returns, the charge is durable and data may be touched.

        Raises BudgetExceeded, and charges nothing, if it does not fit. Raises LedgerError if the ledger
        cannot be written: then nothing may be released.
        """
        charged = self._charge(question, self._cost(cost), recall=False)
        assert isinstance(charged, Ticket)
        return charged

    def record(self, ticket: Ticket, answer: str) -> str:
        """Keep the answer, as JSON text, next to its charge; only then may it be handed over. The time it has.

        If this raises, the charge stays and the answer must not be released.
        """
        return self._keep(ticket, {"answer": _checked_answer(answer)})

    def _recorded_at_last(self, ticket: Ticket, answer: str) -> str:
        """The same, also of a ledger that is away for a moment: a server that starts again, a disk that was full. The
        answer is there and paid for, and the noise in it is drawn; it need not be charged in vain."""
        deadline = time.monotonic() + min(AGAIN, self.ledger.store.patience)
        while True:
            try:
                return self.record(ticket, answer)
            except LedgerDamaged:
                raise
            except LedgerError:
                if time.monotonic() >= deadline:
                    raise
            time.sleep(0.1)
            moment = self._kept(ticket, answer)  # by a commit whose end was not heard of
            if moment is not None:
                return moment

    def _kept(self, ticket: Ticket, answer: str) -> str | None:
        """The time of this very answer; None where it is not on record, as far as can be seen."""
        with contextlib.suppress(LedgerError), self.ledger.reading() as rows:
            for entry in rows.answers(self.seq, ticket.key):
                body = entry.content()
                if (body["charge"], body.get("answer")) == (ticket.seq, answer) and not body.get("failed"):
                    return str(body["time"])
        return None

    def _fail(self, ticket: Ticket) -> None:
        """Keep that a charge has no answer and will have none: the computation failed. No reason: it may tell."""
        with contextlib.suppress(Exception):  # then the charge is there without an answer, which says enough
            self._keep(ticket, {"answer": "null", "failed": True})

    def _keep(self, ticket: Ticket, outcome: Mapping[str, object]) -> str:
        with self.ledger.writing() as rows:
            charge = rows.get(ticket.seq)
            if (
                charge is None
                or charge.kind != "charge"
                or (charge.account, charge.key) != (self.seq, ticket.key)
                or ticket.account != self.seq
            ):
                raise LedgerError("the ticket is not for a charge in this account; charge first.")
            for earlier in rows.answers(self.seq, ticket.key):
                if earlier.content()["charge"] == ticket.seq:
                    raise LedgerError("this charge has its answer already; charge again for another one.")
            moment = now()
            body = {"charge": ticket.seq, **outcome, "time": moment}
            self.ledger.append(rows, "answer", self.seq, ticket.key, body)
        return moment

    def recorded(self, question: str) -> str | None:
        """The answer to the identical question, if there is one; free."""
        key = digest(_checked_text("the question", question))
        with self.ledger.reading() as rows:
            answer = self._recorded(rows, key)
        return None if answer is None else str(answer.content()["answer"])

    def charged(self, question: str) -> str | None:
        """When the answer on record was charged; None where there is none. What lies between that and the time of the
        answer is the computation, whose duration is nobody's business."""
        key = digest(_checked_text("the question", question))
        with self.ledger.reading() as rows:
            answer = self._recorded(rows, key)
            charge = None if answer is None else rows.get(answer.content()["charge"])
        return None if charge is None else charge.content().get("time")

    def check_room(self, cost: Cost) -> None:
        """Raise BudgetExceeded if a cost does not fit what is left at this moment; nothing is charged."""
        self._fitting(self.state(), cost)

    # -- where the data is ----------------------------------------------------------------------------

    def place(self) -> dict[str, Any] | None:
        """Where the data of this account is, as it was last recorded; None in accounts of earlier versions."""
        with self.ledger.reading() as rows:
            return self._place(rows)

    def record_place(self, place: Mapping[str, object], instead_of: Mapping[str, object] | None) -> None:
        """Keep where the data is from now on: a question at no cost, and its answer.

        Refused if what is recorded by now is not `instead_of`: somebody else was quicker.
        """
        with self.ledger.writing() as rows:
            if self._place(rows) != instead_of:
                raise LedgerError(
                    f"where the data of {self.dataset!r} is was recorded by somebody else at this moment; try again."
                )
            nothing = self.filter.nothing
            after = self._fitting(self._state(rows), nothing)
            charge = self._append(rows, digest(WHERE), WHERE, nothing, after)
            body = {"charge": charge.seq, "answer": json.dumps(dict(place)), "time": now()}
            self.ledger.append(rows, "answer", self.seq, charge.key, body)

    def _place(self, rows: Rows) -> dict[str, Any] | None:
        noted, opening = rows.answers(self.seq, digest(WHERE)), rows.get(self.seq)
        place = opening.content().get("place") if opening is not None else None
        return json.loads(noted[-1].content()["answer"]) if noted else place

    # -- inside -----------------------------------------------------------------------------------

    def _charge(self, question: str, cost: Cost, recall: bool) -> Ticket | Entry:
        """A charge that is durable now, or the answer that was on record."""
        key = digest(_checked_text("the question", question))
        with self.ledger.reading() as rows:
            known, state = self._recorded(rows, key), self._state(rows)
        if recall and known is not None:
            return known
        # A refusal that was right a moment ago needs no lock: nothing is charged, and spent never falls.
        self._fitting(state, cost)
        with self.ledger.writing() as rows:
            if recall:
                known = self._recorded(rows, key)
                if known is not None:  # somebody else asked the same at the same time, and was quicker
                    return known
            after = self._fitting(self._state(rows), cost)
            entry = self._append(rows, key, question, cost, after)
        return Ticket(entry.seq, self.seq, key, cost)

    def _append(self, rows: Rows, key: str, question: str, cost: Cost, after: Balance) -> Entry:
        body = {
            "analyst": self.analyst,
            "question": question,
            "cost": cost.written(),
            "spent": after.total.written(),
            "by": {self.analyst or "": after.of(self.analyst).written()},
            "time": now(),
            **user_word(),
        }
        return self.ledger.append(rows, "charge", self.seq, key, body)

    def _fitting(self, state: State, cost: Cost) -> Balance:
        """The balance after the cost, if it fits the budget and the analyst's share."""
        if state.standing.closed:
            raise BudgetExceeded(
                f"the account of {self.dataset!r} was closed: nothing more is charged to it, ever. What was answered "
                "before can be read again: ask the identical question.",
                asked=self.filter.spent(cost),
                left=self.filter.left(self.filter.nothing),
            )
        if self.analyst is not None and state.standing.allowance(self.analyst) is None:
            raise BudgetExceeded(
                f"{self.analyst!r} has no share of the budget of {self.dataset!r}, and only those who have one may "
                "spend from it. Nothing was charged; what was answered before can be read again. A steward grants "
                "shares.",
                asked=self.filter.spent(cost),
                left=self.filter.left(self.filter.nothing),
            )
        after = state.balance.plus(self.analyst, cost)
        allowed = state.allowance(self.analyst)
        if not after.total.fits(state.limit) or not after.of(self.analyst).fits(allowed):
            left = state.left(self.analyst)
            whose = f" of the share of {self.analyst!r}" if state.standing.shares else ""
            raise BudgetExceeded(
                f"the release costs {cost.text(READ)}, and {left.text(READ, up=False)} is left{whose} (enough for "
                f"{self.filter.left(left).shortened(up=False)!r}). Nothing was charged; ask for less accuracy or fewer "
                "answers.",
                asked=self.filter.spent(cost),
                left=self.filter.left(left),
            )
        return after

    def _state(self, rows: Rows, everybody: bool = False) -> State:
        """What is spent, in all and by this analyst (or by everybody), and what may be: as the chain has it."""
        total, by = rows.memory.spent(self.seq, None if everybody else self.analyst or "")
        standing = rows.memory.accounts[self.seq].standing
        if standing is None:
            raise LedgerDamaged("an account of the ledger is not written as we write them.")
        return State(self.filter, read_balance(total, by, self.filter), standing)

    def _recorded(self, rows: Rows, key: str) -> Entry | None:
        """The first answer under a key; a charge that failed has none."""
        return next((e for e in rows.answers(self.seq, key) if not e.content().get("failed")), None)

    def _cost(self, cost: Cost | Loss) -> Cost:
        if isinstance(cost, Loss):
            return self.filter.cost(cost)
        if not isinstance(cost, Cost):
            raise InvalidParameter(
                f"the cost is {cost!r}; pass a Loss, or a Cost from account.filter.cost()."
            )
        return cost


def read_cost(sums: Sums, filter: Filter) -> Cost:
    """A sum of the chain as a cost."""
    return filter.nothing.read(
        {**filter.nothing.written(), **{k: v for k, v in written(sums).items() if v != "0"}}
    )


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


def _checked_answer(answer: Any) -> str:
    text = _checked_text("the answer", answer)
    try:
        json.loads(text)
    except ValueError:
        raise InvalidParameter("the answer is not JSON text; the charge for it is kept.") from None
    return text


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
