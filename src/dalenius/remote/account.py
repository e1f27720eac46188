"""The account of a data set, seen from afar: what is left, and questions that the console charges and answers."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.guarantees.cost import Cost
from dalenius.calculus.loss import Loss
from dalenius.core.record import JSON
from dalenius.core.record import text as record_text
from dalenius.errors import BudgetExceeded, ConsoleError, EngineFailed, InvalidParameter
from dalenius.remote.history import RemoteLedger
from dalenius.remote.line import Line, Progress
from dalenius.remote.problems import not_here, plain
from dalenius.remote.waiting import waited
from dalenius.session.account import Account, Balance, Reply, State, Ticket
from dalenius.session.entries import digest
from dalenius.session.standing import Standing, sums_of
from dalenius.session.travel import description
from dalenius.session.travel.description import Described
from dalenius.tables.facts.public import PublicTable

REMEMBERED = 100

FRESH = 2.0
"""Seconds for which what is left is not asked for again while one question is planned."""


@dataclass(frozen=True)
class RemoteState(State):
    """As the console told it: what this analyst may spend, and may still spend."""

    allowed: Cost
    mine: Cost
    current: Guarantee

    @property
    def budget(self) -> Guarantee:
        return self.current

    def allowance(self, analyst: str | None) -> Cost:
        return self.allowed

    def left(self, analyst: str | None) -> Cost:
        return self.mine


class RemoteAccount(Account):
    """An account that a console keeps. It is charged there, by the same rules, whatever is believed here."""

    def __init__(self, line: Line, described: Described, progress: Progress | bool) -> None:
        theirs: Any = RemoteLedger(line, described.dataset)
        who = described.analyst
        super().__init__(theirs, 0, described.dataset, described.filter, {}, who, repr(described.unit))
        self.line, self.progress = line, progress
        self.requests: dict[str, Mapping[str, JSON]] = {}
        """What was planned last, by its question, where the question alone does not say all of it."""
        self.public: dict[str, PublicTable] = {}
        self._told, self._seen = described.account, time.monotonic()

    def remember(self, question: str, request: Mapping[str, JSON]) -> None:
        """What a question comes from, for `ask`; of all that was only priced, the latest few."""
        self.requests[question] = request
        for old in list(self.requests)[:-REMEMBERED]:
            self.requests.pop(old, None)

    def refresh(self) -> RemoteAccount:
        """Let the next look be at the console."""
        self._seen = float("-inf")
        return self

    def state(self) -> State:
        if time.monotonic() - self._seen > FRESH:
            told = self.line.get("datasets", self.dataset, "standing")
            self._told, self._seen = description.read_standing(told, self.filter), time.monotonic()
        told = self._told
        standing = Standing(
            limit=sums_of(told.limit.written()),
            level=sums_of(told.limit.written()),
            budget=told.budget.record(),
            ceiling=sums_of(told.limit.written()),
            renewals=0,
            closed=told.closed,
            first=sums_of(told.first.written()),
        )
        balance = Balance(told.spent, {})
        return RemoteState(self.filter, balance, standing, told.allowance, told.left, told.budget)

    def ask(self, question: str, cost: Cost | Loss, compute: Callable[[], str]) -> Reply:
        """The console's answer: from the record, or charged there, computed and recorded."""
        told = self._sent(question, self._cost(cost))
        if is_job(told):
            told = self.outcome(waited(self.line, str(told["job"]), self.progress), self._cost(cost))
        return self._reply(told, question, cost)

    def sending(self) -> _Sending:
        """The same account for one question that nobody waits for: it stands as it stood when that was sent."""
        return _Sending(self)

    def _sent(self, question: str, cost: Cost) -> Any:
        """What the console makes of the question: the answer that is on record, or a job."""
        content = self.requests.pop(question, None) or _request(question)
        content = {**content, "public": [self._public(one) for one in _joined(content)]}
        self.refresh()
        try:
            where = ("datasets", self.dataset, "releases")
            return self.line.post(*where, content=content, word=uuid.uuid4().hex)
        except BudgetExceeded as problem:
            raise self._too_much(problem, cost) from None

    def _reply(self, told: Any, question: str, cost: Cost | Loss) -> Reply:
        try:
            key, answer, free, charged = (told[word] for word in ("key", "answer", "free", "charged"))
        except (KeyError, TypeError):
            raise ConsoleError("the console answered in a way that this dalenius does not know.") from None
        if key != digest(question):
            raise ConsoleError(
                "the console answered another question than was asked: it may be of another version of dalenius. What "
                "was charged stays charged; tell its steward."
            )
        ticket = None if free is True else Ticket(0, 0, key, self._cost(cost))
        return Reply(record_text(answer), ticket, charged)

    def outcome(self, left: Mapping[str, Any], cost: Cost) -> Any:
        """What a job has that has left; else why it has nothing, as a session raises it."""
        detail = plain(str(left.get("detail", "the console did not say why.")))
        if left["state"] == "done":
            return left.get("answer")
        if left["state"] == "failed":
            raise EngineFailed(detail)
        if left["state"] == "refused":
            self.refresh()
            fits = cost.fits(self.left())
            raise InvalidParameter(detail) if fits else self._too_much(BudgetExceeded(detail), cost)
        raise ConsoleError(detail)

    def _too_much(self, problem: BudgetExceeded, cost: Cost) -> BudgetExceeded:
        asked = self.filter.spent(cost)
        return BudgetExceeded(str(problem), asked=asked, left=self.filter.left(self.left()))

    def recorded(self, question: str) -> str | None:
        """Not looked up: it only matters to a price that is more than is left."""
        return None

    # -- what the console does, or its steward -------------------------------------------------------

    def raise_budget(self, *_: Any, **__: Any) -> NoReturn:
        """Refused: it is the steward's."""
        raise self._for_stewards("raise")

    def renew(self, *_: Any, **__: Any) -> NoReturn:
        """Refused: it is the steward's."""
        raise self._for_stewards("renew")

    def grant_share(self, *_: Any, **__: Any) -> NoReturn:
        """Refused: it is the steward's."""
        raise self._for_stewards("shares")

    def close_for_ever(self, *_: Any, **__: Any) -> NoReturn:
        """Refused: it is the steward's."""
        raise self._for_stewards("close")

    def charge(self, *_: Any, **__: Any) -> NoReturn:
        """Refused: the console charges."""
        raise _by_asking("charge")

    def record(self, *_: Any, **__: Any) -> NoReturn:
        """Refused: the console records."""
        raise _by_asking("record")

    def keep(self, *_: Any, **__: Any) -> NoReturn:
        """Refused: the console records."""
        raise _by_asking("keep")

    def charged(self, *_: Any, **__: Any) -> NoReturn:
        """Refused: an answer says when it was charged."""
        raise not_here("account.charged", "an answer has it, as `given`, and so has ledger.log()")

    def place(self) -> NoReturn:
        """Refused: where the data are is the console's own business."""
        raise not_here("where the data are", "ask the steward")

    def record_place(self, *_: Any, **__: Any) -> NoReturn:
        """Refused: it is the steward's."""
        raise not_here("where the data are", "the steward says so, on the page of the data set")

    def _for_stewards(self, act: str) -> InvalidParameter:
        page = f"{self.line.url}/datasets/{self.dataset}/budget"
        return not_here(
            f"{act} (of a budget)",
            f"only a steward does it, on the page {page} or by POST /api/v1/datasets/{self.dataset}/{act}; ask yours",
        )

    def _public(self, mark: str) -> JSON:
        if mark not in self.public:
            raise InvalidParameter(
                "the question joins a public table that is not known here; ask it of a table of this session."
            )
        return self.public[mark].record()


class Sent(Exception):
    """A question is on its way, and nobody waits for it. told: the console's job."""

    def __init__(self, told: Mapping[str, Any], question: str, cost: Cost) -> None:
        super().__init__()
        self.told, self.question, self.cost = told, question, cost


class _Sending(RemoteAccount):
    """Sends a question and does not wait. It never looks again how the account stands: planned a second time, when the
    answer is there, the question must be the same, and a price by accuracy depends on what is left."""

    def __init__(self, account: RemoteAccount, told: Any = None) -> None:
        account.state()
        vars(self).update(vars(account), requests=dict(account.requests))
        self.told = told
        self._seen = float("inf")

    def refresh(self) -> RemoteAccount:
        return self

    def answered(self, told: Any) -> RemoteAccount:
        """The same, with the console's answer."""
        return _Sending(self, told)

    def ask(self, question: str, cost: Cost | Loss, compute: Callable[[], str]) -> Reply:
        told: Any = self.told
        if told is None:
            told = self._sent(question, self._cost(cost))
            if is_job(told):
                raise Sent(told, question, self._cost(cost))
        return self._reply(told, question, cost)


def is_job(told: Any) -> bool:
    """Whether the console gave a job, and no answer."""
    return isinstance(told, Mapping) and "job" in told


def _by_asking(act: str) -> InvalidParameter:
    return not_here(
        f"account.{act}", "the console does it when a question is asked; ask by release(...) or fit(...)"
    )


def _request(question: str) -> dict[str, JSON]:
    """What is asked, from the ledger's text of a question; its price is settled."""
    asked = json.loads(question)
    kinds = {"release": ("question", "query"), "release_all": ("questions", "queries")}
    if asked["kind"] not in kinds:
        raise InvalidParameter(
            "this cannot be asked through a console yet; use a session on the data, or ask its steward."
        )
    word, own = kinds[asked["kind"]]
    return {"kind": asked["kind"], word: asked[own], "budget": asked["price"]}


def _joined(content: Any) -> Iterable[str]:
    """The marks of the public tables in a request, each once."""
    found: dict[str, None] = {}
    rest = [content]
    while rest:
        part = rest.pop()
        if isinstance(part, dict):
            if part.get("kind") == "join" and isinstance(part.get("public"), str):
                found[part["public"]] = None
            rest += part.values()
        elif isinstance(part, list):
            rest += part
    return found
