"""The account of a data set, seen from afar: what is left, and questions that the console charges and answers."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.guarantees.cost import Cost
from dalenius.calculus.loss import Loss
from dalenius.core.record import JSON
from dalenius.core.record import text as record_text
from dalenius.errors import BudgetExceeded, ConsoleError, EngineFailed, InvalidParameter
from dalenius.remote.line import Line, Progress
from dalenius.remote.problems import plain
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
        nowhere: Any = None  # the ledger is the console's
        who = described.analyst
        super().__init__(nowhere, 0, described.dataset, described.filter, {}, who, repr(described.unit))
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
        content = self.requests.pop(question, None) or _request(question)
        content = {**content, "public": [self._public(one) for one in _joined(content)]}
        self.refresh()
        try:
            told = self._answered(content, self._cost(cost))
        except BudgetExceeded as problem:
            asked = self.filter.spent(self._cost(cost))
            raise BudgetExceeded(str(problem), asked=asked, left=self.filter.left(self.left())) from None
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

    def recorded(self, question: str) -> str | None:
        """Not looked up: it only matters to a price that is more than is left."""
        return None

    def _answered(self, content: Mapping[str, JSON], cost: Cost) -> Any:
        where = ("datasets", self.dataset, "releases")
        told = self.line.post(*where, content=content, word=uuid.uuid4().hex)
        if not isinstance(told, Mapping) or "job" not in told:
            return told
        left = waited(self.line, str(told["job"]), self.progress)
        detail = plain(str(left.get("detail", "the console did not say why.")))
        if left["state"] == "done":
            return left.get("answer")
        if left["state"] == "failed":
            raise EngineFailed(detail)
        if left["state"] == "refused":
            raise InvalidParameter(detail) if cost.fits(self.left()) else BudgetExceeded(detail)
        raise ConsoleError(detail)

    def _public(self, mark: str) -> JSON:
        if mark not in self.public:
            raise InvalidParameter(
                "the question joins a public table that is not known here; ask it of a table of this session."
            )
        return self.public[mark].record()


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
