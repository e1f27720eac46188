"""A request carried out, or looked up: the answer that the ledger keeps, and what a person sees of it.

The session asks its account as always; the account that it is given here watches. So there is one way to plan, to
price and to name a question, from afar and from nearby, and the ledger's rules hold for both.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from dalenius.calculus.guarantees.cost import Cost
from dalenius.core.record import JSON
from dalenius.errors import DaleniusError, InvalidParameter
from dalenius.session.account import Account, Reply
from dalenius.session.opening import SessionAccount
from dalenius.session.session import Session
from dalenius.session.travel.requests import Request
from dalenius.tables.facts.forms import BROKEN


@dataclass(frozen=True)
class Outcome:
    """What became of a request: the ledger's text of the question and of the answer, and what the session made of it.

    charged: when it was charged, for the first time where it was on record. Not when the answer was written: the time
    between would tell how long the computation took.
    """

    question: str
    answer: str
    free: bool
    charged: str | None
    result: Any


@dataclass(frozen=True)
class Unanswered:
    """A request that can be asked, and is not on record."""

    question: str
    cost: Cost


class _NotOnRecord(Exception):
    def __init__(self, found: Unanswered) -> None:
        super().__init__()
        self.found = found


def named(session: Session, request: Request) -> Unanswered:
    """What the ledger calls a request, and what it costs: from public facts, whatever is left."""

    def ask(question: str, cost: Cost, compute: Callable[[], str]) -> Reply:
        raise _NotOnRecord(Unanswered(question, cost))

    try:
        _asked(session, request, ask)
    except _NotOnRecord as found:
        return found.found
    raise AssertionError("a request asks its account")


def looked_up(
    session: Session,
    request: Request,
    recorded: Callable[[str], str | None] | None = None,
    expected: Callable[[str], bool] = lambda question: False,
) -> Outcome | Unanswered:
    """The outcome that is on record, for nothing; else what it is called, if there is enough left to pay for it.

    recorded: what may be told of the record, where that is less than the account has. expected: whether an answer will
    be there soon, so that nothing needs to be left for it.
    """
    account = session.account
    seen: list[tuple[str, str, str | None]] = []
    known = account.recorded if recorded is None else recorded

    def ask(question: str, cost: Cost, compute: Callable[[], str]) -> Reply:
        with _one_view(account):  # not while it is planned, which may take long: others wait for a view
            answer = known(question)
            if answer is None:
                if not expected(question):
                    account.check_room(cost)
                raise _NotOnRecord(Unanswered(question, cost))
            charged = account.charged(question)
        seen.append((question, answer, charged))
        return Reply(answer, None, charged)

    try:
        result = _asked(session, request, ask)
    except _NotOnRecord as found:
        return found.found
    ((question, answer, charged),) = seen
    return Outcome(question, answer, True, charged, result)


def _one_view(account: Account) -> AbstractContextManager[None]:
    """All looks at the ledger in one, which spares a server many questions; where there is no ledger yet, none."""
    if isinstance(account, SessionAccount) and not account.is_open:
        return nullcontext()
    return account.ledger.one_view()


def carried_out(session: Session, request: Request) -> Outcome:
    """The outcome: from the record, or charged, computed and recorded."""
    account, seen = session.account, []

    def ask(question: str, cost: Cost, compute: Callable[[], str]) -> Reply:
        reply = account.ask(question, cost, compute)
        seen.append((question, reply.is_free))
        return Reply(reply.answer, reply.ticket, account.charged(question))

    result = _asked(session, request, ask)
    question, free = seen[0]
    return _outcome(session, question, result, free)


def _outcome(session: Session, question: str, result: Any, free: bool) -> Outcome:
    answer = session.account.recorded(question)
    assert answer is not None
    return Outcome(question, answer, free, session.account.charged(question), result)


def _asked(session: Session, request: Request, ask: Callable[..., Reply]) -> Any:
    try:
        return request.ask(session._asking(_Watched(session.account, ask)))
    except (_NotOnRecord, DaleniusError):
        raise
    except BROKEN as problem:
        # Parameters of the wrong type, in a model or a setting, that nothing named before the charge.
        raise InvalidParameter(
            f"the request cannot be asked ({type(problem).__name__}); check the types of what it says."
        ) from None


def as_told(session: Session, recorded: Callable[[str], str | None]) -> Session:
    """The session, to price from: what its account says is on record is what may be told of it."""
    return session._asking(_Watched(session.account, session.account.ask, recorded))


class _Watched:
    """An account, but for how it answers and, where that is given, what it says is on record."""

    def __init__(
        self,
        account: Account,
        ask: Callable[..., Reply],
        recorded: Callable[[str], str | None] | None = None,
    ) -> None:
        self._account, self.ask = account, ask
        self.recorded = account.recorded if recorded is None else recorded

    def __getattr__(self, name: str) -> Any:
        return getattr(self._account, name)


def answer_record(outcome: Outcome) -> JSON:
    """The ledger's record of an answer."""
    return json.loads(outcome.answer)
