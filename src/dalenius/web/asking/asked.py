"""How a request becomes an answer: at once from the record, or by a job."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from dalenius.core.printable import printable
from dalenius.errors import InvalidParameter
from dalenius.session.entries import digest
from dalenius.session.session import Session
from dalenius.session.travel.outcomes import Outcome, as_told, looked_up
from dalenius.session.travel.requests import Request, read_request
from dalenius.web.asking.apart import Apart, is_weighty, one_of, planning
from dalenius.web.asking.at_hand import AT_HAND, Told
from dalenius.web.asking.kinds import ASKING
from dalenius.web.asking.shown import shown
from dalenius.web.datasets import open_session
from dalenius.web.datasets.opening import session_at_hand
from dalenius.web.jobs.jobs import Jobs
from dalenius.web.problems import Problem
from dalenius.web.settings import Settings
from dalenius.web.store import Store, releases
from dalenius.web.store.people import Person
from dalenius.web.store.releases import Asked

LONGEST_WORD = 200
LONGEST_SAID = 1000


class _Taken(Exception):
    """The word of a request stands for another one already."""

    def __init__(self, claim: releases.Claim) -> None:
        self.claim = claim


@dataclass(frozen=True)
class Desk:
    """Where one analyst asks of one data set."""

    store: Store
    settings: Settings
    jobs: Jobs
    person: Person
    dataset: str
    apart: Apart | None = None
    """Where requests are planned that take long; None: here."""

    @property
    def session(self) -> Session:
        """Whether they may ask is looked up each time."""
        return open_session(self.store, self.settings, self.dataset, self.person.name)

    # -- asking -----------------------------------------------------------------------------------

    def ask(self, content: Mapping[str, Any], word: str | None = None) -> tuple[int, dict[str, Any]]:
        """201 and the answer, if it is on record and may be told; else 202 and the job that will have it.

        word: by which the request is known again, if it comes twice: it is then carried out once.
        """
        given = self.at_once(content, word)
        if given is not None:
            return given
        if self.apart is not None and is_weighty(content):
            before = self.session
            status, told, known = self.apart.call(_asked_there, self, content, word)
            if known is not None and self.session is before:  # what is public was the same there
                AT_HAND.keep(before, content, known)
            return status, told
        return self._claimed(content, word, None)

    def at_once(
        self, content: Mapping[str, Any], word: str | None = None
    ) -> tuple[int, dict[str, Any]] | None:
        """What `ask` gives, where the answer was told lately: without a plan or a look at the ledger, and so whatever
        else is going on. None where it was not."""
        session = session_at_hand(self.store, self.dataset, self.person.name)
        told = None if session is None else AT_HAND.get(session, content)
        return None if told is None else self._claimed(content, word, told)

    def _claimed(
        self, content: Mapping[str, Any], word: str | None, told: Told | None
    ) -> tuple[int, dict[str, Any]]:
        """told: what is at hand."""
        if word is None:
            return self._ask(content, None, told)
        if not 0 < len(word) <= LONGEST_WORD:
            raise InvalidParameter(f"an idempotency key has 1 to {LONGEST_WORD} characters.")
        # What is inside keeps its order: features in another one are another model.
        mark = hashlib.sha256(json.dumps(sorted(content.items())).encode()).hexdigest()
        with self.store.reading() as connection:
            known = releases.claimed(connection, self.person.id, self.dataset, word)
        if known is not None:
            return self._again(known, mark, told)
        try:
            return self._ask(content, (word, mark), told)
        except _Taken as taken:  # the same came twice at the same time, and the other was quicker
            return self._again(taken.claim, mark, told)

    def _again(self, known: releases.Claim, mark: str, told: Told | None) -> tuple[int, dict[str, Any]]:
        if known.digest != mark:
            raise Problem(
                422,
                "this idempotency key came with another request before.",
                fix="Use a key of its own for every request.",
            )
        found = self._asked(known.release)
        if found is not None and found.job is not None:
            return 202, self._told(found, found.job)
        if found is not None and told is not None and told.answer is not None and told.key == found.key:
            return 201, {**told.answer, "id": found.id}
        return 201, self.answer(known.release)

    def _ask(
        self, content: Mapping[str, Any], claim: tuple[str, str] | None, told: Told | None
    ) -> tuple[int, dict[str, Any]]:
        """claim: the word of the request and its digest.

        Job, history and word are written in one transaction. So there is nothing that is charged and not in the
        history, and no word that stands for a request which somebody was killed reading.
        """
        settled: dict[str, Any] = {}
        if told is None:
            told, settled = self._planned(content)
        with self.store.reading() as connection:
            known = releases.named(connection, self.person.id, self.dataset, told.key)
        if told.answer is not None and known is not None and known.job is None and claim is None:
            return 201, {**told.answer, "id": known.id}  # all of it is written down already
        id = releases.new_id() if known is None else known.id

        written: list[Asked] = []

        def keep(connection: Connection, job: str | None) -> None:
            asked = releases.keep(
                connection,
                id=id,
                person=self.person.id,
                dataset=self.dataset,
                key=told.key,
                kind=told.kind,
                said=told.said,
                request=told.request,
                job=job,
            )
            if claim is not None:
                word, mark = claim
                taken = releases.claim(connection, self.person.id, self.dataset, word, mark, asked.id)
                if taken is not None:
                    raise _Taken(taken)
            written.append(asked)

        if told.answer is not None:  # it has no job: nothing is awaited
            with self.store.writing() as connection:
                keep(connection, None)
            return 201, {**told.answer, "id": written[0].id}
        payload = {"release": id, "request": settled}
        job = self.jobs.submit(ASKING, self.dataset, self.person.id, payload, self.person.name, keep).id
        return 202, self._told(written[0], job)

    def _told(self, asked: Asked, job: str) -> dict[str, Any]:
        seen = self.jobs.stands(job, self.person.id) or {}
        return {"release": asked.id, "said": asked.said, "job": job, **seen}

    def _planned(self, content: Mapping[str, Any]) -> tuple[Told, dict[str, Any]]:
        """A request as it is written down, with its answer if that is on record and may be told; and as it was
        settled, for a job."""
        session = self.session
        with one_of(self.person.id), planning():
            first = read_request(dict(content), session)
            settled = {"kind": first.tag, **content, **first.settled(self._told_record(session))}
            request = read_request(settled, session)
            found = looked_up(session, request, self._recorded(session), self._expected)
            answer = shown(found, request, "") if isinstance(found, Outcome) else None
        said = printable(request.said)[:LONGEST_SAID]
        told = Told(digest(found.question), request.tag, said, json.dumps(settled), answer)
        AT_HAND.keep(session, content, told)
        return told, settled

    # -- prices ---------------------------------------------------------------------------------------

    def price(self, content: Mapping[str, Any], rows: float | None = None) -> dict[str, Any]:
        """What a request costs, whether it is free, and how accurate the answer is, of groups of so many rows."""
        from dalenius.session.travel.outcomes import named
        from dalenius.session.travel.requests import Release

        if self.apart is not None and is_weighty(content):
            return self.apart.call(Desk.price, self, content, rows)
        session = self.session
        with one_of(self.person.id), planning():
            request = read_request(dict(content), session)
            priced = self._told_record(session)
            price = request.price(priced)
            told: dict[str, Any] = {
                "budget": price.budget.record(),
                "budget_in_words": repr(price.budget),
                "affordable": price.affordable,
                "epsilon": price.epsilon,
                "delta": price.delta,
                "times": price.times,
                "assumes": price.assumes,
                "in_words": str(price),
                "errors": [],
            }
            if isinstance(request, Release):
                accuracy = request.accuracy
                confidence = request.confidence or (0.95 if accuracy is None else accuracy.confidence)
                rows = rows if accuracy is None else accuracy.rows
                told["errors"] = request.errors(session, price.budget, confidence, rows)
            settled = {"kind": request.tag, **content, **request.settled(priced)}
            question = named(session, read_request(settled, session)).question
            told["free"] = self._recorded(session)(question) is not None
        return told

    # -- what was asked -------------------------------------------------------------------------------

    def history(self, most: int, skip: int = 0) -> list[dict[str, Any]]:
        """What this person asked of the data set, the newest first."""
        _ = self.session  # who may not ask any longer may not look either
        with self.store.reading() as connection:
            found = releases.of_person(connection, self.person.id, self.dataset, most, skip)
        return [self._line(asked) for asked in found]

    def line(self, id: str) -> dict[str, Any]:
        """One line of the history."""
        _, asked = self.session, self._asked(id)
        if asked is None:
            raise Problem(404, "you have asked no such question of this data set.")
        return self._line(asked)

    def _line(self, asked: Asked) -> dict[str, Any]:
        request = json.loads(asked.request)
        seen = None if asked.job is None else self.jobs.stands(asked.job, self.person.id)
        state = "done" if seen is None else seen["state"]
        told = {"id": asked.id, "kind": asked.kind, "said": asked.said, "asked": asked.asked, "state": state}
        return {**told, "budget": request.get("budget"), "job": asked.job}

    def outcome(self, id: str) -> tuple[Outcome, Request]:
        """The answer to one of this person's requests, from the record."""
        asked, session = self._asked(id), self.session
        if asked is None:
            raise Problem(404, "you have asked no such question of this data set.")
        request = read_request(json.loads(asked.request), session)
        found = looked_up(session, request, self._recorded(session), lambda question: True)
        if digest(found.question) != asked.key:
            raise Problem(
                409,
                "what is public about the data was changed since this was asked, which makes it another question: its "
                "answer stays in the ledger, and is not that of the question as it reads now.",
                kind="no-answer",
                title="It was asked of other public facts",
                fix="Ask again, which is charged; or see the steward, who can put the facts back.",
            )
        if isinstance(found, Outcome):
            return found, request
        seen = None if asked.job is None else self.jobs.stands(asked.job, self.person.id)
        raise Problem(
            409,
            "there is no answer on record" + (f": the job is {seen['state']}." if seen else "."),
            kind="no-answer",
            title="There is no answer",
            fix="Wait for its job, or ask again.",
        )

    def answer(self, id: str) -> dict[str, Any]:
        """The same, as it is shown."""
        return shown(*self.outcome(id), id)

    def _asked(self, id: str) -> Asked | None:
        with self.store.reading() as connection:
            return releases.get(connection, self.person.id, self.dataset, id)

    def _recorded(self, session: Session) -> Any:
        return lambda question: self.jobs.recorded(session, self.dataset, question)

    def _told_record(self, session: Session) -> Session:
        """The session, to price from. The price of an accuracy is made to fit what is left unless it is on record;
        whether it is must not show before it leaves. So what is under way counts as on record all the while."""
        recorded = self._recorded(session)

        def told(question: str) -> str | None:
            found: str | None = recorded(question)
            return "" if found is None and self._expected(question) else found

        return as_told(session, told)

    def _expected(self, question: str) -> bool:
        return self.jobs.in_flight(self.dataset, question)


def _asked_there(
    desk: Desk, content: Mapping[str, Any], word: str | None
) -> tuple[int, dict[str, Any], Told | None]:
    """In the process beside the server: what is asked, and what is at hand of it then."""
    status, told = desk.ask(content, word)
    return status, told, AT_HAND.get(desk.session, content)
